/* SPDX-License-Identifier: BSD-3-Clause
 * The long protocol packet by packet, and peers that are odd, lie, or die
 * (IMPI 3.5, 3.7, 3.8).  Rank 0 is the engine, the test plays rank 1.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

static const struct net_options two = {
    .nprocs = 3,
    .maxdatalen = 10,
    .ackmark = 2,
    .hiwater = 6,
    .capacity = 4000,
    .piece = 4000,
    .seed = 1,
};

static struct net *open_net(void)
{
    struct net *net = net_create(&two);

    net_connect(net, 0, 1);
    return net;
}

/* What rank 1 says to the engine. */
static int say(struct net *net, struct impi_packet pk, const void *data)
{
    return net_inject_packet(net, 0, 1, pk, data);
}

/* The next packet that the engine says must be of this type. */
static struct impi_packet hear(struct net *net, uint32_t type)
{
    struct impi_packet pk;

    do {
        assert_true(net_take_packet(net, 0, 1, &pk));
    } while (pk.type == IMPI_PK_PROTOACK && type != IMPI_PK_PROTOACK);
    assert_int_equal(pk.type, type);
    return pk;
}

static void silent(struct net *net)
{
    struct impi_packet pk;

    while (net_take_packet(net, 0, 1, &pk))
        assert_int_equal(pk.type, IMPI_PK_PROTOACK);
}

static void ack(struct net *net)
{
    assert_int_equal(
        say(net, (struct impi_packet){.type = IMPI_PK_PROTOACK}, NULL), 0);
}

static const struct impi_packet short_5 = {
    .len = 5, .msglen = 5, .lsrank = 1, .tag = 3};
static const struct impi_packet long_25 = {.type = IMPI_PK_DATASYNC,
                                           .len = 10,
                                           .msglen = 25,
                                           .lsrank = 1,
                                           .tag = 3,
                                           .srqid = 0xabcdef};

/* ---- sending ---- */

static void im_137_im_138_short_packets_by_kind_of_send(void **state)
{
    static const size_t lens[] = {0, 1, 10};
    struct net *net = open_net();
    struct impi_packet pk;

    for (int sync = 0; sync < 2; sync++) {
        for (int i = 0; i < 3; i++) {
            struct impi_packet syncack = {.type = IMPI_PK_SYNCACK};
            struct impi_request req;

            net_isend(net, 0, 1, 4, "0123456789", lens[i], sync, &req);
            pk = hear(net, sync ? IMPI_PK_DATASYNC : IMPI_PK_DATA);
            assert_int_equal(pk.len, lens[i]);
            assert_int_equal(pk.msglen, lens[i]);
            assert_int_equal(pk.tag, 4);
            assert_int_equal(pk.lsrank, 0);
            assert_int_equal(pk.cid, 0);
            assert_int_equal(req.done, !sync);
            if (sync) {
                syncack.srqid = pk.srqid;
                assert_int_equal(say(net, syncack, NULL), 0);
            }
            assert_true(req.done);
            assert_int_equal(req.status.error, IMPI_OK);
            if (i == 1)
                ack(net);
        }
    }
    net_destroy(net);
}

static void im_140_im_141_long_message_packet_by_packet(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk, syncack = {.type = IMPI_PK_SYNCACK, .drqid = 77};
    struct impi_request req;
    uint64_t srqid;

    net_isend(net, 0, 1, 4, "0123456789012345678901234", 25, false, &req);
    pk = hear(net, IMPI_PK_DATASYNC);
    assert_int_equal(pk.len, 10);
    assert_int_equal(pk.msglen, 25);
    assert_int_equal(pk.drqid, 0);
    srqid = pk.srqid;
    silent(net);
    assert_false(req.done);
    syncack.srqid = srqid;
    assert_int_equal(say(net, syncack, NULL), 0);
    pk = hear(net, IMPI_PK_DATA);
    assert_int_equal(pk.len, 10);
    assert_int_equal(pk.msglen, 25);
    assert_true(pk.drqid == 77 && pk.srqid == srqid);
    assert_false(req.done);
    pk = hear(net, IMPI_PK_DATA);
    assert_int_equal(pk.len, 5);
    assert_true(pk.drqid == 77 && pk.srqid == srqid);
    assert_true(req.done);
    silent(net);
    net_destroy(net);
}

