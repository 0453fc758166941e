/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a request begins: in the engine, in the native library, or in both.
 */
#include "impi/fast.h"
#include "libimpi/coll_run.h"
#include "libimpi/net.h"
#include "libimpi/req_priv.h"
#include "libimpi/state.h"

static int32_t core_tag(int tag)
{
    return tag == MPI_ANY_TAG ? IMPI_ANY_TAG : tag;
}

static int prepare_send(struct req *r, const struct message *m,
                        struct impi_send *args)
{
    int rc = data_for_send(&r->data, m->buf, m->count, m->type);

    if (rc != MPI_SUCCESS)
        return rc;
    *args = (struct impi_send){.peer = (uint32_t)m->comm->world[m->peer],
                               .rank = m->comm->rank - m->comm->first,
                               .tag = m->tag,
                               .cid = m->cid,
                               .count = (uint64_t)m->count};
    args->buf.base = r->data.base;
    args->buf.len = r->data.len;
    req_hold_comm(r, m->comm);
    r->in_core = true;
    return MPI_SUCCESS;
}

/* The engine gets it, and ends what of it is written already. */
static void queue_send(struct req *r, const struct impi_send *args, size_t part)
{
    impi_p2p_isend(impi_be.p2p, &r->core, args);
    if (part > 0)
        net_put_part(args->peer, part);
}

int req_send_rest(struct req *r, const struct message *m, size_t part)
{
    struct impi_send args;
    int rc = prepare_send(r, m, &args);

    if (rc == MPI_SUCCESS)
        queue_send(r, &args, part);
    return rc;
}

int req_send(struct req *r, const struct message *m, bool sync)
{
    struct impi_send args;
    size_t part = 0;
    int rc = prepare_send(r, m, &args);

    if (rc != MPI_SUCCESS)
        return rc;
    args.sync = sync;
    if (!sync && args.buf.len <= NET_FAST_MAX &&
        net_put(&args, &part) == NET_PUT_ALL)
        impi_fast_request(impi_be.p2p, &r->core, &args);
    else
        queue_send(r, &args, part);
    return MPI_SUCCESS;
}

static int post_native(struct req *r, const struct message *m, int peer)
{
    int rc = impi_real.Irecv(m->buf, m->count, m->type, peer, m->tag,
                             m->comm->p2p, &r->native);

    r->raised = rc != MPI_SUCCESS;
    return rc;
}

static int post_core(struct req *r, const struct message *m)
{
    bool any = m->peer == MPI_ANY_SOURCE;
    struct impi_recv args = {
        .peer = any ? IMPI_ANY_PEER : (uint32_t)m->comm->world[m->peer],
        .rank = any ? IMPI_ANY_SOURCE : m->peer - m->comm->peer,
        .tag = core_tag(m->tag),
        .cid = m->cid,
        .shared = any};
    int rc = data_for_recv(&r->data, m->buf, m->count, m->type);

    if (rc != MPI_SUCCESS)
        return rc;
    args.buf.base = r->data.base;
    args.buf.len = r->data.len;
    r->in_core = true;
    impi_p2p_irecv(impi_be.p2p, &r->core, &args);
    return MPI_SUCCESS;
}

static bool waits_in_core(const struct req *r)
{
    return r->in_core && !r->core.done && r->core.state == IMPI_REQ_POSTED;
}

/* A message of the library that a probe told of, before any from elsewhere:
 * MPI does not promise it to a receive from MPI_ANY_SOURCE, but each library
 * alone gives the same message twice, and programs count on it. */
static bool take_probed(struct req *r, const struct message *m, int *rc)
{
    MPI_Message message;
    MPI_Status st;
    int flag = 0;

    if (m->peer != MPI_ANY_SOURCE || impi_be.probed != m->comm)
        return false;
    impi_be.probed = NULL;
    *rc = impi_real.Improbe(MPI_ANY_SOURCE, m->tag, m->comm->p2p, &flag,
                            &message, &st);
    if (*rc == MPI_SUCCESS && flag)
        *rc = impi_real.Imrecv(m->buf, m->count, m->type, &message, &r->native);
    r->raised = *rc != MPI_SUCCESS;
    return flag || r->raised;
}

static int start_recv(struct req *r, const struct message *m)
{
    int rc;

    if (m->peer != MPI_ANY_SOURCE && m->comm->native[m->peer] >= 0 &&
        !m->straight)
        return post_native(r, m, m->comm->native[m->peer]);
    if (take_probed(r, m, &rc))
        return rc;
    rc = post_core(r, m);
    if (rc != MPI_SUCCESS || m->peer != MPI_ANY_SOURCE || !waits_in_core(r))
        return rc;
    rc = post_native(r, m, MPI_ANY_SOURCE);
    if (rc == MPI_SUCCESS)
        return rc;
    impi_p2p_cancel_recv(impi_be.p2p, &r->core, true);
    r->in_core = false;
    data_drop(&r->data);
    return rc;
}

int req_recv(struct req *r, const struct message *m)
{
    int rc;

    r->recv = true;
    req_hold_comm(r, m->comm);
    rc = start_recv(r, m);
    if (rc != MPI_SUCCESS)
        req_drop_comm(r);
    return rc;
}

int req_mrecv(struct req *r, const struct message *m, struct impi_comm *c,
              struct impi_unexpected *own, MPI_Message *native)
{
    struct impi_buffer buf = {0};
    int rc;

    r->recv = true;
    if (own) {
        rc = data_for_recv(&r->data, m->buf, m->count, m->type);
        if (rc != MPI_SUCCESS)
            return rc;
        buf.base = r->data.base;
        buf.len = r->data.len;
        r->in_core = true;
        impi_p2p_imrecv(impi_be.p2p, &r->core, own, &buf);
    } else {
        rc = impi_real.Imrecv(m->buf, m->count, m->type, native, &r->native);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    req_hold_comm(r, c);
    return MPI_SUCCESS;
}

void req_complete(struct req *r, struct impi_comm *c)
{
    req_hold_comm(r, c);
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->done = true;
}

void req_coll(struct req *r, struct coll *x)
{
    req_hold_comm(r, x->c);
    r->coll = x;
}
