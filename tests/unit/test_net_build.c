/* SPDX-License-Identifier: BSD-3-Clause
 * Nets made to order.
 */
#include "net_check.h"

/* Both ends of each cable name each other, the counts are right. */
static void whole(const struct net *net)
{
    uint32_t ends = 0, hosts = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE)
            continue;
        assert_true(q < net->nports && q != p);
        assert_int_equal(net->ports[q].peer, p);
        ends++;
    }
    assert_int_equal(ends, 2 * net->ncables);
    for (uint32_t n = 0; n < net->nnodes; n++)
        hosts += net_is_host(net, n);
    assert_int_equal(hosts, net->nhosts);
    assert_int_equal(net->nhosts + net->nxbars, net->nnodes);
}

static void expect(const char *name, uint32_t hosts, uint32_t xbars,
                   uint32_t cables)
{
    struct net *net = named(name);

    whole(net);
    assert_int_equal(net->nhosts, hosts);
    assert_int_equal(net->nxbars, xbars);
    assert_int_equal(net->ncables, cables);
    net_free(net);
}

static void bench_nets_have_the_stated_figures(void **state)
{
    expect("C64", 64, 12, 64 + 64);
    expect("C512", 512, 160, 512 + 1024);
    expect("C2048", 2048, 320, 2048 + 4096);
    expect("C8192", 8192, 1280, 8192 + 16384);
    expect("C65536", 65536, 4096 * 3 + 2048, 65536 * 4);
}

static void other_nets_have_the_stated_figures(void **state)
{
    expect("clos:8x8:1x4:1x2", 64, 12, 128);
    expect("clos:4:1:1", 4, 1, 4);
    expect("line:1", 2, 1, 2);
    expect("line:12:1", 12, 12, 12 + 11);
    expect("ring:5", 10, 5, 15);
    expect("torus:4x3", 24, 12, 24 + 24);
    expect("torus:8x8:6:2", 384, 64, 384 + 256);
    expect("torus:3x4x5:1", 60, 60, 60 + 180);
    expect("torus:3x3x3:1:2", 27, 27, 27 + 2 * 81);
    expect("hypercube:1:1", 2, 2, 2 + 1);
    expect("hypercube:6", 128, 64, 128 + 192);
    expect("dragonfly:4:2", 72, 36, 72 + 9 * 6 + 36);
    expect("dragonfly:1:3:1", 4, 4, 4 + 6);
    expect("regular:64:6", 128, 64, 128 + 192);
    expect("regular:20:3:1:7", 20, 20, 20 + 30);
    expect("hostless-ring", 8, 8, 8 + 6 + 3);
    expect("two-planes", 128, 24, 256);
}

static void every_port_of_a_full_clos_is_wired(void **state)
{
    struct net *net = named("C512");

    for (uint32_t p = 0; p < net->nports; p++)
        assert_int_not_equal(net->ports[p].peer, NET_NONE);
    net_free(net);
}

static void nets_hang_together(void **state)
{
    static const char *const names[] = {"C64",           "C512",
                                        "C2048",         "ring:9:1",
                                        "line:30",       "hostless-ring:9",
                                        "torus:5x4",     "random:60:300:7",
                                        "random:1:3:1",  "random:40:100:2",
                                        "torus:3x4x5",   "hypercube:5",
                                        "dragonfly:3:2", "regular:30:3:1:4"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct net *net = named(names[i]), *all;
        uint32_t there;

        whole(net);
        all = net_reachable(net, net_find_name(net, "h0"), &there);
        assert_int_equal(all->nnodes, net->nnodes);
        assert_int_equal(all->ncables, net->ncables);
        assert_string_equal(all->nodes[there].name, "h0");
        net_free(all);
        net_free(net);
    }
}

static void planes_are_apart(void **state)
{
    struct net *net = named("two-planes"), *one;
    uint32_t there, h = net_find_name(net, "h3-p1");

    assert_int_equal(net->nodes[h].plane, 1);
    one = net_reachable(net, h, &there);
    whole(one);
    assert_int_equal(one->nhosts, 64);
    assert_int_equal(one->nodes[there].id, net->nodes[h].id);
    assert_int_equal(one->nodes[there].plane, 1);
    net_free(one);
    net_free(net);
}

