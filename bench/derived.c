/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong between ranks 0 and 1 of MPI_COMM_WORLD with derived types, beside
 * the same number of bytes in one piece, in turn.  Rank 0 prints "KEY BYTES
 * DERIVED CONTIGUOUS", median half round trips in us.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

#define MOST (16 << 20)
#define WORK (16 << 20) /* bytes per batch */

struct thing {
    char c;
    double d;
    int i[3];
};

static int rank;
static char buf[2 * MOST];

static void round_trip(int count, MPI_Datatype type)
{
    if (rank == 0) {
        MPI_Send(buf, count, type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buf, count, type, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buf, count, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buf, count, type, 0, 2, MPI_COMM_WORLD);
    }
}

static double batch(int rounds, int count, MPI_Datatype type)
{
    double start = now_us();

    for (int i = 0; i < rounds; i++)
        round_trip(count, type);
    return (now_us() - start) / rounds / 2;
}

static void measure(const char *key, int count, MPI_Datatype type)
{
    double a[BATCHES], b[BATCHES];
    int bytes, rounds;

    MPI_Type_size(type, &bytes);
    bytes *= count;
    rounds = WORK / bytes + 1;
    for (int i = -WARMUPS; i < BATCHES; i++) {
        int at = i < 0 ? 0 : i;

        a[at] = batch(rounds, count, type);
        b[at] = batch(rounds, bytes, MPI_BYTE);
    }
    if (rank == 0)
        printf("%s %d %.4f %.4f\n", key, bytes, median(a, BATCHES),
               median(b, BATCHES));
    fflush(stdout);
}

/* Blocks of so many bytes with as many between them. */
static void measure_vector(const char *key, int bytes, int block)
{
    MPI_Datatype type;

    MPI_Type_vector(bytes / block, block, 2 * block, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    measure(key, 1, type);
    MPI_Type_free(&type);
}

static void measure_struct(const char *key, int bytes)
{
    int n[3] = {1, 1, 3};
    MPI_Aint at[3] = {offsetof(struct thing, c), offsetof(struct thing, d),
                      offsetof(struct thing, i)};
    MPI_Datatype old[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, in, type;

    MPI_Type_create_struct(3, n, at, old, &in);
    MPI_Type_create_resized(in, 0, sizeof(struct thing), &type);
    MPI_Type_commit(&type);
    measure(key, bytes / 21, type);
    MPI_Type_free(&in);
    MPI_Type_free(&type);
}

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(buf, 1, sizeof(buf));
    if (rank < 2) {
        measure_vector("vector-8-64K", 1 << 16, 8);
        measure_vector("vector-256-64K", 1 << 16, 256);
        measure_vector("vector-8-1M", 1 << 20, 8);
        measure_vector("vector-256-1M", 1 << 20, 256);
        measure_vector("vector-4K-1M", 1 << 20, 4096);
        measure_vector("vector-256-16M", MOST, 256);
        measure_struct("struct-1M", 1 << 20);
    }
    MPI_Finalize();
    return 0;
}
