/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of two packets: the first to come waits for the other, and both
 * become one message.
 */
#include <string.h>

#include "hsn/engine_priv.h"

static void free_half(struct hsn_engine *e, uint32_t index)
{
    struct hsn_half half = hsn_fragq_take(&e->fragq, index);

    hsn_pages_put(&e->pages, half.page[0]);
    hsn_pages_put(&e->pages, half.page[1]);
}

void hsn_halves_free(struct hsn_engine *e)
{
    while (e->fragq.used)
        free_half(e, e->fragq.oldest);
    hsn_fragq_free(&e->fragq);
}

static void evict(struct hsn_engine *e, uint64_t host)
{
    uint32_t victim;

    while ((victim = hsn_fragq_victim(&e->fragq, host)) != HSN_FRAGQ_NONE) {
        free_half(e, victim);
        HSN_ADD(&e->counts, fragment_evicted, 1);
    }
}

/* The partner is not there: wait for it. */
static void keep_half(struct hsn_engine *e, const struct hsn_frame *f,
                      struct hsn_rx *rx, uint64_t now)
{
    struct hsn_extent x = hsn_extent(f);
    struct hsn_half half = {.frame = *f, .deadline = now + e->o.fragment_ns};

    hsn_rx_own(e, rx, x.data_len);
    if (!hsn_rx_take_pages(
            e, rx, hsn_rx_pages_for(rx, x.data_len + x.header_len), half.page))
        return;
    evict(e, f->host);
    hsn_fragq_add(&e->fragq, &half);
}

/* The parts of a half that waited. */
static void half_parts(const struct hsn_engine *e, const struct hsn_half *half,
                       struct iovec parts[2])
{
    parts[0] = (struct iovec){half->page[0], e->pages.size};
    parts[1] = (struct iovec){half->page[1], e->pages.size};
}

/* The data stays where it is, in two pieces. */
static void combine_in_place(struct hsn_engine *e, struct hsn_module *m,
                             const struct hsn_frame *f,
                             struct iovec parts[2][2])
{
    size_t rest = f->data_len - HSN_FRAGMENT;
    struct hsn_delivery d = {.from = f->host, .module = f->module, .ndata = 2};

    d.data[0] = (struct iovec){parts[0][0].iov_base, HSN_FRAGMENT};
    d.data[1] = (struct iovec){parts[1][0].iov_base, rest};
    d.header = hsn_rx_header(e, parts[1], rest, f->header_len);
    hsn_deliver(e, m, &d);
}

/* The partner is there, at index. */
static void combine(struct hsn_engine *e, struct hsn_module *m,
                    const struct hsn_frame *f, struct hsn_rx *rx,
                    uint32_t index)
{
    struct iovec parts[2][2];
    struct hsn_half half = hsn_fragq_take(&e->fragq, index);

    hsn_rx_parts(rx, parts[f->fragment]);
    half_parts(e, &half, parts[half.frame.fragment]);
    combine_in_place(e, m, f, parts);
    hsn_pages_put(&e->pages, half.page[0]);
    hsn_pages_put(&e->pages, half.page[1]);
}

/* Do two halves of one message contradict each other? */
static bool differ(const struct hsn_frame *a, const struct hsn_frame *b)
{
    return a->module != b->module || a->data_len != b->data_len ||
           a->header_len != b->header_len;
}

void hsn_halves_keep_lent(struct hsn_engine *e, uint64_t now)
{
    if (e->lent)
        keep_half(e, &e->lent_frame, e->lent, now);
    e->lent = NULL;
}

/* Both halves are lent: nothing is copied.  False: they are no pair. */
static bool combine_lent(struct hsn_engine *e, struct hsn_module *m,
                         const struct hsn_frame *f, struct hsn_rx *rx)
{
    const struct hsn_frame *other = &e->lent_frame;
    struct iovec parts[2][2];

    if (!e->lent || !rx->borrowed || !hsn_fragq_same_message(other, f) ||
        other->fragment == f->fragment || differ(other, f))
        return false;
    hsn_rx_parts(rx, parts[f->fragment]);
    hsn_rx_parts(e->lent, parts[other->fragment]);
    e->lent = NULL;
    combine_in_place(e, m, f, parts);
    return true;
}

/* The partner is not there yet. */
static void first_half(struct hsn_engine *e, const struct hsn_frame *f,
                       struct hsn_rx *rx, uint64_t now)
{
    if (!rx->borrowed) {
        keep_half(e, f, rx, now);
        return;
    }
    e->lent = rx;
    e->lent_frame = *f;
}

void hsn_halves_receive(struct hsn_engine *e, struct hsn_module *m,
                        const struct hsn_frame *f, struct hsn_rx *rx,
                        uint64_t now)
{
    const struct hsn_frame *other;
    uint32_t index;

    if (combine_lent(e, m, f, rx))
        return;
    hsn_halves_keep_lent(e, now);
    index = hsn_fragq_find(&e->fragq, f);
    if (index == HSN_FRAGQ_NONE) {
        first_half(e, f, rx, now);
        return;
    }
    other = &e->fragq.half[index].frame;
    if (other->fragment == f->fragment)
        HSN_ADD(&e->counts, fragment_duplicate, 1);
    else if (differ(other, f))
        HSN_ADD(&e->counts, fragment_mismatch, 1);
    else
        combine(e, m, f, rx, index);
}

void hsn_halves_expire(struct hsn_engine *e, uint64_t now)
{
    while (e->fragq.used && e->fragq.half[e->fragq.oldest].deadline <= now) {
        struct hsn_routed *peer = hsn_routes_find(
            &e->routes, e->fragq.half[e->fragq.oldest].frame.host);

        if (peer)
            peer->state.expired++;
        free_half(e, e->fragq.oldest);
        HSN_ADD(&e->counts, fragment_expired, 1);
    }
}
