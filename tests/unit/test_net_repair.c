/* SPDX-License-Identifier: BSD-3-Clause
 * Routes after cables are gone.
 */
#include "net/deadlock.h"
#include "net/route.h"
#include "net/route_impl.h"
#include "net_check.h"

/* Of the engines that repair. */
static struct net_routes *routes(const struct net *net)
{
    struct net_route_params p = {.engine = NET_DMODK, .hop_limit = 30};
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);

    if (!r) {
        p.engine = NET_UPDOWN;
        r = net_routes_new(net, &p, &err);
    }
    if (!r)
        fail_msg("%s", err.text);
    return r;
}

/* Take out a cable by chance; its ends. */
static bool cut_one(struct net *net, struct net_rng *rng, bool hosts,
                    uint32_t *port, uint32_t *peer)
{
    for (int i = 0; i < 10000; i++) {
        uint32_t p = net_rng_below(rng, net->nports), q = net->ports[p].peer;

        if (q == NET_NONE || (!hosts && (net_is_host(net, net->ports[p].node) ||
                                         net_is_host(net, net->ports[q].node))))
            continue;
        net_disconnect(net, net->ports[p].node, net_port_number(net, p));
        *port = p;
        *peer = q;
        return true;
    }
    return false;
}

/* Loads as the routes really are. */
static void loads_are_true(const struct net *net, const struct net_routes *r)
{
    uint32_t *load = calloc(net->nports, sizeof(*load));
    struct net_path p;

    if (!net_routes_loads(r)) {
        free(load);
        return; /* nobody knows those of all hosts */
    }
    for (uint32_t s = 0; s < net->nnodes; s++)
        for (uint32_t d = 0; d < net->nnodes; d++)
            if (net_routes_path(r, s, d, &p))
                for (unsigned i = 1; i < p.hops; i++)
                    load[p.port[i]]++;
    for (uint32_t q = 0; q < net->nports; q++) {
        uint32_t peer = net->ports[q].peer;

        if (peer != NET_NONE && !net_is_host(net, net->ports[q].node) &&
            !net_is_host(net, net->ports[peer].node))
            assert_int_equal(load[q], net_routes_loads(r)[q]);
    }
    free(load);
}

/* As many pairs as fresh routes would serve, no dead cable, no deadlock. */
static void as_good_as_new(const struct net *net, const struct net_routes *r)
{
    struct net_routes *fresh = routes(net);
    struct net_balance a, b;
    struct errbuf err;
    struct net_path p;

    net_routes_balance(r, &a);
    net_routes_balance(fresh, &b);
    assert_int_equal(a.pairs, b.pairs);
    assert_int_equal(net_routes_deadlock(r, &err), 0);
    for (uint32_t s = 0; s < net->nnodes; s++)
        for (uint32_t d = 0; d < net->nnodes; d += 1 + net->nnodes / 100) {
            if (!net_routes_path(r, s, d, &p))
                continue;
            for (unsigned i = 0; i < p.hops; i++)
                assert_int_equal(net->ports[net->ports[p.port[i]].peer].node,
                                 net->ports[p.port[i + 1]].node);
        }
    net_routes_free(fresh);
}

static void repeated(const char *name, unsigned rounds, bool hosts,
                     uint64_t seed)
{
    struct net *net = named(name);
    struct net_routes *r = routes(net);
    struct net_rng rng = {seed};
    struct errbuf err;

    for (unsigned i = 0; i < rounds; i++) {
        uint32_t port, peer;

        if (!cut_one(net, &rng, hosts, &port, &peer))
            break;
        if (net_routes_repair(r, &port, &peer, 1, NULL, &err) < 0) {
            net_routes_free(r); /* allowed: then all is computed anew */
            r = routes(net);
        }
        as_good_as_new(net, r);
        loads_are_true(net, r);
    }
    net_routes_free(r);
    net_free(net);
}

static void repaired_routes_are_as_good_as_new(void **state)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        repeated("C64", 12, false, seed);
        repeated("C64+cut=10", 10, true, seed);
        repeated("torus:4x4:1:2", 10, true, seed);
        repeated("random:20:40:3", 10, true, seed);
        repeated("ring:6", 3, true, seed);
    }
    repeated("C512", 2, false, 1);
}

/* Two cables lead on from where some ways turn and others come down: a place of
 * a tree that is moved takes both along. */
static void loads_are_true_where_ways_turn_and_come_down(void **state)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        repeated("clos:4x4x4:1x2x2:1x2x2", 10, false, seed);
}

