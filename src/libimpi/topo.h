/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies of spanning communicators.  The native library knows nothing of
 * them: it has a part of the processes only.
 */
#ifndef LIBIMPI_TOPO_H
#define LIBIMPI_TOPO_H

#include <stdbool.h>
#include <stddef.h>

#include "impi/schedule.h"
#include "libimpi/calls.h"

struct impi_comm;

/* Lists lie in one piece of memory behind the struct. */
struct topo {
    int kind; /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    size_t bytes;
    int n;      /* dimensions; nodes; */
    int nedges; /* of a graph */
    int nin, nout;
    bool weighted;
    int *dims, *periods; /* cart: [n] */
    int *index, *edges;  /* graph: [n], [nedges] */
    int *in, *out;       /* dist_graph: [nin], [nout] */
    int *in_weight, *out_weight;
};

/* One with room for `ints` numbers, at *room.  NULL: no memory. */
struct topo *topo_new(int kind, size_t ints, int **room);
/* Another one of the same, or NULL (no memory, or none to copy). */
struct topo *topo_copy(const struct topo *t);
void topo_free(struct topo *t);

/* A cartesian one's rank of coordinates, or MPI_PROC_NULL off a side that is
 * not periodic. */
int topo_cart_rank(const struct topo *t, const int *coords);
void topo_cart_coords(const struct topo *t, int rank, int *coords);
/* Neighbours of `rank`: source and destination of a shift. */
void topo_cart_shift(const struct topo *t, int rank, int dim, int disp,
                     int *source, int *dest);

/* The messages of a neighbourhood call of `rank`: from[], to[] with room for
 * topo_degree() each; *nfrom, *nto how many. */
void topo_degree(const struct topo *t, int rank, int *in, int *out);
void topo_neighbours(const struct topo *t, int rank,
                     struct impi_neighbour *from, size_t *nfrom,
                     struct impi_neighbour *to, size_t *nto);

/* A communicator of the first n processes of c, with t if it spans; else
 * *native: it is theirs and the native library shall make its own of it.  Takes
 * t.  The error handler has had the error. */
int topo_make(struct impi_comm *c, int n, struct topo *t, MPI_Comm *newcomm,
              bool *native);

/* Is c's topology of that kind?  MPI_ERR_TOPOLOGY if not. */
int topo_check(const struct impi_comm *c, int kind);

#endif
