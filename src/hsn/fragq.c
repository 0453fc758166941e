/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "hsn/fragq.h"

#define NONE HSN_FRAGQ_NONE

int hsn_fragq_init(struct hsn_fragq *q, uint32_t max)
{
    uint32_t buckets = 16;

    while (buckets < max)
        buckets *= 2;
    *q = (struct hsn_fragq){.max = max,
                            .share_max = max >= 4 ? max / 4 : 1,
                            .oldest = NONE,
                            .newest = NONE,
                            .mask = buckets - 1};
    q->half = calloc(max, sizeof(*q->half));
    q->bucket = calloc(buckets, sizeof(*q->bucket));
    if (!q->half || !q->bucket) {
        hsn_fragq_free(q);
        return -1;
    }
    for (uint32_t i = 0; i < buckets; i++)
        q->bucket[i] = NONE;
    for (uint32_t i = 0; i < max; i++)
        q->half[i].chain = i + 1 < max ? i + 1 : NONE;
    return 0;
}

void hsn_fragq_free(struct hsn_fragq *q)
{
    free(q->half);
    free(q->bucket);
    q->half = NULL;
    q->bucket = NULL;
}

static uint32_t share_of(uint64_t host)
{
    return (uint32_t)(host * 0x9e3779b97f4a7c15ULL >> 56);
}

static uint32_t *bucket_of(const struct hsn_fragq *q, const struct hsn_frame *f)
{
    uint64_t h = (f->host ^ (uint64_t)f->incarnation << 16) + f->sequence;

    return &q->bucket[(h * 0x9e3779b97f4a7c15ULL >> 40) & q->mask];
}

bool hsn_fragq_same_message(const struct hsn_frame *a,
                            const struct hsn_frame *b)
{
    return a->host == b->host && a->incarnation == b->incarnation &&
           a->sequence == b->sequence;
}

uint32_t hsn_fragq_find(const struct hsn_fragq *q, const struct hsn_frame *f)
{
    uint32_t i = *bucket_of(q, f);

    while (i != NONE && !hsn_fragq_same_message(&q->half[i].frame, f))
        i = q->half[i].chain;
    return i;
}

uint32_t hsn_fragq_victim(const struct hsn_fragq *q, uint64_t host)
{
    uint32_t share = share_of(host), i = q->oldest;

    if (q->share[share] < q->share_max)
        return q->used < q->max ? NONE : q->oldest;
    while (i != NONE && share_of(q->half[i].frame.host) != share)
        i = q->half[i].newer;
    return i;
}

void hsn_fragq_add(struct hsn_fragq *q, const struct hsn_half *half)
{
    uint32_t i = q->free, *bucket = bucket_of(q, &half->frame);
    struct hsn_half *h = &q->half[i];

    q->free = h->chain;
    *h = *half;
    h->chain = *bucket;
    *bucket = i;
    h->older = q->newest;
    h->newer = NONE;
    if (q->newest != NONE)
        q->half[q->newest].newer = i;
    else
        q->oldest = i;
    q->newest = i;
    q->used++;
    q->share[share_of(half->frame.host)]++;
}

struct hsn_half hsn_fragq_take(struct hsn_fragq *q, uint32_t index)
{
    struct hsn_half *h = &q->half[index], taken = *h;
    uint32_t *at = bucket_of(q, &h->frame);

    while (*at != index)
        at = &q->half[*at].chain;
    *at = h->chain;
    *(h->older != NONE ? &q->half[h->older].newer : &q->oldest) = h->newer;
    *(h->newer != NONE ? &q->half[h->newer].older : &q->newest) = h->older;
    h->chain = q->free;
    q->free = index;
    q->used--;
    q->share[share_of(h->frame.host)]--;
    return taken;
}
