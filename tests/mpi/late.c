/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Finalize waits for the last rank: the file argv[1], which that makes
 * just before its own call, is there for everybody after theirs. */
#include <unistd.h>
#include "check.h"

int main(int argc, char **argv)
{
    double until;

    begin(&argc, &argv);
    until = MPI_Wtime() + 0.3;
    if (rank == size - 1) {
        FILE *f;

        while (MPI_Wtime() < until)
            continue;
        f = fopen(argv[1], "w");
        if (!f || fclose(f) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Finalize();
    if (access(argv[1], F_OK) != 0)
        return 3;
    if (rank == 0)
        printf("PASS late\n");
    return 0;
}
