/* SPDX-License-Identifier: BSD-3-Clause
 * Is a found map the truth?
 */
#include "net/same.h"
#include "net_check.h"

/* What a perfect mapper would hand in: other order, no names, anonymous
 * crossbars with their ports moved to begin at the first cable. */
static struct net *as_found(const struct net *truth, uint64_t seed)
{
    struct net_rng rng = {seed};
    struct net *found = net_new();
    uint32_t n = truth->nnodes, *at = calloc(n, sizeof(*at));
    uint32_t *order = calloc(n, sizeof(*order));
    int *shift = calloc(n, sizeof(*shift));

    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = net_rng_below(&rng, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct net_node *t = &truth->nodes[order[i]];
        unsigned p = 0;

        if (t->kind == NET_HOST) {
            at[order[i]] = net_add_host(found, "", t->id);
            continue;
        }
        while (!t->has_id && p < t->nports &&
               truth->ports[t->first + p].peer == NET_NONE)
            p++;
        shift[order[i]] = -(int)p;
        at[order[i]] = net_add_xbar(found, "", t->has_id ? t->nports : 32,
                                    t->has_id ? t->id : 0);
        found->nodes[at[order[i]]].has_id = t->has_id;
    }
    for (uint32_t p = 0; p < truth->nports; p++) {
        uint32_t q = truth->ports[p].peer, a, b;

        if (q == NET_NONE || p > q)
            continue;
        a = truth->ports[p].node;
        b = truth->ports[q].node;
        assert_true(net_connect(
            found, at[a], (unsigned)((int)net_port_number(truth, p) + shift[a]),
            at[b], (unsigned)((int)net_port_number(truth, q) + shift[b])));
    }
    free(at);
    free(order);
    free(shift);
    return found;
}

static void agree(const struct net *truth, const struct net *found)
{
    struct errbuf why = {""};

    if (!net_same(truth, found, &why))
        fail_msg("differs: %s", why.text);
}

static void differ(const struct net *truth, const struct net *found,
                   const char *text)
{
    struct errbuf why = {""};

    assert_false(net_same(truth, found, &why));
    assert_string_equal(why.text, text);
}

static void perfect_maps_are_the_same(void **state)
{
    static const char *const names[] = {"C64",
                                        "C64+ids",
                                        "C512+shuffle=3",
                                        "C2048+cutx=10:2",
                                        "ring:7",
                                        "torus:4x4",
                                        "hostless-ring",
                                        "two-planes",
                                        "random:60:200:1",
                                        "random:60:200:2+ids",
                                        "line:12"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct net *truth = named(names[i]);
        struct net *found = as_found(truth, i);

        agree(truth, found);
        agree(truth, truth);
        net_free(truth);
        net_free(found);
    }
}

/* Every single cable that is left out, added or put elsewhere shows. */
static void any_other_cable_shows(void **state)
{
    struct net *truth = named("random:20:50:4");
    unsigned changed = 0;

    for (uint32_t p = 0; p < 20 * 32 + 50; p++) {
        struct net *found = as_found(truth, 1);
        uint32_t n = found->ports[p].node, q = found->ports[p].peer;

        if (q != NET_NONE) {
            net_disconnect(found, n, net_port_number(found, p));
            assert_false(net_same(truth, found, NULL));
            changed++;
        }
        net_free(found);
    }
    assert_int_equal(changed, 2 * truth->ncables);
    net_free(truth);
}

static void swapped_cables_show(void **state)
{
    struct net *truth = named("C64");
    unsigned shown = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct net_rng rng = {seed};
        struct net *found = net_copy(truth);
        uint32_t p = net_rng_below(&rng, found->nports);
        uint32_t q = net_rng_below(&rng, found->nports);
        uint32_t pp = found->ports[p].peer, qq = found->ports[q].peer;

        if (p != q && p != qq) {
            found->ports[p].peer = qq;
            found->ports[qq].peer = p;
            found->ports[q].peer = pp;
            found->ports[pp].peer = q;
            assert_false(net_same(truth, found, NULL));
            shown++;
        }
        net_free(found);
    }
    assert_in_range(shown, 150, 200);
    net_free(truth);
}

/* x0: hosts in ports 2 and 5, a cable to x1. */
static struct net *small(uint8_t ids)
{
    struct net *net = net_new();

    net_add_xbar(net, "x0", 8, 0x10);
    net_add_xbar(net, "x1", 8, 0x11);
    net_add_host(net, "a", 1);
    net_add_host(net, "b", 2);
    net_add_host(net, "c", 3);
    net_connect(net, 0, 2, 2, 0);
    net_connect(net, 0, 5, 3, 0);
    net_connect(net, 0, 6, 1, 1);
    net_connect(net, 1, 3, 4, 0);
    net->nodes[0].has_id = net->nodes[1].has_id = ids;
    return net;
}

