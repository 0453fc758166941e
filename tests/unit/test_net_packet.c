/* SPDX-License-Identifier: BSD-3-Clause
 * Packets of the fabric: route bytes, types, CRC.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/packet.h"

/* The definition, bit by bit. */
static uint8_t slow_crc(const uint8_t *p, size_t len)
{
    unsigned crc = 0;

    for (size_t i = 0; i < 8 * len; i++) {
        unsigned bit = p[i / 8] >> (7 - i % 8) & 1;

        crc = crc << 1 | 0;
        if ((crc >> 8 & 1) ^ bit)
            crc ^= 0x107;
        crc &= 0xff;
    }
    return (uint8_t)crc;
}

static void fill(uint8_t *p, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1103515245u + 12345u;
        p[i] = (uint8_t)(seed >> 16);
    }
}

/* An intact packet of `len` bytes with a route of n bytes. */
static void make_packet(uint8_t *p, size_t len, size_t n, unsigned seed)
{
    fill(p, len, seed);
    for (size_t i = 0; i < n; i++)
        p[i] = net_route_byte((int)(i % 15) - 7);
    net_type_put(p + n, NET_TYPE_MAPPING, 2);
    p[len - 1] = net_crc(0, p, len - 1);
}

static void route_byte_is_a_signed_delta_of_six_bits(void **state)
{
    assert_int_equal(net_route_byte(0), 0x80);
    assert_int_equal(net_route_byte(1), 0x81);
    assert_int_equal(net_route_byte(-1), 0xbf);
    for (int d = NET_DELTA_MIN; d <= NET_DELTA_MAX; d++) {
        assert_true(net_byte_is_route(net_route_byte(d)));
        assert_true(net_route_byte_valid(net_route_byte(d)));
        assert_int_equal(net_route_delta(net_route_byte(d)), d);
    }
    assert_false(net_route_byte_valid(0xc0));
    assert_false(net_route_byte_valid(0x00));
}

static void reversing_negates_and_turns_round(void **state)
{
    const uint8_t there[4] = {0x81, 0xbf, 0x80, 0x87};
    const uint8_t back[4] = {0xb9, 0x80, 0x81, 0xbf};
    uint8_t out[4];

    net_route_reverse(out, there, 4);
    assert_memory_equal(out, back, 4);
    net_route_reverse(out, out, 4);
    assert_memory_equal(out, there, 4);
    net_route_reverse(out, there, 3);
    assert_memory_equal(out, "\x80\x81\xbf", 3);
    net_route_reverse(out, out, 0);
}

static void loop_goes_there_turns_and_comes_back(void **state)
{
    uint8_t out[NET_WIRE_ROUTE_MAX], route[NET_ROUTE_MAX];

    assert_int_equal(
        net_route_loop(out, sizeof(out), (const uint8_t *)"\x82\xbd", 2), 5);
    assert_memory_equal(out, "\x82\xbd\x80\x83\xbe", 5);
    assert_int_equal(net_route_loop(out, sizeof(out), NULL, 0), 1);
    assert_int_equal(out[0], 0x80);
    memset(route, 0x81, sizeof(route));
    assert_int_equal(net_route_loop(out, sizeof(out), route, 31), 63);
    assert_int_equal(net_route_loop(out, sizeof(out), route, 32), 0);
    assert_int_equal(net_route_loop(out, 4, route, 2), 0);
}

static void packet_golden_bytes(void **state)
{
    struct net_packet p = {.route = (const uint8_t *)"\x83\xbe",
                           .nroute = 2,
                           .type = NET_TYPE_MAPPING,
                           .subtype = 0x0102,
                           .payload = (const uint8_t *)"probe",
                           .len = 5},
                      q;
    uint8_t buf[32];

    assert_int_equal(net_packet_make(buf, sizeof(buf), &p), 12);
    assert_memory_equal(buf, "\x83\xbe\x00\x0f\x01\x02probe", 11);
    assert_int_equal(buf[11], slow_crc(buf, 11));
    assert_int_equal(net_packet_parse(&q, buf, 12), 0);
    assert_int_equal(q.nroute, 2);
    assert_int_equal(q.type, NET_TYPE_MAPPING);
    assert_int_equal(q.subtype, 0x0102);
    assert_int_equal(q.len, 5);
    assert_memory_equal(q.payload, "probe", 5);
    assert_true(q.crc_ok);
    buf[7] ^= 1;
    assert_int_equal(net_packet_parse(&q, buf, 12), 0);
    assert_false(q.crc_ok);
}

