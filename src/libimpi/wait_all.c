/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Waitall and MPI_Testall.
 */
#include "libimpi/wait_split.h"

static bool own_waits_native(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        if (wait_own_active(requests[i]) &&
            req_waits_native(req_of(requests[i])))
            return true;
    }
    return false;
}

/* Those before *from are done. */
static bool own_all_done(int count, const MPI_Request requests[], int *from)
{
    for (; *from < count; ++*from) {
        if (wait_own_active(requests[*from]) &&
            !req_poll(req_of(requests[*from])))
            return false;
    }
    return true;
}

/* A status per place; requests is still as the caller gave it, the native
 * answer stands in s. */
static int finish_all(const struct split *s, int native_rc, int count,
                      MPI_Request requests[], MPI_Status *statuses)
{
    bool failed = native_rc != MPI_SUCCESS;
    int next = 0;

    for (int i = 0; i < count; i++) {
        int rc = MPI_SUCCESS;

        if (next < s->n && s->place[next] == i) {
            requests[i] = s->native[next];
            if (statuses != MPI_STATUSES_IGNORE) {
                statuses[i] = s->status[next];
                if (native_rc == MPI_SUCCESS)
                    statuses[i].MPI_ERROR = MPI_SUCCESS;
            }
            next++;
            continue;
        }
        if (wait_own_active(requests[i]))
            rc = req_retire(&requests[i], status_at(statuses, i), false);
        else
            status_empty(status_at(statuses, i));
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = rc;
        failed |= rc != MPI_SUCCESS;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* One look at the native ones.  True: they are done, or one has failed and
 * there is nothing to wait for any more. */
static bool native_all_done(struct split *s, int *rc)
{
    int flag = 1;

    *rc = MPI_SUCCESS;
    if (s->n > 0)
        *rc = impi_real.Testall(s->n, s->native, &flag, s->status);
    return flag || *rc != MPI_SUCCESS;
}

static int do_all(int count, MPI_Request requests[], int *flag,
                  MPI_Status *statuses, bool wait)
{
    struct waiter w = {.native = false};
    struct split s;
    int rc = MPI_SUCCESS, from = 0;

    if (!split_make(&s, count, requests))
        return split_failed();
    be_lock();
    w.native = s.n > 0 || own_waits_native(count, requests);
    split_round(&s);
    while (!(*flag = own_all_done(count, requests, &from) &&
                     native_all_done(&s, &rc)) &&
           wait)
        progress_wait(&w);
    if (*flag)
        rc = finish_all(&s, rc, count, requests, statuses);
    be_unlock();
    split_free(&s);
    return rc;
}

int impi_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
    int flag;

    if (likely(wait_is_plain(count, requests)))
        return impi_real.Waitall(count, requests, statuses);
    return impi_told_Waitall(do_all(count, requests, &flag, statuses, true),
                             count, requests, statuses);
}

int impi_Testall(int count, MPI_Request requests[], int *flag,
                 MPI_Status *statuses)
{
    if (likely(wait_is_plain(count, requests)))
        return impi_real.Testall(count, requests, flag, statuses);
    return impi_told_Testall(do_all(count, requests, flag, statuses, false),
                             count, requests, flag, statuses);
}
