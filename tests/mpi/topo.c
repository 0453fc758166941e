/* SPDX-License-Identifier: BSD-3-Clause
 * Topologies and neighbourhood collectives over all clients. */
#include "check.h"

static void grid(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], at, source, dest;
    int d[2], p[2], got, mine[2], kind, remain[2] = {0, 1}, n, r, all[4];
    int out[4], expected;
    MPI_Comm c, row, dup;

    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &c);
    MPI_Topo_test(c, &kind);
    CHECK(kind == MPI_CART);
    MPI_Cartdim_get(c, &n);
    MPI_Comm_rank(c, &r);
    MPI_Cart_get(c, 2, d, p, mine);
    CHECK(n == 2 && d[0] == dims[0] && d[1] == dims[1] && p[0] && !p[1]);
    MPI_Cart_coords(c, r, 2, coords);
    CHECK(coords[0] == mine[0] && coords[1] == mine[1]);
    MPI_Cart_rank(c, coords, &at);
    CHECK(at == r);
    MPI_Cart_shift(c, 0, 1, &source, &dest);
    MPI_Sendrecv(&r, 1, MPI_INT, dest, 3, &got, 1, MPI_INT, source, 3, c,
                 MPI_STATUS_IGNORE);
    CHECK(got == source);
    MPI_Cart_shift(c, 1, 1, &source, &dest);
    CHECK((dest == MPI_PROC_NULL) == (mine[1] == dims[1] - 1));
    /* what goes up comes from below, also where both are one process */
    MPI_Comm_dup(c, &dup);
    for (int i = 0; i < 4; i++) {
        out[i] = 10 * r + i;
        all[i] = -1;
    }
    MPI_Neighbor_alltoall(out, 1, MPI_INT, all, 1, MPI_INT, dup);
    for (int i = 0; i < 4; i++) {
        MPI_Cart_shift(dup, i / 2, 1, &source, &dest);
        expected = i % 2 ? dest : source;
        CHECK(all[i] == (expected < 0 ? -1 : 10 * expected + (i ^ 1)));
    }
    MPI_Cart_sub(c, remain, &row);
    MPI_Comm_size(row, &n);
    MPI_Comm_rank(row, &at);
    CHECK(n == dims[1] && at == mine[1]);
    MPI_Cartdim_get(row, &n);
    CHECK(n == 1);
    MPI_Comm_free(&row);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&c);
    /* one process is left out */
    dims[0] = size - 1;
    if (size > 1) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &c);
        CHECK((c == MPI_COMM_NULL) == (rank == size - 1));
        if (c != MPI_COMM_NULL)
            MPI_Comm_free(&c);
    }
}

/* A star: rank 0 beside all others. */
static void star(void)
{
    int index[32], edges[64], n = 0, in[32], kind, m;
    MPI_Comm c;

    for (int i = 1; i < size; i++)
        edges[n++] = i;
    index[0] = n;
    for (int i = 1; i < size; i++) {
        edges[n++] = 0;
        index[i] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &c);
    MPI_Topo_test(c, &kind);
    CHECK(kind == MPI_GRAPH);
    MPI_Graph_neighbors_count(c, rank, &m);
    CHECK(m == (rank ? 1 : size - 1));
    MPI_Graph_neighbors(c, rank, m, in);
    CHECK(in[0] == (rank ? 0 : 1));
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, c);
    for (int i = 0; i < m; i++)
        CHECK(in[i] == (rank ? 0 : i + 1));
    MPI_Comm_free(&c);
}

/* A ring in which rank 0 names all edges; then everybody its own. */
static void directed_ring(void)
{
    int sources[32], degrees[32], dests[32], weights[32], nin, nout, weighted;
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int in, out, win, wout, v = -1;
    MPI_Comm c;
    MPI_Request req;

    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        dests[i] = (i + 1) % size;
        weights[i] = 7 + i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : size, sources, degrees,
                          dests, weights, MPI_INFO_NULL, 0, &c);
    MPI_Dist_graph_neighbors_count(c, &nin, &nout, &weighted);
    CHECK(nin == 1 && nout == 1 && weighted);
    MPI_Dist_graph_neighbors(c, 1, &in, &win, 1, &out, &wout);
    CHECK(in == prev && out == next && win == 7 + prev && wout == 7 + rank);
    MPI_Comm_free(&c);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &prev, MPI_UNWEIGHTED, 1,
                                   &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
    MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, &v, 1, MPI_INT, c, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(v == prev);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    grid();
    if (size > 1)
        star();
    directed_ring();
    return end("topo");
}
