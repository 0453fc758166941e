/* SPDX-License-Identifier: BSD-3-Clause
 * The fabric with a clock: latency, serialisation, blocked heads, deadlock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/rng.h"
#include "swfab/swfab.h"
#include "timed_fabric.h"

enum { HOP = 300, BLOCKED = 50 * 1000 * 1000, NXBARS = 4 };

/* A ring of four crossbars, each with two hosts: crossbar i: port 0, 1 hosts
 * 2i, 2i + 1; port 2 to crossbar i + 1, port 3 from crossbar i - 1. */
struct bed {
    struct net *net;
    struct swfab *fab;
    struct swfab_timed *timed;
    uint32_t host[2 * NXBARS], xbar[NXBARS];
};

static int open_bed(void **state)
{
    static struct bed b;

    b.net = net_new();
    for (unsigned i = 0; i < NXBARS; i++)
        b.xbar[i] = net_add_xbar(b.net, "", 4, i + 1);
    for (unsigned i = 0; i < 2 * NXBARS; i++) {
        b.host[i] = net_add_host(b.net, "", i + 1);
        net_connect(b.net, b.host[i], 0, b.xbar[i / 2], i % 2);
    }
    for (unsigned i = 0; i < NXBARS; i++)
        net_connect(b.net, b.xbar[i], 2, b.xbar[(i + 1) % NXBARS], 3);
    b.fab = swfab_new(b.net);
    b.timed = swfab_timed_new(b.fab, NULL);
    *state = &b;
    return b.timed ? 0 : -1;
}

static int close_bed(void **state)
{
    struct bed *b = *state;

    swfab_timed_free(b->timed);
    swfab_free(b->fab);
    net_free(b->net);
    return 0;
}

/* Send len bytes (route and trailer included). */
static void send_at(struct bed *b, uint64_t t, unsigned host, const char *route,
                    size_t n, size_t len)
{
    static const uint8_t payload[NET_PAYLOAD_MAX];
    static uint8_t buf[NET_PACKET_MAX];
    struct net_packet p = {.route = (const uint8_t *)route,
                           .nroute = n,
                           .type = NET_TYPE_MAPPING,
                           .payload = payload,
                           .len = len - n - 5};

    assert_int_equal(net_packet_make(buf, sizeof(buf), &p), len);
    assert_int_equal(swfab_timed_send(b->timed, t, b->host[host], buf, len), 0);
}

static struct swfab_event next(struct bed *b)
{
    struct swfab_event e = {0};

    assert_true(swfab_timed_next(b->timed, UINT64_MAX, &e));
    return e;
}

static void assert_quiet(struct bed *b)
{
    struct swfab_event e;

    assert_false(swfab_timed_next(b->timed, UINT64_MAX, &e));
    assert_int_equal(swfab_timed_in_flight(b->timed), 0);
}

static void lone_packet_takes_hops_and_length(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;
    struct net_packet p;

    send_at(b, 1000, 0, "\x81", 1, 100);
    assert_int_equal(swfab_timed_in_flight(b->timed), 1);
    e = next(b);
    assert_int_equal(e.kind, SWFAB_ARRIVAL);
    assert_int_equal(e.node, b->host[1]);
    assert_true(e.time == 1000 + 2 * HOP + 400);
    assert_int_equal(e.len, 99);
    assert_int_equal(net_packet_parse(&p, e.packet, e.len), 0);
    assert_true(p.crc_ok);
    send_at(b, 5000, 0, "\x82", 1, 1000);      /* runs out of route */
    send_at(b, 20000, 0, "\x82\xbe", 2, 1000); /* to host 3 */
    e = next(b);
    assert_int_equal(e.node, b->host[3]);
    assert_true(e.time == 20000 + 3 * HOP + 4000);
    assert_int_equal(swfab_total(b->fab, SWFAB_NO_ROUTE), 1);
    assert_quiet(b);
}

static void link_carries_one_packet_at_a_time(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    for (int i = 0; i < 5; i++)
        send_at(b, 0, 0, "\x81", 1, 1000);
    for (unsigned i = 0; i < 5; i++) {
        e = next(b);
        assert_true(e.time == 2 * HOP + (i + 1) * 4000);
    }
    assert_quiet(b);
}

static void two_senders_share_the_link_to_one_host(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    send_at(b, 0, 0, "\x82\xbd", 2, 1000); /* 0 -> 2 */
    send_at(b, 10, 1, "\x81\xbd", 2, 1000);
    e = next(b);
    assert_true(e.time == 3 * HOP + 4000);
    assert_int_equal(e.node, b->host[2]);
    e = next(b);
    assert_int_equal(e.node, b->host[2]);
    /* The second got the cable between the crossbars when the first's tail
     * had left it: 4000 after its head came. */
    assert_true(e.time == HOP + 4000 + 2 * HOP + 4000);
    assert_quiet(b);
}

/* A long packet that stands still blocks who wants a link below its body,
 * though that link itself carries nothing. */
