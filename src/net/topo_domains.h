/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Domains of nodes that are nearer to each other than the fabric's cables say,
 * as those that NVLink joins: a text with a line for each,
 *
 *     # comment
 *     NAME NODES              rack1 gb[0-17]
 *
 * where NODES is a list of host names (base/host_names.h).  A node is in one
 * domain at most.  topology.yaml's blocks are these then, not the leaves.
 */
#ifndef SF_NET_TOPO_DOMAINS_H
#define SF_NET_TOPO_DOMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

struct net_domain {
    char name[SF_DOMAIN_NAME_MAX];
    char **node; /* [n] */
    uint32_t n;
};

struct net_domains {
    struct net_domain *list;
    uint32_t n;
};

/* NULL with errno and "WHERE:LINE: what is wrong": EINVAL, ENOMEM; E2BIG more
 * than SF_DOMAINS_MAX domains or SF_HOST_NAMES_MAX nodes. */
struct net_domains *net_domains_parse(const char *where, const char *text,
                                      size_t len, struct errbuf *err);
void net_domains_free(struct net_domains *d);

#endif
