/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer on software fabrics: exact maps, counted probes, and what it
 * says where a map cannot be exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/same.h"

#define LONG 600000000000ULL

struct world {
    struct net *truth, *map;
    struct simfab *sim;
    struct explore *x;
    struct prober_limits limits;
    struct explore_stats stats;
    uint32_t me;
};

static void open_world(struct world *w, const char *name)
{
    static const struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct errbuf err;

    memset(w, 0, sizeof(*w));
    w->limits = limits;
    w->truth = net_build_named(name, &err);
    if (!w->truth)
        fail_msg("%s: %s", name, err.text);
    for (w->me = 0; !net_is_host(w->truth, w->me) ||
                    net_peer_node(w->truth, w->me, 0) == NET_NONE;)
        w->me++;
}

static void explore(struct world *w)
{
    struct probe_host me;

    simfab_host_info(w->truth, w->me, &me);
    w->sim = w->sim ? w->sim : simfab_new(w->truth, w->me);
    w->x = explore_new(&w->limits, &me);
    assert_non_null(w->sim);
    assert_non_null(w->x);
    assert_true(simfab_run(w->sim, simfab_explorer(w->x), LONG));
    assert_true(explore_done(w->x));
    w->map = explore_map(w->x);
    explore_stats(w->x, &w->stats);
}

static void close_world(struct world *w)
{
    explore_free(w->x);
    simfab_free(w->sim);
    net_free(w->truth);
    net_free(w->map);
}

static void must_be_exact(const struct world *w, const char *name)
{
    struct errbuf err = {{0}};
    uint32_t there;
    struct net *reach = net_reachable(w->truth, w->me, &there);

    assert_non_null(reach);
    if (!w->map || !net_same(reach, w->map, &err))
        fail_msg("%s: %s", name, err.text);
    if (explore_doubt(w->x, 0))
        fail_msg("%s: %s", name, explore_doubt(w->x, 0));
    net_free(reach);
}

static void exact(const char *name, bool tagged, uint64_t most)
{
    struct world w;

    open_world(&w, name);
    w.limits.tagged = tagged;
    explore(&w);
    must_be_exact(&w, name);
    if (most && w.stats.probes > most)
        fail_msg("%s: %lu probes", name, (unsigned long)w.stats.probes);
    close_world(&w);
}

static void bench_nets_are_mapped_exactly(void **state)
{
    (void)state;
    exact("C64", false, 0);
    exact("C512", false, 0);
    exact("C2048", false, 20000);
    exact("C8192", false, 120000);
}

static void bench_nets_with_ids_are_mapped_exactly(void **state)
{
    (void)state;
    exact("C64+ids", true, 300);
    exact("C512+ids", true, 6000);
    exact("C2048+ids", true, 14000);
    exact("C8192+ids", true, 55000);
}

static void memory_stays_small(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "C8192");
    explore(&w);
    assert_true(w.stats.bytes < 40000000);
    assert_int_equal(w.stats.hosts, 8192);
    assert_int_equal(w.stats.links, 24576);
    assert_int_equal(w.stats.crossbars, 1280);
    close_world(&w);
}

static void a_tenth_of_the_cables_may_be_missing(void **state)
{
    (void)state;
    exact("C64+cut=10", false, 0);
    exact("C512+cut=10", false, 0);
    exact("C2048+cut=10", false, 0);
    exact("C512+ids+cut=10", true, 0);
    exact("C64+cut=30:4", false, 0);
}

static void other_shapes_are_mapped_exactly(void **state)
{
    (void)state;
    exact("torus:4x4:2:1", false, 0);
    exact("torus:8x8:6:2", false, 0);
    exact("ring:16:1", false, 0);
    exact("line:12:3", false, 0);
    exact("random:60:30:1", false, 0);
    exact("random:40:400:2+shuffle=9", false, 0);
    exact("random:40:200:3+ids", true, 0);
}

static void regions_without_hosts_are_mapped_exactly(void **state)
{
    (void)state;
    exact("hostless-ring", false, 0);
    exact("hostless-ring:20", false, 0);
    exact("random:60:1:8", false, 0); /* one host: the mapper itself */
    exact("random:60:3:8", false, 0);
    exact("torus:5x5:1:2+cut=5:3", false, 0);
}

static void only_its_own_plane_is_in_the_map(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "two-planes");
    explore(&w);
    must_be_exact(&w, "two-planes");
    assert_int_equal(w.map->nhosts, 64);
    assert_int_equal(w.truth->nhosts, 128);
    close_world(&w);
}

static void crossbars_without_ids_beside_some_with(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "C64");
    for (uint32_t n = 0; n < w.truth->nnodes; n += 3)
        if (!net_is_host(w.truth, n))
            w.truth->nodes[n].has_id = 1;
    w.limits.tagged = true;
    explore(&w);
    must_be_exact(&w, "C64, every third with an id");
    close_world(&w);
}

