/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of a collective call: those of one row are started together and
 * waited for together.
 */
#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/coll_run.h"
#include "libimpi/data.h"
#include "libimpi/fast.h"
#include "libimpi/req.h"
#include "libimpi/state.h"

static void *more_room(void *p, int used, int *room, size_t size)
{
    if (used < *room)
        return p;
    *room = *room ? 2 * *room : 8;
    p = realloc(p, (size_t)*room * size);
    if (!p)
        be_die(1, "SF-E403: no memory for a collective call");
    return p;
}

MPI_Request *coll_native(struct coll *x)
{
    x->native =
        more_room(x->native, x->nnative, &x->native_room, sizeof(MPI_Request));
    return &x->native[x->nnative++];
}

/* A native request that did not come to be is none. */
static int started(struct coll *x, int rc)
{
    if (rc != MPI_SUCCESS)
        x->nnative--;
    return rc;
}

static int move_native(struct coll *x, const struct message *m, bool recv)
{
    MPI_Comm comm = x->c->hidden;
    MPI_Request *r = coll_native(x);
    int peer = x->c->native[m->peer];

    if (recv)
        return started(x, impi_real.Irecv(m->buf, m->count, m->type, peer,
                                          m->tag, comm, r));
    return started(
        x, impi_real.Isend(m->buf, m->count, m->type, peer, m->tag, comm, r));
}

static int move_cross(struct coll *x, const struct message *m, bool recv)
{
    struct req *r = req_alloc();
    int rc;

    if (!r)
        return MPI_ERR_NO_MEM;
    rc = recv ? req_recv(r, m) : req_send(r, m, false);
    if (rc != MPI_SUCCESS) {
        req_free(r);
        return rc;
    }
    x->cross =
        more_room(x->cross, x->ncross, &x->cross_room, sizeof(struct req *));
    x->cross[x->ncross++] = r;
    return MPI_SUCCESS;
}

/* Of the pair of ids the second, unless a peer has it otherwise. */
static uint64_t context_of(const struct coll *x, const struct impi_step *s)
{
    bool first = s->tag == IMPI_REDUCE_TAG && impi_be.tolerated.reduce_p2p;

    return x->c->cid + !first;
}

static void message_of(const struct coll *x, const struct impi_step *s,
                       struct message *m)
{
    const struct blocks *b = s->buf == IMPI_BUF_OUT ? &x->out : &x->in;

    *m = (struct message){.buf = x->buf[s->buf],
                          .count = x->count,
                          .type = x->type,
                          .peer = (int)s->rank,
                          .tag = s->tag + (s->local ? 0 : x->c->tag_base),
                          .comm = x->c,
                          .cid = context_of(x, s),
                          .straight = true};
    if (s->buf == IMPI_BUF_NONE) {
        m->count = 0;
        m->type = MPI_BYTE;
    } else if (s->buf == IMPI_BUF_OUT || s->buf == IMPI_BUF_IN) {
        m->buf = block_at(b, (int)s->block);
        m->count = block_count(b, (int)s->block);
        m->type = block_type(b, (int)s->block);
    }
}

static void note(struct coll *x, int rc)
{
    if (x->rc == MPI_SUCCESS)
        x->rc = rc;
}

static bool cross_done(struct coll *x)
{
    for (int i = x->ncross - 1; i >= 0; i--) {
        struct req *r = x->cross[i];

        if (!req_poll(r))
            continue;
        note(x, req_result(r, MPI_STATUS_IGNORE, true));
        req_free(r);
        x->cross[i] = x->cross[--x->ncross];
    }
    return x->ncross == 0;
}

/* A short message may go past all queues, as with MPI_Send and MPI_Recv
 * (fast.h); a receive if the row waits for nothing else. */
static bool move_straight(struct coll *x, struct message *m, bool recv,
                          bool last)
{
    if (!recv)
        return fast_step_send(m);
    return last && x->waits && !impi_be.crowded && x->nnative == 0 &&
           cross_done(x) && fast_step_recv(m);
}

