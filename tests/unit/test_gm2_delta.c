/* SPDX-License-Identifier: BSD-3-Clause
 * What is different in a map, as bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/be.h"
#include "gm2_util.h"
#include "mapper/gm2_delta.h"
#include "net/align.h"
#include "net/delta.h"

static void level_one(uint64_t address, struct gm2_host *host, void *arg)
{
    const uint64_t *high = arg;

    *host = (struct gm2_host){high && *high == address ? 2 : 1, 3};
}

static struct gm2_map *map_of(const struct net *net, uint32_t counter,
                              uint64_t *high)
{
    const struct gm2_version version = {NET_BUILD_HOST_ID, 1, counter};
    struct gm2_map *map = gm2_map_new(net, &version, level_one, high);

    assert_non_null(map);
    return map;
}

static struct net *build(const char *name)
{
    struct errbuf err;
    struct net *net = net_build_named(name, &err);

    assert_non_null(net);
    return net;
}

/* The delta leads there; its length, 0: there is none. */
static size_t leads(const struct gm2_map *a, const struct gm2_map *b)
{
    struct bytebuf d;
    struct gm2_map *c;
    size_t len = 0;

    bytebuf_init(&d, GM2_DELTA_MAX);
    if (gm2_delta_make(a, b, &d)) {
        len = bytebuf_len(&d);
        c = gm2_delta_apply(a, &b->version, bytebuf_data(&d), len, NULL);
        assert_non_null(c);
        assert_int_equal(net_fingerprint(c->net), net_fingerprint(b->net));
        for (uint32_t i = 0; i < b->net->nhosts; i++) {
            assert_int_equal(c->hosts[i].level, b->hosts[i].level);
            assert_int_equal(c->hosts[i].type, b->hosts[i].type);
        }
        gm2_map_free(c);
    }
    bytebuf_free(&d);
    return len;
}

static void cut_link(struct net *net, unsigned nth)
{
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p || net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node) || nth-- > 0)
            continue;
        net_disconnect(net, net->ports[p].node, net_port_number(net, p));
        return;
    }
}

static void a_lost_link_takes_a_hundred_bytes(void **state)
{
    struct net *net = build("C512");
    struct gm2_map *a = map_of(net, 7, NULL), *b;

    cut_link(net, 100);
    b = map_of(net, 8, NULL);
    assert_in_range(leads(a, b), 1, 100);
    assert_in_range(leads(b, a), 1, 100); /* and put back */
    assert_in_range(leads(a, a), 1, 100);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

static void hosts_that_go_and_come(void **state)
{
    struct net *net = build("C64"), *left;
    struct gm2_map *a = map_of(net, 7, NULL), *b;
    uint32_t there, high_up = net_find_host(net, NET_BUILD_HOST_ID + 63);
    uint64_t high = NET_BUILD_HOST_ID + 5;

    net_disconnect_all(net, high_up);
    net_disconnect_all(net, net_find_host(net, NET_BUILD_HOST_ID + 9));
    left = net_reachable(net, net_find_host(net, NET_BUILD_HOST_ID), &there);
    b = map_of(left, 8, NULL);
    assert_int_equal(b->net->nhosts, 62);
    /* the found net stands in another order, so most crossbars are new */
    leads(a, b);
    gm2_map_free(b);
    net_free(left);
    left = net_align_copy(a->net, net);
    b = map_of(left, 8, &high); /* and somebody's rank is another */
    assert_in_range(leads(a, b), 1, 200);
    assert_in_range(leads(b, a), 1, 200);
    gm2_map_free(b);
    net_free(left);
    gm2_map_free(a);
    net_free(net);
}

static void a_found_map_stands_as_the_one_before(void **state)
{
    static const char *const nets[] = {"C64", "torus:3x3:1", "line:3:3",
                                       "hostless-ring:4",
                                       "clos:4x2:1x2:1x1+ids"};

    for (unsigned i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = build(nets[i]), *found, *alike;
        struct gm2_map *a = map_of(net, 7, NULL), *b;
        uint32_t there;

        /* another order, as seen from another host */
        found = net_reachable(a->net, a->net->nhosts / 2, &there);
        alike = net_align_copy(a->net, found);
        b = map_of(alike, 8, NULL);
        assert_int_equal(net_fingerprint(b->net), net_fingerprint(a->net));
        assert_in_range(leads(a, b), 1, 100);
        gm2_map_free(b);
        net_free(alike);
        net_free(found);
        gm2_map_free(a);
        net_free(net);
    }
}

/* Any change there may be: the delta leads there, or there is none. */
static void deltas_of_any_two_maps_lead_there(void **state)
{
    unsigned made = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct net *net = build(seed % 2 ? "random:6:16:3" : "C64"), *alike;
        struct gm2_map *a = map_of(net, 1, NULL), *b;
        uint64_t high = NET_BUILD_HOST_ID + seed % 16;

        net_cut_cables(net, (double)(seed % 10) / 100, seed, seed % 3 == 0);
        if (seed % 7 == 0)
            net_shuffle_ports(net, seed);
        alike = net_align_copy(a->net, net);
        b = map_of(alike, 2, seed % 4 ? NULL : &high);
        made += leads(a, b) > 0;
        made += leads(b, a) > 0;
        gm2_map_free(a);
        gm2_map_free(b);
        net_free(alike);
        net_free(net);
    }
    assert_true(made > 200);
}

