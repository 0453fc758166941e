/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations of rank 0 on the window of the last rank.  Prints
 * "CASE MICROSECONDS", the median of batches, per operation.
 *
 *   rma FLAVOR FEWER [CASE..]
 *
 * FLAVOR: create (memory of the program) or allocate (of the library).  FEWER:
 * how many times fewer operations are made.  CASE: some of
 *
 *   put8 put64k put1m get8 get64k get1m   each with its flush
 *   fetch      Fetch_and_op with its flush
 *   lock       exclusive lock, Put of 8 B, unlock, by all ranks at once
 *   passive    get of 8 B with lock and unlock, while the target computes and
 *              calls MPI only every two milliseconds
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

#define LARGEST (1 << 20)
#define PIECE_US 2000 /* of work between two looks of the target */

static int rank, size, target, fewer;
static char *mem, *buf;
static MPI_Win win;

static void put(int bytes)
{
    MPI_Put(buf, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
}

static void get(int bytes)
{
    MPI_Get(buf, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(target, win);
}

static void fetch(int bytes)
{
    long one = 1, was;

    (void)bytes;
    MPI_Fetch_and_op(&one, &was, MPI_LONG, target, 0, MPI_SUM, win);
    MPI_Win_flush(target, win);
}

static void lock(int bytes)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(buf, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
}

static void passive(int bytes)
{
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(buf, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
}

static const struct step {
    const char *name;
    void (*call)(int bytes);
    int bytes, calls;
} steps[] = {{"put8", put, 8, 400},      {"put64k", put, 65536, 60},
             {"put1m", put, LARGEST, 8}, {"get8", get, 8, 400},
             {"get64k", get, 65536, 60}, {"get1m", get, LARGEST, 8},
             {"fetch", fetch, 8, 400},   {"lock", lock, 8, 200},
             {"passive", passive, 8, 20}};
#define NSTEPS (int)(sizeof(steps) / sizeof(steps[0]))

static double batch_of(const struct step *s, int calls)
{
    double start = now_us();

    for (int i = 0; i < calls; i++)
        s->call(s->bytes);
    return (now_us() - start) / calls;
}

/* Work outside MPI, until rank 0 says that it is done. */
static void compute(void)
{
    int flag = 0, x;
    volatile double sum = 0;

    while (!flag) {
        double until = now_us() + PIECE_US;

        while (now_us() < until)
            sum += 1;
        MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double median_of(const struct step *s, int together)
{
    int calls = s->calls / fewer > 0 ? s->calls / fewer : 1;
    double batch[BATCHES];

    for (int b = -WARMUPS; b < BATCHES; b++) {
        double took;

        if (together)
            MPI_Barrier(MPI_COMM_WORLD);
        took = batch_of(s, calls);
        if (b >= 0)
            batch[b] = took;
    }
    return median(batch, BATCHES);
}

static void measure(const struct step *s)
{
    int locks = s->call == lock || s->call == passive, x = 0;
    double us = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (!locks && rank == 0)
        MPI_Win_lock_all(0, win);
    if (rank == 0 || s->call == lock)
        us = median_of(s, s->call == lock);
    if (!locks && rank == 0)
        MPI_Win_unlock_all(win);
    if (s->call == passive && rank == 0)
        MPI_Send(&x, 1, MPI_INT, target, 7, MPI_COMM_WORLD);
    else if (s->call == passive && rank == target)
        compute();
    if (rank == 0)
        printf("%s %.4f\n", s->name, us);
}

static void make_window(int allocate)
{
    if (allocate) {
        MPI_Win_allocate(LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    } else {
        mem = malloc(LARGEST);
        MPI_Win_create(mem, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    buf = malloc(LARGEST);
    if (!mem || !buf)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(mem, 0, LARGEST);
    memset(buf, 1, LARGEST);
}

static int wanted(int argc, char **argv, const char *name)
{
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc <= 3;
}

int main(int argc, char *argv[])
{
    int allocate = argc > 1 && strcmp(argv[1], "allocate") == 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fewer = argc > 2 ? atoi(argv[2]) : 1;
    target = size - 1;
    if (size < 2 || fewer < 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    make_window(allocate);
    for (int s = 0; s < NSTEPS; s++)
        if (wanted(argc, argv, steps[s].name))
            measure(&steps[s]);
    MPI_Win_free(&win);
    if (!allocate)
        free(mem);
    free(buf);
    MPI_Finalize();
    return 0;
}
