/* SPDX-License-Identifier: BSD-3-Clause
 * Routing engines: every route arrives, within its limits, on any net.
 */
#include <errno.h>
#include <stdio.h>

#include "net_routes.h"

/* Can packets get from one node to another at all? */
static bool joined(const struct net *net, uint32_t a, uint32_t b)
{
    uint32_t there;
    struct net *part = net_reachable(net, a, &there);
    bool yes = net_find_host(part, net->nodes[b].id) != NET_NONE;

    net_free(part);
    return yes;
}

/* The bytes lead where they should, and the way back leads back. */
static void route_arrives(const struct net *net, uint32_t s, uint32_t d,
                          const struct net_route *route)
{
    struct net_route back;

    assert_int_equal(net_route_follow(net, s, route, NULL), d);
    back.hops = route->hops;
    net_route_reverse(back.byte, route->byte, route->hops);
    assert_int_equal(net_route_follow(net, d, &back, NULL), s);
    for (unsigned i = 0; i < route->hops; i++)
        assert_int_equal(route->byte[i] & 0xc0, 0x80);
}

static uint64_t all_arrive(const struct net *net, const struct net_routes *r,
                           uint32_t step)
{
    uint64_t pairs = 0;
    struct net_route got[K];

    for (uint32_t s = 0; s < net->nnodes; s += step)
        for (uint32_t d = 0; d < net->nnodes; d++) {
            unsigned n;

            if (!net_is_host(net, s) || !net_is_host(net, d) || s == d)
                continue;
            n = net_routes_get(r, s, d, got, K);
            if (n == 0)
                assert_false(joined(net, s, d));
            for (unsigned k = 0; k < n; k++) {
                route_arrives(net, s, d, &got[k]);
                for (unsigned j = 0; j < k; j++)
                    assert_memory_not_equal(got[j].byte, got[k].byte,
                                            got[k].hops);
            }
            pairs += n > 0;
        }
    return pairs;
}

static void check_arrival(const struct net *net, const struct net_routes *r)
{
    struct net_balance b;
    uint64_t pairs = all_arrive(net, r, net->nnodes > 300 ? 37 : 1);

    assert_int_equal(net_routes_balance(r, &b), 0);
    if (net->nnodes <= 300)
        assert_int_equal(pairs, b.pairs);
}

static void every_host_reaches_every_other(void **state)
{
    every_engine_on_every_net(check_arrival);
}

/* A tenth of all cables out, hosts' too; a net of every kind per seed. */
static void any_seed_of_broken_nets_is_routed(void **state)
{
    static const char *const kinds[] = {"C64",
                                        "clos:4x4x4:1x2x4:1x2x1",
                                        "torus:4x4:2:2",
                                        "random:24:70:%u",
                                        "hostless-ring:9",
                                        "ring:8"};

    for (unsigned seed = 1; seed <= 60; seed++) {
        char name[100];
        struct net *net;
        struct net_routes *r;

        snprintf(name, sizeof(name), "%s+cut=10:%u+shuffle=%u", kinds[seed % 6],
                 seed, seed);
        if (strstr(name, "%u"))
            snprintf(name, sizeof(name), "random:24:70:%u+cut=10:%u", seed,
                     seed);
        net = named(name);
        r = routes(net, NET_AUTO, 32);
        check_arrival(net, r);
        no_deadlock(r);
        net_routes_free(r);
        net_free(net);
    }
}

static void dmodk_is_refused_where_it_cannot_be(void **state)
{
    struct net *net = named("ring:5");
    struct net_route_params p = {.engine = NET_DMODK};
    struct errbuf err;

    assert_null(net_routes_new(net, &p, &err));
    assert_string_equal(err.text, "engine dmodk: the net is not a folded Clos");
    net_free(net);
}

/* All but the two ends of the line have routes. */
static void a_route_of_12_hops_is_left_out_and_named(void **state)
{
    struct net_route_params p = {0};
    struct net *net = named("line:11:1");
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);
    struct net_balance b;
    struct net_beyond beyond;

    assert_non_null(r);
    net_routes_balance(r, &b);
    assert_int_equal(b.longest, 11);
    net_routes_beyond(r, &beyond);
    assert_int_equal(beyond.pairs, 0);
    net_routes_free(r);
    net_free(net);
    net = named("line:12:1");
    for (int e = NET_AUTO; e <= NET_GM2; e++) {
        uint32_t h0 = net_find_name(net, "h0"), h11 = net_find_name(net, "h11");
        struct net_route route;

        if (e == NET_DMODK)
            continue;
        p.engine = (enum net_engine)e;
        r = net_routes_new(net, &p, &err);
        assert_non_null(r);
        net_routes_beyond(r, &beyond);
        assert_int_equal(beyond.pairs, 2);
        assert_int_equal(beyond.hops, 12);
        assert_int_equal(beyond.limit, 11);
        assert_int_equal(beyond.from + beyond.to, h0 + h11);
        assert_int_equal(net_routes_get(r, h0, h11, &route, 1), 0);
        assert_int_equal(net_routes_get(r, h11, h0, &route, 1), 0);
        assert_int_equal(net_routes_missing(r, h0, &err), 1);
        assert_string_equal(err.text, "h11");
        assert_int_equal(net_routes_missing(r, net_find_name(net, "h5"), &err),
                         0);
        net_routes_balance(r, &b);
        assert_int_equal(b.cut_off, 2);
        assert_int_equal(b.pairs, 12 * 11 - 2);
        /* but a mapper's message gets there */
        assert_true(net_routes_reach(r, h0, h11, &route));
        assert_int_equal(route.hops, 12);
        assert_int_equal(net_route_follow(net, h0, &route, NULL), h11);
        net_routes_free(r);
    }
    net_free(net);
}

