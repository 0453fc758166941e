/* SPDX-License-Identifier: BSD-3-Clause
 * Map deltas and cabling lists.
 */
#include <errno.h>

#include "net/delta.h"
#include "net/diff.h"
#include "net/same.h"
#include "net_check.h"

static const struct net_version v1 = {0x0060dd000001, 7};
static const struct net_version v2 = {0x0060dd000001, 8};

static void delta(const struct net *a, const struct net *b, struct bytebuf *out)
{
    struct errbuf err;

    bytebuf_init(out, 1 << 20);
    assert_int_equal(net_delta_make(a, v1, b, v2, out, &err), 0);
}

static int apply(struct net *net, struct net_version *v,
                 const struct bytebuf *b)
{
    struct errbuf err;

    return net_delta_apply(net, v, bytebuf_data(b), bytebuf_len(b), NULL, NULL,
                           NULL, &err);
}

static void count_cable(void *arg, uint32_t port, uint32_t peer)
{
    ++*(unsigned *)arg;
}

/* Cables out and in, nodes new, ids learnt: the next map, exactly. */
static void deltas_make_the_next_map(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct net *a = named("C64+cut=10"), *b = net_copy(a);
        struct net_version v = v1;
        struct bytebuf d;
        uint32_t x;
        unsigned cables = 0;
        struct errbuf err;

        net_cut_cables(b, 0.05, seed, true);
        x = net_add_xbar(b, "new", 8, 0x99);
        net_connect(b, x, 0, net_add_host(b, "newer", 0x77), 0);
        net_connect(b, x, 1, 0, 0); /* h0 moves there, if it is free */
        b->nodes[70].has_id = 1;
        delta(a, b, &d);
        assert_int_equal(net_delta_apply(a, &v, bytebuf_data(&d),
                                         bytebuf_len(&d), count_cable,
                                         count_cable, &cables, &err),
                         0);
        assert_true(net_version_same(v, v2));
        assert_int_equal(net_fingerprint(a), net_fingerprint(b));
        assert_int_equal(a->ncables, b->ncables);
        assert_string_equal(a->nodes[x].name, "new");
        assert_memory_equal(a->ports, b->ports, a->nports * sizeof(*a->ports));
        assert_true(cables >= 7);
        bytebuf_free(&d);
        net_free(a);
        net_free(b);
    }
}

static void one_lost_cable_is_a_small_delta(void **state)
{
    struct net *a = named("C8192"), *b = net_copy(a);
    struct bytebuf d;

    net_disconnect(b, 9000, 20);
    delta(a, b, &d);
    assert_in_range(bytebuf_len(&d), 50, 64);
    bytebuf_free(&d);
    net_free(a);
    net_free(b);
}

