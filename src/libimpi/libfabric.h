/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library libfabric, found at run time, and which provider of it to use.
 * Only what it exports by name is looked up; all else goes through its objects.
 */
#ifndef LIBIMPI_LIBFABRIC_H
#define LIBIMPI_LIBFABRIC_H

/* A kit (impi-backend) is compiled where the site has its MPI library: without
 * the headers there the back end does without. */
#if defined(__has_include) && !defined(SF_NO_FABRIC)
#if __has_include(<rdma/fi_endpoint.h>)
#define WITH_FABRIC 1
#endif
#endif

#ifdef WITH_FABRIC
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "base/errbuf.h"
#include "base/netaddr.h"

struct libfabric {
    struct fi_info *(*dupinfo)(const struct fi_info *);
    void (*freeinfo)(struct fi_info *);
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t,
                   const struct fi_info *, struct fi_info **);
    int (*make)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    const char *(*strerror)(int);
    const char *path;
    bool had; /* the process had it before */
};

/* The user's word, else the site's, else what hardware there is: names of
 * providers with commas, in order.  NULL: none is wanted. */
const char *libfabric_wanted(void);

/* 0, or -1: there is none. */
int libfabric_find(struct libfabric *lib, struct errbuf *err);

/* Endpoints of this provider for a process with that address (host's part):
 * messages of msg_max bytes, rx of them posted, and memory of peers to be read
 * if it can.  The caller frees it with lib->freeinfo().  NULL: there are none.
 */
struct fi_info *libfabric_ask(const struct libfabric *lib, const char *provider,
                              const struct netaddr *own, size_t msg_max,
                              size_t rx, struct errbuf *err);
/* Does it tell when what was written is in the peer's memory? */
bool libfabric_delivers(const struct libfabric *lib, const char *provider,
                        const struct netaddr *own);

#endif
#endif
