/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two boards with one id: told, never made one, and the rest of the fabric
 * does not suffer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/mapper_world.h"
#include "mapper/gm_address.h"
#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/same.h"

#define LONG (600 * SECOND)

static uint32_t nth_host(const struct world *w, unsigned i)
{
    char name[16];

    snprintf(name, sizeof(name), "h%u", i);
    return net_find_name(w->net, name);
}

/* Host b gets the board id of host a. */
static struct world *twins(const char *net, unsigned a, unsigned b)
{
    struct world *w = world_new(net, 1);

    net_set_id(w->net, nth_host(w, b), w->net->nodes[nth_host(w, a)].id);
    return w;
}

static void fast(struct gm1_options *c, uint32_t node, void *arg)
{
    (void)node;
    (void)arg;
    c->host.level = 1;
    c->limits.fixed_timers = false;
    c->active_sleep = 3 * SECOND;
    c->dormant_wake = 2 * SECOND;
}

/* ---- the explorer -------------------------------------------------------- */

/* Crossbars a and b have the twins on the same port and otherwise other ports
 * in use: taken for one, they would make one crossbar without a
 * contradiction. */
static struct net *crossbars_that_fit(void)
{
    struct net *net = net_new();
    uint32_t s = net_add_xbar(net, "s", 8, 0), a = net_add_xbar(net, "a", 8, 0),
             b = net_add_xbar(net, "b", 8, 0);

    net_connect(net, net_add_host(net, "me", 1), 0, s, 0);
    net_connect(net, s, 1, a, 1);
    net_connect(net, s, 2, b, 2);
    net_connect(net, net_add_host(net, "t", 2), 0, a, 0);
    net_connect(net, net_add_host(net, "twin", 2), 0, b, 0);
    return net;
}

static void crossbars_that_fit_together_stay_two(void **state)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct net *truth = crossbars_that_fit(), *map;
    uint32_t me = net_find_name(truth, "me");
    struct simfab *sim = simfab_new(truth, me);
    struct probe_host self;
    struct explore *x;

    (void)state;
    simfab_host_info(truth, me, &self);
    x = explore_new(&limits, &self);
    assert_true(simfab_run(sim, simfab_explorer(x), LONG));
    map = explore_map(x);
    assert_non_null(map);
    assert_int_equal(map->nxbars, 3);
    assert_int_equal(map->nhosts, 3);
    assert_non_null(strstr(explore_doubt(x, 0), "several places"));
    net_free(map);
    explore_free(x);
    simfab_free(sim);
    net_free(truth);
}

static struct explore *explored_with_losses(struct net *truth, uint64_t seed,
                                            struct simfab **sim)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    uint32_t me = net_find_name(truth, "h0");
    struct probe_host self;
    struct explore *x;

    limits.max_ports = 16;
    simfab_host_info(truth, me, &self);
    *sim = simfab_new(truth, me);
    x = explore_new(&limits, &self);
    swfab_seed(simfab_fabric(*sim), seed);
    swfab_set_loss_all(simfab_fabric(*sim), 0.05);
    assert_true(simfab_run(*sim, simfab_explorer(x), LONG));
    return x;
}

/* Comparisons are lost, too, where addresses are not trusted. */
static void ring_with_twins_is_not_unfolded_by_losses(void **state)
{
    struct net *truth = net_build_named("ring:6:1", NULL);

    (void)state;
    net_set_id(truth, net_find_name(truth, "h5"),
               truth->nodes[net_find_name(truth, "h2")].id);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct simfab *sim;
        struct explore *x = explored_with_losses(truth, seed, &sim);
        struct net *map = explore_map(x);

        assert_non_null(map);
        if (map->nxbars != 6 || map->nhosts != 6)
            fail_msg("seed %d: %u crossbars, %u hosts", (int)seed, map->nxbars,
                     map->nhosts);
        net_free(map);
        explore_free(x);
        simfab_free(sim);
    }
    net_free(truth);
}

/* Few answers, all of which came, say nothing about the end check's probes:
 * addresses were not trusted any more. */
