/* SPDX-License-Identifier: BSD-3-Clause
 * The interface over UDP against a socket of ours: packets that leave
 * together, and packets that came together.  Credentials are those of
 * softlink_fake.h (linked with --wrap=hsn_nic_credentials).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ev.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hsn/nic_priv.h"
#include "softlink_fake.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define NOW 1000000000ULL
#define MANY 64 /* collected at most */

static struct fake_munge munge;
static const uint8_t route[] = {0x81};
static uint8_t payload[8192];

struct softlink_ops __wrap_hsn_nic_credentials(const struct hsn_nic_options *o);
struct softlink_ops __wrap_hsn_nic_credentials(const struct hsn_nic_options *o)
{
    return fake_ops(&munge, o->service);
}

struct softlink_ops __real_hsn_nic_credentials(const struct hsn_nic_options *o);

/* Sessions and keys: no byte of them is always the same. */
static void real_credentials_draw_every_byte(void **state)
{
    const struct hsn_nic_options o = {.munge = NULL};
    const struct softlink_ops ops = __real_hsn_nic_credentials(&o);
    uint8_t drawn[33], seen[33] = {0};

    for (int i = 0; i < 32; i++) {
        memset(drawn, 0, sizeof(drawn));
        assert_int_equal(ops.random(ops.arg, drawn, 32), 0);
        assert_int_equal(drawn[32], 0);
        for (int at = 0; at < 32; at++)
            seen[at] |= drawn[at];
    }
    for (int at = 0; at < 32; at++)
        assert_int_not_equal(seen[at], 0);
}

/* The fabric's end. */
struct fabric {
    struct softlink_ops ops;
    struct softlink *link;
    struct hsn_nic *nic;
    struct ev_loop *loop;
    struct clerk *clerk; /* asks for the interface */
    int fd;
    size_t len; /* of buf, which came in pieces of `segment` */
    size_t segment;
    uint8_t buf[1 << 16];
};

static void readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, 60000), 1);
}

/* One call: one datagram, or several that left as one. */
static void take(struct fabric *f)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = {f->buf, sizeof(f->buf)};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c;
    ssize_t n;
    int size;

    readable(f->fd);
    n = recvmsg(f->fd, &m, 0);
    assert_true(n > 0);
    f->len = f->segment = (size_t)n;
    c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
        memcpy(&size, CMSG_DATA(c), sizeof(size));
        f->segment = (size_t)size;
    }
}

static enum softlink_event input(struct fabric *f, const uint8_t *at,
                                 size_t len, const uint8_t **packet)
{
    struct errbuf err;
    size_t n;

    return softlink_input(f->link, NOW, at, len, packet, &n, &err);
}

static bool asks(struct fabric *f)
{
    return f->nic->fd(f->nic->self) < 0;
}

static void settle(struct fabric *f)
{
    while (asks(f))
        ev_run(f->loop, EVRUN_ONCE);
}

/* The interface says HELLO, and hears nothing yet. */
static void be_called(struct fabric *f, struct softlink_hello *said)
{
    uint8_t hello[SOFTLINK_CONTROL_MAX];
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    struct errbuf err;
    ssize_t n;

    f->nic->tick(f->nic->self, NOW);
    settle(f);
    readable(f->fd);
    n = recvfrom(f->fd, hello, sizeof(hello), 0, (struct sockaddr *)&from,
                 &size);
    assert_true(n > 0);
    assert_int_equal(connect(f->fd, (struct sockaddr *)&from, size), 0);
    assert_int_equal(softlink_read_hello(said, &f->ops, hello, (size_t)n, &err),
                     0);
}

/* The interface takes what came. */
static void take_in(struct fabric *f)
{
    struct hsn_rx rx[1];

    readable(f->nic->fd(f->nic->self));
    f->nic->ops->recv(f->nic->self, rx, 1);
}

static void connect_both(struct fabric *f)
{
    uint8_t welcome[SOFTLINK_CONTROL_MAX];
    struct softlink_hello said;
    struct hsn_rx rx[1];
    const uint8_t *packet;
    struct errbuf err;
    ssize_t n;

    be_called(f, &said);
    assert_int_equal(softlink_answer(f->link, NOW, &said, &err), 0);
    n = (ssize_t)softlink_output(f->link, welcome, sizeof(welcome));
    assert_int_equal(send(f->fd, welcome, (size_t)n, 0), n);
    take_in(f);
    settle(f);
    assert_true(f->nic->up);
    assert_int_equal(f->nic->ops->recv(f->nic->self, rx, 1), 0); /* no more */
    take(f);
    assert_int_equal(input(f, f->buf, f->len, &packet), SOFTLINK_WENT_UP);
}

