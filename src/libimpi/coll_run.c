/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective calls under way, and the rows of messages that they are made of.
 */
#include "libimpi/coll_run.h"

#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "libimpi/coll_agree.h"
#include "libimpi/data.h"
#include "libimpi/failed.h"
#include "libimpi/fast.h"
#include "libimpi/late_free.h"
#include "libimpi/conns.h"
#include "libimpi/large.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"
#include "libimpi/state.h"

/* ---- coll row ---------------------------------------------------------- */

/* The steps of a collective call: those of one row are started together and
 * waited for together. */

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

int coll_started(struct coll *x, int rc)
{
    if (rc != MPI_SUCCESS)
        x->nnative--;
    return rc;
}

static int move_native(struct coll *x, const struct message *m, bool recv)
{
    MPI_Comm comm = x->c->hidden;
    MPI_Request *r = coll_native(x);
    int peer = x->c->native[m->peer], count = m->count;
    MPI_Datatype type = m->type;

    if (!recv)
        return coll_started(x, impi_real.Isend(m->buf, m->count, m->type, peer,
                                               m->tag, comm, r));
    if (RECV_OF_EMPTY_TYPE_FAILS)
        data_spare_empty(&count, &type);
    return coll_started(
        x, impi_real.Irecv(m->buf, count, type, peer, m->tag, comm, r));
}

int coll_cross(struct coll *x, const struct message *m, bool recv)
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

static void *part_at(const struct coll *x, const struct impi_step *s,
                     uint8_t buf)
{
    return large_at(x->buf[buf], x->cuts[s->part], x->type);
}

static int part_length(const struct coll *x, const struct impi_step *s)
{
    return (int)(x->cuts[s->part + s->nparts] - x->cuts[s->part]);
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
    } else if (s->nparts > 0 && x->wire) {
        m->buf = x->wire + x->cuts[s->part];
        m->count = part_length(x, s);
        m->type = MPI_BYTE;
    } else if (s->nparts > 0) {
        m->buf = part_at(x, s, s->buf);
        m->count = part_length(x, s);
    }
}

void coll_note(struct coll *x, int rc)
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
        coll_note(x, req_result(r, MPI_STATUS_IGNORE, true));
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
    return coll_cross(x, &m, recv);
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
    return coll_started(x, impi_real.Ibarrier(x->c->hidden, coll_native(x)));
}

