/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/manager.h"

#include <dlfcn.h>
#include <stddef.h>

static bool pmix;

/* Also what the libraries define that it needs.  One that is linked to libpmix
 * has PMIx; if it has PMI-1 or PMI-2 beside it, either will do. */
void manager_of_library(void *mpi)
{
    pmix = dlsym(mpi, "PMIx_Init") != NULL && dlsym(mpi, "PMI_Init") == NULL &&
           dlsym(mpi, "PMI2_Init") == NULL;
}

bool manager_is_pmix(void)
{
    return pmix;
}
