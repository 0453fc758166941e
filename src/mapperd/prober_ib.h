/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapper for InfiniBand, read-only: it asks with directed-route packets
 * (smp.h) through libibumad and changes nothing, beside any subnet manager.
 * Switches tell their GUID, so the map is exact by itself; hosts are the
 * ports of channel adapters, by port GUID; names are those of the node
 * descriptions.
 */
#ifndef SF_MAPPERD_PROBER_IB_H
#define SF_MAPPERD_PROBER_IB_H

#include "base/errbuf.h"
#include "mapperd/ib_port.h"
#include "net/graph.h"

struct prober_ib {
    struct ib_port *io; /* to ask by; NULL: one of its own: */
    const char *ca;     /* NULL: the first */
    int port;           /* 0: its first active port */
    unsigned window;    /* questions in flight; 0: 8 */
    /* What was not reached, a port in a line; at most some dozen. */
    void (*missing)(const char *text, void *arg);
    /* Each host of the map, a port of an adapter: by its description.  May be
     * NULL; device may be "". */
    void (*host)(uint64_t guid, const char *node, const char *device,
                 unsigned port, void *arg);
    void *arg;
};

struct prober_ib_stats {
    uint64_t mads, unanswered;
    unsigned missing; /* ports behind which something is that is not mapped */
    double seconds, cpu;
};

/* Map the fabric once.  NULL and *err: no adapter, no permission, nothing
 * answers.  stats may be NULL. */
struct net *prober_ib_map(const struct prober_ib *ib,
                          struct prober_ib_stats *stats, struct errbuf *err);

#endif
