/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One side of a collective call as the user gives it: many blocks, or one.
 */
#ifndef LIBIMPI_BLOCKS_H
#define LIBIMPI_BLOCKS_H

#include <stddef.h>

#include "libimpi/calls.h"

/* Block i is counts[i] (or count) elements of types[i] (or type).  It begins
 * displs[i] (or i * count) extents, with `bytes` displs[i] (adispls[i]) bytes,
 * after base; with `single` at base, whatever i; with `at` at at[i]. */
struct blocks {
    char *base;
    int count;
    const int *counts, *displs;
    const MPI_Aint *adispls;
    MPI_Datatype type;
    const MPI_Datatype *types;
    bool bytes;
    bool single;
    void **at;
    MPI_Aint extent; /* blocks_check() sets it */
};

/* Look at the first n.  An MPI error class. */
int blocks_check(struct blocks *b, int n);

/* The four ways in which a call names its blocks. */
struct blocks blocks_one(const void *buf, int count, MPI_Datatype type);
struct blocks blocks_even(const void *buf, int count, MPI_Datatype type);
struct blocks blocks_uneven(const void *buf, const int counts[],
                            const int displs[], MPI_Datatype type);
struct blocks blocks_typed(const void *buf, const int counts[],
                           const int displs[], const MPI_Aint adispls[],
                           const MPI_Datatype types[]);

int block_count(const struct blocks *b, int i);
MPI_Datatype block_type(const struct blocks *b, int i);
void *block_at(const struct blocks *b, int i);

/* Block i to and from its form on the wire, of len bytes, which the caller
 * expects.  MPI_ERR_TRUNCATE: it has more. */
int block_put(char *to, size_t len, const struct blocks *b, int i);
int block_take(const char *from, size_t len, const struct blocks *b, int i);

#endif
