/* SPDX-License-Identifier: BSD-3-Clause
 * How routes are spread: even loads, several to each host that share no cable.
 */
#include "net_routes.h"

static void balanced(const char *name, enum net_engine engine, double ratio)
{
    struct net *net = named(name);
    struct net_routes *r = routes(net, engine, 11);
    struct net_balance b;

    net_routes_balance(r, &b);
    assert_int_equal(net_routes_engine(r), NET_DMODK);
    assert_int_equal(b.cut_off, 0);
    if (b.ratio > ratio)
        fail_msg("%s: %.3f", name, b.ratio);
    net_routes_free(r);
    net_free(net);
}

static void dmodk_is_exactly_even_on_every_clos(void **state)
{
    balanced("C64", NET_AUTO, 1.0);
    balanced("C512", NET_DMODK, 1.0);
    balanced("C512+shuffle=9", NET_AUTO, 1.0);
    balanced("C2048", NET_AUTO, 1.0);
    balanced("C8192+shuffle=1", NET_AUTO, 1.0);
    balanced("clos:8x8:1x8:1x1", NET_AUTO, 1.0);
}

/* Holes: still a Clos to the recogniser, still nearly even. */
static void dmodk_with_holes_is_nearly_even(void **state)
{
    for (unsigned seed = 1; seed <= 10; seed++) {
        char name[64];

        snprintf(name, sizeof(name), "C64+cutx=2:%u", seed);
        balanced(name, NET_AUTO, 1.10);
        snprintf(name, sizeof(name), "C512+cutx=1:%u", seed);
        balanced(name, NET_AUTO, 1.10);
        snprintf(name, sizeof(name), "C512+cutx=10:%u", seed);
        balanced(name, NET_AUTO, 1.15);
    }
}

static unsigned shared_cables(const struct net *net, const struct net_path *a,
                              const struct net_path *b)
{
    unsigned n = 0;

    for (unsigned i = 1; i < a->hops; i++)
        for (unsigned k = 1; k < b->hops; k++)
            n += a->port[i] == b->port[k] ||
                 net->ports[a->port[i]].peer == b->port[k];
    return n;
}

/* C512: eight uplinks, so eight routes without a common cable; within a leaf
 * there is just one way. */
static void eight_routes_share_no_cable(void **state)
{
    struct net *net = named("C512");
    struct net_routes *r = routes(net, NET_AUTO, 11);
    struct net_path p[K];
    struct net_rng rng = {3};

    for (int i = 0; i < 300; i++) {
        uint32_t s = net_rng_below(&rng, 512), d = net_rng_below(&rng, 512);
        unsigned n;

        if (s == d)
            continue;
        n = net_routes_paths(r, s, d, p, K);
        assert_int_equal(n, s / 8 == d / 8 ? 1 : K);
        for (unsigned a = 0; a < n; a++)
            for (unsigned b = 0; b < a; b++)
                assert_int_equal(shared_cables(net, &p[a], &p[b]), 0);
    }
    net_routes_free(r);
    net_free(net);
}

/* Both ways round a ring, but no further one; up*|down* forbids one of them
 * for some pairs, never both. */
static void disjoint_where_they_exist_elsewhere(void **state)
{
    struct net *net = named("torus:4x4:2:2");
    struct net_routes *r = routes(net, NET_AUTO, 20);
    struct net_path p[K];
    unsigned several = 0, pairs = 0;

    for (uint32_t s = 16; s < net->nnodes; s++)
        for (uint32_t d = 16; d < net->nnodes; d++) {
            unsigned n, m = 1;

            if (s / 2 == d / 2)
                continue;
            n = net_routes_paths(r, s, d, p, K);
            while (m < n && !shared_cables(net, &p[0], &p[m]))
                m++;
            several += m > 1;
            pairs++;
        }
    assert_int_equal(several, pairs); /* two cables between neighbours */
    net_routes_free(r);
    net_free(net);
}

