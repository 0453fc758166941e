/* SPDX-License-Identifier: BSD-3-Clause
 * Two ranks have talked and wait for each other when the way between them
 * begins to drop what is sent: whoever reads the FIFO argv[1] sees to that. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv)
{
    int x = 0;

    begin(&argc, &argv);
    CHECK(argc == 2 && size == 2);
    MPI_Sendrecv_replace(&x, 1, MPI_INT, !rank, 1, !rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (rank == 0)
        CHECK(close(open(argv[1], O_WRONLY)) == 0);
    MPI_Recv(&x, 1, MPI_INT, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
