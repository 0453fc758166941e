/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIBIMPI_SPAWN_H
#define LIBIMPI_SPAWN_H

/* In MPI_Init of a process that another world has spawned: meet that world.
 * Ends the job when it cannot. */
void spawn_meet_parent(void);

#endif
