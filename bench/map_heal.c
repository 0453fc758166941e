/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapper on each host of a fabric, in one process and in virtual time: every
 * message is encoded, carried by the crossbars and decoded, every mapper
 * computes and proves its own routes.  A leaf loses an uplink; until all
 * mappers have the new map and routes:
 *
 *     map_heal NET    CPU seconds of all mappers and crossbars together,
 *                     messages of all mappers, those of them that are probes,
 *                     virtual milliseconds; and CPU seconds and messages of a
 *                     time as long in which nothing happened
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "net/build.h"
#include "../tests/sim/mapper_world.h"

struct sums {
    double cpu;
    uint64_t sent, probes, at;
};

/* Until all is settled; the CPU seconds of that without those of looking. */
static double settle(struct world *w)
{
    uint64_t end = world_now(w) + 300 * SECOND;
    double cpu = 0;

    while (world_now(w) < end) {
        clock_t begin = clock();

        world_run(w, world_now(w) + 50 * MS);
        cpu += (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (world_gm2_settled(w))
            return cpu;
    }
    return -1;
}

static struct sums look(const struct world *w)
{
    struct sums s = {.cpu = (double)clock() / CLOCKS_PER_SEC,
                     .at = world_now(w)};
    struct gm2_status status;

    for (uint32_t n = 0; n < w->net->nnodes; n++)
        if (w->hosts[n].kind == WORLD_GM2) {
            gm2_status(w->hosts[n].gm2, &status);
            s.sent += status.counters.sent;
            s.probes += status.counters.probes;
        }
    return s;
}

static bool lose_uplink(struct world *w)
{
    uint32_t leaf = net_peer_node(w->net, w->net->nhosts / 2, 0);

    for (unsigned p = w->net->nodes[leaf].nports; p-- > 0;) {
        uint32_t to = net_peer_node(w->net, leaf, p);

        if (to != NET_NONE && !net_is_host(w->net, to)) {
            world_pull(w, leaf, p);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct sums before, healed, idle, later;
    struct world *w;
    double cpu;

    if (argc != 2)
        return 2;
    w = world_new(argv[1], 1);
    world_gm2_all(w, NULL, NULL);
    if (!world_until(w, 300 * SECOND, world_gm2_settled)) {
        fprintf(stderr, "map_heal: %s is not mapped\n", argv[1]);
        return 1;
    }
    world_run(w, world_now(w) + 5 * SECOND);
    before = look(w);
    if (!lose_uplink(w) || (cpu = settle(w)) < 0) {
        fprintf(stderr, "map_heal: %s does not heal\n", argv[1]);
        return 1;
    }
    healed = look(w);
    world_run(w, world_now(w) + 5 * SECOND);
    idle = look(w);
    world_run(w, world_now(w) + healed.at - before.at);
    later = look(w);
    printf("%.6f %" PRIu64 " %" PRIu64 " %" PRIu64 " %.6f %" PRIu64 "\n", cpu,
           healed.sent - before.sent, healed.probes - before.probes,
           (healed.at - before.at) / MS, later.cpu - idle.cpu,
           later.sent - idle.sent);
    world_free(w);
    return 0;
}