static void first_route_is_the_balanced_one(void **state)
{
    struct net *net = named("C64");
    struct net_routes *r = routes(net, NET_AUTO, 11);
    struct net_path one, p[K];
    uint32_t *load = calloc(net->nports, sizeof(*load));

    for (uint32_t s = 0; s < 64; s++)
        for (uint32_t d = 0; d < 64; d++) {
            if (s == d) {
                assert_false(net_routes_path(r, s, d, &one));
                continue;
            }
            assert_true(net_routes_path(r, s, d, &one));
            assert_true(net_routes_paths(r, s, d, p, K) >= 1);
            assert_memory_equal(one.port, p[0].port,
                                sizeof(one.port[0]) * (one.hops + 1u));
            for (unsigned i = 1; i < one.hops; i++)
                load[one.port[i]]++;
        }
    for (uint32_t q = 0; q < net->nports; q++)
        if (load[q])
            assert_int_equal(load[q], net_routes_loads(r)[q]);
    free(load);
    net_routes_free(r);
    net_free(net);
}

static void check_loads(const struct net *net, const struct net_routes *r)
{
    uint32_t *load = calloc(net->nports, sizeof(*load));
    struct net_path path;

    for (uint32_t s = 0; s < net->nnodes && net_routes_loads(r); s++)
        for (uint32_t d = 0; d < net->nnodes; d++)
            if (net_is_host(net, s) && net_is_host(net, d) && s != d &&
                net_routes_path(r, s, d, &path))
                for (unsigned i = 1; i < path.hops; i++)
                    load[path.port[i]]++;
    for (uint32_t q = 0; q < net->nports && net_routes_loads(r); q++)
        if (load[q])
            assert_int_equal(load[q], net_routes_loads(r)[q]);
    free(load);
}

/* Most trees of a Clos are not kept, nor their loads counted one by one. */
static void loads_are_those_of_the_routes(void **state)
{
    every_engine_on_every_net(check_loads);
}

static void as_many_routes_as_asked(void **state)
{
    struct net *net = named("C64");
    static const unsigned want[] = {1, 8, 16};

    for (int i = 0; i < 3; i++) {
        struct net_route_params p = {.alternatives = want[i]};
        struct net_routes *r = net_routes_new(net, &p, NULL);
        struct net_route got[NET_ALTERNATIVES_MAX];

        /* Eight are there: four spines, two cables each. */
        assert_int_equal(net_routes_get(r, 0, 63, got, NET_ALTERNATIVES_MAX),
                         want[i] < 8 ? want[i] : 8);
        net_routes_free(r);
    }
    net_free(net);
}

static void gm2_repeats_by_seed_and_spreads(void **state)
{
    struct net *net = named("C64");
    struct net_routes *a = routes(net, NET_GM2, 11);
    struct net_routes *b = routes(net, NET_GM2, 11);
    struct net_route_params other = {.engine = NET_GM2, .seed = 8};
    struct net_routes *c = net_routes_new(net, &other, NULL);
    struct net_route x[K], y[K];
    unsigned differ = 0;
    struct net_balance bal;

    for (uint32_t d = 8; d < 64; d++) {
        unsigned n = net_routes_get(a, 0, d, x, K);

        assert_in_range(n, 4, K);
        assert_int_equal(net_routes_get(b, 0, d, y, K), n);
        for (unsigned k = 0; k < n; k++)
            assert_memory_equal(x[k].byte, y[k].byte, x[k].hops);
        net_routes_get(c, 0, d, y, K);
        differ += memcmp(x[0].byte, y[0].byte, 3) != 0;
    }
    assert_in_range(differ, 20, 56);
    net_routes_balance(a, &bal);
    assert_int_equal(bal.pairs, 64 * 63);
    assert_true(bal.ratio < 2.5);
    net_routes_free(a);
    net_routes_free(b);
    net_routes_free(c);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dmodk_is_exactly_even_on_every_clos),
        cmocka_unit_test(dmodk_with_holes_is_nearly_even),
        cmocka_unit_test(eight_routes_share_no_cable),
        cmocka_unit_test(disjoint_where_they_exist_elsewhere),
        cmocka_unit_test(first_route_is_the_balanced_one),
        cmocka_unit_test(loads_are_those_of_the_routes),
        cmocka_unit_test(as_many_routes_as_asked),
        cmocka_unit_test(gm2_repeats_by_seed_and_spreads),
    };

    return cmocka_run_group_tests_name("net spread", tests, NULL, NULL);
}
