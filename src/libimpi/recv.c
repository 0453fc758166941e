/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Recv, MPI_Irecv, MPI_Sendrecv, MPI_Sendrecv_replace and their nonblocking
 * forms.
 */
#include <stdlib.h>

#include "libimpi/buffer.h"
#include "libimpi/compound.h"
#include "libimpi/fast.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

/* ---- inside the client ---- */

static int native_recv(const struct message *m, int source, MPI_Comm comm,
                       MPI_Status *status)
{
    MPI_Request request;
    int rc;

    if (!cross_pending() || source == MPI_PROC_NULL)
        return impi_real.Recv(m->buf, m->count, m->type, source, m->tag, comm,
                              status);
    rc = impi_real.Irecv(m->buf, m->count, m->type, source, m->tag, comm,
                         &request);
    if (rc != MPI_SUCCESS)
        return rc;
    return progress_native_wait(&request, status);
}

/* ---- from other clients, or from anybody ---- */

static int cross_recv(const struct message *m, MPI_Status *status)
{
    struct waiter w = {.native = m->peer == MPI_ANY_SOURCE};
    struct req r;
    int rc;

    req_init(&r);
    be_lock();
    rc = req_recv(&r, m);
    while (rc == MPI_SUCCESS && !req_poll(&r))
        progress_wait(&w);
    if (rc == MPI_SUCCESS)
        rc = req_result(&r, status, false);
    else if (!r.raised)
        be_raise(m->comm->comm, rc);
    be_unlock();
    return rc;
}

static int span_recv(struct message *m, MPI_Status *status)
{
    struct impi_comm *c = m->comm;
    int rc = check_message(m, true);

    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    if (m->peer == MPI_ANY_SOURCE || c->native[m->peer] < 0)
        return cross_recv(m, status);
    rc = native_recv(m, c->native[m->peer], c->p2p, status);
    status_translate(status, c);
    return rc;
}

#define MESSAGE(name, c)                                                       \
    struct message name = {.buf = buf,                                         \
                           .count = count,                                     \
                           .type = datatype,                                   \
                           .peer = source,                                     \
                           .tag = tag,                                         \
                           .comm = c,                                          \
                           .cid = c ? c->cid : 0}

/* With the arguments of MPI_Recv, so that a native one saves no registers for
 * it. */
static __attribute__((noinline)) int
recv_slow(void *buf, int count, MPI_Datatype datatype, int source, int tag,
          MPI_Comm comm, MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);

    if (c && fast_recv(c, buf, count, datatype, source, tag, status))
        return MPI_SUCCESS;
    MESSAGE(m, c);
    return impi_told_Recv(!c || source == MPI_PROC_NULL
                              ? native_recv(&m, source, comm, status)
                              : span_recv(&m, status),
                          buf, count, datatype, source, tag, comm, status);
}

/* The library fills the status in as the program shall see it. */
static inline bool status_is_right(const MPI_Status *status,
                                   const struct impi_comm *c)
{
    return c->same || status == MPI_STATUS_IGNORE;
}

int impi_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
              MPI_Comm comm, MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);
    int native = c ? straight_rank(c, source, tag) : source;

    if (likely((!c || (native >= 0 && status_is_right(status, c))) &&
               !cross_pending()))
        return impi_real.Recv(buf, count, datatype, native, tag, comm, status);
    return recv_slow(buf, count, datatype, source, tag, comm, status);
}

/* ---- nonblocking ---- */

static int span_irecv(const struct message *m, MPI_Request *request)
{
    struct req *r;
    int rc = MPI_ERR_NO_MEM;
    bool raised = false;

    be_lock();
    r = req_alloc();
    if (r)
        rc = req_recv(r, m);
    if (rc == MPI_SUCCESS) {
        *request = req_handle(r);
    } else if (r) {
        raised = r->raised;
        req_free(r);
    }
    be_unlock();
    return raised ? rc : be_raise(m->comm->comm, rc);
}

static int recv_start(struct message *m, MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    int rc, source = m->peer;

    if (!c || source == MPI_PROC_NULL)
        return impi_real.Irecv(m->buf, m->count, m->type, source, m->tag, comm,
                               request);
    m->comm = c;
    m->cid = c->cid;
    rc = check_message(m, true);
    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    if (c->same && source != MPI_ANY_SOURCE && c->native[source] >= 0)
        return impi_real.Irecv(m->buf, m->count, m->type, source, m->tag, comm,
                               request);
    return span_irecv(m, request);
}

/* As recv_slow(). */
static __attribute__((noinline)) int
irecv_slow(void *buf, int count, MPI_Datatype datatype, int source, int tag,
           MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    int native = source;

    if (c && source != MPI_PROC_NULL)
        native = straight_rank(c, source, tag);
    if (likely(!c || (native >= 0 && c->same)) || source == MPI_PROC_NULL)
        return impi_real.Irecv(buf, count, datatype, native, tag, comm,
                               request);
    if (native >= 0)
        return req_recv_native(buf, count, datatype, native, tag, c, request);
    MESSAGE(m, c);
    return impi_told_Irecv(recv_start(&m, comm, request), buf, count, datatype,
                           source, tag, comm, request);
}

/* As well. */
static __attribute__((noinline)) int
irecv_spanning(void *buf, int count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_again(comm);
    int native = c ? straight_rank(c, source, tag) : -1;

    if (unlikely(native < 0))
        return irecv_slow(buf, count, datatype, source, tag, comm, request);
    if (c->same)
        return impi_real.Irecv(buf, count, datatype, native, tag, comm,
                               request);
    return req_recv_native(buf, count, datatype, native, tag, c, request);
}