static int local_bcast(struct coll *x, const struct impi_step *s)
{
    if (is_alone(x))
        return MPI_SUCCESS;
    return coll_started(x, impi_real.Ibcast(x->buf[s->buf], x->count, x->type,
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
    return coll_started(x, impi_real.Ireduce(own, acc, x->count, x->type, x->op,
                                             x->c->native[s->rank],
                                             x->c->hidden, coll_native(x)));
}

static int combine(struct coll *x, const struct impi_step *s)
{
    if (s->nparts > 0)
        return impi_real.Reduce_local(part_at(x, s, s->buf),
                                      part_at(x, s, IMPI_BUF_ACC),
                                      part_length(x, s), x->type, x->op);
    return impi_real.Reduce_local(x->buf[s->buf], x->buf[IMPI_BUF_ACC],
                                  x->count, x->type, x->op);
}

static int combine_under(struct coll *x, const struct impi_step *s)
{
    void *acc = x->buf[IMPI_BUF_ACC], *buf = x->buf[s->buf];
    int count = x->count, rc;

    if (s->nparts > 0) {
        acc = part_at(x, s, IMPI_BUF_ACC);
        buf = part_at(x, s, s->buf);
        count = part_length(x, s);
    }
    rc = impi_real.Reduce_local(acc, buf, count, x->type, x->op);
    return rc == MPI_SUCCESS ? data_assign(acc, buf, count, x->type) : rc;
}

/* Blocks that lie one behind the other in both are copied at once. */
static int copy_in_order(const struct coll *x, void *to, const void *from)
{
    const struct impi_parts *parts = &x->steps.parts;
    uint32_t n = x->c->units->size, next;
    int rc = MPI_SUCCESS;

    for (uint32_t i = 0; i < n && rc == MPI_SUCCESS; i = next) {
        uint32_t r = parts->ranks[i];
        int len = x->lens[r];

        for (next = i + 1; next < n && parts->ranks[next] == r + (next - i);
             next++)
            len += x->lens[parts->ranks[next]];
        if (len > 0)
            rc = data_assign(large_at(to, x->places[r], x->type),
                             large_at(from, x->by_rank[r], x->type), len,
                             x->type);
    }
    return rc;
}

/* acc and tmp change places where it was acc that is put in order. */
static int put_in_order(struct coll *x, const struct impi_step *s)
{
    void *acc = x->buf[IMPI_BUF_ACC];

    if (s->buf != IMPI_BUF_ACC)
        return copy_in_order(x, acc, x->buf[s->buf]);
    x->buf[IMPI_BUF_ACC] = x->out.base = x->buf[IMPI_BUF_TMP];
    x->buf[IMPI_BUF_TMP] = acc;
    return copy_in_order(x, x->buf[IMPI_BUF_ACC], acc);
}

/* After an error only what others wait for. */
static bool is_for_others(const struct impi_step *s)
{
    return s->kind != IMPI_STEP_COMBINE && s->kind != IMPI_STEP_COMBINE_UNDER &&
           s->kind != IMPI_STEP_COMBINE_INTO && s->kind != IMPI_STEP_COPY &&
           s->kind != IMPI_STEP_ORDER;
}

/* The agreement that follows waits for everybody, too. */
static bool is_last(const struct coll *x, const struct impi_step *s)
{
    return s == &x->steps.steps[x->steps.count - 1];
}

static int do_step(struct coll *x, const struct impi_step *s)
{
    if (x->rc != MPI_SUCCESS && !is_for_others(s))
        return MPI_SUCCESS;
    switch ((enum impi_step_kind)s->kind) {
    case IMPI_STEP_SEND:
    case IMPI_STEP_RECV:
        return do_move(x, s);
    case IMPI_STEP_COMBINE:
        return combine(x, s);
    case IMPI_STEP_COMBINE_UNDER:
        return combine_under(x, s);
    case IMPI_STEP_COMBINE_INTO:
        return impi_real.Reduce_local(x->buf[s->buf], x->buf[s->into], x->count,
                                      x->type, x->op);
    case IMPI_STEP_COPY:
        return data_copy(x->buf[IMPI_BUF_ACC], x->buf[IMPI_BUF_OWN], x->count,
                         x->type);
    case IMPI_STEP_ORDER:
        return put_in_order(x, s);
    case IMPI_STEP_LOCAL_FANOUT:
        if (x->c->foreign && is_last(x, s))
            return MPI_SUCCESS;
        return local_barrier(x);
    case IMPI_STEP_LOCAL_FANIN:
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

        coll_note(x, rc);
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

    while (more && x->next < x->steps.count &&
           (x->rc == MPI_SUCCESS || x->c->foreign)) {
        const struct impi_step *s = &x->steps.steps[x->next++];

        more = s->more;
        coll_note(x, do_step(x, s));
    }
}

/* With processes of other worlds, before the end and before anything that is
 * not a step. */
static bool wants_agreement(const struct coll *x)
{
    return x->c->foreign && !x->agreed &&
           (x->next == x->steps.count ||
            x->steps.steps[x->next].kind == IMPI_STEP_LOCAL_OTHER);
}

static bool has_failed(const struct coll *x)
{
    return x->rc != MPI_SUCCESS && (x->agreed || !x->c->foreign);
}

/* Start steps and end them, row by row, as far as it goes.  True: it is
 * through. */
static bool coll_advance(struct coll *x)
{
    for (;;) {
        bool here = cross_done(x);

        if (!native_done(x) || !here)
            return false;
        if (unlikely(wants_agreement(x))) {
            x->agreed = coll_agree(x);
            continue;
        }
        if (has_failed(x) || x->next == x->steps.count)
            break;
        x->agreed = false;
        start_row(x);
    }
    if (x->finish)
        coll_note(x, x->finish(x, x->rc));
    x->done = true;
    return true;
}

static struct coll *running; /* the first of each queue */
static struct coll *unused;  /* with their arrays */

/* ---- life ---- */

struct coll *coll_new(struct impi_comm *c)
{
    struct coll *x;

    be_lock();
    x = unused;
    if (x)
        unused = x->link;
    be_unlock();
    if (x)
        memset(&x->c, 0, sizeof(*x) - offsetof(struct coll, c));
    else if (!(x = calloc(1, sizeof(*x))))
        be_die(1, "SF-E403: no memory for a collective call");
    x->c = c;
    x->type = MPI_BYTE;
    x->steps.count = 0;
    return x;
}

void coll_use(struct coll *x, enum impi_step_buf buf, const void *p)
{
    x->buf[buf] = (void *)(uintptr_t)p;
    x->given |= 1U << buf;
}

void *coll_keep(struct coll *x, void *p)
{
    x->memory[x->nmemory++] = p;
    return p;
}

static void put_away(struct coll *x)
{
    blocks_drop(&x->out);
    blocks_drop(&x->in);
    while (x->nmemory > 0)
        free(x->memory[--x->nmemory]);
    free(x->heard);
    x->heard = NULL;
    be_lock();
    x->link = unused;
    unused = x;
    be_unlock();
}

int coll_end(struct coll *x)
{
    int rc = x->rc;

    comm_release(x->c);
    put_away(x);
    return rc;
}

/* ---- queues ---- */

/* The first of its queue, linked at *p, is through: the next one takes its
 * place. */
static void dequeue(struct coll *x, struct coll **p)
{
    struct coll *next = x->queue;

    x->c->queue = next;
    if (next) {
        next->link = x->link;
        *p = next;
    } else {
        x->c->queue_end = &x->c->queue;
        *p = x->link;
    }
}

void coll_progress(void)
{
    static bool busy; /* a callback of the program may lead here again */
    struct coll **p = &running;

    if (busy)
        return;
    busy = true;
    while (*p) {
        struct coll *x = *p;

        if (coll_advance(x))
            dequeue(x, p);
        else
            p = &x->link;
    }
    busy = false;
    if (!running)
        late_free_all();
}

bool coll_any(void)
{
    return running != NULL;
}

bool coll_waits_native(const struct coll *x)
{
    return x->nnative > 0 || x->c->queue != x;
}

static void enqueue(struct coll *x)
{
    struct impi_comm *c = x->c;
    bool first = c->queue == NULL;

    comm_hold(c);
    *c->queue_end = x;
    c->queue_end = &x->queue;
    if (!first)
        return;
    if (coll_advance(x)) {
        c->queue = NULL;
        c->queue_end = &c->queue;
        return;
    }
    x->link = running;
    running = x;
}

/* ---- both ways to run it ---- */

int coll_run_bytes(struct coll *x, int rc, uint64_t *bytes)
{
    struct waiter w = {.native = false};

    if (rc != MPI_SUCCESS) {
        put_away(x);
        return rc;
    }
    be_lock();
    x->waits = true;
    enqueue(x);
    if (x->done && !conns_skip_round())
        progress_once();
    while (!x->done) {
        w.native = coll_waits_native(x);
        progress_wait(&w);
    }
    *bytes = x->bytes;
    rc = coll_end(x);
    be_unlock();
    return rc;
}

int coll_run_quiet(struct coll *x, int rc)
{
    uint64_t bytes;

    return coll_run_bytes(x, rc, &bytes);
}

static int start(struct coll *x, MPI_Request *request)
{
    struct req *r;

    be_lock();
    r = req_alloc();
    if (r) {
        req_coll(r, x);
        enqueue(x);
        progress_once();
        *request = req_handle(r);
    }
    be_unlock();
    if (!r)
        put_away(x);
    return r ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int coll_run(struct coll *x, int rc, MPI_Request *request)
{
    MPI_Comm comm = x->c->comm;
    bool foreign = x->c->foreign;

    if (rc == MPI_SUCCESS && request)
        rc = start(x, request);
    else
        rc = coll_run_quiet(x, rc);
    if (foreign && rc == MPI_ERR_OTHER)
        return failed_note_why(comm, rc, "a process of another world is lost");
    return be_raise(comm, rc);
}