/* Places of trees at every level of four, also where two cables lead to one
 * crossbar: repaired again and again they are as true as new ones, and no way
 * is longer. */
static void places_of_four_levels_are_mended(void **state)
{
    static const char *const nets[] = {"clos:3x3x3x3:1x3x3x3:1x1x1x1",
                                       "clos:2x2x3x3:1x2x2x2:1x1x2x2"};

    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            repeated(nets[i], 6, seed % 2 == 0, seed);
}

/* The crossbar's first cable upwards that is left, as a global port. */
static uint32_t first_up(const struct net_routes *r, uint32_t x)
{
    uint32_t e = r->first[x];

    while (r->edges[e].dead)
        e++;
    assert_true(e < r->first[x + 1] && r->edges[e].up);
    return net_edge_port(r, x, &r->edges[e]);
}

/* Between hosts by chance: as long as the turn says, over cables that are
 * there. */
static void ways_are_whole(const struct net *net, const struct net_routes *r,
                           uint64_t seed, uint64_t *hops)
{
    struct net_rng rng = {seed};
    struct net_path p;

    *hops = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t s = net_rng_below(&rng, net->nhosts);
        uint32_t d = net_rng_below(&rng, net->nhosts);

        if (s == d)
            continue;
        assert_true(net_routes_path(r, s, d, &p));
        *hops += p.hops;
        for (unsigned k = 0; k < p.hops; k++)
            assert_int_equal(net->ports[net->ports[p.port[k]].peer].node,
                             net->ports[p.port[k + 1]].node);
    }
}

/* A lost cable above a leaf, a pod, a pod of pods: no more than a few trees of
 * 65 536 are written down whole, those from which much load is taken. */
static void a_cable_of_65536_hosts_is_mended_place_by_place(void **state)
{
    struct net *net = named("C65536");
    struct net_routes *r = routes(net);
    struct net_rng rng = {7};

    for (unsigned i = 0; i < 3; i++) {
        uint32_t x, port, peer, worst, rows = r->nrows;
        uint64_t was, is;
        struct net_repair what;
        struct errbuf err;

        do
            x = net_rng_below(&rng, r->nx);
        while (r->clos.level[x] != i + 1);
        ways_are_whole(net, r, i, &was);
        port = first_up(r, x);
        peer = net->ports[port].peer;
        net_disconnect(net, net->ports[port].node, net_port_number(net, port));
        if (net_routes_repair(r, &port, &peer, 1, &what, &err) < 0)
            fail_msg("%s", err.text);
        print_message("# level %u: %u trees, %u rows, %llu routes\n", i + 1,
                      what.trees, r->nrows - rows,
                      (unsigned long long)what.routes);
        assert_in_range(r->nrows - rows, 0, i == 0 ? 16 : 256);
        ways_are_whole(net, r, i, &is);
        assert_int_equal(was, is);
        worst = 0;
        for (uint32_t p = 0; p < net->nports; p++)
            if (net_routes_loads(r)[p] > worst)
                worst = net_routes_loads(r)[p];
        if (worst > 1.07 * net_ideal_load(net))
            fail_msg("level %u: %u", i + 1, worst);
    }
    net_routes_free(r);
    net_free(net);
}

/* One uplink of a leaf: only routes that went over it change, and the few
 * that make room. */
static void repair_touches_what_used_the_cable(void **state)
{
    struct net *net = named("C512"), *before = net_copy(net);
    struct net_routes *old = routes(before), *r = routes(net);
    uint32_t port = net->nodes[net_find_name(net, "s1.5")].first + 9;
    uint32_t peer = net->ports[port].peer;
    struct net_repair what;
    struct errbuf err;
    uint64_t used = 0, changed = 0;

    net_disconnect(net, net->ports[port].node, 9);
    assert_int_equal(net_routes_repair(r, &port, &peer, 1, &what, &err), 0);
    for (uint32_t s = 0; s < 512; s++)
        for (uint32_t d = 0; d < 512; d++) {
            struct net_path a, b;
            bool over = false;

            if (s == d || !net_routes_path(old, s, d, &a))
                continue;
            assert_true(net_routes_path(r, s, d, &b));
            for (unsigned i = 0; i <= a.hops; i++)
                over = over || a.port[i] == port || a.port[i] == peer;
            used += over;
            changed += memcmp(a.port, b.port, (a.hops + 1u) * 4) != 0;
        }
    assert_int_equal(used, 2 * 504);
    assert_in_range(changed, used, used + used / 10);
    assert_int_equal(what.routes, changed / 8); /* leaf to host */
    assert_in_range(what.hosts, 8, 512);
    net_routes_free(old);
    net_routes_free(r);
    net_free(before);
    net_free(net);
}

