/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a sweep over an InfiniBand fabric asks: each port how it is; each that
 * carries traffic what it has counted, in 64 bits where its agent offers that,
 * which each node is asked once; and some blocks of the switches' forwarding
 * tables, so that in the course of some sweeps all are known.  Counters are
 * cleared only when that is wanted, and then only those that are full.
 */
#ifndef SF_MAPPERD_IB_SWEEP_H
#define SF_MAPPERD_IB_SWEEP_H

#include "mapperd/ib_poll.h"

#define IB_ROUTES_EACH 512 /* blocks of forwarding tables in a sweep */
/* All are asked again after so long at the earliest. */
#define IB_ROUTES_NS 60000000000ULL

struct ib_agent;

/* All zero but for the first three; ib_sweep_free() ends it. */
struct ib_sweep {
    struct ib_port *io;
    unsigned window;
    bool clear_full;
    /* The answers of the last sweep. */
    struct ib_poll ports, counters, routes;
    struct ib_poll_stats ports_stats, counters_stats, routes_stats;
    uint64_t mads;  /* since the beginning */
    uint64_t swept; /* in the last sweep */
    /* Its own. */
    struct ib_agent *agents;
    uint32_t next_switch;
    unsigned next_block;
    uint64_t routes_since;
};

/* The map is this one from now on, and stays until the next; node `me` is our
 * own host.  port_of: what a host's port is called, from 1.  -1: no memory. */
typedef uint8_t ib_sweep_port_f(uint32_t node, void *arg);
int ib_sweep_map(struct ib_sweep *sweep, const struct net *map, uint32_t me,
                 ib_sweep_port_f *port_of, void *arg);
/* In this order; time in ns of a steady clock.  -1: no memory. */
int ib_sweep_ports(struct ib_sweep *sweep);
int ib_sweep_counters(struct ib_sweep *sweep);
int ib_sweep_routes(struct ib_sweep *sweep, uint64_t now);
void ib_sweep_free(struct ib_sweep *sweep);

#endif
