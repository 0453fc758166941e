/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small library that calls itself an MPI: what the front does can be seen
 * without a real one.  It needs no mpi.h.  Calls are counted and the odd ones
 * check that every argument register came through.
 */
#include <stdarg.h>
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int PMPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int PMPI_Initialized(int *flag);
int MPI_Pcontrol(const int level, ...);
double MPI_Wtime(void);
int MPI_Finalize(void);
int MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h,
                 long i, long j, long k, long l);

int PMPI_Init(int *argc, char ***argv)
{
    return 0;
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

int PMPI_Initialized(int *flag)
{
    *flag = 7;
    return 0;
}

int MPI_Initialized(int *flag)
{
    return PMPI_Initialized(flag);
}

int MPI_Pcontrol(const int level, ...)
{
    va_list ap;
    double d = 0;
    long n = 0;

    va_start(ap, level);
    for (int i = 0; i < level; i++) {
        d = d * 10 + va_arg(ap, double);
        n = n * 10 + va_arg(ap, int);
    }
    va_end(ap);
    printf("pcontrol %d %.0f %ld\n", level, d, n);
    return 0;
}

double MPI_Wtime(void)
{
    return 12.5;
}

int MPI_Finalize(void)
{
    return 0;
}

int MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h,
                 long i, long j, long k, long l)
{
    printf("sendrecv %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld\n", a, b,
           c, d, e, f, g, h, i, j, k, l);
    return 42;
}