/* Other messages go between the packets of a long one. */
static void im_142_long_sends_do_not_hold_up_others(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk, syncack = {.type = IMPI_PK_SYNCACK};
    uint8_t data[200] = {0};
    struct impi_request a, b, c;
    uint64_t srqid[2];
    int order[16], n = 0;

    net_isend(net, 0, 1, 1, data, 35, false, &a);
    net_isend(net, 0, 1, 2, data, 35, false, &b);
    srqid[0] = hear(net, IMPI_PK_DATASYNC).srqid;
    srqid[1] = hear(net, IMPI_PK_DATASYNC).srqid;
    net_isend(net, 0, 1, 3, data, 5, false, &c);
    for (int i = 0; i < 2; i++) {
        syncack.srqid = srqid[i];
        syncack.drqid = 1 + (uint64_t)i;
        assert_int_equal(say(net, syncack, NULL), 0);
    }
    ack(net);
    while (net_take_packet(net, 0, 1, &pk)) {
        if (pk.type == IMPI_PK_PROTOACK)
            continue;
        order[n++] = pk.tag;
        assert_true(pk.tag == 3 || pk.drqid == (uint64_t)pk.tag);
        if (n % 2 == 0)
            ack(net);
    }
    assert_int_equal(n, 7);
    assert_true(order[0] == 3 || order[1] == 3); /* not behind the long ones */
    assert_true(order[6] != order[5]);           /* those take turns */
    assert_true(a.done && b.done && c.done);
    net_destroy(net);
}

/* ---- receiving ---- */

static void im_139_syncack_only_after_the_match(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req;
    char data[8];

    pk.type = IMPI_PK_DATASYNC;
    pk.srqid = 99;
    assert_int_equal(say(net, pk, "hello"), 0);
    silent(net);
    net_irecv(net, 0, 1, 3, data, 8, &req);
    assert_true(req.done);
    pk = hear(net, IMPI_PK_SYNCACK);
    assert_int_equal(pk.srqid, 99);
    assert_int_equal(pk.src[23], 1000 & 0xff);
    assert_int_equal(pk.dest[23], 1001 & 0xff);
    silent(net);
    net_destroy(net);
}

static void im_142_two_long_messages_interleaved_by_drqid(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = long_25, rest = {.msglen = 25, .lsrank = 1};
    struct impi_request req[2], third;
    uint64_t drqid[2];
    char in[2][25], text[8];

    for (int i = 0; i < 2; i++) {
        net_irecv(net, 0, 1, 3, in[i], 25, &req[i]);
        pk.srqid = 100 + (uint64_t)i;
        assert_int_equal(say(net, pk, i ? "ABCDEFGHIJ" : "abcdefghij"), 0);
        drqid[i] = hear(net, IMPI_PK_SYNCACK).drqid;
    }
    ack(net);
    assert_true(drqid[0] != drqid[1]);
    rest.len = 10;
    rest.drqid = drqid[1];
    rest.srqid = 0x5555; /* found by drqid only */
    assert_int_equal(say(net, rest, "KLMNOPQRST"), 0);
    net_irecv(net, 0, 1, 8, text, 8, &third);
    pk = short_5;
    pk.tag = 8;
    assert_int_equal(say(net, pk, "short"), 0);
    assert_true(third.done);
    rest.drqid = drqid[0];
    assert_int_equal(say(net, rest, "klmnopqrst"), 0);
    rest.len = 5;
    assert_int_equal(say(net, rest, "uvwxy"), 0);
    assert_true(req[0].done && !req[1].done);
    rest.drqid = drqid[1];
    assert_int_equal(say(net, rest, "UVWXY"), 0);
    assert_true(req[1].done);
    assert_memory_equal(in[0], "abcdefghijklmnopqrstuvwxy", 25);
    assert_memory_equal(in[1], "ABCDEFGHIJKLMNOPQRSTUVWXY", 25);
    net_destroy(net);
}

/* The first packet may be shorter than maxdatalen. */
static void im_142_first_packet_of_any_length(void **state)
{
    for (uint32_t first = 0; first <= 10; first++) {
        struct net *net = open_net();
        struct impi_packet pk = long_25;
        struct impi_request req;
        char in[25];

        net_irecv(net, 0, 1, 3, in, 25, &req);
        pk.len = first;
        pk.msglen = 15;
        assert_int_equal(say(net, pk, "abcdefghij"), 0);
        pk.drqid = hear(net, IMPI_PK_SYNCACK).drqid;
        pk.type = IMPI_PK_DATA;
        pk.len = first < 5 ? 10 : 15 - first;
        assert_int_equal(say(net, pk, "abcdefghijklmno" + first), 0);
        if (first < 5) {
            pk.len = 5 - first;
            assert_int_equal(say(net, pk, "abcdefghijklmno" + first + 10), 0);
        }
        assert_true(req.done);
        assert_memory_equal(in, "abcdefghijklmno", 15);
        net_destroy(net);
    }
}

