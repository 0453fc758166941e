/* SPDX-License-Identifier: BSD-3-Clause
 * Software crossbars: every way of losing a packet, counted where it happens,
 * and what corruption does to it.
 */
#include "swfab_bed.h"

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

static const uint8_t filler[NET_PAYLOAD_MAX] = {1, 2, 3, 4, 5};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        BED_TEST(an_error_stays_an_error),
        BED_TEST(corruption_on_the_way_is_seen_at_the_end),
        BED_TEST(single_corruption_never_passes_as_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
