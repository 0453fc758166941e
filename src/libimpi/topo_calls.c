/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program asks about the topology of a spanning communicator.
 */
#include "libimpi/state.h"
#include "libimpi/topo.h"

/* The communicator's data when it spans and has that topology; else RETURNs
 * what the native function does, or the error. */
#define TOPO_OF(c, kind, call)                                                 \
    const struct impi_comm *c = impi_span_find(comm);                          \
                                                                               \
    if (!c)                                                                    \
        return impi_real.call;                                                 \
    if (topo_check(c, kind) != MPI_SUCCESS)                                    \
    return be_raise(comm, MPI_ERR_TOPOLOGY)

static int at_most(int n, int max)
{
    return n < max ? n : max;
}

static bool is_rank(const struct impi_comm *c, int rank)
{
    return rank >= 0 && rank < c->size;
}

int impi_Topo_test(MPI_Comm comm, int *status)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Topo_test(comm, status);
    *status = c->topo ? c->topo->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- grids ---- */

int impi_Cartdim_get(MPI_Comm comm, int *ndims)
{
    TOPO_OF(c, MPI_CART, Cartdim_get(comm, ndims));

    *ndims = c->topo->n;
    return MPI_SUCCESS;
}

int impi_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    TOPO_OF(c, MPI_CART, Cart_coords(comm, rank, maxdims, coords));

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    if (maxdims < c->topo->n)
        return be_raise(comm, MPI_ERR_ARG);
    topo_cart_coords(c->topo, rank, coords);
    return MPI_SUCCESS;
}

int impi_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[],
                  int coords[])
{
    TOPO_OF(c, MPI_CART, Cart_get(comm, maxdims, dims, periods, coords));

    if (maxdims < c->topo->n)
        return be_raise(comm, MPI_ERR_ARG);
    for (int i = 0; i < c->topo->n; i++) {
        dims[i] = c->topo->dims[i];
        periods[i] = c->topo->periods[i];
    }
    topo_cart_coords(c->topo, c->rank, coords);
    return MPI_SUCCESS;
}

int impi_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    TOPO_OF(c, MPI_CART, Cart_rank(comm, coords, rank));

    *rank = topo_cart_rank(c->topo, coords);
    return *rank < 0 ? be_raise(comm, MPI_ERR_ARG) : MPI_SUCCESS;
}

int impi_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source,
                    int *rank_dest)
{
    TOPO_OF(c, MPI_CART,
            Cart_shift(comm, direction, disp, rank_source, rank_dest));

    if (direction < 0 || direction >= c->topo->n)
        return be_raise(comm, MPI_ERR_DIMS);
    topo_cart_shift(c->topo, c->rank, direction, disp, rank_source, rank_dest);
    return MPI_SUCCESS;
}

/* Nobody is moved. */
int impi_Cart_map(MPI_Comm comm, int ndims, const int dims[],
                  const int periods[], int *newrank)
{
    const struct impi_comm *c = impi_span_find(comm);
    int64_t n = 1;

    if (!c)
        return impi_real.Cart_map(comm, ndims, dims, periods, newrank);
    if (ndims < 0)
        return be_raise(comm, MPI_ERR_ARG);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return be_raise(comm, MPI_ERR_DIMS);
        n *= dims[i];
        if (n > c->size)
            return be_raise(comm, MPI_ERR_ARG);
    }
    *newrank = c->rank < n ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- graphs ---- */

int impi_Graph_map(MPI_Comm comm, int nnodes, const int index[],
                   const int edges[], int *newrank)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Graph_map(comm, nnodes, index, edges, newrank);
    if (nnodes < 1 || nnodes > c->size)
        return be_raise(comm, MPI_ERR_ARG);
    *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int impi_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    TOPO_OF(c, MPI_GRAPH, Graphdims_get(comm, nnodes, nedges));

    *nnodes = c->topo->n;
    *nedges = c->topo->nedges;
    return MPI_SUCCESS;
}

int impi_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[],
                   int edges[])
{
    TOPO_OF(c, MPI_GRAPH, Graph_get(comm, maxindex, maxedges, index, edges));

    for (int i = 0; i < at_most(c->topo->n, maxindex); i++)
        index[i] = c->topo->index[i];
    for (int i = 0; i < at_most(c->topo->nedges, maxedges); i++)
        edges[i] = c->topo->edges[i];
    return MPI_SUCCESS;
}

int impi_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    TOPO_OF(c, MPI_GRAPH, Graph_neighbors_count(comm, rank, nneighbors));
    int out;

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    topo_degree(c->topo, rank, nneighbors, &out);
    return MPI_SUCCESS;
}

int impi_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors,
                         int neighbors[])
{
    TOPO_OF(c, MPI_GRAPH, Graph_neighbors(comm, rank, maxneighbors, neighbors));
    int n, out, first;

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    topo_degree(c->topo, rank, &n, &out);
    first = rank > 0 ? c->topo->index[rank - 1] : 0;
    for (int i = 0; i < at_most(n, maxneighbors); i++)
        neighbors[i] = c->topo->edges[first + i];
    return MPI_SUCCESS;
}

int impi_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree,
                                    int *outdegree, int *weighted)
{
    TOPO_OF(c, MPI_DIST_GRAPH,
            Dist_graph_neighbors_count(comm, indegree, outdegree, weighted));

    *indegree = c->topo->nin;
    *outdegree = c->topo->nout;
    *weighted = c->topo->weighted;
    return MPI_SUCCESS;
}

static void give(const struct topo *t, const int *ranks, const int *weights,
                 int n, int to[], int to_weights[])
{
    for (int i = 0; i < n; i++) {
        to[i] = ranks[i];
        if (t->weighted && to_weights && to_weights != MPI_UNWEIGHTED)
            to_weights[i] = weights[i];
    }
}

int impi_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[],
                              int sourceweights[], int maxoutdegree,
                              int destinations[], int destweights[])
{
    TOPO_OF(c, MPI_DIST_GRAPH,
            Dist_graph_neighbors(comm, maxindegree, sources, sourceweights,
                                 maxoutdegree, destinations, destweights));
    const struct topo *t = c->topo;

    give(t, t->in, t->in_weight, at_most(t->nin, maxindegree), sources,
         sourceweights);
    give(t, t->out, t->out_weight, at_most(t->nout, maxoutdegree), destinations,
         destweights);
    return MPI_SUCCESS;
}
