/* SPDX-License-Identifier: BSD-3-Clause
 * Software crossbars: routing as in hardware, every way of losing a packet
 * counted where it happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/rng.h"
#include "swfab/swfab.h"
#include "swfab/walk.h"

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

static int open_bed(void **state)
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

static int close_bed(void **state)
{
    struct bed *b = *state;

    swfab_free(b->fab);
    net_free(b->net);
    return 0;
}

static const uint8_t filler[NET_PAYLOAD_MAX] = {1, 2, 3, 4, 5};

static size_t make(uint8_t *buf, const char *route, size_t n, uint16_t subtype,
                   const void *payload, size_t len)
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

static struct swfab_arrival send_route(struct bed *b, uint32_t from,
                                       const char *route, size_t n)
{
    static uint8_t buf[NET_PACKET_MAX];
    struct swfab_arrival a;

    swfab_send(b->fab, from, buf, make(buf, route, n, 1, "hello", 5), &a);
    return a;
}

/* The packet got to `host` whole. */
static void assert_delivered(const struct swfab_arrival *a, uint32_t host)
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
static void assert_lost(struct bed *b, const struct swfab_arrival *a,
                        enum swfab_fate cause, uint32_t node, unsigned port)
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

static void route_bytes_are_relative_to_the_entry_port(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    a = send_route(b, b->alice, "\x83\x85", 2); /* 2+3 = 5; 1+5 = 6 */
    assert_delivered(&a, b->bob);
    assert_int_equal(a.hops, 2);
    a = send_route(b, b->bob, "\xbb\xbd", 2); /* back: -5, -3 */
    assert_delivered(&a, b->alice);
    a = send_route(b, b->alice, "\xbe", 1); /* 2-2 = 0 */
    assert_delivered(&a, b->carol);
    a = send_route(b, b->carol, "\x85\x8e", 2); /* 0+5; 1+14 = 15 */
    assert_delivered(&a, b->dave);
}

static void delta_zero_turns_round(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    a = send_route(b, b->alice, "\x80", 1);
    assert_delivered(&a, b->alice);
    a = send_route(b, b->alice, "\x83\x80\xbd", 3);
    assert_delivered(&a, b->alice);
    assert_int_equal(a.hops, 3);
}

static void passed_counts_each_cable_once(void **state)
{
    struct bed *b = *state;

    send_route(b, b->alice, "\x83\x85", 2);
    assert_int_equal(swfab_passed(b->fab, swfab_port_index(b->fab, b->left, 5)),
                     1);
    assert_int_equal(
        swfab_passed(b->fab, swfab_port_index(b->fab, b->right, 6)), 1);
    assert_int_equal(
        swfab_passed(b->fab, swfab_port_index(b->fab, b->right, 1)), 0);
    assert_int_equal(swfab_total(b->fab, SWFAB_DELIVERED), 1);
    swfab_clear_counters(b->fab);
    assert_int_equal(swfab_total(b->fab, SWFAB_DELIVERED), 0);
}

/* ---- each way of losing a packet ---- */

static void lost_route_runs_out_in_a_crossbar(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a = send_route(b, b->alice, "\x83", 1);

    assert_lost(b, &a, SWFAB_NO_ROUTE, b->right, 1);
}

static void lost_route_is_left_at_a_host(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a = send_route(b, b->alice, "\xbe\x81", 2);

    assert_lost(b, &a, SWFAB_ROUTE_LEFT, b->carol, 0);
}

static void lost_port_out_of_range_without_wrapping(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a = send_route(b, b->alice, "\xbd", 1); /* 2-3 */

    assert_lost(b, &a, SWFAB_PORT_RANGE, b->left, 2);
    swfab_clear_counters(b->fab);
    a = send_route(b, b->alice, "\x86", 1); /* 2+6 = 8 of 8 */
    assert_lost(b, &a, SWFAB_PORT_RANGE, b->left, 2);
}

static void lost_bad_route_byte(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a = send_route(b, b->alice, "\x83\xc5", 2);

    assert_lost(b, &a, SWFAB_BAD_ROUTE, b->right, 1);
}

static void lost_port_without_cable(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a = send_route(b, b->alice, "\x85", 1);

    assert_lost(b, &a, SWFAB_NO_CABLE, b->left, 7);
}

