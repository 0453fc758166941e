/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Fortran functions that read an attribute, in all their spellings: both
 * libraries have them look into their own tables, without their C function.
 * What the back end knows nothing of goes to the library.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <stdint.h>

#include "libimpi/backend.h"

#define EXPORT __attribute__((visibility("default")))

/* An address-sized value (MPI_COMM_GET_ATTR), or an integer (MPI_ATTR_GET). */
typedef void get_f(int *handle, int *keyval, void *value, int *flag, int *ierr);

enum kind { COMM_INTEGER, COMM, WIN };

static void get(const char *name, enum kind kind, int *handle, int *keyval,
                void *value, int *flag, int *ierr)
{
    impi_fortran_attr_f *ours = front_fortran_attr();
    intptr_t v = 0;
    int rc = ours ? ours(kind == WIN, *handle, *keyval, &v, flag) : -1;
    get_f *library;

    if (rc < 0) {
        *(void **)&library = dlsym(RTLD_NEXT, name);
        if (library)
            library(handle, keyval, value, flag, ierr);
        return;
    }
    if (*flag && kind != COMM_INTEGER)
        *(intptr_t *)value = v;
    else if (*flag)
        *(int *)value = (int)v;
    if (ierr)
        *ierr = rc;
}

#define FUNCTION(name, kind)                                                   \
    EXPORT get_f name;                                                         \
    void name(int *handle, int *keyval, void *value, int *flag, int *ierr)     \
    {                                                                          \
        get(#name, kind, handle, keyval, value, flag, ierr);                   \
    }

FUNCTION(mpi_comm_get_attr_, COMM)
FUNCTION(pmpi_comm_get_attr_, COMM)
FUNCTION(mpi_comm_get_attr_f08_, COMM)
FUNCTION(pmpi_comm_get_attr_f08_, COMM)
FUNCTION(mpi_attr_get_, COMM_INTEGER)
FUNCTION(pmpi_attr_get_, COMM_INTEGER)
FUNCTION(mpi_win_get_attr_, WIN)
FUNCTION(pmpi_win_get_attr_, WIN)
FUNCTION(mpi_win_get_attr_f08_, WIN)
FUNCTION(pmpi_win_get_attr_f08_, WIN)
