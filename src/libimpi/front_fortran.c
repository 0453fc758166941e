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
typedef void get_f(int *comm, int *keyval, void *value, int *flag, int *ierr);

static void get(const char *name, bool wide, int *comm, int *keyval,
                void *value, int *flag, int *ierr)
{
    impi_fortran_attr_f *ours = front_fortran_attr();
    int v = 0, rc = ours ? ours(*comm, *keyval, &v, flag) : -1;
    get_f *library;

    if (rc < 0) {
        *(void **)&library = dlsym(RTLD_NEXT, name);
        if (library)
            library(comm, keyval, value, flag, ierr);
        return;
    }
    if (*flag && wide)
        *(intptr_t *)value = v;
    else if (*flag)
        *(int *)value = v;
    if (ierr)
        *ierr = rc;
}

#define FUNCTION(name, wide)                                                   \
    EXPORT get_f name;                                                         \
    void name(int *comm, int *keyval, void *value, int *flag, int *ierr)       \
    {                                                                          \
        get(#name, wide, comm, keyval, value, flag, ierr);                     \
    }

FUNCTION(mpi_comm_get_attr_, true)
FUNCTION(pmpi_comm_get_attr_, true)
FUNCTION(mpi_comm_get_attr_f08_, true)
FUNCTION(pmpi_comm_get_attr_f08_, true)
FUNCTION(mpi_attr_get_, false)
FUNCTION(pmpi_attr_get_, false)
