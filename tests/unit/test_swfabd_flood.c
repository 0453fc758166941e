/* SPDX-License-Identifier: BSD-3-Clause
 *
 * swfabd's UDP socket under a flood by one who sees nothing of what others
 * send: cables come up all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#include "captured_log.h"
#include "net/build.h"
#include "softlink_fake.h"
#include "swfabd/swfabd.h"

/* Leaves here, the spine at the other daemon: this one calls. */
static const char parts_text[] = "part one udp:127.0.0.1:%u s2.*\n"
                                 "part two udp:127.0.0.2:7012 s1.*\n";

static uint64_t now = 1000000000;

uint64_t clock_ns(void)
{
    return now;
}

struct bed {
    struct fake_munge munge;
    struct swfabd d;
    struct captured_log log;
    int peer; /* the other daemon's socket */
    struct swfabd_seat *cable;
    struct softlink *far; /* its end of the cable */
    unsigned foreign;     /* datagrams of the flood that named the cable */
    uint64_t rng;
};

static uint64_t any(struct bed *b)
{
    b->rng = b->rng * 6364136223846793005ULL + 1442695040888963407ULL;
    return b->rng >> 16;
}

static int bound_socket(struct sockaddr_in *at)
{
    socklen_t size = sizeof(*at);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, &size), 0);
    return fd;
}

static void read_fabric(struct bed *b, unsigned port)
{
    struct net *net = net_build_named("clos:2x2:1x1:1x1", NULL);
    struct errbuf err = {""};
    char text[sizeof(parts_text) + 8];

    snprintf(text, sizeof(text), parts_text, port);
    assert_int_equal(parts_parse(&b->d.parts, "parts", text, net, &err), 0);
    b->d.own_part = parts_find(&b->d.parts, "two");
    assert_int_equal(swfabd_fabric_make(&b->d, net, &err), 0);
}

static int open_bed(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct sockaddr_in peer, own;
    struct errbuf err = {""};

    assert_non_null(b);
    b->rng = 7;
    b->peer = bound_socket(&peer);
    b->d.ops = fake_ops(&b->munge, 0);
    b->d.ether.fd = b->d.listen_fd = -1;
    b->d.loop = ev_loop_new(EVFLAG_AUTO);
    b->d.clerk = clerk_new(b->d.loop, SF_SWFABD_ASK_MAX);
    assert_non_null(b->d.clerk);
    b->d.udp.fd = bound_socket(&own);
    read_fabric(b, ntohs(peer.sin_port));
    assert_int_equal(swfabd_wire_open(&b->d, &err), 0);
    for (uint32_t i = 0; !b->cable && i < b->d.nseats; i++)
        if (b->d.seats[i].calls)
            b->cable = &b->d.seats[i];
    assert_non_null(b->cable);
    b->far = softlink_new_called(3, &b->d.ops);
    assert_non_null(b->far);
    captured_log_open(&b->log);
    *state = b;
    return 0;
}

static int close_bed(void **state)
{
    struct bed *b = *state;

    captured_log_close(&b->log);
    assert_true(clerk_free(b->d.clerk));
    ev_loop_destroy(b->d.loop);
    softlink_free(b->far);
    swfabd_fabric_close(&b->d);
    door_close(&b->d.door);
    fake_forget(&b->munge);
    close(b->d.udp.fd);
    close(b->peer);
    free(b);
    return 0;
}

/* What came to the other daemon's end of the cable that we look at. */
static size_t take(struct bed *b, uint8_t *buf, size_t size)
{
    struct pollfd p = {.fd = b->peer, .events = POLLIN};
    ssize_t n;

    assert_int_equal(poll(&p, 1, 60000), 1);
    n = recv(b->peer, buf, size, 0);
    assert_true(n > 0);
    return (size_t)n;
}

/* Until munged has answered all that it was asked. */
static void settle(struct bed *b)
{
    for (uint32_t i = 0; i < b->d.nseats; i++)
        while (b->d.seats[i].lent)
            ev_run(b->d.loop, EVRUN_ONCE);
}

/* The cables say HELLO. */
static void call(struct bed *b)
{
    swfabd_wire_tick(&b->d);
    settle(b);
}

