/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric: nodes (hosts, that is one NIC each, and crossbars) and the cables
 * between their ports.
 *
 * Everything lies in two flat arrays and is named by 32-bit indexes: node n
 * has ports[nodes[n].first .. nodes[n].first + nodes[n].nports), and a port
 * names its peer by its own global index, so following a cable is one load.
 * Nodes are never removed and never renumbered: whatever stands beside a net
 * (routes, counters) may be an array of the same indexes.  A node that is to
 * go loses its cables; a net without it is a new net.
 *
 * A host has one port, 0.  Ports count from 0 everywhere; InfiniBand's port p
 * is our p - 1.
 *
 * Functions that can run out of memory or into a limit return NET_NONE, NULL
 * or false, with errno ENOMEM or EOVERFLOW, and change nothing.
 */
#ifndef SF_NET_GRAPH_H
#define SF_NET_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define NET_NONE UINT32_MAX

enum net_kind { NET_HOST = 0, NET_XBAR = 1 };

struct net_node {
    enum net_kind kind;
    uint8_t nports;
    uint8_t has_id; /* crossbar that answers a probe with its id */
    uint8_t plane;  /* which of several separate fabrics; 0 if only one */
    uint32_t first; /* index of its port 0 */
    uint64_t id;    /* host: 48-bit board address; crossbar: id; 0 = none */
    char *name;     /* never NULL, may be ""; owned by the net */
};

struct net_port {
    uint32_t peer; /* index of the port at the other end, or NET_NONE */
    uint32_t node; /* whose port this is */
};

/* Finds nodes by a hash; entries are checked against the node when read. */
struct net_index {
    uint32_t *slots; /* node or NET_NONE */
    uint32_t mask;   /* slots - 1; slots is 0 or a power of two */
    uint32_t used;
};

struct net {
    struct net_node *nodes;
    struct net_port *ports;
    uint32_t nnodes, nports; /* in use */
    uint32_t nhosts, nxbars; /* nnodes together */
    uint32_t ncables;
    unsigned first_port; /* what a crossbar's first one is called: 0, by
                            InfiniBand 1 */
    uint32_t cap_nodes, cap_ports;
    struct net_index by_name, by_host, by_xbar;
};

struct net *net_new(void);
void net_free(struct net *net);
struct net *net_copy(const struct net *net);

/* Add a node without cables; its index.  The name is copied.  Two nodes may
 * carry the same name or id (a found map can show just that): lookups give
 * the first, readers of files refuse the second. */
uint32_t net_add_host(struct net *net, const char *name, uint64_t address);
uint32_t net_add_xbar(struct net *net, const char *name, unsigned nports,
                      uint64_t id);

/* Give a node another name or id.  Indexes keep finding it. */
bool net_set_name(struct net *net, uint32_t node, const char *name);
bool net_set_id(struct net *net, uint32_t node, uint64_t id);

/* Put a cable between two free ports.  False when one of them does not exist
 * or already has a cable, or when both are the same port. */
bool net_connect(struct net *net, uint32_t a, unsigned port_a, uint32_t b,
                 unsigned port_b);

/* Take the cable out of a port (both its ends).  Nothing there: nothing. */
void net_disconnect(struct net *net, uint32_t node, unsigned port);
void net_disconnect_all(struct net *net, uint32_t node);

/* The node and the node's own port at the other end; NET_NONE when the port
 * does not exist or has no cable. */
uint32_t net_peer_node(const struct net *net, uint32_t node, unsigned port);
uint32_t net_peer_port(const struct net *net, uint32_t node, unsigned port);

/* Lookups; NET_NONE when there is none.  Id 0 and name "" are not looked up. */
uint32_t net_find_name(const struct net *net, const char *name);
uint32_t net_find_host(const struct net *net, uint64_t address);
uint32_t net_find_xbar(const struct net *net, uint64_t id);

static inline bool net_is_host(const struct net *net, uint32_t node)
{
    return net->nodes[node].kind == NET_HOST;
}

/* Port of a node that a global port index names. */
static inline unsigned net_port_number(const struct net *net, uint32_t port)
{
    return port - net->nodes[net->ports[port].node].first;
}

/* What it is called in reports, and on the switch. */
static inline unsigned net_port_called(const struct net *net, uint32_t port)
{
    return net_port_number(net, port) +
           (net_is_host(net, net->ports[port].node) ? 0 : net->first_port);
}

#endif
