/* SPDX-License-Identifier: BSD-3-Clause
 * No routes can deadlock: the search for cycles, and what is proved of routes
 * before they are used.
 */
#include <errno.h>

#include "net_routes.h"

static void check_deadlock(const struct net *net, const struct net_routes *r)
{
    no_deadlock(r);
}

static void no_engine_can_deadlock_on_any_net(void **state)
{
    every_engine_on_every_net(check_deadlock);
}

static void alternatives_cannot_deadlock_either(void **state)
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
static void a_cycle_is_found(void **state)
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

static void every_set_of_routes_is_proved(void **state)
{
    static const enum net_engine engines[] = {NET_DMODK, NET_PAIRS, NET_UPDOWN,
                                              NET_GM2};
    struct net *net = named("C64");
    struct errbuf err;

    for (size_t i = 0; i < 4; i++) {
        const struct net_route_params p = {.engine = engines[i]};

        cycles = 1;
        assert_null(net_routes_new(net, &p, &err));
        assert_int_equal(errno, EDEADLK);
        assert_int_equal(cycles, 0);
        assert_string_equal(err.text,
                            engines[i] == NET_GM2 || engines[i] == NET_UPDOWN
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

static void each_host_proves_its_own_routes(void **state)
{
    every_engine_on_every_net(check_hosts);
}

/* On a ring somebody must not go the short way: the turn at the bottom is not
 * among those that are proved. */
static void a_route_that_turns_up_again_is_not_proved(void **state)
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

static void what_is_not_proved_is_not_used(void **state)
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

/* What dmodk and gm2 may do on a Clos is the same; elsewhere gm2 goes up and
 * down as updown does, and pairs by turns of its own. */
static void ups_are_told_apart(void **state)
{
    static const char *const names[] = {"C64", "clos:3x5x4:1x2x3:1x2x1",
                                        "torus:4x4", "random:20:60:1"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct net *net = named(names[i]);
        struct net_routes *any = routes(net, NET_AUTO, 32);
        struct net_routes *gm2 = routes(net, NET_GM2, 32);
        struct net_routes *tree = routes(net, NET_UPDOWN, 32);
        bool clos = i < 2;

        assert_int_not_equal(net_routes_ups(any), 0);
        assert_int_equal(net_routes_ups(any) == net_routes_ups(gm2), clos);
        assert_int_equal(net_routes_ups(gm2) == net_routes_ups(tree), !clos);
        assert_int_not_equal(net_routes_ups(any), net_routes_ups(tree));
        net_routes_free(any);
        net_routes_free(gm2);
        net_routes_free(tree);
        net_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_engine_can_deadlock_on_any_net),
        cmocka_unit_test(alternatives_cannot_deadlock_either),
        cmocka_unit_test(a_cycle_is_found),
        cmocka_unit_test(every_set_of_routes_is_proved),
        cmocka_unit_test(each_host_proves_its_own_routes),
        cmocka_unit_test(a_route_that_turns_up_again_is_not_proved),
        cmocka_unit_test(what_is_not_proved_is_not_used),
        cmocka_unit_test(ups_are_told_apart),
    };

    return cmocka_run_group_tests_name("net proof", tests, NULL, NULL);
}
