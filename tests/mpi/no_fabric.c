/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded: this machine has no libfabric.so.1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *, int);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (name && strcmp(name, "libfabric.so.1") == 0)
        name = "libfabric.so.1.not_here";
    return real(name, flags);
}
