/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2 mappers by the dozen in virtual time, with faults by seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapper_seeds.h"

/* Some fabrics have mappers that know nothing of deltas, some are full of
 * them, some leaders verify instead of exploring. */
static void tune(struct gm2_config *c, uint32_t node, void *arg)
{
    const struct world *w = arg;

    uint32_t deltas = world_draw(w->seed, DRAW_DELTAS, 5);

    c->map_deltas = deltas != 1 && (deltas != 2 || node % 3 != 0);
    c->map_incrementally = world_draw(w->seed, DRAW_LEADER, 3) == 1;
}

static void put(struct world *w, uint32_t node)
{
    world_gm2(w, node, tune, w);
}

static void start(struct world *w)
{
    w->keeps = world_draw(w->seed, DRAW_KEEPS, 4) != 0;
    world_gm2_all(w, tune, w);
}

static bool leads(const struct world *w, uint32_t node)
{
    struct gm2_status s;

    if (!w->hosts[node].gm2)
        return false;
    gm2_status(w->hosts[node].gm2, &s);
    return s.leader;
}

static const struct seeds seeds = {
    .program = "sim_gm2",
    .start = start,
    .sound = world_gm2_routes_are_safe,
    .explain = world_gm2_explain,
    .hands = {put, leads, world_gm2_settled, 120 * SECOND},
    .start_limit = 60 * SECOND,
    .heal_limit = 120 * SECOND,
};

static void gm2_all_mappers_at_once(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[0]));
}

static void gm2_leader_killed(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[1]));
}

static void gm2_mapper_killed(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[2]));
}

static void gm2_mapper_restarted(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[3]));
}

static void gm2_link_lost(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[4]));
}

static void partition_and_heal(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[5]));
}

static void gm2_host_moved(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[6]));
}

static void gm2_cables_swapped(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[7]));
}

static void gm2_crossbar_replaced(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[8]));
}

static void gm2_flapping_link(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[9]));
}

static void gm2_loss_of_30_percent(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[10]));
}

static void mappers_begin_with_their_old_maps(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[11]));
}

static void a_link_lost_soon_after_others(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[12]));
}

/* ---- hundreds of mappers ------------------------------------------------- */

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
static void the_map_goes_down_the_tree(void **state)
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

/* Probes had locked each other in; the mapper sent more than the fabric could
 * get rid of, for ever. */
static void a_stuck_fabric_is_not_filled_faster_than_it_empties(void **state)
{
    assert_true(seeds_run_one(&seeds, "flapping-link", 290));
}

/* Each was a rest of the seed: a torus always kept its maps, two planes came
 * with one rest of 200. */
static void every_net_meets_every_setting(void **state)
{
    assert_int_equal(
        seeds_combinations(400, DRAW_NET, SEEDS_NETS, DRAW_KEEPS, 4),
        SEEDS_NETS * 4);
    assert_int_equal(
        seeds_combinations(400, DRAW_NET, SEEDS_NETS, DRAW_DELTAS, 5),
        SEEDS_NETS * 5);
    assert_int_equal(seeds_combinations(400, DRAW_DELTAS, 5, DRAW_LEADER, 3),
                     5 * 3);
    assert_int_equal(seeds_combinations(400, DRAW_LEVELS, 3, DRAW_KEEPS, 4),
                     3 * 4);
    assert_int_equal(seeds_combinations(8000, DRAW_LARGE, 200, DRAW_LEADER, 3),
                     200 * 3);
}

static struct gm2_status status(const struct world *w, uint32_t node)
{
    struct gm2_status s;

    gm2_status(w->hosts[node].gm2, &s);
    return s;
}

static uint16_t ups_of(const struct world *w, uint32_t node)
{
    return net_routes_ups(gm2_current_routes(w->hosts[node].gm2));
}

static uint64_t repairs_of_all(struct world *w)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < w->net->nnodes; i++)
        n += w->hosts[i].gm2 ? status(w, i).counters.repairs : 0;
    return n;
}

