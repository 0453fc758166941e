/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   rma_death WHO [unheard]
 *
 * Rank 1 is killed in an epoch, while the others wait for what only it can do;
 * or lives on, but its connections end:
 *
 *   target   they put to it and flush, again and again
 *   origin   rank 0 has posted and waits for its complete
 *   holder   it has an exclusive lock of rank 0, for which they wait
 *   fence    they are in a fence
 *
 * Nobody comes through. */
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rma.h"

#define FDS 256

static int *mem, unheard;
static MPI_Win win;

static void end_connections(void)
{
    for (int fd = 0; fd < FDS; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
            peer.ss_family == AF_INET)
            shutdown(fd, SHUT_RDWR);
    }
}

static void die(void)
{
    if (!unheard)
        raise(SIGKILL);
    end_connections();
    for (;;)
        pause();
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
    unheard = argc > 2 && strcmp(argv[2], "unheard") == 0;
    win = window_over(&mem, (size_t)size * sizeof(int), sizeof(int), 1);
    MPI_Win_set_name(win, "shelf");
    MPI_Barrier(MPI_COMM_WORLD);
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
