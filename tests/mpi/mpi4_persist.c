/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent collective calls: each gives what the blocking call gives, round
 * by round, started in another order in every process, with what they were
 * made of freed meanwhile. */
#include "check.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#ifdef HAVE_MPI4
#define INIT(name) MPI_##name##_init
#define HAVE_INIT 1
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name) MPIX_##name##_init
#define HAVE_INIT 1
#endif

#ifdef HAVE_INIT
#define ROUNDS 4
#define MOST 64 /* processes */
#define BLOCK 3 /* elements for each */
#define ROOM (BLOCK * MOST)

/* What a call sends, what it receives, and what the blocking one does. */
struct pair {
    long out[ROOM], in[ROOM], want[ROOM];
};
enum {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    CALLS
};

static struct pair pairs[CALLS];
static MPI_Request req[CALLS];
static int counts[MOST], displs[MOST], bytes[MOST];
static MPI_Aint abytes[MOST];
static MPI_Datatype types[MOST], types_now[MOST];

static void last_plus(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const long *a = in;
    long *b = inout;

    (void)type;
    for (int i = 0; i < *len; i++)
        b[i] = a[i] * 3 + b[i]; /* does not commute */
}

static void fill_all(int round)
{
    for (int c = 0; c < CALLS; c++) {
        for (int i = 0; i < ROOM; i++) {
            pairs[c].out[i] = rank * 1000 + c * 100 + round * 10 + i;
            pairs[c].in[i] = pairs[c].want[i] = -i;
        }
        if (c == BCAST && rank == size - 1)
            pairs[c].in[0] = pairs[c].want[0] = 77 + round;
    }
}

#define P(c) pairs[c].out, BLOCK, MPI_LONG
/* Both forms of a call with the arguments that follow. */
#define FORMS(c, name, comm, ...)                                              \
    do {                                                                       \
        long *in = make ? pairs[c].in : pairs[c].want;                         \
                                                                               \
        (void)in;                                                              \
        if (make)                                                              \
            INIT(name)(__VA_ARGS__, comm, MPI_INFO_NULL, &req[c]);             \
        else                                                                   \
            MPI_##name(__VA_ARGS__, comm);                                     \
    } while (0)

/* make: the persistent form of all; else the blocking one. */
static void all_calls(int make, MPI_Comm comm, MPI_Comm ring,
                      MPI_Datatype triple, MPI_Op op)
{
    int root = size - 1;
    MPI_Datatype *w = make ? types : types_now;

    if (make)
        INIT(Barrier)(comm, MPI_INFO_NULL, &req[BARRIER]);
    FORMS(BCAST, Bcast, comm, in, 1, triple, root);
    FORMS(GATHER, Gather, comm, P(GATHER), in, 1, triple, root);
    FORMS(GATHERV, Gatherv, comm, P(GATHERV), in, counts, displs, MPI_LONG,
          root);
    FORMS(SCATTER, Scatter, comm, P(SCATTER), in, 1, triple, root);
    FORMS(SCATTERV, Scatterv, comm, pairs[SCATTERV].out, counts, displs,
          MPI_LONG, in, BLOCK, MPI_LONG, root);
    FORMS(ALLGATHER, Allgather, comm, P(ALLGATHER), in, 1, triple);
    FORMS(ALLGATHERV, Allgatherv, comm, P(ALLGATHERV), in, counts, displs,
          MPI_LONG);
    FORMS(ALLTOALL, Alltoall, comm, P(ALLTOALL), in, 1, triple);
    FORMS(ALLTOALLV, Alltoallv, comm, pairs[ALLTOALLV].out, counts, displs,
          MPI_LONG, in, counts, displs, MPI_LONG);
    FORMS(ALLTOALLW, Alltoallw, comm, pairs[ALLTOALLW].out, counts, bytes, w,
          in, counts, bytes, w);
    FORMS(REDUCE, Reduce, comm, pairs[REDUCE].out, in, BLOCK, MPI_LONG, op,
          root);
    FORMS(ALLREDUCE, Allreduce, comm, pairs[ALLREDUCE].out, in, BLOCK, MPI_LONG,
          op);
    FORMS(REDUCE_SCATTER, Reduce_scatter, comm, pairs[REDUCE_SCATTER].out, in,
          counts, MPI_LONG, MPI_MAX);
    FORMS(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, comm,
          pairs[REDUCE_SCATTER_BLOCK].out, in, BLOCK, MPI_LONG, MPI_SUM);
    FORMS(SCAN, Scan, comm, pairs[SCAN].out, in, BLOCK, MPI_LONG, op);
    FORMS(EXSCAN, Exscan, comm, pairs[EXSCAN].out, in, BLOCK, MPI_LONG, op);
    FORMS(NEIGHBOR_ALLGATHER, Neighbor_allgather, ring, P(NEIGHBOR_ALLGATHER),
          in, 1, triple);
    FORMS(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, ring,
          P(NEIGHBOR_ALLGATHERV), in, counts, displs, MPI_LONG);
    FORMS(NEIGHBOR_ALLTOALL, Neighbor_alltoall, ring, P(NEIGHBOR_ALLTOALL), in,
          1, triple);
    FORMS(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, ring,
          pairs[NEIGHBOR_ALLTOALLV].out, counts, displs, MPI_LONG, in, counts,
          displs, MPI_LONG);
    FORMS(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, ring,
          pairs[NEIGHBOR_ALLTOALLW].out, counts, abytes, w, in, counts, abytes,
          w);
}

