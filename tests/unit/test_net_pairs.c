/* SPDX-License-Identifier: BSD-3-Clause
 * Routes off Clos topologies: even, within the hop limit, free of deadlock
 * together with those of all other hosts, whatever the net is.
 */
#include <stdio.h>

#include "net_routes.h"

/* What is loaded worst, with the hop limit of the documents.  The figures are
 * 1.1 of the fractional optimum for hypercubes, 2.0 for tori, and 0.8 of what
 * OpenSM's nue leaves with one lane for the others (bench/run routes-balance).
 */
static void other_nets_are_even_too(void **state)
{
    static const struct {
        const char *net;
        uint64_t worst;
    } goals[] = {{"hypercube:4", 35},    {"hypercube:6", 140},
                 {"torus:6x6", 216},     {"torus:8x8+shuffle=3", 512},
                 {"dragonfly:4:2", 220}, {"regular:64:6", 385}};

    for (size_t i = 0; i < sizeof(goals) / sizeof(*goals); i++) {
        struct net *net = named(goals[i].net);
        struct net_routes *r = routes(net, NET_AUTO, NET_HOPS_DEFAULT);
        struct net_balance b;

        net_routes_balance(r, &b);
        assert_int_equal(net_routes_engine(r), NET_PAIRS);
        assert_int_equal(b.cut_off, 0);
        assert_true(b.longest <= NET_HOPS_DEFAULT);
        if (b.worst > goals[i].worst)
            fail_msg("%s: %u", goals[i].net, (unsigned)b.worst);
        no_deadlock(r);
        net_routes_free(r);
        net_free(net);
    }
}

/* ---- over seeds ------------------------------------------------------------
 */

/* Each of these figures by itself, from the seed. */
static struct net *any_net(uint64_t seed, struct net_rng *rng)
{
    char name[120];
    unsigned n, h;

    rng->state = seed;
    n = net_rng_below(rng, 6);
    h = 1 + net_rng_below(rng, 3);
    switch (net_rng_below(rng, 7)) {
    case 0:
        snprintf(name, sizeof(name), "torus:%ux%u:%u:%u", 3 + n,
                 3 + net_rng_below(rng, 4), h, 1 + net_rng_below(rng, 2));
        break;
    case 1:
        snprintf(name, sizeof(name), "torus:3x%ux%u:%u", 3 + n / 2,
                 3 + net_rng_below(rng, 2), h);
        break;
    case 2:
        snprintf(name, sizeof(name), "hypercube:%u:%u", 2 + n / 2, h);
        break;
    case 3:
        snprintf(name, sizeof(name), "dragonfly:%u:%u:%u", 2 + n / 2,
                 1 + net_rng_below(rng, 2), h);
        break;
    case 4:
        snprintf(name, sizeof(name), "regular:%u:%u:%u:%u", 14 + 4 * n,
                 3 + net_rng_below(rng, 4), h, net_rng_below(rng, 1000));
        break;
    case 5:
        snprintf(name, sizeof(name), "random:%u:%u:%u", 10 + 5 * n, 20 * h,
                 net_rng_below(rng, 1000));
        break;
    default:
        snprintf(name, sizeof(name), "ring:%u:%u", 4 + 3 * n, h);
    }
    return named(name);
}

/* Cables out and crossbars dead, ports anywhere, some crossbars with ids. */
static void break_net(struct net *net, struct net_rng *rng)
{
    unsigned dead = net_rng_below(rng, 3);

    net_cut_cables(net, net_rng_below(rng, 4) * 0.05, net_rng_next(rng),
                   net_rng_below(rng, 2));
    for (unsigned i = 0; i < dead; i++) {
        uint32_t n = net_rng_below(rng, net->nnodes);

        if (!net_is_host(net, n))
            net_disconnect_all(net, n);
    }
    if (net_rng_below(rng, 2))
        net_shuffle_ports(net, net_rng_next(rng));
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (!net_is_host(net, n))
            net->nodes[n].has_id = net_rng_below(rng, 2);
}

/* Routes of each host from a computation of its own, as mappers have them;
 * what all of them wait for. */
static void add_host(const struct net *net, const struct net_routes *r,
                     struct net_cdg *cdg, uint32_t s, uint64_t *pairs)
{
    struct net_path p[K];
    struct errbuf err;

    if (net_routes_host_deadlock(r, s, &err) != 0)
        fail_msg("%s", err.text);
    for (uint32_t d = 0; d < net->nnodes; d++) {
        unsigned n = net_is_host(net, d) ? net_routes_paths(r, s, d, p, K) : 0;

        *pairs += n > 0;
        while (n-- > 0) {
            assert_int_equal(
                net->ports[net->ports[p[n].port[p[n].hops]].peer].node, d);
            for (unsigned i = 0; i < p[n].hops; i++)
                assert_int_equal(net->ports[net->ports[p[n].port[i]].peer].node,
                                 net->ports[p[n].port[i + 1]].node);
            net_cdg_add_path(cdg, &p[n]);
        }
    }
}

