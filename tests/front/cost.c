/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the instructions of single MPI calls: the processor's trap flag
 * raises SIGTRAP after each one, and the handler counts.
 * Prints a line "FAMILY CALL COMMUNICATOR INSTRUCTIONS" each.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#ifdef OPEN_MPI
#define FAMILY "openmpi"
#else
#define FAMILY "mpich"
#endif

static volatile long steps;

static void on_trap(int signal)
{
    steps++;
}

static inline __attribute__((always_inline)) void trace_on(void)
{
    __asm__ volatile("pushfq\n orq $0x100, (%rsp)\n popfq");
}

static inline __attribute__((always_inline)) void trace_off(void)
{
    __asm__ volatile("pushfq\n andq $~0x100, (%rsp)\n popfq");
}

static char byte;

static void do_send(MPI_Comm comm)
{
    MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm);
}

static void do_recv(MPI_Comm comm)
{
    MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
}

static void do_self(MPI_Comm comm)
{
    MPI_Request request;
    char in;
    int rank;

    MPI_Comm_rank(comm, &rank);
    MPI_Irecv(&in, 1, MPI_BYTE, rank, 0, comm, &request);
    MPI_Send(&byte, 1, MPI_BYTE, rank, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static MPI_Win window;

static void do_put(MPI_Comm comm)
{
    MPI_Put(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, window);
}

static void do_flush(MPI_Comm comm)
{
    MPI_Win_flush(0, window);
}

/* The least of several: a message may meet housekeeping of the library. */
static void count(const char *name, void (*call)(MPI_Comm), MPI_Comm comm,
                  const char *where)
{
    long least = -1;

    for (int i = 0; i < 20; i++)
        call(comm);
    for (int i = 0; i < 20; i++) {
        steps = 0;
        trace_on();
        call(comm);
        trace_off();
        if (least < 0 || steps < least)
            least = steps;
    }
    printf(FAMILY " %s %s %ld\n", name, where, least);
}

/* Calls on a window of the library's own. */
static void count_window(MPI_Comm comm, const char *where)
{
    void *memory;

    MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm, &memory, &window);
    MPI_Win_lock_all(0, window);
    count("put", do_put, comm, where);
    count("flush", do_flush, comm, where);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

int main(void)
{
    signal(SIGTRAP, on_trap);
    MPI_Init(NULL, NULL);
    count("send", do_send, MPI_COMM_SELF, "self");
    count("recv", do_recv, MPI_COMM_SELF, "self");
    count("send", do_send, MPI_COMM_WORLD, "world");
    count("recv", do_recv, MPI_COMM_WORLD, "world");
    count("message", do_self, MPI_COMM_WORLD, "world");
    count_window(MPI_COMM_SELF, "self");
    MPI_Finalize();
    return 0;
}
