/* SPDX-License-Identifier: BSD-3-Clause
 * One GM-1 mapper maps, configures, and finds changes.
 */
#include "gm1_util.h"

#include "mapper/verify.h"
#include "net/same.h"

static void one_mapper_configures_all(void **state)
{
    static const char *const nets[] = {"line:1:4", "line:3:3", "ring:5:2",
                                       "clos:4x4:1x2:1x2", "hostless-ring:4"};

    for (unsigned n = 0; n < 5; n++) {
        struct world *w = one_mapper(nets[n], n == 1 ? NULL : learnt);
        unsigned last = w->net->nhosts - 1;
        bool seen[70] = {false};

        assert_true(world_until(w, 60 * SECOND, all_configured));
        assert_true(
            net_same(w->net, gm1_map(w->hosts[host(w, last)].gm1), NULL));
        for (unsigned i = 0; i <= last; i++) {
            struct hostside_state s = state_of(w, i);

            assert_int_equal(s.mapper, NET_BUILD_HOST_ID + last);
            assert_int_equal(s.nentries, last + 1);
            assert_in_range(s.gmid, 1, last + 1);
            assert_false(seen[s.gmid]);
            seen[s.gmid] = true;
        }
        world_free(w);
    }
}

static void routes_lead_where_they_say(void **state)
{
    struct world *w = one_mapper("torus:3x3:1", learnt);

    assert_true(world_until(w, 8 * SECOND, all_configured));
    for (unsigned i = 0; i < 9; i++) {
        for (unsigned k = 0; k < 9; k++) {
            const struct gm1_entry *e =
                hostside_find(side(w, i), NET_BUILD_HOST_ID + k);
            struct net_route r;

            assert_non_null(e);
            if (i == k) {
                assert_int_equal(e->route.len, 0);
                continue;
            }
            r.hops = (uint8_t)e->route.len;
            memcpy(r.byte, e->route.byte, e->route.len);
            assert_int_equal(net_route_follow(w->net, host(w, i), &r, NULL),
                             host(w, k));
        }
    }
    world_free(w);
}

/* What happens to the fabric while its mapper is off. */
static void nothing(struct world *w)
{
    (void)w;
}

static void pull_a_host(struct world *w)
{
    world_pull(w, host(w, 0), 0);
}

/* To the first place of a crossbar without a cable. */
static void move_a_host(struct world *w)
{
    uint32_t x = 0;
    unsigned port = 0;

    while (net_is_host(w->net, x) || net_peer_node(w->net, x, port) != NET_NONE)
        if (++port >= w->net->nodes[x].nports) {
            port = 0;
            assert_true(++x < w->net->nnodes);
        }
    world_pull(w, host(w, 5), 0);
    world_plug(w, host(w, 5), 0, x, port);
}

/* The mapper of `net` starts again; its map is the truth at the end. */
static struct gm1_status started_again(const char *net, bool keeps,
                                       void (*meanwhile)(struct world *w))
{
    struct world *w = world_new(net, 1);
    unsigned last = w->net->nhosts - 1;
    struct gm1_status s;

    w->keeps = keeps;
    for (unsigned i = 0; i < last; i++)
        world_host(w, host(w, i), NULL);
    world_gm1(w, host(w, last), learnt, NULL);
    assert_true(world_until(w, 60 * SECOND, world_gm1_settled));
    world_kill(w, host(w, last));
    meanwhile(w);
    world_gm1(w, host(w, last), learnt, NULL);
    assert_true(world_until(w, world_now(w) + 60 * SECOND, world_gm1_settled));
    /* names are not stored, but hosts have said theirs */
    assert_int_not_equal(
        net_find_name(gm1_map(w->hosts[host(w, last)].gm1), "h1"), NET_NONE);
    s = status(w, last);
    world_free(w);
    return s;
}

static uint64_t probes(const struct gm1_status *s)
{
    return s->counters.scouts + s->counters.switches;
}

static void a_mapper_that_starts_again_verifies_its_old_map(void **state)
{
    static const char *const nets[] = {"C64", "line:3:3", "torus:3x3:1"};

    for (unsigned n = 0; n < 3; n++) {
        struct gm1_status with = started_again(nets[n], true, nothing);
        struct gm1_status without = started_again(nets[n], false, nothing);

        print_message("# %s: %llu probes, without a stored map %llu\n", nets[n],
                      (unsigned long long)probes(&with),
                      (unsigned long long)probes(&without));
        assert_int_equal(with.counters.explorations, 0);
        assert_int_equal(with.counters.hypotheses, 1);
        assert_int_equal(without.counters.explorations, 1);
        assert_true(probes(&with) < probes(&without));
    }
}

