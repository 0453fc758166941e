/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective calls on spanning communicators, blocking and not: the steps that
 * impi/schedule.h prescribes.
 */
#include "libimpi/coll.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "libimpi/buffer.h"
#include "libimpi/coll_gathered.h"
#include "libimpi/coll_packed.h"
#include "libimpi/coll_parts.h"
#include "libimpi/coll_rounds.h"
#include "libimpi/comm_make.h"
#include "libimpi/data.h"
#include "libimpi/large.h"
#include "libimpi/progress.h"

/* ---- coll move --------------------------------------------------------- */

/* Gather, Scatter, Allgather, Alltoall and their v and w forms on spanning
 * communicators, blocking and not: each block goes straight from the process
 * that has it to the one that wants it, all at once. Short ones of Gather and
 * Scatter go through the masters (coll_packed.h). */

/* ---- Gather and Scatter: the same with the arrows turned ---- */

enum direction { TO_ROOT, FROM_ROOT };

static struct impi_sides coll_sides(const struct impi_comm *c);
static struct impi_coll_rules rules_of(const struct impi_comm *c);
static int coll_role(const struct impi_comm *c, int root, enum impi_role *role,
                     uint32_t *rank);

/* x->tag: the operation's own, where it has one. */
static int schedule_rooted(struct coll *x, enum direction way,
                           enum impi_role role, uint32_t root, bool self)
{
    const struct impi_group *g = x->c->units;
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    if (x->c->inter && way == TO_ROOT)
        return impi_schedule_inter_gather(&x->steps, g, me, &sides, role, root);
    if (x->c->inter)
        return impi_schedule_inter_scatter(&x->steps, g, me, &sides, role,
                                           root);
    if (way == TO_ROOT)
        return impi_schedule_gather(&x->steps, g, me, root, self, x->tag);
    return impi_schedule_scatter(&x->steps, g, me, root, self, x->tag);
}

/* All know how long the blocks are: not so in the v forms. */
static bool is_even(const struct coll *x)
{
    return x->tag == IMPI_GATHER_TAG || x->tag == IMPI_SCATTER_TAG;
}

/* all: the root's blocks; own: everybody's one, at the root of a group its
 * own unless in place. */
static int make_rooted(struct coll *x, enum direction way, struct blocks all,
                       struct blocks own, int root)
{
    bool self = own.base != MPI_IN_PLACE, at_root;
    enum impi_role role;
    uint32_t rank;
    size_t len;
    int rc = coll_role(x->c, root, &role, &rank);

    at_root = role == IMPI_ROLE_ROOT;
    if (rc == MPI_SUCCESS && at_root)
        rc = blocks_check(&all, x->c->peers);
    if (rc == MPI_SUCCESS &&
        (x->c->inter ? role == IMPI_ROLE_OTHER : !at_root || self))
        rc = blocks_check(&own, 1);
    x->in = way == TO_ROOT ? all : own;
    x->out = way == TO_ROOT ? own : all;
    if (rc != MPI_SUCCESS)
        return rc;
    if (is_even(x) && packed_is_short(x->c, at_root ? &all : &own, &len))
        return packed_make(x, way == TO_ROOT, &all, &own, rank, self, len);
    return coll_made(schedule_rooted(x, way, role, rank, self));
}

static int rooted(struct impi_comm *c, enum direction way, struct blocks all,
                  struct blocks own, int root, int32_t tag,
                  MPI_Request *request)
{
    struct coll *x = coll_new(c);

    x->tag = tag;
    return coll_run(x, make_rooted(x, way, all, own, root), request);
}

/* ---- Allgather and Alltoall ---- */

static int schedule_all(struct coll *x, bool self)
{
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    if (x->c->inter)
        return coll_made(
            impi_schedule_inter_alltoall(&x->steps, x->c->units, me, &sides));
    return coll_made(
        impi_schedule_alltoall(&x->steps, x->c->units, me, self, x->tag));
}

static int make_allgather(struct coll *x, struct blocks own, struct blocks in)
{
    bool self = own.base != MPI_IN_PLACE;
    int rc = blocks_check(&in, x->c->peers), me = x->c->rank;

    if (rc == MPI_SUCCESS && !self)
        own = blocks_one(block_at(&in, me), block_count(&in, me),
                         block_type(&in, me));
    if (rc == MPI_SUCCESS)
        rc = blocks_check(&own, 1);
    x->in = in;
    x->out = own;
    if (rc == MPI_SUCCESS &&
        gathered_is_better(x->c, &in, rules_of(x->c).few_bytes))
        return gathered_make(x);
    return rc == MPI_SUCCESS ? schedule_all(x, self) : rc;
}

