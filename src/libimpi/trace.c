/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/state.h"

bool trace_wanted(void)
{
    const char *wanted = getenv("IMPI_TRACE");

    return wanted && strcmp(wanted, "1") == 0;
}

void trace_packet(void *arg, uint32_t peer, bool in,
                  const struct impi_packet *pk)
{
    char text[256];

    (void)arg;
    impi_packet_format(text, sizeof(text), pk);
    fprintf(stderr, "slurm-fabric: rank %d: %s %" PRIu32 ": %s\n", impi_be.rank,
            in ? "from" : "to", peer, text);
}