static void lost_link_down_until_it_is_put_back(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    assert_true(swfab_link_is_up(b->fab, b->left, 5));
    assert_true(swfab_set_link(b->fab, b->right, 1, false));
    assert_false(swfab_link_is_up(b->fab, b->left, 5));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_lost(b, &a, SWFAB_LINK_DOWN, b->left, 5);
    swfab_clear_counters(b->fab);
    a = send_route(b, b->bob, "\xbb\xbd", 2);
    assert_lost(b, &a, SWFAB_LINK_DOWN, b->right, 1);
    assert_true(swfab_set_link(b->fab, b->left, 5, true));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_delivered(&a, b->bob);
    assert_false(swfab_set_link(b->fab, b->left, 7, false));
    assert_false(swfab_set_link(b->fab, b->left, 8, false));
    assert_false(swfab_set_link(b->fab, 99, 0, false));
}

static void lost_crossbar_dead_until_it_lives(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    assert_true(swfab_set_xbar_dead(b->fab, b->right, true));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_lost(b, &a, SWFAB_XBAR_DEAD, b->right, 1);
    assert_false(swfab_link_is_up(b->fab, b->left, 5));
    assert_false(swfab_link_is_up(b->fab, b->right, 1));
    a = send_route(b, b->alice, "\xbe", 1);
    assert_delivered(&a, b->carol);
    assert_true(swfab_set_xbar_dead(b->fab, b->right, false));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_delivered(&a, b->bob);
    assert_false(swfab_set_xbar_dead(b->fab, b->alice, true));
}

static void lost_mute_host_hears_and_says_nothing(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    assert_true(swfab_set_host_mute(b->fab, b->carol, true));
    assert_true(swfab_host_is_mute(b->fab, b->carol));
    a = send_route(b, b->alice, "\xbe", 1);
    assert_delivered(&a, b->carol);
    swfab_clear_counters(b->fab);
    a = send_route(b, b->carol, "\x82", 1);
    assert_lost(b, &a, SWFAB_HOST_MUTE, b->carol, 0);
    assert_false(swfab_set_host_mute(b->fab, b->left, true));
}

static void lost_by_chance_on_one_cable(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;
    int lost = 0;

    assert_true(swfab_set_loss(b->fab, b->left, 5, 1.0));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_lost(b, &a, SWFAB_LOST, b->left, 5);
    swfab_clear_counters(b->fab);
    a = send_route(b, b->bob, "\xbb\xbd", 2);
    assert_lost(b, &a, SWFAB_LOST, b->right, 1);
    assert_true(swfab_set_loss(b->fab, b->right, 1, 0.3));
    for (int i = 0; i < 10000; i++)
        lost += send_route(b, b->alice, "\x83\x85", 2).fate == SWFAB_LOST;
    assert_in_range(lost, 2700, 3300);
    assert_true(swfab_set_loss_all(b->fab, 0));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_delivered(&a, b->bob);
}

static void lost_too_short_or_too_long(void **state)
{
    static uint8_t big[NET_PACKET_MAX + 1];
    struct bed *b = *state;
    struct swfab_arrival a;

    assert_false(swfab_send(b->fab, b->alice, "\xbe\0\0\0", 4, &a));
    assert_lost(b, &a, SWFAB_BAD_SIZE, b->alice, 0);
    swfab_clear_counters(b->fab);
    big[0] = 0xbe;
    assert_false(swfab_send(b->fab, b->alice, big, sizeof(big), &a));
    assert_lost(b, &a, SWFAB_BAD_SIZE, b->alice, 0);
    swfab_clear_counters(b->fab);
    assert_false(swfab_send(b->fab, b->alice, big, sizeof(big) - 1, &a));
    assert_lost(b, &a, SWFAB_BAD_SIZE, b->carol, 0); /* body too long */
    swfab_clear_counters(b->fab);
    memset(big, 0x80, NET_WIRE_ROUTE_MAX + 1); /* turns round too often */
    big[0] = 0x83;
    memset(big + NET_WIRE_ROUTE_MAX + 1, 0, 6);
    assert_false(swfab_send(b->fab, b->alice, big, 80, &a));
    assert_int_equal(a.fate, SWFAB_BAD_SIZE);
    swfab_clear_counters(b->fab);
    assert_false(swfab_send(b->fab, b->alice, "\x80\x80\x80\xbe\0", 5, &a));
    assert_int_equal(swfab_total(b->fab, SWFAB_DELIVERED), 0);
}

