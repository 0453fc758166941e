/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks many questions of the nodes of a map, many at a time: how a port is, and
 * what a switch's routes are, by the shortest path of the map; what a port has
 * counted, by its LID.  What does not answer is asked again a few times.
 */
#ifndef SF_MAPPERD_IB_POLL_H
#define SF_MAPPERD_IB_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mapperd/ib_port.h"
#include "mapperd/pma.h"
#include "mapperd/smp.h"
#include "net/graph.h"

enum ib_what {
    IB_PORT,          /* how it is */
    IB_ROUTES,        /* a block of a switch's forwarding table */
    IB_COUNTERS,      /* what it has counted */
    IB_COUNTERS_WIDE, /* ... in 64 bits */
    IB_CAN,           /* has the node IB_COUNTERS_WIDE? */
    IB_CLEAR,         /* begin counters anew */
};

struct ib_ask {
    enum ib_what what;
    uint32_t node; /* of the map */
    uint8_t port;  /* from 1; 0: a switch itself */
    uint16_t lid;  /* from IB_COUNTERS on: where it is asked */
    uint16_t of;   /* IB_ROUTES: the block; IB_CLEAR: a bit for each */
    bool answered;
    bool refused; /* an answer, that it has no such thing */
    union {
        struct smp_port_info info;
        uint8_t routes[SMP_BLOCK];
        struct pma_counters counters;
        bool wide; /* IB_CAN */
    };
};

struct ib_poll {
    struct ib_port *io;
    const struct net *map;
    uint32_t me; /* our own host in it */
    unsigned window;
    struct ib_ask *asks;
    size_t n;
};

struct ib_poll_stats {
    uint64_t mads, silent;
};

/* Fill in what each port answers.  -1: no memory. */
int ib_poll_run(struct ib_poll *poll, struct ib_poll_stats *stats);

#endif
