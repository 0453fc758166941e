/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One side of a collective call as the user gives it: many blocks, or one.
 */
#ifndef LIBIMPI_BLOCKS_H
#define LIBIMPI_BLOCKS_H

#include <stddef.h>

#include "libimpi/calls.h"

/* Block i is counts[i] (or large_counts[i], or count) elements of types[i] (or
 * type).  It begins displs[i] (or adispls[i], or i * count) extents, with
 * `bytes` so many bytes, after base; with `single` at base, whatever i; with
 * `at` at at[i]. */
struct blocks {
    char *base;
    MPI_Count count;
    const int *counts, *displs;
    const MPI_Count *large_counts;
    const MPI_Aint *adispls;
    MPI_Datatype type;
    const MPI_Datatype *types;
    bool bytes;
    bool single;
    void **at;
    /* What blocks_check() sets. */
    MPI_Aint extent;
    MPI_Datatype *made; /* NULL, or of each block with more elements than an
                         * int counts: it is one of this type */
    int nmade;          /* how many are its own to free */
};

/* Look at the first n.  An MPI error class; blocks_drop() in any case. */
int blocks_check(struct blocks *b, int n);
/* Let go of what it has made. */
void blocks_drop(struct blocks *b);

/* The four ways in which a call names its blocks; the uneven ones also with
 * large counts. */
struct blocks blocks_one(const void *buf, MPI_Count count, MPI_Datatype type);
struct blocks blocks_even(const void *buf, MPI_Count count, MPI_Datatype type);
struct blocks blocks_uneven(const void *buf, const int counts[],
                            const int displs[], MPI_Datatype type);
struct blocks blocks_uneven_c(const void *buf, const MPI_Count counts[],
                              const MPI_Aint displs[], MPI_Datatype type);
struct blocks blocks_typed(const void *buf, const int counts[],
                           const int displs[], const MPI_Aint adispls[],
                           const MPI_Datatype types[]);
struct blocks blocks_typed_c(const void *buf, const MPI_Count counts[],
                             const MPI_Aint displs[],
                             const MPI_Datatype types[]);

/* Elements as the program counts them. */
MPI_Count block_number(const struct blocks *b, int i);
/* As a message is made of it. */
int block_count(const struct blocks *b, int i);
MPI_Datatype block_type(const struct blocks *b, int i);
void *block_at(const struct blocks *b, int i);

/* Block i to and from its form on the wire, of len bytes, which the caller
 * expects.  MPI_ERR_TRUNCATE: it has more. */
int block_put(char *to, size_t len, const struct blocks *b, int i);
int block_take(const char *from, size_t len, const struct blocks *b, int i);

#endif
