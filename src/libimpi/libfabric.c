/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "libimpi/libfabric.h"

#ifdef WITH_FABRIC
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include "base/limits.h"

/* What is asked for: an old one, for the library may be older than the headers.
 */
#define API FI_VERSION(1, 9)
/* Modes of memory that we keep to. */
#define MR_MODE                                                                \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |        \
     FI_MR_ENDPOINT)
/* What nothing else is said to try, in this order, where there is hardware. */
#define ORDER "verbs,cxi,efa,opx,psm3"

static void *symbol(void *library, const char *name, struct errbuf *err)
{
    void *at = dlsym(library, name);

    if (!at)
        errprintf(err, "libfabric.so.1 has no %s", name);
    return at;
}

/* Some providers (verbs) keep memory registered, and to learn that it is
 * unmapped they change mmap(), munmap() and others in the whole process.  A
 * library that only we use shall not: a monitor that cannot be started makes
 * them do without. */
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 13
static int refuse_start(struct fid_mem_monitor *monitor)
{
    return -FI_ENOSYS;
}

static void nothing(struct fid_mem_monitor *monitor)
{
}

static int refuse_memory(struct fid_mem_monitor *monitor, const void *addr,
                         size_t len)
{
    return -FI_ENOSYS;
}

static void forget_memory(struct fid_mem_monitor *monitor, const void *addr,
                          size_t len)
{
}

static bool is_not_valid(struct fid_mem_monitor *monitor, const void *addr,
                         size_t len)
{
    return false;
}

static void keep_no_memory(void *so)
{
    static struct fi_ops_mem_monitor ops = {.size = sizeof(ops),
                                            .start = refuse_start,
                                            .stop = nothing,
                                            .subscribe = refuse_memory,
                                            .unsubscribe = forget_memory,
                                            .valid = is_not_valid};
    static struct fid_mem_monitor monitor = {.fid.fclass = FI_CLASS_MEM_MONITOR,
                                             .export_ops = &ops};
    int (*open)(uint32_t, const char *, void *, size_t, uint64_t, struct fid **,
                void *);
    struct fid *cache;

    *(void **)&open = dlsym(so, "fi_open");
    if (!open ||
        open(FI_VERSION(1, 13), "mr_cache", NULL, 0, 0, &cache, NULL) != 0)
        return;
    fi_import_fid(cache, &monitor.fid, 0);
    fi_close(cache);
}
#else
static void keep_no_memory(void *so)
{
}
#endif

/* The one that the process has, if it has one: its MPI library's.  Else one
 * that nobody else sees. */
int libfabric_find(struct libfabric *lib, struct errbuf *err)
{
    void *so = dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);
    struct link_map *map;

    lib->had = so != NULL;
    if (!so) {
        so = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!so)
            return errprintf(err, "%s", dlerror());
        keep_no_memory(so);
    }
    lib->path = dlinfo(so, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
    *(void **)&lib->dupinfo = symbol(so, "fi_dupinfo", err);
    *(void **)&lib->freeinfo = symbol(so, "fi_freeinfo", err);
    *(void **)&lib->getinfo = symbol(so, "fi_getinfo", err);
    *(void **)&lib->make = symbol(so, "fi_fabric", err);
    *(void **)&lib->strerror = symbol(so, "fi_strerror", err);
    return lib->dupinfo && lib->freeinfo && lib->getinfo && lib->make &&
                   lib->strerror
               ? 0
               : -1;
}

static struct fi_info *make_hints(const struct libfabric *lib,
                                  const char *provider, uint64_t caps)
{
    struct fi_info *hints = lib->dupinfo(NULL);

    if (!hints)
        return NULL;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode = MR_MODE;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = strdup(provider);
    if (hints->fabric_attr->prov_name)
        return hints;
    lib->freeinfo(hints);
    return NULL;
}

/* Does it bind to an address of IP?  Then to the one that other clients are
 * told, which the site has chosen. */
static bool takes_ip(const char *provider)
{
    return strncmp(provider, "tcp", 3) == 0 ||
           strncmp(provider, "net", 3) == 0 ||
           strncmp(provider, "sockets", 7) == 0 ||
           strncmp(provider, "verbs", 5) == 0;
}

static bool is_usable(const struct fi_info *info, size_t msg_max, size_t rx)
{
    return info->ep_attr->max_msg_size >= msg_max && info->tx_attr->size > 0 &&
           info->rx_attr->size >= rx && info->fabric_attr->prov_name &&
           strlen(info->fabric_attr->prov_name) <= SF_FABRIC_NAME_MAX;
}

static int ask(const struct libfabric *lib, const char *provider,
               const struct netaddr *own, uint64_t caps, uint64_t flags,
               struct fi_info **all)
{
    struct fi_info *hints = make_hints(lib, provider, caps);
    char ip[NETADDR_IP_MAX];
    int rc;

    if (!hints)
        return -FI_ENOMEM;
    hints->tx_attr->op_flags = flags;
    netaddr_print_ip(ip, &own->ip);
    rc = lib->getinfo(API, takes_ip(provider) ? ip : NULL, NULL,
                      takes_ip(provider) ? FI_SOURCE : 0, hints, all);
    lib->freeinfo(hints);
    return rc;
}

struct fi_info *libfabric_ask(const struct libfabric *lib, const char *provider,
                              const struct netaddr *own, size_t msg_max,
                              size_t rx, struct errbuf *err)
{
    struct fi_info *all = NULL, *info = NULL, *i;
    int rc = ask(lib, provider, own, FI_MSG | FI_RMA, 0, &all);

    if (rc < 0)
        rc = ask(lib, provider, own, FI_MSG, 0, &all);
    if (rc == 0) {
        for (i = all; i && !is_usable(i, msg_max, rx); i = i->next)
            ;
        info = i ? lib->dupinfo(i) : NULL;
        lib->freeinfo(all);
        rc = -FI_ENODATA;
    }
    if (!info)
        errprintf(err, "%s: %s", provider, lib->strerror(-rc));
    return info;
}

bool libfabric_delivers(const struct libfabric *lib, const char *provider,
                        const struct netaddr *own)
{
    struct fi_info *all = NULL;
    int rc =
        ask(lib, provider, own, FI_MSG | FI_RMA, FI_DELIVERY_COMPLETE, &all);

    if (rc == 0)
        lib->freeinfo(all);
    return rc == 0;
}

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    bool any = false;
    struct dirent *e;

    while (dir && !any && (e = readdir(dir)))
        any = e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return any;
}

/* Without such a device no provider of ORDER has anything, and loading the
 * library would cost each program some milliseconds. */
static bool has_hardware(void)
{
    return has_entries("/sys/class/infiniband") ||
           has_entries("/sys/class/cxi");
}

const char *libfabric_wanted(void)
{
    const char *order = getenv("IMPI_FABRIC");

    if (!order || !*order)
        order = getenv("IMPI_SITE_FABRIC");
    if (!order || !*order || strcmp(order, "auto") == 0)
        order = has_hardware() ? ORDER : "none";
    return strcmp(order, "none") == 0 ? NULL : order;
}

#endif
