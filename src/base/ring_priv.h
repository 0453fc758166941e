/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the rings: what lies in their memory, and the few steps that every
 * record takes, in line for ring_stream.c; ring.c gives them to all others.
 *
 * Layout: one page of indexes and flags, each in a cache line of its own,
 * then `size` bytes of records.  A record is 16 bytes of head (stamp, length,
 * note) and its bytes, padded to 16.  Indexes only grow; index modulo size is
 * the place.  The records are mapped twice in a row, so none ever wraps.
 *
 * In a quickened ring records are padded to 64, and `tail` is not used: the
 * stamp, a number made of salt and index, is stored last and says that the
 * record is there.
 */
#ifndef SF_BASE_RING_PRIV_H
#define SF_BASE_RING_PRIV_H

#include <errno.h>
#include <stdatomic.h>

#include "base/ring.h"

enum { HEAD_SIZE = 4096, ALIGN = 16, ALIGN_QUICK = 64, RECORD_HEAD = 16 };

struct ring_shared {
    _Alignas(64) _Atomic uint64_t tail; /* written by the producer */
    _Alignas(64) _Atomic uint64_t head; /* written by the consumer */
    /* Set by the sleeper, cleared by the one that wakes it. */
    _Alignas(64) _Atomic uint32_t consumer_sleeps;
    _Alignas(64) _Atomic uint32_t producer_sleeps;
    _Alignas(64) uint8_t label[RING_LABEL_SIZE];
};
_Static_assert(sizeof(struct ring_shared) <= HEAD_SIZE, "one page of indexes");
_Static_assert(offsetof(struct ring_shared, label) == RING_LABEL_AT,
               "who opens rings for others looks there");

struct record_head {
    _Atomic uint64_t stamp; /* of a quickened ring */
    uint32_t len;
    uint32_t note;
};
_Static_assert(sizeof(struct record_head) == RECORD_HEAD, "head of a record");

static inline uint64_t padded(size_t len, uint64_t align)
{
    return (RECORD_HEAD + (uint64_t)len + align - 1) & ~(align - 1);
}

static inline uint64_t record_size(const struct ring *r, size_t len)
{
    return padded(len, r->quick ? ALIGN_QUICK : ALIGN);
}

static inline struct record_head *head_at(const struct ring *r, uint64_t index)
{
    return (struct record_head *)(void *)(r->data + (index & (r->size - 1)));
}

static inline uint64_t stamp_of(const struct ring *r, uint64_t index)
{
    return r->salt + index * UINT64_C(0x9e3779b97f4a7c15);
}

/* Read the other side's index, once.  False, and broken, when it goes back,
 * does not fit the ring or is not where a record ends. */
bool ring_look_at_peer(struct ring *r, _Atomic uint64_t *index);

/* ---- producer ---- */

static inline bool has_room(struct ring *r, uint64_t need)
{
    if (r->size - (r->own - r->peer) >= need)
        return true;
    return ring_look_at_peer(r, &r->shared->head) &&
           r->size - (r->own - r->peer) >= need;
}

static inline void *record_reserve(struct ring *r, size_t len)
{
    if (r->broken || len > r->max) {
        errno = r->broken ? EPROTO : EMSGSIZE;
        return NULL;
    }
    if (!has_room(r, record_size(r, len))) {
        errno = r->broken ? EPROTO : EAGAIN;
        return NULL;
    }
    r->reserved = len;
    return r->data + (r->own & (r->size - 1)) + RECORD_HEAD;
}

static inline void record_commit(struct ring *r, size_t len, uint32_t note)
{
    struct record_head *head = head_at(r, r->own);
    size_t used = len < r->reserved ? len : r->reserved;
    uint64_t stamp = stamp_of(r, r->own);

    head->len = (uint32_t)used;
    head->note = note;
    r->own += record_size(r, used);
    r->reserved = 0;
    if (r->quick)
        atomic_store_explicit(&head->stamp, stamp, memory_order_release);
    else
        atomic_store_explicit(&r->shared->tail, r->own, memory_order_release);
}

/* An exchange on both sides: either the sleeper's comes first, and we see the
 * flag, or ours does, and the sleeper sees what we did before. */
static inline bool take_flag(_Atomic uint32_t *sleeps)
{
    return atomic_exchange_explicit(sleeps, 0, memory_order_acq_rel) != 0;
}

/* ---- consumer ---- */

static inline bool has_record(struct ring *r)
{
    if (r->quick)
        return atomic_load_explicit(&head_at(r, r->own)->stamp,
                                    memory_order_acquire) ==
               stamp_of(r, r->own);
    if (r->own != r->peer)
        return true;
    return ring_look_at_peer(r, &r->shared->tail) && r->own != r->peer;
}

static inline const void *record_peek(struct ring *r, size_t *len)
{
    const struct record_head *head = head_at(r, r->own);
    uint32_t said;

    if (r->broken || !has_record(r)) {
        errno = r->broken ? EPROTO : EAGAIN;
        return NULL;
    }
    said = *(const volatile uint32_t *)&head->len;
    if (said > r->max ||
        (!r->quick && record_size(r, said) > r->peer - r->own)) {
        r->broken = true;
        errno = EPROTO;
        return NULL;
    }
    r->next = r->own + record_size(r, said);
    *len = said;
    return head + 1;
}

static inline uint32_t record_note(const struct ring *r)
{
    return *(const volatile uint32_t *)&head_at(r, r->own)->note;
}

static inline void record_skip(struct ring *r)
{
    r->own = r->next;
}

static inline void record_release(struct ring *r)
{
    atomic_store_explicit(&r->shared->head, r->own, memory_order_release);
}

#endif
