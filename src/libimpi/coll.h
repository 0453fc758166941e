/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations that other parts of a back end need.
 */
#ifndef LIBIMPI_COLL_H
#define LIBIMPI_COLL_H

#include "libimpi/comm.h"

/* MPI error code, given to the error handler already. */
int coll_barrier(struct impi_comm *c);
int coll_reduce(struct impi_comm *c, const void *in, void *out, int count,
                MPI_Datatype type, MPI_Op op, int root);
int coll_allreduce(struct impi_comm *c, const void *in, void *out, int count,
                   MPI_Datatype type, MPI_Op op);

/* n ints of everybody, in rank order, to everybody: Gather to 0 and Bcast. */
int coll_allgather_ints(struct impi_comm *c, const int *own, int n, int *all);

#endif