static int allgather(struct impi_comm *c, struct blocks own, struct blocks in,
                     int32_t tag, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    x->tag = tag;
    return coll_run(x, make_allgather(x, own, in), request);
}

/* MPI_IN_PLACE: what goes out is copied before anything comes in.  The copies
 * hang on a list of pointers that is freed with them. */
static void free_copies(struct coll *x)
{
    void **copies = x->arg;

    for (int i = 0; i < x->c->peers; i++)
        free(copies[i]);
    free(copies);
}

static int finish_copies(struct coll *x, int rc)
{
    free_copies(x);
    return rc;
}

static int copy_blocks(struct coll *x, const struct blocks *in)
{
    size_t n = (size_t)x->c->peers;
    void **copies = calloc(n, sizeof(*copies));
    void **at = coll_keep(x, calloc(n, sizeof(*at)));

    x->arg = copies;
    for (int i = 0; copies && at && i < x->c->peers; i++) {
        copies[i] = data_clone(block_at(in, i), block_count(in, i),
                               block_type(in, i), &at[i]);
        if (!copies[i]) {
            free_copies(x);
            return MPI_ERR_NO_MEM;
        }
    }
    if (!copies || !at) {
        free(copies);
        return MPI_ERR_NO_MEM;
    }
    x->out = *in;
    x->out.nmade = 0; /* they go with in */
    x->out.at = at;
    x->finish = finish_copies;
    return MPI_SUCCESS;
}

static int make_alltoall(struct coll *x, struct blocks out, struct blocks in)
{
    bool in_place = out.base == MPI_IN_PLACE;
    int rc = blocks_check(&in, x->c->peers);
    size_t len;

    if (rc == MPI_SUCCESS && !in_place)
        rc = blocks_check(&out, x->c->peers);
    if (rc == MPI_SUCCESS && x->tag == IMPI_ALLTOALL_TAG &&
        rounds_are_better(x->c, &in, &len))
        return rounds_make(x, in_place ? &in : &out, &in, len);
    x->in = in;
    x->out = out;
    if (rc == MPI_SUCCESS && in_place)
        rc = copy_blocks(x, &in);
    return rc == MPI_SUCCESS ? schedule_all(x, !in_place) : rc;
}

static int alltoall(struct impi_comm *c, struct blocks out, struct blocks in,
                    int32_t tag, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    x->tag = tag;
    return coll_run(x, make_alltoall(x, out, in), request);
}

/* ---- the calls ---- */

COLL_BOTH(Gather, Igather,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
               root),
          rooted(c, TO_ROOT, blocks_even(recvbuf, recvcount, recvtype),
                 blocks_one(sendbuf, sendcount, sendtype), root,
                 IMPI_GATHER_TAG, request))

COLL_BOTH(Gatherv, Igatherv,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, const int recvcounts[], const int displs[],
               MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype, root),
          rooted(c, TO_ROOT,
                 blocks_uneven(recvbuf, recvcounts, displs, recvtype),
                 blocks_one(sendbuf, sendcount, sendtype), root,
                 IMPI_GATHERV_TAG, request))

COLL_BOTH(Gatherv_c, Igatherv_c,
          LIST(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void *recvbuf, const MPI_Count recvcounts[],
               const MPI_Aint displs[], MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype, root),
          rooted(c, TO_ROOT,
                 blocks_uneven_c(recvbuf, recvcounts, displs, recvtype),
                 blocks_one(sendbuf, sendcount, sendtype), root,
                 IMPI_GATHERV_TAG, request))

COLL_BOTH(Scatter, Iscatter,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
               root),
          rooted(c, FROM_ROOT, blocks_even(sendbuf, sendcount, sendtype),
                 blocks_one(recvbuf, recvcount, recvtype), root,
                 IMPI_SCATTER_TAG, request))

COLL_BOTH(Scatterv, Iscatterv,
          LIST(const void *sendbuf, const int sendcounts[], const int displs[],
               MPI_Datatype sendtype, void *recvbuf, int recvcount,
               MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
               recvtype, root),
          rooted(c, FROM_ROOT,
                 blocks_uneven(sendbuf, sendcounts, displs, sendtype),
                 blocks_one(recvbuf, recvcount, recvtype), root,
                 IMPI_SCATTERV_TAG, request))

