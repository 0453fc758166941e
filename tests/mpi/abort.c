/* SPDX-License-Identifier: BSD-3-Clause
 * The last rank aborts with 42 (or the number in argv[1]) while the others
 * wait for a message that never comes; argv[2] = "die": by a signal,
 * "exit": by exit(), "window": by an MPI error that nobody handles. */
#include <signal.h>
#include "check.h"

int main(int argc, char **argv)
{
    int code = argc > 1 ? atoi(argv[1]) : 42, x;
    MPI_Win win;

    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 && argc > 2 && strcmp(argv[2], "die") == 0)
        raise(SIGKILL);
    if (rank == size - 1 && argc > 2 && strcmp(argv[2], "exit") == 0)
        exit(code);
    if (rank == size - 1 && argc > 2 && strcmp(argv[2], "window") == 0)
        MPI_Win_create(&x, sizeof(x), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Recv(&x, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
