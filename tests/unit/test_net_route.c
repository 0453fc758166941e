/* SPDX-License-Identifier: BSD-3-Clause
 * Routing engines: every route arrives, none can deadlock, loads are even.
 */
#include <errno.h>

#include "net/deadlock.h"
#include "net/route.h"
#include "net_check.h"

#define K 8

static const char *const all_nets[] = {
    "C64",
    "C512+shuffle=3",
    "C64+cut=10:1",
    "C512+cut=10:2+shuffle=5",
    "clos:3x5x4:1x2x3:1x2x1",
    "line:8",
    "ring:9",
    "ring:10:1",
    "torus:4x4",
    "torus:5x3:2:2",
    "random:20:60:1",
    "random:40:150:2",
    "random:60:200:3+cut=10:4",
    "hostless-ring",
    "two-planes",
    "line:1:6",
};

static struct net_routes *routes(const struct net *net, enum net_engine engine,
                                 unsigned limit)
{
    struct net_route_params p = {
        .engine = engine, .alternatives = K, .hop_limit = limit, .seed = 7};
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);

    if (!r)
        fail_msg("no routes: %s", err.text);
    return r;
}

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

static void no_deadlock(const struct net_routes *r)
{
    struct errbuf err;

    if (net_routes_deadlock(r, &err) != 0)
        fail_msg("%s", err.text);
}

static void every_engine_on_every_net(void (*check)(const struct net *,
                                                    const struct net_routes *))
{
    static const enum net_engine engines[] = {NET_AUTO, NET_UPDOWN, NET_GM2};

    for (size_t i = 0; i < sizeof(all_nets) / sizeof(*all_nets); i++) {
        struct net *net = named(all_nets[i]);

        for (size_t e = 0; e < 3; e++) {
            struct net_routes *r = routes(net, engines[e], 32);

            check(net, r);
            net_routes_free(r);
        }
        net_free(net);
    }
}

static void check_arrival(const struct net *net, const struct net_routes *r)
{
    struct net_balance b;
    uint64_t pairs = all_arrive(net, r, net->nnodes > 300 ? 37 : 1);

    assert_int_equal(net_routes_balance(r, &b), 0);
    if (net->nnodes <= 300)
        assert_int_equal(pairs, b.pairs);
}

static void check_deadlock(const struct net *net, const struct net_routes *r)
{
    no_deadlock(r);
}

static void g2_01_every_host_reaches_every_other(void **state)
{
    every_engine_on_every_net(check_arrival);
}

static void g2_59_no_engine_can_deadlock_on_any_net(void **state)
{
    every_engine_on_every_net(check_deadlock);
}

static void g2_59_alternatives_cannot_deadlock_either(void **state)
{
    for (size_t i = 0; i < sizeof(all_nets) / sizeof(*all_nets); i++) {
        struct net *net = named(all_nets[i]);
        struct net_routes *r = routes(net, NET_AUTO, 32);
        struct net_cdg *cdg = net_cdg_new(net);
        struct net_path p[K];
        struct errbuf err;

        for (uint32_t s = 0; s<net->nnodes; s += net->nnodes> 300 ? 17 : 1)
            for (uint32_t d = 0; d < net->nnodes; d++) {
                unsigned n = net_routes_paths(r, s, d, p, K);

                while (n > 0)
                    net_cdg_add_path(cdg, &p[--n]);
            }
        if (net_cdg_check(cdg, &err) != 0)
            fail_msg("%s: %s", all_nets[i], err.text);
        net_cdg_free(cdg);
        net_routes_free(r);
        net_free(net);
    }
}

/* Three crossbars in a ring, each packet two steps clockwise. */
static void g2_59_a_cycle_is_found(void **state)
{
    struct net *net = named("ring:3:1");
    struct net_cdg *cdg = net_cdg_new(net);
    struct errbuf err;

    for (uint32_t x = 0; x < 3; x++) {
        uint32_t to = (x + 2) % 3, h = 3 + x, via = (x + 1) % 3;
        struct net_path p = {.hops = 3};

        assert_int_equal(net_cdg_check(cdg, &err), 0);
        p.port[0] = net->nodes[h].first;
        p.port[1] = net->nodes[x].first + 1;
        p.port[2] = net->nodes[via].first + 1;
        p.port[3] = net->nodes[to].first;
        net_cdg_add_path(cdg, &p);
    }
    assert_int_equal(net_cdg_check(cdg, &err), 1);
    assert_string_equal(
        err.text, "routes can deadlock: a cycle of 3 cables: x0:1 x1:1 x2:1");
    net_cdg_free(cdg);
    net_free(net);
}

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