/* ---- cables ---- */

static void cable_is_pulled_and_plugged_elsewhere(void **state)
{
    struct bed *b = *state;
    struct swfab_arrival a;

    assert_false(swfab_connect(b->fab, b->left, 7, b->bob, 0)); /* taken */
    assert_true(swfab_disconnect(b->fab, b->bob, 0));
    assert_false(swfab_disconnect(b->fab, b->bob, 0));
    a = send_route(b, b->alice, "\x83\x85", 2);
    assert_lost(b, &a, SWFAB_NO_CABLE, b->right, 6);
    assert_true(swfab_connect(b->fab, b->left, 7, b->bob, 0));
    a = send_route(b, b->alice, "\x85", 1);
    assert_delivered(&a, b->bob);
    assert_int_equal(swfab_peer(b->fab, b->bob, 0),
                     swfab_port_index(b->fab, b->left, 7));
    assert_int_equal(net_peer_node(b->net, b->bob, 0), b->right);
}

/* ---- crossbars with an id ---- */

static void tagged_probe_brings_id_and_entry_port(void **state)
{
    struct bed *b = *state;
    uint8_t buf[64];
    struct swfab_arrival a;
    struct net_packet p;
    struct net_tag tag;
    size_t body, len;

    len = make(buf, "\x83\x80\xbd", 3, NET_SUBTYPE_TAGGED, "mine", 4);
    assert_true(swfab_send(b->fab, b->alice, buf, len, &a));
    assert_int_equal(net_packet_parse(&p, a.packet, a.len), 0);
    assert_true(p.crc_ok);
    assert_int_equal(p.len, 4 + NET_TAG_SIZE);
    assert_true(net_tags_get(&tag, 1, p.payload, p.len, &body));
    assert_true(tag.id == 0xabcdef0102030405ULL);
    assert_int_equal(tag.entry, 1);
    assert_int_equal(tag.ports, 16);
    assert_memory_equal(p.payload, "mine", 4);
}

static void crossbar_without_id_marks_nothing(void **state)
{
    struct bed *b = *state;
    uint8_t buf[64];
    struct swfab_arrival a;
    size_t len = make(buf, "\x80", 1, NET_SUBTYPE_TAGGED, "mine", 4);

    assert_true(swfab_send(b->fab, b->alice, buf, len, &a));
    assert_int_equal(a.len, len - 1);
    /* nor does one with an id a packet of another type */
    len = make(buf, "\x83\x80\xbd", 3, 1, "mine", 4);
    assert_true(swfab_send(b->fab, b->alice, buf, len, &a));
    assert_int_equal(a.len, len - 3);
}

static void records_stop_at_their_limit(void **state)
{
    struct bed *b = *state;
    uint8_t buf[64];
    struct swfab_arrival a;
    struct net_tag tag[NET_TAGS_MAX];
    struct net_packet p;
    size_t body, len;

    /* to and fro on the cable between the crossbars: five turns at right */
    len = make(buf, "\x83\x80\x80\x80\x80\x80\x80\x80\x80\x80\xbd", 11,
               NET_SUBTYPE_TAGGED, "", 0);
    assert_true(swfab_send(b->fab, b->alice, buf, len, &a));
    assert_int_equal(net_packet_parse(&p, a.packet, a.len), 0);
    assert_true(p.crc_ok);
    assert_int_equal(p.len, NET_TAGS_MAX * NET_TAG_SIZE);
    assert_true(net_tags_get(tag, NET_TAGS_MAX, p.payload, p.len, &body));
}

/* ---- the end of a cable to another fabric ---- */