static void
im_143_truncated_messages_drain_and_the_channel_goes_on(void **state)
{
    static const size_t rooms[] = {0, 3, 10, 14, 24};

    for (int i = 0; i < 5; i++) {
        struct net *net = open_net();
        struct impi_request req, next, *ptr[] = {&req, &next};
        struct impi_request out[2];
        uint8_t sent[25] = "abcdefghijklmnopqrstuvwxy", in[26];
        char text[8] = "";

        memset(in, '-', sizeof(in));
        net_irecv(net, 0, 1, 3, in, rooms[i], &req);
        net_irecv(net, 0, 1, 3, text, 8, &next);
        net_isend(net, 1, 0, 3, sent, 25, false, &out[0]);
        net_isend(net, 1, 0, 3, "next", 5, false, &out[1]);
        net_wait(net, ptr, 2);
        assert_int_equal(req.status.error, IMPI_ERR_TRUNCATE);
        assert_int_equal(req.status.bytes, rooms[i]);
        assert_int_equal(req.status.msglen, 25);
        assert_memory_equal(in, sent, rooms[i]);
        assert_int_equal(in[rooms[i]], '-');
        assert_string_equal(text, "next");
        assert_true(out[0].done && out[1].done);
        assert_false(impi_channel_failed(net->channel[0][1]));
        net_destroy(net);
    }
}

static void im_121_messages_over_4_gib_announce_their_length(void **state)
{
    struct net *net = open_net();
    struct impi_recv want = {.peer = 1, .tag = 3};
    struct impi_packet pk = long_25;
    struct impi_status status;
    struct impi_request req;

    pk.msglen = UINT64_C(5) << 30;
    assert_int_equal(say(net, pk, "abcdefghij"), 0);
    assert_true(impi_p2p_iprobe(net->p2p[0], &want, &status));
    assert_true(status.msglen == UINT64_C(5) << 30);
    net_isend(net, 0, 1, 4, "0123456789", UINT64_C(5) << 30, false, &req);
    assert_true(hear(net, IMPI_PK_DATASYNC).msglen == UINT64_C(5) << 30);
    net_destroy(net);
}

/* ---- fields that mean nothing ---- */

static void im_128_garbage_in_control_packets_is_ignored(void **state)
{
    struct net *net = open_net();
    struct impi_packet garbage = {
        .len = 128,
        .msglen = 128,
        .lsrank = -1,
        .tag = -1,
        .cid = 0x7ffd1234,
        .seqnum = 9,
        .count = -1,
        .dtype = 0xdead,
        .reserved = UINT64_MAX,
    };
    uint8_t frame[IMPI_PACKET_SIZE];
    struct impi_request req;

    net_isend(net, 0, 1, 4, "hello", 5, true, &req);
    garbage.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    garbage.type = IMPI_PK_SYNCACK;
    assert_int_equal(say(net, garbage, NULL), 0);
    assert_true(req.done);
    net_isend(net, 0, 1, 4, "hello", 5, false, &req);
    hear(net, IMPI_PK_DATA);
    garbage.type = IMPI_PK_PROTOACK;
    garbage.srqid = garbage.drqid = 0x1234;
    assert_int_equal(say(net, garbage, NULL), 0);
    /* FINI comes without ids of processes at all. */
    garbage.type = IMPI_PK_FINI;
    memset(garbage.src, 0, IMPI_PROC_SIZE);
    memset(garbage.dest, 0xff, IMPI_PROC_SIZE);
    impi_packet_encode(frame, &garbage);
    assert_int_equal(net_inject(net, 0, 1, frame, sizeof(frame)), 0);
    assert_true(impi_channel_peer_fini(net->channel[0][1]));
    net_destroy(net);
}

static void im_129_service_fields_are_never_needed(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req;
    char in[8];

    pk.seqnum = pk.dtype = pk.reserved = UINT64_MAX;
    pk.count = -1;
    net_irecv(net, 0, 1, 3, in, 8, &req);
    assert_int_equal(say(net, pk, "hello"), 0);
    assert_true(req.done);
    net_isend(net, 0, 1, 3, "hello", 5, false, &req);
    pk = hear(net, IMPI_PK_DATA);
    assert_true(pk.reserved == 0);
    net_destroy(net);
}

/* ---- lies ---- */

/* The channel fails with that text, and a request to the peer with it; other
 * peers are not touched. */
static void check_caught(struct net *net, struct impi_packet pk,
                         const void *data, const char *text)
{
    struct impi_request posted, other;
    char in[2][8];
    const char *error;

    net_irecv(net, 0, 1, 1000, in[0], 8, &posted);
    net_irecv(net, 0, 2, 1000, in[1], 8, &other);
    assert_int_equal(say(net, pk, data), -1);
    assert_int_equal(errno, EPROTO);
    error = impi_channel_error(net->channel[0][1]);
    assert_memory_equal(error, "rank 1: ", 8);
    assert_string_equal(error + 8, text);
    assert_string_equal(impi_p2p_peer_error(net->p2p[0], 1), text);
    assert_true(posted.done);
    assert_int_equal(posted.status.error, IMPI_ERR_PEER);
    assert_false(other.done);
    net_isend(net, 0, 1, 1, "x", 1, false, &posted);
    assert_int_equal(posted.status.error, IMPI_ERR_PEER);
    net_destroy(net);
}

