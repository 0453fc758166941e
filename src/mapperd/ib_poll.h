/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks all ports of a map how they are: switches' and hosts', each by the
 * shortest path of the map, many at a time; or for what they have counted. What
 * does not answer is asked again a few times.
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

struct ib_ask {
    uint32_t node; /* of the map */
    uint8_t port;  /* from 1; 0: a switch itself */
    uint16_t lid;  /* not 0: its counters are asked for, by this LID */
    bool answered;
    struct smp_port_info info;    /* lid 0 */
    struct pma_counters counters; /* else */
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
