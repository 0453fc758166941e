/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of requests in which ours and those of the native library are mixed,
 * as MPI_Waitall, any, some and MPI_Testall, any, some have them.
 */
#ifndef LIBIMPI_WAIT_SPLIT_H
#define LIBIMPI_WAIT_SPLIT_H

#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

/* Without one of ours and with nothing pending the native function runs
 * untouched. */
static inline bool wait_is_plain(int count, const MPI_Request requests[])
{
    return !cross_pending() && !impi_requests_ours(count, requests);
}

static inline MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* One of ours that something can come of. */
static inline bool wait_own_active(MPI_Request request)
{
    return impi_request_ours(request) && req_active(req_of(request));
}

#define SPLIT_SMALL 32

/* The native ones of an array, apart. */
struct split {
    int n; /* native requests, nulls left out */
    int own;
    MPI_Request *native;
    int *place; /* where each stands in the caller's array */
    MPI_Status *status;
    int *index; /* room for the native answer */
    void *memory;
    struct {
        MPI_Request native[SPLIT_SMALL];
        int place[SPLIT_SMALL];
        MPI_Status status[SPLIT_SMALL];
        int index[SPLIT_SMALL];
    } small;
};

/* False: no memory.  What is made is ended by split_free(). */
bool split_make(struct split *s, int count, const MPI_Request req[]);
void split_free(struct split *s);
/* The native library has changed its requests: tell the caller's array. */
void split_back(const struct split *s, MPI_Request requests[]);
/* The error of having no memory, given to the error handler. */
int split_failed(void);
/* One round before the first look, under the lock. */
void split_round(const struct split *s);

#endif