static void im_125_unknown_type_is_an_error_of_that_channel(void **state)
{
    struct impi_packet pk = {.type = 8};

    check_caught(open_net(), pk, NULL, "sends a packet of the unknown type 8");
}

static void im_126_packet_longer_than_maxdatalen(void **state)
{
    struct impi_packet pk = {.len = UINT32_MAX, .msglen = UINT32_MAX};

    check_caught(open_net(), pk, NULL, "sends a packet longer than maxdatalen");
    pk.len = pk.msglen = two.maxdatalen + 1;
    check_caught(open_net(), pk, NULL, "sends a packet longer than maxdatalen");
    pk = (struct impi_packet){.len = 6, .msglen = 5};
    check_caught(open_net(), pk, NULL,
                 "sends a packet longer than its message");
}

static void peer_sends_for_requests_that_do_not_exist(void **state)
{
    struct impi_packet pk = {.len = 5, .msglen = 10};
    struct impi_request req;
    struct net *net;

    for (uint64_t id = 0; id < 70; id += 3) {
        pk.drqid = id << 32 | id;
        check_caught(open_net(), pk, "hello",
                     "sends data for a request that does not exist");
    }
    net = open_net(); /* the id of a send */
    net_isend(net, 0, 1, 1, "hello", 5, true, &req);
    pk.drqid = hear(net, IMPI_PK_DATASYNC).srqid;
    check_caught(net, pk, "hello",
                 "sends data for a request that does not exist");
}

static void peer_sends_more_than_the_message_has(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = long_25;
    struct impi_request req;
    char in[60];

    pk.msglen = 15;
    net_irecv(net, 0, 1, 3, in, 60, &req);
    assert_int_equal(say(net, pk, "abcdefghij"), 0);
    pk.drqid = hear(net, IMPI_PK_SYNCACK).drqid;
    pk.type = IMPI_PK_DATA;
    pk.msglen = 1000;
    pk.len = 6;
    check_caught(net, pk, "klmnop", "sends more data than the message has");
    assert_true(req.done);
    assert_int_equal(req.status.error, IMPI_ERR_PEER);
}

static void peer_uses_the_request_of_another_peer(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = long_25;
    struct impi_request req;
    char in[60];

    net_connect(net, 0, 2);
    net_irecv(net, 0, 2, 3, in, 60, &req);
    assert_int_equal(net_inject_packet(net, 0, 2, pk, "abcdefghij"), 0);
    assert_true(net_take_packet(net, 0, 2, &pk));
    assert_int_equal(pk.type, IMPI_PK_SYNCACK);
    pk.type = IMPI_PK_DATA;
    pk.len = 10;
    pk.msglen = 25;
    check_caught(net, pk, "klmnopqrst",
                 "sends data for a request that does not exist");
}

static void peer_acknowledges_nothing(void **state)
{
    struct impi_packet pk = {.type = IMPI_PK_SYNCACK, .srqid = 5};
    struct impi_request req;
    struct net *net = open_net();

    check_caught(net, pk, NULL,
                 "acknowledges a message that does not wait for it");
    net = open_net(); /* the same one twice */
    net_isend(net, 0, 1, 1, "hello", 5, true, &req);
    pk.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    assert_int_equal(say(net, pk, NULL), 0);
    check_caught(net, pk, NULL,
                 "acknowledges a message that does not wait for it");
    pk = (struct impi_packet){.type = IMPI_PK_PROTOACK};
    check_caught(open_net(), pk, NULL,
                 "acknowledges packets that were never sent");
    pk.type = IMPI_PK_CANCELYES;
    check_caught(open_net(), pk, NULL,
                 "answers a cancel request that was never made");
}

static void peer_ignores_hiwater(void **state)
{
    struct net *net = open_net();

    impi_p2p_set_unexpected_max(net->p2p[0], 0);
    for (uint32_t i = 0; i < two.hiwater; i++)
        assert_int_equal(say(net, short_5, "hello"), 0);
    check_caught(net, short_5, "hello",
                 "sends more packets than hiwater allows");
}

static void peer_speaks_for_others(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    uint8_t frame[IMPI_PACKET_SIZE];

    impi_proc_encode(pk.src, net->world.procs[2].hostid, 1002);
    impi_proc_encode(pk.dest, net->world.procs[0].hostid, 1000);
    impi_packet_encode(frame, &pk);
    assert_int_equal(net_inject(net, 0, 1, frame, sizeof(frame)), -1);
    assert_string_equal(impi_channel_error(net->channel[0][1]),
                        "rank 1: sends for a process that is not behind it");
    net_destroy(net);
    net = open_net();
    impi_proc_encode(pk.src, net->world.procs[1].hostid, 1001);
    impi_proc_encode(pk.dest, net->world.procs[2].hostid, 1002);
    impi_packet_encode(frame, &pk);
    assert_int_equal(net_inject(net, 0, 1, frame, sizeof(frame)), -1);
    assert_string_equal(impi_channel_error(net->channel[0][1]),
                        "rank 1: sends a packet for another process");
    net_destroy(net);
}

