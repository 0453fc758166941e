/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fragment queue: halves of messages that wait for the other half, each
 * with a timer of its own.  Bounded: a full queue lets the oldest half go, a
 * host that fills more than its share the oldest of its share, so that a host
 * which sends nothing but halves takes nothing from others.
 *
 * Halves belong together when host, incarnation and sequence are the same.
 */
#ifndef SF_HSN_FRAGQ_H
#define SF_HSN_FRAGQ_H

#include <stddef.h>
#include <stdint.h>

#include "hsn/frame.h"

#define HSN_FRAGQ_NONE UINT32_MAX

struct hsn_half {
    struct hsn_frame frame;
    void *page[2]; /* where the packet lies, from byte 0; [1] may be NULL */
    uint64_t deadline;
    uint32_t older, newer; /* in the order of arrival */
    uint32_t chain;        /* next in the hash bucket, or next free */
};

struct hsn_fragq {
    struct hsn_half *half;
    uint32_t max, used, share_max;
    uint32_t oldest, newest, free;
    uint32_t *bucket;
    uint32_t mask;
    uint16_t share[256]; /* halves by hash of their host */
};

/* 0, or -1 with ENOMEM. */
int hsn_fragq_init(struct hsn_fragq *q, uint32_t max);
void hsn_fragq_free(struct hsn_fragq *q); /* of queues that are empty */

bool hsn_fragq_same_message(const struct hsn_frame *a,
                            const struct hsn_frame *b);

/* The half of the same message that is there, or HSN_FRAGQ_NONE. */
uint32_t hsn_fragq_find(const struct hsn_fragq *q, const struct hsn_frame *f);

/* Which half must leave before one of this host can enter: its index, or
 * HSN_FRAGQ_NONE when there is room. */
uint32_t hsn_fragq_victim(const struct hsn_fragq *q, uint64_t host);

/* Enter a half, there being room.  Its deadline is not before that of those
 * that are in. */
void hsn_fragq_add(struct hsn_fragq *q, const struct hsn_half *half);
/* Take one out; the caller now has its pages. */
struct hsn_half hsn_fragq_take(struct hsn_fragq *q, uint32_t index);

#endif
