/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Send_init and its relatives, MPI_Start, MPI_Startall.
 */
#include "libimpi/persist.h"

#include <stdlib.h>

#include "libimpi/coll_init.h"
#include "libimpi/partitioned.h"

void persist_free(struct persist *p)
{
    if (!p)
        return;
    if (p->held)
        impi_real.Type_free(&p->m.type);
    comm_release(p->m.comm);
    coll_init_free(p->coll);
    partitions_free(p->parts);
    free(p);
}

/* The program may free its type meanwhile. */
static int hold_type(struct persist *p)
{
    struct type_info info;
    int rc = type_look_up(&info, p->m.type);

    if (rc != MPI_SUCCESS || info.basic == info.type)
        return rc;
    rc = impi_real.Type_dup(info.type, &p->m.type);
    p->held = rc == MPI_SUCCESS;
    return rc;
}

static struct req *make_req(const struct message *m, enum send_mode mode,
                            bool recv, int *rc)
{
    struct persist *p = malloc(sizeof(*p));
    struct req *r = p ? req_alloc() : NULL;

    *rc = MPI_ERR_NO_MEM;
    if (!r) {
        free(p);
        return NULL;
    }
    *p = (struct persist){.m = *m, .mode = mode, .recv = recv};
    comm_hold(m->comm);
    r->persist = p;
    *rc = hold_type(p);
    if (*rc == MPI_SUCCESS)
        return r;
    req_free(r);
    return NULL;
}

static int make(const struct message *m, enum send_mode mode, bool recv,
                MPI_Request *request)
{
    int rc;
    struct req *r = make_req(m, mode, recv, &rc);

    if (r)
        *request = req_handle(r);
    return rc;
}

struct req *persist_parts(struct partitions *parts, const struct message *m,
                          bool recv, int *rc)
{
    struct req *r = make_req(m, SEND_STANDARD, recv, rc);

    if (r)
        r->persist->parts = parts;
    else
        partitions_free(parts);
    return r;
}

static int make_own(struct impi_comm *c, const struct message *m,
                    enum send_mode mode, bool recv, MPI_Request *request)
{
    int rc;

    be_lock();
    rc = make(m, mode, recv, request);
    be_unlock();
    return be_raise(c->comm, rc);
}

int persist_coll(struct coll_init *coll, struct impi_comm *c,
                 MPI_Request *request)
{
    struct persist *p = malloc(sizeof(*p));
    struct req *r;

    be_lock();
    r = p ? req_alloc() : NULL;
    if (r) {
        *p = (struct persist){.m.comm = c, .coll = coll};
        comm_hold(c);
        r->persist = p;
        *request = req_handle(r);
    }
    be_unlock();
    if (!r)
        free(p);
    return r ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int native_send_init(enum send_mode mode, const struct message *m,
                            int dest, MPI_Comm comm, MPI_Request *request)
{
    impi_Send_init_f *const init[] = {impi_real.Send_init, impi_real.Bsend_init,
                                      impi_real.Ssend_init,
                                      impi_real.Rsend_init};

    return init[mode](m->buf, m->count, m->type, dest, m->tag, comm, request);
}

static int send_init(enum send_mode mode, struct message *m, MPI_Comm comm,
                     MPI_Request *request)
{
    struct impi_comm *c = m->comm = impi_span_find(comm);
    int rc;

    if (!c || m->peer == MPI_PROC_NULL)
        return native_send_init(mode, m, m->peer, comm, request);
    m->cid = c->cid;
    rc = check_message(m, false);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    if (c->native[m->peer] >= 0)
        return native_send_init(mode, m, c->native[m->peer], c->p2p, request);
    return make_own(c, m, mode, false, request);
}

#define INIT(name, mode)                                                       \
    int impi_##name(const void *buf, int count, MPI_Datatype datatype,         \
                    int dest, int tag, MPI_Comm comm, MPI_Request *request)    \
    {                                                                          \
        struct message m = {.buf = (void *)(uintptr_t)buf,                     \
                            .count = count,                                    \
                            .type = datatype,                                  \
                            .peer = dest,                                      \
                            .tag = tag};                                       \
                                                                               \
        return send_init(mode, &m, comm, request);                             \
    }

INIT(Send_init, SEND_STANDARD)
INIT(Bsend_init, SEND_BUFFERED)
INIT(Ssend_init, SEND_SYNCHRONOUS)
INIT(Rsend_init, SEND_READY)

int impi_Recv_init(void *buf, int count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    struct message m = {.buf = buf,
                        .count = count,
                        .type = datatype,
                        .peer = source,
                        .tag = tag,
                        .comm = c};
    int rc;

    if (!c || source == MPI_PROC_NULL)
        return impi_real.Recv_init(buf, count, datatype, source, tag, comm,
                                   request);
    m.cid = c->cid;
    rc = check_message(&m, true);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    if (c->same && source != MPI_ANY_SOURCE && c->native[source] >= 0)
        return impi_real.Recv_init(buf, count, datatype, source, tag, comm,
                                   request);
    return make_own(c, &m, SEND_STANDARD, true, request);
}

/* ---- starting ---- */

/* A buffered one is done as soon as its data are copied. */
static int start_send(struct req *r, struct persist *p)
{
    struct message m = p->m;
    int rc;

    if (p->mode != SEND_BUFFERED)
        return req_send(r, &m, p->mode == SEND_SYNCHRONOUS);
    rc = send_copy(&m);
    if (rc == MPI_SUCCESS)
        req_complete(r, p->m.comm);
    return rc;
}

static int start_own(struct req *r)
{
    struct persist *p = r->persist;
    int rc;

    if (!p || p->active)
        return be_raise(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    req_again(r);
    rc = MPI_SUCCESS;
    if (p->coll)
        rc = coll_init_start(p->coll, r, p->m.comm);
    else if (p->parts)
        partitions_start(p->parts);
    else
        rc = p->recv ? req_recv(r, &p->m) : start_send(r, p);
    p->active = rc == MPI_SUCCESS;
    return rc == MPI_SUCCESS || r->raised ? rc : be_raise(p->m.comm->comm, rc);
}

int impi_Start(MPI_Request *request)
{
    int rc;

    if (!impi_request_ours(*request))
        return impi_real.Start(request);
    be_lock();
    rc = start_own(req_of(*request));
    progress_once();
    be_unlock();
    return rc;
}

int impi_Startall(int count, MPI_Request requests[])
{
    int rc = MPI_SUCCESS;

    if (!impi_requests_ours(count, requests))
        return impi_real.Startall(count, requests);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = impi_Start(&requests[i]);
    return rc;
}