/* Whatever is different, a loss or more. */
static void only_what_is_not_true_of_an_old_map_is_explored(void **state)
{
    static void (*const changes[])(struct world *) = {pull_a_host, move_a_host};

    for (unsigned i = 0; i < 2; i++) {
        struct gm1_status all =
            started_again("C64+cut=10:3", false, changes[i]);
        struct gm1_status rest =
            started_again("C64+cut=10:3", true, changes[i]);

        print_message("# C64, a host %s: %llu probes for all, %llu with what "
                      "was verified\n",
                      i ? "moved" : "lost", (unsigned long long)probes(&all),
                      (unsigned long long)probes(&rest));
        assert_int_equal(all.counters.regions, 0);
        assert_int_equal(rest.counters.regions, 1);
        assert_int_equal(rest.counters.hypotheses, 1);
        assert_int_equal(rest.counters.explorations, 1);
        assert_int_equal(rest.nhosts, all.nhosts);
        assert_true(probes(&rest) < probes(&all));
    }
}

static uint32_t change_seed;

/* A port of a crossbar with a cable to another one. */
static uint32_t any_cable(const struct world *w, struct net_rng *rng)
{
    for (;;) {
        uint32_t p = net_rng_below(rng, w->net->nports);
        uint32_t peer = w->net->ports[p].peer;

        if (peer != NET_NONE && !net_is_host(w->net, w->net->ports[p].node) &&
            !net_is_host(w->net, w->net->ports[peer].node))
            return p;
    }
}

static void pull(struct world *w, uint32_t port)
{
    world_pull(w, w->net->ports[port].node, net_port_number(w->net, port));
}

static void plug(struct world *w, uint32_t a, uint32_t b)
{
    world_plug(w, w->net->ports[a].node, net_port_number(w->net, a),
               w->net->ports[b].node, net_port_number(w->net, b));
}

static void pull_a_cable(struct world *w)
{
    struct net_rng rng = {change_seed};

    pull(w, any_cable(w, &rng));
}

/* Two cables change places at one end. */
static void exchange_two_cables(struct world *w)
{
    struct net_rng rng = {change_seed};
    uint32_t a = any_cable(w, &rng), b = any_cable(w, &rng);
    uint32_t fa = w->net->ports[a].peer, fb = w->net->ports[b].peer;

    if (a == b || a == fb)
        return;
    pull(w, a);
    pull(w, b);
    plug(w, a, fb);
    plug(w, b, fa);
}

/* Not by the first verification, ten seconds later. */
static void what_is_different_in_an_old_map_is_found_at_once(void **state)
{
    static void (*const changes[])(struct world *) = {pull_a_cable,
                                                      exchange_two_cables};
    static const char *const nets[] = {"torus:3x3:1", "clos:4x4:1x2:1x2"};

    for (change_seed = 1; change_seed <= 60; change_seed++) {
        struct gm1_status s = started_again(nets[change_seed / 2 % 2], true,
                                            changes[change_seed % 2]);

        assert_int_equal(s.counters.verifications, 0);
    }
}

static uint32_t rounds[16], nrounds;

struct verify *__real_verify_new(const struct prober_limits *limits,
                                 const struct verify_options *options,
                                 const struct net *map, uint32_t me);
struct verify *__wrap_verify_new(const struct prober_limits *limits,
                                 const struct verify_options *options,
                                 const struct net *map, uint32_t me);

struct verify *__wrap_verify_new(const struct prober_limits *limits,
                                 const struct verify_options *options,
                                 const struct net *map, uint32_t me)
{
    if (nrounds < 16 && options->rings > 0)
        rounds[nrounds++] = options->round;
    return __real_verify_new(limits, options, map, me);
}

/* 512 links to a verification: the shares of the rounds have to follow each
 * other, or some links of a large fabric are never closed to rings. */
static void each_verification_closes_other_links_to_rings(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    nrounds = 0;
    world_run(w, 20 * SECOND);
    assert_true(nrounds >= 4);
    for (uint32_t i = 1; i < nrounds; i++)
        assert_int_equal(rounds[i], rounds[i - 1] + 1);
    world_free(w);
}

static void count_whole(struct world *w, uint32_t node, bool whole)
{
    *(unsigned *)w->tap_arg += whole;
}