/* ---- cancelled sends, the receiver's side ---- */

static void cancel_and_expect(struct net *net, uint64_t srqid, uint32_t answer)
{
    struct impi_packet pk = {.type = IMPI_PK_CANCEL, .srqid = srqid};

    assert_int_equal(say(net, pk, NULL), 0);
    pk = hear(net, answer);
    assert_true(pk.srqid == srqid);
    silent(net); /* exactly one */
}

static void im_146_im_147_cancel_of_buffered_and_of_received(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req;
    char in[8];

    pk.srqid = 7;
    assert_int_equal(say(net, pk, "hello"), 0);
    cancel_and_expect(net, 7, IMPI_PK_CANCELYES);
    net_irecv(net, 0, 1, 3, in, 8, &req);
    assert_false(req.done); /* destroyed */
    pk.type = IMPI_PK_DATASYNC;
    assert_int_equal(say(net, pk, "hello"), 0);
    assert_true(req.done);
    hear(net, IMPI_PK_SYNCACK); /* went before: still one answer */
    cancel_and_expect(net, 7, IMPI_PK_CANCELNO);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->unexpected_bytes, 0);
    net_destroy(net);
}

static void im_148_cancel_of_a_half_received_long_message(void **state)
{
    struct net *net = open_net();
    struct impi_request req;
    char in[25];

    assert_int_equal(say(net, long_25, "abcdefghij"), 0);
    cancel_and_expect(net, long_25.srqid, IMPI_PK_CANCELYES);
    assert_int_equal(say(net, long_25, "abcdefghij"), 0);
    net_irecv(net, 0, 1, 3, in, 25, &req);
    hear(net, IMPI_PK_SYNCACK);
    cancel_and_expect(net, long_25.srqid, IMPI_PK_CANCELNO);
    assert_false(req.done);
    net_destroy(net);
}

static void im_149_the_newest_of_one_id_is_cancelled(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req[3];
    char in[3][8] = {"", "", ""};

    assert_int_equal(say(net, pk, "one__"), 0);
    assert_int_equal(say(net, pk, "two__"), 0);
    assert_int_equal(say(net, pk, "three"), 0);
    cancel_and_expect(net, 0, IMPI_PK_CANCELYES);
    for (int i = 0; i < 3; i++)
        net_irecv(net, 0, 1, 3, in[i], 8, &req[i]);
    assert_true(req[0].done && req[1].done && !req[2].done);
    assert_memory_equal(in[0], "one__", 5);
    assert_memory_equal(in[1], "two__", 5);
    net_destroy(net);
}

/* ---- cancelled sends, the sender's side ---- */

static int reply(struct net *net, uint32_t type, uint64_t srqid)
{
    struct impi_packet pk = {.type = type, .srqid = srqid};

    return say(net, pk, NULL);
}

static void check_cancelled(const struct impi_request *req, bool cancelled)
{
    assert_true(req->done);
    assert_int_equal(req->status.error, IMPI_OK);
    assert_int_equal(req->status.cancelled, cancelled);
}

/* A short send, written and done; a synchronous and a long one that wait. */
static void im_145_cancel_asks_in_three_cases(void **state)
{
    for (int how = 0; how < 3; how++) {
        for (int yes = 0; yes < 2; yes++) {
            struct net *net = open_net();
            uint8_t data[25] = {0};
            struct impi_packet pk;
            struct impi_request req;
            uint64_t srqid;

            net_isend(net, 0, 1, 1, data, how == 2 ? 25 : 5, how == 1, &req);
            srqid = hear(net, how ? IMPI_PK_DATASYNC : IMPI_PK_DATA).srqid;
            assert_int_equal(req.done, how == 0);
            impi_p2p_cancel_send(net->p2p[0], &req);
            impi_p2p_cancel_send(net->p2p[0], &req); /* asks once */
            assert_false(req.done);
            assert_true(hear(net, IMPI_PK_CANCEL).srqid == srqid);
            silent(net);
            assert_int_equal(
                reply(net, yes ? IMPI_PK_CANCELYES : IMPI_PK_CANCELNO, srqid),
                0);
            if (how > 0 && !yes) { /* then it was matched */
                assert_false(req.done);
                pk = (struct impi_packet){.type = IMPI_PK_SYNCACK,
                                          .srqid = srqid};
                assert_int_equal(say(net, pk, NULL), 0);
            }
            while (net_take_packet(net, 0, 1, &pk))
                assert_int_equal(yes && pk.type == IMPI_PK_DATA, 0);
            check_cancelled(&req, yes);
            assert_false(impi_p2p_busy(net->p2p[0]));
            net_destroy(net);
        }
    }
}

