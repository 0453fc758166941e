/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier, Bcast, Reduce and Allreduce on spanning communicators: does the
 * steps that impi/schedule.h prescribes.  Local phases are the native
 * library's, on a hidden duplicate of the communicator, and always in the
 * nonblocking form: a process with something pending must not block, and the
 * two forms do not match each other.
 */
#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "impi/schedule.h"
#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"

/* One collective call of this process. */
struct coll {
    struct impi_comm *c;
    void *buf[5]; /* by enum impi_step_buf */
    void *free_acc, *free_tmp, *free_own;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    struct impi_schedule steps;
};

static struct impi_coll_rules rules(void)
{
    int32_t n = impi_be.world.coll_maxlinear;

    return (struct impi_coll_rules){.maxlinear = n > 0 ? (uint32_t)n : 0};
}

/* ---- messages ---- */

static int cross_move(const struct message *m, bool recv)
{
    struct waiter w = {.native = false};
    struct req r;
    int rc;

    req_init(&r);
    be_lock();
    rc = recv ? req_recv(&r, m) : req_send(&r, m, false);
    while (rc == MPI_SUCCESS && !req_poll(&r))
        progress_wait(&w);
    if (rc == MPI_SUCCESS)
        rc = req_result(&r, MPI_STATUS_IGNORE, true);
    be_unlock();
    return rc;
}

static int finish_native(int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS)
        return rc;
    return progress_native_wait(request, MPI_STATUS_IGNORE);
}

static int native_move(const struct message *m, bool recv)
{
    MPI_Request r;
    MPI_Comm comm = m->comm->hidden;
    int peer = m->comm->native[m->peer], rc;

    if (recv)
        rc = impi_real.Irecv(m->buf, m->count, m->type, peer, m->tag, comm, &r);
    else
        rc = impi_real.Isend(m->buf, m->count, m->type, peer, m->tag, comm, &r);
    return finish_native(rc, &r);
}

static int do_move(const struct coll *x, const struct impi_step *s)
{
    bool recv = s->kind == IMPI_STEP_RECV, empty = s->buf == IMPI_BUF_NONE;
    struct message m = {.buf = x->buf[s->buf],
                        .count = empty ? 0 : x->count,
                        .type = empty ? MPI_BYTE : x->type,
                        .peer = (int)s->rank,
                        .tag = s->tag,
                        .comm = x->c,
                        .cid = x->c->cid + 1};

    return s->local ? native_move(&m, recv) : cross_move(&m, recv);
}

/* ---- local phases ---- */

static int local_barrier(const struct coll *x)
{
    MPI_Request r;

    return finish_native(impi_real.Ibarrier(x->c->hidden, &r), &r);
}

static int local_bcast(const struct coll *x, const struct impi_step *s)
{
    MPI_Request r;
    int rc = impi_real.Ibcast(x->buf[s->buf], x->count, x->type,
                              x->c->native[s->rank], x->c->hidden, &r);

    return finish_native(rc, &r);
}

static int local_reduce(const struct coll *x, const struct impi_step *s)
{
    const void *own = x->buf[IMPI_BUF_OWN];
    void *acc = x->buf[IMPI_BUF_ACC];
    MPI_Request r;
    int rc;

    if (own == acc && (int)s->rank == x->c->rank)
        own = MPI_IN_PLACE;
    rc = impi_real.Ireduce(own, acc, x->count, x->type, x->op,
                           x->c->native[s->rank], x->c->hidden, &r);
    return finish_native(rc, &r);
}

static int do_step(const struct coll *x, const struct impi_step *s)
{
    switch ((enum impi_step_kind)s->kind) {
    case IMPI_STEP_SEND:
    case IMPI_STEP_RECV:
        return do_move(x, s);
    case IMPI_STEP_COMBINE:
        return impi_real.Reduce_local(x->buf[s->buf], x->buf[IMPI_BUF_ACC],
                                      x->count, x->type, x->op);
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
    }
    return MPI_ERR_INTERN;
}

/* ---- the whole ---- */

