/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the preloaded front and a back end.  Neither side needs mpi.h here,
 * and the two may come from different builds (a site builds back ends of its
 * own), so functions are known by name and the interface has a version.
 */
#ifndef SF_LIBIMPI_BACKEND_H
#define SF_LIBIMPI_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define IMPI_BACKEND_VERSION 2

/* What the front offers. */
struct impi_front {
    int version; /* IMPI_BACKEND_VERSION */
    /* Ask impi_backend_symbol() for every function again and call the
     * answers from now on. */
    void (*rebind)(void);
};

/* Exported by a back end.  open: called once, before everything else, with
 * the dlopen handle of the MPI library in this process; 0, or -1 with a text
 * in err.  No MPI function may be called in it.
 * symbol: what MPI_X and PMPI_X shall call; NULL: the library's own. */
typedef int impi_backend_open_f(const struct impi_front *front, void *mpi,
                                char *err, size_t errsize);
typedef void *impi_backend_symbol_f(const char *name);

/* Also exported: an attribute of a communicator or (win) a window of Fortran's,
 * if it is one that the library does not know: its MPI error code; else -1. */
typedef int impi_fortran_attr_f(bool win, int handle, int keyval,
                                intptr_t *value, int *flag);

#endif