/* Folded Clos nets of two to four levels, with parallel cables and holes. */
static const char *const clos_nets[] = {
    "C64", "C64+cut=10", "clos:4x4x4:1x2x2:1x2x2",
    "clos:3x3x3x3:1x3x3x3:1x1x1x1", "clos:2x2x3x3:1x2x2x2:1x1x2x2"};
#define CLOS_NETS (sizeof(clos_nets) / sizeof(*clos_nets))

/* Of all pairs of hosts, whose first route is another?  Counted from leaf to
 * host, and hosts at such a leaf. */
static void count_changed(const struct net_routes *old,
                          const struct net_routes *r, struct net_repair *real)
{
    const struct net *net = r->net;

    *real = (struct net_repair){0};
    for (uint32_t s = 0; s < net->nnodes; s++) {
        uint32_t leaf = net_is_host(net, s) ? r->leaf_of[s] : NET_NONE;
        uint32_t others = 0;

        for (uint32_t d = 0; leaf != NET_NONE && d < net->nnodes; d++) {
            struct net_path a, b;

            if (!net_routes_path(old, s, d, &a) ||
                !net_routes_path(r, s, d, &b))
                continue;
            others += a.hops != b.hops ||
                      memcmp(a.port + 1, b.port + 1, a.hops * 4u) != 0;
        }
        real->hosts += others != 0;
        if (r->column[s] == 0)
            real->routes += others;
    }
}

/* What a repair says that it touched is what it touched. */
static void repair_tells_what_is_another(void **state)
{
    unsigned kept = 0;

    for (size_t i = 0; i < CLOS_NETS; i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct net *net = named(clos_nets[i]), *before = net_copy(net);
            struct net_routes *old = routes(before), *r = routes(net);
            struct net_rng rng = {seed};
            struct net_repair what, real;
            struct errbuf err;
            uint32_t port, peer;

            assert_true(cut_one(net, &rng, false, &port, &peer));
            if (r->rows &&
                net_routes_repair(r, &port, &peer, 1, &what, &err) == 0) {
                kept++;
                count_changed(old, r, &real);
                assert_int_equal(what.routes, real.routes);
                assert_int_equal(what.hosts, real.hosts);
            }
            net_routes_free(old);
            net_routes_free(r);
            net_free(before);
            net_free(net);
        }
    assert_in_range(kept, 30, 8 * CLOS_NETS);
}

static void mark_dead(struct net_routes *r, uint32_t port)
{
    uint32_t x = r->xindex[r->net->ports[port].node];

    r->edges[net_edge_by_port(r, x, net_port_number(r->net, port))].dead = 1;
}

/* Cables are taken out one after the other: where a look at the crossbars that
 * lost one says that up and down are as before, all of a new orientation says
 * so. */
static void a_short_look_at_up_and_down_is_never_wrong(void **state)
{
    unsigned sure = 0, unsure = 0, other = 0;

    for (size_t i = 0; i < CLOS_NETS; i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct net *net = named(clos_nets[i]);
            struct net_routes *r = routes(net);
            struct net_rng rng = {seed};
            uint32_t port, peer;

            while (r->rows && cut_one(net, &rng, false, &port, &peer)) {
                bool agree;

                mark_dead(r, port);
                mark_dead(r, peer);
                agree = net_routes_agree(r);
                if (net_routes_surely_agree(r)) {
                    assert_true(agree);
                    sure++;
                } else {
                    unsure += agree;
                    other += !agree;
                }
            }
            net_routes_free(r);
            net_free(net);
        }
    print_message("# surely %u, after all %u, not %u\n", sure, unsure, other);
    assert_true(sure > 500);
    assert_true(other > 500);
}

/* Places are turned anywhere: what passes the look at these places alone makes
 * no cycle with anything. */
