/* SPDX-License-Identifier: BSD-3-Clause
 * Flow control per process pair (IMPI 3.1, 3.6).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

#define MANY 2000

struct lot {
    struct impi_request req[MANY];
    struct impi_request *ptr[MANY];
    uint8_t data[MANY][8];
};

static struct lot *lot_new(void)
{
    struct lot *lot = calloc(1, sizeof(*lot));

    assert_non_null(lot);
    for (size_t i = 0; i < MANY; i++) {
        lot->ptr[i] = &lot->req[i];
        memcpy(lot->data[i], &i, sizeof(i));
    }
    return lot;
}

static void send_lot(struct net *net, uint32_t from, uint32_t to,
                     struct lot *lot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        net_isend(net, from, to, 1, lot->data[i], 8, false, &lot->req[i]);
}

static void recv_lot(struct net *net, uint32_t at, uint32_t from,
                     struct lot *lot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        net_irecv(net, at, from, 1, lot->data[i], 8, &lot->req[i]);
}

static size_t count_done(const struct lot *lot, size_t n)
{
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += lot->req[i].done;
    return done;
}

static const struct net_options plain = {
    .nprocs = 2,
    .maxdatalen = 64,
    .ackmark = 4,
    .hiwater = 10,
    .capacity = 5000,
    .piece = 700,
    .seed = 3,
};

/* Every packet that the receiver acknowledged makes room for one more; the
 * trace never shows more than hiwater of them under way. */
static void check_never_past_hiwater(const struct net *net, uint32_t from,
                                     uint32_t to, const struct net_options *o)
{
    uint32_t sent = 0;
    unsigned acks = 0, counted = 0;

    for (size_t i = 0; i < net->ntrace; i++) {
        const struct net_traced *t = &net->trace[i];

        if (t->from == from && t->to == to && t->pk.type != IMPI_PK_PROTOACK &&
            t->pk.type != IMPI_PK_FINI) {
            sent++;
            counted++;
            assert_true(sent <= o->hiwater);
        }
        if (t->from == to && t->to == from && t->pk.type == IMPI_PK_PROTOACK) {
            assert_true(sent >= o->ackmark);
            sent -= o->ackmark;
            acks++;
        }
    }
    assert_int_equal(acks, counted / o->ackmark);
}

static void counter_never_passes_hiwater(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();

    net->trace_on = true;
    recv_lot(net, 1, 0, in, 1000);
    send_lot(net, 0, 1, out, 1000);
    net_wait(net, in->ptr, 1000);
    net_settle(net);
    check_never_past_hiwater(net, 0, 1, &plain);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->packets_sent, 1000);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->protoacks_sent, 250);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->protoacks_received, 250);
    free(out);
    free(in);
    net_destroy(net);
}

/* 10^5 packets, ackmark = hiwater = 1 and larger: one PROTOACK for every
 * ackmark packets. */
static void one_protoack_per_ackmark_packets(void **state)
{
    for (uint32_t ackmark = 1; ackmark <= 7; ackmark += 3) {
        struct net_options o = plain;
        struct lot *out = lot_new(), *in = lot_new();
        struct net *net;

        o.ackmark = ackmark;
        o.hiwater = ackmark;
        net = net_create(&o);
        for (int round = 0; round < 17; round++) {
            recv_lot(net, 1, 0, in, MANY);
            send_lot(net, 0, 1, out, MANY);
            net_wait(net, in->ptr, MANY);
            net_wait(net, out->ptr, MANY);
        }
        net_settle(net);
        assert_int_equal(impi_p2p_stats(net->p2p[1])->packets_received,
                         17 * MANY);
        assert_int_equal(impi_p2p_stats(net->p2p[1])->protoacks_sent,
                         17 * MANY / ackmark);
        assert_int_equal(impi_p2p_stats(net->p2p[0])->packets_received, 0);
        free(out);
        free(in);
        net_destroy(net);
    }
}

