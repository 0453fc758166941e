/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations over the neighbours of a topology, blocking and not.
 */
#include <stdlib.h>

#include "libimpi/coll.h"
#include "libimpi/topo.h"

static int schedule(struct coll *x, int in, int out)
{
    size_t nfrom, nto;
    struct impi_neighbour *from =
        malloc((size_t)(in + out + 1) * sizeof(*from));
    int rc;

    if (!from)
        return MPI_ERR_NO_MEM;
    topo_neighbours(x->c->topo, x->c->rank, from, &nfrom, from + in, &nto);
    rc = impi_schedule_neighbours(&x->steps, x->c->units, (uint32_t)x->c->rank,
                                  from, nfrom, from + in, nto);
    free(from);
    return coll_made(rc);
}

static int make(struct coll *x)
{
    int in, out, rc;

    if (!x->c->topo)
        return MPI_ERR_TOPOLOGY;
    topo_degree(x->c->topo, x->c->rank, &in, &out);
    rc = blocks_check(&x->in, in);
    if (rc == MPI_SUCCESS)
        rc = blocks_check(&x->out, x->out.single ? 1 : out);
    return rc == MPI_SUCCESS ? schedule(x, in, out) : rc;
}

static int neighbours(struct impi_comm *c, struct blocks out, struct blocks in,
                      MPI_Request *request)
{
    struct coll *x = coll_new(c);

    x->out = out;
    x->in = in;
    return coll_run(x, make(x), request);
}

COLL_BOTH(Neighbor_allgather, Ineighbor_allgather,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          neighbours(c, blocks_one(sendbuf, sendcount, sendtype),
                     blocks_even(recvbuf, recvcount, recvtype), request))

COLL_BOTH(Neighbor_allgatherv, Ineighbor_allgatherv,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, const int recvcounts[], const int displs[],
               MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype),
          neighbours(c, blocks_one(sendbuf, sendcount, sendtype),
                     blocks_uneven(recvbuf, recvcounts, displs, recvtype),
                     request))

COLL_BOTH(Neighbor_alltoall, Ineighbor_alltoall,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          neighbours(c, blocks_even(sendbuf, sendcount, sendtype),
                     blocks_even(recvbuf, recvcount, recvtype), request))

COLL_BOTH(Neighbor_alltoallv, Ineighbor_alltoallv,
          LIST(const void *sendbuf, const int sendcounts[], const int sdispls[],
               MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
               const int rdispls[], MPI_Datatype recvtype),
          LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
               rdispls, recvtype),
          neighbours(c, blocks_uneven(sendbuf, sendcounts, sdispls, sendtype),
                     blocks_uneven(recvbuf, recvcounts, rdispls, recvtype),
                     request))

COLL_BOTH(
    Neighbor_alltoallw, Ineighbor_alltoallw,
    LIST(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
         const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
    LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
         recvtypes),
    neighbours(c, blocks_typed(sendbuf, sendcounts, NULL, sdispls, sendtypes),
               blocks_typed(recvbuf, recvcounts, NULL, rdispls, recvtypes),
               request))