static void the_end_check_can_be_left_out(void **state)
{
    struct world w;
    uint64_t with, without;

    (void)state;
    open_world(&w, "C512");
    explore(&w);
    with = w.stats.by_kind[PROBE_COMPARE];
    close_world(&w);
    open_world(&w, "C512");
    w.limits.no_check = true;
    explore(&w);
    must_be_exact(&w, "C512, no check");
    without = w.stats.by_kind[PROBE_COMPARE];
    close_world(&w);
    /* 1 024 links, 159 of them ways to crossbars. */
    assert_int_equal(with - without, 1024 - 159);
}

/* G1-79: two boards with one address are reported, never made one. */
static void a_shared_address_is_reported_and_not_merged(void **state)
{
    struct world w;
    bool told = false;
    uint32_t a, b;

    (void)state;
    open_world(&w, "C64");
    a = net_find_name(w.truth, "h10");
    b = net_find_name(w.truth, "h50");
    net_set_id(w.truth, b, w.truth->nodes[a].id);
    explore(&w);
    assert_non_null(w.map);
    assert_int_equal(w.map->nhosts, 64);
    assert_int_equal(w.map->nxbars, 12);
    assert_int_equal(w.map->ncables, 128);
    for (uint32_t i = 0; explore_doubt(w.x, i); i++)
        told |= strstr(explore_doubt(w.x, i), "several places") != NULL;
    assert_true(told);
    close_world(&w);
}

/* Every probe that may come: fixed timers send three times, 10 and 5 ms
 * apart. */
static void fixed_timers_send_three_times_at_their_interval(void **state)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct probe_host me = {.address = 1};
    struct explore *x;
    struct probe probe;
    uint64_t at[2][3];
    unsigned n[2] = {0, 0};

    (void)state;
    limits.fixed_timers = true;
    x = explore_new(&limits, &me);
    for (uint64_t now = 1; !explore_done(x); now = explore_deadline(x)) {
        explore_tick(x, now);
        while (explore_next(x, now, &probe)) {
            int scout = probe.kind == PROBE_SCOUT;

            assert_true(n[scout] < 3);
            assert_int_equal(probe.again, n[scout] > 0);
            at[scout][n[scout]++] = now;
        }
    }
    assert_int_equal(n[0], 3);
    assert_int_equal(n[1], 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(at[0][i] - at[0][i - 1], 5000000);
        assert_int_equal(at[1][i] - at[1][i - 1], 10000000);
    }
    explore_free(x);
}

static void learnt_waits_are_shorter_and_never_longer_than_fixed(void **state)
{
    struct world w;
    uint64_t learnt, fixed;

    (void)state;
    open_world(&w, "C64");
    explore(&w);
    learnt = simfab_now(w.sim);
    assert_true(w.stats.wait < 1000000);
    close_world(&w);
    open_world(&w, "C64");
    w.limits.fixed_timers = true;
    explore(&w);
    must_be_exact(&w, "C64, fixed timers");
    fixed = simfab_now(w.sim);
    assert_int_equal(w.stats.wait, 10000000);
    close_world(&w);
    assert_true(learnt * 4 < fixed);
}

static void nothing_on_the_cable_is_a_map_of_one(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "C64");
    w.sim = simfab_new(w.truth, w.me);
    swfab_set_link(simfab_fabric(w.sim), w.me, 0, false);
    explore(&w);
    assert_int_equal(w.map->nnodes, 1);
    assert_null(explore_doubt(w.x, 0));
    close_world(&w);
}

static void two_hosts_on_one_cable_are_a_map(void **state)
{
    struct world w;
    struct net *net = net_new();

    (void)state;
    net_connect(net, net_add_host(net, "a", 0x11), 0,
                net_add_host(net, "b", 0x22), 0);
    open_world(&w, "C64");
    net_free(w.truth);
    w.truth = net;
    w.me = 0;
    explore(&w);
    must_be_exact(&w, "two hosts");
    assert_int_equal(w.map->nnodes, 2);
    close_world(&w);
}

static void what_is_out_of_reach_is_said(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "line:40:1");
    w.limits.max_route = 32;
    explore(&w);
    assert_non_null(w.map);
    assert_true(w.map->nxbars > 10 && w.map->nxbars < 40);
    assert_non_null(explore_doubt(w.x, 0));
    close_world(&w);
}

static void a_third_of_the_probes_may_be_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world w;

        open_world(&w, seed % 2 ? "C64" : "torus:3x3:3:1");
        w.sim = simfab_new(w.truth, w.me);
        swfab_seed(simfab_fabric(w.sim), seed);
        /* Four to twelve cables there and back. */
        swfab_set_loss_all(simfab_fabric(w.sim), 0.045);
        explore(&w);
        must_be_exact(&w, "with loss");
        close_world(&w);
    }
}

