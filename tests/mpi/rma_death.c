/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   rma_death WHO
 *
 * All have used the memory of rank 1, and it theirs.  Then it is killed in an
 * epoch, while the others wait for what only it can do:
 *
 *   target   they put to it and flush, again and again
 *   origin   rank 0 has posted and waits for its complete
 *   holder   it has an exclusive lock of rank 0, for which they wait
 *   fence    they are in a fence
 *
 * Nobody comes through, and no handler is asked (ERRORS_RETURN: that of the
 * window, and of the world, is MPI_ERRORS_RETURN). */
#include <signal.h>

#include "rma.h"

static int *mem;
static MPI_Win win;

static void die(void)
{
    raise(SIGKILL);
}

static void meet(int target)
{
    int v;

    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&v, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
}

static void meet_all(void)
{
    for (int r = 0; r < size; r++)
        if (rank == 1 || r == 1)
            meet(r);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_but_one(int cell)
{
    MPI_Win_lock_all(0, win);
    for (int v = 1;; v++) {
        MPI_Put(&v, 1, MPI_INT, 1, cell, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
    }
}

static void target(void)
{
    if (rank != 1)
        all_but_one(rank);
    for (;;) {
        int v;

        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        v = mem[0];
        MPI_Win_unlock(rank, win);
        if (v > 3)
            die();
    }
}

static void origin(void)
{
    int other = rank ? 0 : 1, v = 5;
    MPI_Group all, g;

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &other, &g);
    if (rank == 0) {
        MPI_Win_post(g, 0, win);
        MPI_Win_wait(win);
    } else if (rank == 1) {
        MPI_Win_start(g, 0, win);
        MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        die();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void holder(void)
{
    int v = 5;

    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        die();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_unlock(0, win);
}

static void fence(void)
{
    int v = 5;

    MPI_Win_fence(0, win);
    MPI_Put(&v, 1, MPI_INT, 1, rank, 1, MPI_INT, win);
    if (rank == 1)
        die();
    MPI_Win_fence(0, win);
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "";

    begin(&argc, &argv);
    win = window_over(&mem, (size_t)size * sizeof(int), sizeof(int), 1);
    MPI_Win_set_name(win, "shelf");
    if (getenv("ERRORS_RETURN")) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    meet_all();
    if (strcmp(who, "target") == 0)
        target();
    else if (strcmp(who, "origin") == 0)
        origin();
    else if (strcmp(who, "holder") == 0)
        holder();
    else if (strcmp(who, "fence") == 0)
        fence();
    else
        MPI_Abort(MPI_COMM_WORLD, 99);
    return end("rma_death");
}
