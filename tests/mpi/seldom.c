/* SPDX-License-Identifier: BSD-3-Clause
 * What no other program here calls, over all clients: neighbourhood
 * collectives with counts, displacements and types of their own, what a graph
 * tells, ways to make and end a communicator, handles as integers. */
#include "check.h"

static int prev, next;

/* Two numbers go round; the receiver keeps them behind a gap. */
static void gathers(MPI_Comm c)
{
    int out[2] = {rank, rank + 100}, in[3], count = 2, gap = 1;
    MPI_Request req;

    in[0] = in[1] = in[2] = -1;
    MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, &count, &gap, MPI_INT, c);
    CHECK(in[0] == -1 && in[1] == prev && in[2] == prev + 100);
    in[0] = in[1] = in[2] = -1;
    MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in, &count, &gap, MPI_INT, c,
                             &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in[0] == -1 && in[1] == prev && in[2] == prev + 100);
    MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, c, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in[0] == prev);
}

static void exchanges(MPI_Comm c)
{
    int out[3] = {-2, rank, rank + 100}, in[3], count = 2, gap = 1, none = 0;
    MPI_Aint bytes = sizeof(int), no_bytes = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Request req;

    in[0] = in[1] = in[2] = -1;
    MPI_Neighbor_alltoallv(out, &count, &gap, MPI_INT, in, &count, &none,
                           MPI_INT, c);
    CHECK(in[0] == prev && in[1] == prev + 100 && in[2] == -1);
    in[0] = in[1] = in[2] = -1;
    MPI_Ineighbor_alltoallv(out, &count, &none, MPI_INT, in, &count, &gap,
                            MPI_INT, c, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in[0] == -1 && in[1] == -2 && in[2] == prev);
    MPI_Neighbor_alltoallw(out, &count, &bytes, &type, in, &count, &no_bytes,
                           &type, c);
    CHECK(in[0] == prev && in[1] == prev + 100 && in[2] == prev);
    in[0] = in[1] = in[2] = -1;
    MPI_Ineighbor_alltoallw(out, &count, &no_bytes, &type, in, &count, &bytes,
                            &type, c, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in[0] == -1 && in[1] == -2 && in[2] == prev);
}

static void neighbours(void)
{
    MPI_Comm c;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &prev, MPI_UNWEIGHTED, 1,
                                   &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
    gathers(c);
    exchanges(c);
    MPI_Comm_free(&c);
}

/* Each rank has an edge to the next one. */
static void graph(void)
{
    int index[32], edges[32], i2[32], e2[32], n, m, place, dims, periods = 1;
    MPI_Comm c;

    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place);
    CHECK(place >= 0 && place < size);
    MPI_Graph_map(MPI_COMM_WORLD, size - 1, index, (int[32]){0}, &place);
    CHECK(place == MPI_UNDEFINED || (place >= 0 && place < size - 1));
    dims = size;
    MPI_Cart_map(MPI_COMM_WORLD, 1, &dims, &periods, &place);
    CHECK(place >= 0 && place < size);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &c);
    MPI_Graphdims_get(c, &n, &m);
    CHECK(n == size && m == size);
    MPI_Graph_get(c, n, m, i2, e2);
    for (int i = 0; i < size; i++)
        CHECK(i2[i] == index[i] && e2[i] == edges[i]);
    MPI_Comm_disconnect(&c);
    CHECK(c == MPI_COMM_NULL);
}

static void with_info(void)
{
    int sum, n;
    MPI_Info info;
    MPI_Comm c;

    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "red");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c);
    MPI_Info_free(&info);
    MPI_Comm_size(c, &n);
    CHECK(n == size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_disconnect(&c);
}

/* To each rank its number and mine. */
static void all_to_all(void)
{
    int out[32][2], in[32][2], counts[32], bytes[32];
    MPI_Datatype types[32];
    MPI_Request req;

    for (int i = 0; i < size; i++) {
        out[i][0] = rank;
        out[i][1] = i;
        counts[i] = 2;
        bytes[i] = i * (int)sizeof(out[0]);
        types[i] = MPI_INT;
    }
    memset(in, 0xff, sizeof(in));
    MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types,
                   MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        CHECK(in[i][0] == i && in[i][1] == rank);
}

/* Numbers of our handles lead back to them: Fortran's, and where the standard
 * ABI leaves those to Fortran, C's. */
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION + 0 > 0
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#define MPI_Message_c2f MPI_Message_toint
#define MPI_Message_f2c MPI_Message_fromint
#define MPI_Group_c2f MPI_Group_toint
#define MPI_Group_f2c MPI_Group_fromint
#endif
static void numbers(void)
{
    int in = -1, n, result;
    MPI_Request req;
    MPI_Message msg;
    MPI_Group group, copy;

    MPI_Irecv(&in, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, &req);
    MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    req = MPI_Request_f2c(MPI_Request_c2f(req));
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in == prev && req == MPI_REQUEST_NULL);
    MPI_Isend(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &req);
    MPI_Mprobe(prev, 2, MPI_COMM_WORLD, &msg, MPI_STATUS_IGNORE);
    msg = MPI_Message_f2c(MPI_Message_c2f(msg));
    in = -1;
    MPI_Mrecv(&in, 1, MPI_INT, &msg, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(in == prev);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    copy = MPI_Group_f2c(MPI_Group_c2f(group));
    MPI_Group_size(copy, &n);
    MPI_Group_compare(group, copy, &result);
    CHECK(n == size && result == MPI_IDENT);
    MPI_Group_range_excl(group, 1, (int[1][3]){{0, 0, 1}}, &copy);
    MPI_Group_rank(copy, &n);
    CHECK(n == (rank ? rank - 1 : MPI_UNDEFINED));
    MPI_Group_free(&copy);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    neighbours();
    graph();
    with_info();
    all_to_all();
    numbers();
    return end("seldom");
}
