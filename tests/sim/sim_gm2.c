/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2 mappers by the dozen in virtual time, with faults by seed.
 *
 * A run that fails prints its family and seed; `sim_gm2 FAMILY SEED` runs
 * just that one and tells what every mapper does.  SF_SIM_SEEDS is the number
 * of seeds per family.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mapper_world.h"

#define START_LIMIT (60 * SECOND)
#define HEAL_LIMIT (120 * SECOND)

/* Small nets; the seed chooses one. */
static const char *const nets[] = {
    "clos:4x4:1x2:1x2", "line:3:3",
    "ring:5:2",         "torus:3x3:1",
    "random:6:16:3",    "clos:4x4:1x4:1x1",
    "line:1:8",         "two-planes",
    "hostless-ring:4",  "clos:4x2:1x2:1x1+ids",
};
/* two-planes has 128 hosts: rarely. */
static const char *choose_net(uint64_t seed)
{
    unsigned i = (unsigned)(seed % 10);

    return i == 7 && seed % 50 != 7 ? "C64+cut=3" : nets[i];
}

struct tally {
    uint64_t *times;
    uint64_t packets, hosts;
    unsigned n, size;
};

struct family {
    const char *name;
    void (*harm)(struct world *w);
};

static uint32_t nhosts(const struct world *w)
{
    return w->net->nhosts;
}

static uint32_t pick_host(struct world *w)
{
    uint32_t k = net_rng_below(&w->rng, nhosts(w));

    for (uint32_t i = 0;; i++)
        if (w->net->nodes[i].kind == NET_HOST && k-- == 0)
            return i;
}

/* A cable between two crossbars, or any when there is none. */
static bool pick_link(struct world *w, uint32_t *node, unsigned *port)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t p = net_rng_below(&w->rng, w->net->nports);
        uint32_t n = w->net->ports[p].node, q = w->net->ports[p].peer;

        if (q == NET_NONE || w->net->nodes[n].kind != NET_XBAR ||
            w->net->nodes[w->net->ports[q].node].kind != NET_XBAR)
            continue;
        *node = n;
        *port = net_port_number(w->net, p);
        return true;
    }
    return false;
}

static bool pick_free_port(struct world *w, uint32_t *node, unsigned *port)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t p = net_rng_below(&w->rng, w->net->nports);
        uint32_t n = w->net->ports[p].node;

        if (w->net->ports[p].peer != NET_NONE ||
            w->net->nodes[n].kind != NET_XBAR)
            continue;
        *node = n;
        *port = net_port_number(w->net, p);
        return true;
    }
    return false;
}

/* ---- what goes wrong ----------------------------------------------------- */

static void harm_nothing(struct world *w)
{
}

static void harm_leader(struct world *w)
{
    uint32_t leader = NET_NONE;

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        struct gm2_status s;

        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (s.leader)
            leader = i;
    }
    world_kill(w, leader);
}

static void harm_interior(struct world *w)
{
    world_kill(w, pick_host(w));
}

static void harm_restart(struct world *w)
{
    uint32_t host = pick_host(w);

    world_kill(w, host);
    world_run(w, world_now(w) + net_rng_below(&w->rng, 3000) * MS);
    world_gm2(w, host, NULL, NULL);
}

static void harm_link(struct world *w)
{
    unsigned port;
    uint32_t node;

    if (pick_link(w, &node, &port))
        world_pull(w, node, port);
}

/* Every second cable of all that leave one crossbar, then back again. */
static void harm_partition(struct world *w)
{
    uint32_t node, peer[256];
    unsigned port, back[256];

    if (!pick_link(w, &node, &port))
        return;
    for (unsigned p = 0; p < w->net->nodes[node].nports; p++) {
        peer[p] = net_peer_node(w->net, node, p);
        back[p] = peer[p] == NET_NONE ? 0 : net_peer_port(w->net, node, p);
        if (peer[p] != NET_NONE && w->net->nodes[peer[p]].kind == NET_XBAR)
            world_pull(w, node, p);
        else
            peer[p] = NET_NONE;
    }
    world_until(w, world_now(w) + HEAL_LIMIT, world_gm2_settled);
    for (unsigned p = 0; p < w->net->nodes[node].nports; p++)
        if (peer[p] != NET_NONE && net_peer_node(w->net, node, p) == NET_NONE)
            world_plug(w, node, p, peer[p], back[p]);
}

