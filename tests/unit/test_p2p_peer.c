/* SPDX-License-Identifier: BSD-3-Clause
 * The long protocol packet by packet, and peers that are odd (IMPI 3.5).
 */
#include "p2p_peer.h"

/* ---- sending ---- */

static void short_packets_by_kind_of_send(void **state)
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

static void long_message_packet_by_packet(void **state)
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

/* The first packet of a message of `len` bytes when maxdatalen is 1 MB. */
static struct impi_packet first_of(struct net *net, size_t len, uint32_t type,
                                   struct impi_request *req)
{
    static uint8_t data[1 << 20];

    net_isend(net, 0, 1, 4, data, len, false, req);
    return hear(net, type);
}

/* Where all processes are ours nobody sends more unasked. */
static void first_packet_to_our_own_is_256_kb(void **state)
{
    struct impi_packet pk, syncack = {.type = IMPI_PK_SYNCACK, .drqid = 77};
    struct net_options o = two;
    struct impi_request req;
    struct net *net;

    o.maxdatalen = 1 << 20;
    o.extended = true;
    net = net_create(&o);
    net_connect(net, 0, 1);
    assert_int_equal(first_of(net, 262144, IMPI_PK_DATA, &req).len, 262144);
    assert_true(req.done);
    pk = first_of(net, 1 << 20, IMPI_PK_DATASYNC, &req);
    assert_int_equal(pk.len, 262144);
    assert_int_equal(pk.msglen, 1 << 20);
    syncack.srqid = pk.srqid;
    assert_int_equal(say(net, syncack, NULL), 0);
    assert_int_equal(hear(net, IMPI_PK_DATA).len, (1 << 20) - 262144);
    assert_true(req.done);
    net_destroy(net);
}

static void first_packet_to_strangers_is_maxdatalen(void **state)
{
    struct net_options o = two;
    struct impi_request req;
    struct net *net;

    o.maxdatalen = 600000;
    net = net_create(&o);
    net_connect(net, 0, 1);
    assert_int_equal(first_of(net, 600000, IMPI_PK_DATA, &req).len, 600000);
    assert_int_equal(first_of(net, 1 << 20, IMPI_PK_DATASYNC, &req).len,
                     600000);
    net_destroy(net);
}

/* Exactly that many data packets go. */
static void hear_data_only(struct net *net, uint32_t n)
{
    struct impi_packet pk;

    for (uint32_t i = 0; i < n; i++)
        hear(net, IMPI_PK_DATA);
    assert_false(net_take_packet(net, 0, 1, &pk));
}

static void hiwater_packets_go_and_ackmark_after_each_ack(void **state)
{
    struct net *net = open_net();
    struct impi_request req[12];

    for (int i = 0; i < 12; i++)
        net_isend(net, 0, 1, 1, "x", 1, false, &req[i]);
    hear_data_only(net, two.hiwater);
    ack(net);
    hear_data_only(net, two.ackmark);
    ack(net);
    ack(net);
    hear_data_only(net, 2 * two.ackmark);
    net_destroy(net);
}

/* Other messages go between the packets of a long one. */
static void long_sends_do_not_hold_up_others(void **state)
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

static void syncack_only_after_the_match(void **state)
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

static void two_long_messages_interleaved_by_drqid(void **state)
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
static void first_packet_of_any_length(void **state)
{
    for (uint32_t first = 0; first <= 10; first++) {
        struct net *net = open_net();
        struct impi_packet pk = long_25;
        struct impi_request req;
        static const char all[] = "abcdefghijklmno";
        char in[25];

        net_irecv(net, 0, 1, 3, in, 25, &req);
        pk.len = first;
        pk.msglen = 15;
        assert_int_equal(say(net, pk, "abcdefghij"), 0);
        pk.drqid = hear(net, IMPI_PK_SYNCACK).drqid;
        pk.type = IMPI_PK_DATA;
        pk.len = first < 5 ? 10 : 15 - first;
        assert_int_equal(say(net, pk, all + first), 0);
        if (first < 5) {
            pk.len = 5 - first;
            assert_int_equal(say(net, pk, all + first + 10), 0);
        }
        assert_true(req.done);
        assert_memory_equal(in, all, 15);
        net_destroy(net);
    }
}

/* What it says in the field of the receiver's id means nothing yet. */
static void short_message_with_an_id_is_a_first_packet(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req;
    char in[5];

    net_irecv(net, 0, 1, 3, in, 5, &req);
    pk.drqid = 0x7fff1234;
    assert_int_equal(say(net, pk, "hello"), 0);
    assert_true(req.done);
    assert_memory_equal(in, "hello", 5);
    net_destroy(net);
}

static void truncated_messages_drain_and_the_channel_goes_on(void **state)
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

static void messages_over_4_gib_announce_their_length(void **state)
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

static void garbage_in_control_packets_is_ignored(void **state)
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

static void service_fields_are_never_needed(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_packets_by_kind_of_send),
        cmocka_unit_test(long_message_packet_by_packet),
        cmocka_unit_test(hiwater_packets_go_and_ackmark_after_each_ack),
        cmocka_unit_test(long_sends_do_not_hold_up_others),
        cmocka_unit_test(syncack_only_after_the_match),
        cmocka_unit_test(two_long_messages_interleaved_by_drqid),
        cmocka_unit_test(first_packet_of_any_length),
        cmocka_unit_test(first_packet_to_our_own_is_256_kb),
        cmocka_unit_test(first_packet_to_strangers_is_maxdatalen),
        cmocka_unit_test(short_message_with_an_id_is_a_first_packet),
        cmocka_unit_test(truncated_messages_drain_and_the_channel_goes_on),
        cmocka_unit_test(messages_over_4_gib_announce_their_length),
        cmocka_unit_test(garbage_in_control_packets_is_ignored),
        cmocka_unit_test(service_fields_are_never_needed),
    };

    return cmocka_run_group_tests_name("p2p_peer", tests, NULL, NULL);
}