/* It had no routes at all. */
static void a_ring_of_20_is_routed_as_far_as_the_limit_goes(void **state)
{
    struct net *net = named("ring:20:1");
    struct net_routes *r = routes(net, NET_AUTO, NET_HOPS_DEFAULT);
    struct net_beyond beyond;
    struct net_balance b;
    struct errbuf names;
    unsigned missing = 0;

    no_deadlock(r);
    net_routes_beyond(r, &beyond);
    net_routes_balance(r, &b);
    assert_int_equal(b.cut_off, beyond.pairs);
    assert_true(b.pairs > 20 * 19 / 2);
    assert_true(b.longest <= NET_HOPS_DEFAULT);
    for (uint32_t s = 0; s < net->nnodes; s++)
        if (net_is_host(net, s))
            missing += net_routes_missing(r, s, &names);
    assert_int_equal(missing, beyond.pairs);
    net_routes_free(r);
    net_free(net);
}

/* Hundreds: as many as there is room for, and how many more. */
static void a_list_of_hosts_without_routes_ends_in_a_number(void **state)
{
    struct net *net = named("line:20:28");
    struct net_routes *r = routes(net, NET_AUTO, NET_HOPS_DEFAULT);
    uint32_t h0 = net_find_name(net, "h0");
    struct errbuf names;
    unsigned listed = 1, more = 0;
    const char *end;

    assert_int_equal(net_routes_missing(r, h0, &names), 9 * 28);
    for (const char *c = names.text; *c; c++)
        listed += *c == ',';
    end = strstr(names.text, " and ");
    assert_non_null(end);
    assert_int_equal(sscanf(end, " and %u more", &more), 1);
    assert_int_equal(listed + more, 9 * 28);
    net_routes_free(r);
    net_free(net);
}

/* A mapper that had been short of memory took it for that again, for ever. */
static void an_engine_that_does_not_fit_is_no_lack_of_memory(void **state)
{
    const struct net_route_params p = {.engine = NET_DMODK};
    struct net *net = named("ring:5");
    struct errbuf err;

    errno = ENOMEM;
    assert_null(net_routes_new(net, &p, &err));
    assert_int_equal(errno, EINVAL);
    net_free(net);
}

static void the_limit_can_be_set_for_simulated_nets(void **state)
{
    struct net_route_params p = {.hop_limit = 12};
    struct net *net = named("line:12:1");
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);

    assert_non_null(r);
    all_arrive(net, r, 1);
    net_routes_free(r);
    p.hop_limit = NET_ROUTE_MAX + 1;
    assert_null(net_routes_new(net, &p, &err));
    p.hop_limit = 0;
    p.alternatives = NET_ALTERNATIVES_MAX + 1;
    assert_null(net_routes_new(net, &p, &err));
    net_free(net);
}

/* The trees of all its hosts would be 940 MB. */
static void sixty_five_thousand_hosts_are_routed(void **state)
{
    struct net *net = named("C65536");
    struct net_routes *r = routes(net, NET_AUTO, NET_HOPS_DEFAULT);
    struct net_rng rng = {1};

    assert_int_equal(net_routes_engine(r), NET_DMODK);
    for (int i = 0; i < 1000; i++) {
        uint32_t s = net_rng_below(&rng, 65536);
        uint32_t d = net_rng_below(&rng, 65536);
        struct net_route got[K];
        unsigned n = s == d ? 0 : net_routes_get(r, s, d, got, K);

        assert_int_equal(n == 0, s == d);
        while (n > 0)
            route_arrives(net, s, d, &got[--n]);
    }
    no_deadlock(r);
    net_routes_free(r);
    net_free(net);
}