static void harm_move(struct world *w)
{
    uint32_t host = pick_host(w), node;
    unsigned port;

    if (!pick_free_port(w, &node, &port))
        return;
    world_pull(w, host, 0);
    if (net_rng_chance(&w->rng, 0.5))
        world_run(w, world_now(w) + net_rng_below(&w->rng, 2000) * MS);
    world_plug(w, host, 0, node, port);
}

/* Two crossbars' cables change places. */
static void harm_swap(struct world *w)
{
    uint32_t a, b, pa, pb;
    unsigned p, q, ra, rb;

    if (!pick_link(w, &a, &p) || !pick_link(w, &b, &q))
        return;
    pa = net_peer_node(w->net, a, p);
    ra = net_peer_port(w->net, a, p);
    pb = net_peer_node(w->net, b, q);
    rb = net_peer_port(w->net, b, q);
    if ((a == b && p == q) || (a == pb && p == rb))
        return;
    world_pull(w, a, p);
    world_pull(w, b, q);
    world_plug(w, a, p, pb, rb);
    world_plug(w, b, q, pa, ra);
}

static void harm_flap(struct world *w)
{
    uint32_t node, peer;
    unsigned port, back;

    if (!pick_link(w, &node, &port))
        return;
    peer = net_peer_node(w->net, node, port);
    back = net_peer_port(w->net, node, port);
    for (int i = 0; i < 8; i++) {
        world_pull(w, node, port);
        world_run(w, world_now(w) + net_rng_below(&w->rng, 700) * MS);
        world_plug(w, node, port, peer, back);
        world_run(w, world_now(w) + net_rng_below(&w->rng, 700) * MS);
    }
}

static void harm_loss(struct world *w)
{
    w->loss = 0.3; /* it was there from the start */
    harm_link(w);
}

static const struct family families[] = {
    {"all-at-once", harm_nothing},    {"leader-killed", harm_leader},
    {"mapper-killed", harm_interior}, {"mapper-restarted", harm_restart},
    {"link-lost", harm_link},         {"partition-and-heal", harm_partition},
    {"host-moved", harm_move},        {"cables-swapped", harm_swap},
    {"flapping-link", harm_flap},     {"loss-30-percent", harm_loss},
};
#define NFAMILIES (sizeof(families) / sizeof(*families))

/* ---- running ------------------------------------------------------------- */

static bool run(const struct family *f, uint64_t seed, bool verbose,
                struct tally *tally)
{
    struct world *w = world_new(choose_net(seed), seed);
    uint64_t hurt;
    bool ok;

