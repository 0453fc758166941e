/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Psend_init, MPI_Precv_init, MPI_Pready and relatives, MPI_Parrived.
 */
#include "libimpi/partitioned.h"

#include <limits.h>
#include <stdlib.h>

#include "libimpi/comm_make.h"
#include "libimpi/large.h"
#include "libimpi/persist.h"

/* No communicator has such an id, but by chance among 2^59.  Odd, so that it is
 * not taken for one whose bytes are exchanged. */
#define CID_NUMBERS (UINT64_C(1) << 60 | 1)
#define CID_DATA (CID_NUMBERS | UINT64_C(1) << 59)

struct partitions {
    int n, nready;
    bool begun;        /* since the last start */
    int number;        /* the tag of its messages */
    struct req *hello; /* receives that number; NULL: it is known */
    bool ready[];
};

void partitions_free(struct partitions *p)
{
    if (p && p->hello) {
        /* Its message may come yet, and ends in memory that stays. */
        req_detach(p->hello);
        return;
    }
    free(p);
}

void partitions_start(struct partitions *p)
{
    p->begun = false;
    p->nready = 0;
    for (int i = 0; i < p->n; i++)
        p->ready[i] = false;
}

static bool number_is_known(struct partitions *p)
{
    if (!p->hello)
        return true;
    if (!req_poll(p->hello))
        return false;
    req_result(p->hello, MPI_STATUS_IGNORE, true);
    req_free(p->hello);
    p->hello = NULL;
    return true;
}

void partitions_poll(struct req *r)
{
    struct persist *p = r->persist;
    struct partitions *s = p->parts;
    struct message m = p->m;
    int rc;

    if (s->begun || !p->active ||
        (p->recv ? !number_is_known(s) : s->nready < s->n))
        return;
    s->begun = true;
    m.tag = s->number;
    m.cid ^= CID_DATA;
    rc = p->recv ? req_recv(r, &m) : req_send(r, &m, false);
    if (rc == MPI_SUCCESS)
        return;
    req_complete(r, m.comm);
    r->error = rc;
}

/* ---- the calls that make them ---- */

static int exchange_number(struct partitions *s, const struct message *of,
                           bool recv)
{
    static int last;
    struct message m = {.buf = &s->number,
                        .count = 1,
                        .type = MPI_INT,
                        .peer = of->peer,
                        .tag = of->tag,
                        .comm = of->comm,
                        .cid = of->cid ^ CID_NUMBERS,
                        .straight = true};
    int rc;

    if (!recv) {
        s->number = last;
        last = last < impi_be.tagub ? last + 1 : 0;
        return send_copy(&m);
    }
    s->hello = req_alloc();
    if (!s->hello)
        return MPI_ERR_NO_MEM;
    rc = req_recv(s->hello, &m);
    if (rc == MPI_SUCCESS)
        return rc;
    req_free(s->hello);
    s->hello = NULL;
    return rc;
}

static int make(const struct message *m, int n, bool recv, MPI_Request *request)
{
    struct partitions *s = calloc(1, sizeof(*s) + (size_t)n * sizeof(bool));
    struct req *r;
    int rc;

    if (!s)
        return MPI_ERR_NO_MEM;
    s->n = n;
    r = persist_parts(s, m, recv, &rc);
    if (!r)
        return rc;
    rc = exchange_number(s, m, recv);
    if (rc == MPI_SUCCESS)
        *request = req_handle(r);
    else
        req_free(r);
    return rc;
}

/* m: all but count and type, which are those of all partitions together. */
static int make_own(struct message *m, int n, MPI_Count count,
                    MPI_Datatype type, bool recv, int call,
                    MPI_Request *request)
{
    struct large l = {0};
    MPI_Count all;
    int rc;

    if (comm_strict())
        return impi_unsupported(m->comm->comm, call);
    if (n <= 0 || count < 0 || __builtin_mul_overflow(count, n, &all))
        return be_raise(m->comm->comm, n <= 0 ? MPI_ERR_ARG : MPI_ERR_COUNT);
    large_count(&l, &all, &type);
    m->count = (int)all;
    m->type = type;
    rc = l.rc;
    be_lock();
    if (rc == MPI_SUCCESS)
        rc = make(m, n, recv, request);
    be_unlock();
    return large_end(&l, be_raise(m->comm->comm, rc));
}