COLL_BOTH(Scatterv_c, Iscatterv_c,
          LIST(const void *sendbuf, const MPI_Count sendcounts[],
               const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype, int root),
          LIST(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
               recvtype, root),
          rooted(c, FROM_ROOT,
                 blocks_uneven_c(sendbuf, sendcounts, displs, sendtype),
                 blocks_one(recvbuf, recvcount, recvtype), root,
                 IMPI_SCATTERV_TAG, request))

COLL_BOTH(Allgather, Iallgather,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          allgather(c, blocks_one(sendbuf, sendcount, sendtype),
                    blocks_even(recvbuf, recvcount, recvtype), IMPI_GATHER_TAG,
                    request))

COLL_BOTH(Allgatherv, Iallgatherv,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, const int recvcounts[], const int displs[],
               MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype),
          allgather(c, blocks_one(sendbuf, sendcount, sendtype),
                    blocks_uneven(recvbuf, recvcounts, displs, recvtype),
                    IMPI_GATHERV_TAG, request))

COLL_BOTH(Allgatherv_c, Iallgatherv_c,
          LIST(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void *recvbuf, const MPI_Count recvcounts[],
               const MPI_Aint displs[], MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype),
          allgather(c, blocks_one(sendbuf, sendcount, sendtype),
                    blocks_uneven_c(recvbuf, recvcounts, displs, recvtype),
                    IMPI_GATHERV_TAG, request))

COLL_BOTH(Alltoall, Ialltoall,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          alltoall(c, blocks_even(sendbuf, sendcount, sendtype),
                   blocks_even(recvbuf, recvcount, recvtype), IMPI_ALLTOALL_TAG,
                   request))

COLL_BOTH(Alltoallv, Ialltoallv,
          LIST(const void *sendbuf, const int sendcounts[], const int sdispls[],
               MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
               const int rdispls[], MPI_Datatype recvtype),
          LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
               rdispls, recvtype),
          alltoall(c, blocks_uneven(sendbuf, sendcounts, sdispls, sendtype),
                   blocks_uneven(recvbuf, recvcounts, rdispls, recvtype),
                   IMPI_ALLTOALLV_TAG, request))

COLL_BOTH(Alltoallv_c, Ialltoallv_c,
          LIST(const void *sendbuf, const MPI_Count sendcounts[],
               const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
               MPI_Datatype recvtype),
          LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
               rdispls, recvtype),
          alltoall(c, blocks_uneven_c(sendbuf, sendcounts, sdispls, sendtype),
                   blocks_uneven_c(recvbuf, recvcounts, rdispls, recvtype),
                   IMPI_ALLTOALLV_TAG, request))

COLL_BOTH(Alltoallw, Ialltoallw,
          LIST(const void *sendbuf, const int sendcounts[], const int sdispls[],
               const MPI_Datatype sendtypes[], void *recvbuf,
               const int recvcounts[], const int rdispls[],
               const MPI_Datatype recvtypes[]),
          LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
               rdispls, recvtypes),
          alltoall(c,
                   blocks_typed(sendbuf, sendcounts, sdispls, NULL, sendtypes),
                   blocks_typed(recvbuf, recvcounts, rdispls, NULL, recvtypes),
                   IMPI_ALLTOALLV_TAG, request))

COLL_BOTH(Alltoallw_c, Ialltoallw_c,
          LIST(const void *sendbuf, const MPI_Count sendcounts[],
               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
               void *recvbuf, const MPI_Count recvcounts[],
               const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
          LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
               rdispls, recvtypes),
          alltoall(c, blocks_typed_c(sendbuf, sendcounts, sdispls, sendtypes),
                   blocks_typed_c(recvbuf, recvcounts, rdispls, recvtypes),
                   IMPI_ALLTOALLV_TAG, request))

/* ---- coll reduce ------------------------------------------------------- */

/* Reduce and Allreduce on spanning communicators, blocking and not, and what
 * all reductions need of buffers. */

/* ---- buffers ---- */

