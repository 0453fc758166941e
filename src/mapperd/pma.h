/* SPDX-License-Identifier: BSD-3-Clause
 *
 * InfiniBand's performance management: what a port has counted, asked of the
 * LID it is reached by.  PortCounters has errors in 4, 8 and 16 bits, which
 * stay at their end when they are full; PortCountersExtended has them in 64,
 * where the agent says so in its ClassPortInfo.  Layouts: InfiniBand
 * Architecture 1, chapter 16.  Pure functions.
 */
#ifndef SF_MAPPERD_PMA_H
#define SF_MAPPERD_PMA_H

#include <stdbool.h>
#include <stdint.h>

#include "health/tally.h"
#include "mapperd/smp.h"

#define PMA_CLASS 0x04
#define PMA_QKEY 0x80010000u

enum pma_attr {
    PMA_CLASS_INFO = 0x01,
    PMA_COUNTERS = 0x12,
    PMA_COUNTERS_WIDE = 0x1d,
};

struct pma_counters {
    uint64_t value[TALLY_PORT_COUNTERS];
    bool full[TALLY_PORT_COUNTERS]; /* it counts no further */
};

/* A question for the counters of a port, from 1, or for what the agent can. */
void pma_make(uint8_t mad[SMP_SIZE], uint32_t tid, enum pma_attr attr,
              uint8_t port);
/* Begin these counters of PortCounters anew: a bit for each of the rules'
 * counters. */
void pma_make_clear(uint8_t mad[SMP_SIZE], uint32_t tid, uint8_t port,
                    unsigned counters);
/* Is this an answer that says something: to what, and its tid. */
bool pma_parse(const uint8_t mad[SMP_SIZE], enum pma_attr *attr, uint32_t *tid);
/* ClassPortInfo: has PMA_COUNTERS_WIDE the errors? */
bool pma_is_wide(const uint8_t mad[SMP_SIZE]);
/* Of either attribute.  False: of another port. */
bool pma_counters(const uint8_t mad[SMP_SIZE], enum pma_attr attr, uint8_t port,
                  struct pma_counters *counters);

#endif
