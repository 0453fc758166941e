/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI side of tests/impi_host.py: two ranks, of which one is that script.
 * A short message and its answer, a long one and its sum, a communicator of
 * the other one alone and a duplicate, then the barrier of MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG_BYTES 100000

/* The other one makes none of the calls; it sees what they send. */
static int makes_communicators(int rank)
{
    int other = 1 - rank, four = 4, none;
    MPI_Group all, one;
    MPI_Comm c;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &one);
    MPI_Comm_create(MPI_COMM_WORLD, one, &c);
    none = c == MPI_COMM_NULL;
    MPI_Group_free(&one);
    MPI_Group_free(&all);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Send(&four, 1, MPI_INT, other, 9, c);
    MPI_Comm_free(&c);
    return none;
}

int main(int argc, char **argv)
{
    int rank, size, v = 0x01020304, sum = 0, got = -1, answer = -1, class, none;
    MPI_Win win;
    unsigned char *buf = malloc(LONG_BYTES);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < LONG_BYTES; i++) {
        buf[i] = (unsigned char)(i * 7);
        sum += buf[i];
    }
    MPI_Send(&v, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Send(buf, LONG_BYTES, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    none = makes_communicators(rank);
    /* Nothing of it reaches the other client. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(
        MPI_Win_create(buf, LONG_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
        &class);
    if (size == 2 && none && answer == v + 1 && got == sum &&
        class == MPI_ERR_UNSUPPORTED_OPERATION)
        printf("PASS strict rank %d\n", rank);
    fflush(stdout);
    free(buf);
    MPI_Finalize();
    return 0;
}