static int open_unlinked(void **state)
{
    static struct fabric f;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct hsn_nic_options o = {.kind = "udp", .name = "h1", .board = 1};
    char fabric[32];
    struct errbuf err;

    memset(&f, 0, sizeof(f));
    munge = (struct fake_munge){.rng = 5};
    f.ops = fake_ops(&munge, 0);
    f.link = softlink_new_called(9, &f.ops);
    f.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f.fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(f.fd, (struct sockaddr *)&at, &size), 0);
    snprintf(fabric, sizeof(fabric), "127.0.0.1:%u", ntohs(at.sin_port));
    o.fabric = fabric;
    f.loop = ev_loop_new(EVFLAG_AUTO);
    o.clerk = f.clerk = clerk_new(f.loop, 8);
    f.nic = hsn_nic_open(&o, &err);
    *state = &f;
    return f.link && f.nic && f.clerk ? 0 : -1;
}

static int open_fabric(void **state)
{
    struct fabric *f;
    int one = 1;

    if (open_unlinked(state) < 0)
        return -1;
    f = *state;
    connect_both(f);
    return setsockopt(f->fd, SOL_UDP, UDP_GRO, &one, sizeof(one)) < 0;
}

static int close_fabric(void **state)
{
    struct fabric *f = *state;

    assert_true(clerk_free(f->clerk));
    ev_loop_destroy(f->loop);
    hsn_nic_close(f->nic);
    softlink_free(f->link);
    close(f->fd);
    fake_forget(&munge);
    return 0;
}

/* ---- sending ---- */

static void give(struct fabric *f, uint32_t number, size_t len)
{
    struct hsn_tx tx = {.route = route,
                        .route_len = 1,
                        .type = 0x5000,
                        .part = {{payload, len}},
                        .slot = number};

    memcpy(payload, &number, sizeof(number));
    assert_int_equal(f->nic->ops->send(f->nic->self, &tx), 0);
}

/* The next to arrive are `n` packets from `number` on, as one. */
static void assert_come_as_one(struct fabric *f, uint32_t number, unsigned n)
{
    const uint8_t *packet;

    take(f);
    assert_int_equal(f->len, n * f->segment);
    for (unsigned i = 0; i < n; i++, number++) {
        assert_int_equal(input(f, f->buf + i * f->segment, f->segment, &packet),
                         SOFTLINK_PACKET);
        assert_memory_equal(packet + sizeof(route) + NET_TYPE_SIZE, &number,
                            sizeof(number));
    }
}

static void packets_of_one_length_leave_as_one(void **state)
{
    struct fabric *f = *state;
    uint64_t before = f->nic->counters.calls;

    for (uint32_t i = 0; i < 40; i++)
        give(f, i, 64);
    assert_int_equal(f->nic->counters.calls, before); /* they are collected */
    f->nic->ops->flush(f->nic->self);
    assert_int_equal(f->nic->counters.calls, before + 1);
    assert_come_as_one(f, 0, 40);
}

static void packets_of_several_lengths_leave_in_one_call(void **state)
{
    static const size_t len[] = {64, 64, 64, 100, 100, 64, 3000};
    struct fabric *f = *state;
    uint64_t before = f->nic->counters.calls;

    for (uint32_t i = 0; i < sizeof(len) / sizeof(len[0]); i++)
        give(f, i, len[i]);
    f->nic->ops->flush(f->nic->self);
    assert_int_equal(f->nic->counters.calls, before + 1);
    assert_come_as_one(f, 0, 3);
    assert_come_as_one(f, 3, 2);
    assert_come_as_one(f, 5, 1);
    assert_come_as_one(f, 6, 1);
}

/* A datagram has 64 KB at most. */
static void long_packets_leave_as_two_in_one_call(void **state)
{
    struct fabric *f = *state;
    uint64_t before = f->nic->counters.calls;

    for (uint32_t i = 0; i < 10; i++)
        give(f, i, 8192);
    f->nic->ops->flush(f->nic->self);
    assert_int_equal(f->nic->counters.calls, before + 1);
    assert_come_as_one(f, 0, 7);
    assert_come_as_one(f, 7, 3);
}

