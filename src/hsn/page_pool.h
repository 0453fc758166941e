/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages that hsnd shares with a process, or with all processes of a program:
 * one sealed piece of memory,
 *
 *     a struct hsn_grants for each endpoint
 *     pages, HSN_PAGES_MOST for each endpoint
 *
 * Each page has one owner at a time, of which hsnd alone keeps the books, in
 * memory of its own: hsnd, or an endpoint.  A page changes hands
 *
 *   by a grant             hsnd gives it: some at the beginning, and one for
 *                          each page that was sent
 *   with a message         hsnd gives it, with data in it
 *   by HSN_RECORD_FREE     the process gives it back
 *   by being sent          hsnd has it until the message is completed
 *
 * Nothing that stands here is believed by hsnd: it writes grants and data, and
 * reads only the data of pages that were sent, whose owner it knows.
 */
#ifndef SF_HSN_PAGE_POOL_H
#define SF_HSN_PAGE_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "hsn/libhsn.h"

#define HSN_PAGES_GRANTED 128 /* at the beginning */
#define HSN_PAGES_MOST 256    /* that one endpoint may have */
#define HSN_GRANTS 512        /* never full: granted pages are owned ones */

/* Numbers of pages, in the order in which they were given; the newest is
 * before tail.  asleep: the process wants its bell to be rung at the next. */
struct hsn_grants {
    _Atomic uint32_t tail, asleep;
    uint32_t page[HSN_GRANTS];
    uint8_t rest[4096 - (2 + HSN_GRANTS) * sizeof(uint32_t)];
};

_Static_assert(sizeof(struct hsn_grants) == 4096, "one page of the machine");

struct hsn_pool_shape {
    uint32_t nslices, page_size;
};

static inline size_t hsn_pool_pages_at(const struct hsn_pool_shape *s)
{
    size_t n = (size_t)s->nslices * sizeof(struct hsn_grants);

    return (n + s->page_size - 1) / s->page_size * s->page_size;
}

static inline uint32_t hsn_pool_npages(const struct hsn_pool_shape *s)
{
    return s->nslices * HSN_PAGES_MOST;
}

static inline size_t hsn_pool_size(const struct hsn_pool_shape *s)
{
    return hsn_pool_pages_at(s) + (size_t)hsn_pool_npages(s) * s->page_size;
}

#endif