static void trunk_takes_packets_with_the_rest_of_their_route(void **state)
{
    struct bed *b = *state;
    uint8_t buf[64];
    struct swfab_arrival a;
    struct net_packet p;
    size_t len;

    assert_true(swfab_set_trunk(b->fab, b->bob));
    assert_false(swfab_set_trunk(b->fab, b->left));
    a = send_route(b, b->alice, "\x83\x85\x81\x82", 4);
    assert_int_equal(a.fate, SWFAB_DELIVERED);
    assert_int_equal(a.node, b->bob);
    assert_int_equal(net_packet_parse(&p, a.packet, a.len), 0);
    assert_true(p.crc_ok);
    assert_int_equal(p.nroute, 2);
    /* and a record that was made on this side goes along */
    len = make(buf, "\x83\x80\x80\x85\x81", 5, NET_SUBTYPE_TAGGED, "", 0);
    assert_true(swfab_send(b->fab, b->alice, buf, len, &a));
    assert_int_equal(net_packet_parse(&p, a.packet, a.len), 0);
    assert_true(p.crc_ok && p.nroute == 1 && p.len == NET_TAG_SIZE);
    /* it comes back as from a host */
    a = send_route(b, b->bob, "\xbb\xbd", 2);
    assert_delivered(&a, b->alice);
    /* plugged elsewhere it stays a trunk */
    assert_true(swfab_disconnect(b->fab, b->bob, 0));
    assert_true(swfab_connect(b->fab, b->left, 7, b->bob, 0));
    a = send_route(b, b->alice, "\x85\x81", 2);
    assert_int_equal(a.fate, SWFAB_DELIVERED);
}

/* ---- corruption ---- */

