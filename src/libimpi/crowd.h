/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Are there more processes on this machine than processors?  Then none may
 * spin, and collective calls are flat (doc/impi-extensions.md).
 */
#ifndef LIBIMPI_CROWD_H
#define LIBIMPI_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/* How many processors this process and its neighbours may use, to tell the
 * other processes.  After agent_connect(). */
uint16_t crowd_cpus_to_tell(void);

/* The world is known: set impi_be.crowded, crowd_wait and flat. */
void crowd_look(void);

/* Where flat: the process with this rank in the world is on such a machine. */
bool crowd_is(int rank);

#endif