static void packet_refuses_what_does_not_fit(void **state)
{
    static uint8_t big[NET_PACKET_MAX + 1];
    uint8_t route[NET_WIRE_ROUTE_MAX + 1];
    struct net_packet p = {.route = route, .payload = big, .type = 1}, q;

    memset(route, 0x81, sizeof(route));
    p.nroute = NET_WIRE_ROUTE_MAX + 1;
    assert_int_equal(net_packet_make(big, sizeof(big), &p), 0);
    assert_int_equal(errno, EMSGSIZE);
    p.nroute = 1;
    p.len = NET_PAYLOAD_MAX + 1;
    assert_int_equal(net_packet_make(big, sizeof(big), &p), 0);
    p.len = 0;
    assert_int_equal(net_packet_make(big, 5, &p), 0);
    assert_int_equal(errno, EMSGSIZE);
    route[0] = 0x01;
    assert_int_equal(net_packet_make(big, sizeof(big), &p), 0);
    assert_int_equal(errno, EINVAL);
    route[0] = 0x81;
    p.type = 0x8000;
    assert_int_equal(net_packet_make(big, sizeof(big), &p), 0);
    assert_int_equal(errno, EINVAL);
    memset(big, 0x81, sizeof(big));
    assert_int_equal(net_packet_parse(&q, big, sizeof(big)), -1);
    assert_int_equal(net_packet_parse(&q, big, 3), -1);
    assert_int_equal(net_packet_parse(&q, big, 0), -1);
    big[1] = 0;
    assert_int_equal(net_packet_parse(&q, big, 5), -1);
    assert_int_equal(net_packet_parse(&q, big, 6), 0);
    assert_int_equal(net_packet_parse(&q, big, 1 + NET_BODY_MAX), 0);
    assert_int_equal(net_packet_parse(&q, big, 2 + NET_BODY_MAX), -1);
    assert_int_equal(errno, EMSGSIZE);
}

static void longest_route_passes_and_no_longer_one(void **state)
{
    uint8_t route[NET_WIRE_ROUTE_MAX], wire[NET_WIRE_ROUTE_MAX + 16];
    struct net_packet p = {
        .route = route, .nroute = sizeof(route), .type = NET_TYPE_MAPPING};
    struct net_packet q;
    size_t len;

    memset(route, 0x81, sizeof(route));
    len = net_packet_make(wire + 1, sizeof(wire) - 1, &p);
    assert_int_equal(len, sizeof(route) + NET_TYPE_SIZE + NET_CRC_SIZE);
    assert_int_equal(net_packet_parse(&q, wire + 1, len), 0);
    assert_int_equal(q.nroute, sizeof(route));
    wire[0] = 0x81; /* one byte more, of which the rest takes no note */
    assert_int_equal(net_packet_parse(&q, wire, len + 1), -1);
    assert_int_equal(errno, EMSGSIZE);
}

static void crc_is_the_polynomial_of_the_manual(void **state)
{
    static uint8_t p[NET_PACKET_MAX];

    /* The catalogued check value of this CRC. */
    assert_int_equal(net_crc(0, "123456789", 9), 0xf4);
    fill(p, sizeof(p), 7);
    for (size_t len = 0; len < 1100; len++)
        assert_int_equal(net_crc(0, p, len), slow_crc(p, len));
    assert_int_equal(net_crc(0, p, sizeof(p)), slow_crc(p, sizeof(p)));
    for (size_t cut = 0; cut < 1000; cut += 13)
        assert_int_equal(net_crc(net_crc(0, p, cut), p + cut, 1000 - cut),
                         net_crc(0, p, 1000));
}