/* SYNCACKs count in the other direction and are acknowledged. */
static void syncacks_are_counted_and_acknowledged(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();

    net->trace_on = true;
    recv_lot(net, 1, 0, in, 200);
    for (int i = 0; i < 200; i++)
        net_isend(net, 0, 1, 1, out->data[i], 8, true, &out->req[i]);
    net_wait(net, out->ptr, 200);
    net_settle(net);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->packets_sent, 200);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->protoacks_sent, 50);
    check_never_past_hiwater(net, 0, 1, &plain);
    check_never_past_hiwater(net, 1, 0, &plain);
    free(out);
    free(in);
    net_destroy(net);
}

static void protoack_and_fini_do_not_count(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();

    recv_lot(net, 1, 0, in, 40);
    send_lot(net, 0, 1, out, 40);
    net_wait(net, in->ptr, 40);
    impi_channel_fini(net->channel[0][1]);
    impi_channel_fini(net->channel[1][0]);
    net_settle(net);
    assert_true(impi_channel_finished(net->channel[0][1]));
    assert_true(impi_channel_finished(net->channel[1][0]));
    assert_int_equal(impi_p2p_stats(net->p2p[1])->protoacks_sent, 10);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->packets_received, 0);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->packets_received, 40);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->packets_sent, 0);
    free(out);
    free(in);
    net_destroy(net);
}

/* In the strict reading (nothing acknowledged before it is received) the
 * sender stops at hiwater, and so does the memory. */
static void unexpected_memory_stops_at_hiwater(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();

    impi_p2p_set_unexpected_max(net->p2p[1], 0);
    send_lot(net, 0, 1, out, 500);
    net_settle(net);
    assert_int_equal(count_done(out, 500), plain.hiwater);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->unexpected_messages,
                     plain.hiwater);
    recv_lot(net, 1, 0, in, 500);
    net_wait(net, in->ptr, 500);
    for (size_t i = 0; i < 500; i++)
        assert_memory_equal(in->data[i], out->data[i], 8);
    free(out);
    free(in);
    net_destroy(net);
}

/* With the default, up to a limit and then hiwater packets more. */
static void unexpected_memory_is_bounded(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();
    const struct impi_p2p_stats *stats = impi_p2p_stats(net->p2p[1]);

    impi_p2p_set_unexpected_max(net->p2p[1], 10000);
    send_lot(net, 0, 1, out, MANY);
    net_settle(net);
    assert_true(count_done(out, MANY) < MANY);
    assert_true(stats->unexpected_peak > 40000); /* small ones: four times */
    assert_true(stats->unexpected_peak < 40000 + plain.hiwater * 400);
    recv_lot(net, 1, 0, in, MANY);
    net_wait(net, in->ptr, MANY);
    net_wait(net, out->ptr, MANY);
    assert_int_equal(stats->unexpected_bytes, 0);
    free(out);
    free(in);
    net_destroy(net);
}

/* MPI's progress rule: a receive for the last of many messages completes,
 * though hiwater of those before it wait for their receives. */
static void receive_of_a_message_behind_hiwater_others(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();
    struct impi_request late, *ptr = &late;
    uint8_t data[8] = "";

    send_lot(net, 0, 1, out, 100);
    net_isend(net, 0, 1, 2, "the last", 8, false, &out->req[100]);
    net_irecv(net, 1, 0, 2, data, 8, &late);
    net_wait(net, &ptr, 1);
    assert_memory_equal(data, "the last", 8);
    recv_lot(net, 1, 0, in, 100);
    net_wait(net, in->ptr, 100);
    free(out);
    free(in);
    net_destroy(net);
}

/* The same with large messages, more of them than the receiver may store:
 * between processes of ours the later ones announce themselves only. */