static void move(struct net *net, unsigned by)
{
    for (unsigned p = 7; p >= 1; p--) {
        uint32_t n = net_peer_node(net, 0, p), q = net_peer_port(net, 0, p);

        if (n == NET_NONE)
            continue;
        net_disconnect(net, 0, p);
        net_connect(net, 0, p + by, n, q);
    }
}

static void shift_is_allowed_without_ids_only(void **state)
{
    struct net *truth = small(0), *found = small(0);
    uint32_t pair[5];
    int shift[5];

    move(found, 1);
    agree(truth, found);
    assert_true(net_match(truth, found, pair, shift, NULL));
    assert_int_equal(shift[0], 1);
    assert_int_equal(shift[1], 0);
    assert_int_equal(pair[4], 4);
    net_tell_ids(found, true);
    agree(truth, found);
    net_tell_ids(truth, true);
    differ(truth, found, "cable x0 port 2 to a port 0 is missing");
    net_free(truth);
    net_free(found);
}

static void differences_are_named(void **state)
{
    struct net *truth = small(0), *found = small(0);
    uint32_t x;

    net_disconnect(found, 0, 5);
    net_connect(found, 0, 4, 3, 0);
    differ(truth, found, "x0: ports are off by 0 and by -1");
    net_free(found);
    found = small(0);
    net_disconnect(found, 0, 6);
    differ(truth, found, "cable x0 port 6 to x1 port 1 is missing");
    net_connect(found, 0, 6, 1, 1);
    agree(truth, found);
    net_connect(found, 0, 7, 1, 7);
    differ(truth, found, "x0 has no cable in port 7, the map shows one");
    net_disconnect(found, 0, 7);
    net_set_id(found, 4, 7);
    differ(truth, found, "c is not in the map");
    net_set_id(found, 4, 3);
    x = net_add_xbar(found, "y", 8, 0);
    agree(truth, found); /* no cable, no matter */
    net_connect(found, x, 0, net_add_host(found, "z", 9), 0);
    differ(truth, found, "the map's y does not exist");
    net_disconnect_all(found, x);
    net_disconnect(found, 1, 3);
    net_connect(found, x, 3, 4, 0);
    differ(truth, found, "x1 is in the map twice");
    net_free(found);
    net_free(truth);
}

static void one_crossbar_for_two_shows(void **state)
{
    struct net *truth = net_new(), *found = net_new();

    net_add_xbar(truth, "x0", 8, 0);
    net_add_xbar(truth, "x1", 8, 0);
    net_add_xbar(found, "", 16, 0);
    for (unsigned i = 0; i < 2; i++) {
        net_connect(truth, i, 0, net_add_host(truth, "h", 1 + i), 0);
        net_connect(found, 0, i, net_add_host(found, "", 1 + i), 0);
    }
    differ(truth, found, "x1 and x0 are one node in the map");
    net_free(truth);
    net_free(found);
}

static void ids_must_agree(void **state)
{
    struct net *truth = small(1), *found = small(1);

    agree(truth, found);
    net_set_id(found, 0, 0x99);
    differ(truth, found, "x0 is not in the map");
    net_free(found);
    found = small(0);
    differ(truth, found, "x0 has id 0000000000000010, found 0000000000000000");
    net_free(found);
    net_free(truth);
}

static void region_without_hosts_needs_ids(void **state)
{
    struct net *truth = small(0), *found;

    net_add_xbar(truth, "y0", 8, 0x20);
    net_add_xbar(truth, "y1", 8, 0x21);
    net_connect(truth, 5, 0, 6, 0);
    found = net_copy(truth);
    differ(truth, found, "y0 hangs together with no host");
    net_tell_ids(truth, true);
    net_tell_ids(found, true);
    agree(truth, found);
    net_free(truth);
    net_free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfect_maps_are_the_same),
        cmocka_unit_test(any_other_cable_shows),
        cmocka_unit_test(swapped_cables_show),
        cmocka_unit_test(shift_is_allowed_without_ids_only),
        cmocka_unit_test(differences_are_named),
        cmocka_unit_test(one_crossbar_for_two_shows),
        cmocka_unit_test(ids_must_agree),
        cmocka_unit_test(region_without_hosts_needs_ids),
    };

    return cmocka_run_group_tests_name("net same", tests, NULL, NULL);
}