/* Who never heard of anybody has no routes to keep: it is told what it is. */
static void a_mapper_that_never_had_a_cable_configures_itself(void **state)
{
    struct world *w = world_new("line:1:2", 1);
    unsigned told = 0;

    w->loads = count_whole;
    w->tap_arg = &told;
    world_pull(w, host(w, 1), 0);
    world_gm1(w, host(w, 1), learnt, NULL);
    world_run(w, 5 * SECOND);
    assert_int_equal(told, 1);
    assert_int_equal(state_of(w, 1).mapper, NET_BUILD_HOST_ID + 1);
    world_free(w);
}

static void an_unchanged_net_is_left_alone(void **state)
{
    struct world *w = one_mapper("line:3:3", learnt);
    struct gm1_status first, last;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    world_run(w, 9 * SECOND);
    first = status(w, 8);
    assert_int_equal(first.state, GM1_STATE_SLEEPING);
    assert_int_equal(first.counters.verifications, 0);
    world_run(w, 215 * SECOND);
    last = status(w, 8);
    assert_in_range(last.counters.verifications, 18, 21); /* each 10 s */
    assert_int_equal(last.counters.explorations, 1);
    assert_int_equal(last.counters.configs, first.counters.configs);
    assert_int_equal(last.counters.versions, 1);
    assert_true((last.counters.scouts + last.counters.switches -
                 first.counters.scouts - first.counters.switches) /
                    last.counters.verifications <
                first.counters.scouts + first.counters.switches);
    world_free(w);
}

static void never_verify(struct gm1_options *c, uint32_t node, void *arg)
{
    fast(c, node, arg);
    c->no_verify = true;
}

static void verification_can_be_switched_off(void **state)
{
    struct world *w = one_mapper("line:2:2", never_verify);

    world_run(w, 31 * SECOND);
    assert_int_equal(status(w, 3).counters.verifications, 0);
    assert_in_range(status(w, 3).counters.explorations, 9, 11);
    assert_int_equal(status(w, 3).counters.versions, 1);
    world_free(w);
}

static void changes_lead_back_to_exploration(void **state)
{
    struct world *w = one_mapper("ring:5:2", fast);
    uint32_t x = net_peer_node(w->net, host(w, 0), 0), peer;
    unsigned port = 0, back;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    for (;; port++) {
        peer = net_peer_node(w->net, x, port);
        if (peer != NET_NONE && w->net->nodes[peer].kind == NET_XBAR)
            break;
    }
    back = net_peer_port(w->net, x, port);
    world_pull(w, x, port);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(status(w, 9).version, 2);
    assert_true(all_configured(w));
    world_plug(w, x, port, peer, back);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(status(w, 9).version, 3);
    assert_true(all_configured(w));
    world_kill(w, host(w, 2));
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(gm1_map(w->hosts[host(w, 9)].gm1)->nhosts, 9);
    world_host(w, host(w, 2), NULL);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_int_equal(gm1_map(w->hosts[host(w, 9)].gm1)->nhosts, 10);
    assert_true(all_configured(w));
    world_free(w);
}

static void versions_rise_and_are_never_0(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);
    uint32_t x = net_peer_node(w->net, host(w, 0), 0);
    unsigned port = net_peer_port(w->net, host(w, 0), 0);
    uint32_t before = 0;

    for (int i = 0; i < 20; i++) {
        world_run(w, world_now(w) + 5 * SECOND);
        assert_true(status(w, 3).version > before);
        before = status(w, 3).version;
        if (i % 2)
            world_plug(w, x, port, host(w, 0), 0);
        else
            world_pull(w, x, port);
    }
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_mapper_configures_all),
    cmocka_unit_test(routes_lead_where_they_say),
    cmocka_unit_test(a_mapper_that_starts_again_verifies_its_old_map),
    cmocka_unit_test(only_what_is_not_true_of_an_old_map_is_explored),
    cmocka_unit_test(what_is_different_in_an_old_map_is_found_at_once),
    cmocka_unit_test(each_verification_closes_other_links_to_rings),
    cmocka_unit_test(a_mapper_that_never_had_a_cable_configures_itself),
    cmocka_unit_test(an_unchanged_net_is_left_alone),
    cmocka_unit_test(verification_can_be_switched_off),
    cmocka_unit_test(changes_lead_back_to_exploration),
    cmocka_unit_test(versions_rise_and_are_never_0),
};

const struct suite gm1_mapping = SUITE(tests);