int impi_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    if (likely(impi_comm_plain(comm)))
        return impi_real.Irecv(buf, count, datatype, source, tag, comm,
                               request);
    return irecv_spanning(buf, count, datatype, source, tag, comm, request);
}

/* ---- both at once ---- */

/* What one call sends, or receives. */
static struct message message_of(const void *buf, int count, MPI_Datatype type,
                                 int peer, int tag)
{
    return (struct message){.buf = (void *)(uintptr_t)buf,
                            .count = count,
                            .type = type,
                            .peer = peer,
                            .tag = tag};
}

/* The receive first, so that the peer's send finds it. */
static int both_start(struct message *out, struct message *in, MPI_Comm comm,
                      MPI_Request *rin, MPI_Request *rout)
{
    int rc = recv_start(in, comm, rin);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = send_start(out, comm, rout);
    if (rc != MPI_SUCCESS) {
        impi_Cancel(rin);
        wait_one(rin, MPI_STATUS_IGNORE, true);
    }
    return rc;
}

static int both(struct message *out, struct message *in, MPI_Comm comm,
                MPI_Status *status)
{
    int rc, rc2, source = in->peer;
    MPI_Request rin, rout;

    rc = both_start(out, in, comm, &rin, &rout);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = wait_one(&rout, MPI_STATUS_IGNORE, false);
    rc2 = wait_one(&rin, status, false);
    /* MPICH's wait says another source here. */
    if (rc2 == MPI_SUCCESS && source == MPI_PROC_NULL)
        status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    return rc != MPI_SUCCESS ? rc : rc2;
}

int impi_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                  int dest, int sendtag, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Status *status)
{
    struct message out =
        message_of(sendbuf, sendcount, sendtype, dest, sendtag);
    struct message in =
        message_of(recvbuf, recvcount, recvtype, source, recvtag);

    if (likely(!impi_span_find(comm) && !cross_pending()))
        return impi_real.Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag,
                                  recvbuf, recvcount, recvtype, source, recvtag,
                                  comm, status);
    return both(&out, &in, comm, status);
}

/* What goes out of a buffer that is received into at the same time: out->buf is
 * in the copy *memory.  An error code that the error handler has had. */
static int copy_out(struct message *out, MPI_Comm comm, void **memory)
{
    int rc;

    if (out->type == MPI_DATATYPE_NULL)
        return be_raise(comm, MPI_ERR_TYPE);
    rc = buffer_check(out->buf, out->count, out->type);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    *memory = data_clone(out->buf, out->count, out->type, &out->buf);
    return *memory ? MPI_SUCCESS : be_raise(comm, MPI_ERR_NO_MEM);
}

int impi_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest,
                          int sendtag, int source, int recvtag, MPI_Comm comm,
                          MPI_Status *status)
{
    struct message out = message_of(buf, count, datatype, dest, sendtag);
    struct message in = message_of(buf, count, datatype, source, recvtag);
    void *copy;
    int rc;

    if (likely(!impi_span_find(comm) && !cross_pending()))
        return impi_real.Sendrecv_replace(buf, count, datatype, dest, sendtag,
                                          source, recvtag, comm, status);
    rc = copy_out(&out, comm, &copy);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = both(&out, &in, comm, status);
    free(copy);
    return rc;
}

/* ---- both at once, nonblocking ---- */

/* memory: freed with the request. */
static int both_request(struct impi_comm *c, struct message *out,
                        struct message *in, void *memory, MPI_Request *request)
{
    struct compound *parts = compound_new(2);
    struct req *r = NULL;
    int rc = MPI_ERR_NO_MEM;

    if (!parts) {
        free(memory);
        return be_raise(c->comm, rc);
    }
    parts->memory = memory;
    parts->no_peer = in->peer == MPI_PROC_NULL;
    parts->status = 0;
    be_lock();
    r = req_alloc();
    be_unlock();
    if (r)
        rc = both_start(out, in, c->comm, &parts->part[0], &parts->part[1]);
    be_lock();
    if (rc == MPI_SUCCESS) {
        req_compound(r, c, parts);
        *request = req_handle(r);
    } else {
        compound_free(parts);
        if (r)
            req_free(r);
    }
    be_unlock();
    return r ? rc : be_raise(c->comm, rc);
}

int impi_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                   int dest, int sendtag, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request *request)
{
    struct message out =
        message_of(sendbuf, sendcount, sendtype, dest, sendtag);
    struct message in =
        message_of(recvbuf, recvcount, recvtype, source, recvtag);
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag,
                                   recvbuf, recvcount, recvtype, source,
                                   recvtag, comm, request);
    return both_request(c, &out, &in, NULL, request);
}

int impi_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype,
                           int dest, int sendtag, int source, int recvtag,
                           MPI_Comm comm, MPI_Request *request)
{
    struct message out = message_of(buf, count, datatype, dest, sendtag);
    struct message in = message_of(buf, count, datatype, source, recvtag);
    struct impi_comm *c = impi_span_find(comm);
    void *copy;
    int rc;

    if (!c)
        return impi_real.Isendrecv_replace(buf, count, datatype, dest, sendtag,
                                           source, recvtag, comm, request);
    rc = copy_out(&out, comm, &copy);
    return rc == MPI_SUCCESS ? both_request(c, &out, &in, copy, request) : rc;
}
