/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Send and its relatives.
 *
 * On a native communicator, and towards a rank of the own client, the native
 * library's own function runs; only while something of ours is pending its
 * blocking calls are replaced by nonblocking ones and our own waiting,
 * because what the native call waits for may depend on us.
 */
#include "libimpi/p2p_calls.h"

#include <stdlib.h>
#include <string.h>

#include "libimpi/fast.h"
#include "libimpi/conns.h"
#include "libimpi/progress.h"

/* The copy of a short message may wait for its connection to be opened. */
#define EAGER_COPY_MAX (64 * 1024)

int check_message(struct message *m, bool recv)
{
    const struct impi_comm *c = m->comm;
    bool any = recv && m->peer == MPI_ANY_SOURCE;

    if (m->count < 0)
        return MPI_ERR_COUNT;
    if ((m->peer < 0 || m->peer >= c->peers) && !any)
        return MPI_ERR_RANK;
    if ((m->tag < 0 || m->tag > impi_be.tagub) &&
        !(recv && m->tag == MPI_ANY_TAG))
        return MPI_ERR_TAG;
    if (m->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (!any)
        m->peer += c->peer;
    return MPI_SUCCESS;
}

/* ---- inside the client ---- */

static int native_isend(enum send_mode mode, const struct message *m, int dest,
                        MPI_Comm comm, MPI_Request *request)
{
    impi_Isend_f *const start[] = {impi_real.Isend, impi_real.Ibsend,
                                   impi_real.Issend, impi_real.Irsend};

    return start[mode](m->buf, m->count, m->type, dest, m->tag, comm, request);
}

static int native_send_pending(enum send_mode mode, const struct message *m,
                               int dest, MPI_Comm comm)
{
    MPI_Request request;
    int rc = native_isend(mode, m, dest, comm, &request);

    if (rc != MPI_SUCCESS)
        return rc;
    return progress_native_wait(&request, MPI_STATUS_IGNORE);
}

static int native_send(enum send_mode mode, const struct message *m, int dest,
                       MPI_Comm comm)
{
    impi_Send_f *const send[] = {impi_real.Send, impi_real.Bsend,
                                 impi_real.Ssend, impi_real.Rsend};

    if (cross_pending())
        return native_send_pending(mode, m, dest, comm);
    return send[mode](m->buf, m->count, m->type, dest, m->tag, comm);
}

/* ---- to other clients ---- */

/* Make the data the request's own, so that the user may go on. */
static int own_data(struct req *r, struct message *m, void **copy)
{
    struct data d;
    int rc = data_for_send(&d, m->buf, m->count, m->type);

    if (rc != MPI_SUCCESS)
        return rc;
    *copy = d.staging;
    if (d.staging) {
        m->count = (int)d.len;
        m->type = MPI_BYTE;
    } else {
        *copy = malloc(d.len ? d.len : 1);
        if (!*copy)
            return MPI_ERR_NO_MEM;
        if (d.len)
            memcpy(*copy, d.base, d.len);
    }
    d.staging = NULL;
    data_drop(&d);
    m->buf = *copy;
    return MPI_SUCCESS;
}

/* part: so much of it is written already. */
static int send_own(struct message *m, size_t part)
{
    struct req *r = req_alloc();
    void *copy;
    int rc;

    if (!r)
        return MPI_ERR_NO_MEM;
    rc = own_data(r, m, &copy);
    if (rc == MPI_SUCCESS)
        rc = part > 0 ? req_send_rest(r, m, part) : req_send(r, m, false);
    if (rc != MPI_SUCCESS) {
        req_free(r);
        return rc;
    }
    r->data.staging = copy;
    req_detach(r);
    return MPI_SUCCESS;
}

int send_copy(struct message *m)
{
    int rc = send_own(m, 0);

    if (rc == MPI_SUCCESS)
        progress_once();
    return rc;
}

int send_copy_rest(struct message *m, size_t part)
{
    return send_own(m, part);
}

/* A short message to somebody that we have no connection with yet is
 * copied: opening it wants the peer's help, and programs count on short sends
 * being done soon. */
static bool wants_copy(enum send_mode mode, const struct message *m)
{
    struct type_info info;
    uint32_t peer = (uint32_t)m->comm->world[m->peer];

    if (mode == SEND_BUFFERED)
        return true;
    if (mode == SEND_SYNCHRONOUS || impi_p2p_channel(impi_be.p2p, peer))
        return false;
    return type_look_up(&info, m->type) == MPI_SUCCESS &&
           (uint64_t)m->count * info.wire <= EAGER_COPY_MAX;
}

static int cross_send(enum send_mode mode, struct message *m)
{
    struct waiter w = {.native = false};
    struct req r;
    int rc;

    be_lock();
    if (wants_copy(mode, m)) {
        rc = send_copy(m);
        be_unlock();
        return be_raise(m->comm->comm, rc);
    }
    req_init(&r);
    rc = req_send(&r, m, mode == SEND_SYNCHRONOUS);
    while (rc == MPI_SUCCESS && !req_poll(&r))
        progress_wait(&w);
    if (rc == MPI_SUCCESS)
        rc = req_result(&r, MPI_STATUS_IGNORE, false);
    else
        be_raise(m->comm->comm, rc);
    be_unlock();
    return rc;
}

static int span_send(enum send_mode mode, struct message *m)
{
    int rc;

    if (m->peer == MPI_PROC_NULL)
        return MPI_SUCCESS;
    rc = check_message(m, false);
    if (rc != MPI_SUCCESS)
        return be_raise(m->comm->comm, rc);
    if (m->comm->native[m->peer] >= 0)
        return native_send(mode, m, m->comm->native[m->peer], m->comm->p2p);
    return cross_send(mode, m);
}

#define MESSAGE(name, c)                                                       \
    struct message name = {.buf = (void *)(uintptr_t)buf,                      \
                           .count = count,                                     \
                           .type = datatype,                                   \
                           .peer = dest,                                       \
                           .tag = tag,                                         \
                           .comm = c,                                          \
                           .cid = c ? c->cid : 0}

/* What does not go straight to the library has a function of its own with the
 * same arguments, so that a native call saves no registers for it. */
#define BLOCKING(name, mode)                                                   \
    static __attribute__((noinline)) int name##_slow(                          \
        const void *buf, int count, MPI_Datatype datatype, int dest, int tag,  \
        MPI_Comm comm)                                                         \
    {                                                                          \
        struct impi_comm *c = impi_span_find(comm);                            \
        int native = c ? straight_rank(c, dest, tag) : dest;                   \
                                                                               \
        if ((!c || native >= 0) && !cross_pending())                           \
            return impi_real.name(buf, count, datatype, native, tag, comm);    \
        if (c && mode != SEND_SYNCHRONOUS &&                                   \
            fast_send(c, buf, count, datatype, dest, tag))                     \
            return MPI_SUCCESS;                                                \
        MESSAGE(m, c);                                                         \
        return impi_told_##name(c ? span_send(mode, &m)                        \
                                  : native_send(mode, &m, dest, comm),         \
                                buf, count, datatype, dest, tag, comm);        \
    }                                                                          \
                                                                               \
    int impi_##name(const void *buf, int count, MPI_Datatype datatype,         \
                    int dest, int tag, MPI_Comm comm)                          \
    {                                                                          \
        bool plain = impi_comm_plain(comm);                                    \
        struct impi_comm *c = plain ? NULL : impi_span_again(comm);            \
        int native = c ? straight_rank(c, dest, tag) : dest;                   \
                                                                               \
        if (likely((plain || (c && native >= 0)) && !cross_pending()))         \
            return impi_real.name(buf, count, datatype, native, tag, comm);    \
        return name##_slow(buf, count, datatype, dest, tag, comm);             \
    }