static void losses_alone_do_not_begin_anew(void **state)
{
    struct net *truth = net_build_named("ring:5:1+shuffle=63339", NULL);

    (void)state;
    for (uint64_t seed = 530; seed < 540; seed++) {
        struct simfab *sim;
        struct explore *x = explored_with_losses(truth, seed, &sim);
        struct explore_stats stats;

        explore_stats(x, &stats);
        if (stats.restarts)
            fail_msg("seed %d begins anew", (int)seed);
        explore_free(x);
        simfab_free(sim);
    }
    net_free(truth);
}

/* ---- GM-1 ---------------------------------------------------------------- */

static struct gm1_status status1(const struct world *w, unsigned i)
{
    struct gm1_status s;

    gm1_status(w->hosts[nth_host(w, i)].gm1, &s);
    return s;
}

static bool has_version(const struct world *w, unsigned i, uint32_t version)
{
    struct hostside_state s;

    hostside_state(gm1_host_side(w->hosts[nth_host(w, i)].gm1), &s);
    return s.complete && s.version == version;
}

static struct world *gm1_twins(unsigned a, unsigned b)
{
    struct world *w = twins("line:3:3", a, b);

    for (unsigned i = 0; i < 9; i++)
        world_gm1(w, nth_host(w, i), fast, NULL);
    world_run(w, 40 * SECOND);
    return w;
}

static void gm1_maps_both_and_configures_the_others(void **state)
{
    struct world *w = gm1_twins(0, 4);
    struct gm1_status s = status1(w, 8);

    (void)state;
    assert_int_equal(s.state, GM1_STATE_SLEEPING);
    assert_int_equal(s.nhosts, 9);
    assert_int_equal(s.counters.explorations, 1);
    assert_non_null(
        strstr(w->hosts[nth_host(w, 8)].last, "answers in two places"));
    for (unsigned i = 1; i < 9; i++)
        assert_true(i == 4 || has_version(w, i, s.version));
    world_free(w);
}

/* Wherever the two are, on one crossbar, too. */
static void gm1_tells_twins_wherever_they_are(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 8; a++) {
        for (unsigned b = 0; b < 8; b++) {
            struct world *w;

            if (a == b)
                continue;
            w = gm1_twins(a, b);
            assert_non_null(
                strstr(w->hosts[nth_host(w, 8)].last, "answers in "));
            world_free(w);
        }
    }
}

static void gm1_twins_are_not_active(void **state)
{
    struct world *w = gm1_twins(8, 0); /* the highest, twice */
    struct gm1_status s = status1(w, 7);

    (void)state;
    assert_int_equal(w->hosts[nth_host(w, 0)].nfatal, 1);
    assert_int_equal(w->hosts[nth_host(w, 8)].nfatal, 1);
    assert_int_equal(s.state, GM1_STATE_SLEEPING);
    assert_int_equal(s.nhosts, 9);
    for (unsigned i = 1; i < 8; i++)
        assert_true(has_version(w, i, s.version));
    world_free(w);
}

static bool looks_again(struct world *w)
{
    return strstr(w->hosts[nth_host(w, 8)].last, "looking again") != NULL;
}

/* Once, and later again: more often than it may be in a row. */
static void seen_now_and_then(struct world *w)
{
    uint32_t twin = nth_host(w, 0), x = net_peer_node(w->net, twin, 0);
    unsigned port = net_peer_port(w->net, twin, 0);

    for (unsigned i = 0; i <= GM_TWIN_SEARCHES; i++) {
        if (i > 0)
            world_plug(w, twin, 0, x, port);
        w->hosts[nth_host(w, 8)].last[0] = '\0';
        assert_true(world_until(w, world_now(w) + LONG, looks_again));
        world_pull(w, twin, 0);
        world_run(w, world_now(w) + 60 * SECOND);
    }
}

/* A search that lost packets met each host twice, its own, too: the mapper
 * was never active again. */
static void a_gm1_twin_that_was_seen_once_was_never_active_again(void **state)
{
    struct world *w = twins("line:3:3", 8, 0);
    struct gm1_status s;

    (void)state;
    for (unsigned i = 0; i < 9; i++)
        world_gm1(w, nth_host(w, i), fast, NULL);
    seen_now_and_then(w);
    s = status1(w, 8);
    assert_int_equal(w->hosts[nth_host(w, 8)].nfatal, 0);
    assert_int_equal(s.state, GM1_STATE_SLEEPING);
    assert_int_equal(s.nhosts, 8);
    for (unsigned i = 1; i < 9; i++)
        assert_true(has_version(w, i, s.version));
    world_free(w);
}

