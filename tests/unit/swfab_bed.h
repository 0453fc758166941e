/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small net of software crossbars, and packets through it.
 */
#ifndef SF_TESTS_SWFAB_BED_H
#define SF_TESTS_SWFAB_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "swfab/swfab.h"

/*
 *   alice:0 -- 2:left:5 -- 1:right:6 -- 0:bob       left: 8 ports, no id
 *                left:0 -- 0:carol                  right: 16 ports, with id
 *                          right:15 - 0:dave        left:7: no cable
 */
struct bed {
    struct net *net;
    struct swfab *fab;
    uint32_t alice, bob, carol, dave, left, right;
};

static inline int open_bed(void **state)
{
    static struct bed b;

    b.net = net_new();
    b.alice = net_add_host(b.net, "alice", 0x60dd000001);
    b.bob = net_add_host(b.net, "bob", 0x60dd000002);
    b.carol = net_add_host(b.net, "carol", 0x60dd000003);
    b.dave = net_add_host(b.net, "dave", 0x60dd000004);
    b.left = net_add_xbar(b.net, "left", 8, 0);
    b.right = net_add_xbar(b.net, "right", 16, 0xabcdef0102030405ULL);
    b.net->nodes[b.left].has_id = 0;
    b.net->nodes[b.right].has_id = 1;
    net_connect(b.net, b.alice, 0, b.left, 2);
    net_connect(b.net, b.carol, 0, b.left, 0);
    net_connect(b.net, b.left, 5, b.right, 1);
    net_connect(b.net, b.bob, 0, b.right, 6);
    net_connect(b.net, b.dave, 0, b.right, 15);
    b.fab = swfab_new(b.net);
    *state = &b;
    return b.fab ? 0 : -1;
}

static inline int close_bed(void **state)
{
    struct bed *b = *state;

    swfab_free(b->fab);
    net_free(b->net);
    return 0;
}

static inline size_t make(uint8_t *buf, const char *route, size_t n,
                          uint16_t subtype, const void *payload, size_t len)
{
    struct net_packet p = {.route = (const uint8_t *)route,
                           .nroute = n,
                           .type = NET_TYPE_MAPPING,
                           .subtype = subtype,
                           .payload = payload,
                           .len = len};
    size_t size = net_packet_make(buf, NET_PACKET_MAX, &p);

    assert_int_not_equal(size, 0);
    return size;
}

static inline struct swfab_arrival send_route(struct bed *b, uint32_t from,
                                              const char *route, size_t n)
{
    static uint8_t buf[NET_PACKET_MAX];
    struct swfab_arrival a;

    swfab_send(b->fab, from, buf, make(buf, route, n, 1, "hello", 5), &a);
    return a;
}

/* The packet got to `host` whole. */
static inline void assert_delivered(const struct swfab_arrival *a,
                                    uint32_t host)
{
    struct net_packet p;

    assert_int_equal(a->fate, SWFAB_DELIVERED);
    assert_int_equal(a->node, host);
    assert_int_equal(net_packet_parse(&p, a->packet, a->len), 0);
    assert_true(p.crc_ok);
    assert_int_equal(p.nroute, 0);
    assert_int_equal(p.subtype, 1);
    assert_int_equal(p.len, 5);
    assert_memory_equal(p.payload, "hello", 5);
}

/* Lost for this cause, and counted once, at this port, and nowhere else. */
static inline void assert_lost(struct bed *b, const struct swfab_arrival *a,
                               enum swfab_fate cause, uint32_t node,
                               unsigned port)
{
    uint32_t at = swfab_port_index(b->fab, node, port);

    assert_string_equal(swfab_fate_name(a->fate), swfab_fate_name(cause));
    assert_int_equal(a->port, at);
    assert_int_equal(a->node, node);
    for (uint32_t p = 0; p < swfab_nports(b->fab); p++)
        for (unsigned c = 0; c < SWFAB_NCOUNTERS; c++)
            assert_int_equal(swfab_count(b->fab, p, c),
                             p == at && c == cause ? 1 : 0);
    assert_int_equal(swfab_total(b->fab, cause), 1);
}

#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

#endif
