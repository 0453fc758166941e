/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier, Bcast, Reduce and Allreduce on spanning communicators, blocking
 * and not: the steps that impi/schedule.h prescribes.
 */
#include "libimpi/coll.h"

#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "libimpi/comm_make.h"
#include "libimpi/buffer.h"
#include "libimpi/data.h"
#include "libimpi/progress.h"

struct impi_coll_rules coll_rules(void)
{
    int32_t n = impi_be.world.coll_maxlinear;

    return (struct impi_coll_rules){.maxlinear = n > 0 ? (uint32_t)n : 0,
                                    .exchange = !comm_strict()};
}

struct impi_sides coll_sides(const struct impi_comm *c)
{
    return (struct impi_sides){.first = (uint32_t)c->first,
                               .size = (uint32_t)c->local,
                               .peer = (uint32_t)c->peer,
                               .npeers = (uint32_t)c->peers};
}

int coll_role(const struct impi_comm *c, int root, enum impi_role *role,
              uint32_t *rank)
{
    *rank = 0;
    *role = IMPI_ROLE_IDLE;
    if (c->inter && (root == MPI_ROOT || root == MPI_PROC_NULL)) {
        *role = root == MPI_ROOT ? IMPI_ROLE_ROOT : IMPI_ROLE_IDLE;
        return MPI_SUCCESS;
    }
    if (root < 0 || root >= c->peers)
        return MPI_ERR_ROOT;
    *rank = (uint32_t)(root + c->peer);
    *role = !c->inter && root == c->rank ? IMPI_ROLE_ROOT : IMPI_ROLE_OTHER;
    return MPI_SUCCESS;
}

/* ---- buffers of reductions ---- */

static bool uses(const struct coll *x, enum impi_step_buf buf)
{
    for (size_t i = 0; i < x->steps.count; i++) {
        const struct impi_step *s = &x->steps.steps[i];

        if (s->buf == (uint8_t)buf)
            return true;
        if (buf == IMPI_BUF_ACC &&
            (s->kind == IMPI_STEP_COMBINE ||
             s->kind == IMPI_STEP_COMBINE_UNDER || s->kind == IMPI_STEP_COPY ||
             (s->kind == IMPI_STEP_LOCAL_REDUCE && (int)s->rank == x->c->rank)))
            return true;
    }
    return false;
}

static bool is_given(const struct coll *x, enum impi_step_buf buf)
{
    return x->given & 1U << buf;
}

/* Memory of the call for it, unless the program gave its own. */
static int add_buffer(struct coll *x, enum impi_step_buf buf)
{
    if (is_given(x, buf) || !uses(x, buf))
        return MPI_SUCCESS;
    return coll_keep(x, data_room(x->count, x->type, &x->buf[buf]))
               ? MPI_SUCCESS
               : MPI_ERR_NO_MEM;
}

/* What this process adds is overwritten before it was read. */
static int copy_own(struct coll *x)
{
    void **own = &x->buf[IMPI_BUF_OWN];

    return coll_keep(x, data_clone(*own, x->count, x->type, own))
               ? MPI_SUCCESS
               : MPI_ERR_NO_MEM;
}

int coll_add_buffers(struct coll *x, bool commutes)
{
    int rc = add_buffer(x, IMPI_BUF_ACC);

    if (rc == MPI_SUCCESS)
        rc = add_buffer(x, IMPI_BUF_TMP);
    if (rc == MPI_SUCCESS && !commutes && is_given(x, IMPI_BUF_ACC) &&
        x->buf[IMPI_BUF_OWN] == x->buf[IMPI_BUF_ACC])
        rc = copy_own(x);
    return rc;
}

int coll_check_reduction(int count, MPI_Datatype type, MPI_Op op)
{
    if (count < 0)
        return MPI_ERR_COUNT;
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    return op == MPI_OP_NULL ? MPI_ERR_OP : MPI_SUCCESS;
}

int coll_check_buffers(const struct coll *x, const void *own,
                       const void *result)
{
    int rc = buffer_check(own, x->count, x->type);

    return rc == MPI_SUCCESS ? buffer_check(result, x->count, x->type) : rc;
}

/* ---- Barrier ---- */

static int make_barrier(struct coll *x)
{
    struct impi_coll_rules r = coll_rules();

    return coll_made(impi_schedule_barrier(&x->steps, x->c->units, &r,
                                           (uint32_t)x->c->rank));
}

int coll_barrier(struct impi_comm *c)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_barrier(x), NULL);
}

int impi_Barrier(MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    return c ? coll_barrier(c) : ASSISTED(impi_real.Barrier(comm));
}

int impi_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    struct coll *x;

    if (!c)
        return impi_real.Ibarrier(comm, request);
    x = coll_new(c);
    return coll_run(x, make_barrier(x), request);
}