struct move {
    uint64_t when;
    uint32_t host, from, to;
    unsigned port;
};

static void move_host(struct simfab *sim, uint64_t packet, void *arg)
{
    struct move *m = arg;

    if (packet != m->when)
        return;
    swfab_disconnect(simfab_fabric(sim), m->from, m->port);
    for (unsigned p = 0; p < 16; p++)
        if (swfab_connect(simfab_fabric(sim), m->host, 0, m->to, p))
            return;
}

/* A host that answers here and there is a contradiction: whatever comes out,
 * no crossbars may have become one by it. */
static void a_host_that_moves_meanwhile_ruins_nothing(void **state)
{
    (void)state;
    for (uint64_t when = 20; when < 400; when += 37) {
        struct world w;
        struct move m = {.when = when};

        open_world(&w, "line:4:3");
        m.host = net_find_name(w.truth, "h2");
        m.from = net_peer_node(w.truth, m.host, 0);
        m.port = net_peer_port(w.truth, m.host, 0);
        m.to = net_peer_node(w.truth, net_find_name(w.truth, "h11"), 0);
        w.sim = simfab_new(w.truth, w.me);
        simfab_hook(w.sim, move_host, &m);
        explore(&w);
        if (w.map)
            assert_int_equal(w.map->nxbars, 4);
        close_world(&w);
    }
}

/* Every second crossbar says what it is called, as those do that have no name
 * themselves in the files of others. */
static void tell_names(void *engine, uint64_t now,
                       const struct probe_answer *answer)
{
    struct probe_answer told = *answer;

    if (told.outcome == PROBE_ID && told.id.id % 2 == 0)
        snprintf(told.id.name, sizeof(told.id.name), "x%u",
                 (unsigned)(told.id.id % 64));
    explore_answer(engine, now, &told);
}

static void an_invented_name_is_nobody_elses(void **state)
{
    struct simfab_engine engine;
    struct probe_host me;
    uint32_t told = 0;
    struct world w;

    (void)state;
    open_world(&w, "C64+ids");
    w.limits.tagged = true;
    simfab_host_info(w.truth, w.me, &me);
    w.sim = simfab_new(w.truth, w.me);
    w.x = explore_new(&w.limits, &me);
    engine = simfab_explorer(w.x);
    engine.answer = tell_names;
    assert_true(simfab_run(w.sim, engine, LONG));
    w.map = explore_map(w.x);
    assert_non_null(w.map);
    for (uint32_t n = 0; n < w.map->nnodes; n++) {
        const struct net_node *node = &w.map->nodes[n];

        if (net_is_host(w.map, n) || node->id % 2 == 0) {
            told++;
            continue;
        }
        assert_int_equal(net_find_name(w.map, node->name), n);
    }
    assert_true(told > 64);
    close_world(&w);
}

static void strange_answers_are_ignored(void **state)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct probe_host me = {.address = 1};
    struct explore *x = explore_new(&limits, &me);
    struct probe_answer answer = {.outcome = PROBE_BACK};
    struct probe probe;

    (void)state;
    assert_true(explore_next(x, 1, &probe));
    answer.tag = probe.tag + 1;
    explore_answer(x, 2, &answer);
    answer.tag = probe.tag + (1ULL << 32);
    explore_answer(x, 2, &answer);
    assert_false(explore_next(x, 2, &probe));
    answer.tag = probe.tag;
    explore_answer(x, 3, &answer);
    explore_answer(x, 3, &answer); /* twice */
    assert_true(explore_next(x, 4, &probe));
    explore_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bench_nets_are_mapped_exactly),
        cmocka_unit_test(bench_nets_with_ids_are_mapped_exactly),
        cmocka_unit_test(memory_stays_small),
        cmocka_unit_test(a_tenth_of_the_cables_may_be_missing),
        cmocka_unit_test(other_shapes_are_mapped_exactly),
        cmocka_unit_test(regions_without_hosts_are_mapped_exactly),
        cmocka_unit_test(only_its_own_plane_is_in_the_map),
        cmocka_unit_test(crossbars_without_ids_beside_some_with),
        cmocka_unit_test(the_end_check_can_be_left_out),
        cmocka_unit_test(a_shared_address_is_reported_and_not_merged),
        cmocka_unit_test(fixed_timers_send_three_times_at_their_interval),
        cmocka_unit_test(learnt_waits_are_shorter_and_never_longer_than_fixed),
        cmocka_unit_test(nothing_on_the_cable_is_a_map_of_one),
        cmocka_unit_test(two_hosts_on_one_cable_are_a_map),
        cmocka_unit_test(what_is_out_of_reach_is_said),
        cmocka_unit_test(a_third_of_the_probes_may_be_lost),
        cmocka_unit_test(a_host_that_moves_meanwhile_ruins_nothing),
        cmocka_unit_test(an_invented_name_is_nobody_elses),
        cmocka_unit_test(strange_answers_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