static bool uses(const struct coll *x, enum impi_step_buf buf)
{
    for (size_t i = 0; i < x->steps.count; i++) {
        const struct impi_step *s = &x->steps.steps[i];

        if (s->buf == (uint8_t)buf)
            return true;
        if (buf == IMPI_BUF_ACC &&
            (s->kind == IMPI_STEP_COMBINE || s->kind == IMPI_STEP_COPY ||
             (s->kind == IMPI_STEP_LOCAL_REDUCE && (int)s->rank == x->c->rank)))
            return true;
    }
    return false;
}

/* Buffers that the steps want and the user has not given. */
static int add_buffers(struct coll *x, bool commutes)
{
    void **buf = x->buf;

    if (!buf[IMPI_BUF_ACC] && uses(x, IMPI_BUF_ACC)) {
        x->free_acc = data_like(NULL, x->count, x->type, &buf[IMPI_BUF_ACC]);
        if (!x->free_acc)
            return MPI_ERR_NO_MEM;
    }
    if (uses(x, IMPI_BUF_TMP)) {
        x->free_tmp = data_like(NULL, x->count, x->type, &buf[IMPI_BUF_TMP]);
        if (!x->free_tmp)
            return MPI_ERR_NO_MEM;
    }
    if (!commutes && buf[IMPI_BUF_OWN] == buf[IMPI_BUF_ACC]) {
        x->free_own =
            data_like(buf[IMPI_BUF_OWN], x->count, x->type, &buf[IMPI_BUF_OWN]);
        if (!x->free_own)
            return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

/* Do the steps; made: what making them returned.  Frees everything. */
static int run(struct coll *x, int made)
{
    int rc = made < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;

    for (size_t i = 0; i < x->steps.count && rc == MPI_SUCCESS; i++)
        rc = do_step(x, &x->steps.steps[i]);
    impi_schedule_free(&x->steps);
    free(x->free_acc);
    free(x->free_tmp);
    free(x->free_own);
    return be_raise(x->c->comm, rc);
}

static int check(const struct impi_comm *c, int count, MPI_Datatype type,
                 int root)
{
    if (root < 0 || root >= c->size)
        return MPI_ERR_ROOT;
    if (count < 0)
        return MPI_ERR_COUNT;
    return type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

int coll_barrier(struct impi_comm *c)
{
    struct coll x = {.c = c, .type = MPI_BYTE};
    struct impi_coll_rules r = rules();

    return run(
        &x, impi_schedule_barrier(&x.steps, &c->group, &r, (uint32_t)c->rank));
}

int impi_Barrier(MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    return c ? coll_barrier(c) : ASSISTED(impi_real.Barrier(comm));
}

int impi_Bcast(void *buffer, int count, MPI_Datatype datatype, int root,
               MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct coll x = {.c = c, .count = count, .type = datatype};
    struct impi_coll_rules r = rules();
    int rc;

    if (!c)
        return ASSISTED(impi_real.Bcast(buffer, count, datatype, root, comm));
    rc = check(c, count, datatype, root);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    x.buf[IMPI_BUF_DATA] = buffer;
    return run(&x, impi_schedule_bcast(&x.steps, &c->group, &r,
                                       (uint32_t)c->rank, (uint32_t)root));
}

/* root < 0: everybody gets the result. */
static int reduce(struct coll *x, int root)
{
    struct impi_coll_rules r = rules();
    uint32_t me = (uint32_t)x->c->rank;
    int commutes = 0, made;
    int rc = x->op == MPI_OP_NULL
                 ? MPI_ERR_OP
                 : check(x->c, x->count, x->type, root < 0 ? 0 : root);

    if (rc == MPI_SUCCESS)
        rc = impi_real.Op_commutative(x->op, &commutes);
    if (rc != MPI_SUCCESS)
        return be_raise(x->c->comm, rc);
    if (root < 0)
        made =
            impi_schedule_allreduce(&x->steps, &x->c->group, &r, me, commutes);
    else
        made = impi_schedule_reduce(&x->steps, &x->c->group, &r, me,
                                    (uint32_t)root, commutes);
    if (made == 0 && add_buffers(x, commutes) != MPI_SUCCESS)
        made = -1;
    if (made < 0)
        x->steps.count = 0;
    return run(x, made);
}

int coll_reduce(struct impi_comm *c, const void *in, void *out, int count,
                MPI_Datatype type, MPI_Op op, int root)
{
    struct coll x = {.c = c, .count = count, .type = type, .op = op};

    if (c->rank == root)
        x.buf[IMPI_BUF_ACC] = out;
    x.buf[IMPI_BUF_OWN] = in == MPI_IN_PLACE ? out : (void *)(uintptr_t)in;
    return reduce(&x, root);
}

int impi_Reduce(const void *sendbuf, void *recvbuf, int count,
                MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Reduce(sendbuf, recvbuf, count, datatype, op,
                                         root, comm));
    return coll_reduce(c, sendbuf, recvbuf, count, datatype, op, root);
}

int coll_allreduce(struct impi_comm *c, const void *in, void *out, int count,
                   MPI_Datatype type, MPI_Op op)
{
    struct coll x = {.c = c, .count = count, .type = type, .op = op};

    x.buf[IMPI_BUF_ACC] = out;
    x.buf[IMPI_BUF_OWN] = in == MPI_IN_PLACE ? out : (void *)(uintptr_t)in;
    return reduce(&x, -1);
}

int impi_Allreduce(const void *sendbuf, void *recvbuf, int count,
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(
            impi_real.Allreduce(sendbuf, recvbuf, count, datatype, op, comm));
    return coll_allreduce(c, sendbuf, recvbuf, count, datatype, op);
}

/* ---- a small gather, for making communicators ---- */

static int move_ints(struct impi_comm *c, int peer, int *buf, int n, bool recv)
{
    struct message m = {.buf = buf,
                        .count = n,
                        .type = MPI_INT,
                        .peer = peer,
                        .tag = IMPI_GATHER_TAG,
                        .comm = c,
                        .cid = c->cid + 1};

    return cross_move(&m, recv);
}

/* A client's block to its places in rank order. */
static void place_block(const struct impi_group *g, uint32_t master,
                        const int *block, int n, int *all)
{
    const uint32_t *local = impi_group_locals_to_master(g, master);
    uint32_t count = impi_group_num_local_to_master(g, master);

    for (uint32_t i = 0; i < count; i++)
        memcpy(all + (size_t)local[i] * (size_t)n, block + i * (size_t)n,
               (size_t)n * sizeof(int));
}

/* Masters send their client's block to rank 0. */
static int gather_blocks(struct impi_comm *c, int *block, int n, int *all)
{
    const struct impi_group *g = &c->group;
    uint32_t me = (uint32_t)c->rank;
    int rc = MPI_SUCCESS;

    if (me != 0)
        return move_ints(c, 0, block, n * c->native_size, false);
    place_block(g, 0, block, n, all);
    for (uint32_t m = 1; m < g->nmasters && rc == MPI_SUCCESS; m++) {
        int count = n * (int)impi_group_num_local_to_master(g, m);
        int *in = malloc((size_t)count * sizeof(int));

        if (!in)
            return MPI_ERR_NO_MEM;
        rc = move_ints(c, (int)impi_group_master_rank(g, m), in, count, true);
        place_block(g, m, in, n, all);
        free(in);
    }
    return rc;
}

int coll_allgather_ints(struct impi_comm *c, const int *own, int n, int *all)
{
    struct coll x = {.c = c, .count = n * c->size, .type = MPI_INT};
    struct impi_coll_rules r = rules();
    int *block = malloc((size_t)c->native_size * (size_t)n * sizeof(int));
    MPI_Request req;
    int rc = MPI_ERR_NO_MEM;

    if (block) {
        rc = impi_real.Iallgather(own, n, MPI_INT, block, n, MPI_INT, c->hidden,
                                  &req);
        rc = finish_native(rc, &req);
    }
    if (rc == MPI_SUCCESS && impi_group_is_master(&c->group, (uint32_t)c->rank))
        rc = gather_blocks(c, block, n, all);
    free(block);
    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    x.buf[IMPI_BUF_DATA] = all;
    return run(
        &x, impi_schedule_bcast(&x.steps, &c->group, &r, (uint32_t)c->rank, 0));
}
