/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between processes, in order and of every size, over a network in
 * memory that delivers bytes in random pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

static const struct net_options small = {
    .nprocs = 2,
    .maxdatalen = 100,
    .ackmark = 3,
    .hiwater = 7,
    .capacity = 999,
    .piece = 300,
    .seed = 1,
};

static void paint(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static void check_paint(const uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(p[i], (uint8_t)(seed * 31 + i * 7 + (i >> 8)));
}

/* One message, the receive posted before (or after) it arrives. */
static void one_message(const struct net_options *o, size_t len, bool sync,
                        bool early)
{
    struct net *net = net_create(o);
    uint8_t *out = malloc(len + 1), *in = malloc(len + 1);
    struct impi_request send = {0}, recv = {0};
    struct impi_request *both[] = {&send, &recv};

    paint(out, len, 5);
    in[len] = 0xee;
    if (early)
        net_irecv(net, 1, 0, 9, in, len, &recv);
    net_isend(net, 0, 1, 9, out, len, sync, &send);
    if (!early) {
        net_settle(net);
        assert_int_equal(send.done, !sync && len <= o->maxdatalen);
        net_irecv(net, 1, 0, 9, in, len, &recv);
    }
    net_wait(net, both, 2);
    check_paint(in, len, 5);
    assert_int_equal(in[len], 0xee);
    assert_int_equal(recv.status.source, 0);
    assert_int_equal(recv.status.tag, 9);
    assert_int_equal(recv.status.bytes, len);
    assert_int_equal(recv.status.error, IMPI_OK);
    assert_int_equal(send.status.error, IMPI_OK);
    net_settle(net);
    assert_false(impi_p2p_busy(net->p2p[0]));
    assert_false(impi_p2p_busy(net->p2p[1]));
    free(out);
    free(in);
    net_destroy(net);
}

static void every_length_around_maxdatalen(void **state)
{
    static const uint32_t maxdatalen[] = {1, 7, 100, 65536};

    for (size_t m = 0; m < 4; m++) {
        struct net_options o = small;
        const size_t lens[] = {0,
                               1,
                               maxdatalen[m] - 1,
                               maxdatalen[m],
                               maxdatalen[m] + 1,
                               maxdatalen[m] * 3 + 2};

        o.maxdatalen = maxdatalen[m];
        o.capacity = 40000;
        o.piece = 20000;
        for (size_t i = 0; i < 6; i++) {
            for (int how = 0; how < 4; how++) {
                o.seed++;
                one_message(&o, lens[i], how & 1, how & 2);
            }
        }
    }
}

static void ackmark_and_hiwater_of_one(void **state)
{
    struct net_options o = small;

    o.ackmark = o.hiwater = 1;
    o.maxdatalen = 7;
    for (size_t len = 0; len < 60; len += 3) {
        one_message(&o, len, false, true);
        one_message(&o, len, true, false);
    }
}

static void large_message_of_4_mb(void **state)
{
    struct net_options o = small;

    o.maxdatalen = IMPI_OWN_MAXDATALEN;
    o.ackmark = IMPI_OWN_ACKMARK;
    o.hiwater = IMPI_OWN_HIWATER;
    o.capacity = 1 << 20;
    o.piece = 1 << 19;
    one_message(&o, 4 << 20, false, true);
    one_message(&o, 4 << 20, false, false);
}

/* ---- random programs ---- */

#define MESSAGES 60

struct post {
    struct impi_request send, recv;
    uint8_t *out, *in;
    size_t len;
    uint32_t from, to;
    int32_t tag;
    bool sync;
};

static size_t random_len(struct net *net, uint32_t maxdatalen)
{
    switch (net_random(net, 4)) {
    case 0:
        return net_random(net, 4);
    case 1:
        return maxdatalen + net_random(net, 3) - 1;
    case 2:
        return net_random(net, maxdatalen + 1);
    default:
        return net_random(net, 5 * maxdatalen + 200);
    }
}

/* Many messages between all; of two with equal source, destination and tag
 * the first sent is the first received. */
static void random_program(uint64_t seed)
{
    struct net_options o = small;
    struct impi_request *reqs[2 * MESSAGES];
    struct post *posts = calloc(MESSAGES, sizeof(*posts));
    struct net *net;

    o.seed = seed;
    o.nprocs = 2 + seed % 5;
    o.maxdatalen = 1 + (uint32_t)(seed * 7919 % (seed % 4 ? 300 : 5000));
    o.extended = seed >> 2 & 1;
    o.hiwater = 1 + seed % 11;
    o.ackmark = 1 + seed / 3 % o.hiwater;
    o.capacity = 130 + seed * 97 % 3000;
    o.piece = 1 + seed * 31 % 500;
    net = net_create(&o);
    for (int i = 0; i < MESSAGES; i++) {
        struct post *p = &posts[i];

        p->from = net_random(net, o.nprocs);
        p->to = (p->from + 1 + net_random(net, o.nprocs - 1)) % o.nprocs;
        p->tag = (int32_t)net_random(net, 3);
        p->len = random_len(net, o.maxdatalen);
        p->sync = net_random(net, 4) == 0;
        p->out = malloc(p->len + 1);
        p->in = malloc(p->len + 1);
        paint(p->out, p->len, (uint32_t)i);
        reqs[2 * i] = &p->send;
        reqs[2 * i + 1] = &p->recv;
    }
    /* Sends in order; receives in the same order, at other moments. */
    for (int s = 0, r = 0; s < MESSAGES || r < MESSAGES;) {
        struct post *p = &posts[s < MESSAGES ? s : 0];

        if (s < MESSAGES && (r == MESSAGES || net_random(net, 2))) {
            net_isend(net, p->from, p->to, p->tag, p->out, p->len, p->sync,
                      &p->send);
            s++;
        } else {
            p = &posts[r++];
            net_irecv(net, p->to, p->from, p->tag, p->in, p->len, &p->recv);
        }
        if (net_random(net, 3) == 0)
            net_step(net);
    }
    net_wait(net, reqs, 2 * (size_t)MESSAGES);
    net_settle(net);
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(posts[i].recv.status.error, IMPI_OK);
        assert_int_equal(posts[i].recv.status.bytes, posts[i].len);
        check_paint(posts[i].in, posts[i].len, (uint32_t)i);
        free(posts[i].in);
        free(posts[i].out);
    }
    for (uint32_t i = 0; i < o.nprocs; i++) {
        assert_false(impi_p2p_busy(net->p2p[i]));
        assert_int_equal(impi_p2p_stats(net->p2p[i])->unexpected_bytes, 0);
    }
    net_destroy(net);
    free(posts);
}

