/* SPDX-License-Identifier: BSD-3-Clause
 * A Gather of argv[1] bytes from each process to rank 0, and the Reduce with
 * which each program here ends: the test counts the messages that they take.
 */
#include "check.h"

int main(int argc, char **argv)
{
    int n;
    char *own, *all;

    begin(&argc, &argv);
    n = argc > 1 ? atoi(argv[1]) : 1;
    own = malloc((size_t)n);
    all = malloc((size_t)n * (size_t)size);
    memset(own, rank + 1, (size_t)n);
    MPI_Gather(own, n, MPI_BYTE, all, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < n * size; i++)
        CHECK(all[i] == i / n + 1);
    free(own);
    free(all);
    return end("thresholds");
}
