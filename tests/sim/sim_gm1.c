/* SPDX-License-Identifier: BSD-3-Clause
 * GM-1 mappers by the dozen in virtual time, with faults by seed.
 *
 * By seed all hosts have mappers of one level, or of three levels, or a third
 * of the hosts none.  Timers are the document's: an active mapper sleeps 10 s,
 * a dormant one 5 s.  Where a third of all packets is lost the mappers send
 * more often than three times, as a site would set it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapper_seeds.h"

#define LOSSY_TRIES 30

static void tune(struct gm1_options *config, uint32_t node, void *arg)
{
    const struct world *w = arg;

    config->host.level =
        world_draw(w->seed, DRAW_LEVELS, 3) == 1 ? 1 + node % 3 : 1;
    if (w->loss > 0) {
        config->limits.fixed_timers = false;
        config->limits.tries = LOSSY_TRIES;
    }
}

static void put(struct world *w, uint32_t node)
{
    if (world_draw(w->seed, DRAW_LEVELS, 3) == 2 && node % 3 == 0)
        world_host(w, node, NULL);
    else
        world_gm1(w, node, tune, w);
}

static void start(struct world *w)
{
    w->keeps = world_draw(w->seed, DRAW_KEEPS, 4) != 0;
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST)
            put(w, i);
}

static const struct seeds seeds = {
    .program = "sim_gm1",
    .start = start,
    .sound = world_gm1_routes_lead,
    .explain = world_gm1_explain,
    .hands = {put, world_gm1_is_awake, world_gm1_settled, 240 * SECOND},
    .start_limit = 240 * SECOND,
    .heal_limit = 240 * SECOND,
};

static void gm1_all_mappers_at_once(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[0]));
}

static void gm1_leader_killed(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[1]));
}

static void mapper_killed(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[2]));
}

static void gm1_mapper_restarted(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[3]));
}

static void gm1_link_lost(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[4]));
}

static void gm1_partition_and_heal(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[5]));
}

static void gm1_host_moved(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[6]));
}

static void gm1_cables_swapped(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[7]));
}

static void gm1_crossbar_replaced(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[8]));
}

static void gm1_flapping_link(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[9]));
}

static void gm1_loss_of_30_percent(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[10]));
}

/* Probes had locked each other in; the mapper sent more than the fabric could
 * get rid of, for ever. */
static void a_stuck_fabric_is_left_alone(void **state)
{
    assert_true(seeds_run_one(&seeds, "loss-30-percent", 420));
}

/* A cable from a crossbar to itself: a guess through it blocked itself, and
 * the loop behind it came too late, each time. */
static void a_crossbar_cabled_to_itself(void **state)
{
    assert_true(seeds_run_one(&seeds, "cables-swapped", 680));
}

/* 64 hosts take two messages each: some had acknowledged one when the other was
 * given up, and were never configured again. */
static void half_a_configuration_is_noticed(void **state)
{
    assert_true(seeds_run_one(&seeds, "loss-30-percent", 127));
    assert_true(seeds_run_one(&seeds, "loss-30-percent", 217));
}

static void mappers_begin_with_their_old_maps(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[11]));
}

static void a_link_lost_soon_after_others(void **state)
{
    assert_true(seeds_run_family(&seeds, &harms[12]));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gm1_all_mappers_at_once),
        cmocka_unit_test(gm1_leader_killed),
        cmocka_unit_test(mapper_killed),
        cmocka_unit_test(gm1_mapper_restarted),
        cmocka_unit_test(gm1_link_lost),
        cmocka_unit_test(gm1_partition_and_heal),
        cmocka_unit_test(gm1_host_moved),
        cmocka_unit_test(gm1_cables_swapped),
        cmocka_unit_test(gm1_crossbar_replaced),
        cmocka_unit_test(gm1_flapping_link),
        cmocka_unit_test(gm1_loss_of_30_percent),
        cmocka_unit_test(mappers_begin_with_their_old_maps),
        cmocka_unit_test(a_link_lost_soon_after_others),
        cmocka_unit_test(a_stuck_fabric_is_left_alone),
        cmocka_unit_test(a_crossbar_cabled_to_itself),
        cmocka_unit_test(half_a_configuration_is_noticed),
    };
    int status = seeds_main(&seeds, argc, argv);

    return status >= 0 ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
