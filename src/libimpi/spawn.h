/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The children of MPI_Comm_spawn; the call itself is in spawn.c.
 */
#ifndef LIBIMPI_SPAWN_H
#define LIBIMPI_SPAWN_H

/* In MPI_Init of a process that another world has spawned: meet that world.
 * Ends the job when it cannot. */
void spawn_meet_parent(void);

#endif