static void an_error_stays_an_error(void **state)
{
    struct bed *b = *state;
    uint8_t buf[600];
    struct net_packet p;
    struct swfab_arrival a;
    size_t len = make(buf, "\x83\x80\x80\x85", 4, 1, filler, 250);
    size_t arrived = 0;

    for (size_t bit = 0; bit < 8 * len; bit++) {
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (swfab_send(b->fab, b->alice, buf, len, &a)) {
            arrived++;
            assert_int_equal(net_packet_parse(&p, a.packet, a.len), 0);
            assert_false(p.crc_ok);
        }
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_in_range(arrived, 8 * (len - 4) - 1, 8 * len);
}

static void corruption_on_the_way_is_seen_at_the_end(void **state)
{
    struct bed *b = *state;
    static uint8_t buf[NET_PACKET_MAX];
    const size_t lens[] = {0, 20, 300, NET_PAYLOAD_MAX};
    struct net_packet p;
    struct swfab_arrival a;
    uint32_t at = swfab_port_index(b->fab, b->left, 5);
    unsigned arrived = 0;

    swfab_set_corruption(b->fab, b->left, 5, 1.0);
    for (int i = 0; i < 4000; i++) {
        size_t len = make(buf, "\x83\x80\xbd", 3,
                          i % 2 ? 1 : NET_SUBTYPE_TAGGED, filler, lens[i % 4]);

        if (!swfab_send(b->fab, b->alice, buf, len, &a))
            continue;
        arrived++;
        /* Two flips, there and back: now and then the second mends the first
         * or lies a period apart, which the CRC does not see. */
        if (net_packet_parse(&p, a.packet, a.len) == 0 && p.crc_ok)
            arrived--;
    }
    assert_in_range(arrived, 3000, 4000);
    assert_true(swfab_count(b->fab, at, SWFAB_CORRUPTED) == 4000);
}

/* One flip on a straight way never goes unseen. */
static void single_corruption_never_passes_as_right(void **state)
{
    struct bed *b = *state;
    uint8_t buf[512];
    struct net_packet p;
    struct swfab_arrival a;

    swfab_set_corruption(b->fab, b->left, 5, 1.0);
    for (int i = 0; i < 5000; i++) {
        size_t len = make(buf, "\x83\x85", 2, 1, filler, (size_t)i % 300);

        if (swfab_send(b->fab, b->alice, buf, len, &a))
            assert_true(net_packet_parse(&p, a.packet, a.len) < 0 || !p.crc_ok);
    }
}

/* ---- against a crossbar that does it the long way ---- */

/* One packet through the net byte by byte: each crossbar strips, computes the
 * CRC anew and adds the difference that it had received. */
static uint32_t long_way(const struct net *net, uint32_t node, uint8_t *p,
                         size_t *len)
{
    uint32_t port = net->nodes[node].first;

    for (;;) {
        uint8_t wrong;
        int out;

        port = net->ports[port].peer;
        if (port == NET_NONE)
            return NET_NONE;
        node = net->ports[port].node;
        if (net->nodes[node].kind == NET_HOST)
            return p[0] & 0x80 ? NET_NONE : node;
        if (!(p[0] & 0x80) || p[0] & 0x40)
            return NET_NONE;
        out = (int)net_port_number(net, port) + net_route_delta(p[0]);
        if (out < 0 || out >= net->nodes[node].nports)
            return NET_NONE;
        wrong = net_crc(0, p, *len - 1) ^ p[*len - 1];
        memmove(p, p + 1, --*len);
        p[*len - 1] = net_crc(0, p, *len - 1) ^ wrong;
        port = net->nodes[node].first + (unsigned)out;
    }
}

static struct net *random_net(struct net_rng *rng)
{
    static const unsigned sizes[] = {4, 8, 16, 32};
    struct net *net = net_new();

    for (unsigned i = 0; i < 12; i++)
        net_add_xbar(net, "", sizes[net_rng_below(rng, 4)], i);
    for (unsigned i = 0; i < 12; i++)
        net_add_host(net, "", i + 1);
    for (unsigned i = 0; i < 150; i++) {
        uint32_t a = net_rng_below(rng, 24), b = net_rng_below(rng, 24);

        net_connect(net, a, net_rng_below(rng, net->nodes[a].nports), b,
                    net_rng_below(rng, net->nodes[b].nports));
    }
    return net;
}

static void random_packets_go_where_hardware_sends_them(void **state)
{
    struct net_rng rng = {7};
    unsigned delivered = 0;

    for (int round = 0; round < 20; round++) {
        struct net *net = random_net(&rng);
        struct swfab *fab = swfab_new(net);
        uint64_t total = 0;

        for (int i = 0; i < 3000; i++) {
            uint8_t buf[80], copy[80];
            char route[16];
            size_t n = net_rng_below(&rng, 6), len;
            uint32_t host = 12 + net_rng_below(&rng, 12), to;
            struct swfab_arrival a;

            for (size_t k = 0; k < n; k++)
                route[k] =
                    (char)net_route_byte((int)net_rng_below(&rng, 21) - 10);
            len = make(buf, route, n, 1, "0123456789", 10);
            if (i % 5 == 0)
                buf[n + net_rng_below(&rng, (uint32_t)(len - n))] ^= 4;
            memcpy(copy, buf, len);
            swfab_send(fab, host, buf, len, &a);
            to = long_way(net, host, copy, &len);
            assert_int_equal(a.fate == SWFAB_DELIVERED, to != NET_NONE);
            if (to == NET_NONE)
                continue;
            delivered++;
            assert_int_equal(a.node, to);
            assert_int_equal(a.len, len);
            assert_memory_equal(a.packet, copy, len);
        }
        for (unsigned c = 0; c < SWFAB_CORRUPTED; c++)
            total += swfab_total(fab, c);
        assert_int_equal(total, 3000);
        swfab_free(fab);
        net_free(net);
    }
    assert_true(delivered > 3000);
}

static void every_counter_has_a_name(void **state)
{
    for (unsigned c = 0; c < SWFAB_NCOUNTERS; c++)
        assert_non_null(swfab_fate_name(c));
    assert_null(swfab_fate_name(SWFAB_NCOUNTERS));
}

#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(route_bytes_are_relative_to_the_entry_port),
        BED_TEST(delta_zero_turns_round),
        BED_TEST(passed_counts_each_cable_once),
        BED_TEST(lost_route_runs_out_in_a_crossbar),
        BED_TEST(lost_route_is_left_at_a_host),
        BED_TEST(lost_port_out_of_range_without_wrapping),
        BED_TEST(lost_bad_route_byte),
        BED_TEST(lost_port_without_cable),
        BED_TEST(lost_link_down_until_it_is_put_back),
        BED_TEST(lost_crossbar_dead_until_it_lives),
        BED_TEST(lost_mute_host_hears_and_says_nothing),
        BED_TEST(lost_by_chance_on_one_cable),
        BED_TEST(lost_too_short_or_too_long),
        BED_TEST(cable_is_pulled_and_plugged_elsewhere),
        BED_TEST(tagged_probe_brings_id_and_entry_port),
        BED_TEST(crossbar_without_id_marks_nothing),
        BED_TEST(records_stop_at_their_limit),
        BED_TEST(trunk_takes_packets_with_the_rest_of_their_route),
        BED_TEST(an_error_stays_an_error),
        BED_TEST(corruption_on_the_way_is_seen_at_the_end),
        BED_TEST(single_corruption_never_passes_as_right),
        cmocka_unit_test(random_packets_go_where_hardware_sends_them),
        cmocka_unit_test(every_counter_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