static const union swfabd_address *blind(void)
{
    static const union swfabd_address from = {.udp = {.sin_family = AF_INET}};

    return &from;
}

/* Messages of one type that name each seat, n times, and sessions by luck. */
static void flood(struct bed *b, enum softlink_type type, unsigned n)
{
    uint8_t buf[64];

    memset(buf, 'x', sizeof(buf));
    for (unsigned i = 0; i < n; i++)
        for (uint32_t seat = 0; seat < b->d.nseats; seat++) {
            softlink_make_refusal(buf, sizeof(buf), any(b) << 16 | seat, "");
            buf[3] = (uint8_t)type;
            swfabd_wire_input(&b->d.udp, buf, sizeof(buf), blind());
            b->foreign += seat == b->cable->slot;
        }
}

/* The other daemon answers the cable's HELLO, the one that names it among
 * those that were sent. */
static void answer(struct bed *b)
{
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    struct softlink_hello hello;
    struct errbuf err = {""};
    size_t n;

    do {
        n = take(b, buf, sizeof(buf));
        assert_int_equal(softlink_read_hello(&hello, &b->d.ops, buf, n, &err),
                         0);
    } while (strcmp(hello.name, b->cable->peer_name) != 0);
    assert_int_equal(softlink_answer(b->far, now, &hello, &err), 0);
}

static void welcome(struct bed *b)
{
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    size_t n = softlink_output(b->far, buf, sizeof(buf));

    swfabd_wire_input(&b->d.udp, buf, n, &b->cable->address);
    settle(b);
}

static void a_blind_welcome_keeps_no_cable_down(void **state)
{
    struct bed *b = *state;

    call(b);
    answer(b);
    flood(b, SOFTLINK_WELCOME, 1000);
    assert_int_equal(clerk_pending(b->d.clerk), 0);
    assert_int_equal(softlink_counters(b->cable->link)->foreign, b->foreign);
    welcome(b);
    assert_int_equal(b->cable->carrier, SOFTLINK_DATAGRAMS);
}

static void a_blind_refusal_stops_no_call(void **state)
{
    struct bed *b = *state;

    call(b);
    answer(b);
    flood(b, SOFTLINK_REFUSED, 1000);
    assert_int_equal(softlink_counters(b->cable->link)->foreign, b->foreign);
    welcome(b);
    assert_int_equal(b->cable->carrier, SOFTLINK_DATAGRAMS);
}

static void blind_data_and_goodbyes_end_nothing(void **state)
{
    struct bed *b = *state;

    call(b);
    answer(b);
    welcome(b);
    for (enum softlink_type t = SOFTLINK_WELCOME; t <= SOFTLINK_BYE; t++)
        flood(b, t, 200);
    assert_int_equal(b->cable->carrier, SOFTLINK_DATAGRAMS);
    assert_memory_equal(&b->cable->address.udp.sin_addr,
                        &(struct in_addr){htonl(INADDR_LOOPBACK)},
                        sizeof(struct in_addr));
}

/* ---- the other daemon itself, or who has its key --------------------------
 */

static void goodbye(struct bed *b)
{
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    const uint8_t *packet;
    struct errbuf err;
    size_t n;

    while (!softlink_is_up(b->far)) {
        n = take(b, buf, sizeof(buf));
        softlink_input(b->far, now, buf, n, &packet, &n, &err);
    }
    softlink_close(b->far);
    n = softlink_output(b->far, buf, sizeof(buf));
    swfabd_wire_input(&b->d.udp, buf, n, &b->cable->address);
}

/* Lines that may be told since then: base/log_pace.h. */
static size_t most_lines(uint64_t since)
{
    return 128 + 2 * (size_t)((now - since) / 1000000000 + 1);
}

static void a_cable_that_comes_and_goes_does_not_fill_the_log(void **state)
{
    struct bed *b = *state;
    uint64_t begin = now;
    size_t n;

    for (unsigned i = 0; i < 500; i++) {
        if (softlink_next(b->cable->link) > now)
            now = softlink_next(b->cable->link);
        call(b);
        answer(b);
        welcome(b);
        assert_int_equal(b->cable->carrier, SOFTLINK_DATAGRAMS);
        goodbye(b);
        assert_int_equal(b->cable->carrier, 0);
    }
    n = captured_log_lines(&b->log, " attached over UDP") +
        captured_log_lines(&b->log, " leaves: its link is down");
    assert_in_range(n, 2, most_lines(begin));
}

