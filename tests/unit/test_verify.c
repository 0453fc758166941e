/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier on software fabrics: silence when nothing changed, and each
 * kind of change found where it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapperd/simfab.h"
#include "net/build.h"

struct world {
    struct net *net; /* the map; the fabric begins as it */
    struct simfab *sim;
    struct verify *v;
    struct verify_options options;
    uint32_t me;
};

static void open_world(struct world *w, const char *name)
{
    struct errbuf err;

    w->net = net_build_named(name, &err);
    assert_non_null(w->net);
    w->me = net_find_name(w->net, "h0");
    w->options =
        (struct verify_options){.hosts = true, .links = true, .empty = true};
    w->sim = simfab_new(w->net, w->me);
    w->v = NULL;
}

static void run(struct world *w)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;

    verify_free(w->v);
    w->v = verify_new(&limits, &w->options, w->net, w->me);
    assert_non_null(w->v);
    assert_true(simfab_run(w->sim, simfab_verifier(w->v), 100000000000ULL));
    assert_false(verify_failed(w->v));
}

static void close_world(struct world *w)
{
    verify_free(w->v);
    simfab_free(w->sim);
    net_free(w->net);
}

static void an_unchanged_fabric_shows_no_change(void **state)
{
    static const char *const nets[] = {
        "C64",      "C512",     "torus:4x4:2:2", "random:20:30:7",
        "ring:6:2", "line:5:2", "C64+cut=10:3",  "hostless-ring",
        "line:1:2"};
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct net *whole;
        struct errbuf err;
        uint32_t me;

        whole = net_build_named(nets[i], &err);
        assert_non_null(whole);
        w.net = net_reachable(whole, net_find_name(whole, "h0"), &me);
        net_free(whole);
        w.me = me;
        w.options = (struct verify_options){
            .hosts = true, .links = true, .empty = true};
        w.sim = simfab_new(w.net, w.me);
        w.v = NULL;
        run(&w);
        if (verify_change(w.v, 0))
            fail_msg("%s: change %d at node %u port %d", nets[i],
                     (int)verify_change(w.v, 0)->what,
                     verify_change(w.v, 0)->node, verify_change(w.v, 0)->port);
        close_world(&w);
    }
}

static void tours_cover_many_links_each(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "C8192");
    w.options.hosts = w.options.empty = false;
    run(&w);
    assert_null(verify_change(w.v, 0));
    /* 16 384 links between crossbars. */
    assert_true(verify_probes(w.v) < 1000);
    print_message("# C8192: %lu tours\n", (unsigned long)verify_probes(w.v));
    close_world(&w);
}

static void each_lost_link_is_found(void **state)
{
    struct world w;
    uint32_t links = 0, worst = 0;

    (void)state;
    open_world(&w, "C64");
    w.options.hosts = w.options.empty = false;
    for (uint32_t p = 0; p < w.net->nports; p++) {
        uint32_t q = w.net->ports[p].peer;
        uint32_t a = w.net->ports[p].node, b;

        if (q == NET_NONE || q < p || net_is_host(w.net, a) ||
            net_is_host(w.net, w.net->ports[q].node))
            continue;
        b = w.net->ports[q].node;
        links++;
        assert_true(swfab_set_link(simfab_fabric(w.sim), a,
                                   net_port_number(w.net, p), false));
        run(&w);
        assert_non_null(verify_change(w.v, 0));
        assert_int_equal(verify_change(w.v, 0)->what, VERIFY_LINK_LOST);
        assert_true(verify_change(w.v, 0)->node == a ||
                    verify_change(w.v, 0)->node == b);
        assert_true(verify_change(w.v, 0)->peer == a ||
                    verify_change(w.v, 0)->peer == b);
        assert_null(verify_change(w.v, 1));
        if (verify_probes(w.v) > worst)
            worst = (uint32_t)verify_probes(w.v);
        swfab_set_link(simfab_fabric(w.sim), a, net_port_number(w.net, p),
                       true);
    }
    assert_int_equal(links, 64);
    print_message("# C64, a link lost: %u probes at most\n", worst);
    assert_true(worst < 64); /* halving, not one by one */
    close_world(&w);
}

static void a_silent_host_is_found(void **state)
{
    struct world w;
    uint32_t host;

    (void)state;
    open_world(&w, "C64");
    host = net_find_name(w.net, "h42");
    swfab_set_host_mute(simfab_fabric(w.sim), host, true);
    run(&w);
    assert_int_equal(verify_change(w.v, 0)->what, VERIFY_HOST_LOST);
    assert_int_equal(verify_change(w.v, 0)->node, host);
    assert_null(verify_change(w.v, 1));
    assert_non_null(verify_host(w.v, net_find_name(w.net, "h41")));
    assert_null(verify_host(w.v, host));
    close_world(&w);
}