static void g2_57_dmodk_is_exactly_even_on_every_clos(void **state)
{
    balanced("C64", NET_AUTO, 1.0);
    balanced("C512", NET_DMODK, 1.0);
    balanced("C512+shuffle=9", NET_AUTO, 1.0);
    balanced("C2048", NET_AUTO, 1.0);
    balanced("C8192+shuffle=1", NET_AUTO, 1.0);
    balanced("clos:8x8:1x8:1x1", NET_AUTO, 1.0);
}

/* Holes: still a Clos to the recogniser, still nearly even. */
static void g2_57_dmodk_with_holes_is_nearly_even(void **state)
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
    assert_string_equal(err.text, "engine dmodk: the net is no folded Clos");
    net_free(net);
}

static void g2_61_a_route_of_12_hops_is_fatal_and_named(void **state)
{
    struct net_route_params p = {0};
    struct net *net = named("line:11:1");
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);
    struct net_balance b;

    assert_non_null(r);
    net_routes_balance(r, &b);
    assert_int_equal(b.longest, 11);
    net_routes_free(r);
    net_free(net);
    net = named("line:12:1");
    for (int e = NET_AUTO; e <= NET_GM2; e++) {
        if (e == NET_DMODK)
            continue;
        p.engine = (enum net_engine)e;
        assert_null(net_routes_new(net, &p, &err));
        assert_non_null(strstr(err.text, "takes 12 hops, the limit is 11"));
        assert_non_null(strstr(err.text, "h0"));
        assert_non_null(strstr(err.text, "h11"));
    }
    net_free(net);
}

/* Routes that the proof is not content with: the linker sends
 * net_routes_deadlock() and net_turns_deadlock() here. */
static unsigned cycles; /* so many proofs find one */
int __real_net_routes_deadlock(const struct net_routes *r, struct errbuf *err);
int __wrap_net_routes_deadlock(const struct net_routes *r, struct errbuf *err);

int __wrap_net_routes_deadlock(const struct net_routes *r, struct errbuf *err)
{
    if (cycles == 0)
        return __real_net_routes_deadlock(r, err);
    cycles--;
    errprintf(err, "a cycle of cables");
    return 1;
}

int __real_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);
int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);

int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err)
{
    if (cycles == 0)
        return __real_net_turns_deadlock(r, err);
    cycles--;
    errprintf(err, "a cycle of turns");
    return 1;
}

static void g2_59_every_set_of_routes_is_proved(void **state)
{
    static const enum net_engine engines[] = {NET_DMODK, NET_UPDOWN, NET_GM2};
    struct net *net = named("C64");
    struct errbuf err;

    for (size_t i = 0; i < 3; i++) {
        const struct net_route_params p = {.engine = engines[i]};

        cycles = 1;
        assert_null(net_routes_new(net, &p, &err));
        assert_int_equal(errno, EDEADLK);
        assert_int_equal(cycles, 0);
        assert_string_equal(err.text, engines[i] == NET_GM2
                                          ? "a cycle of turns"
                                          : "a cycle of cables");
    }
    net_free(net);
}

/* What a host proves of its own routes holds with all others. */
static void check_hosts(const struct net *net, const struct net_routes *r)
{
    struct errbuf err;

    for (uint32_t s = 0; s<net->nnodes; s += net->nnodes> 300 ? 97 : 1)
        if (net_is_host(net, s) && net_routes_host_deadlock(r, s, &err) != 0)
            fail_msg("%s", err.text);
}

static void g2_59_each_host_proves_its_own_routes(void **state)
{
    every_engine_on_every_net(check_hosts);
}

/* On a ring somebody must not go the short way: the turn at the bottom is not
 * among those that are proved. */
static void g2_59_a_route_that_turns_up_again_is_not_proved(void **state)
{
    struct net *net = named("ring:5:1");
    struct net_routes *r = routes(net, NET_UPDOWN, 11);
    struct net_cdg *cdg = net_cdg_new(net);
    unsigned out = 0;

    net_cdg_add_turns(cdg, r);
    for (uint32_t x = 0; x < 5; x++) {
        struct net_path p = {.hops = 3};

        p.port[0] = net->nodes[5 + x].first;
        p.port[1] = net->nodes[x].first + 1;
        p.port[2] = net->nodes[(x + 1) % 5].first + 1;
        p.port[3] = net->nodes[(x + 2) % 5].first;
        out += !net_cdg_has_path(cdg, &p);
    }
    assert_int_equal(out, 1);
    net_cdg_free(cdg);
    net_routes_free(r);
    net_free(net);
}

