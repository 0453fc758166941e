/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Wait, MPI_Test and their like, for one request and for arrays.
 */
#include <stdlib.h>

#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

/* Arrays of requests in which ours and those of the native library are mixed,
 * as MPI_Waitall, any, some and MPI_Testall, any, some have them.
 */
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
    int n;    /* native requests, nulls left out */
    int done; /* that many of the first, to a call that waits for all */
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

/* ---- wait split -------------------------------------------------------- */

/* Arrays of requests in which ours and native ones are mixed. */

static bool split_room(struct split *s, int count)
{
    size_t n = (size_t)count;
    char *p;

    s->memory = NULL;
    s->native = s->small.native;
    s->place = s->small.place;
    s->status = s->small.status;
    s->index = s->small.index;
    if (count <= SPLIT_SMALL)
        return true;
    p = s->memory = malloc(
        n * (sizeof(MPI_Request) + sizeof(MPI_Status) + 2 * sizeof(int)));
    if (!p)
        return false;
    s->native = (MPI_Request *)p;
    s->status = (MPI_Status *)(p += n * sizeof(MPI_Request));
    s->place = (int *)(p += n * sizeof(MPI_Status));
    s->index = s->place + n;
    return true;
}

/* False: no memory.  What is made is ended by split_free(). */
static bool split_make(struct split *s, int count, const MPI_Request req[])
{
    s->n = s->done = s->own = 0;
    if (!split_room(s, count))
        return false;
    for (int i = 0; i < count; i++) {
        if (impi_request_ours(req[i])) {
            s->own += wait_own_active(req[i]);
        } else if (req[i] != MPI_REQUEST_NULL) {
            s->native[s->n] = req[i];
            s->place[s->n++] = i;
        }
    }
    return true;
}

static void split_free(struct split *s)
{
    free(s->memory);
}

/* The native library has changed its requests: tell the caller's array. */
static void split_back(const struct split *s, MPI_Request requests[])
{
    for (int i = 0; i < s->n; i++)
        requests[s->place[i]] = s->native[i];
}

/* The error of having no memory, given to the error handler. */
static int split_failed(void)
{
    return be_raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

/* One round before the first look, under the lock. */
static void split_round(const struct split *s)
{
    progress_once();
    if (s->n == 0)
        progress_native();
}

/* ---- wait -------------------------------------------------------------- */

/* Nothing to wait for. */
static int inactive(MPI_Status *status)
{
    status_empty(status);
    return MPI_SUCCESS;
}

static int wait_own(MPI_Request *request, MPI_Status *status, bool quiet)
{
    struct req *r = req_of(*request);
    struct waiter w = {.native = false};
    int rc;

    if (!req_active(r))
        return inactive(status);
    if (r->alone && !cross_pending())
        return req_wait_native(request, status, r);
    be_lock();
    while (!req_poll(r)) {
        w.native = req_waits_native(r);
        progress_wait(&w);
    }
    rc = req_retire(request, status, quiet);
    be_unlock();
    return rc;
}

int wait_one(MPI_Request *request, MPI_Status *status, bool quiet)
{
    if (impi_request_ours(*request))
        return wait_own(request, status, quiet);
    if (!cross_pending())
        return impi_real.Wait(request, status);
    return progress_native_wait(request, status);
}

/* Apart, so that the straight ways save no registers for it. */
static __attribute__((noinline)) int wait_slow(MPI_Request *request,
                                               MPI_Status *status)
{
    return impi_told_Wait(wait_one(request, status, false), request, status);
}

int impi_Wait(MPI_Request *request, MPI_Status *status)
{
    struct req *r;

    if (likely(!cross_pending())) {
        if (likely(!impi_request_ours(*request)))
            return impi_real.Wait(request, status);
        r = req_of(*request);
        if (r->alone)
            return req_wait_native(request, status, r);
    }
    return wait_slow(request, status);
}

static int test_own(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct req *r = req_of(*request);
    int rc = MPI_SUCCESS;

    *flag = 1;
    if (!req_active(r))
        return inactive(status);
    be_lock();
    progress_once();
    progress_native();
    *flag = req_poll(r);
    if (*flag)
        rc = req_retire(request, status, false);
    be_unlock();
    return rc;
}

int impi_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (impi_request_ours(*request))
        return impi_told_Test(test_own(request, flag, status), request, flag,
                              status);
    if (cross_pending()) {
        be_lock();
        progress_once();
        be_unlock();
    }
    return impi_real.Test(request, flag, status);
}

int impi_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct req *r;

    if (!impi_request_ours(request))
        return impi_real.Request_get_status(request, flag, status);
    r = req_of(request);
    *flag = 1;
    if (!req_active(r))
        return inactive(status);
    be_lock();
    progress_once();
    *flag = req_poll(r);
    if (*flag)
        status_set(status, r->source, r->tag, r->bytes, r->cancelled);
    be_unlock();
    return MPI_SUCCESS;
}

int impi_Request_free(MPI_Request *request)
{
    if (!impi_request_ours(*request))
        return impi_real.Request_free(request);
    be_lock();
    req_detach(req_of(*request));
    progress_once();
    be_unlock();
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int impi_Cancel(MPI_Request *request)
{
    if (!impi_request_ours(*request))
        return impi_real.Cancel(request);
    be_lock();
    if (req_active(req_of(*request)))
        req_cancel(req_of(*request));
    be_unlock();
    return MPI_SUCCESS;
}

NUMBERS_OF(Request, impi_request_ours, handle, IMPI_REQUEST_TAG)

/* ---- wait all ---------------------------------------------------------- */

/* MPI_Waitall and MPI_Testall. */

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

/* One has failed with this code; those after it stay as they are. */
static int native_failed(struct split *s, int code)
{
    s->status[s->done].MPI_ERROR = code;
    for (int i = s->done + 1; i < s->n; i++)
        s->status[i].MPI_ERROR = MPI_ERR_PENDING;
    return MPI_ERR_IN_STATUS;
}

/* One look at the native ones, in order, by a call that waits: MPICH's
 * MPI_Testall does not bear several requests of files that are not all done
 * (4.0.2 stops at an assertion when it is called again), its MPI_Test does.
 * True: they are done, or one has failed and there is nothing to wait for any
 * more. */
static bool native_all_done(struct split *s, int *rc)
{
    *rc = MPI_SUCCESS;
    for (; s->done < s->n; s->done++) {
        int flag = 0;
        int code =
            impi_real.Test(&s->native[s->done], &flag, &s->status[s->done]);

        if (code != MPI_SUCCESS) {
            *rc = native_failed(s, code);
            return true;
        }
        if (!flag)
            return false;
        s->status[s->done].MPI_ERROR = MPI_SUCCESS;
    }
    return true;
}

/* MPI_Testall's look: all of them, or none. */
static bool native_all_at_once(struct split *s, int *rc)
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
                     (wait ? native_all_done(&s, &rc)
                           : native_all_at_once(&s, &rc))) &&
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

/* ---- wait any ---------------------------------------------------------- */

/* MPI_Waitany and MPI_Testany. */

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

/* ---- wait some --------------------------------------------------------- */

/* MPI_Waitsome and MPI_Testsome. */

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
