/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the user is told that this process has lost another one, which ends the
 * job (SF-E402, E407, E408): who it was and where, why, and what this process
 * was waiting for.  The loss of a process of another world ends nothing
 * (foreign.h).
 */
#ifndef LIBIMPI_LOSS_H
#define LIBIMPI_LOSS_H

#include <stdint.h>

/* Its connection has ended without taking leave. */
__attribute__((noreturn)) void loss_of_peer(uint32_t peer, const char *why);

/* The same of impid's, behind which all other clients are. */
__attribute__((noreturn)) void loss_of_relay(const char *why);

/* It could not be reached at all: names both ends of the way, which the user
 * may mend. */
__attribute__((noreturn)) void loss_unreachable(uint32_t peer, const char *why);

/* A process of this machine has died that had, or was changing, what others of
 * a window wait for.  did: "had a lock of", of: rank in the world. */
__attribute__((noreturn)) void loss_in_window(uint32_t rank, const char *did,
                                              uint32_t of, const char *window);

/* It sent what IMPI does not allow.  Returns only where it is of another world:
 * the user has been told, and its loss ends nothing. */
void loss_by_breach(uint32_t peer);

#endif