static void same_seed_same_net(void **state)
{
    struct net *a = named("random:50:200:9+cut=10:3+shuffle=4");
    struct net *b = named("random:50:200:9+cut=10:3+shuffle=4");
    struct net *c = named("random:50:200:9+cut=10:4+shuffle=4");

    whole(a);
    assert_int_equal(a->nports, b->nports);
    assert_memory_equal(a->ports, b->ports, a->nports * sizeof(*a->ports));
    assert_memory_not_equal(a->ports, c->ports, a->nports * sizeof(*a->ports));
    net_free(a);
    net_free(b);
    net_free(c);
}

static void cut_takes_the_share_it_says(void **state)
{
    struct net *net = named("C512");

    assert_int_equal(net_cut_cables(net, 0.1, 5, true), 154);
    assert_int_equal(net->ncables, 1536 - 154);
    assert_int_equal(net_cut_cables(net, 0, 5, true), 0);
    whole(net);
    assert_int_equal(net_cut_cables(net, 1, 5, true), 1536 - 154);
    assert_int_equal(net->ncables, 0);
    net_free(net);
    net = named("C64+cutx=50");
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net_is_host(net, n))
            assert_int_not_equal(net_peer_node(net, n, 0), NET_NONE);
    assert_int_equal(net->ncables, 64 + 32);
    net_free(net);
}

static void ids_are_told_when_asked(void **state)
{
    struct net *net = named("C64+ids");

    for (uint32_t n = 0; n < net->nnodes; n++)
        assert_int_equal(net->nodes[n].has_id, !net_is_host(net, n));
    net_free(net);
}

static void wrong_names_are_errors(void **state)
{
    static const char *const names[] = {"",
                                        "C63",
                                        "C64+",
                                        "C64+what",
                                        "+ids",
                                        "ring:2",
                                        "ring:",
                                        "ring:5x",
                                        "ring:5:2x",
                                        "ring:99999999",
                                        "torus:2x3",
                                        "torus:3x3:300",
                                        "torus:3x4x2",
                                        "torus:3x3x3x3",
                                        "torus:3x3:2x",
                                        "torus:3x3:1:1:1",
                                        "hypercube:0",
                                        "hypercube:16",
                                        "hypercube:4:2:2",
                                        "dragonfly:4",
                                        "dragonfly:4:0",
                                        "dragonfly:100:100",
                                        "regular:64",
                                        "regular:64:2",
                                        "regular:9:3",
                                        "regular:8:6",
                                        "random:5:80",
                                        "random:0:0",
                                        "clos:8x8",
                                        "clos:8x8:1x4:1",
                                        "clos:0:1:1",
                                        "clos:4:2:1",
                                        "clos:200x200:1x200:1x2",
                                        "clos:255x255x255:1x1x1:1x1x1",
                                        "clos:8x8:1x4:1x2x",
                                        "C64+cut=101",
                                        "C64+cut=",
                                        "hostless-ring:x"};
    struct errbuf err;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct net *net;

        err.text[0] = '\0';
        net = net_build_named(names[i], &err);
        if (strcmp(names[i], "C64+") == 0) { /* nothing behind it */
            net_free(net);
            continue;
        }
        if (net)
            fail_msg("%s was built", names[i]);
        assert_int_not_equal(strlen(err.text), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bench_nets_have_the_stated_figures),
        cmocka_unit_test(other_nets_have_the_stated_figures),
        cmocka_unit_test(every_port_of_a_full_clos_is_wired),
        cmocka_unit_test(nets_hang_together),
        cmocka_unit_test(planes_are_apart),
        cmocka_unit_test(same_seed_same_net),
        cmocka_unit_test(cut_takes_the_share_it_says),
        cmocka_unit_test(ids_are_told_when_asked),
        cmocka_unit_test(wrong_names_are_errors),
    };

    return cmocka_run_group_tests_name("net build", tests, NULL, NULL);
}
