/* SPDX-License-Identifier: BSD-3-Clause
 * Software crossbars: routing as in hardware, cables, marks and trunks.
 */
#include "net/rng.h"
#include "swfab/walk.h"
#include "swfab_bed.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(route_bytes_are_relative_to_the_entry_port),
        BED_TEST(delta_zero_turns_round),
        BED_TEST(passed_counts_each_cable_once),
        BED_TEST(cable_is_pulled_and_plugged_elsewhere),
        BED_TEST(tagged_probe_brings_id_and_entry_port),
        BED_TEST(crossbar_without_id_marks_nothing),
        BED_TEST(records_stop_at_their_limit),
        BED_TEST(trunk_takes_packets_with_the_rest_of_their_route),
        cmocka_unit_test(random_packets_go_where_hardware_sends_them),
        cmocka_unit_test(every_counter_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
