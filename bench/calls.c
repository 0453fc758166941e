/* SPDX-License-Identifier: BSD-3-Clause
 *
 * N times the same call inside counted(), to count the instructions of a call
 * with callgrind --toggle-collect=counted.  Usage: calls WHAT COMM N
 *   WHAT  send, recv   to and from MPI_PROC_NULL: the library does the least
 *         self         a message to itself: Irecv, Send, Wait
 *         put          to MPI_PROC_NULL, and a flush, in a window of COMM
 *         none         nothing
 *   COMM  world, self
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void counted(const char *what, MPI_Comm comm, long n);

static void message_to_self(MPI_Comm comm)
{
    MPI_Request request;
    char in, out = 1;
    int rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Irecv(&in, 1, MPI_BYTE, rank, 0, comm, &request);
    MPI_Send(&out, 1, MPI_BYTE, rank, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static MPI_Win window;

static void open_window(MPI_Comm comm)
{
    void *memory;

    MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm, &memory, &window);
    MPI_Win_lock_all(0, window);
}

static void close_window(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

static void call(const char *what, MPI_Comm comm)
{
    static char byte;

    if (strcmp(what, "send") == 0)
        MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm);
    else if (strcmp(what, "recv") == 0)
        MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
    else if (strcmp(what, "self") == 0)
        message_to_self(comm);
    else if (strcmp(what, "put") == 0) {
        MPI_Put(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window);
        MPI_Win_flush(0, window);
    }
}

__attribute__((noinline)) void counted(const char *what, MPI_Comm comm, long n)
{
    for (long i = 0; i < n; i++)
        call(what, comm);
}

int main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "none";
    MPI_Comm comm;

    MPI_Init(NULL, NULL);
    comm = argc > 2 && strcmp(argv[2], "self") == 0 ? MPI_COMM_SELF
                                                    : MPI_COMM_WORLD;
    if (strcmp(what, "put") == 0)
        open_window(comm);
    for (int i = 0; i < 100; i++)
        call(what, comm);
    if (argc > 3)
        counted(what, comm, atol(argv[3]));
    if (strcmp(what, "put") == 0)
        close_window();
    MPI_Finalize();
    return 0;
}
