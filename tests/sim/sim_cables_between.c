/* SPDX-License-Identifier: BSD-3-Clause
 * Cables between crossbars that lose or break packets, by seed: the mapper that
 * leads names that one and no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapper_world.h"

#define SEEDS 24

static const char *const nets[] = {
    "clos:4x4:1x2:1x2+ids", "ring:5:2+ids", "torus:3x3:1+ids",
    "random:6:16:3+ids",    "C64+ids",      "line:4:2+ids"};
static const double losses[] = {0.005, 0.01, 0.03, 0.1};

struct story {
    struct world *w;
    uint32_t node; /* of the truth: an end of the cable */
    unsigned port;
};

static const struct gm2 *leader_of(const struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        struct gm2_status s;

        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (s.leader)
            return w->hosts[i].gm2;
    }
    return NULL;
}

/* A cable between crossbars, by the seed. */
static void choose(struct story *s, uint64_t seed)
{
    const struct net *net = s->w->net;
    struct net_rng rng = {seed * 77};
    uint32_t p, q;

    do {
        p = net_rng_below(&rng, net->nports);
        q = net->ports[p].peer;
    } while (q == NET_NONE || net_is_host(net, net->ports[p].node) ||
             net_is_host(net, net->ports[q].node));
    s->node = net->ports[p].node;
    s->port = net_port_number(net, p);
}

/* Cables that the leader holds for faulty; *right: is one of them ours? */
static unsigned accused(const struct story *s, bool *right)
{
    const struct gm2 *m = leader_of(s->w);
    const struct net *truth = s->w->net, *map;
    unsigned n = 0;

    *right = false;
    if (!m)
        return 0;
    map = gm2_current_map(m)->net;
    for (uint32_t p = 0; p < map->nports; p++) {
        const struct net_node *x = &map->nodes[map->ports[p].node];

        if (map->ports[p].peer == NET_NONE || !gm2_cable_lost(m, p))
            continue;
        n++;
        *right |= x->id == truth->nodes[s->node].id &&
                  net_port_number(map, p) == s->port;
    }
    return n / 2;
}

static struct story *watched;

static bool somebody_is_accused(struct world *w)
{
    bool right;

    return accused(watched, &right) > 0;
}

static void play(uint64_t seed)
{
    const char *name = nets[seed % 6];
    double p = losses[seed / 6 % 4];
    struct story s = {.w = world_new(name, seed)};
    uint64_t since;
    bool right;

    watched = &s;
    world_gm2_all(s.w, NULL, NULL);
    assert_true(world_until(s.w, 60 * SECOND, world_gm2_settled));
    choose(&s, seed);
    since = world_now(s.w);
    assert_true(seed % 2 ? swfab_set_loss(s.w->fab, s.node, s.port, p)
                         : swfab_set_corruption(s.w->fab, s.node, s.port, p));
    if (!world_until(s.w, since + 900 * SECOND, somebody_is_accused))
        fail_msg("%s seed %d: nobody is accused of %g", name, (int)seed, p);
    print_message("# %s: %g lost, told after %.0f s\n", name, p,
                  (double)(world_now(s.w) - since) / 1e9);
    if (accused(&s, &right) != 1 || !right)
        fail_msg("%s seed %d: %u accused, %s", name, (int)seed,
                 accused(&s, &right), right ? "rightly" : "wrongly");
    swfab_set_loss(s.w->fab, s.node, s.port, 0);
    swfab_set_corruption(s.w->fab, s.node, s.port, 0);
    world_run(s.w, world_now(s.w) + 120 * SECOND);
    assert_int_equal(accused(&s, &right), 0);
    world_free(s.w);
}

static void a_cable_that_loses_is_the_only_one_accused(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed);
}

/* Neither is anybody where all lose alike, or the leader's own cable does. */
static void nobody_is_accused_of_what_all_lose(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct story s = {.w = world_new("clos:4x4:1x2:1x2+ids", 7 + i)};
        uint32_t h = net_find_name(s.w->net, "h15");
        bool right;

        watched = &s;
        world_gm2_all(s.w, NULL, NULL);
        assert_true(world_until(s.w, 60 * SECOND, world_gm2_settled));
        if (i)
            swfab_set_loss(s.w->fab, h, 0, 0.02);
        assert_false(world_until(s.w, world_now(s.w) + 600 * SECOND,
                                 somebody_is_accused));
        assert_int_equal(accused(&s, &right), 0);
        world_free(s.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cable_that_loses_is_the_only_one_accused),
        cmocka_unit_test(nobody_is_accused_of_what_all_lose),
    };

    return cmocka_run_group_tests_name("sim cables between", tests, NULL, NULL);
}