static int do_move(struct coll *x, const struct impi_step *s)
{
    bool recv = s->kind == IMPI_STEP_RECV;
    struct message m;

    message_of(x, s, &m);
    if (m.type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (s->local)
        return move_native(x, &m, recv);
    if (move_straight(x, &m, recv, !s->more))
        return MPI_SUCCESS;
    return move_cross(x, &m, recv);
}

/* Local phases are its own business. */
static bool is_alone(const struct coll *x)
{
    return impi_group_num_local_to_rank(x->c->units, (uint32_t)x->c->rank) == 1;
}

static int local_barrier(struct coll *x)
{
    if (is_alone(x))
        return MPI_SUCCESS;
    return started(x, impi_real.Ibarrier(x->c->hidden, coll_native(x)));
}

static int local_bcast(struct coll *x, const struct impi_step *s)
{
    if (is_alone(x))
        return MPI_SUCCESS;
    return started(x, impi_real.Ibcast(x->buf[s->buf], x->count, x->type,
                                       x->c->native[s->rank], x->c->hidden,
                                       coll_native(x)));
}

static int local_reduce(struct coll *x, const struct impi_step *s)
{
    const void *own = x->buf[IMPI_BUF_OWN];
    void *acc = x->buf[IMPI_BUF_ACC];

    if (is_alone(x))
        return own == acc ? MPI_SUCCESS
                          : data_assign(acc, own, x->count, x->type);
    if (own == acc && (int)s->rank == x->c->rank)
        own = MPI_IN_PLACE;
    return started(x, impi_real.Ireduce(own, acc, x->count, x->type, x->op,
                                        x->c->native[s->rank], x->c->hidden,
                                        coll_native(x)));
}

static int combine_under(struct coll *x, const struct impi_step *s)
{
    void *acc = x->buf[IMPI_BUF_ACC], *buf = x->buf[s->buf];
    int rc = impi_real.Reduce_local(acc, buf, x->count, x->type, x->op);

    return rc == MPI_SUCCESS ? data_assign(acc, buf, x->count, x->type) : rc;
}

static int do_step(struct coll *x, const struct impi_step *s)
{
    switch ((enum impi_step_kind)s->kind) {
    case IMPI_STEP_SEND:
    case IMPI_STEP_RECV:
        return do_move(x, s);
    case IMPI_STEP_COMBINE:
        return impi_real.Reduce_local(x->buf[s->buf], x->buf[IMPI_BUF_ACC],
                                      x->count, x->type, x->op);
    case IMPI_STEP_COMBINE_UNDER:
        return combine_under(x, s);
    case IMPI_STEP_COPY:
        return data_copy(x->buf[IMPI_BUF_ACC], x->buf[IMPI_BUF_OWN], x->count,
                         x->type);
    case IMPI_STEP_LOCAL_FANIN:
    case IMPI_STEP_LOCAL_FANOUT:
        return local_barrier(x);
    case IMPI_STEP_LOCAL_REDUCE:
        return local_reduce(x, s);
    case IMPI_STEP_LOCAL_BCAST:
        return local_bcast(x, s);
    case IMPI_STEP_LOCAL_OTHER:
        return x->local(x);
    }
    return MPI_ERR_INTERN;
}

/* One after the other, so that each error has its code. */
static bool native_done(struct coll *x)
{
    while (x->nnative > 0) {
        int i, flag = 0;
        int rc = impi_real.Testany(x->nnative, x->native, &i, &flag,
                                   MPI_STATUS_IGNORE);

        note(x, rc);
        if (rc == MPI_SUCCESS && !flag)
            return false;
        if (i == MPI_UNDEFINED)
            x->nnative = 0;
        else
            x->native[i] = x->native[--x->nnative];
    }
    return true;
}

static void start_row(struct coll *x)
{
    bool more = true;

    while (more && x->next < x->steps.count && x->rc == MPI_SUCCESS) {
        const struct impi_step *s = &x->steps.steps[x->next++];

        more = s->more;
        note(x, do_step(x, s));
    }
}

bool coll_advance(struct coll *x)
{
    for (;;) {
        bool here = cross_done(x);

        if (!native_done(x) || !here)
            return false;
        if (x->rc != MPI_SUCCESS || x->next == x->steps.count)
            break;
        start_row(x);
    }
    if (x->finish)
        note(x, x->finish(x, x->rc));
    x->done = true;
    return true;
}