static bool uses(const struct coll *x, enum impi_step_buf buf)
{
    for (size_t i = 0; i < x->steps.count; i++) {
        const struct impi_step *s = &x->steps.steps[i];

        if (s->buf == (uint8_t)buf ||
            (s->kind == IMPI_STEP_COMBINE_INTO && s->into == (uint8_t)buf))
            return true;
        if (buf == IMPI_BUF_TMP && s->kind == IMPI_STEP_ORDER &&
            s->buf == IMPI_BUF_ACC)
            return true;
        if (buf == IMPI_BUF_ACC &&
            (s->kind == IMPI_STEP_COMBINE ||
             s->kind == IMPI_STEP_COMBINE_UNDER || s->kind == IMPI_STEP_COPY ||
             s->kind == IMPI_STEP_ORDER ||
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

/* acc, tmp, low of a reduction where the steps want them and they are not
 * given. */
static int coll_add_buffers(struct coll *x, bool commutes)
{
    int rc = add_buffer(x, IMPI_BUF_ACC);

    if (rc == MPI_SUCCESS)
        rc = add_buffer(x, IMPI_BUF_TMP);
    if (rc == MPI_SUCCESS)
        rc = add_buffer(x, IMPI_BUF_LOW);
    if (rc == MPI_SUCCESS && !commutes && is_given(x, IMPI_BUF_ACC) &&
        x->buf[IMPI_BUF_OWN] == x->buf[IMPI_BUF_ACC])
        rc = copy_own(x);
    return rc;
}

/* All have the same of it. */
static bool is_long(const struct coll *x)
{
    return parts_wire(x) >= IMPI_COLL_LONG;
}

/* Count, type, operation. */
static int coll_check_reduction(int count, MPI_Datatype type, MPI_Op op)
{
    if (count < 0)
        return MPI_ERR_COUNT;
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    return op == MPI_OP_NULL ? MPI_ERR_OP : MPI_SUCCESS;
}

static int coll_check_buffers(const struct coll *x, const void *own,
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
    struct impi_coll_rules r = rules_of(x->c);
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    r.is_long = r.few_bytes && is_long(x);
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
    if (rc == MPI_SUCCESS)
        rc = parts_cut(x, x->count);
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
    struct impi_coll_rules r = rules_of(x->c);
    int commutes = 0, rc;

    reduce_args(x, in == MPI_IN_PLACE ? out : in, count, type, op);
    coll_use(x, IMPI_BUF_ACC, out);
    rc = check_reduction(x, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, in, out);
    r.is_long = rc == MPI_SUCCESS && is_long(x);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_allreduce(&x->steps, x->c->units, &r,
                                               (uint32_t)x->c->rank, commutes));
    if (rc == MPI_SUCCESS)
        rc = parts_cut(x, x->count);
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

/* ---- coll scan --------------------------------------------------------- */

/* Scan, Exscan, Reduce_scatter and Reduce_scatter_block on spanning
 * communicators, blocking and not. A scan goes from rank to rank or by
 * doubling; the others reduce to one process, of all or of each client, which
 * hands out the blocks. */

static void args(struct coll *x, int count, MPI_Datatype type, MPI_Op op)
{
    x->count = count;
    x->type = type;
    x->op = op;
}

/* ---- Scan, Exscan ---- */

static int make_scan(struct coll *x, const void *own, void *result)
{
    struct impi_coll_rules r = rules_of(x->c);
    int rc = x->c->inter ? MPI_ERR_COMM
                         : coll_check_reduction(x->count, x->type, x->op);
    bool copy = own != MPI_IN_PLACE;

    coll_use(x, IMPI_BUF_OWN, own);
    coll_use(x, IMPI_BUF_ACC, result);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, own, result);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_scan(&x->steps, x->c->units, &r,
                                          (uint32_t)x->c->rank, copy));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, true) : rc;
}

/* What came from below lands in the result; rank 0's is not touched. */
static int make_exscan(struct coll *x, const void *own, void *result)
{
    struct impi_coll_rules r = rules_of(x->c);
    int rc = x->c->inter ? MPI_ERR_COMM
                         : coll_check_reduction(x->count, x->type, x->op);
    bool first = x->c->rank == x->c->first;
    void *copy;

    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, own,
                                first && !result ? COLL_NO_BUFFER : result);
    if (rc != MPI_SUCCESS)
        return rc;
    copy = data_clone(own == MPI_IN_PLACE ? result : own, x->count, x->type,
                      &x->buf[IMPI_BUF_ACC]);
    if (!copy)
        return MPI_ERR_NO_MEM;
    coll_keep(x, copy);
    coll_use(x, IMPI_BUF_ACC, x->buf[IMPI_BUF_ACC]);
    coll_use(x, IMPI_BUF_DATA, result);
    rc = coll_made(
        impi_schedule_exscan(&x->steps, x->c->units, &r, (uint32_t)x->c->rank));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, true) : rc;
}