static void im_145_cancel_is_local_otherwise(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = {.type = IMPI_PK_SYNCACK};
    struct impi_request req, sync, lots[6];
    uint8_t data[45] = {0};

    net_isend(net, 0, 1, 1, data, 5, false, &req); /* nothing sent yet */
    impi_p2p_cancel_send(net->p2p[0], &req);
    check_cancelled(&req, true);
    silent(net);
    net_isend(net, 0, 1, 1, data, 5, true, &sync); /* done */
    pk.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    assert_int_equal(say(net, pk, NULL), 0);
    impi_p2p_cancel_send(net->p2p[0], &sync);
    check_cancelled(&sync, false);
    net_isend(net, 0, 1, 1, data, 45, false, &req); /* the rest goes out */
    pk.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    assert_int_equal(say(net, pk, NULL), 0);
    hear(net, IMPI_PK_DATA);
    impi_p2p_cancel_send(net->p2p[0], &req);
    for (int i = 0; i < 3; i++)
        hear(net, IMPI_PK_DATA);
    check_cancelled(&req, false);
    silent(net);
    ack(net);
    ack(net);
    for (int i = 0; i < 6; i++) /* the last one stays behind hiwater */
        net_isend(net, 0, 1, 1, data, 5, false, &lots[i]);
    for (int i = 0; i < 4; i++)
        hear(net, IMPI_PK_DATA);
    impi_p2p_cancel_send(net->p2p[0], &lots[5]);
    check_cancelled(&lots[5], true);
    impi_channel_rx_done(net->channel[0][1], 0);
    impi_p2p_cancel_send(net->p2p[0], &lots[0]); /* the peer is lost */
    check_cancelled(&lots[0], false);
    net_destroy(net);
}

static void im_146_crossing_syncack_and_cancel(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = {.type = IMPI_PK_SYNCACK, .drqid = 3};
    struct impi_request req;
    uint8_t data[25] = {0};

    net_isend(net, 0, 1, 1, data, 25, false, &req);
    pk.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    impi_p2p_cancel_send(net->p2p[0], &req);
    assert_int_equal(say(net, pk, NULL), 0); /* on its way already */
    hear(net, IMPI_PK_CANCEL);
    hear(net, IMPI_PK_DATA);
    hear(net, IMPI_PK_DATA);
    assert_false(req.done); /* the one reply is still to come */
    assert_int_equal(reply(net, IMPI_PK_CANCELNO, pk.srqid), 0);
    check_cancelled(&req, false);
    pk = (struct impi_packet){.type = IMPI_PK_CANCELNO, .srqid = pk.srqid};
    check_caught(net, pk, NULL, "answers a cancel request that was never made");
}

static void peer_gives_back_what_it_has_received(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = {.type = IMPI_PK_SYNCACK, .drqid = 3};
    struct impi_request req;
    uint8_t data[25] = {0};

    net_isend(net, 0, 1, 1, data, 25, false, &req);
    pk.srqid = hear(net, IMPI_PK_DATASYNC).srqid;
    impi_p2p_cancel_send(net->p2p[0], &req);
    assert_int_equal(say(net, pk, NULL), 0);
    pk.type = IMPI_PK_CANCELYES;
    check_caught(net, pk, NULL, "gives a message back that it has received");
    assert_true(req.done);
}

/* ---- the end ---- */

static void im_150_im_194_fini_both_ways_ends_a_channel(void **state)
{
    struct net *net = open_net();
    struct impi_channel *channel = net->channel[0][1];
    struct impi_packet fini = {.type = IMPI_PK_FINI};

    assert_false(impi_channel_finished(channel));
    impi_channel_fini(channel);
    assert_false(impi_channel_finished(channel));
    hear(net, IMPI_PK_FINI);
    assert_false(impi_channel_finished(channel));
    assert_int_equal(say(net, fini, NULL), 0);
    assert_true(impi_channel_finished(channel));
    assert_int_equal(impi_channel_rx_done(channel, 0), 0); /* end of file */
    net_destroy(net);
}

static void fini_waits_for_what_is_queued(void **state)
{
    struct net *net = open_net();
    struct impi_request req[8];

    for (int i = 0; i < 8; i++)
        net_isend(net, 0, 1, 1, "hello", 5, false, &req[i]);
    impi_channel_fini(net->channel[0][1]);
    for (int i = 0; i < 6; i++)
        hear(net, IMPI_PK_DATA);
    silent(net); /* hiwater */
    ack(net);
    hear(net, IMPI_PK_DATA);
    hear(net, IMPI_PK_DATA);
    hear(net, IMPI_PK_FINI);
    net_isend(net, 0, 1, 1, "late", 5, false, &req[0]);
    assert_int_equal(req[0].status.error, IMPI_ERR_PEER);
    net_destroy(net);
}