static void messages_arrive_whole_and_in_order_in_random_programs(void **state)
{
    for (uint64_t seed = 1; seed <= 300; seed++)
        random_program(seed);
}

/* Sends are cancelled at random moments while receives are posted: each
 * message is received as a whole or cancelled, never both, never neither. */
static void random_cancels(uint64_t seed, int outcomes[2])
{
    struct net_options o = small;
    struct post *posts = calloc(MESSAGES, sizeof(*posts));
    struct net *net;

    o.seed = seed;
    o.nprocs = 3;
    o.maxdatalen = 1 + (uint32_t)(seed * 7919 % 60);
    o.hiwater = 1 + seed % 9;
    o.ackmark = 1 + seed / 3 % o.hiwater;
    o.capacity = 130 + seed * 97 % 2000;
    o.piece = 1 + seed * 31 % 400;
    net = net_create(&o);
    for (int i = 0; i < MESSAGES; i++) {
        struct post *p = &posts[i];

        p->from = net_random(net, 3);
        p->to = (p->from + 1 + net_random(net, 2)) % 3;
        p->len = random_len(net, o.maxdatalen);
        p->out = malloc(p->len + 1);
        p->in = malloc(p->len + 1);
        paint(p->out, p->len, (uint32_t)i);
        net_isend(net, p->from, p->to, i, p->out, p->len,
                  net_random(net, 3) == 0, &p->send);
    }
    for (int n = 0; n < 2 * MESSAGES; n++) {
        struct post *p = &posts[n / 2];

        if (n % 2 == 0)
            impi_p2p_cancel_send(net->p2p[p->from], &p->send);
        p = &posts[(n / 2 + MESSAGES / 4) % MESSAGES];
        if (n % 2 == 1)
            net_irecv(net, p->to, p->from, (int32_t)(p - posts), p->in, p->len,
                      &p->recv);
        for (uint32_t steps = net_random(net, 4); steps > 0; steps--)
            net_step(net);
    }
    net_settle(net);
    for (int i = 0; i < MESSAGES; i++) {
        struct post *p = &posts[i];

        assert_true(p->send.done);
        assert_int_equal(p->recv.done, !p->send.status.cancelled);
        outcomes[p->send.status.cancelled]++;
        if (p->recv.done)
            check_paint(p->in, p->len, (uint32_t)i);
        else
            impi_p2p_cancel_recv(net->p2p[p->to], &p->recv, false);
        free(p->in);
        free(p->out);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(impi_p2p_busy(net->p2p[i]));
        assert_int_equal(impi_p2p_stats(net->p2p[i])->unexpected_bytes, 0);
    }
    net_destroy(net);
    free(posts);
}

static void never_both_received_and_cancelled(void **state)
{
    int outcomes[2] = {0};

    for (uint64_t seed = 1; seed <= 300; seed++)
        random_cancels(seed, outcomes);
    assert_true(outcomes[0] > 1000 && outcomes[1] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_around_maxdatalen),
        cmocka_unit_test(ackmark_and_hiwater_of_one),
        cmocka_unit_test(large_message_of_4_mb),
        cmocka_unit_test(never_both_received_and_cancelled),
        cmocka_unit_test(messages_arrive_whole_and_in_order_in_random_programs),
    };

    return cmocka_run_group_tests_name("p2p", tests, NULL, NULL);
}
