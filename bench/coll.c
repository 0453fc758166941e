/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce, Bcast and Alltoall on MPI_COMM_WORLD.  Rank 0 prints
 * "OPERATION BYTES MICROSECONDS": the median of batches, per call.  Roots of
 * MPI_Bcast take turns, so that nobody runs ahead.  An argument is how many
 * times fewer calls are made.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

#define LARGEST (64 * 1024)
#define MOST_RANKS 16

static int rank, size;
static double *in, *out;

static void allreduce(int n, int i)
{
    (void)i;
    MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(int n, int i)
{
    MPI_Bcast(out, n, MPI_DOUBLE, i % size, MPI_COMM_WORLD);
}

static void alltoall(int n, int i)
{
    (void)i;
    MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(int n, int i);
} operations[] = {
    {"Allreduce", allreduce}, {"Bcast", bcast}, {"Alltoall", alltoall}};

static const struct {
    int bytes, calls;
} steps[] = {{8, 400}, {1024, 400}, {LARGEST, 60}};

static void measure(int o, int s, int fewer)
{
    int n = steps[s].bytes / (int)sizeof(double);
    int calls = steps[s].calls / fewer;
    double batch[BATCHES];

    for (int b = -WARMUPS; b < BATCHES; b++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = now_us();
        for (int i = 0; i < calls; i++)
            operations[o].call(n, i);
        if (b >= 0)
            batch[b] = (now_us() - start) / calls;
    }
    if (rank == 0)
        printf("%s %d %.4f\n", operations[o].name, steps[s].bytes,
               median(batch, BATCHES));
}

int main(int argc, char *argv[])
{
    int fewer = argc > 1 ? atoi(argv[1]) : 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    in = calloc(MOST_RANKS, LARGEST);
    out = calloc(MOST_RANKS, LARGEST);
    if (!in || !out || size > MOST_RANKS || fewer < 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 0, (size_t)MOST_RANKS * LARGEST);
    for (int o = 0; o < 3; o++)
        for (int s = 0; s < 3; s++)
            measure(o, s, fewer);
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