static void receive_behind_more_large_messages_than_memory(void **state)
{
    enum { LARGE = 6000 };
    struct net_options o = plain;
    struct lot *out = lot_new(), *in = lot_new();
    struct impi_request late, *ptr = &late;
    const struct impi_p2p_stats *stats;
    uint8_t data[8] = "", *large = calloc(100, LARGE);
    struct net *net;

    o.maxdatalen = 8000;
    o.capacity = 30000;
    o.piece = 20000;
    o.extended = true;
    net = net_create(&o);
    stats = impi_p2p_stats(net->p2p[1]);
    impi_p2p_set_unexpected_max(net->p2p[1], 50000);
    for (int i = 0; i < 100; i++) {
        large[i * LARGE] = (uint8_t)i;
        large[(i + 1) * LARGE - 1] = (uint8_t)i;
        net_isend(net, 0, 1, 1, large + i * LARGE, LARGE, false, &out->req[i]);
    }
    net_isend(net, 0, 1, 2, "the last", 8, false, &out->req[100]);
    net_irecv(net, 1, 0, 2, data, 8, &late);
    net_wait(net, &ptr, 1);
    assert_memory_equal(data, "the last", 8);
    assert_true(stats->unexpected_peak < 4 * 50000 + 10 * 8000);
    for (int i = 0; i < 100; i++) {
        uint8_t *to = malloc(LARGE);

        ptr = &in->req[i];
        net_irecv(net, 1, 0, 1, to, LARGE, &in->req[i]);
        net_wait(net, &ptr, 1);
        assert_int_equal(to[0], i);
        assert_int_equal(to[LARGE - 1], i);
        free(to);
    }
    net_wait(net, out->ptr, 101);
    free(large);
    free(out);
    free(in);
    net_destroy(net);
}

/* A floods B, which waits in a synchronous send to A: A's SYNCACK must get
 * past its own flood. */
static void syncack_gets_past_ones_own_flood(void **state)
{
    struct net *net = net_create(&plain);
    struct lot *out = lot_new(), *in = lot_new();
    struct impi_request sync, recv, *ptr = &sync;
    uint8_t data[8];

    send_lot(net, 0, 1, out, 500);
    net_irecv(net, 0, 1, 5, data, 8, &recv);
    net_isend(net, 1, 0, 5, "synchro.", 8, true, &sync);
    net_wait(net, &ptr, 1);
    recv_lot(net, 1, 0, in, 500);
    net_wait(net, in->ptr, 500);
    free(out);
    free(in);
    net_destroy(net);
}

/* Two processes flooding each other through buffers smaller than a packet,
 * at every setting: never stops. */
static void mutual_floods_never_stop(void **state)
{
    for (uint32_t hiwater = 1; hiwater <= 5; hiwater++) {
        struct net_options o = plain;
        struct lot *lots[4];
        struct net *net;

        o.hiwater = hiwater;
        o.ackmark = 1 + hiwater / 2;
        o.maxdatalen = 7;
        o.capacity = 90;
        o.piece = 90;
        o.seed = hiwater;
        net = net_create(&o);
        for (int i = 0; i < 4; i++)
            lots[i] = lot_new();
        send_lot(net, 0, 1, lots[0], 300);
        send_lot(net, 1, 0, lots[1], 300);
        net_settle(net);
        recv_lot(net, 0, 1, lots[2], 300);
        recv_lot(net, 1, 0, lots[3], 300);
        for (int i = 0; i < 4; i++)
            net_wait(net, lots[i]->ptr, 300);
        for (int i = 0; i < 4; i++)
            free(lots[i]);
        net_destroy(net);
    }
}

/* IM-113: nothing relies on the stream holding more than a byte. */
static void streams_of_one_byte_suffice(void **state)
{
    struct net_options o = plain;
    struct lot *out = lot_new(), *in = lot_new();
    struct net *net;

    o.nprocs = 3;
    o.capacity = 1;
    o.piece = 1;
    o.maxdatalen = 3;
    net = net_create(&o);
    recv_lot(net, 2, 0, in, 10);
    for (int i = 0; i < 10; i++)
        net_irecv(net, 2, 1, 1, in->data[10 + i], 8, &in->req[10 + i]);
    send_lot(net, 0, 2, out, 10);
    for (int i = 10; i < 20; i++)
        net_isend(net, 1, 2, 1, out->data[i], 8, false, &out->req[i]);
    net_wait(net, in->ptr, 20);
    free(out);
    free(in);
    net_destroy(net);
}

