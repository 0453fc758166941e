/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose ABI an MPI library has: by what it defines and by what it says of
 * itself, both of which may be asked for before MPI_Init.  Its SONAME tells
 * little: MPICH's ABI alone comes as libmpi.so.12, libmpich.so.12,
 * libmpi_gnu_*.so.12 and more.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <string.h>

/* MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most in any of them. */
#define TEXT_SIZE 8193

typedef int version_f(char *text, int *len);
typedef int abi_f(int *major, int *minor);

/* MPI-5: -1 where handles and constants are the library's own. */
static bool has_standard_abi(void *library)
{
    abi_f *ask;
    int major = -1, minor = -1;

    *(void **)&ask = dlsym(library, "PMPI_Abi_get_version");
    return ask && ask(&major, &minor) == 0 && major >= 1;
}

static bool says_mpich(void *library)
{
    static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};
    static char text[TEXT_SIZE];
    version_f *ask;
    int len = 0;

    *(void **)&ask = dlsym(library, "PMPI_Get_library_version");
    if (!ask || ask(text, &len) != 0)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strstr(text, names[i]))
            return true;
    return false;
}

const char *front_family(const struct front_mpi *mpi)
{
    if (has_standard_abi(mpi->handle))
        return "abi";
    /* The address of this object is a handle. */
    if (dlsym(mpi->handle, "ompi_mpi_comm_world"))
        return "openmpi";
    /* Variables that its mpi.h declares since 3.0. */
    if (dlsym(mpi->handle, "MPI_UNWEIGHTED") &&
        dlsym(mpi->handle, "MPI_WEIGHTS_EMPTY") && says_mpich(mpi->handle))
        return "mpich";
    return NULL;
}
