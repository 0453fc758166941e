/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hwloc is looked for at run time: a node has it where its MPI libraries use
 * it, and where it is missing every process looks for itself, as ever.
 */
#include "impid/impid_topology.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* hwloc 2.x; the names are its API's (hwloc.h). */
#define HWLOC_SONAME "libhwloc.so.15"
#define INCLUDE_DISALLOWED (1UL << 0) /* HWLOC_TOPOLOGY_FLAG_* */
#define KEEP_ALL 0                    /* HWLOC_TYPE_FILTER_* */

struct hwloc {
    int (*init)(void **topology);
    int (*set_flags)(void *topology, unsigned long flags);
    int (*set_all_types_filter)(void *topology, int filter);
    int (*load)(void *topology);
    int (*export_xmlbuffer)(void *topology, char **xml, int *len,
                            unsigned long flags);
    void (*free_xmlbuffer)(void *topology, char *xml);
    void (*destroy)(void *topology);
};

static int hwloc_open(struct hwloc *h)
{
    const struct {
        const char *name;
        void *into;
    } wanted[] = {
        {"hwloc_topology_init", &h->init},
        {"hwloc_topology_set_flags", &h->set_flags},
        {"hwloc_topology_set_all_types_filter", &h->set_all_types_filter},
        {"hwloc_topology_load", &h->load},
        {"hwloc_topology_export_xmlbuffer", &h->export_xmlbuffer},
        {"hwloc_free_xmlbuffer", &h->free_xmlbuffer},
        {"hwloc_topology_destroy", &h->destroy},
    };
    void *lib = dlopen(HWLOC_SONAME, RTLD_NOW | RTLD_LOCAL);

    errno = ENOENT;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *f = lib ? dlsym(lib, wanted[i].name) : NULL;

        if (!f)
            return -1;
        *(void **)wanted[i].into = f;
    }
    return 0;
}

static int write_new(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = write(fd, text, len);
    close(fd);
    if (n == (ssize_t)len)
        return 0;
    unlink(path);
    errno = n < 0 ? errno : ENOSPC;
    return -1;
}

/* All that any of the libraries may want to see; which processors are allowed,
 * which differs between tasks and impid, each asks the kernel by itself. */
static int look(const struct hwloc *h, void *topology)
{
    h->set_all_types_filter(topology, KEEP_ALL);
    return h->set_flags(topology, INCLUDE_DISALLOWED) < 0 ||
                   h->load(topology) < 0
               ? -1
               : 0;
}

int impid_topology_write(const char *path)
{
    void *topology;
    struct hwloc h;
    char *xml;
    int len, rc = -1;

    if (hwloc_open(&h) < 0)
        return -1;
    errno = EIO;
    if (h.init(&topology) < 0)
        return -1;
    if (look(&h, topology) == 0 &&
        h.export_xmlbuffer(topology, &xml, &len, 0) == 0) {
        /* the last byte is the NUL */
        rc = write_new(path, xml, len > 0 ? (size_t)len - 1 : 0);
        h.free_xmlbuffer(topology, xml);
    }
    h.destroy(topology);
    return rc;
}
