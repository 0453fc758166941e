/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI library among the loaded objects.  It is known by what it defines,
 * not by its file name: an object whose PMPI_Init is its own.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#define MAX_OBJECTS 1024

static void *base_of(const void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static void *front_base(void)
{
    return base_of(front_slots);
}

/* PMPI_Init (or another function) that the object itself defines. */
static void *own_symbol(void *handle, const char *name, const char *path)
{
    void *sym = dlsym(handle, name);
    Dl_info info;

    if (!sym || !dladdr(sym, &info) || strcmp(info.dli_fname, path) != 0)
        return NULL;
    return sym;
}

/* glibc writes the address where the file has an offset, musl does not. */
static const char *string_table(const struct link_map *map, ElfW(Addr) at)
{
    return (const char *)(at < map->l_addr ? at + map->l_addr : at);
}

static const char *soname_of(void *handle, const char *path)
{
    const char *name = NULL, *strings = NULL;
    const char *slash = strrchr(path, '/');
    struct link_map *map;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        const ElfW(Dyn) *d = map->l_ld;

        for (; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_STRTAB)
                strings = string_table(map, d->d_un.d_ptr);
        for (d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_SONAME)
                name = strings + d->d_un.d_val;
    }
    return name ? name : slash ? slash + 1 : path;
}

struct objects {
    const char *path[MAX_OBJECTS];
    int n;
};

/* dlopen must not be called from here, so only names are collected. */
static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct objects *objects = arg;

    if (info->dlpi_name && info->dlpi_name[0] == '/' &&
        objects->n < MAX_OBJECTS)
        objects->path[objects->n++] = info->dlpi_name;
    return 0;
}

int front_find_mpi(struct front_mpi *mpi)
{
    static struct objects objects;
    void *wanted = base_of(dlsym(RTLD_NEXT, "PMPI_Init"));
    void *sym, *handle;

    mpi->handle = NULL;
    objects.n = 0;
    dl_iterate_phdr(collect, &objects);
    for (int i = 0; i < objects.n; i++) {
        const char *path = objects.path[i];

        handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        sym = handle ? own_symbol(handle, "PMPI_Init", path) : NULL;
        if (sym && base_of(sym) != front_base() &&
            (!mpi->handle || base_of(sym) == wanted)) {
            mpi->handle = handle;
            mpi->path = path;
            mpi->soname = soname_of(handle, path);
        } else if (handle) {
            dlclose(handle);
        }
    }
    return mpi->handle ? 0 : -1;
}

void *front_find_tool(const struct front_mpi *mpi, const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    Dl_info info;
    void *handle, *library;

    if (!next || next == dlsym(mpi->handle, name) || !dladdr(next, &info))
        return NULL;
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    library = handle ? own_symbol(handle, "PMPI_Init", info.dli_fname) : NULL;
    if (handle)
        dlclose(handle);
    return library ? NULL : next;
}