typedef int make_f(struct coll *x, const void *own, void *result);

static int chain(struct impi_comm *c, make_f *make, const void *in, void *out,
                 int count, MPI_Datatype type, MPI_Op op, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    args(x, count, type, op);
    return coll_run(x, make(x, in, out), request);
}

COLL_BOTH(Scan, Iscan,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, count, datatype, op),
          chain(c, make_scan, sendbuf, recvbuf, count, datatype, op, request))

COLL_BOTH(Exscan, Iexscan,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, count, datatype, op),
          chain(c, make_exscan, sendbuf, recvbuf, count, datatype, op, request))

/* ---- Reduce_scatter ---- */

/* -1: a negative one among them. */
static MPI_Count total(const struct impi_comm *c, const struct blocks *parts)
{
    MPI_Count sum = 0;

    for (int i = 0; i < c->local; i++) {
        MPI_Count n = block_number(parts, i);

        if (n < 0 || sum > INT64_MAX - n)
            return -1;
        sum += n;
    }
    return sum;
}

static int schedule(struct coll *x, bool commutes)
{
    const struct impi_group *g = x->c->units;
    struct impi_coll_rules r = rules_of(x->c);
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    if (x->c->inter)
        return impi_schedule_inter_reduce_scatter(&x->steps, g, me, &sides,
                                                  commutes);
    return impi_schedule_reduce_scatter(&x->steps, g, &r, me, commutes);
}

/* Where each one's block is in the sum, with numbers of our own: mpi4py 3.1
 * frees those of MPI_Ireduce_scatter as soon as it has returned. */
static int place_blocks(struct coll *x, const struct blocks *parts)
{
    size_t n = (size_t)x->c->local;
    int *lens;

    if (x->steps.parts.n == 0 && !uses(x, IMPI_BUF_OUT))
        return MPI_SUCCESS;
    lens = coll_keep(x, calloc(3 * n, sizeof(int)));
    if (!lens)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < n; i++)
        lens[i] = (int)block_number(parts, (int)i);
    impi_parts_places(&x->steps.parts, lens, (uint32_t)n, lens + n,
                      lens + 2 * n);
    x->lens = lens;
    x->by_rank = lens + n;
    x->places = lens + 2 * n;
    return MPI_SUCCESS;
}

static int set_blocks(struct coll *x)
{
    if (!uses(x, IMPI_BUF_OUT))
        return MPI_SUCCESS;
    x->out = blocks_uneven(x->buf[x->c->inter ? IMPI_BUF_TMP : IMPI_BUF_ACC],
                           x->lens, x->places, x->type);
    return blocks_check(&x->out, x->c->local);
}

/* parts: the elements for each of the own group, and where the program wants
 * its own ones; own: what this process adds, of an intercommunicator to the
 * others' result. */
static int make_reduce_scatter(struct coll *x, const void *own,
                               const struct blocks *parts)
{
    void *result = parts->base;
    int me = x->c->rank - x->c->first, commutes = 0;
    int rc = coll_check_reduction(x->count, x->type, x->op);

    coll_use(x, IMPI_BUF_OWN, own == MPI_IN_PLACE ? result : own);
    if (rc == MPI_SUCCESS) {
        x->in = blocks_one(result, block_number(parts, me), x->type);
        rc = buffer_check(result, block_count(&x->in, 0), x->type);
    }
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, x->buf[IMPI_BUF_OWN], COLL_NO_BUFFER);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Op_commutative(x->op, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_made(schedule(x, commutes));
    if (rc == MPI_SUCCESS)
        rc = place_blocks(x, parts);
    if (rc == MPI_SUCCESS)
        rc = parts_cut(x, x->count);
    if (rc == MPI_SUCCESS)
        rc = coll_add_buffers(x, commutes);
    return rc == MPI_SUCCESS ? set_blocks(x) : rc;
}

static int reduce_scatter_once(struct impi_comm *c, const void *in,
                               const struct blocks *parts, int sum, MPI_Op op,
                               MPI_Request *request)
{
    struct coll *x = coll_new(c);

    args(x, sum, parts->type, op);
    return coll_run(x, make_reduce_scatter(x, in, parts), request);
}