static void golden_delta(void **state)
{
    struct net *net = build("line:2:1");
    struct gm2_map *a = map_of(net, 7, NULL), *b;
    struct bytebuf d;
    uint8_t want[200];
    struct be_writer w;

    net_disconnect_all(net, net_find_host(net, NET_BUILD_HOST_ID));
    b = map_of(net, 8, NULL);
    bytebuf_init(&d, GM2_DELTA_MAX);
    assert_true(gm2_delta_make(a, b, &d));
    be_writer_init(&w, want, sizeof(want));
    be_put32(&w, net_fingerprint(b->net));
    be_put16(&w, 0); /* nodes out */
    be_put16(&w, 0); /* hosts in */
    be_put_bytes(&w, "SFD1", 4);
    be_put64(&w, NET_BUILD_HOST_ID);
    be_put32(&w, 7);
    be_put64(&w, NET_BUILD_HOST_ID);
    be_put32(&w, 8);
    be_put32(&w, 4); /* nodes before */
    be_put32(&w, 0);
    be_put32(&w, 1); /* cables out */
    be_put32(&w, 0);
    be_put32(&w, 0);
    be_put32(&w, net_fingerprint(a->net));
    be_put32(&w, 1); /* the port of host 1, the lower one */
    assert_int_equal(bytebuf_len(&d), w.len);
    assert_memory_equal(bytebuf_data(&d), want, w.len);
    bytebuf_free(&d);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

static void deltas_that_do_not_fit_are_refused(void **state)
{
    struct net *net = build("line:3:3");
    struct gm2_map *a = map_of(net, 7, NULL), *b, *c;
    struct bytebuf d;
    uint8_t bytes[GM2_DELTA_MAX];
    size_t len;

    cut_link(net, 1);
    b = map_of(net, 8, NULL);
    bytebuf_init(&d, GM2_DELTA_MAX);
    assert_true(gm2_delta_make(a, b, &d));
    len = bytebuf_len(&d);
    memcpy(bytes, bytebuf_data(&d), len);
    assert_null(gm2_delta_apply(b, &b->version, bytes, len, NULL));
    assert_int_equal(errno, ESTALE);
    assert_null(gm2_delta_apply(a, &a->version, bytes, len, NULL));
    assert_int_equal(errno, ESTALE);
    for (size_t cut = 0; cut < len; cut++)
        assert_null(gm2_delta_apply(a, &b->version, bytes, cut, NULL));
    for (size_t i = 0; i < 8 * len; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        c = gm2_delta_apply(a, &b->version, bytes, len, NULL);
        assert_null(c);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    bytebuf_free(&d);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_lost_link_takes_a_hundred_bytes),
    cmocka_unit_test(hosts_that_go_and_come),
    cmocka_unit_test(a_found_map_stands_as_the_one_before),
    cmocka_unit_test(deltas_of_any_two_maps_lead_there),
    cmocka_unit_test(golden_delta),
    cmocka_unit_test(deltas_that_do_not_fit_are_refused),
};

const struct suite gm2_delta = SUITE(tests);
