/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI 4's functions with large counts, MPI_Send_c and its relatives, where
 * something spans.  Each calls the function of the same name without _c
 * (calls.awk makes them).  A count that is no int becomes one element of a
 * type made for it, which is the same data to the peer; a reduction, whose
 * operation knows only the program's own type, is done piece by piece, the
 * same pieces everywhere.  Calls with arrays of counts stand beside the older
 * ones (coll.c, topo.c), which have blocks of any number of elements.
 */
#ifndef LIBIMPI_LARGE_H
#define LIBIMPI_LARGE_H

#include "libimpi/compound.h"

/* Of one call. */
struct large {
    int rc;
    int ntypes;
    MPI_Datatype types[3]; /* made for it */
};

/* Elements of a reduction's piece. */
#define LARGE_PIECE (1 << 30)

/* *count of *type become an int of another type, if they have to.  Errors of
 * these functions stay in l->rc. */
void large_count(struct large *l, MPI_Count *count, MPI_Datatype *type);
/* An argument that has no other form: MPI_ERR_ARG. */
int large_int(struct large *l, MPI_Aint n);
/* *made is count of type, which is more than an int counts.  An MPI error
 * class. */
int large_type(MPI_Count count, MPI_Datatype type, MPI_Datatype *made);

/* After the call, which returned rc: let go of what was made.  Returns rc. */
int large_end(struct large *l, int rc);

/* Pieces of a reduction: how many, of how many elements, and where element n
 * of a buffer is. */
static inline int large_pieces(MPI_Count count)
{
    return count <= LARGE_PIECE ? 1 : (int)((count - 1) / LARGE_PIECE + 1);
}
static inline int large_piece(MPI_Count count, int k)
{
    MPI_Count left = count - (MPI_Count)k * LARGE_PIECE;

    return left < LARGE_PIECE ? (int)left : LARGE_PIECE;
}
void *large_at(const void *buf, MPI_Count n, MPI_Datatype type);

/* A request for all the parts, of a compound that is freed with it; rc: how
 * starting them went. */
int large_request(struct compound *parts, int rc, struct impi_comm *c,
                  MPI_Request *request);

#endif
