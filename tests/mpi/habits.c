/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI side of tests/impi_host.py --habits: two ranks, of which one is that
 * script.  argv[1] "long8": a long that does not fit in four bytes.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, good = 1;

static void check(int is)
{
    good = good && is;
}

static void longs(long v)
{
    long answer = 0;

    MPI_Send(&v, 1, MPI_LONG, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_LONG, 1 - rank, 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    check(answer == v + 1);
}

static void reduced(int root)
{
    int own[2] = {rank + 1, 10}, sum[2] = {0, 0};

    MPI_Reduce(own, sum, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    check(rank != root || (sum[0] == 3 && sum[1] == 20));
}

static void reduced_for_all(void)
{
    int own = rank + 1, sum = 0;

    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == 3);
}

int main(int argc, char **argv)
{
    int big, v = 7;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    big = argc > 1 && strcmp(argv[1], "long8") == 0;
    longs(big ? (1L << 33) + 5 : 77);
    reduced(0);
    reduced(1);
    reduced_for_all();
    MPI_Ssend(&v, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
    if (good)
        printf("PASS habits rank %d\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
