/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the software crossbars.  A packet at a crossbar port knows that
 * port's number and the size of the crossbar from the cell of the cable that
 * it came over; so a hop costs one load that depends on the one before: the
 * cell of the port it leaves by.
 */
#ifndef SF_SWFAB_PRIV_H
#define SF_SWFAB_PRIV_H

#include "net/rng.h"
#include "swfab/swfab.h"
#include "swfab/walk.h"

/* Bits of swfab_cell.state; 0 is the ordinary case: a live cable to another
 * crossbar. */
enum {
    CELL_NO_CABLE = 1,
    CELL_DOWN = 2,
    CELL_PEER_DEAD = 4,
    CELL_LOSSY = 8,     /* loss or corruption */
    CELL_TO_HOST = 16,  /* no crossbar at the other end */
    CELL_TO_TRUNK = 32, /* and not even a host */
    CELL_USUAL = CELL_TO_HOST | CELL_TO_TRUNK,
};

/* A port, as seen by what leaves by it. */
struct swfab_cell {
    uint32_t peer;       /* global index of the port at the other end */
    uint8_t peer_number; /* that port's number on its node */
    uint8_t peer_nports; /* ports of that node */
    uint8_t state;
    uint8_t unused;
    uint64_t passed; /* packets */
};

_Static_assert(sizeof(struct swfab_cell) == 16, "four cells in a cache line");

struct swfab_node {
    uint64_t id;
    uint32_t first;
    uint8_t nports;
    bool is_host, has_id;
    bool is_trunk; /* host: a cable to another fabric */
    bool off;      /* crossbar: dead; host: mute */
};

struct swfab {
    struct swfab_cell *cells;
    uint32_t *node_of; /* by port */
    struct swfab_node *nodes;
    uint32_t nnodes, nports;
    double *loss, *corruption; /* by port; NULL: none anywhere */
    uint64_t *counts;          /* SWFAB_NCOUNTERS by port */
    uint64_t totals[SWFAB_NCOUNTERS];
    struct net_rng rng;
    uint8_t sent[NET_PACKET_MAX + NET_TAGS_MAX * NET_TAG_SIZE];
};

/* Where a head is: it has come in by this port. */
struct swfab_place {
    uint32_t port;
    uint8_t number, nports;
    bool at_host, at_trunk;
};

/* What keeps a packet from crossing the cable of a port whose state is not
 * ordinary, or SWFAB_DELIVERED; counts nothing. */
enum swfab_fate swfab_cross_special(struct swfab *fab, uint32_t port,
                                    struct swfab_walk *w);

static inline uint32_t swfab_counted_at(const struct swfab *fab,
                                        enum swfab_fate fate, uint32_t port)
{
    return fate == SWFAB_XBAR_DEAD ? fab->cells[port].peer : port;
}

/* Cross the cable of `port`; *at is where it leads. */
static inline enum swfab_fate swfab_cross(struct swfab *fab, uint32_t port,
                                          struct swfab_walk *w,
                                          struct swfab_place *at)
{
    struct swfab_cell *cell = &fab->cells[port];

    if (__builtin_expect(cell->state & ~CELL_USUAL, 0)) {
        enum swfab_fate fate = swfab_cross_special(fab, port, w);

        if (fate != SWFAB_DELIVERED) {
            w->port = swfab_counted_at(fab, fate, port);
            return fate;
        }
    }
    cell->passed++;
    at->port = cell->peer;
    at->number = cell->peer_number;
    at->nports = cell->peer_nports;
    at->at_host = cell->state & CELL_TO_HOST;
    at->at_trunk = cell->state & CELL_TO_TRUNK;
    return SWFAB_DELIVERED;
}

/* Remember that a packet turned round at this port. */
static inline void swfab_turned(const struct swfab *fab, uint32_t port,
                                struct swfab_walk *w)
{
    if (fab->nodes[fab->node_of[port]].has_id && w->nturns < NET_TAGS_MAX)
        w->turn[w->nturns++] = port;
}

/* In a crossbar: read and strip the route byte; *out is the port to leave by.
 */
static inline enum swfab_fate swfab_turn(struct swfab *fab,
                                         const struct swfab_place *at,
                                         struct swfab_walk *w, uint32_t *out)
{
    uint8_t byte = w->head[w->stripped];
    int delta = net_route_delta(byte);

    w->port = at->port;
    if (!net_byte_is_route(byte))
        return SWFAB_NO_ROUTE;
    if (!net_route_byte_valid(byte))
        return SWFAB_BAD_ROUTE;
    if ((unsigned)(at->number + delta) >= at->nports)
        return SWFAB_PORT_RANGE;
    if (w->stripped == NET_WIRE_ROUTE_MAX)
        return SWFAB_BAD_SIZE;
    if (delta == 0)
        swfab_turned(fab, at->port, w);
    w->stripped++;
    *out = at->port + (uint32_t)delta;
    return SWFAB_DELIVERED;
}

/* What a host makes of what arrives at its port. */
enum swfab_fate swfab_arrive(const struct swfab_place *at,
                             struct swfab_walk *w);

/* The first step: what a host's interface does with a packet. */
enum swfab_fate swfab_leave(const struct swfab *fab, uint32_t host,
                            struct swfab_walk *w);

#endif