/* ---- Bcast ---- */

static int make_bcast(struct coll *x, void *buf, int count, MPI_Datatype type,
                      uint32_t root)
{
    struct impi_coll_rules r = coll_rules();

    coll_use(x, IMPI_BUF_DATA, buf);
    x->count = count;
    x->type = type;
    return coll_made(impi_schedule_bcast(&x->steps, x->c->units, &r,
                                         (uint32_t)x->c->rank, root));
}

int coll_bcast(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int root)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_bcast(x, buf, count, type, (uint32_t)root), NULL);
}

static int user_bcast(struct impi_comm *c, void *buf, int count,
                      MPI_Datatype type, int root, MPI_Request *request)
{
    struct coll *x = coll_new(c);
    struct impi_sides sides = coll_sides(c);
    enum impi_role role;
    uint32_t rank;
    int rc = coll_role(c, root, &role, &rank);

    if (rc == MPI_SUCCESS && count < 0)
        rc = MPI_ERR_COUNT;
    if (rc == MPI_SUCCESS && type == MPI_DATATYPE_NULL)
        rc = MPI_ERR_TYPE;
    if (rc == MPI_SUCCESS)
        rc = buffer_check(buf, count, type);
    if (rc == MPI_SUCCESS)
        rc = make_bcast(x, buf, count, type, c->inter ? 0 : rank);
    if (rc == MPI_SUCCESS && c->inter)
        rc = coll_made(impi_schedule_inter_bcast(
            &x->steps, c->units, (uint32_t)c->rank, &sides, role, rank));
    return coll_run(x, rc, request);
}

COLL_BOTH(Bcast, Ibcast,
          LIST(void *buffer, int count, MPI_Datatype datatype, int root),
          LIST(buffer, count, datatype, root),
          user_bcast(c, buffer, count, datatype, root, request))

/* ---- Reduce, Allreduce ---- */

static void reduce_args(struct coll *x, const void *in, int count,
                        MPI_Datatype type, MPI_Op op)
{
    coll_use(x, IMPI_BUF_OWN, in);
    x->count = count;
    x->type = type;
    x->op = op;
}

static int check_reduction(const struct coll *x, int *commutes)
{
    int rc = coll_check_reduction(x->count, x->type, x->op);

    return rc == MPI_SUCCESS ? impi_real.Op_commutative(x->op, commutes) : rc;
}

static int schedule_reduce(struct coll *x, enum impi_role role, uint32_t root,
                           bool commutes)
{
    const struct impi_group *g = x->c->units;
    struct impi_coll_rules r = coll_rules();
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    if (x->c->inter)
        return impi_schedule_inter_reduce(&x->steps, g, me, &sides, role, root,
                                          commutes);
    return impi_schedule_reduce(&x->steps, g, &r, me, root, commutes);
}

static int make_reduce(struct coll *x, const void *in, void *out, int count,
                       MPI_Datatype type, MPI_Op op, int root)
{
    enum impi_role role;
    uint32_t rank;
    int commutes = 0, rc = coll_role(x->c, root, &role, &rank);
    bool adds = !x->c->inter || role == IMPI_ROLE_OTHER;

    reduce_args(x, in == MPI_IN_PLACE ? out : in, count, type, op);
    if (role == IMPI_ROLE_ROOT)
        coll_use(x, x->c->inter ? IMPI_BUF_DATA : IMPI_BUF_ACC, out);
    if (rc == MPI_SUCCESS)
        rc = check_reduction(x, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, adds ? x->buf[IMPI_BUF_OWN] : COLL_NO_BUFFER,
                                role == IMPI_ROLE_ROOT ? out : COLL_NO_BUFFER);
    if (rc == MPI_SUCCESS)
        rc = coll_made(schedule_reduce(x, role, rank, commutes));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, commutes) : rc;
}

static int reduce(struct impi_comm *c, const void *in, void *out, int count,
                  MPI_Datatype type, MPI_Op op, int root, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_reduce(x, in, out, count, type, op, root), request);
}

COLL_BOTH(Reduce, Ireduce,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op, int root),
          LIST(sendbuf, recvbuf, count, datatype, op, root),
          reduce(c, sendbuf, recvbuf, count, datatype, op, root, request))

int coll_make_allreduce(struct coll *x, const void *in, void *out, int count,
                        MPI_Datatype type, MPI_Op op)
{
    struct impi_coll_rules r = coll_rules();
    int commutes = 0, rc;

    /* In a crowd the fewest messages win, not the fewest in a row. */
    r.exchange = r.exchange && x->c->units == &x->c->group;
    reduce_args(x, in == MPI_IN_PLACE ? out : in, count, type, op);
    coll_use(x, IMPI_BUF_ACC, out);
    rc = check_reduction(x, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, in, out);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_allreduce(&x->steps, x->c->units, &r,
                                               (uint32_t)x->c->rank, commutes));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, commutes) : rc;
}