/* A SYNCACK after the own FINI: the rest can not be sent any more, and the
 * request ends only when no packet of it waits to be written. */
static void syncack_after_the_own_fini_ends_the_send(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk, syncack = {.type = IMPI_PK_SYNCACK};
    struct iovec iov[IMPI_TX_IOV];
    struct impi_request req;

    net_isend(net, 0, 1, 1, "0123456789012345678901234", 25, false, &req);
    impi_channel_fini(net->channel[0][1]);
    assert_true(impi_channel_tx(net->channel[0][1], iov, IMPI_TX_IOV) > 0);
    impi_packet_decode(&pk, iov[0].iov_base);
    syncack.srqid = pk.srqid;
    assert_int_equal(say(net, syncack, NULL), 0);
    assert_false(req.done);
    hear(net, IMPI_PK_DATASYNC);
    assert_true(req.done);
    assert_int_equal(req.status.error, IMPI_ERR_PEER);
    hear(net, IMPI_PK_FINI);
    silent(net);
    net_destroy(net);
}

/* After the own FINI messages are read, destroyed and acknowledged, and
 * nothing else is sent. */
static void im_151_im_152_only_acknowledgements_after_fini(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = long_25;

    impi_channel_fini(net->channel[0][1]);
    hear(net, IMPI_PK_FINI);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(say(net, short_5, "hello"), 0);
        assert_int_equal(say(net, pk, "abcdefghij"), 0);
        assert_true(net_take_packet(net, 0, 1, &pk));
        assert_int_equal(pk.type, IMPI_PK_PROTOACK);
        pk = long_25;
        silent(net);
    }
    assert_int_equal(impi_p2p_stats(net->p2p[0])->unexpected_messages, 0);
    pk = (struct impi_packet){.type = IMPI_PK_FINI};
    assert_int_equal(say(net, pk, NULL), 0);
    assert_true(impi_channel_finished(net->channel[0][1]));
    net_destroy(net);
}

static void data_after_the_peers_fini_is_an_error(void **state)
{
    struct impi_packet fini = {.type = IMPI_PK_FINI};
    struct net *net = open_net();

    assert_int_equal(say(net, fini, NULL), 0);
    check_caught(net, short_5, "hello", "sends data after its FINI");
    net = open_net();
    assert_int_equal(say(net, fini, NULL), 0);
    check_caught(net, fini, NULL, "ends the channel twice");
}