/* ---- GM-2 ---------------------------------------------------------------- */

static struct gm2_status status2(const struct world *w, unsigned i)
{
    struct gm2_status s;

    gm2_status(w->hosts[nth_host(w, i)].gm2, &s);
    return s;
}

/* Where the routes of a host that verifies lead in the fabric. */
static void routes_lead(const struct world *w, unsigned i)
{
    struct gm2 *m = w->hosts[nth_host(w, i)].gm2;
    const struct net *map = gm2_current_map(m)->net;
    uint32_t me = w->hosts[nth_host(w, i)].me;

    for (uint32_t k = 0; k < map->nhosts; k++) {
        struct net_route r;
        uint32_t end;

        if (k == me)
            continue;
        assert_int_equal(net_routes_get(gm2_current_routes(m), me, k, &r, 1),
                         1);
        end = net_route_follow(w->net, nth_host(w, i), &r, NULL);
        assert_int_not_equal(end, NET_NONE);
        assert_true(w->net->nodes[end].id == map->nodes[k].id);
    }
}

static void gm2_maps_both_and_each_has_routes_of_its_own(void **state)
{
    static const char *const nets[] = {"line:3:3", "torus:3x3:1", "ring:5:2"};
    static const unsigned pair[][2] = {{0, 4}, {2, 5}, {0, 1}};

    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        struct world *w = twins(nets[n], pair[n][0], pair[n][1]);
        unsigned hosts = w->net->nhosts, t = pair[n][1];

        world_gm2_all(w, NULL, NULL);
        world_run(w, 10 * SECOND);
        for (unsigned i = 0; i < hosts; i++) {
            struct gm2_status s = status2(w, i);

            assert_int_equal(s.state, GM2_STATE_VERIFYING);
            assert_int_equal(s.nhosts, hosts);
            assert_int_equal(s.counters.explorations, 1);
            routes_lead(w, i);
        }
        assert_non_null(strstr(w->hosts[nth_host(w, t)].last, "another board"));
        assert_non_null(
            strstr(w->hosts[nth_host(w, hosts - 1)].last, "several places"));
        world_free(w);
    }
}

static void gm2_twins_do_not_lead(void **state)
{
    struct world *w = twins("line:3:3", 8, 0);
    uint32_t a = nth_host(w, 0), b = nth_host(w, 8), left;

    (void)state;
    world_gm2_all(w, NULL, NULL);
    world_run(w, 10 * SECOND);
    assert_true(w->hosts[a].ended || w->hosts[b].ended);
    left = w->hosts[a].nfatal + w->hosts[b].nfatal == 2 ? 7 : 8;
    for (unsigned i = 1; i < 8; i++) {
        struct gm2_status s = status2(w, i);

        assert_int_equal(s.state, GM2_STATE_VERIFYING);
        assert_int_equal(s.nhosts, left);
    }
    world_free(w);
}

/* A search that lost packets met each host twice, its own, too: the mapper
 * ended for good, and its node was cut off. */
static void a_twin_that_was_seen_once_ended_the_mapper(void **state)
{
    struct world *w = twins("line:3:3", 8, 0);
    uint32_t a = nth_host(w, 8);
    struct gm2_status s;

    (void)state;
    world_gm2_all(w, NULL, NULL);
    seen_now_and_then(w);
    s = status2(w, 8);
    assert_int_equal(w->hosts[a].nfatal, 0);
    assert_int_equal(s.state, GM2_STATE_VERIFYING);
    assert_int_equal(s.nhosts, 8);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossbars_that_fit_together_stay_two),
        cmocka_unit_test(ring_with_twins_is_not_unfolded_by_losses),
        cmocka_unit_test(losses_alone_do_not_begin_anew),
        cmocka_unit_test(gm1_maps_both_and_configures_the_others),
        cmocka_unit_test(gm1_tells_twins_wherever_they_are),
        cmocka_unit_test(gm1_twins_are_not_active),
        cmocka_unit_test(a_gm1_twin_that_was_seen_once_was_never_active_again),
        cmocka_unit_test(gm2_maps_both_and_each_has_routes_of_its_own),
        cmocka_unit_test(gm2_twins_do_not_lead),
        cmocka_unit_test(a_twin_that_was_seen_once_ended_the_mapper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
