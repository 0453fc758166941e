/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Software crossbars: the fabric of a struct net, through which packets (see
 * net/packet.h and doc/swfab.md) go as through hardware.  A packet
 * crosses all its hops in one call and nothing takes time; simulations put a
 * clock of their own round it.
 *
 * Nodes are named by their index in the net, ports by node and number or by
 * the net's global port index.  The fabric keeps no pointer into the net:
 * cables that are changed here do not change there.  Everything is
 * deterministic for a given seed.
 */
#ifndef SF_SWFAB_SWFAB_H
#define SF_SWFAB_SWFAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/graph.h"
#include "net/packet.h"

/* What becomes of a packet, with the port at which it is counted. */
enum swfab_fate {
    SWFAB_DELIVERED,  /* host's port */
    SWFAB_NO_ROUTE,   /* route ran out in a crossbar: port it came in by */
    SWFAB_ROUTE_LEFT, /* reached a host with route left: host's port */
    SWFAB_BAD_ROUTE,  /* route byte with bit 6 set: port it came in by */
    SWFAB_PORT_RANGE, /* no such port: port it came in by */
    SWFAB_NO_CABLE,   /* nothing plugged in: port it was to leave by */
    SWFAB_LINK_DOWN,  /* link is dead: port it was to leave by */
    SWFAB_XBAR_DEAD,  /* port of the dead crossbar that it came to */
    SWFAB_HOST_MUTE,  /* host that is to be silent: host's port */
    SWFAB_LOST,       /* loss injected: port it left by */
    SWFAB_BLOCKED,    /* head waited too long (timed): port it waited for */
    SWFAB_BAD_SIZE,   /* too short or too long: host's port */
    SWFAB_NO_HOST,    /* nobody is attached there (swfabd): host's port */
    SWFAB_FULL,       /* host does not take its packets (swfabd): host's port */
    SWFAB_CORRUPTED,  /* no fate, a counter: bit flipped, port it left by */
    SWFAB_NCOUNTERS
};

/* "delivered", "no-route" ...; NULL beyond. */
const char *swfab_fate_name(enum swfab_fate fate);

struct swfab;

struct swfab *swfab_new(const struct net *net); /* NULL: ENOMEM */
void swfab_free(struct swfab *fab);

/* ---- packets ---- */

struct swfab_arrival {
    enum swfab_fate fate;
    uint32_t port; /* where it was counted, global port index */
    uint32_t node; /* whose port that is; the receiver when delivered */
    unsigned hops; /* crossbars it went through */
    /* Delivered: the packet as it arrives (begins with its type); lives until
     * the next call with this fabric. */
    const uint8_t *packet;
    size_t len;
};

/* Send packet[0..len) from a host.  True when it was delivered. */
bool swfab_send(struct swfab *fab, uint32_t host, const void *packet,
                size_t len, struct swfab_arrival *out);

/* ---- faults ---- */

/* A cable between two ports, from either end: pull it out half way (both
 * directions dead) and put it back, or change what is plugged where.  False
 * when there is no such port, cable, or a port is taken. */
bool swfab_set_link(struct swfab *fab, uint32_t node, unsigned port, bool up);
bool swfab_connect(struct swfab *fab, uint32_t a, unsigned port_a, uint32_t b,
                   unsigned port_b);
bool swfab_disconnect(struct swfab *fab, uint32_t node, unsigned port);

/* A crossbar that swallows what reaches it; a host that hears everything and
 * whose own packets vanish.  False when the node is of the other kind. */
bool swfab_set_xbar_dead(struct swfab *fab, uint32_t xbar, bool dead);
bool swfab_set_host_mute(struct swfab *fab, uint32_t host, bool mute);
bool swfab_host_is_mute(const struct swfab *fab, uint32_t host);

/* Probability (0..1) that a packet is lost, or gets one bit flipped, on the
 * cable of a port, in both directions.  False: no cable, ENOMEM. */
bool swfab_set_loss(struct swfab *fab, uint32_t node, unsigned port, double p);
bool swfab_set_corruption(struct swfab *fab, uint32_t node, unsigned port,
                          double p);
/* The same for every cable of the fabric. */
bool swfab_set_loss_all(struct swfab *fab, double p);
bool swfab_set_corruption_all(struct swfab *fab, double p);

/* What loss, corruption and random faults are drawn from; 1 at first. */
void swfab_seed(struct swfab *fab, uint64_t seed);

/* State of a port's link: cable there, both ends alive. */
bool swfab_link_is_up(const struct swfab *fab, uint32_t node, unsigned port);
/* Port at the other end, global index, or NET_NONE without a cable. */
uint32_t swfab_peer(const struct swfab *fab, uint32_t node, unsigned port);

/* ---- counters ---- */

uint64_t swfab_count(const struct swfab *fab, uint32_t port,
                     enum swfab_fate cause);
/* Packets that left by a port. */
uint64_t swfab_passed(const struct swfab *fab, uint32_t port);
uint64_t swfab_total(const struct swfab *fab, enum swfab_fate cause);
/* Count a packet that the caller dropped for a cause of its own (NO_HOST, FULL,
 * BLOCKED). */
void swfab_count_up(struct swfab *fab, uint32_t port, enum swfab_fate cause);
void swfab_clear_counters(struct swfab *fab);

uint32_t swfab_nnodes(const struct swfab *fab);
uint32_t swfab_nports(const struct swfab *fab); /* of all nodes together */
uint32_t swfab_node_of(const struct swfab *fab, uint32_t port);
/* Global index of a node's port; NET_NONE when there is none. */
uint32_t swfab_port_index(const struct swfab *fab, uint32_t node,
                          unsigned port);
bool swfab_is_host(const struct swfab *fab, uint32_t node);

#endif
