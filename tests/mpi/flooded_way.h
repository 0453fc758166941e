/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_MPI_FLOODED_WAY_H
#define TEST_MPI_FLOODED_WAY_H

#include <stdint.h>

/* A way to `port` of 127.0.0.1, in a process that ends with this one: for each
 * connection that takes it another user opens so many that the process there
 * sends half of them away, before a byte goes on.  The first ten are closed at
 * once, as if they had been sent away, too.  Only for root.  The port at which
 * the way begins, or 0 with errno. */
uint16_t flooded_way(uint16_t port);

#endif
