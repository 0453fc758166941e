/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: who leads, who follows, who is there at all.
 */
#include "gm2_util.h"

/* Whoever will lead: none waits for another one. */
static void all_begin_by_mapping(void **state)
{
    struct world *w = world_new("line:4:4", 1);

    world_gm2_all(w, NULL, NULL);
    world_run(w, 1); /* nothing has come yet */
    for (unsigned i = 0; i < 16; i++) {
        struct gm2_status s = status(w, host(w, i));

        assert_int_equal(s.state, GM2_STATE_MAPPING);
        assert_int_equal(s.counters.explorations, 1);
        assert_true(s.counters.sent > 0);
        assert_int_equal(s.counters.received, 0);
    }
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_free(w);
}

static void level_of_h1_is_7(struct gm2_config *c, uint32_t node, void *arg)
{
    if (c->address == NET_BUILD_HOST_ID + 1)
        c->level = 7;
}

static void level_beats_board_id(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, level_of_h1_is_7, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    assert_true(status(w, host(w, 1)).leader);
    world_free(w);
    w = settled("line:2:3");
    assert_true(status(w, host(w, 5)).leader);
    world_free(w);
}

static void passive_mappers_know_a_higher_parent(void **state)
{
    struct world *w = settled("line:3:3");

    for (unsigned i = 0; i < 9; i++) {
        struct gm2_status s = status(w, host(w, i));

        if (s.leader)
            assert_int_equal(s.parent, 0);
        else
            assert_true(s.parent > NET_BUILD_HOST_ID + i);
    }
    world_free(w);
}

static void level_0(struct gm2_config *c, uint32_t node, void *arg)
{
    if (c->address == NET_BUILD_HOST_ID + 5 || arg)
        c->level = 0;
}

static void level_0_gets_map_and_routes(void **state)
{
    struct world *w = world_new("line:2:3", 1);
    struct gm2_status s;

    world_gm2_all(w, level_0, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    s = status(w, host(w, 5));
    assert_true(s.valid);
    assert_false(s.leader);
    assert_int_equal(s.counters.explorations, 0);
    assert_int_equal(s.version.leader, NET_BUILD_HOST_ID + 4);
    world_free(w);
}

static void all_at_level_0_nobody_maps(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, level_0, w);
    world_run(w, 10 * SECOND);
    for (unsigned i = 0; i < 6; i++) {
        struct gm2_status s = status(w, host(w, i));

        assert_int_equal(s.state, GM2_STATE_LISTENING);
        assert_int_equal(s.counters.sent, 0);
    }
    world_free(w);
}

static void sleepers_answer_scouts(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, sleep_first, NULL);
    assert_true(world_until(w, 5 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 0)).counters.explorations, 0);
    world_free(w);
}

static void host_without_a_mapper_is_invisible(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, NULL, NULL);
    world_kill(w, host(w, 2));
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 5)).nhosts, 5);
    world_free(w);
}

static void two_planes_have_two_leaders(void **state)
{
    struct world *w = settled("two-planes");
    unsigned leaders = 0;

    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].gm2)
            leaders += status(w, i).leader;
    assert_int_equal(leaders, 2);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_begin_by_mapping),
    cmocka_unit_test(level_beats_board_id),
    cmocka_unit_test(passive_mappers_know_a_higher_parent),
    cmocka_unit_test(level_0_gets_map_and_routes),
    cmocka_unit_test(all_at_level_0_nobody_maps),
    cmocka_unit_test(sleepers_answer_scouts),
    cmocka_unit_test(host_without_a_mapper_is_invisible),
    cmocka_unit_test(two_planes_have_two_leaders),
};

const struct suite gm2_election = SUITE(tests);
