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

/* Another one of the same, or NULL (no memory, or none to copy). */
struct topo *topo_copy(const struct topo *t);
void topo_free(struct topo *t);

/* The same of the process itself; 0 without a topology. */
int topo_sources(const struct impi_comm *c);
int topo_destinations(const struct impi_comm *c);

#endif
