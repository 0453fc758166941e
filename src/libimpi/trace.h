/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IMPI_TRACE=1: each packet that this process exchanges with others, one line
 * each.
 */
#ifndef LIBIMPI_TRACE_H
#define LIBIMPI_TRACE_H

#include <stdbool.h>

#include "impi/packet.h"

bool trace_wanted(void);
/* To stderr; for impi/p2p.h. */
void trace_packet(void *arg, uint32_t peer, bool in,
                  const struct impi_packet *pk);

#endif
