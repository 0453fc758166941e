/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: verify mode, and pauses.
 */
#include "gm2_util.h"

static void g2_66_rounds_have_a_pause_of_a_second(void **state)
{
    struct world *w = settled("line:2:3");
    uint64_t before = status(w, host(w, 0)).counters.rounds;

    world_run(w, world_now(w) + 20 * SECOND);
    assert_in_range(status(w, host(w, 0)).counters.rounds - before, 10, 20);
    assert_int_equal(status(w, host(w, 5)).counters.maps, 1);
    world_free(w);
}

static uint64_t end_of_round(struct world *w, uint32_t node)
{
    uint64_t rounds = status(w, node).counters.rounds;

    while (status(w, node).counters.rounds == rounds &&
           world_now(w) < 60 * SECOND)
        world_run(w, world_now(w) + MS / 10);
    return world_now(w);
}

/* From the map to the first round, and from round to round. */
static void try_pause(world_gm2_f *tune, uint64_t pause)
{
    struct world *w = world_new("line:2:3", 1);
    uint32_t node = host(w, 5);
    uint64_t at, next;

    world_gm2_all(w, tune, NULL);
    next = end_of_round(w, node);
    at = status(w, node).since;
    for (unsigned i = 0; i < 3; i++) {
        assert_in_range(next - at - status(w, node).round_time, pause - MS / 10,
                        pause + MS / 10);
        at = next;
        next = end_of_round(w, node);
    }
    world_free(w);
}

static void rest_three_seconds(struct gm2_config *c, uint32_t node, void *arg)
{
    c->verify_pause = 3 * SECOND;
}

static void g2_66_the_pause_is_a_second_and_settable(void **state)
{
    try_pause(NULL, SECOND);
    try_pause(rest_three_seconds, 3 * SECOND);
}

static void g2_67_added_host_is_found(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, NULL, NULL);
    world_kill(w, host(w, 0));
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_gm2(w, host(w, 0), sleep_first, NULL); /* it says nothing itself */
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 5)).nhosts, 6);
    world_free(w);
}

static void g2_67_added_and_lost_links_are_found(void **state)
{
    struct world *w = settled("line:4:2");
    uint32_t a = net_peer_node(w->net, host(w, 0), 0);
    uint32_t b = net_peer_node(w->net, host(w, 7), 0);
    unsigned pa = 0, pb = 0;

    while (net_peer_node(w->net, a, pa) != NET_NONE)
        pa++;
    while (net_peer_node(w->net, b, pb) != NET_NONE)
        pb++;
    world_plug(w, a, pa, b, pb);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    world_pull(w, a, pa);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 7)).counters.maps, 3);
    world_free(w);
}

static void g2_44_a_dozen_children_do_not_upset_anybody(void **state)
{
    struct world *w = settled("line:1:13");

    world_run(w, world_now(w) + 60 * SECOND);
    assert_true(world_gm2_settled(w));
    assert_int_equal(status(w, host(w, 12)).counters.maps, 1);
    world_free(w);
}

static void pauser(struct gm2_config *c, uint32_t node, void *arg)
{
    c->pause = c->address == NET_BUILD_HOST_ID + 5;
}

static void g2_17_pause_keeps_the_others_quiet(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, pauser, NULL);
    assert_true(world_until(w, 40 * SECOND, world_gm2_settled));
    assert_true(w->hosts[host(w, 0)].moves[GM2_EVENT_PAUSE] > 0);
    world_free(w);
    w = world_new("line:2:3", 1); /* its pauser dies */
    world_gm2_all(w, pauser, NULL);
    world_run(w, 2 * MS);
    world_kill(w, host(w, 5));
    assert_true(world_until(w, 40 * SECOND, world_gm2_settled));
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(g2_66_rounds_have_a_pause_of_a_second),
    cmocka_unit_test(g2_66_the_pause_is_a_second_and_settable),
    cmocka_unit_test(g2_67_added_host_is_found),
    cmocka_unit_test(g2_67_added_and_lost_links_are_found),
    cmocka_unit_test(g2_44_a_dozen_children_do_not_upset_anybody),
    cmocka_unit_test(g2_17_pause_keeps_the_others_quiet),
};

const struct suite gm2_verifying = SUITE(tests);
