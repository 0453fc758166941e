/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Waitany and MPI_Testany.
 */
#include "libimpi/wait_split.h"

/* The next of ours that is done, or -1. */
static int find_done(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        if (wait_own_active(requests[i]) && req_poll(req_of(requests[i])))
            return i;
    }
    return -1;
}

/* One look.  true: *index is set (MPI_UNDEFINED: nothing is active). */
static bool look_any(struct split *s, int count, MPI_Request requests[],
                     int *index, MPI_Status *status, int *rc)
{
    int i = s->own ? find_done(count, requests) : -1, flag = 0;

    *rc = MPI_SUCCESS;
    if (i >= 0) {
        *index = i;
        *rc = req_retire(&requests[i], status, false);
        return true;
    }
    if (s->n > 0) {
        *rc = impi_real.Testany(s->n, s->native, &i, &flag, status);
        if (*rc == MPI_SUCCESS && !flag)
            return false;
        if (i != MPI_UNDEFINED) {
            split_back(s, requests);
            *index = s->place[i];
            return true;
        }
        s->n = 0; /* nothing active among them */
    }
    if (s->own)
        return false;
    *index = MPI_UNDEFINED;
    status_empty(status);
    return true;
}

/* The first look, and if `wait` as many as it takes.  True: *index is set. */
static int do_any(int count, MPI_Request requests[], int *index, int *flag,
                  MPI_Status *status, bool wait)
{
    struct waiter w = {.native = true};
    struct split s;
    int rc;

    if (!split_make(&s, count, requests))
        return split_failed();
    be_lock();
    split_round(&s);
    while (!(*flag = look_any(&s, count, requests, index, status, &rc)) && wait)
        progress_wait(&w);
    be_unlock();
    split_free(&s);
    return rc;
}

int impi_Waitany(int count, MPI_Request requests[], int *index,
                 MPI_Status *status)
{
    int flag;

    if (likely(wait_is_plain(count, requests)))
        return impi_real.Waitany(count, requests, index, status);
    return impi_told_Waitany(
        do_any(count, requests, index, &flag, status, true), count, requests,
        index, status);
}

int impi_Testany(int count, MPI_Request requests[], int *index, int *flag,
                 MPI_Status *status)
{
    int rc;

    if (likely(wait_is_plain(count, requests)))
        return impi_real.Testany(count, requests, index, flag, status);
    rc = do_any(count, requests, index, flag, status, false);
    if (!*flag)
        *index = MPI_UNDEFINED;
    return impi_told_Testany(rc, count, requests, index, flag, status);
}