/* The other group's result. */
static int make_inter_allreduce(struct coll *x, const void *in, void *out,
                                int count, MPI_Datatype type, MPI_Op op)
{
    struct impi_sides sides = coll_sides(x->c);
    int commutes = 0, rc;

    reduce_args(x, in, count, type, op);
    coll_use(x, IMPI_BUF_TMP, out);
    rc = check_reduction(x, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, in, out);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_inter_allreduce(
            &x->steps, x->c->units, (uint32_t)x->c->rank, &sides, commutes));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, commutes) : rc;
}

static int user_allreduce(struct impi_comm *c, const void *in, void *out,
                          int count, MPI_Datatype type, MPI_Op op,
                          MPI_Request *request)
{
    struct coll *x = coll_new(c);

    return coll_run(x,
                    c->inter ? make_inter_allreduce(x, in, out, count, type, op)
                             : coll_make_allreduce(x, in, out, count, type, op),
                    request);
}

int coll_allreduce(struct impi_comm *c, const void *in, void *out, int count,
                   MPI_Datatype type, MPI_Op op)
{
    struct coll *x = coll_new(c);

    return coll_run(x, coll_make_allreduce(x, in, out, count, type, op), NULL);
}

COLL_BOTH(Allreduce, Iallreduce,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, count, datatype, op),
          user_allreduce(c, sendbuf, recvbuf, count, datatype, op, request))

/* ---- a small gather, for making communicators ---- */

static uint32_t locals(const struct impi_comm *c, uint32_t master)
{
    return impi_group_num_local_to_master(&c->group, master);
}

/* A client's block to its places in rank order. */
static void place_block(const struct impi_comm *c, uint32_t master,
                        const int *block, int n, int *all)
{
    const uint32_t *local = impi_group_locals_to_master(&c->group, master);

    for (uint32_t i = 0; i < locals(c, master); i++)
        memcpy(all + (size_t)local[i] * (size_t)n, block + i * (size_t)n,
               (size_t)n * sizeof(int));
}

/* Masters send their client's block to rank 0, which has one place behind the
 * other for them in `blocks`. */
static int gather_blocks(struct impi_comm *c, int *block, int n, int *blocks)
{
    struct coll *x = coll_new(c);
    uint32_t nmasters = c->group.nmasters, rank = (uint32_t)c->rank;
    int *counts = coll_keep(x, calloc(2 * nmasters, sizeof(int)));

    if (!counts) {
        return coll_run_quiet(x, MPI_ERR_NO_MEM);
    }
    for (uint32_t m = 0; m < nmasters; m++) {
        counts[m] = n * (int)locals(c, m);
        if (m + 1 < nmasters)
            counts[nmasters + m + 1] = counts[nmasters + m] + counts[m];
    }
    x->in = (struct blocks){.base = (char *)blocks,
                            .counts = counts,
                            .displs = counts + nmasters,
                            .type = MPI_INT,
                            .extent = sizeof(int)};
    x->out = (struct blocks){.base = (char *)block,
                             .count = n * c->native_size,
                             .type = MPI_INT,
                             .single = true};
    return coll_run_quiet(
        x, coll_made(impi_schedule_gather_masters(&x->steps, &c->group, rank)));
}

/* Rank 0: what came, in rank order. */
static void place_all(const struct impi_comm *c, const int *own,
                      const int *blocks, int n, int *all)
{
    place_block(c, 0, own, n, all);
    blocks += (size_t)n * locals(c, 0);
    for (uint32_t m = 1; m < c->group.nmasters; m++) {
        place_block(c, m, blocks, n, all);
        blocks += (size_t)n * locals(c, m);
    }
}

static int local_ints(struct impi_comm *c, const int *own, int n, int *block)
{
    MPI_Request req;
    int rc = impi_real.Iallgather(own, n, MPI_INT, block, n, MPI_INT, c->hidden,
                                  &req);

    return rc == MPI_SUCCESS ? progress_native_wait(&req, MPI_STATUS_IGNORE)
                             : rc;
}

int coll_allgather_ints(struct impi_comm *c, const int *own, int n, int *all)
{
    size_t local = (size_t)c->native_size * (size_t)n, sum = c->size;
    int *block = malloc((local + sum * (size_t)n) * sizeof(int));
    int rc = MPI_ERR_NO_MEM;

    if (block)
        rc = local_ints(c, own, n, block);
    if (rc == MPI_SUCCESS)
        rc = gather_blocks(c, block, n, block + local);
    if (rc == MPI_SUCCESS && c->rank == 0)
        place_all(c, block, block + local, n, all);
    free(block);
    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    return coll_bcast(c, all, n * c->size, MPI_INT, 0);
}
