/* SPDX-License-Identifier: BSD-3-Clause
 * Partitioned messages to every rank, where the library has them. */
#include "check.h"

#ifdef HAVE_MPI4
#define N 8     /* partitions that are sent */
#define PER 100 /* elements of one */
#define MESSAGES 3

static int next, prev;
static int out[MESSAGES][N * PER], in[MESSAGES][N * PER];
static MPI_Request s[MESSAGES], r[MESSAGES];

static void make_ready(int k, int round)
{
    int list[] = {6, 4, 7};

    switch (round % 3) {
    case 0:
        for (int i = N - 1; i >= 0; i--)
            MPI_Pready(i, s[k]);
        break;
    case 1:
        MPI_Pready_range(0, N - 2, s[k]);
        MPI_Pready(N - 1, s[k]);
        break;
    default:
        MPI_Pready_range(0, 3, s[k]);
        MPI_Pready_list(3, list, s[k]);
        MPI_Pready(5, s[k]);
    }
}

/* Same peer, same tag: they match as they were made, in whatever order they
 * are started.  The receiver cuts them otherwise. */
static void matched_as_they_were_made(void)
{
    MPI_Status st;
    int flag;

    for (int k = 0; k < MESSAGES; k++)
        MPI_Psend_init(out[k], N, PER, MPI_INT, next, 7, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &s[k]);
    for (int k = 0; k < MESSAGES; k++)
        MPI_Precv_init(in[k], N / 2, 2 * PER, MPI_INT, prev, 7, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &r[k]);
    MPI_Waitall(MESSAGES, s, MPI_STATUSES_IGNORE); /* inactive */
    for (int round = 0; round < 6; round++) {
        for (int k = 0; k < MESSAGES; k++) {
            for (int i = 0; i < N * PER; i++) {
                out[k][i] = rank * 10000 + k * 1000 + round * 10 + i;
                in[k][i] = -1;
            }
        }
        for (int k = 0; k < MESSAGES; k++)
            MPI_Start(&s[(k + rank + round) % MESSAGES]);
        MPI_Startall(MESSAGES, r);
        for (int k = MESSAGES - 1; k >= 0; k--)
            make_ready(k, round);
        for (int k = 0; k < MESSAGES; k++) {
            for (int i = 0; i < N / 2; i++) {
                for (flag = 0; !flag;)
                    MPI_Parrived(r[k], i, &flag);
                CHECK(in[k][(2 * i + 1) * PER] ==
                      prev * 10000 + k * 1000 + round * 10 + (2 * i + 1) * PER);
            }
            MPI_Wait(&r[k], &st);
            CHECK(r[k] != MPI_REQUEST_NULL);
            CHECK(st.MPI_SOURCE == prev && st.MPI_TAG == 7);
            for (int i = 0; i < N * PER; i++)
                CHECK(in[k][i] == prev * 10000 + k * 1000 + round * 10 + i);
        }
        MPI_Waitall(MESSAGES, s, MPI_STATUSES_IGNORE);
    }
    for (int k = 0; k < MESSAGES; k++) {
        MPI_Request_free(&s[k]);
        MPI_Request_free(&r[k]);
    }
}

/* An ordinary receive with the same tag takes none of it. */
static void only_its_like(void)
{
    int a[2] = {rank, rank + 1}, b[2] = {-1, -1}, c = -1, flag;
    MPI_Request req[3];

    MPI_Irecv(&c, 1, MPI_INT, prev, 8, MPI_COMM_WORLD, &req[0]);
    MPI_Psend_init(a, 2, 1, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &req[1]);
    MPI_Precv_init(b, 2, 1, MPI_INT, prev, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &req[2]);
    MPI_Startall(2, &req[1]);
    MPI_Pready_range(0, 1, req[1]);
    MPI_Waitall(2, &req[1], MPI_STATUSES_IGNORE);
    CHECK(b[0] == prev && b[1] == prev + 1);
    MPI_Test(&req[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    CHECK(c == prev);
    MPI_Request_free(&req[1]);
    MPI_Request_free(&req[2]);
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
#ifdef HAVE_MPI4
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    matched_as_they_were_made();
    only_its_like();
#endif
    return end("mpi4_parts");
}