static void im_153_end_of_file_before_fini_names_the_peer(void **state)
{
    struct net *net = open_net();
    struct impi_request sync, large, recv, any, whole, half;
    uint8_t data[100] = {0};
    char in[2][32];

    assert_int_equal(say(net, short_5, "hello"), 0);
    assert_int_equal(say(net, long_25, "abcdefghij"), 0);
    net_isend(net, 0, 1, 1, data, 5, true, &sync);
    net_isend(net, 0, 1, 1, data, 100, false, &large);
    net_irecv(net, 0, 1, 77, data, 100, &recv);
    net_irecv(net, 0, IMPI_ANY_PEER, 77, data, 100, &any);
    assert_int_equal(impi_channel_rx_done(net->channel[0][1], 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_string_equal(impi_channel_error(net->channel[0][1]),
                        "rank 1: ended without taking leave");
    assert_true(sync.done && large.done && recv.done && !any.done);
    assert_int_equal(sync.status.error, IMPI_ERR_PEER);
    assert_int_equal(large.status.error, IMPI_ERR_PEER);
    assert_int_equal(recv.status.error, IMPI_ERR_PEER);
    /* A message that is here as a whole is still received, half a one not. */
    net_irecv(net, 0, 1, 3, in[0], 32, &whole);
    assert_int_equal(whole.status.error, IMPI_OK);
    assert_memory_equal(in[0], "hello", 5);
    net_irecv(net, 0, 1, 3, in[1], 32, &half);
    assert_int_equal(half.status.error, IMPI_ERR_PEER);
    net_destroy(net);
}

/* At every byte of a long exchange: whatever the state, all requests end. */
static void im_153_end_of_file_at_any_byte(void **state)
{
    for (size_t cut = 0; cut < 520; cut++) {
        struct net *net = open_net();
        struct impi_request s[2], r[3];
        uint8_t out[30] = {0}, in[3][30];

        for (int i = 0; i < 3; i++)
            net_irecv(net, 0, 1, i, in[i], 30, &r[i]);
        net_isend(net, 0, 1, 5, out, 30, false, &s[0]);
        net_isend(net, 0, 1, 5, out, 3, true, &s[1]);
        for (size_t n = 0; n < cut;) {
            struct impi_packet pk = long_25;
            uint8_t frame[IMPI_PACKET_SIZE + 10] = {0};
            size_t left = cut - n;

            pk.tag = (int32_t)(n / sizeof(frame));
            impi_proc_encode(pk.src, net->world.procs[1].hostid, 1001);
            impi_proc_encode(pk.dest, net->world.procs[0].hostid, 1000);
            impi_packet_encode(frame, &pk);
            left = left < sizeof(frame) ? left : sizeof(frame);
            assert_int_equal(net_inject(net, 0, 1, frame, left), 0);
            n += left;
        }
        assert_int_equal(impi_channel_rx_done(net->channel[0][1], 0), -1);
        for (int i = 0; i < 3; i++)
            assert_int_equal(r[i].status.error, IMPI_ERR_PEER);
        assert_true(s[0].done && s[1].done && r[0].done && r[1].done &&
                    r[2].done);
        assert_false(impi_p2p_busy(net->p2p[0]));
        net_destroy(net);
    }
}

static void peer_that_can_not_be_reached(void **state)
{
    struct net *net = net_create(&two);
    struct impi_request recv, send;
    char in[8];

    net_irecv(net, 0, 2, 1, in, 8, &recv);
    impi_p2p_peer_fail(net->p2p[0], 2, "connection refused");
    assert_true(recv.done);
    assert_int_equal(recv.status.error, IMPI_ERR_PEER);
    net_isend(net, 0, 2, 1, "x", 1, false, &send);
    assert_int_equal(send.status.error, IMPI_ERR_PEER);
    assert_string_equal(impi_p2p_peer_error(net->p2p[0], 2),
                        "connection refused");
    assert_null(impi_p2p_peer_error(net->p2p[0], 1));
    net_destroy(net);
}

static void im_156_engine_refuses_values_out_of_bounds(void **state)
{
    static const uint32_t bad[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 2, 1}};
    static const struct impi_p2p_ops ops;
    struct impi_world w = {0};

    assert_int_equal(impi_world_alloc(&w, 1, 2), 0);
    for (int i = 0; i < 3; i++) {
        w.maxdatalen = bad[i][0];
        w.ackmark = bad[i][1];
        w.hiwater = bad[i][2];
        assert_null(impi_p2p_create(&w, 0, &ops, NULL));
        assert_int_equal(errno, EINVAL);
    }
    impi_world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(im_137_im_138_short_packets_by_kind_of_send),
        cmocka_unit_test(im_140_im_141_long_message_packet_by_packet),
        cmocka_unit_test(im_142_long_sends_do_not_hold_up_others),
        cmocka_unit_test(im_139_syncack_only_after_the_match),
        cmocka_unit_test(im_142_two_long_messages_interleaved_by_drqid),
        cmocka_unit_test(im_142_first_packet_of_any_length),
        cmocka_unit_test(
            im_143_truncated_messages_drain_and_the_channel_goes_on),
        cmocka_unit_test(im_121_messages_over_4_gib_announce_their_length),
        cmocka_unit_test(im_128_garbage_in_control_packets_is_ignored),
        cmocka_unit_test(im_129_service_fields_are_never_needed),
        cmocka_unit_test(im_125_unknown_type_is_an_error_of_that_channel),
        cmocka_unit_test(im_126_packet_longer_than_maxdatalen),
        cmocka_unit_test(peer_sends_for_requests_that_do_not_exist),
        cmocka_unit_test(peer_sends_more_than_the_message_has),
        cmocka_unit_test(peer_uses_the_request_of_another_peer),
        cmocka_unit_test(peer_acknowledges_nothing),
        cmocka_unit_test(peer_ignores_hiwater),
        cmocka_unit_test(peer_speaks_for_others),
        cmocka_unit_test(im_146_im_147_cancel_of_buffered_and_of_received),
        cmocka_unit_test(im_148_cancel_of_a_half_received_long_message),
        cmocka_unit_test(im_149_the_newest_of_one_id_is_cancelled),
        cmocka_unit_test(im_145_cancel_asks_in_three_cases),
        cmocka_unit_test(im_145_cancel_is_local_otherwise),
        cmocka_unit_test(im_146_crossing_syncack_and_cancel),
        cmocka_unit_test(peer_gives_back_what_it_has_received),
        cmocka_unit_test(im_150_im_194_fini_both_ways_ends_a_channel),
        cmocka_unit_test(fini_waits_for_what_is_queued),
        cmocka_unit_test(syncack_after_the_own_fini_ends_the_send),
        cmocka_unit_test(im_151_im_152_only_acknowledgements_after_fini),
        cmocka_unit_test(data_after_the_peers_fini_is_an_error),
        cmocka_unit_test(im_153_end_of_file_before_fini_names_the_peer),
        cmocka_unit_test(im_153_end_of_file_at_any_byte),
        cmocka_unit_test(peer_that_can_not_be_reached),
        cmocka_unit_test(im_156_engine_refuses_values_out_of_bounds),
    };

    return cmocka_run_group_tests_name("p2p_peer", tests, NULL, NULL);
}