static void a_delta_for_another_map_is_stale(void **state)
{
    struct net *a = named("C64"), *b = net_copy(a), *c = named("C64+cut=1");
    struct net_version v = {v1.leader, 6}, w = v1;
    struct bytebuf d;

    net_disconnect(b, 3, 0);
    delta(a, b, &d);
    assert_int_equal(apply(a, &v, &d), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(apply(c, &w, &d), -1); /* same version, other map */
    assert_int_equal(errno, ESTALE);
    assert_int_equal(apply(a, &w, &d), 0);
    assert_int_equal(apply(a, &w, &d), -1); /* a second time */
    assert_int_equal(errno, ESTALE);
    bytebuf_free(&d);
    net_free(a);
    net_free(b);
    net_free(c);
}

/* Whatever byte is wrong, the map is as before or as the delta says. */
static void nonsense_changes_nothing(void **state)
{
    struct net *a = named("line:3:2"), *b = net_copy(a);
    uint32_t before = net_fingerprint(a);
    struct bytebuf d;

    net_disconnect(b, 4, 0);
    net_connect(b, net_add_host(b, "x", 0x55), 0, 1, 1);
    b->nodes[0].has_id = 1;
    delta(a, b, &d);
    for (size_t cut = 0; cut < bytebuf_len(&d); cut++) {
        struct net_version v = v1;
        struct errbuf err;

        assert_int_equal(net_delta_apply(a, &v, bytebuf_data(&d), cut, NULL,
                                         NULL, NULL, &err),
                         -1);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(net_fingerprint(a), before);
        assert_true(net_version_same(v, v1));
    }
    for (size_t at = 0; at < bytebuf_len(&d); at++) {
        struct net *copy = net_copy(a);
        struct net_version v = v1;

        d.mem[d.start + at] ^= 0xff;
        if (apply(copy, &v, &d) < 0) {
            assert_int_equal(net_fingerprint(copy), before);
            assert_true(net_version_same(v, v1));
        }
        d.mem[d.start + at] ^= 0xff;
        net_free(copy);
    }
    bytebuf_free(&d);
    net_free(a);
    net_free(b);
}

static void maps_of_other_nodes_make_no_delta(void **state)
{
    struct net *a = named("C64"), *b = named("line:3");
    struct errbuf err;
    struct bytebuf d;

    bytebuf_init(&d, 1000);
    assert_int_equal(net_delta_make(a, v1, b, v2, &d, &err), -1);
    net_free(b);
    b = named("C64");
    net_set_name(b, 5, "other");
    assert_int_equal(net_delta_make(a, v1, b, v2, &d, &err), -1);
    bytebuf_free(&d);
    net_free(a);
    net_free(b);
}

/* ---- cabling ----------------------------------------------------------------
 */

struct text {
    char text[4000];
};

static void collect(void *arg, enum net_difference kind, const char *text)
{
    struct text *t = arg;
    size_t n = strlen(t->text);

    snprintf(t->text + n, sizeof(t->text) - n, "%s: %s\n",
             net_difference_name(kind), text);
}

static void differs(const struct net *want, const struct net *got,
                    const char *words)
{
    struct text t = {""};
    int n = net_diff(want, got, collect, &t), lines = 0;

    assert_string_equal(t.text, words);
    for (const char *p = t.text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(n, lines);
}

/* As a map shows it: crossbars without name and id. */
static struct net *found(const struct net *want)
{
    struct net *net = net_copy(want);

    for (uint32_t n = 0; n < net->nnodes; n++)
        if (!net_is_host(net, n)) {
            net_set_name(net, n, "");
            net_set_id(net, n, 0);
        }
    return net;
}

static void as_expected_nothing_differs(void **state)
{
    static const char *const nets[] = {"C64", "C512+shuffle", "torus:4x4",
                                       "random:20:60:1", "C64+ids"};

    for (size_t i = 0; i < 5; i++) {
        struct net *want = named(nets[i]), *got = net_copy(want);

        differs(want, got, "");
        net_free(got);
        if (i < 4) {
            got = found(want);
            differs(want, got, "");
            net_free(got);
        }
        net_free(want);
    }
}

static void what_differs_is_named_as_expected_it_was(void **state)
{
    struct net *want = named("C64"), *got = found(want);
    uint32_t leaf = net_find_name(want, "s1.2");

    net_disconnect(got, leaf, 9);
    differs(want, got, "cable missing: s1.2 port 9 to s2.0 port 5\n");
    net_disconnect(got, 5, 0);
    differs(want, got,
            "host missing: h5\ncable missing: h5 port 0 to s1.0 port 5\n"
            "cable missing: s1.2 port 9 to s2.0 port 5\n");
    net_free(got);
    got = found(want);
    net_disconnect(got, 5, 0); /* two hosts swapped */
    net_disconnect(got, 60, 0);
    net_connect(got, 5, 0, net_find_name(want, "s1.7"), 4);
    net_connect(got, 60, 0, net_find_name(want, "s1.0"), 5);
    differs(want, got,
            "host moved: h5 from s1.0 port 5 to s1.7 port 4\n"
            "host moved: h60 from s1.7 port 4 to s1.0 port 5\n");
    net_free(got);
    got = found(want);
    net_disconnect(got, leaf, 8); /* two uplinks swapped */
    net_disconnect(got, leaf, 10);
    net_connect(got, leaf, 8, net_find_name(want, "s2.1"), 4);
    net_connect(got, leaf, 10, net_find_name(want, "s2.0"), 4);
    differs(want, got,
            "cable missing: s1.2 port 8 to s2.0 port 4\n"
            "cable missing: s1.2 port 10 to s2.1 port 4\n"
            "unknown cable: s1.2 port 8 to s2.1 port 4\n"
            "unknown cable: s1.2 port 10 to s2.0 port 4\n");
    net_free(got);
    got = found(want);
    net_disconnect_all(got, net_find_name(want, "s2.3")); /* a spine is dead */
    net_disconnect(got, 9, 0);
    net_connect(got, net_add_host(got, "guest", 0x42), 0,
                net_find_name(want, "s1.1"), 1);
    differs(want, got,
            "host missing: h9\ncrossbar missing: s2.3\nunknown host: guest\n"
            "cable missing: h9 port 0 to s1.1 port 1\n");
    net_free(got);
    net_free(want);
}

static void say_conflict(void *arg, const char *text)
{
    strcat(arg, text);
    strcat(arg, "\n");
}

static void conflicts_are_named(void **state)
{
    struct net *net = named("C64");
    char text[1000] = "";

    assert_int_equal(net_conflicts(net, say_conflict, text), 0);
    net_set_id(net, 7, net->nodes[3].id);
    net_set_name(net, 9, "h8");
    net_set_id(net, 70, net->nodes[71].id);
    assert_int_equal(net_conflicts(net, say_conflict, text), 3);
    assert_string_equal(text, "h3 and h7 have the same address 0060dd000004\n"
                              "s1.6 and s1.7 have the same id 60dd8000000008\n"
                              "two nodes are called h8\n");
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_make_the_next_map),
        cmocka_unit_test(one_lost_cable_is_a_small_delta),
        cmocka_unit_test(a_delta_for_another_map_is_stale),
        cmocka_unit_test(nonsense_changes_nothing),
        cmocka_unit_test(maps_of_other_nodes_make_no_delta),
        cmocka_unit_test(as_expected_nothing_differs),
        cmocka_unit_test(what_differs_is_named_as_expected_it_was),
        cmocka_unit_test(conflicts_are_named),
    };

    return cmocka_run_group_tests_name("net delta", tests, NULL, NULL);
}
