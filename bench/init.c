/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long MPI_Init takes: rank 0 prints "init WALL CPU", the milliseconds
 * from the first process's main() to the last one's return from MPI_Init, and
 * the processor time of all by then.  All run on one machine.
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

#include "bench/sizes.h"

static double used_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char *argv[])
{
    double begin = now_us(), end, used, first, last, sum;
    int rank;

    MPI_Init(&argc, &argv);
    end = now_us();
    used = used_us();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&used, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("init %.3f %.3f\n", (last - first) / 1000, sum / 1000);
    MPI_Finalize();
    return 0;
}