/* Of each part the elements that lie in piece k of the sum. */
static void cut(const struct impi_comm *c, const struct blocks *parts, int k,
                int *counts)
{
    MPI_Count from = (MPI_Count)k * LARGE_PIECE, to = from + LARGE_PIECE;
    MPI_Count at = 0;

    for (int i = 0; i < c->local; i++) {
        MPI_Count end = at + block_number(parts, i);
        MPI_Count first = at > from ? at : from, last = end < to ? end : to;

        counts[i] = first < last ? (int)(last - first) : 0;
        at = end;
    }
}

/* A sum of more elements than an operation takes: piece by piece.  In place
 * what a piece leaves lies below what the next ones read. */
static int reduce_scatter_pieces(struct impi_comm *c, const void *in,
                                 struct blocks parts, MPI_Count sum, MPI_Op op,
                                 MPI_Request *request)
{
    int n = large_pieces(sum), me = c->rank - c->first, rc = MPI_SUCCESS;
    size_t row = (size_t)c->local;
    int *counts = malloc((size_t)n * row * sizeof(int));
    struct compound *all = counts && request ? compound_new(n) : NULL;
    const void *from = in == MPI_IN_PLACE ? parts.base : in;
    MPI_Count done = 0;

    if (!counts || (request && !all)) {
        free(counts);
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    }
    for (int k = 0; rc == MPI_SUCCESS && k < n; k++) {
        int *mine = counts + (size_t)k * row;

        struct blocks piece;

        cut(c, &parts, k, mine);
        piece = blocks_uneven(large_at(parts.base, done, parts.type), mine,
                              NULL, parts.type);
        rc = reduce_scatter_once(
            c,
            k == 0 ? in
                   : large_at(from, (MPI_Count)k * LARGE_PIECE, parts.type),
            &piece, large_piece(sum, k), op, request ? &all->part[k] : NULL);
        done += mine[me];
    }
    if (request) {
        all->memory = counts;
        return large_request(all, rc, c, request);
    }
    free(counts);
    return rc;
}

/* in: what this process adds. */
static int reduce_scatter(struct impi_comm *c, const void *in,
                          struct blocks parts, MPI_Op op, MPI_Request *request)
{
    MPI_Count sum = total(c, &parts);

    return sum > INT_MAX
               ? reduce_scatter_pieces(c, in, parts, sum, op, request)
               : reduce_scatter_once(c, in, &parts, (int)sum, op, request);
}

COLL_BOTH(Reduce_scatter, Ireduce_scatter,
          LIST(const void *sendbuf, void *recvbuf, const int recvcounts[],
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcounts, datatype, op),
          reduce_scatter(c, sendbuf,
                         blocks_uneven(recvbuf, recvcounts, NULL, datatype), op,
                         request))

COLL_BOTH(Reduce_scatter_c, Ireduce_scatter_c,
          LIST(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcounts, datatype, op),
          reduce_scatter(c, sendbuf,
                         blocks_uneven_c(recvbuf, recvcounts, NULL, datatype),
                         op, request))

COLL_BOTH(Reduce_scatter_block, Ireduce_scatter_block,
          LIST(const void *sendbuf, void *recvbuf, int recvcount,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcount, datatype, op),
          reduce_scatter(c, sendbuf, blocks_even(recvbuf, recvcount, datatype),
                         op, request))

COLL_BOTH(Reduce_scatter_block_c, Ireduce_scatter_block_c,
          LIST(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcount, datatype, op),
          reduce_scatter(c, sendbuf, blocks_even(recvbuf, recvcount, datatype),
                         op, request))

/* ---- coll ints --------------------------------------------------------- */

