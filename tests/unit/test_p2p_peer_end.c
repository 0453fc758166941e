/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a channel, in order and not (IMPI 3.8).
 */
#include "p2p_peer.h"

static void fini_both_ways_ends_a_channel(void **state)
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

static void the_peers_fini_alone_ends_nothing(void **state)
{
    struct net *net = open_net();
    struct impi_channel *channel = net->channel[0][1];
    struct impi_packet fini = {.type = IMPI_PK_FINI};

    assert_int_equal(say(net, fini, NULL), 0);
    assert_false(impi_channel_finished(channel));
    impi_channel_fini(channel);
    assert_false(impi_channel_finished(channel));
    hear(net, IMPI_PK_FINI);
    assert_true(impi_channel_finished(channel));
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
static void acknowledgements_alone_after_fini(void **state)
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

static void end_of_file_before_fini_names_the_peer(void **state)
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
static void end_of_file_at_any_byte(void **state)
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

static void engine_refuses_values_out_of_bounds(void **state)
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
        cmocka_unit_test(fini_both_ways_ends_a_channel),
        cmocka_unit_test(the_peers_fini_alone_ends_nothing),
        cmocka_unit_test(fini_waits_for_what_is_queued),
        cmocka_unit_test(syncack_after_the_own_fini_ends_the_send),
        cmocka_unit_test(acknowledgements_alone_after_fini),
        cmocka_unit_test(data_after_the_peers_fini_is_an_error),
        cmocka_unit_test(end_of_file_before_fini_names_the_peer),
        cmocka_unit_test(end_of_file_at_any_byte),
        cmocka_unit_test(peer_that_can_not_be_reached),
        cmocka_unit_test(engine_refuses_values_out_of_bounds),
    };

    return cmocka_run_group_tests_name("p2p_peer_end", tests, NULL, NULL);
}