static void the_sixty_fifth_packet_sends_those_before_it(void **state)
{
    struct fabric *f = *state;
    uint64_t before = f->nic->counters.calls;

    for (uint32_t i = 0; i <= MANY; i++)
        give(f, i, 64);
    assert_int_equal(f->nic->counters.calls, before + 1);
    assert_come_as_one(f, 0, MANY);
    f->nic->ops->flush(f->nic->self);
    assert_come_as_one(f, MANY, 1);
    f->nic->ops->flush(f->nic->self); /* nothing is left */
    assert_int_equal(f->nic->counters.calls, before + 2);
}

/* ---- receiving ---- */

/* Packets as the fabric gives them: signed, without a route. */
static size_t put_packets(struct fabric *f, unsigned n)
{
    uint8_t *at = f->buf;

    for (uint32_t i = 0; i < n; i++) {
        struct hsn_tx tx = {.type = 0x5000, .part = {{payload, 64}}};
        size_t len = hsn_nic_packet_len(&tx);

        memcpy(payload, &i, sizeof(i));
        hsn_nic_packet_put(at + SOFTLINK_HEAD, &tx);
        assert_int_equal(
            softlink_wrap(f->link, NOW, at, at + SOFTLINK_HEAD, len), 0);
        at += SOFTLINK_HEAD + len;
    }
    return (size_t)(at - f->buf);
}

static void send_as_one(struct fabric *f, size_t len, unsigned n)
{
    uint16_t segment = (uint16_t)(len / n);
    char control[CMSG_SPACE(sizeof(segment))] = {0};
    struct iovec iov = {f->buf, len};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(segment));
    memcpy(CMSG_DATA(c), &segment, sizeof(segment));
    assert_int_equal(sendmsg(f->fd, &m, 0), len);
}

static void packets_that_came_as_one_are_taken_by_one_call(void **state)
{
    struct fabric *f = *state;
    uint64_t before = f->nic->counters.calls;
    struct hsn_rx rx[25];
    uint32_t got = 0;
    size_t n;

    send_as_one(f, put_packets(f, 40), 40);
    readable(f->nic->fd(f->nic->self));
    while (got < 40 && (n = f->nic->ops->recv(f->nic->self, rx, 25)) > 0)
        for (size_t i = 0; i < n; i++, got++) {
            assert_int_equal(rx[i].len, 64);
            assert_memory_equal(rx[i].borrowed, &got, sizeof(got));
        }
    assert_int_equal(got, 40);
    assert_int_equal(f->nic->counters.calls, before + 1);
}

/* ---- one who sees nothing sends what would connect it ---- */

static void a_blind_welcome_keeps_no_link_down(void **state)
{
    struct fabric *f = *state;
    struct softlink_hello said;
    uint8_t blind[64];
    struct errbuf err;
    size_t n;

    be_called(f, &said);
    for (uint64_t i = 1; i <= 100; i++) {
        n = softlink_make_refusal(blind, sizeof(blind),
                                  said.session + (i << 16), "no credential");
        blind[3] = SOFTLINK_WELCOME;
        assert_int_equal(send(f->fd, blind, n, 0), n);
        take_in(f);
        assert_false(asks(f)); /* munged: it would be deaf meanwhile */
    }
    assert_int_equal(f->nic->counters.dropped_tag, 100);
    assert_int_equal(softlink_answer(f->link, NOW, &said, &err), 0);
    n = softlink_output(f->link, f->buf, sizeof(f->buf));
    assert_int_equal(send(f->fd, f->buf, n, 0), n);
    take_in(f);
    settle(f);
    assert_true(f->nic->up);
}

/* ---- is it there at all? ---- */

static bool system_can(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1, size = 100;
    bool can = setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one)) == 0 &&
               setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)) == 0;

    close(fd);
    return can;
}

#define UDP_TEST(f)                                                            \
    cmocka_unit_test_setup_teardown(f, open_fabric, close_fabric)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UDP_TEST(packets_of_one_length_leave_as_one),
        UDP_TEST(packets_of_several_lengths_leave_in_one_call),
        UDP_TEST(long_packets_leave_as_two_in_one_call),
        UDP_TEST(the_sixty_fifth_packet_sends_those_before_it),
        UDP_TEST(packets_that_came_as_one_are_taken_by_one_call),
        cmocka_unit_test(real_credentials_draw_every_byte),
        cmocka_unit_test_setup_teardown(a_blind_welcome_keeps_no_link_down,
                                        open_unlinked, close_fabric),
    };

    if (!system_can()) {
        puts("1..0 # SKIP this kernel has no UDP_SEGMENT or UDP_GRO");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
