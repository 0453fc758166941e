/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* environ */
#include "libimpi/topology.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beside[] = {"HWLOC_THISSYSTEM",
                                     "HWLOC_THISSYSTEM_ALLOWED_RESOURCES"};
#define N_BESIDE (sizeof(beside) / sizeof(beside[0]))

static unsigned (*hwloc_version)(void); /* NULL: the library has no hwloc */
static bool lent;

/* Also what the libraries have that it needs. */
void topology_of_library(void *mpi)
{
    *(void **)&hwloc_version = dlsym(mpi, "hwloc_get_api_version");
}

static bool has_user_chosen(void)
{
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, "HWLOC_", strlen("HWLOC_")) == 0)
            return true;
    return false;
}

bool topology_may_lend(void)
{
    return hwloc_version && hwloc_version() >> 16 == 2 && !has_user_chosen();
}

void topology_lend(void)
{
    for (size_t i = 0; i < N_BESIDE; i++)
        setenv(beside[i], "1", 1);
    lent = true;
}

void topology_take_back(void)
{
    if (!lent)
        return;
    for (size_t i = 0; i < N_BESIDE; i++)
        unsetenv(beside[i]);
    unsetenv(TOPOLOGY_VARIABLE);
    lent = false;
}
