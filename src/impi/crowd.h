/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes of a world run on machines with more processes than
 * processors, where a waiting process must not spin.  All processes of the
 * world reach the same result, because they use the same numbers (X_CPUS).  And
 * how processes on such a machine wait instead.
 */
#ifndef SF_IMPI_CROWD_H
#define SF_IMPI_CROWD_H

#include <stdbool.h>

#include "impi/world.h"

/* Set count[r] for each rank r of the world: how many processes run on its
 * machine.  0, or -1 with errno ENOMEM. */
int impi_crowd_count(const struct impi_world *w, uint32_t *count);

/* For n processes on the machine of one that tells of so many processors; 0: it
 * does not tell, and is not crowded. */
static inline bool impi_crowd_is(uint32_t n, uint32_t processors)
{
    return processors > 0 && n > processors;
}

/* How a process waits for its native library, which offers nothing to sleep on:
 * it polls, yields the processor, and polls again; after a while it sleeps
 * between polls.
 *
 * A process that yields gives up the rest of its time slice (Linux since 6.6).
 * Among hundreds of processes that wake up often and do not yield, each yield
 * costs a time slice per process, and 200 yields take a minute.  So the more
 * processes there are, the longer they sleep. */
struct impi_crowd_wait {
    unsigned rounds; /* looks in a crowd before it sleeps */
    int nap_ms;      /* between looks then, or where nobody crowds */
    /* A process that gets the processor back later than this yielded to one
     * that does not yield itself; sleeping is better then. */
    uint64_t turn_ns;
};

/* For n processes on a machine of so many processors (0: one). */
void impi_crowd_wait(struct impi_crowd_wait *out, uint32_t n,
                     uint32_t processors);

/* All sleeping processes together wake up at most so often per millisecond and
 * processor (but each may wake up once per millisecond on a machine that is not
 * crowded). */
#define IMPI_CROWD_WAKES 16u

#endif