    w->verbose = verbose;
    if (verbose)
        printf("# %s seed %llu: %s\n", f->name, (unsigned long long)seed,
               choose_net(seed));
    w->loss = f->harm == harm_loss ? 0.3 : 0;
    world_gm2_all(w, NULL, NULL);
    ok = world_until(w, START_LIMIT, world_gm2_settled);
    if (ok && f->harm != harm_nothing) {
        w->packets = 0;
        hurt = world_now(w);
        f->harm(w);
        ok = world_until(w, world_now(w) + HEAL_LIMIT, world_gm2_settled);
    } else {
        hurt = 0;
    }
    if (ok && tally && tally->n < tally->size) {
        tally->times[tally->n++] = world_now(w) - hurt;
        tally->packets += w->packets;
        tally->hosts += nhosts(w);
    }
    if (!ok)
        world_gm2_explain(w);
    world_free(w);
    return ok;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_tally(const struct family *f, struct tally *t)
{
    if (t->n == 0)
        return;
    qsort(t->times, t->n, sizeof(*t->times), by_time);
    printf("# %-20s %4u runs: settled after %.2f s median, %.2f s 90 %%, "
           "%.2f s at most; %.0f packets per host\n",
           f->name, t->n, (double)t->times[t->n / 2] / 1e9,
           (double)t->times[t->n * 9 / 10] / 1e9,
           (double)t->times[t->n - 1] / 1e9,
           (double)t->packets / (double)t->hosts);
}

static unsigned seeds(void)
{
    const char *text = getenv("SF_SIM_SEEDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 30;
}

static void run_family(const struct family *f)
{
    struct tally tally = {.size = seeds()};
    unsigned failed = 0;

    tally.times = calloc(tally.size + 1, sizeof(*tally.times));
    for (uint64_t seed = 1; seed <= tally.size; seed++) {
        if (run(f, seed, false, &tally))
            continue;
        failed++;
        printf("# failed: replay with  tests/sim/sim_gm2 %s %llu\n", f->name,
               (unsigned long long)seed);
    }
    print_tally(f, &tally);
    free(tally.times);
    assert_int_equal(failed, 0);
}

static void g2_35_g2_42_all_mappers_at_once(void **state)
{
    run_family(&families[0]);
}

static void g2_69_leader_killed(void **state)
{
    run_family(&families[1]);
}

static void g2_26_g2_68_mapper_killed(void **state)
{
    run_family(&families[2]);
}

static void g2_49_mapper_restarted(void **state)
{
    run_family(&families[3]);
}

static void g2_67_link_lost(void **state)
{
    run_family(&families[4]);
}

static void g2_72_partition_and_heal(void **state)
{
    run_family(&families[5]);
}

static void g2_67_host_moved(void **state)
{
    run_family(&families[6]);
}

static void g2_67_cables_swapped(void **state)
{
    run_family(&families[7]);
}

static void g2_04_flapping_link(void **state)
{
    run_family(&families[8]);
}

static void g2_34_loss_of_30_percent(void **state)
{
    run_family(&families[9]);
}

/* ---- hundreds of mappers --------------------------------------------------
 */

static void all_but_the_highest_sleep(struct gm2_config *c, uint32_t node,
                                      void *arg)
{
    if (c->address != *(uint64_t *)arg)
        c->start_delay = 3600 * SECOND;
}

static bool everybody_is_valid(struct world *w)
{
    struct gm2_status s;

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (!s.valid)
            return false;
    }
    return true;
}

/* One explores, then the map goes down the tree.  SF_SIM_LARGE names a larger
 * net (C2048 takes 2 GB: every mapper holds the map). */
static void g2_03_g2_47_the_map_goes_down_the_tree(void **state)
{
    const char *name = getenv("SF_SIM_LARGE");
    struct world *w = world_new(name ? name : "C512", 1);
    struct gm2_status s;
    uint64_t highest = 0;

    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST && w->net->nodes[i].id > highest)
            highest = w->net->nodes[i].id;
    world_gm2_all(w, all_but_the_highest_sleep, &highest);
    assert_true(world_until(w, 60 * SECOND, everybody_is_valid));
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        assert_int_equal(s.version.leader, highest);
        assert_int_equal(s.nhosts, w->net->nhosts);
        /* nobody has fed more than two children */
        assert_in_range(s.counters.pieces_sent, 0,
                        3 * gm2_map_pieces(gm2_current_map(w->hosts[i].gm2)));
    }
    printf("# %u mappers have the map after %.2f s; %llu packets, %llu MB\n",
           w->net->nhosts, (double)world_now(w) / 1e9,
           (unsigned long long)w->packets, (unsigned long long)w->bytes >> 20);
    world_free(w);
}

static int replay(const char *family, const char *seed)
{
    for (unsigned i = 0; i < NFAMILIES; i++)
        if (strcmp(families[i].name, family) == 0)
            return run(&families[i], strtoull(seed, NULL, 10), true, NULL) ? 0
                                                                           : 1;
    fprintf(stderr, "no family %s\n", family);
    return 2;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g2_35_g2_42_all_mappers_at_once),
        cmocka_unit_test(g2_69_leader_killed),
        cmocka_unit_test(g2_26_g2_68_mapper_killed),
        cmocka_unit_test(g2_49_mapper_restarted),
        cmocka_unit_test(g2_67_link_lost),
        cmocka_unit_test(g2_72_partition_and_heal),
        cmocka_unit_test(g2_67_host_moved),
        cmocka_unit_test(g2_67_cables_swapped),
        cmocka_unit_test(g2_04_flapping_link),
        cmocka_unit_test(g2_34_loss_of_30_percent),
        cmocka_unit_test(g2_03_g2_47_the_map_goes_down_the_tree),
    };

    if (argc == 3)
        return replay(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
