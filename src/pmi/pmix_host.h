/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Glue around libpmix's server API: serves the processes of a node whose
 * library starts by PMIx: Open MPI, and an MPICH that was built for it.
 * Every client and generation is a namespace of its own.  Compiled into the
 * module impid_pmix.so, which alone needs libpmix and is opened when the
 * first such process shows up; its one symbol is `pmix_host_api`.
 *
 * libpmix calls back on a thread of its own.  There an event is queued and
 * ops->wake called; the owner's loop then calls dispatch(), which calls the
 * other ops and completes every callback on the owner's thread.  All calls
 * of this interface belong on that one thread.  libpmix has process-wide
 * state: there is one server per process.
 *
 * Source: PMIx 4 server interface.
 */
#ifndef SF_PMI_PMIX_HOST_H
#define SF_PMI_PMIX_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

/* A fence that all local participants have entered.  Complete it with
 * fence_done(), also when the job ends. */
struct pmix_host_fence;

struct pmix_host_ops {
    /* From libpmix's thread: have dispatch() called soon. */
    void (*wake)(void *arg);
    void (*connected)(void *arg, const char *nspace, uint32_t rank);
    void (*finalized)(void *arg, const char *nspace, uint32_t rank);
    void (*abort)(void *arg, const char *nspace, uint32_t rank, int code,
                  const char *text);
    /* ranks: the participants in ascending order, or NULL with nranks 0 for
     * all of the namespace.  Everything is valid in the call only, but the
     * fence itself. */
    void (*fence)(void *arg, struct pmix_host_fence *fence, const char *nspace,
                  const uint32_t *ranks, size_t nranks, const void *blob,
                  size_t len);
};

/* One namespace: a client in a generation, as seen from this node. */
struct pmix_host_nspace {
    const char *name;
    const char *dir; /* exists; Open MPI empties it */
    uint32_t size;   /* processes on all nodes */
    uint32_t nhosts;
    const char *const *host_names; /* by host */
    const uint32_t *rank_host;     /* of each rank: 0..nhosts-1 */
    uint32_t host;                 /* this node's */
    uint32_t universe;
    uint32_t appnum; /* the client's component */
};

#define PMIX_HOST_API_VERSION 1

struct pmix_host_api {
    uint32_t version; /* PMIX_HOST_API_VERSION */

    /* Start the server.  dir: an existing directory for libpmix's files.
     * Returns 0, or -1 with text. */
    int (*start)(const char *dir, const char *hostname,
                 const struct pmix_host_ops *ops, void *arg,
                 struct errbuf *err);
    void (*stop)(void);

    /* Make a namespace known.  Returns 0, or -1 with text. */
    int (*add_nspace)(const struct pmix_host_nspace *ns, struct errbuf *err);
    void (*remove_nspace)(const char *name);

    /* Make a process of this node known and give the variables it needs,
     * NULL terminated; free with free_env().  NULL with text on failure. */
    char **(*add_process)(const char *nspace, uint32_t rank, uid_t uid,
                          gid_t gid, struct errbuf *err);
    void (*free_env)(char **env);
    /* The process is gone. */
    void (*remove_process)(const char *nspace, uint32_t rank);

    /* The concatenation of all hosts' blobs; ok false fails the fence. */
    void (*fence_done)(struct pmix_host_fence *fence, const void *blob,
                       size_t len, bool ok);

    /* Handle what libpmix's thread queued. */
    void (*dispatch)(void);
};

#endif
