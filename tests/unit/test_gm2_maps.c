/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: versions of maps, options that change them, routes.
 */
#include "gm2_util.h"

/* ---- versions and pieces ------------------------------------------------- */

static void counters_start_at_random(void **state)
{
    uint32_t first = 0;

    for (uint64_t seed = 1; seed < 4; seed++) {
        struct world *w = world_new("line:1:2", seed);
        uint32_t counter;

        world_gm2_all(w, NULL, NULL);
        assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
        counter = status(w, host(w, 1)).version.counter;
        assert_int_not_equal(counter, 0);
        assert_int_not_equal(counter, first);
        first = counter;
        world_free(w);
    }
}

static void no_pause(struct gm2_config *c, uint32_t node, void *arg)
{
    c->thrash = true;
    c->verify_pause = 100 * MS;
}

static void thrash_raises_the_version_without_change(void **state)
{
    struct world *w = world_new("line:2:3", 1);
    uint32_t before;

    world_gm2_all(w, no_pause, NULL);
    world_until(w, 5 * SECOND, world_gm2_settled);
    before = status(w, host(w, 5)).version.counter;
    world_run(w, world_now(w) + 10 * SECOND);
    assert_in_range(status(w, host(w, 5)).version.counter - before, 3, 100);
    world_free(w);
}

/* Who is told of a map asks who leads: the report of a new map said that
 * nobody did, so that switchmgrd had to wait for the next one. */
static void a_map_is_told_when_it_is_valid(void **state)
{
    struct world *w = settled("line:2:3");

    for (unsigned i = 0; i < 6; i++) {
        const struct gm2_status *told = &w->hosts[host(w, i)].told;

        assert_true(told->valid);
        assert_int_equal(told->leader, i == 5);
        assert_int_equal(told->version.counter,
                         status(w, host(w, i)).version.counter);
    }
    world_free(w);
}

static void once(struct gm2_config *c, uint32_t node, void *arg)
{
    c->map_once = true;
}

static bool all_ended(struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].gm2 && !w->hosts[i].ended)
            return false;
    return true;
}

/* The seed whose first number is 0xffffffff. */
static void begin_at_the_end(struct gm2_config *c, uint32_t node, void *arg)
{
    c->seed = UINT64_C(0x25114ed53327345a) ^ c->address;
}

static void the_counter_skips_0(void **state)
{
    struct world *w = world_new("line:1:2", 1);

    world_gm2_all(w, begin_at_the_end, NULL);
    assert_true(world_until(w, 20 * SECOND, everybody_is_valid));
    assert_int_equal(status(w, host(w, 1)).version.counter, 1);
    assert_int_equal(status(w, host(w, 1)).counters.maps, 1);
    world_free(w);
}

static void complete_is_when_the_last_has_it(void **state)
{
    struct world *w = world_new("line:1:2", 1);

    world_gm2_all(w, NULL, NULL);
    while (!status(w, host(w, 1)).complete && world_now(w) < 20 * SECOND)
        world_run(w, world_now(w) + MS / 10);
    assert_true(status(w, host(w, 1)).complete);
    assert_int_equal(status(w, host(w, 1)).done, 2);
    assert_true(everybody_is_valid(w));
    world_free(w);
}

static void map_once_ends_when_everybody_has_the_map(void **state)
{
    struct world *w = world_new("line:3:3", 1);
    uint32_t counter;

    world_gm2_all(w, once, NULL);
    assert_true(world_until(w, 60 * SECOND, all_ended));
    counter = status(w, host(w, 8)).version.counter;
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(w->hosts[host(w, i)].nfatal, 0);
        assert_int_equal(status(w, host(w, i)).version.counter, counter);
    }
    world_free(w);
}

static void inflate(struct gm2_config *c, uint32_t node, void *arg)
{
    c->extra_hosts = 100;
}

static void extra_hosts_inflate_the_map(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, inflate, NULL);
    assert_true(world_until(w, 20 * SECOND, everybody_is_valid));
    world_run(w, world_now(w) + 10 * SECOND);
    assert_true(everybody_is_valid(w));
    assert_int_equal(status(w, host(w, 0)).nhosts, 106);
    assert_int_equal(status(w, host(w, 5)).counters.maps, 1);
    assert_true(status(w, host(w, 5)).complete);
    world_free(w);
}

static void by_increment(struct gm2_config *c, uint32_t node, void *arg)
{
    c->map_incrementally = arg == NULL;
}

