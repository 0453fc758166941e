/* SPDX-License-Identifier: BSD-3-Clause
 * Two processes call each other: rank 1 first, and while rank 0 has yet to
 * answer (shaky.c, SHAKY_LATE) it calls as well.  They talk until that answer
 * is out, too. */
#include "check.h"

/* Seconds until rank 0 has let rank 1 in, and until it has said so. */
#define SOON 0.1
#define LATER 0.6

static double begun;

static void look_for_a_while(void)
{
    int there;

    while (MPI_Wtime() < begun + SOON) {
        MPI_Iprobe(1, 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        CHECK(!there);
    }
}

/* Rank 0 says whether to go on. */
static int exchange(int other)
{
    int out = MPI_Wtime() < begun + LATER, in = -1;
    MPI_Request req;

    MPI_Isend(&out, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &req);
    MPI_Recv(&in, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == 0 || in == 1);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    return rank == 0 ? out : in;
}

int main(int argc, char *argv[])
{
    begin(&argc, &argv);
    CHECK(size == 2);
    begun = MPI_Wtime();
    if (rank == 0)
        look_for_a_while();
    while (exchange(!rank))
        ;
    return end("meet");
}