/* A small gather, for making communicators. */

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
    uint32_t nmasters = impi_group_num_masters(&c->group),
             rank = (uint32_t)c->rank;
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
    for (uint32_t m = 1; m < impi_group_num_masters(&c->group); m++) {
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

struct impi_coll_rules coll_rules(void)
{
    int32_t n = impi_be.world.coll_maxlinear;

    return (struct impi_coll_rules){.maxlinear = n > 0 ? (uint32_t)n : 0,
                                    .linear_below =
                                        impi_be.tolerated.linear_below,
                                    .exchange = !comm_strict()};
}

/* In a crowd the fewest messages win, not the fewest in a row.  What has been
 * agreed counts for the own world's processes. */
static struct impi_coll_rules rules_of(const struct impi_comm *c)
{
    struct impi_coll_rules r = coll_rules();
    bool crowd = c->units != &c->group;

    r.exchange = r.exchange && !crowd;
    if (crowd || c->foreign)
        return r;
    r.few_rounds = impi_be.world.flags & IMPI_WORLD_FEW_ROUNDS;
    r.few_bytes = r.few_rounds && impi_be.world.flags & IMPI_WORLD_FEW_BYTES;
    return r;
}

static struct impi_sides coll_sides(const struct impi_comm *c)
{
    return (struct impi_sides){.first = (uint32_t)c->first,
                               .size = (uint32_t)c->local,
                               .peer = (uint32_t)c->peer,
                               .npeers = (uint32_t)c->peers};
}

/* Who this process is when `root` is given; *rank: the root's, over both
 * groups of an intercommunicator.  MPI_ERR_ROOT, or MPI_SUCCESS. */
static int coll_role(const struct impi_comm *c, int root, enum impi_role *role,
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

/* ---- Barrier ---- */

static int make_barrier(struct coll *x)
{
    struct impi_coll_rules r = rules_of(x->c);

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

/* Those of ours: what others do is theirs. */
static uint32_t by_master(const struct impi_comm *c)
{
    uint32_t bits = 0;

    if (!impi_be.tolerated.bcast_master || c->inter)
        return 0;
    for (uint32_t n = 0; n < c->units->nmasters; n++) {
        uint32_t rank = impi_group_master_rank(c->units, n);
        uint32_t client = client_of(c->world[rank]);

        if (impi_be.world.own_clients >> client & 1)
            bits |= UINT32_C(1) << n;
    }
    return bits;
}

static int make_bcast(struct coll *x, void *buf, int count, MPI_Datatype type,
                      uint32_t root)
{
    const struct impi_group *g = x->c->units;
    struct impi_coll_rules r = rules_of(x->c);
    uint32_t me = (uint32_t)x->c->rank;
    int rc;

    coll_use(x, IMPI_BUF_DATA, buf);
    x->count = count;
    x->type = type;
    r.by_master = by_master(x->c);
    if (r.few_bytes && impi_group_num_masters(g) > 2) {
        r.is_long = is_long(x);
        r.pieces = (uint32_t)(parts_wire(x) / IMPI_COLL_PIECE) + 1;
    }
    rc = coll_made(impi_schedule_bcast(&x->steps, g, &r, me, root));
    return rc == MPI_SUCCESS
               ? parts_broadcast(x, impi_group_are_local(g, me, root))
               : rc;
}

int coll_bcast(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int root)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_bcast(x, buf, count, type, (uint32_t)root), NULL);
}

static int make_inter_bcast(struct coll *x, void *buf, int count,
                            MPI_Datatype type, enum impi_role role,
                            uint32_t root)
{
    struct impi_sides sides = coll_sides(x->c);

    coll_use(x, IMPI_BUF_DATA, buf);
    x->count = count;
    x->type = type;
    return coll_made(impi_schedule_inter_bcast(
        &x->steps, x->c->units, (uint32_t)x->c->rank, &sides, role, root));
}

static int user_bcast(struct impi_comm *c, void *buf, int count,
                      MPI_Datatype type, int root, MPI_Request *request)
{
    struct coll *x = coll_new(c);
    enum impi_role role;
    uint32_t rank;
    int rc = coll_role(c, root, &role, &rank);

    if (rc == MPI_SUCCESS && count < 0)
        rc = MPI_ERR_COUNT;
    if (rc == MPI_SUCCESS && type == MPI_DATATYPE_NULL)
        rc = MPI_ERR_TYPE;
    if (rc == MPI_SUCCESS)
        rc = buffer_check(buf, count, type);
    if (rc == MPI_SUCCESS && !c->inter)
        rc = make_bcast(x, buf, count, type, rank);
    if (rc == MPI_SUCCESS && c->inter)
        rc = make_inter_bcast(x, buf, count, type, role, rank);
    return coll_run(x, rc, request);
}

COLL_BOTH(Bcast, Ibcast,
          LIST(void *buffer, int count, MPI_Datatype datatype, int root),
          LIST(buffer, count, datatype, root),
          user_bcast(c, buffer, count, datatype, root, request))