static void turned_places_that_pass_make_no_cycle(void **state)
{
    unsigned passed = 0, refused = 0, cycles = 0;

    for (size_t i = 0; i < CLOS_NETS; i++)
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct net *net = named(clos_nets[i]);
            struct net_routes *r = routes(net);
            struct net_turned_places t = {0};
            struct net_rng rng = {seed};
            struct errbuf err;
            int rc, whole;

            assert_true(!r->rows || r->turns_proved);
            r->turned = &t;
            for (unsigned k = 0; r->rows && k < 1 + seed % 3; k++) {
                uint32_t x = net_rng_below(&rng, r->nx);

                assert_true(
                    net_tree_set(r, net_rng_below(&rng, r->nleaves),
                                 net_rng_below(&rng, r->columns), x,
                                 (uint8_t)net_rng_below(
                                     &rng, r->first[x + 1] - r->first[x])));
            }
            r->turned = NULL;
            rc = net_turned_deadlock(r, t.at, t.n, &err);
            whole = net_routes_deadlock(r, &err);
            if (rc == 0)
                assert_int_equal(whole, 0);
            passed += rc == 0;
            refused += rc != 0;
            cycles += whole != 0;
            free(t.at);
            net_routes_free(r);
            net_free(net);
        }
    print_message("# %u passed, %u refused, %u cycles\n", passed, refused,
                  cycles);
    assert_true(passed > 20);
    assert_true(cycles > 10);
}

static void one_lost_cable_leaves_the_load_nearly_even(void **state)
{
    static const char *const names[] = {"C64", "C512", "C2048"};

    for (size_t i = 0; i < 3; i++)
        for (uint64_t seed = 0; seed < (i == 2 ? 2 : 10); seed++) {
            struct net *net = named(names[i]);
            struct net_routes *r = routes(net);
            struct net_rng rng = {seed};
            uint32_t port, peer;
            struct net_balance b;
            struct errbuf err;

            assert_true(cut_one(net, &rng, false, &port, &peer));
            assert_int_equal(net_routes_repair(r, &port, &peer, 1, NULL, &err),
                             0);
            net_routes_balance(r, &b);
            assert_int_equal(b.cut_off, 0);
            if (b.ratio > 1.10)
                fail_msg("%s seed %d: %.3f", names[i], (int)seed, b.ratio);
            net_routes_free(r);
            net_free(net);
        }
}

static void lost_host_changes_nobodys_route(void **state)
{
    struct net *net = named("C64");
    struct net_routes *r = routes(net);
    uint32_t port = 13, peer = net->ports[port].peer; /* host 13's only one */
    struct net_repair what;
    struct net_balance b;
    struct net_path p;

    net_disconnect(net, 13, 0);
    assert_int_equal(net_routes_repair(r, &port, &peer, 1, &what, NULL), 0);
    assert_int_equal(what.routes, 0);
    assert_int_equal(what.trees, 0);
    assert_int_equal(what.hosts, 1);
    assert_false(net_routes_path(r, 13, 0, &p));
    assert_false(net_routes_path(r, 0, 13, &p));
    net_routes_balance(r, &b);
    assert_int_equal(b.pairs, 63 * 62);
    loads_are_true(net, r);
    net_routes_free(r);
    net_free(net);
}

static void repair_beyond_the_hop_limit_is_an_error(void **state)
{
    struct net *net = named("ring:8:1");
    struct net_route_params p = {.engine = NET_UPDOWN, .hop_limit = 7};
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);
    uint32_t port, peer;
    struct net_rng rng = {1};
    int rc = 0;

    assert_non_null(r);
    cut_one(net, &rng, false, &port, &peer);
    rc = net_routes_repair(r, &port, &peer, 1, NULL, &err);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.text, "takes 8 hops, the limit is 7"));
    net_routes_free(r);
    net_free(net);
}

/* One host repairs, another has just come and computes: a cable is taken out
 * again and again until the repair is not kept.  How many were. */
static unsigned repaired_beside_new(const char *name, uint64_t seed,
                                    unsigned *refused)
{
    struct net *net = named(name);
    struct net_routes *r = routes(net), *fresh;
    struct net_rng rng = {seed};
    struct errbuf err;
    uint32_t port, peer;
    unsigned kept = 0;

    while (cut_one(net, &rng, false, &port, &peer)) {
        struct net_cdg *cdg;

        if (net_routes_repair(r, &port, &peer, 1, NULL, &err) < 0) {
            *refused += strstr(err.text, "up and down") != NULL;
            break;
        }
        kept++;
        fresh = routes(net);
        assert_int_equal(net_routes_engine(r), net_routes_engine(fresh));
        assert_int_equal(net_routes_ups(r), net_routes_ups(fresh));
        cdg = net_cdg_new(net);
        assert_non_null(cdg);
        net_cdg_add_routes(cdg, r);
        net_cdg_add_routes(cdg, fresh);
        assert_int_equal(net_cdg_check(cdg, &err), 0);
        net_cdg_free(cdg);
        net_routes_free(fresh);
    }
    net_routes_free(r);
    net_free(net);
    return kept;
}

