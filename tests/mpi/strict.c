/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI side of tests/impi_host.py: two ranks, of which one is that script.
 * A short message and its answer, a long one and its sum, then the barrier
 * of MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG_BYTES 100000

int main(int argc, char **argv)
{
    int rank, size, v = 0x01020304, sum = 0, got = -1, answer = -1, class;
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
    /* Nothing of it reaches the other client. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(
        MPI_Win_create(buf, LONG_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
        &class);
    if (size == 2 && answer == v + 1 && got == sum &&
        class == MPI_ERR_UNSUPPORTED_OPERATION)
        printf("PASS strict rank %d\n", rank);
    fflush(stdout);
    free(buf);
    MPI_Finalize();
    return 0;
}