/* What the net is routed with when so many proofs fail. */
static enum net_engine engine_after(struct net *net, enum net_engine engine,
                                    unsigned fail, const char *why)
{
    const struct net_route_params p = {.engine = engine};
    uint32_t host = net_find_name(net, "h0");
    struct errbuf found, err;
    struct net_routes *r;

    cycles = fail;
    r = net_routes_proved(net, &p, host, &found, &err);
    assert_int_equal(cycles, 0);
    assert_string_equal(found.text, why);
    if (!r) {
        assert_int_equal(errno, EDEADLK);
        return NET_AUTO;
    }
    engine = net_routes_engine(r);
    check_hosts(net, r);
    net_routes_free(r);
    return engine;
}

static void g2_59_what_is_not_proved_is_not_used(void **state)
{
    static const char gm2[] = "engine gm2: a cycle of turns";
    static const char dmodk[] = "engine auto: a cycle of cables";
    struct net *net = named("C64");

    assert_int_equal(engine_after(net, NET_GM2, 0, ""), NET_GM2);
    assert_int_equal(engine_after(net, NET_GM2, 1, gm2), NET_DMODK);
    assert_int_equal(engine_after(net, NET_GM2, 2, gm2), NET_UPDOWN);
    assert_int_equal(engine_after(net, NET_GM2, 3, gm2), NET_AUTO);
    assert_int_equal(engine_after(net, NET_AUTO, 1, dmodk), NET_UPDOWN);
    net_free(net);
}

/* A mapper that had been short of memory took it for that again, for ever. */
static void a_net_too_deep_is_no_lack_of_memory(void **state)
{
    const struct net_route_params p = {0};
    struct net *net = named("line:12:1");
    struct errbuf err;

    errno = ENOMEM;
    assert_null(net_routes_new(net, &p, &err));
    assert_int_equal(errno, EINVAL);
    net_free(net);
}

static void g2_62_the_limit_can_be_set_for_simulated_nets(void **state)
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
static void g2_58_eight_routes_share_no_cable(void **state)
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
static void g2_58_disjoint_where_they_exist_elsewhere(void **state)
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

static void g2_56_gm2_repeats_by_seed_and_spreads(void **state)
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

static void g2_12_as_many_routes_as_asked(void **state)
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
        cmocka_unit_test(g2_01_every_host_reaches_every_other),
        cmocka_unit_test(g2_59_no_engine_can_deadlock_on_any_net),
        cmocka_unit_test(g2_59_alternatives_cannot_deadlock_either),
        cmocka_unit_test(g2_59_each_host_proves_its_own_routes),
        cmocka_unit_test(g2_59_a_route_that_turns_up_again_is_not_proved),
        cmocka_unit_test(g2_59_what_is_not_proved_is_not_used),
        cmocka_unit_test(g2_59_a_cycle_is_found),
        cmocka_unit_test(g2_57_dmodk_is_exactly_even_on_every_clos),
        cmocka_unit_test(g2_57_dmodk_with_holes_is_nearly_even),
        cmocka_unit_test(any_seed_of_broken_nets_is_routed),
        cmocka_unit_test(dmodk_is_refused_where_it_cannot_be),
        cmocka_unit_test(g2_61_a_route_of_12_hops_is_fatal_and_named),
        cmocka_unit_test(g2_59_every_set_of_routes_is_proved),
        cmocka_unit_test(a_net_too_deep_is_no_lack_of_memory),
        cmocka_unit_test(g2_62_the_limit_can_be_set_for_simulated_nets),
        cmocka_unit_test(g2_58_eight_routes_share_no_cable),
        cmocka_unit_test(g2_58_disjoint_where_they_exist_elsewhere),
        cmocka_unit_test(first_route_is_the_balanced_one),
        cmocka_unit_test(loads_are_those_of_the_routes),
        cmocka_unit_test(sixty_five_thousand_hosts_are_routed),
        cmocka_unit_test(routes_do_not_depend_on_the_order_of_nodes),
        cmocka_unit_test(g2_56_gm2_repeats_by_seed_and_spreads),
        cmocka_unit_test(g2_12_as_many_routes_as_asked),
        cmocka_unit_test(hosts_on_one_cable_need_no_byte),
        cmocka_unit_test(deltas_wider_than_six_bits_have_no_bytes),
        cmocka_unit_test(broken_routes_are_lost_on_the_way),
    };

    return cmocka_run_group_tests_name("net route", tests, NULL, NULL);
}