/* ---- one channel for many pairs ---- */

/* Rank 0 reaches all others through one channel, as behind one host; the
 * test plays that host. */
static struct net *behind_one_host(uint32_t nprocs)
{
    struct net_options o = plain;
    struct net *net;

    o.nprocs = nprocs;
    net = net_create(&o);
    net->channel[0][1] = impi_p2p_attach(net->p2p[0], 1);
    for (uint32_t i = 2; i < nprocs; i++) {
        assert_int_equal(
            impi_p2p_attach_more(net->p2p[0], net->channel[0][1], i), 0);
        net->channel[0][i] = net->channel[0][1];
    }
    return net;
}

static void a_blocked_pair_does_not_hold_up_others(void **state)
{
    struct net *net = behind_one_host(3);
    struct lot *asleep = lot_new(), *awake = lot_new();
    uint32_t to_asleep = 0, to_awake = 0;
    struct impi_packet pk;

    send_lot(net, 0, 1, asleep, 100);
    send_lot(net, 0, 2, awake, 100);
    while (net_take_packet(net, 0, 1, &pk)) {
        bool second = pk.dest[23] == (net->world.procs[2].pid & 0xff);

        to_asleep += !second;
        to_awake += second;
        if (second && to_awake % plain.ackmark == 0) {
            struct impi_packet ack = {.type = IMPI_PK_PROTOACK};

            assert_int_equal(net_inject_packet(net, 0, 2, ack, NULL), 0);
        }
    }
    assert_int_equal(to_asleep, plain.hiwater);
    assert_int_equal(to_awake, 100);
    assert_int_equal(count_done(awake, 100), 100);
    free(asleep);
    free(awake);
    net_destroy(net);
}

static void sixteen_pairs_share_one_channel(void **state)
{
    struct net *net = behind_one_host(16);
    struct impi_request recv[16][10];
    uint8_t in[16][10][8];
    struct lot *out = lot_new();

    for (uint32_t p = 1; p < 16; p++) {
        for (int i = 0; i < 10; i++)
            net_irecv(net, 0, p, 1, in[p][i], 8, &recv[p][i]);
    }
    for (uint32_t i = 0; i < 150; i++) {
        uint32_t p = 1 + i % 15;
        struct impi_packet pk = {
            .len = 8, .msglen = 8, .lsrank = (int32_t)p, .tag = 1};

        assert_int_equal(net_inject_packet(net, 0, p, pk, out->data[i]), 0);
    }
    for (uint32_t p = 1; p < 16; p++) {
        for (uint32_t i = 0; i < 10; i++) {
            assert_true(recv[p][i].done);
            assert_memory_equal(in[p][i], out->data[(p - 1) + 15 * i], 8);
        }
    }
    free(out);
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_never_passes_hiwater),
        cmocka_unit_test(one_protoack_per_ackmark_packets),
        cmocka_unit_test(syncacks_are_counted_and_acknowledged),
        cmocka_unit_test(protoack_and_fini_do_not_count),
        cmocka_unit_test(unexpected_memory_stops_at_hiwater),
        cmocka_unit_test(unexpected_memory_is_bounded),
        cmocka_unit_test(receive_of_a_message_behind_hiwater_others),
        cmocka_unit_test(receive_behind_more_large_messages_than_memory),
        cmocka_unit_test(syncack_gets_past_ones_own_flood),
        cmocka_unit_test(mutual_floods_never_stop),
        cmocka_unit_test(streams_of_one_byte_suffice),
        cmocka_unit_test(a_blocked_pair_does_not_hold_up_others),
        cmocka_unit_test(sixteen_pairs_share_one_channel),
    };

    return cmocka_run_group_tests_name("p2p_flow", tests, NULL, NULL);
}
