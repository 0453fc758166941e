/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of windows share: each is made of parts, of which the
 * arguments may name some.  Windows begin where malloc says: those of
 * MPICH 4.0.2 alone begin at the multiple of 16 before their base.
 */
#ifndef TESTS_MPI_RMA_H
#define TESTS_MPI_RMA_H

#include "check.h"

struct part {
    const char *name;
    void (*run)(void);
};

/* SOME_BY_MESSAGES: processes of odd rank share no memory of windows, so that
 * the others' is changed both ways at once. */
static inline void apart(void)
{
    if (getenv("SOME_BY_MESSAGES") && rank % 2)
        setenv("SLURM_IMPI_WINDOWS", "messages", 1);
}

/* All of them but those whose name begins with "our", or those that the
 * arguments name; a barrier behind each.  "our": a library alone gets it wrong.
 */
static inline void run_parts(int argc, char **argv, const struct part *parts,
                             size_t n)
{
    int found = 0;

    apart();
    for (size_t i = 0; i < n; i++) {
        int wanted = argc < 2 && strncmp(parts[i].name, "our", 3) != 0;

        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], parts[i].name) == 0;
        if (!wanted)
            continue;
        found++;
        if (rank == 0 && getenv("PARTS_SHOWN"))
            fprintf(stderr, "%s\n", parts[i].name);
        parts[i].run();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(found >= (argc < 2 ? 1 : argc - 1));
}

static inline MPI_Win window(void *base, size_t bytes, int unit)
{
    MPI_Win win = MPI_WIN_NULL;

    memset(base, 0, bytes);
    MPI_Win_create(base, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    CHECK(win != MPI_WIN_NULL);
    return win;
}

/* Memory of the program's own, or of MPI_Win_allocate.  Nobody else may use it
 * before a barrier. */
static inline MPI_Win window_over(void *base, size_t bytes, int unit,
                                  int allocated)
{
    MPI_Win win = MPI_WIN_NULL;
    void *mem;

    if (!allocated)
        return window(*(void **)base = malloc(bytes), bytes, unit);
    MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                     &win);
    CHECK(win != MPI_WIN_NULL && mem);
    memset(mem, 0, bytes);
    *(void **)base = mem;
    return win;
}

static inline void free_over(MPI_Win *win, void *base, int allocated)
{
    MPI_Win_free(win);
    if (!allocated)
        free(base);
}

static inline int want_allocated(void)
{
    return getenv("WINDOWS_ALLOCATED") != NULL;
}

#endif
