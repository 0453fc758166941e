/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce and Allreduce on spanning communicators, blocking and not, and what
 * all reductions need of buffers.
 */
#include "libimpi/buffer.h"
#include "libimpi/coll.h"
#include "libimpi/data.h"

/* ---- buffers ---- */

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

/* ---- the calls ---- */

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
