/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong between ranks 0 and 1 of MPI_COMM_WORLD with MPI_Send and
 * MPI_Recv.  Rank 0 prints "BYTES MICROSECONDS" per size: median half round
 * trip.  With an argument only that size.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

static int rank;
static char buf[MAX_BYTES];

__attribute__((noinline)) static void round_trip(int bytes)
{
    if (rank == 0) {
        MPI_Send(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buf, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buf, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

static void measure(int s)
{
    double batch[BATCHES];

    for (int b = -WARMUPS; b < BATCHES; b++) {
        double start = now_us();

        for (int i = 0; i < sizes[s].rounds; i++)
            round_trip((int)sizes[s].bytes);
        if (b >= 0)
            batch[b] = (now_us() - start) / sizes[s].rounds / 2;
    }
    if (rank == 0)
        printf("%zu %.4f\n", sizes[s].bytes, median(batch, BATCHES));
}

int main(int argc, char *argv[])
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(buf, 1, sizeof(buf));
    if (size < 2) {
        fprintf(stderr, "pingpong: a world of %d\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int s = 0; s < NSIZES && rank < 2; s++)
        if (argc < 2 || (size_t)atol(argv[1]) == sizes[s].bytes)
            measure(s);
    MPI_Finalize();
    return 0;
}
