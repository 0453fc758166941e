/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather, Scatter, Allgather, Alltoall and their v and w forms on spanning
 * communicators, blocking and not: each block goes straight from the process
 * that has it to the one that wants it, all at once.  Short ones of Gather and
 * Scatter go through the masters (coll_packed.h).
 */
#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/coll.h"
#include "libimpi/coll_packed.h"
#include "libimpi/coll_rounds.h"
#include "libimpi/data.h"

/* ---- Gather and Scatter: the same with the arrows turned ---- */

enum direction { TO_ROOT, FROM_ROOT };

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
        own = blocks_one(block_at(&in, me), block_count(&in, me), in.type);
    if (rc == MPI_SUCCESS)
        rc = blocks_check(&own, 1);
    x->in = in;
    x->out = own;
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
