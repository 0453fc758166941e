/* SPDX-License-Identifier: BSD-3-Clause
 * The last rank aborts with 42 (or the number in argv[1]) while the others
 * wait for a message that never comes; argv[2] = "die": by a signal,
 * "exit": by exit(), "unheard": by MPI_Abort while bare_world does not listen
 * until the last two are gone. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

static void wait_for_end(pid_t pid)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                       .events = POLLIN};

    while (p.fd >= 0 && poll(&p, 1, -1) < 0)
        ;
}

/* The last but one tells the last who it is. */
static void nobody_listens(void)
{
    pid_t listener = (pid_t)atoi(getenv("BARE_PID")), last = getpid();
    int other = (int)last, gone[2];
    char byte;

    if (rank == size - 2)
        MPI_Send(&other, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    if (rank != size - 1)
        return;
    MPI_Recv(&other, 1, MPI_INT, size - 2, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    kill(listener, SIGSTOP);
    if (pipe(gone) < 0)
        abort();
    if (fork() != 0) { /* goes on when the child is out of the launcher's way */
        close(gone[1]);
        while (read(gone[0], &byte, 1) < 0)
            ;
        return;
    }
    setsid();
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    wait_for_end(last);
    wait_for_end((pid_t)other);
    kill(listener, SIGCONT);
    _exit(0);
}

int main(int argc, char **argv)
{
    int code = argc > 1 ? atoi(argv[1]) : 42, x;

    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 && argc > 2 && strcmp(argv[2], "die") == 0)
        raise(SIGKILL);
    if (rank == size - 1 && argc > 2 && strcmp(argv[2], "exit") == 0)
        exit(code);
    if (argc > 2 && strcmp(argv[2], "unheard") == 0)
        nobody_listens();
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Recv(&x, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
