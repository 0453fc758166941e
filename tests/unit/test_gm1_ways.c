/* SPDX-License-Identifier: BSD-3-Clause
 * GM-1: the ways of the table that a settled fabric does not go.
 */
#include "gm1_util.h"

#include <stdlib.h>

#include "base/limits.h"
#include "no_explorer.h"
#include "no_proof.h"

static void exploring_that_fails_ends_the_cycle(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    explorers_fail(1);
    world_run(w, SECOND);
    assert_int_equal(status(w, 3).state, GM1_STATE_SLEEPING);
    assert_int_equal(explorers_fail(0), 0);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    world_free(w);
}

/* A Scout of somebody higher. */
static void scout_of_level_9(struct world *w, unsigned i)
{
    const struct gm1_message msg = {
        .subtype = GM1_SCOUT,
        .scout = {{2, {0x81, 0x82}}, NET_BUILD_HOST_ID + 100, 0, 9}};
    uint8_t body[GM1_SCOUT_SIZE];

    world_hear(w, host(w, i), body, gm1_encode(body, sizeof(body), &msg));
}

static void a_higher_scout_stops_it_wherever_it_is(void **state)
{
    static const enum gm1_state states[] = {
        GM1_STATE_EXPLORING, GM1_STATE_QUERYING, GM1_STATE_CONFIGURING,
        GM1_STATE_SLEEPING, GM1_STATE_VERIFYING};

    for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++) {
        struct world *w = cloud_world(500);

        world_gm1(w, host(w, 3), fast, NULL);
        run_to(w, 3, states[i]);
        scout_of_level_9(w, 3);
        assert_int_equal(status(w, 3).state, GM1_STATE_DORMANT);
        world_free(w);
    }
}

/* Eight gateways of 8192 members each: numHosts of a Config has 16 bits. */
static void more_rows_than_a_config_can_count(void **state)
{
    const struct hostside_config gateway = {.gateway = true};
    struct gm1_member *cloud = calloc(SF_GM_CLOUD_MAX, sizeof(*cloud));
    struct world *w = world_new("line:1:9", 1);

    for (unsigned i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < SF_GM_CLOUD_MAX; k++)
            cloud[k].address = 0x020000000000 + i * SF_GM_CLOUD_MAX + k;
        world_host(w, host(w, i), &gateway);
        assert_int_equal(hostside_set_members(w->hosts[host(w, i)].side, cloud,
                                              SF_GM_CLOUD_MAX),
                         0);
    }
    world_gm1(w, host(w, 8), fast, NULL);
    run_to(w, 8, GM1_STATE_SLEEPING);
    assert_non_null(strstr(w->hosts[host(w, 8)].last, "too many"));
    assert_int_equal(status(w, 8).counters.configs, 0);
    world_free(w);
    free(cloud);
}

/* A host that was restarted answers as before, but has nothing. */
static void a_host_that_forgot_is_configured_again(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);
    uint64_t before;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    before = status(w, 3).counters.configs;
    world_host(w, host(w, 0), NULL);
    assert_false(all_configured(w));
    world_run(w, world_now(w) + 8 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).counters.explorations, 1);
    assert_int_equal(status(w, 3).counters.configs, before + 1); /* only it */
    world_free(w);
}

static void out_of_date_is_another_mapper_or_version(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);
    struct hostside_state s;
    uint64_t before;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    before = status(w, 3).counters.configs;
    s = state_of(w, 0);
    configure(w, 0, s.mapper - 1, s.gmid, s.version);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(state_of(w, 0).nentries, 4);
    configure(w, 0, s.mapper, s.gmid, 0);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(state_of(w, 0).nentries, 4);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).counters.configs, before + 2);
    assert_int_equal(status(w, 3).version, s.version);
    world_free(w);
}

static void after_the_highest_version_all_begin_anew(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    configure(w, 0, NET_BUILD_HOST_ID + 77, 9, UINT32_MAX);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_int_equal(state_of(w, 0).version, 1);
    assert_int_equal(status(w, 3).counters.resets, 4);
    world_free(w);
}

/* Somebody answers with the right port, but of another time. */
static void replies_of_another_phase_are_dropped(void **state)
{
    struct world *w = cloud_world(500);
    struct gm1_message msg = {.subtype = GM1_CLOUD_QUERY_REPLY};
    uint8_t body[GM1_CLOUD_QUERY_REPLY_SIZE];
    uint64_t dropped;

    world_gm1(w, host(w, 3), fast, NULL);
    run_to(w, 3, GM1_STATE_QUERYING);
    dropped = status(w, 3).counters.dropped_late;
    for (msg.port = 1; msg.port <= 20; msg.port++)
        world_hear(w, host(w, 3), body, gm1_encode(body, sizeof(body), &msg));
    assert_int_equal(status(w, 3).counters.dropped_late, dropped + 20);
    assert_int_equal(status(w, 3).state, GM1_STATE_QUERYING);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_int_equal(status(w, 3).nmembers, 500);
    world_free(w);
}

static void by_gm2(struct gm1_options *o, uint32_t node, void *arg)
{
    fast(o, node, arg);
    o->routes.engine = NET_GM2;
}

/* Engine gm2 of a GM-1 mapper: proved for all hosts, or not used. */
static void gm1_does_not_use_routes_that_could_deadlock(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct world *w;
        struct gm1_status s;

        no_proof = i == 1;
        w = one_mapper("line:2:2", by_gm2);
        assert_true(world_until(w, 8 * SECOND, all_configured));
        no_proof = false;
        s = status(w, 3);
        assert_int_equal(s.engine == NET_GM2, i == 0);
        assert_string_equal(
            s.unproved,
            i ? "engine gm2: a cycle of 3 cables: x0:1 x1:1 x2:1" : "");
        world_free(w);
    }
}

static void by_dmodk(struct gm1_options *o, uint32_t node, void *arg)
{
    fast(o, node, arg);
    o->routes.engine = NET_DMODK;
}

/* An engine that the fabric is not made for: told, and mapperd ends. */
static void gm1_without_routes_says_so(void **state)
{
    struct world *w = one_mapper("ring:5:2", by_dmodk);

    run_to(w, 9, GM1_STATE_SLEEPING);
    assert_int_equal(w->hosts[host(w, 9)].nfatal, 1);
    assert_non_null(strstr(w->hosts[host(w, 9)].last, "no routes"));
    assert_int_equal(status(w, 9).counters.configs, 0);
    world_free(w);
}

/* The program's last test: the others go most ways. */
static void every_edge_of_gm1_is_taken(void **state)
{
    const char *left = world_gm1_untaken();

    assert_string_equal(left ? left : "", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(exploring_that_fails_ends_the_cycle),
    cmocka_unit_test(a_higher_scout_stops_it_wherever_it_is),
    cmocka_unit_test(more_rows_than_a_config_can_count),
    cmocka_unit_test(a_host_that_forgot_is_configured_again),
    cmocka_unit_test(out_of_date_is_another_mapper_or_version),
    cmocka_unit_test(after_the_highest_version_all_begin_anew),
    cmocka_unit_test(replies_of_another_phase_are_dropped),
    cmocka_unit_test(gm1_does_not_use_routes_that_could_deadlock),
    cmocka_unit_test(gm1_without_routes_says_so),
    cmocka_unit_test(every_edge_of_gm1_is_taken),
};

const struct suite gm1_ways = SUITE(tests);