static void blocked_packet_holds_the_links_behind_it(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;
    uint64_t first;

    send_at(b, 0, 2, "\x81", 1, 8000);      /* 2 -> 3, 32 us */
    send_at(b, 10, 0, "\x82\xbe", 2, 8000); /* 0 -> 3, must wait */
    send_at(b, 20, 1, "\x81\xbd", 2, 100);  /* 1 -> 2: behind that */
    e = next(b);
    assert_int_equal(e.node, b->host[3]);
    first = e.time;
    e = next(b);
    assert_int_equal(e.node, b->host[3]);
    assert_true(e.time >= first + 32000);
    e = next(b);
    assert_int_equal(e.node, b->host[2]);
    assert_true(e.time > first + 32000);
    assert_quiet(b);
}

/* Each holds a cable of the ring and wants the next one: no way out but the
 * time-out. */
static void deadlock_is_broken_by_the_time_out(void **state)
{
    struct bed *b = *state;
    unsigned arrived = 0;
    struct swfab_event e;

    for (unsigned i = 0; i < NXBARS; i++) /* 2i -> 2i + 6, three cables on */
        send_at(b, 0, 2 * i, "\x82\xbf\xbf\xbd", 4, 8000);
    while (swfab_timed_next(b->timed, UINT64_MAX, &e)) {
        arrived++;
        assert_true(e.time > BLOCKED);
    }
    assert_true(swfab_total(b->fab, SWFAB_BLOCKED) >= 1);
    assert_int_equal(swfab_total(b->fab, SWFAB_BLOCKED) + arrived, NXBARS);
    assert_int_equal(swfab_count(b->fab,
                                 swfab_port_index(b->fab, b->xbar[1], 2),
                                 SWFAB_BLOCKED),
                     1);
    /* the links are free again */
    send_at(b, 1000 * 1000 * 1000, 0, "\x82\xbf\xbf\xbd", 4, 8000);
    e = next(b);
    assert_true(e.time == 1000 * 1000 * 1000 + 5 * HOP + 32000);
    assert_quiet(b);
}

/* Packets no longer than a hop wait in slack buffers and hold no link: what is
 * a deadlock for long ones is none for them. */
static void short_packets_do_not_deadlock(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;
    unsigned arrived = 0;

    for (unsigned k = 0; k < 50; k++)
        for (unsigned i = 0; i < NXBARS; i++)
            send_at(b, k, 2 * i, "\x82\xbf\xbf\xbd", 4, 60);
    while (swfab_timed_next(b->timed, UINT64_MAX, &e))
        arrived++;
    assert_int_equal(arrived, 50 * NXBARS);
}

static void packet_may_meet_its_own_tail(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    /* once around the ring and on */
    send_at(b, 0, 0, "\x82\xbf\xbf\xbf\xbf\xbd", 6, 60);
    e = next(b);
    assert_int_equal(e.node, b->host[2]);
    send_at(b, 10000, 0, "\x82\xbf\xbf\xbf\xbf\xbd", 6, 8000);
    assert_quiet(b); /* too long: it blocks itself, and is reset */
    assert_int_equal(swfab_total(b->fab, SWFAB_BLOCKED), 1);
}

static void timers_and_packets_come_in_order_of_time(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    swfab_timed_timer(b->timed, 5000, 7, 70);
    swfab_timed_timer(b->timed, 100, 8, 80);
    swfab_timed_timer(b->timed, 5000, 9, 90);
    send_at(b, 0, 0, "\x81", 1, 100); /* arrives at 1000 */
    assert_false(swfab_timed_next(b->timed, 50, &e));
    assert_true(swfab_timed_now(b->timed) == 50);
    e = next(b);
    assert_true(e.kind == SWFAB_TIMER && e.node == 8 && e.cookie == 80);
    assert_true(next(b).kind == SWFAB_ARRIVAL);
    e = next(b);
    assert_true(e.kind == SWFAB_TIMER && e.time == 5000 && e.cookie == 70);
    e = next(b);
    assert_true(e.kind == SWFAB_TIMER && e.node == 9 && e.cookie == 90);
    swfab_timed_timer(b->timed, 1, 1, 1); /* the past is now */
    assert_true(next(b).time == 5000);
    assert_quiet(b);
}

static void faults_strike_at_their_time(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    send_at(b, 0, 0, "\x81", 1, 100);
    send_at(b, 6000, 0, "\x81", 1, 100);
    swfab_timed_timer(b->timed, 5000, 0, 0);
    assert_true(next(b).kind == SWFAB_ARRIVAL);
    assert_true(next(b).kind == SWFAB_TIMER);
    swfab_set_link(b->fab, b->host[1], 0, false);
    assert_false(swfab_timed_next(b->timed, 9000, &e));
    assert_int_equal(swfab_total(b->fab, SWFAB_LINK_DOWN), 1);
    assert_true(swfab_timed_now(b->timed) == 9000);
}