BLOCKING(Send, SEND_STANDARD)
BLOCKING(Bsend, SEND_BUFFERED)
BLOCKING(Ssend, SEND_SYNCHRONOUS)
BLOCKING(Rsend, SEND_READY)

/* ---- nonblocking ---- */

static int cross_isend(enum send_mode mode, struct message *m,
                       MPI_Request *request)
{
    struct req *r;
    int rc = MPI_ERR_NO_MEM;

    be_lock();
    r = req_alloc();
    if (r)
        rc = req_send(r, m, mode == SEND_SYNCHRONOUS);
    if (rc == MPI_SUCCESS) {
        *request = req_handle(r);
        if (!r->core.done || !conns_skip_round())
            progress_once();
    } else if (r) {
        req_free(r);
    }
    be_unlock();
    return be_raise(m->comm->comm, rc);
}

/* Done as far as the program can see; an empty native request says so. */
static int cross_ibsend(struct message *m, MPI_Request *request)
{
    int rc;

    be_lock();
    rc = send_copy(m);
    be_unlock();
    if (rc != MPI_SUCCESS)
        return be_raise(m->comm->comm, rc);
    return impi_real.Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, m->comm->comm,
                           request);
}

static int span_isend(enum send_mode mode, struct message *m,
                      MPI_Request *request)
{
    int rc, native = m->peer;

    if (m->peer != MPI_PROC_NULL) {
        rc = check_message(m, false);
        if (rc != MPI_SUCCESS)
            return be_raise(m->comm->comm, rc);
        native = m->comm->native[m->peer];
    }
    if (m->peer == MPI_PROC_NULL || native >= 0)
        return native_isend(mode, m, native, m->comm->p2p, request);
    if (mode == SEND_BUFFERED)
        return cross_ibsend(m, request);
    return cross_isend(mode, m, request);
}

int send_start(struct message *m, MPI_Comm comm, MPI_Request *request)
{
    m->comm = impi_span_find(comm);
    if (!m->comm)
        return native_isend(SEND_STANDARD, m, m->peer, comm, request);
    m->cid = m->comm->cid;
    return span_isend(SEND_STANDARD, m, request);
}

#define NONBLOCKING(name, mode)                                                \
    int impi_##name(const void *buf, int count, MPI_Datatype datatype,         \
                    int dest, int tag, MPI_Comm comm, MPI_Request *request)    \
    {                                                                          \
        struct impi_comm *c = impi_span_find(comm);                            \
        int native = c ? straight_rank(c, dest, tag) : dest;                   \
                                                                               \
        if (likely(!c || native >= 0))                                         \
            return impi_real.name(buf, count, datatype, native, tag, comm,     \
                                  request);                                    \
        MESSAGE(m, c);                                                         \
        return impi_told_##name(span_isend(mode, &m, request), buf, count,     \
                                datatype, dest, tag, comm, request);           \
    }

NONBLOCKING(Isend, SEND_STANDARD)
NONBLOCKING(Ibsend, SEND_BUFFERED)
NONBLOCKING(Issend, SEND_SYNCHRONOUS)
NONBLOCKING(Irsend, SEND_READY)