static void all_allow_the_same_turns(struct world *w)
{
    uint32_t first = net_find_name(w->net, "h0");
    struct errbuf why;

    for (unsigned i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2)
            continue;
        assert_int_equal(ups_of(w, i), ups_of(w, first));
        assert_int_equal(status(w, i).unlike, 0);
    }
    if (!world_gm2_routes_are_safe(w, &why))
        fail_msg("%s", why.text);
}

/* Off Clos the turns that routes are laid over depend on the whole net: those
 * who repair keep the old ones, which a mapper that comes then cannot know. */
static void repaired_routes_give_way_to_those_of_who_comes(void **state)
{
    struct world *w = world_new("torus:4x4:1", 1);
    uint32_t x = net_find_name(w->net, "x5");
    uint32_t first = net_find_name(w->net, "h0");
    uint16_t ups;

    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_pull(w, x, 1);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_int_equal(repairs_of_all(w), 16);
    world_run(w, world_now(w) + 5 * SECOND);
    all_allow_the_same_turns(w);
    ups = ups_of(w, first);
    world_gm2(w, net_find_name(w->net, "h3"), NULL, NULL);
    assert_true(world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
    world_run(w, world_now(w) + 5 * SECOND);
    all_allow_the_same_turns(w);
    assert_int_not_equal(ups, ups_of(w, first));
    world_free(w);
}

/* Every other host lays its routes over turns of its own, as a mapper of
 * another version may on a large net. */
static void every_other_turns_otherwise(struct gm2_config *c, uint32_t node,
                                        void *arg)
{
    if (c->address % 2)
        c->routes.engine = NET_UPDOWN;
}

static uint64_t configured_of_all(const struct world *w)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < w->net->nnodes; i++)
        n += w->hosts[i].nconfigured;
    return n;
}

/* No host goes back and forth between two sets of routes: one map, and at most
 * one more set because others turn otherwise. */
static void mappers_with_other_turns_leave_each_other_alone(void **state)
{
    struct world *w = world_new("torus:4x4:1", 1);
    uint64_t settled, before, told = 0;

    world_gm2_all(w, every_other_turns_otherwise, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_run(w, world_now(w) + 5 * SECOND);
    before = configured_of_all(w);
    world_pull(w, net_find_name(w->net, "x5"), 1);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_in_range(repairs_of_all(w), 1, 16);
    world_run(w, world_now(w) + 5 * SECOND);
    settled = configured_of_all(w);
    assert_in_range(settled - before, 16, 32);
    world_run(w, world_now(w) + 300 * SECOND);
    assert_int_equal(configured_of_all(w), settled);
    for (unsigned i = 0; i < w->net->nnodes; i++)
        told += w->hosts[i].gm2 && status(w, i).unlike != 0;
    assert_in_range(told, 2, 16); /* those beside one of the others */
    world_free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_net_meets_every_setting),
        cmocka_unit_test(gm2_all_mappers_at_once),
        cmocka_unit_test(gm2_leader_killed),
        cmocka_unit_test(gm2_mapper_killed),
        cmocka_unit_test(gm2_mapper_restarted),
        cmocka_unit_test(gm2_link_lost),
        cmocka_unit_test(partition_and_heal),
        cmocka_unit_test(gm2_host_moved),
        cmocka_unit_test(gm2_cables_swapped),
        cmocka_unit_test(gm2_crossbar_replaced),
        cmocka_unit_test(gm2_flapping_link),
        cmocka_unit_test(gm2_loss_of_30_percent),
        cmocka_unit_test(mappers_begin_with_their_old_maps),
        cmocka_unit_test(a_link_lost_soon_after_others),
        cmocka_unit_test(repaired_routes_give_way_to_those_of_who_comes),
        cmocka_unit_test(mappers_with_other_turns_leave_each_other_alone),
        cmocka_unit_test(the_map_goes_down_the_tree),
        cmocka_unit_test(a_stuck_fabric_is_not_filled_faster_than_it_empties),
    };
    int status = seeds_main(&seeds, argc, argv);

    return status >= 0 ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
