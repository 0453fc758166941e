/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes of a world share their machine with more others than it has
 * processors for: who waits there must not spin.  All processes of the world
 * come to the same, since they look at the same numbers (X_CPUS).  And how they
 * wait instead.
 */
#ifndef SF_IMPI_CROWD_H
#define SF_IMPI_CROWD_H

#include <stdbool.h>

#include "impi/world.h"

/* crowded[r] for each rank r of the world.  Nobody is who does not say how many
 * processors there are.  Returns 0, or -1 with errno ENOMEM. */
int impi_crowd_find(const struct impi_world *w, bool *crowded);

/* How a process waits for what only its native library can tell, which is
 * nothing to sleep on: it looks, offers the processor, and looks again; when it
 * has done so for long it sleeps between looks.
 *
 * Those that sleep must leave the processors time.  Who offers his gives up the
 * rest of his time slice (Linux since 6.6); where others wake up all the time
 * and do not, he comes to his turn a slice for each of them later, which with
 * hundreds of processes is a minute in 200 offers.  So the more they are the
 * longer they sleep. */
struct impi_crowd_wait {
    unsigned rounds; /* looks in a crowd before it sleeps */
    int nap_ms;      /* between looks then, or where nobody crowds */
    /* Who comes to his turn again later than this has offered the processor to
     * somebody who does not give way: sleeping is better then. */
    uint64_t turn_ns;
};

/* For n processes on a machine of so many processors (0: one). */
void impi_crowd_wait(struct impi_crowd_wait *out, uint32_t n,
                     uint32_t processors);

/* All who sleep wake up at most so often in a millisecond and processor (but
 * each may, once in a millisecond, where they do not crowd it). */
#define IMPI_CROWD_WAKES 16u

#endif