static void check_round(void)
{
    for (int c = 0; c < CALLS; c++) {
        if (memcmp(pairs[c].in, pairs[c].want, sizeof(pairs[c].in)) != 0)
            fprintf(stderr, "call %d of this list is wrong\n", c);
        CHECK(memcmp(pairs[c].in, pairs[c].want, sizeof(pairs[c].in)) == 0);
    }
}

/* The next to be started: in another order everywhere. */
static int turn(int i, int round)
{
    static const int steps[] = {1, 3, 5, 7}; /* no divisors of CALLS */

    return (rank + round + i * steps[(rank + round) % 4]) % CALLS;
}

static void started_in_any_order(void)
{
    MPI_Comm comm, ring;
    MPI_Datatype triple, kept, own[MOST];
    MPI_Op op, op_kept;
    MPI_Status st[CALLS];
    int periodic = 1, flag, n, index;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Type_contiguous(BLOCK, MPI_LONG, &triple);
    MPI_Type_commit(&triple);
    MPI_Op_create(last_plus, 0, &op);
    MPI_Type_dup(triple, &kept);
    MPI_Op_create(last_plus, 0, &op_kept);
    for (int i = 0; i < size; i++) {
        counts[i] = BLOCK;
        displs[i] = i * BLOCK;
        bytes[i] = abytes[i] = i * BLOCK * (int)sizeof(long);
        MPI_Type_dup(MPI_LONG, &types[i]);
        own[i] = types[i];
    }
    all_calls(1, comm, ring, triple, op);
    MPI_Type_free(&triple);
    MPI_Op_free(&op);
    for (int i = 0; i < size; i++)
        MPI_Type_free(&own[i]);
    MPI_Comm_free(&comm);
    MPI_Waitall(CALLS, req, st); /* inactive: at once */
    MPI_Testany(CALLS, req, &index, &flag, st);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Request_get_status(req[SCAN], &flag, st);
    CHECK(flag);
    for (int round = 0; round < ROUNDS; round++) {
        fill_all(round);
        if (round == ROUNDS - 1)
            MPI_Startall(CALLS, req);
        for (int i = 0; round < ROUNDS - 1 && i < CALLS; i++)
            MPI_Start(&req[turn(i, round)]);
        if (round % 2) {
            MPI_Waitall(CALLS, req, st);
            MPI_Get_count(&st[BCAST], MPI_BYTE, &n);
            CHECK(n == 0);
        }
        for (int done = 0; round % 2 == 0 && done < CALLS;) {
            int list[CALLS];

            MPI_Waitsome(CALLS, req, &n, list, st);
            CHECK(n > 0);
            done += n;
        }
        for (int i = 0; i < CALLS; i++)
            CHECK(req[i] != MPI_REQUEST_NULL);
        for (int i = 0; i < size; i++)
            MPI_Type_dup(MPI_LONG, &types_now[i]);
        all_calls(0, MPI_COMM_WORLD, ring, kept, op_kept);
        for (int i = 0; i < size; i++)
            MPI_Type_free(&types_now[i]);
        check_round();
    }
    for (int i = 0; i < CALLS; i++)
        MPI_Request_free(&req[turn(i, 0)]);
    MPI_Type_free(&kept);
    MPI_Op_free(&op_kept);
    MPI_Comm_free(&ring);
}

/* One that is freed while it runs goes on. */
static void freed_while_it_runs(void)
{
    long v = rank, sum = -1, want = (long)size * (size - 1) / 2;
    MPI_Request r;

    INIT(Allreduce)
    (&v, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Request_free(&r);
    CHECK(r == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    while (*(volatile long *)&sum != want) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* Between two groups, many at once. */
static void between_two_groups(void)
{
    MPI_Comm half, inter;
    MPI_Request r[2];
    long v = rank, sum = -1, all[MOST];
    int first = rank < size / 2, n;

    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? size / 2 : 0, 5,
                         &inter);
    MPI_Comm_remote_size(inter, &n);
    INIT(Allreduce)
    (&v, &sum, 1, MPI_LONG, MPI_SUM, inter, MPI_INFO_NULL, &r[0]);
    INIT(Allgather)
    (&v, 1, MPI_LONG, all, 1, MPI_LONG, inter, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < ROUNDS; round++) {
        int from = first ? size / 2 : 0;
        long want = 0;

        v = rank + round;
        MPI_Start(&r[rank % 2]);
        MPI_Start(&r[1 - rank % 2]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++) {
            CHECK(all[i] == from + i + round);
            want += all[i];
        }
        CHECK(sum == want);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
#ifdef HAVE_INIT
    started_in_any_order();
    freed_while_it_runs();
    if (size > 1)
        between_two_groups();
#endif
    return end("mpi4_persist");
}