/* Is it the library's?  native: the peer's rank there.  Not where its status
 * would name the peer by another rank; a relay is for other clients only. */
static bool is_native(struct message *m, int *native, int *rc)
{
    *native = m->peer;
    *rc = MPI_SUCCESS;
    if (!m->comm || m->peer == MPI_PROC_NULL)
        return true;
    m->cid = m->comm->cid;
    *rc = check_message(m, false);
    if (*rc != MPI_SUCCESS)
        return false;
    *native = m->comm->native[m->peer];
    m->straight = true;
    return *native >= 0 && (m->comm->same || impi_be.relay >= 0);
}

#define PARTITIONED(name, BUF, peer_arg, is_recv)                              \
    int impi_##name(BUF *buf, int partitions, MPI_Count count,                 \
                    MPI_Datatype datatype, int peer_arg, int tag,              \
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)        \
    {                                                                          \
        struct message m = {.buf = (void *)(uintptr_t)buf,                     \
                            .type = datatype,                                  \
                            .peer = peer_arg,                                  \
                            .tag = tag,                                        \
                            .comm = impi_span_find(comm)};                     \
        int native, rc;                                                        \
                                                                               \
        if (is_native(&m, &native, &rc))                                       \
            return impi_real.name(buf, partitions, count, datatype, native,    \
                                  tag, m.comm ? m.comm->p2p : comm, info,      \
                                  request);                                    \
        if (rc != MPI_SUCCESS)                                                 \
            return be_raise(comm, rc);                                         \
        return make_own(&m, partitions, count, datatype, is_recv, CALL_##name, \
                        request);                                              \
    }

PARTITIONED(Psend_init, const void, dest, false)
PARTITIONED(Precv_init, void, source, true)

/* ---- ready, arrived ---- */

/* The partitions of an active request; NULL: it has none. */
static struct partitions *of_request(MPI_Request request, bool recv)
{
    struct persist *p = req_of(request)->persist;

    return p && p->parts && p->active && p->recv == recv ? p->parts : NULL;
}

static int be_ready(MPI_Request request, int low, int high, const int *list)
{
    struct partitions *s = of_request(request, false);

    if (!s || low < 0)
        return MPI_ERR_REQUEST;
    for (int i = low; i <= high; i++) {
        int n = list ? list[i] : i;

        if (n < 0 || n >= s->n || s->ready[n])
            return MPI_ERR_ARG;
        s->ready[n] = true;
        s->nready++;
    }
    req_poll(req_of(request));
    return MPI_SUCCESS;
}

static int ready(MPI_Request request, int low, int high, const int *list)
{
    int rc;

    be_lock();
    rc = be_ready(request, low, high, list);
    progress_once();
    be_unlock();
    return be_raise(MPI_COMM_WORLD, rc);
}

int impi_Pready(int partition, MPI_Request request)
{
    if (!impi_request_ours(request))
        return impi_real.Pready(partition, request);
    return ready(request, partition, partition, NULL);
}

int impi_Pready_range(int low, int high, MPI_Request request)
{
    if (!impi_request_ours(request))
        return impi_real.Pready_range(low, high, request);
    return ready(request, low, high, NULL);
}

int impi_Pready_list(int length, const int partitions[], MPI_Request request)
{
    if (!impi_request_ours(request))
        return impi_real.Pready_list(length, partitions, request);
    return ready(request, 0, length - 1, partitions);
}

/* All come at once. */
int impi_Parrived(MPI_Request request, int partition, int *flag)
{
    struct req *r;

    if (!impi_request_ours(request)) {
        if (cross_pending()) {
            be_lock();
            progress_once();
            be_unlock();
        }
        return impi_real.Parrived(request, partition, flag);
    }
    r = req_of(request);
    *flag = 1;
    if (!req_active(r))
        return MPI_SUCCESS;
    if (!of_request(request, true))
        return be_raise(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    be_lock();
    progress_once();
    *flag = req_poll(r);
    be_unlock();
    return MPI_SUCCESS;
}
