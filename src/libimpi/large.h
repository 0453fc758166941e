/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI 4's functions with large counts, MPI_Send_c and its relatives, where
 * something spans.  Each calls the function of the same name without _c
 * (calls.awk makes them).  A count that is no int becomes one element of a
 * type made for it, which is the same data to the peer; a reduction, whose
 * operation knows only the program's own type, is done piece by piece, the
 * same pieces everywhere; arrays of counts become arrays of ints, and a number
 * in them that is none is an error of class MPI_ERR_COUNT.
 */
#ifndef LIBIMPI_LARGE_H
#define LIBIMPI_LARGE_H

#include "libimpi/compound.h"

/* Of one call. */
struct large {
    int rc;
    int ntypes;
    MPI_Datatype types[3]; /* made for it */
    int *ints, *room;      /* the arrays; what of them is free */
};

/* Elements of a reduction's piece. */
#define LARGE_PIECE (1 << 30)

/* *count of *type become an int of another type, if they have to.  Errors of
 * these functions stay in l->rc. */
void large_count(struct large *l, MPI_Count *count, MPI_Datatype *type);
/* An argument that has no other form: MPI_ERR_ARG. */
int large_int(struct large *l, MPI_Aint n);
/* n numbers; of the second kind displacements. */
const int *large_counts(struct large *l, const struct impi_comm *c,
                        const MPI_Count *counts, int n);
const int *large_displs(struct large *l, const struct impi_comm *c,
                        const MPI_Aint *displs, int n);
/* How many counts the root of a Gatherv gives; others none. */
int large_at_root(const struct impi_comm *c, int root);

/* After the call, which returned rc: let go of what was made.  Returns rc. */
int large_end(struct large *l, int rc);
/* The same for a nonblocking one: the arrays go with the request. */
int large_end_later(struct large *l, int rc, const struct impi_comm *c,
                    MPI_Request *request);

/* Pieces of a reduction: how many, of how many elements, and where piece k of
 * a buffer is. */
static inline int large_pieces(MPI_Count count)
{
    return count <= LARGE_PIECE ? 1 : (int)((count - 1) / LARGE_PIECE + 1);
}
static inline int large_piece(MPI_Count count, int k)
{
    MPI_Count left = count - (MPI_Count)k * LARGE_PIECE;

    return left < LARGE_PIECE ? (int)left : LARGE_PIECE;
}
void *large_at(const void *buf, int k, MPI_Datatype type);

/* A request for all the parts, of a compound that is freed with it; rc: how
 * starting them went. */
int large_request(struct compound *parts, int rc, struct impi_comm *c,
                  MPI_Request *request);

#endif
