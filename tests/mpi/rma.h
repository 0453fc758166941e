/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of windows share.  Windows begin where malloc says: those
 * of MPICH 4.0.2 alone begin at the multiple of 16 before their base.
 */
#ifndef TESTS_MPI_RMA_H
#define TESTS_MPI_RMA_H

#include "parts.h"

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
