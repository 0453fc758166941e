/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations that do not span yet: native communicators only.
 */
#include "libimpi/assist.h"

#define NATIVE(name, params, args)                                             \
    int impi_##name params                                                     \
    {                                                                          \
        if (unlikely(impi_span_find(comm) != NULL))                            \
            return impi_unsupported(comm, CALL_##name);                        \
        return ASSISTED(impi_real.name args);                                  \
    }

NATIVE(Gather,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
        MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
NATIVE(Gatherv,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, const int recvcounts[], const int displs[],
        MPI_Datatype recvtype, int root, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
        root, comm))
NATIVE(Scatter,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
        MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
NATIVE(Scatterv,
       (const void *sendbuf, const int sendcounts[], const int displs[],
        MPI_Datatype sendtype, void *recvbuf, int recvcount,
        MPI_Datatype recvtype, int root, MPI_Comm comm),
       (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
        root, comm))
NATIVE(Allgather,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
NATIVE(Allgatherv,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, const int recvcounts[], const int displs[],
        MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
        comm))
NATIVE(Alltoall,
       (const void *sendbuf, int sendcount, MPI_Datatype sendtype,
        void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
NATIVE(Alltoallv,
       (const void *sendbuf, const int sendcounts[], const int sdispls[],
        MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
        const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
        recvtype, comm))
NATIVE(Alltoallw,
       (const void *sendbuf, const int sendcounts[], const int sdispls[],
        const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
        const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
       (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
        recvtypes, comm))
NATIVE(Reduce_scatter,
       (const void *sendbuf, void *recvbuf, const int recvcounts[],
        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
       (sendbuf, recvbuf, recvcounts, datatype, op, comm))
NATIVE(Reduce_scatter_block,
       (const void *sendbuf, void *recvbuf, int recvcount,
        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
       (sendbuf, recvbuf, recvcount, datatype, op, comm))
NATIVE(Scan,
       (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
        MPI_Op op, MPI_Comm comm),
       (sendbuf, recvbuf, count, datatype, op, comm))
NATIVE(Exscan,
       (const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
        MPI_Op op, MPI_Comm comm),
       (sendbuf, recvbuf, count, datatype, op, comm))
NATIVE(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
       (comm, group, newcomm))