static uint64_t joined_pairs(const struct net *net)
{
    uint64_t pairs = 0;

    for (uint32_t s = 0; s < net->nnodes; s++) {
        struct net *part =
            net_is_host(net, s) ? net_reachable(net, s, NULL) : NULL;

        pairs += part ? part->nhosts - 1 : 0;
        net_free(part);
    }
    return pairs;
}

static void all_hosts_together(uint64_t seed)
{
    struct net_rng rng;
    struct net *net = any_net(seed, &rng);
    struct net_cdg *cdg;
    struct net_routes *a, *b;
    struct errbuf err;
    uint64_t pairs = 0;

    break_net(net, &rng);
    cdg = net_cdg_new(net);
    a = routes(net, NET_AUTO, 32);
    b = routes(net, NET_AUTO, 32);
    assert_int_equal(net_routes_ups(a), net_routes_ups(b));
    for (uint32_t s = 0; s < net->nnodes; s++)
        if (net_is_host(net, s))
            add_host(net, net_rng_below(&rng, 2) ? a : b, cdg, s, &pairs);
    if (net_cdg_check(cdg, &err) != 0)
        fail_msg("seed %u: %s", (unsigned)seed, err.text);
    if (pairs != joined_pairs(net))
        fail_msg("seed %u: %u pairs have a route", (unsigned)seed,
                 (unsigned)pairs);
    net_cdg_free(cdg);
    net_routes_free(a);
    net_routes_free(b);
    net_free(net);
}

static void all_hosts_of_any_broken_net_go_together(void **state)
{
    for (uint64_t seed = 1; seed <= 30; seed++)
        all_hosts_together(seed);
}

/* ---- large nets ------------------------------------------------------------
 */

/* Ways of all leaves would take too long: each host's own are laid when they
 * are asked for. */
static void hosts_of_a_large_net_lay_their_own(void **state)
{
    struct net *net = named("torus:12x12x8:1");
    struct net_routes *a = routes(net, NET_AUTO, 32);
    struct net_routes *b = routes(net, NET_AUTO, 32);
    struct net_cdg *cdg = net_cdg_new(net);
    struct net_rng rng = {5};
    struct errbuf err;
    uint64_t pairs = 0;

    assert_int_equal(net_routes_engine(a), NET_PAIRS);
    assert_null(net_routes_loads(a));
    for (unsigned i = 0; i < 2; i++) {
        uint32_t s = net->nxbars + net_rng_below(&rng, net->nhosts);
        uint32_t d = net->nxbars + net_rng_below(&rng, net->nhosts);
        struct net_route x, y;

        add_host(net, a, cdg, s, &pairs);
        if (s == d)
            continue;
        assert_int_equal(net_routes_get(b, s, d, &y, 1), 1);
        assert_int_equal(net_routes_get(a, s, d, &x, 1), 1);
        assert_int_equal(x.hops, y.hops);
        assert_memory_equal(x.byte, y.byte, x.hops);
    }
    assert_int_equal(net_cdg_check(cdg, &err), 0);
    assert_int_equal(pairs, 2 * (net->nhosts - 1));
    net_cdg_free(cdg);
    net_routes_free(a);
    net_routes_free(b);
    net_free(net);
}

/* Of a net with many cables at each crossbar most turns are asked for by nobody
 * of the sample; allowing them all one after the other took minutes.  What is
 * left out then leaves nobody without a way. */
static void turns_of_8192_hosts_are_found_in_seconds(void **state)
{
    struct net *net = named("C8192");
    struct net_routes *r = routes(net, NET_PAIRS, NET_HOPS_DEFAULT);
    struct net_path p;
    struct errbuf err;

    assert_int_equal(net_routes_engine(r), NET_PAIRS);
    for (uint32_t d = 0; d < net->nhosts; d++)
        if (d != 4711)
            assert_true(net_routes_path(r, 4711, d, &p));
    if (net_routes_host_deadlock(r, 4711, &err) != 0)
        fail_msg("%s", err.text);
    net_routes_free(r);
    net_free(net);
}

/* How even the ways are hangs on turns that nobody of the sample asked for:
 * with 2 048 hosts each of them is looked at. */
static void turns_of_2048_hosts_are_all_looked_at(void **state)
{
    struct net *net = named("C2048");
    struct net_routes *r = routes(net, NET_PAIRS, NET_HOPS_DEFAULT);
    struct net_balance b;

    assert_int_equal(net_routes_balance(r, &b), 0);
    assert_in_range(b.worst, 1, 6 * (uint64_t)b.ideal);
    net_routes_free(r);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_nets_are_even_too),
        cmocka_unit_test(all_hosts_of_any_broken_net_go_together),
        cmocka_unit_test(hosts_of_a_large_net_lay_their_own),
        cmocka_unit_test(turns_of_8192_hosts_are_found_in_seconds),
        cmocka_unit_test(turns_of_2048_hosts_are_all_looked_at),
    };

    return cmocka_run_group_tests_name("net pairs", tests, NULL, NULL);
}
