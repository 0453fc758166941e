/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the plain MPI programs of this folder: a failed check says where and
 * aborts with code 3; the last line of a good run is "PASS name" by rank 0.
 */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 5 calls itself MPI 3.1 and has all of this but large counts. */
#if MPI_VERSION >= 4 || defined(MPI_SESSION_NULL)
#define HAVE_MPI4 1
#endif

/* The function with large counts where the library has it. */
#if MPI_VERSION >= 4
#define C(name) MPI_##name##_c
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#else
#define C(name) MPI_##name
typedef int count_t;
typedef int displ_t;
#endif

static int rank, size;

#define CHECK(cond)                                                            \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__,          \
                    __LINE__, rank, #cond);                                    \
            fflush(stderr);                                                    \
            MPI_Abort(MPI_COMM_WORLD, 3);                                      \
        }                                                                      \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int end(const char *name)
{
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    if (rank == 0)
        printf("PASS %s\n", name);
    MPI_Finalize();
    return 0;
}

/* A byte that depends on who, what and where. */
static inline unsigned char pattern(int who, int what, size_t i)
{
    return (unsigned char)(who * 31 + what * 7 + (int)(i * 13 + i / 251));
}

static inline void fill(unsigned char *p, size_t n, int who, int what)
{
    for (size_t i = 0; i < n; i++)
        p[i] = pattern(who, what, i);
}

static inline int same(const unsigned char *p, size_t n, int who, int what)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != pattern(who, what, i))
            return 0;
    return 1;
}

#endif
