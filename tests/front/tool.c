/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profiling tool as they are: counts MPI_Allreduce and passes it on to
 * PMPI_Allreduce.  Linked into a program or preloaded.
 */
#include <mpi.h>
#include <stdio.h>

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count,
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    fputs("tool: MPI_Allreduce\n", stdout); /* one write where unbuffered */
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}
