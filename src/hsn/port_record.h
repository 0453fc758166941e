/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One record of an endpoint's ring, in either direction: this head, then route
 * bytes, data, module header, one behind the other.  Both ends are on one
 * machine, so numbers are its own.  Data may lie in a page instead
 * (hsn/page_pool.h).
 *
 * hsnd copies the head before it looks at it: the process may change what is
 * in the ring at any time.
 */
#ifndef SF_HSN_PORT_RECORD_H
#define SF_HSN_PORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hsn/libhsn.h"

struct hsn_record {
    uint64_t board;
    uint32_t node, context;
    uint16_t module, type, subtype;
    uint16_t data_len, header_len, route_len;
    uint32_t page; /* n: the data is in page n - 1; 0: it is here */
};

/* The type of a record by which a process gives pages back: no message, its
 * data is their numbers, 32 bits each.  Messages of raw endpoints have types of
 * their own, those of others have none. */
#define HSN_RECORD_FREE 1

#define HSN_RECORD_MAX                                                         \
    (sizeof(struct hsn_record) + HSN_ROUTE_MAX + HSN_DATA_MAX + HSN_HEADER_MAX)

/* Bytes of data that are in the record itself. */
static inline size_t hsn_record_inline(const struct hsn_record *r)
{
    return r->page ? 0 : r->data_len;
}

/* Do the lengths stay within their limits and within a record of len bytes? */
static inline bool hsn_record_valid(const struct hsn_record *r, size_t len)
{
    return r->data_len <= HSN_DATA_MAX && r->header_len <= HSN_HEADER_MAX &&
           r->route_len <= HSN_ROUTE_MAX &&
           sizeof(*r) + r->route_len + hsn_record_inline(r) + r->header_len ==
               len;
}

#endif
