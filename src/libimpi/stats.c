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

#include "libimpi/fabric.h"
#include "libimpi/conns.h"
#include "libimpi/state.h"

static void line(FILE *f, uint32_t peer, const struct impi_peer_stats *s)
{
    fprintf(f,
            "slurm-fabric: rank %d: %6" PRIu32 " %6" PRIu32 " %10" PRIu64
            " %14" PRIu64 " %10" PRIu64 " %14" PRIu64 " %8" PRIu64 " %s\n",
            impi_be.rank, peer, client_of((int)peer), s->messages_out,
            s->bytes_out, s->messages_in, s->bytes_in, s->waits,
            conns_way(peer));
}

static void table(FILE *f)
{
    fprintf(f, "slurm-fabric: rank %d: %6s %6s %10s %14s %10s %14s %8s %s\n",
            impi_be.rank, "peer", "client", "sent", "bytes", "received",
            "bytes", "waits", "by");
    for (uint32_t i = 0; i < impi_be.world.nprocs; i++) {
        struct impi_peer_stats s;

        if (impi_p2p_peer_stats(impi_be.p2p, i, &s))
            line(f, i, &s);
    }
}

/* The frames of libfabric, or why there is none where one was wanted. */
static void fabric_line(FILE *f)
{
    struct fabric_counts c;
    const char *path;
    bool had;

    if (fabric_why_not())
        fprintf(f, "slurm-fabric: rank %d: no fabric: %s\n", impi_be.rank,
                fabric_why_not());
    if (!fabric_name())
        return;
    fabric_count(&c);
    fprintf(f,
            "slurm-fabric: rank %d: %s: %" PRIu64 " frames out with %" PRIu64
            " bytes (%" PRIu64 " pieces lent), %" PRIu64 " in with %" PRIu64
            " (%" PRIu64 " reads, %" PRIu64 " to be copied), %" PRIu64
            " of strangers; of windows %" PRIu64 " puts, %" PRIu64 " gets\n",
            impi_be.rank, fabric_name(), c.frames_out, c.bytes_out, c.lent_out,
            c.frames_in, c.bytes_in, c.reads, c.staged, c.strangers, c.puts,
            c.gets);
    path = fabric_library(&had);
    fprintf(f, "slurm-fabric: rank %d: libfabric is %s, %s\n", impi_be.rank,
            path,
            had ? "which the process had already" : "loaded for IMPI alone");
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
    fabric_line(f);
    fclose(f);
    fputs(text, stderr);
    free(text);
}
