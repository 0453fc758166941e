/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What went to and came from the processes of other clients.  All of one
 * process in one write, so that the tables of many stay whole.
 */
#include "libimpi/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/state.h"

static void line(FILE *f, uint32_t peer, const struct impi_peer_stats *s)
{
    fprintf(f,
            "slurm-fabric: rank %d: %6" PRIu32 " %6" PRIu32 " %10" PRIu64
            " %14" PRIu64 " %10" PRIu64 " %14" PRIu64 " %8" PRIu64 "\n",
            impi_be.rank, peer, impi_be.client_of[peer], s->messages_out,
            s->bytes_out, s->messages_in, s->bytes_in, s->waits);
}

static void table(FILE *f)
{
    fprintf(f, "slurm-fabric: rank %d: %6s %6s %10s %14s %10s %14s %8s\n",
            impi_be.rank, "peer", "client", "sent", "bytes", "received",
            "bytes", "waits");
    for (uint32_t i = 0; i < impi_be.world.nprocs; i++) {
        struct impi_peer_stats s;

        if (impi_p2p_peer_stats(impi_be.p2p, i, &s))
            line(f, i, &s);
    }
}

void stats_print(void)
{
    const char *wanted = getenv("IMPI_STATS");
    char *text = NULL;
    size_t len;
    FILE *f;

    if (!wanted || strcmp(wanted, "1") != 0)
        return;
    f = open_memstream(&text, &len);
    if (!f)
        return;
    table(f);
    fclose(f);
    fputs(text, stderr);
    free(text);
}
