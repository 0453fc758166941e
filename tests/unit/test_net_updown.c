/* SPDX-License-Identifier: BSD-3-Clause
 * Routes up, then down: what they cost, how long they are, how they lie.
 */
#include "net/route_impl.h"
#include "net_check.h"

#define K 8

static struct net_routes *updown(const struct net *net, unsigned limit)
{
    struct net_route_params p = {.engine = NET_UPDOWN, .hop_limit = limit};
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);

    if (!r)
        fail_msg("%s", err.text);
    assert_int_equal(net_routes_engine(r), NET_UPDOWN);
    return r;
}

/* Edges looked at for what one mapper loads. */
static uint64_t work_of_one_host(const char *name)
{
    struct net *net = named(name);
    struct net_routes *r = updown(net, NET_HOPS_DEFAULT);
    uint32_t me = net->nhosts / 2 + 1;
    struct net_route got[K];
    uint64_t looks;

    assert_true(net_is_host(net, me));
    for (uint32_t d = 0; d < net->nnodes; d++)
        if (net_is_host(net, d) && d != me)
            assert_true(net_routes_get(r, me, d, got, K) >= 1);
    looks = *r->looks;
    net_routes_free(r);
    net_free(net);
    return looks;
}

static void work_of_one_host_grows_as_the_net(void **state)
{
    static const char *const nets[] = {
        "clos:16x16x4:1x16x16:1x1x1", "clos:16x16x8:1x16x16:1x1x1",
        "clos:16x16x16:1x16x16:1x1x1", "clos:16x16x32:1x16x16:1x1x1"};
    uint64_t work[4];

    for (unsigned i = 0; i < 4; i++) {
        work[i] = work_of_one_host(nets[i]);
        print_message("# %u hosts: %llu edges looked at\n", 1024u << i,
                      (unsigned long long)work[i]);
        if (i > 0 && work[i] * 10 > work[i - 1] * 22)
            fail_msg("%s: %.2f times half of it", nets[i],
                     (double)work[i] / (double)work[i - 1]);
    }
}

/* As up and down allow: by the distances of each leaf. */
static void every_route_is_a_shortest(void **state)
{
    static const char *const nets[] = {
        "C64",       "C64+cut=10:3",   "torus:5x3:2:2",
        "ring:9",    "random:20:60:1", "hostless-ring",
        "two-planes"};

    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = named(nets[i]);
        struct net_routes *r = updown(net, 32);
        struct net_path p;

        for (uint32_t d = 0; d < net->nnodes; d++) {
            if (!net_is_host(net, d) || r->leaf_of[d] == NET_NONE)
                continue;
            net_distances(r, r->leaf_of[d]);
            for (uint32_t s = 0; s < net->nnodes; s++) {
                uint32_t any;

                if (!net_is_host(net, s) || s == d || r->leaf_of[s] == NET_NONE)
                    continue;
                any = r->any[r->leaf_x[r->leaf_of[s]]];
                assert_int_equal(net_routes_path(r, s, d, &p), any != NET_FAR);
                if (any != NET_FAR)
                    assert_int_equal(p.hops, any + 1);
            }
        }
        net_routes_free(r);
        net_free(net);
    }
}

/* Most routes over one cable.  In the place of `known` stands what an engine
 * came to that laid the routes of all hosts together, in several passes, in
 * work that grew with the square of the net. */
static void hosts_that_do_not_know_of_each_other_share_the_cables(void **state)
{
    static const struct {
        const char *net;
        unsigned known;
    } rows[] = {{"C64", 64},
                {"C512", 504},
                {"C2048", 2032},
                {"torus:6x6:2", 326},
                {"torus:8x8:2", 1026},
                {"torus:4x4x4:2", 448},
                {"hypercube:6:2", 444},
                {"dragonfly:4:2", 316},
                {"regular:64:6", 556},
                {"ring:20", 362}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct net *net = named(rows[i].net);
        struct net_routes *r = updown(net, NET_ROUTE_MAX);
        struct net_balance b;

        assert_int_equal(net_routes_balance(r, &b), 0);
        assert_int_equal(b.cut_off, 0);
        print_message("# %s: %llu, known %u\n", rows[i].net,
                      (unsigned long long)b.worst, rows[i].known);
        if (b.worst * 100 > rows[i].known * 105)
            fail_msg("%s: %llu, known %u", rows[i].net,
                     (unsigned long long)b.worst, rows[i].known);
        net_routes_free(r);
        net_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_one_host_grows_as_the_net),
        cmocka_unit_test(every_route_is_a_shortest),
        cmocka_unit_test(hosts_that_do_not_know_of_each_other_share_the_cables),
    };

    return cmocka_run_group_tests_name("net updown", tests, NULL, NULL);
}