static void crc_finds_every_single_wrong_bit(void **state)
{
    uint8_t p[300];

    make_packet(p, sizeof(p), 3, 1);
    for (size_t i = 0; i < 8 * sizeof(p); i++) {
        p[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_int_not_equal(net_crc(0, p, sizeof(p)), 0);
        p[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_int_equal(net_crc(0, p, sizeof(p)), 0);
}

/* The limit of eight bits: two wrong bits cancel when a period lies between
 * them, else never; no packet of up to 15 bytes is that long. */
static void crc_finds_two_wrong_bits_but_a_period_apart(void **state)
{
    uint8_t p[48];
    size_t missed = 0;

    make_packet(p, sizeof(p), 2, 2);
    for (size_t i = 0; i < 8 * sizeof(p); i++) {
        for (size_t j = i + 1; j < 8 * sizeof(p); j++) {
            p[i / 8] ^= (uint8_t)(0x80 >> i % 8);
            p[j / 8] ^= (uint8_t)(0x80 >> j % 8);
            if (net_crc(0, p, sizeof(p)) == 0) {
                assert_int_equal((j - i) % 127, 0);
                missed++;
            }
            p[i / 8] ^= (uint8_t)(0x80 >> i % 8);
            p[j / 8] ^= (uint8_t)(0x80 >> j % 8);
        }
    }
    assert_int_equal(missed, (384 - 127) + (384 - 254) + (384 - 381));
}

static void crc_finds_every_burst_of_eight(void **state)
{
    uint8_t p[200];

    make_packet(p, sizeof(p), 2, 3);
    for (size_t at = 0; at + 1 < sizeof(p); at++) {
        for (unsigned burst = 1; burst < 256; burst++) {
            for (unsigned shift = 0; shift < 8; shift++) {
                p[at] ^= (uint8_t)(burst << shift >> 8);
                p[at + 1] ^= (uint8_t)(burst << shift);
                assert_int_not_equal(net_crc(0, p, sizeof(p)), 0);
                p[at] ^= (uint8_t)(burst << shift >> 8);
                p[at + 1] ^= (uint8_t)(burst << shift);
            }
        }
    }
}

/* Stripping hop by hop or all at once gives the CRC of what is left. */
static void stripping_keeps_a_right_packet_right(void **state)
{
    static uint8_t p[NET_PACKET_MAX];
    const size_t lens[] = {9, 72, 126, 127, 128, 129, 500, sizeof(p)};

    for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
        size_t len = lens[k];

        make_packet(p, len, 4, (unsigned)k);
        for (size_t hop = 0; hop < 4; hop++) {
            p[len - 1] = net_crc_strip(p[len - 1], p + hop, 1, len - hop - 2);
            assert_int_equal(net_crc(0, p + hop + 1, len - hop - 1), 0);
        }
        make_packet(p, len, 4, (unsigned)k);
        p[len - 1] = net_crc_strip(p[len - 1], p, 4, len - 5);
        assert_int_equal(net_crc(0, p + 4, len - 4), 0);
    }
}

/* An error that happened on the way in does not become right again. */
static void stripping_keeps_an_error_an_error(void **state)
{
    uint8_t good[64], bad[64];

    make_packet(good, sizeof(good), 3, 9);
    for (size_t i = 0; i < 8 * sizeof(bad); i++) {
        uint8_t before;

        memcpy(bad, good, sizeof(bad));
        bad[i / 8] ^= (uint8_t)(1 << i % 8);
        before = net_crc(0, bad, sizeof(bad));
        bad[63] = net_crc_strip(bad[63], bad, 3, 64 - 4);
        assert_int_equal(net_crc(0, bad + 3, 61), before);
        assert_int_not_equal(before, 0);
    }
}

static void tags_are_read_from_the_end(void **state)
{
    const struct net_tag a = {0x0102030405060708ULL, 3, 16}, b = {9, 31, 32};
    uint8_t buf[3 + 2 * NET_TAG_SIZE] = "abc";
    struct net_tag got[NET_TAGS_MAX];
    size_t body = 0;

    net_tag_put(buf + 3, &a);
    net_tag_put(buf + 3 + NET_TAG_SIZE, &b);
    assert_memory_equal(buf + 3, "\1\2\3\4\5\6\7\10\3\20\0\0", NET_TAG_SIZE);
    assert_true(net_tags_get(got, 2, buf, sizeof(buf), &body));
    assert_int_equal(body, 3);
    assert_true(got[0].id == a.id && got[0].entry == 3 && got[0].ports == 16);
    assert_true(got[1].id == 9 && got[1].entry == 31 && got[1].ports == 32);
    assert_false(net_tags_get(got, 2, buf, 23, &body));
    assert_false(net_tags_get(got, NET_TAGS_MAX + 1, buf, 23, &body));
    buf[3 + 8] = 16; /* entry port beyond the ports */
    assert_false(net_tags_get(got, 2, buf, sizeof(buf), &body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_byte_is_a_signed_delta_of_six_bits),
        cmocka_unit_test(reversing_negates_and_turns_round),
        cmocka_unit_test(loop_goes_there_turns_and_comes_back),
        cmocka_unit_test(packet_golden_bytes),
        cmocka_unit_test(packet_refuses_what_does_not_fit),
        cmocka_unit_test(longest_route_passes_and_no_longer_one),
        cmocka_unit_test(crc_is_the_polynomial_of_the_manual),
        cmocka_unit_test(crc_finds_every_single_wrong_bit),
        cmocka_unit_test(crc_finds_two_wrong_bits_but_a_period_apart),
        cmocka_unit_test(crc_finds_every_burst_of_eight),
        cmocka_unit_test(stripping_keeps_a_right_packet_right),
        cmocka_unit_test(stripping_keeps_an_error_an_error),
        cmocka_unit_test(tags_are_read_from_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