static void refusals_do_not_fill_the_log(void **state)
{
    struct bed *b = *state;
    uint64_t begin = now;
    uint8_t buf[256];
    size_t n;

    call(b);
    answer(b);
    n = softlink_make_refusal(buf, sizeof(buf), softlink_peer(b->far)->session,
                              "not you");
    for (unsigned i = 0; i < 1000; i++)
        swfabd_wire_input(&b->d.udp, buf, n, &b->cable->address);
    assert_in_range(captured_log_lines(&b->log, "SF-E603"), 1,
                    most_lines(begin));
}

/* ---- HELLOs, each of which is a look by munged ---- */

static void hello_from(struct bed *b, uint32_t ip)
{
    const union swfabd_address from = {
        .udp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(ip)}};
    uint8_t buf[64];
    size_t n =
        softlink_make_refusal(buf, sizeof(buf), any(b), "not a credential");

    buf[3] = SOFTLINK_HELLO;
    swfabd_wire_input(&b->d.udp, buf, n, &from);
}

/* How many HELLOs from there are looked at. */
static unsigned looks(struct bed *b, uint32_t ip, unsigned n)
{
    unsigned before;

    while (clerk_pending(b->d.clerk))
        ev_run(b->d.loop, EVRUN_NOWAIT);
    before = b->munge.asked;
    for (unsigned i = 0; i < n; i++)
        hello_from(b, ip);
    while (clerk_pending(b->d.clerk))
        ev_run(b->d.loop, EVRUN_NOWAIT);
    return b->munge.asked - before;
}

enum { STRANGER_IP = 0xc0000201, OTHER_IP = 0xc6336401, PART_ONE = 0x7f000001 };

static void one_stranger_leaves_others_their_turn(void **state)
{
    struct bed *b = *state;

    assert_true(looks(b, STRANGER_IP, 10000) < 10000);
    assert_int_equal(looks(b, OTHER_IP, 1), 1);
}

static void many_strangers_keep_no_other_daemon_away(void **state)
{
    struct bed *b = *state;
    unsigned n = 0;

    for (uint32_t i = 0; i < 5000; i++)
        n += looks(b, STRANGER_IP + i, 10);
    assert_true(n < 1000);
    assert_int_equal(looks(b, OTHER_IP, 1), 0); /* a stranger, too */
    assert_int_equal(looks(b, PART_ONE, 20), 20);
    now += 1000000000;
    assert_int_equal(looks(b, OTHER_IP, 1), 1);
}

static void a_host_that_was_linked_comes_back_in_a_flood(void **state)
{
    struct bed *b = *state;

    door_prove(&b->d.door, 1ULL << 32 | htonl(OTHER_IP));
    for (uint32_t i = 0; i < 5000; i++)
        looks(b, STRANGER_IP + i, 10);
    assert_int_equal(looks(b, OTHER_IP, 20), 20);
}

static void strangers_on_the_wire_keep_nobody_from_the_socket(void **state)
{
    struct bed *b = *state;

    for (uint32_t i = 0; i < 5000; i++)
        looks(b, STRANGER_IP + i, 10);
    assert_true(door_admits_local(&b->d.door, now));
}

#define FLOOD_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOOD_TEST(a_blind_welcome_keeps_no_cable_down),
        FLOOD_TEST(a_blind_refusal_stops_no_call),
        FLOOD_TEST(blind_data_and_goodbyes_end_nothing),
        FLOOD_TEST(a_cable_that_comes_and_goes_does_not_fill_the_log),
        FLOOD_TEST(refusals_do_not_fill_the_log),
        FLOOD_TEST(one_stranger_leaves_others_their_turn),
        FLOOD_TEST(many_strangers_keep_no_other_daemon_away),
        FLOOD_TEST(a_host_that_was_linked_comes_back_in_a_flood),
        FLOOD_TEST(strangers_on_the_wire_keep_nobody_from_the_socket),
    };

    return cmocka_run_group_tests_name("swfabd under a blind flood", tests,
                                       NULL, NULL);
}
