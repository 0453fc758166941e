/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What changed between two maps of one fabric, as bytes.
 *
 * Maps carry a version: a leader's address and a counter that is never 0.
 * A delta names the versions that it leads from and to, so deltas form a chain.
 * It can be applied only to the map that it starts from; a mapper that misses a
 * link of the chain fetches the whole map.  Nodes are never removed from a map
 * nor renumbered (net/graph.h), so a delta names them by their index:
 *
 *     "SFD1"                     4 bytes
 *     from, to                   address (64), counter (32) of each
 *     nodes before, new nodes    32, 32
 *     cables out, cables in      32, 32
 *     changed ids                32
 *     CRC-32C of the map before  32 (of its net, see net_fingerprint())
 *     each new node              kind 8, ports 8, flags 8 (1: tells its id),
 *                                plane 8, id 64, name: length 16, bytes
 *     each cable out             global port 32 (its lower end)
 *     each cable in              global ports 32, 32
 *     each changed id            node 32, flags 8, id 64
 *
 * All numbers are big-endian.
 */
#ifndef SF_NET_DELTA_H
#define SF_NET_DELTA_H

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "net/graph.h"

struct net_version {
    uint64_t leader;
    uint32_t counter; /* 0: no map */
};

static inline bool net_version_same(struct net_version a, struct net_version b)
{
    return a.leader == b.leader && a.counter == b.counter;
}

/* A number for everything in a net but its names: what two hosts that hold
 * the same map agree on. */
uint32_t net_fingerprint(const struct net *net);

/* Append the delta that turns `before` into `after`, whose first nodes must
 * be those of `before` in the same order with the same ports.  -1 and *err:
 * they are not (send the whole map), or out->bad. */
int net_delta_make(const struct net *before, struct net_version from,
                   const struct net *after, struct net_version to,
                   struct bytebuf *out, struct errbuf *err);

/* Apply a delta to a net that has *version; both become the new ones.  It is
 * tried on a copy first, so nonsense changes nothing.  `gone` and `come` (may
 * be NULL) are called with the ends of each cable when it is out or in: what
 * net_routes_repair() wants to know.  -1 with errno: EBADMSG not a delta or
 * nonsense in it, ESTALE for another map (fetch the whole), ENOMEM (then
 * *version may have become 0: fetch the whole). */
typedef void net_cable_f(void *arg, uint32_t port, uint32_t peer);
int net_delta_apply(struct net *net, struct net_version *version,
                    const uint8_t *bytes, size_t len, net_cable_f *gone,
                    net_cable_f *come, void *arg, struct errbuf *err);

#endif