static void repaired_and_new_routes_cannot_deadlock_together(void **state)
{
    static const char *const nets[] = {"C64", "torus:4x4:1:2", "ring:6",
                                       "random:20:40:3", "random:6:16:3"};
    unsigned kept = 0, refused = 0;

    for (uint64_t seed = 1; seed <= 20; seed++)
        for (unsigned i = 0; i < sizeof(nets) / sizeof(*nets); i++)
            kept += repaired_beside_new(nets[i], seed, &refused);
    assert_true(kept > 20);
    assert_true(refused > 20);
}

/* Ways between pairs: those that went over the cable are others, few others
 * are, and all of them together with those of a host that repaired, too, make
 * no cycle. */
static void repaired_once(const char *name, uint64_t seed, unsigned *kept)
{
    const struct net_route_params p = {.engine = NET_PAIRS};
    struct net *net = named(name), *before = net_copy(net);
    struct errbuf err;
    struct net_routes *old = net_routes_new(before, &p, &err);
    struct net_routes *r = net_routes_new(net, &p, &err);
    struct net_balance was, is;
    struct net_rng rng = {seed};
    struct net_repair what;
    uint32_t port, peer;
    uint64_t used = 0, others = 0;

    assert_non_null(old);
    assert_non_null(r);
    assert_true(cut_one(net, &rng, false, &port, &peer));
    if (net_routes_repair(r, &port, &peer, 1, &what, &err) < 0) {
        assert_non_null(strstr(err.text, "lead no more"));
        goto out;
    }
    ++*kept;
    for (uint32_t s = 0; s < net->nnodes; s++)
        for (uint32_t d = 0; d < net->nnodes; d++) {
            struct net_path a, b;
            bool over = false;

            if (!net_routes_path(old, s, d, &a))
                continue;
            assert_true(net_routes_path(r, s, d, &b));
            for (unsigned i = 0; i <= a.hops; i++)
                over |= a.port[i] == port || a.port[i] == peer;
            for (unsigned i = 0; i <= b.hops; i++)
                assert_true(b.port[i] != port && b.port[i] != peer);
            used += over;
            others += !over && (a.hops != b.hops ||
                                memcmp(a.port, b.port, (a.hops + 1u) * 4) != 0);
        }
    assert_true(what.routes >= used);
    net_routes_balance(old, &was);
    if (others > was.pairs / 6)
        fail_msg("%s seed %d: %d others", name, (int)seed, (int)others);
    assert_int_equal(net_routes_deadlock(r, &err), 0);
    assert_int_equal(net_turns_deadlock(r, &err), 0);
    loads_are_true(net, r);
    net_routes_balance(r, &is);
    assert_int_equal(is.pairs, was.pairs);
    print_message("# %s: %d over it, %d others; worst %d, now %d\n", name,
                  (int)used, (int)others, (int)was.worst, (int)is.worst);
    if (is.worst * 2 > was.worst * 3)
        fail_msg("%s seed %d: %d of %d", name, (int)seed, (int)is.worst,
                 (int)was.worst);
out:
    net_routes_free(old);
    net_routes_free(r);
    net_free(before);
    net_free(net);
}

static void pairs_are_repaired_where_the_cable_was(void **state)
{
    static const char *const nets[] = {"torus:6x6",    "torus:4x4x4",
                                       "hypercube:5",  "dragonfly:4:2",
                                       "regular:40:5", "random:20:40:3"};
    unsigned kept = 0;

    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            repaired_once(nets[i], seed, &kept);
    print_message("# %u of 24 repaired\n", kept);
    assert_in_range(kept, 20, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repaired_routes_are_as_good_as_new),
        cmocka_unit_test(loads_are_true_where_ways_turn_and_come_down),
        cmocka_unit_test(places_of_four_levels_are_mended),
        cmocka_unit_test(a_cable_of_65536_hosts_is_mended_place_by_place),
        cmocka_unit_test(repair_touches_what_used_the_cable),
        cmocka_unit_test(repair_tells_what_is_another),
        cmocka_unit_test(a_short_look_at_up_and_down_is_never_wrong),
        cmocka_unit_test(turned_places_that_pass_make_no_cycle),
        cmocka_unit_test(one_lost_cable_leaves_the_load_nearly_even),
        cmocka_unit_test(lost_host_changes_nobodys_route),
        cmocka_unit_test(repair_beyond_the_hop_limit_is_an_error),
        cmocka_unit_test(repaired_and_new_routes_cannot_deadlock_together),
        cmocka_unit_test(pairs_are_repaired_where_the_cable_was),
    };

    return cmocka_run_group_tests_name("net repair", tests, NULL, NULL);
}
