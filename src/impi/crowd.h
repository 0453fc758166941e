/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes of a world share their machine with more others than it has
 * processors for: who waits there must not spin.  All processes of the world
 * come to the same, since they look at the same numbers (X_CPUS).
 */
#ifndef SF_IMPI_CROWD_H
#define SF_IMPI_CROWD_H

#include <stdbool.h>

#include "impi/world.h"

/* crowded[r] for each rank r of the world.  Nobody is who does not say how many
 * processors there are.  Returns 0, or -1 with errno ENOMEM. */
int impi_crowd_find(const struct impi_world *w, bool *crowded);

#endif
