/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is lost with an agent, as text for a message (HOLDS of
 * impi/agent_wire.h): "ranks 0-1", or with their clients
 * "client 0 (ranks 0-1), client 1 (rank 2)".
 */
#ifndef SF_IMPI_HOLDS_H
#define SF_IMPI_HOLDS_H

#include <stdint.h>

#include "base/limits.h"

#define IMPI_HOLDS_NO_CLIENT (-1)

struct impi_holds {
    char text[SF_AGENT_HOLDS_MAX];
};

/* Add n ranks of a client, or of no client that is known.  one: what a rank is
 * called, `many` if n is not 1.  What does not fit is left out. */
void impi_holds_add(struct impi_holds *h, int64_t client, const char *one,
                    const char *many, const uint32_t *ranks, uint32_t n);

#endif
