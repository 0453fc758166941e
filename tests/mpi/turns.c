/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI side of tests/impi_host.py --turns: ranks 0 and 1 of three.  Bcasts
 * from each rank in turn.
 */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 20

int main(int argc, char **argv)
{
    int rank, good = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3 * ROUNDS; i++) {
        /* Rank 1 first: it is not the master. */
        int root = i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 2;
        int value = rank == root ? i : -1;

        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        good = good && value == i;
    }
    if (good)
        printf("PASS turns rank %d\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
