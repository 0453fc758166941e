/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Waitsome and MPI_Testsome.
 */
#include "libimpi/wait_split.h"

struct some {
    int n;
    int *indices;
    MPI_Status *statuses;
    bool failed;
};

static void add(struct some *out, int i, int rc)
{
    if (out->statuses != MPI_STATUSES_IGNORE)
        out->statuses[out->n].MPI_ERROR = rc;
    out->failed |= rc != MPI_SUCCESS;
    out->indices[out->n++] = i;
}

static void some_native(struct split *s, MPI_Request requests[],
                        struct some *out)
{
    int n, rc = impi_real.Testsome(s->n, s->native, &n, s->index, s->status);

    if (n == MPI_UNDEFINED) {
        s->n = 0;
        return;
    }
    for (int k = 0; k < n; k++) {
        if (out->statuses != MPI_STATUSES_IGNORE)
            out->statuses[out->n] = s->status[k];
        add(out, s->place[s->index[k]],
            rc == MPI_SUCCESS ? MPI_SUCCESS : s->status[k].MPI_ERROR);
    }
    split_back(s, requests);
}

/* One look.  true: something is done, or nothing is active. */
static bool look_some(struct split *s, int count, MPI_Request requests[],
                      struct some *out)
{
    for (int i = 0; s->own && i < count; i++) {
        int rc;

        if (!wait_own_active(requests[i]) || !req_poll(req_of(requests[i])))
            continue;
        rc = req_retire(&requests[i], status_at(out->statuses, out->n), false);
        add(out, i, rc);
    }
    if (s->n > 0)
        some_native(s, requests, out);
    if (out->n == 0 && s->own == 0 && s->n == 0)
        out->n = MPI_UNDEFINED;
    return out->n != 0;
}

static int do_some(int count, MPI_Request requests[], int *outcount,
                   int indices[], MPI_Status *statuses, bool wait)
{
    struct some out = {.indices = indices, .statuses = statuses};
    struct waiter w = {.native = true};
    struct split s;

    if (!split_make(&s, count, requests))
        return split_failed();
    be_lock();
    split_round(&s);
    while (!look_some(&s, count, requests, &out) && wait)
        progress_wait(&w);
    be_unlock();
    split_free(&s);
    *outcount = out.n;
    return out.failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int impi_Waitsome(int count, MPI_Request requests[], int *outcount,
                  int indices[], MPI_Status *statuses)
{
    if (likely(wait_is_plain(count, requests)))
        return impi_real.Waitsome(count, requests, outcount, indices, statuses);
    return impi_told_Waitsome(
        do_some(count, requests, outcount, indices, statuses, true), count,
        requests, outcount, indices, statuses);
}

int impi_Testsome(int count, MPI_Request requests[], int *outcount,
                  int indices[], MPI_Status *statuses)
{
    if (likely(wait_is_plain(count, requests)))
        return impi_real.Testsome(count, requests, outcount, indices, statuses);
    return impi_told_Testsome(
        do_some(count, requests, outcount, indices, statuses, false), count,
        requests, outcount, indices, statuses);
}