/* Whatever is going on, everything can be thrown away. */
static void freeing_in_the_middle_leaks_nothing(void **state)
{
    struct bed *b = *state;
    struct swfab_event e;

    for (int i = 0; i < 20; i++)
        send_at(b, 0, (unsigned)i % 8, "\x82\xbf\xbf\xbd", 4, 4000);
    swfab_timed_next(b->timed, 3000, &e);
    assert_true(swfab_timed_in_flight(b->timed) > 0);
}

static uint64_t random_traffic(uint64_t seed, unsigned *arrived)
{
    void *state = NULL;
    struct bed *b;
    struct net_rng rng = {seed};
    struct swfab_event e;
    uint64_t sum = 0, total = 0, last = 0;

    open_bed(&state);
    b = state;
    swfab_seed(b->fab, seed);
    swfab_set_loss_all(b->fab, 0.01);
    for (int i = 0; i < 3000; i++) {
        char route[8];
        size_t n = net_rng_below(&rng, 7);

        for (size_t k = 0; k < n; k++)
            route[k] = (char)net_route_byte((int)net_rng_below(&rng, 7) - 3);
        send_at(b, net_rng_below(&rng, 20000000), net_rng_below(&rng, 8), route,
                n, 20 + net_rng_below(&rng, 8000));
    }
    while (swfab_timed_next(b->timed, UINT64_MAX, &e)) {
        assert_true(e.time >= last);
        last = e.time;
        sum = sum * 31 + e.time + e.node;
        (*arrived)++;
    }
    assert_int_equal(swfab_timed_in_flight(b->timed), 0);
    for (unsigned c = 0; c < SWFAB_CORRUPTED; c++)
        total += swfab_total(b->fab, c);
    assert_int_equal(total, 3000);
    assert_int_equal(swfab_total(b->fab, SWFAB_DELIVERED), *arrived);
    close_bed(&state);
    return sum;
}

static void same_seed_same_history_and_nothing_disappears(void **state)
{
    unsigned first = 0, again = 0, other = 0;
    uint64_t sum = random_traffic(1, &first);

    assert_true(sum == random_traffic(1, &again));
    assert_int_equal(first, again);
    assert_true(sum != random_traffic(2, &other));
    assert_true(first > 100);
}

/* A packet that is alone meets the same end as in the functional mode. */
static void lone_packets_fare_as_without_a_clock(void **state)
{
    struct bed *b = *state;
    struct swfab *other = swfab_new(b->net);
    struct net_rng rng = {11};
    unsigned arrived = 0;

    swfab_set_link(b->fab, b->xbar[1], 2, false);
    swfab_set_link(other, b->xbar[1], 2, false);
    swfab_set_xbar_dead(b->fab, b->xbar[3], true);
    swfab_set_xbar_dead(other, b->xbar[3], true);
    for (uint64_t i = 0; i < 4000; i++) {
        uint8_t buf[80];
        struct net_packet p = {.route = buf + 64,
                               .nroute = net_rng_below(&rng, 6),
                               .type = NET_TYPE_MAPPING,
                               .subtype = NET_SUBTYPE_TAGGED};
        uint32_t host = b->host[net_rng_below(&rng, 8)];
        struct swfab_arrival a;
        struct swfab_event e;
        size_t len;

        for (size_t k = 0; k < p.nroute; k++)
            buf[64 + k] = net_route_byte((int)net_rng_below(&rng, 7) - 3);
        len = net_packet_make(buf, 64, &p);
        swfab_send(other, host, buf, len, &a);
        swfab_timed_send(b->timed, i * 1000000, host, buf, len);
        assert_int_equal(swfab_timed_next(b->timed, i * 1000000 + 999999, &e),
                         a.fate == SWFAB_DELIVERED);
        if (a.fate == SWFAB_DELIVERED) {
            assert_int_equal(e.node, a.node);
            assert_int_equal(e.len, a.len);
            assert_memory_equal(e.packet, a.packet, a.len);
            arrived++;
        }
    }
    for (uint32_t port = 0; port < swfab_nports(other); port++)
        for (unsigned c = 0; c < SWFAB_NCOUNTERS; c++)
            assert_int_equal(swfab_count(b->fab, port, c),
                             swfab_count(other, port, c));
    assert_in_range(arrived, 100, 4000);
    swfab_free(other);
}

#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(lone_packet_takes_hops_and_length),
        BED_TEST(link_carries_one_packet_at_a_time),
        BED_TEST(two_senders_share_the_link_to_one_host),
        BED_TEST(blocked_packet_holds_the_links_behind_it),
        BED_TEST(deadlock_is_broken_by_the_time_out),
        BED_TEST(short_packets_do_not_deadlock),
        BED_TEST(packet_may_meet_its_own_tail),
        BED_TEST(timers_and_packets_come_in_order_of_time),
        BED_TEST(faults_strike_at_their_time),
        BED_TEST(freeing_in_the_middle_leaks_nothing),
        BED_TEST(lone_packets_fare_as_without_a_clock),
        cmocka_unit_test(same_seed_same_history_and_nothing_disappears),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
