/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Management agents of a simulated InfiniBand fabric, in the place of libibumad
 * and within the test: switches' and adapters' ports, forwarding tables, and
 * performance management with PortCounters that stay full at their end and,
 * where it offers that, PortCountersExtended.  Answers may be lost, come twice,
 * or be whatever a test makes of them.
 */
#ifndef TESTS_UNIT_UMAD_SIM_H
#define TESTS_UNIT_UMAD_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "health/tally.h"
#include "net/graph.h"

#define UMAD_SIM_NODES 16
#define UMAD_SIM_PORTS 16 /* of a node */

struct umad_sim {
    const struct net *map; /* node 0 asks; LIDs are 1 + the node's number */
    struct {
        bool extended, errors; /* what its performance management offers */
        bool has_no_info;      /* it refuses ClassPortInfo */
        uint64_t counted[UMAD_SIM_PORTS][TALLY_PORT_COUNTERS];
        uint8_t routes[64]; /* of its only block */
        bool dead;
    } node[UMAD_SIM_NODES];
    unsigned lose; /* so many of the next questions are not answered */
    /* Changes an answer; NULL: none. */
    void (*spoil)(uint8_t *mad, void *arg);
    void *arg;
    /* What was asked. */
    unsigned asked, most_in_flight;
    unsigned gets, sets;        /* to performance management */
    unsigned class_infos, wide; /* of those */
    uint16_t last_select;       /* CounterSelect of the last Set */
};

/* The one that libibumad's functions are answered by. */
extern struct umad_sim *umad_sim;

#endif
