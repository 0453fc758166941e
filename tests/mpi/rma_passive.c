/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   rma_passive FIFO [FLAVOR [LOCKS]]
 *
 * The last rank is out of MPI: it waits until somebody opens the FIFO, or looks
 * for a file all the time.  Only when all others have ended all their
 * operations on its window, and seen the results, does one of them let it come
 * back.  Where its help were needed all would wait for ever.  LOCKS: the others
 * only lock, put and get, for which it needs no thread either. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rma.h"

#define CELLS 4096
#define TIMES 20

static const char *fifo;
static char file[4096];
static int target, *mem, allocate, only_locks;
static MPI_Win win;
static MPI_Comm others; /* all but the target */

static void open_window(void)
{
    MPI_Aint bytes = CELLS * sizeof(int);

    if (allocate)
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                         &mem, &win);
    else
        MPI_Win_create(mem = malloc((size_t)bytes), bytes, sizeof(int),
                       MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(mem, 0, (size_t)bytes);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    MPI_Win_free(&win);
    if (!allocate)
        free(mem);
}

/* ---- the target ---- */

static void be_away(int computes)
{
    struct stat st;

    if (!computes)
        CHECK(close(open(fifo, O_RDONLY)) == 0);
    while (computes && stat(file, &st) != 0)
        ;
}

static void call_back(int computes)
{
    int fd;

    MPI_Barrier(others);
    if (rank != 0)
        return;
    fd =
        open(computes ? file : fifo, O_WRONLY | (computes ? O_CREAT : 0), 0600);
    CHECK(fd >= 0 && close(fd) == 0);
}

/* ---- the origins ---- */

static void every_call(void)
{
    int mine = 10 + rank * 16, v[3] = {1, 2, rank}, in = -1, one = 1, zero = 0;

    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Put(v, 3, MPI_INT, target, mine, 3, MPI_INT, win);
    MPI_Win_flush(target, win);
    MPI_Get(&in, 1, MPI_INT, target, mine + 2, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK(in == rank);
    MPI_Accumulate(&one, 1, MPI_INT, target, mine, 1, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &in, MPI_INT, target, mine, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK(in == 2);
    MPI_Get_accumulate(NULL, 0, MPI_INT, v, 3, MPI_INT, target, mine, 3,
                       MPI_INT, MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    CHECK(v[0] == 3 && v[1] == 2 && v[2] == rank);
    v[0] = 77;
    v[1] = 3;
    MPI_Compare_and_swap(&v[0], &v[1], &in, MPI_INT, target, mine, win);
    MPI_Win_flush(target, win);
    CHECK(in == 3);
    MPI_Win_unlock(target, win);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&zero, &in, MPI_INT, target, mine, MPI_NO_OP, win);
    MPI_Win_flush_all(win);
    CHECK(in == 77);
    MPI_Win_unlock_all(win);
}

static void lock_by_lock(void)
{
    int v;

    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&v, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        v++;
        MPI_Put(&v, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
}

static void much(void)
{
    int *out = malloc(CELLS * sizeof(int)), *in = calloc(CELLS, sizeof(int));

    for (int i = 0; i < CELLS; i++)
        out[i] = 3 * i;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(out, CELLS, MPI_INT, target, 0, CELLS, MPI_INT, win);
    MPI_Win_flush(target, win);
    MPI_Get(in, CELLS, MPI_INT, target, 0, CELLS, MPI_INT, win);
    MPI_Win_unlock(target, win);
    CHECK(memcmp(in, out, CELLS * sizeof(int)) == 0);
    free(out);
    free(in);
}

static int seen(int at)
{
    int v;

    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    v = mem[at];
    MPI_Win_unlock(target, win);
    return v;
}

static void while_away(int computes)
{
    open_window();
    for (int step = 0; step < 3; step++) {
        if (rank == target) {
            be_away(computes);
            if (step == 0 && !only_locks)
                for (int r = 0; r < size - 1; r++)
                    CHECK(seen(10 + 16 * r) == 77);
            CHECK(step != 1 || seen(0) == TIMES * (size - 1));
            CHECK(step != 2 || seen(CELLS - 1) == 3 * (CELLS - 1));
            unlink(file);
        } else {
            if (step == 0 && !only_locks)
                every_call();
            else if (step == 1)
                lock_by_lock();
            else if (step == 2)
                much();
            call_back(computes);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* the FIFO is closed at both ends */
    }
    close_window();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(argc >= 2 && size >= 2 && size < 200);
    fifo = argv[1];
    snprintf(file, sizeof(file), "%s.back", fifo);
    allocate = argc > 2 && strcmp(argv[2], "allocate") == 0;
    only_locks = argc > 3;
    target = size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank == target, rank, &others);
    while_away(0);
    while_away(1);
    MPI_Comm_free(&others);
    return end("rma_passive");
}