static uint64_t repair_cost(bool full)
{
    struct world *w = world_new("clos:4x4:1x2:1x2", 1);
    uint32_t leader = host(w, 15), x;
    uint64_t before;

    world_gm2_all(w, by_increment, full ? w : NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    before = status(w, leader).counters.probes;
    x = net_peer_node(w->net, leader, 0);
    for (unsigned p = 0; p < w->net->nodes[x].nports; p++) {
        uint32_t peer = net_peer_node(w->net, x, p);

        if (peer != NET_NONE && w->net->nodes[peer].kind == NET_XBAR) {
            world_pull(w, x, p);
            break;
        }
    }
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    before = status(w, leader).counters.probes - before;
    world_free(w);
    return before;
}

static void incremental_mapping_takes_fewer_probes(void **state)
{
    uint64_t full = repair_cost(true), patch = repair_cost(false);

    print_message("# one link lost: %llu probes in full, %llu patched\n",
                  (unsigned long long)full, (unsigned long long)patch);
    assert_true(patch < full);
}

/* ---- routes -------------------------------------------------------------- */

#define BEYOND "no route of at most 11 hops leads to 1 of 11 hosts: "

static void eleven_hops_and_no_more(void **state)
{
    struct world *w = settled("line:11:1");
    struct gm2_status s;

    assert_true(status(w, host(w, 0)).valid);
    world_free(w);
    w = settled("line:12:1");
    for (unsigned i = 0; i < 12; i++) {
        s = status(w, host(w, i));
        assert_string_equal(s.beyond, i == 0    ? BEYOND "0060dd00000c"
                                      : i == 11 ? BEYOND "0060dd000001"
                                                : "");
        assert_int_equal(w->hosts[host(w, i)].nfatal, 0);
    }
    world_free(w);
}

/* The mappers ended; and where the way to a partner in the tree is longer than
 * any route, the map goes down there all the same. */
static void a_ring_of_20_is_mapped_by_all(void **state)
{
    struct world *w = settled("ring:20:1");
    unsigned beyond = 0;

    for (unsigned i = 0; i < 20; i++) {
        struct gm2_status s = status(w, host(w, i));

        assert_int_equal(s.nhosts, 20);
        assert_int_equal(w->hosts[host(w, i)].nfatal, 0);
        beyond += s.beyond[0] != '\0';
    }
    assert_true(beyond > 0);
    world_free(w);
}

static void deep(struct gm2_config *c, uint32_t node, void *arg)
{
    c->routes.hop_limit = 20;
}

static void the_limit_can_be_raised(void **state)
{
    struct world *w = world_new("line:12:1", 1);

    world_gm2_all(w, deep, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_free(w);
}

static void non_clos(struct gm2_config *c, uint32_t node, void *arg)
{
    c->routes.engine = NET_UPDOWN;
}

static void gm2_engine(struct gm2_config *c, uint32_t node, void *arg)
{
    c->routes.engine = NET_GM2;
}

/* Every host knows its place, and its routes to every other lead there. */
static void check_routes(struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        const struct gm2_map *map;
        uint32_t me;

        if (!w->hosts[i].gm2)
            continue;
        map = gm2_current_map(w->hosts[i].gm2);
        me = gm2_map_host(map, w->net->nodes[i].id);
        assert_int_equal(w->hosts[i].me, me); /* as it was told */
        for (uint32_t to = 0; to < map->net->nhosts; to++) {
            struct net_route r[8];
            unsigned n;

            if (to == me)
                continue;
            n = net_routes_get(gm2_current_routes(w->hosts[i].gm2), me, to, r,
                               8);
            assert_in_range(n, 1, 8);
            for (unsigned k = 0; k < n; k++)
                assert_int_equal(net_route_follow(w->net, i, &r[k], NULL),
                                 net_find_host(w->net, map->net->nodes[to].id));
        }
    }
}

static void gm2_routes_lead_where_they_say(void **state)
{
    static world_gm2_f *const tunes[] = {NULL, non_clos, gm2_engine};

    for (int i = 0; i < 3; i++) {
        struct world *w = world_new("ring:5:2", 1);

        world_gm2_all(w, tunes[i], NULL);
        assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
        check_routes(w);
        world_free(w);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(counters_start_at_random),
    cmocka_unit_test(thrash_raises_the_version_without_change),
    cmocka_unit_test(the_counter_skips_0),
    cmocka_unit_test(a_map_is_told_when_it_is_valid),
    cmocka_unit_test(complete_is_when_the_last_has_it),
    cmocka_unit_test(map_once_ends_when_everybody_has_the_map),
    cmocka_unit_test(extra_hosts_inflate_the_map),
    cmocka_unit_test(incremental_mapping_takes_fewer_probes),
    cmocka_unit_test(eleven_hops_and_no_more),
    cmocka_unit_test(a_ring_of_20_is_mapped_by_all),
    cmocka_unit_test(the_limit_can_be_raised),
    cmocka_unit_test(gm2_routes_lead_where_they_say),
};

const struct suite gm2_maps = SUITE(tests);