/* The routes of a net whose nodes lie in another order are the same. */
static void routes_do_not_depend_on_the_order_of_nodes(void **state)
{
    struct net *a = named("random:30:150:5+ids"), *b = net_new();
    struct net_routes *ra, *rb;
    uint32_t n = a->nnodes;

    for (uint32_t i = n; i-- > 0;) {
        const struct net_node *f = &a->nodes[i];
        uint32_t at = f->kind == NET_HOST
                          ? net_add_host(b, f->name, f->id)
                          : net_add_xbar(b, f->name, f->nports, f->id);

        b->nodes[at].has_id = f->has_id;
    }
    for (uint32_t p = 0; p < a->nports; p++) {
        uint32_t q = a->ports[p].peer;

        if (q != NET_NONE && p < q)
            net_connect(b, n - 1 - a->ports[p].node, net_port_number(a, p),
                        n - 1 - a->ports[q].node, net_port_number(a, q));
    }
    ra = routes(a, NET_AUTO, 20);
    rb = routes(b, NET_AUTO, 20);
    for (uint32_t s = 30; s < n; s++)
        for (uint32_t d = 30; d < n; d++) {
            struct net_route x[1], y[1];
            unsigned got = net_routes_get(ra, s, d, x, 1);

            assert_int_equal(got,
                             net_routes_get(rb, n - 1 - s, n - 1 - d, y, 1));
            if (got)
                assert_memory_equal(x[0].byte, y[0].byte, x[0].hops);
        }
    net_routes_free(ra);
    net_routes_free(rb);
    net_free(a);
    net_free(b);
}

static void hosts_on_one_cable_need_no_byte(void **state)
{
    struct net *net = net_new();
    struct net_routes *r;
    struct net_route got[2];

    net_add_host(net, "a", 1);
    net_add_host(net, "b", 2);
    net_add_host(net, "c", 3);
    net_connect(net, 0, 0, 1, 0);
    r = routes(net, NET_AUTO, 0);
    assert_int_equal(net_routes_get(r, 0, 1, got, 2), 1);
    assert_int_equal(got[0].hops, 0);
    assert_int_equal(net_route_follow(net, 0, &got[0], NULL), 1);
    assert_int_equal(net_routes_get(r, 0, 2, got, 2), 0);
    net_routes_free(r);
    net_free(net);
    net = net_new();
    r = routes(net, NET_AUTO, 0);
    no_deadlock(r);
    net_routes_free(r);
    net_free(net);
}

static void deltas_wider_than_six_bits_have_no_bytes(void **state)
{
    struct net *net = net_new();
    struct net_routes *r;
    struct net_route got[1];
    struct net_path p;

    net_add_xbar(net, "big", 64, 0);
    for (uint32_t i = 0; i < 3; i++)
        net_connect(net, 0, i == 2 ? 63 : i * 31, net_add_host(net, "h", 1 + i),
                    0);
    r = routes(net, NET_AUTO, 0);
    assert_int_equal(net_routes_get(r, 1, 2, got, 1), 1);
    assert_int_equal(got[0].byte[0], 0x80 | 31);
    assert_int_equal(net_routes_get(r, 1, 3, got, 1), 0);
    assert_true(net_routes_path(r, 1, 3, &p));
    net_routes_free(r);
    net_free(net);
}

static void broken_routes_are_lost_on_the_way(void **state)
{
    struct net *net = named("line:2:1"); /* x0 x1 h0 h1, 4 ports each */
    struct net_route r = {.hops = 2, .byte = {0x81, 0x80 | 0x3e}};

    assert_int_equal(net_route_follow(net, 2, &r, NULL), 3);
    r.byte[0] = 0x80; /* back to where it came from */
    assert_int_equal(net_route_follow(net, 2, &r, NULL), NET_NONE);
    r.byte[0] = 0x80 | 5; /* no such port */
    assert_int_equal(net_route_follow(net, 2, &r, NULL), NET_NONE);
    r.byte[0] = 0x83; /* nothing there */
    assert_int_equal(net_route_follow(net, 2, &r, NULL), NET_NONE);
    r.byte[0] = 0x81;
    r.hops = 1; /* ends in a crossbar */
    assert_int_equal(net_route_follow(net, 2, &r, NULL), NET_NONE);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_host_reaches_every_other),
        cmocka_unit_test(any_seed_of_broken_nets_is_routed),
        cmocka_unit_test(dmodk_is_refused_where_it_cannot_be),
        cmocka_unit_test(a_route_of_12_hops_is_left_out_and_named),
        cmocka_unit_test(a_ring_of_20_is_routed_as_far_as_the_limit_goes),
        cmocka_unit_test(a_list_of_hosts_without_routes_ends_in_a_number),
        cmocka_unit_test(an_engine_that_does_not_fit_is_no_lack_of_memory),
        cmocka_unit_test(the_limit_can_be_set_for_simulated_nets),
        cmocka_unit_test(sixty_five_thousand_hosts_are_routed),
        cmocka_unit_test(routes_do_not_depend_on_the_order_of_nodes),
        cmocka_unit_test(hosts_on_one_cable_need_no_byte),
        cmocka_unit_test(deltas_wider_than_six_bits_have_no_bytes),
        cmocka_unit_test(broken_routes_are_lost_on_the_way),
    };

    return cmocka_run_group_tests_name("net route", tests, NULL, NULL);
}