static void a_moved_host_is_found_where_it_went(void **state)
{
    struct world w;
    struct swfab *fab;
    uint32_t host, from, to;
    unsigned port;
    bool lost = false, moved = false;

    (void)state;
    open_world(&w, "line:3:2");
    fab = simfab_fabric(w.sim);
    host = net_find_name(w.net, "h5");
    from = net_peer_node(w.net, host, 0);
    port = net_peer_port(w.net, host, 0);
    to = net_peer_node(w.net, w.me, 0);
    swfab_disconnect(fab, from, port);
    for (unsigned p = 0; p < w.net->nodes[to].nports; p++)
        if (net_peer_node(w.net, to, p) == NET_NONE &&
            swfab_connect(fab, host, 0, to, p))
            break;
    run(&w);
    for (uint32_t i = 0; verify_change(w.v, i); i++) {
        const struct verify_change *c = verify_change(w.v, i);

        lost |= c->what == VERIFY_HOST_LOST && c->node == host;
        moved |= c->what == VERIFY_MOVED && c->peer == host && c->node == to;
    }
    assert_true(lost && moved);
    close_world(&w);
}

static void exchanged_hosts_are_found(void **state)
{
    struct world w;
    struct swfab *fab;
    uint32_t a, b, xa, xb;
    unsigned pa, pb;

    (void)state;
    open_world(&w, "C64");
    fab = simfab_fabric(w.sim);
    a = net_find_name(w.net, "h9");
    b = net_find_name(w.net, "h50");
    xa = net_peer_node(w.net, a, 0);
    xb = net_peer_node(w.net, b, 0);
    pa = net_peer_port(w.net, a, 0);
    pb = net_peer_port(w.net, b, 0);
    swfab_disconnect(fab, xa, pa);
    swfab_disconnect(fab, xb, pb);
    assert_true(swfab_connect(fab, a, 0, xb, pb));
    assert_true(swfab_connect(fab, b, 0, xa, pa));
    run(&w);
    assert_int_equal(verify_change(w.v, 0)->what, VERIFY_HOST_OTHER);
    assert_int_equal(verify_change(w.v, 0)->node, a);
    assert_int_equal(verify_change(w.v, 0)->peer, b);
    assert_int_equal(verify_change(w.v, 1)->what, VERIFY_HOST_OTHER);
    close_world(&w);
}

static void a_new_cable_is_found(void **state)
{
    struct world w;
    uint32_t a, b;
    unsigned n = 0;

    (void)state;
    open_world(&w, "line:4:2");
    a = net_peer_node(w.net, w.me, 0);
    b = net_peer_node(w.net, net_find_name(w.net, "h7"), 0);
    for (unsigned p = 0; p < w.net->nodes[a].nports && n == 0; p++)
        for (unsigned q = 0; q < w.net->nodes[b].nports && n == 0; q++)
            n = swfab_connect(simfab_fabric(w.sim), a, p, b, q);
    assert_int_equal(n, 1);
    run(&w);
    assert_int_equal(verify_change(w.v, 0)->what, VERIFY_LINK_NEW);
    assert_int_equal(verify_change(w.v, 1)->what, VERIFY_LINK_NEW);
    assert_null(verify_change(w.v, 2));
    close_world(&w);
}

static void what_hangs_behind_a_lost_link_is_lost(void **state)
{
    struct world w;
    uint32_t x;
    unsigned lost = 0, hosts = 0;

    (void)state;
    open_world(&w, "line:5:2");
    x = net_peer_node(w.net, w.me, 0);
    for (unsigned p = 0; p < w.net->nodes[x].nports; p++)
        if (net_peer_node(w.net, x, p) != NET_NONE &&
            !net_is_host(w.net, net_peer_node(w.net, x, p)))
            swfab_set_link(simfab_fabric(w.sim), x, p, false);
    run(&w);
    for (uint32_t i = 0; verify_change(w.v, i); i++) {
        lost += verify_change(w.v, i)->what == VERIFY_LINK_LOST;
        hosts += verify_change(w.v, i)->what == VERIFY_HOST_LOST;
    }
    assert_int_equal(lost, 4);
    assert_int_equal(hosts, 8);
    close_world(&w);
}

static void lost_packets_are_no_changes(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, "C64");
    w.options.empty = false;
    swfab_set_loss_all(simfab_fabric(w.sim), 0.002);
    for (uint64_t seed = 1; seed < 20; seed++) {
        swfab_seed(simfab_fabric(w.sim), seed);
        run(&w);
        assert_null(verify_change(w.v, 0));
    }
    close_world(&w);
}

static void free_ports_are_shared_out_over_rounds(void **state)
{
    struct world w;
    uint64_t all, parts = 0;

    (void)state;
    open_world(&w, "line:4:2");
    w.options.hosts = w.options.links = false;
    run(&w);
    all = verify_probes(w.v);
    w.options.empty_share = 4;
    for (w.options.round = 0; w.options.round < 4; w.options.round++) {
        run(&w);
        assert_true(verify_probes(w.v) < all / 2);
        parts += verify_probes(w.v);
    }
    assert_int_equal(parts, all);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_fabric_shows_no_change),
        cmocka_unit_test(tours_cover_many_links_each),
        cmocka_unit_test(each_lost_link_is_found),
        cmocka_unit_test(a_silent_host_is_found),
        cmocka_unit_test(a_moved_host_is_found_where_it_went),
        cmocka_unit_test(exchanged_hosts_are_found),
        cmocka_unit_test(a_new_cable_is_found),
        cmocka_unit_test(what_hangs_behind_a_lost_link_is_lost),
        cmocka_unit_test(lost_packets_are_no_changes),
        cmocka_unit_test(free_ports_are_shared_out_over_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
