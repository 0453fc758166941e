/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which communicators span clients.  Asked in every MPI call with a
 * communicator, so the answer for the communicator of the call before costs
 * one comparison, and any other one a look into a hash that is only read.
 *
 * Readers take no lock.  Adding and removing is done by one thread at a time
 * (the caller's lock); a table that is replaced stays allocated, since a
 * reader may still be in it.
 */
#ifndef SF_LIBIMPI_SPAN_H
#define SF_LIBIMPI_SPAN_H

#include "libimpi/calls.h"

struct impi_comm; /* the back end's own, never looked into here */

struct impi_span_entry {
    MPI_Comm comm;
    struct impi_comm *data; /* NULL: removed, does not span */
};

/* The communicator asked for last: never NULL once set up; data NULL says
 * that it does not span. */
struct impi_span_cache {
    MPI_Comm plain;                    /* the last that does not span */
    const struct impi_span_entry *hot; /* the last that does */
};
extern struct impi_span_cache impi_span_cache;

/* The slow path: look into the hash. */
struct impi_comm *impi_span_lookup(MPI_Comm comm);

/* True for the communicator asked for last, if it does not span; false says
 * nothing.  For code that calls impi_span_find() elsewhere when it is false,
 * so that the way of a native call stays short. */
static inline bool impi_comm_plain(MPI_Comm comm)
{
    return comm == __atomic_load_n(&impi_span_cache.plain, __ATOMIC_RELAXED);
}

/* Data of a spanning communicator, NULL for every other handle. */
static inline struct impi_comm *impi_span_find(MPI_Comm comm)
{
    const struct impi_span_entry *hot;

    if (likely(impi_comm_plain(comm)))
        return NULL;
    hot = __atomic_load_n(&impi_span_cache.hot, __ATOMIC_ACQUIRE);
    if (hot->comm == comm)
        return hot->data;
    return impi_span_lookup(comm);
}

/* The same, but NULL also where it is not the one that was asked for last:
 * without a call, so that no registers are saved for one. */
static inline struct impi_comm *impi_span_again(MPI_Comm comm)
{
    const struct impi_span_entry *hot =
        __atomic_load_n(&impi_span_cache.hot, __ATOMIC_ACQUIRE);

    return likely(hot->comm == comm) ? hot->data : NULL;
}

static inline bool impi_comm_spans(MPI_Comm comm)
{
    return impi_span_find(comm) != NULL;
}

/* Say that comm spans.  0, or -1 with errno ENOMEM. */
int impi_span_add(MPI_Comm comm, struct impi_comm *data);
/* Say that it does so no more (before the library frees it). */
void impi_span_remove(MPI_Comm comm);

#endif
