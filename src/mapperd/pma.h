/* SPDX-License-Identifier: BSD-3-Clause
 *
 * InfiniBand's performance management: what a port has counted, asked of the
 * LID it is reached by.  Counters are read and never cleared.  Layouts:
 * InfiniBand Architecture 1, chapter 16.  Pure functions.
 */
#ifndef SF_MAPPERD_PMA_H
#define SF_MAPPERD_PMA_H

#include <stdbool.h>
#include <stdint.h>

#include "health/tally.h"
#include "mapperd/smp.h"

#define PMA_CLASS 0x04
#define PMA_QKEY 0x80010000u

struct pma_counters {
    uint64_t value[TALLY_PORT_COUNTERS];
    bool full[TALLY_PORT_COUNTERS]; /* it counts no further */
};

/* A question for the counters of a port, from 1. */
void pma_make(uint8_t mad[SMP_SIZE], uint32_t tid, uint8_t port);
/* Is this an answer to one: its tid. */
bool pma_parse(const uint8_t mad[SMP_SIZE], uint32_t *tid);
/* False: of another port. */
bool pma_counters(const uint8_t mad[SMP_SIZE], uint8_t port,
                  struct pma_counters *counters);

#endif
