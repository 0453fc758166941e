/* SPDX-License-Identifier: BSD-3-Clause
 * Short messages without a request: the same on the wire and the same for
 * whoever comes after.
 */
#include "p2p_fast.h"

/* What the engine would have sent, to the byte, and counted alike. */
static void header_is_the_engines(void **state)
{
    struct net *net = start(4000, 1), *other = start(4000, 1);
    const char *texts[] = {"one", "", "another text"};
    struct impi_peer_stats fast, slow;

    for (int i = 0; i < 3; i++) {
        struct impi_send args = out(1, i, texts[i]);
        struct impi_request req;
        struct iovec iov[IMPI_TX_IOV];
        const void *head = impi_fast_send(net->channel[0][1], &args);

        assert_non_null(head);
        impi_p2p_isend(other->p2p[0], &req, &args);
        assert_true(impi_channel_tx(other->channel[0][1], iov, IMPI_TX_IOV) >=
                    1);
        assert_memory_equal(head, iov[0].iov_base, IMPI_PACKET_SIZE);
        impi_fast_sent(net->channel[0][1], strlen(texts[i]));
        impi_channel_tx_done(other->channel[0][1],
                             IMPI_PACKET_SIZE + strlen(texts[i]));
        assert_true(req.done);
    }
    assert_true(impi_p2p_peer_stats(net->p2p[0], 1, &fast));
    assert_true(impi_p2p_peer_stats(other->p2p[0], 1, &slow));
    assert_memory_equal(&fast, &slow, sizeof(fast));
    assert_int_equal(impi_p2p_stats(net->p2p[0])->packets_sent, 3);
    assert_false(impi_p2p_busy(net->p2p[0]));
    net_destroy(net);
    net_destroy(other);
}

/* Done, and to be cancelled like any other. */
static void request_of_one_may_be_cancelled(void **state)
{
    for (int received = 0; received < 2; received++) {
        struct net *net = start(4000, 1);
        struct impi_send args = out(1, 9, "hello");
        struct impi_request send, recv;
        char room[MAXDATALEN];
        struct impi_recv want = in(0, 9, room, sizeof(room));

        assert_true(put(net, 0, &args));
        impi_fast_request(net->p2p[0], &send, &args);
        assert_true(send.done);
        assert_int_equal(send.status.error, IMPI_OK);
        if (received)
            impi_p2p_irecv(net->p2p[1], &recv, &want);
        net_settle(net);
        impi_p2p_cancel_send(net->p2p[0], &send);
        assert_false(send.done);
        net_settle(net);
        assert_true(send.done);
        assert_int_equal(send.status.cancelled, !received);
        assert_false(impi_p2p_busy(net->p2p[0]));
        net_destroy(net);
    }
}

static void message_goes_straight_from_end_to_end(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_send args = out(1, 9, "hello");
    char room[MAXDATALEN] = "";
    struct impi_recv want = in(0, IMPI_ANY_TAG, room, sizeof(room));
    struct impi_status st;
    struct impi_peer_stats stats;

    assert_true(put(net, 0, &args));
    assert_true(take(net, 1, 0, &want, &st));
    assert_string_equal(room, "hello");
    assert_int_equal(st.source, 5);
    assert_int_equal(st.tag, 9);
    assert_int_equal(st.bytes, 5);
    assert_int_equal(st.msglen, 5);
    assert_int_equal(st.error, IMPI_OK);
    assert_false(st.cancelled);
    want = in(IMPI_ANY_PEER, 9, room, 5);
    assert_true(put(net, 0, &args));
    assert_true(take(net, 1, 0, &want, &st));
    assert_int_equal(st.source, 4); /* as the sender says */
    assert_true(impi_p2p_peer_stats(net->p2p[1], 0, &stats));
    assert_int_equal(stats.messages_in, 2);
    assert_int_equal(stats.bytes_in, 10);
    assert_int_equal(impi_p2p_stats(net->p2p[1])->packets_received, 2);
    net_destroy(net);
}

/* Whoever receives acknowledges, in the general way. */
static void credit_comes_back(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_send args = out(1, 9, "hello");
    char room[MAXDATALEN];
    struct impi_recv want = in(0, 9, room, sizeof(room));
    struct impi_status st;

    for (int i = 0; i < 10 * HIWATER; i++) {
        assert_true(put(net, 0, &args));
        assert_true(take(net, 1, 0, &want, &st));
        assert_int_equal(impi_p2p_busy(net->p2p[1]), i % ACKMARK == 1);
        net_settle(net);
        assert_false(impi_p2p_busy(net->p2p[1]));
    }
    assert_int_equal(impi_p2p_stats(net->p2p[0])->protoacks_received,
                     10 * HIWATER / ACKMARK);
    net_destroy(net);
}

/* A connection that takes only a part: the engine ends what was begun. */
static void part_is_ended_by_the_engine(void **state)
{
    for (size_t part = 1; part < IMPI_PACKET_SIZE + 5; part++) {
        struct net *net = start(4000, 1);
        struct impi_send args = out(1, 9, "hello");
        char room[MAXDATALEN] = "";
        struct impi_request send, recv;
        struct impi_recv want = in(0, 9, room, sizeof(room));
        struct net_stream *s = &net->stream[0][1];
        struct iovec iov[IMPI_TX_IOV];
        uint8_t flat[IMPI_PACKET_SIZE + 5];
        const void *head = impi_fast_send(net->channel[0][1], &args);

        assert_non_null(head);
        memcpy(flat, head, IMPI_PACKET_SIZE);
        memcpy(flat + IMPI_PACKET_SIZE, "hello", 5);
        memcpy(s->bytes, flat, part);
        s->len = part;
        impi_p2p_isend(net->p2p[0], &send, &args);
        impi_channel_tx(net->channel[0][1], iov, IMPI_TX_IOV);
        impi_channel_tx_done(net->channel[0][1], part);
        impi_p2p_irecv(net->p2p[1], &recv, &want);
        net_settle(net);
        assert_true(send.done && recv.done);
        assert_string_equal(room, "hello");
        net_destroy(net);
    }
}

static void awaited(const struct net *net, bool one, bool two)
{
    assert_int_equal(impi_channel_awaited(net->channel[0][1]), one);
    assert_int_equal(impi_channel_awaited(net->channel[0][2]), two);
}

static void only_channels_with_something_to_come_are_awaited(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_packet pk = {.len = 5, .msglen = 5, .tag = 3};
    struct impi_request recv, sync;
    char room[8];

    awaited(net, false, false);
    net_irecv(net, 0, 1, 3, room, sizeof(room), &recv);
    awaited(net, true, false);
    assert_int_equal(net_inject_packet(net, 0, 1, pk, NULL), 0);
    awaited(net, true, false); /* its data */
    assert_int_equal(net_inject(net, 0, 1, "12345", 5), 0);
    awaited(net, false, false);
    net_irecv(net, 0, IMPI_ANY_PEER, 3, room, sizeof(room), &recv);
    awaited(net, true, true);
    impi_p2p_cancel_recv(net->p2p[0], &recv, true);
    net_isend(net, 0, 2, 3, "x", 1, true, &sync);
    net_settle(net);
    awaited(net, false, true); /* its answer */
    net_irecv(net, 2, 0, 3, room, sizeof(room), &recv);
    net_settle(net);
    assert_true(sync.done);
    awaited(net, false, false);
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_the_engines),
        cmocka_unit_test(request_of_one_may_be_cancelled),
        cmocka_unit_test(message_goes_straight_from_end_to_end),
        cmocka_unit_test(credit_comes_back),
        cmocka_unit_test(part_is_ended_by_the_engine),
        cmocka_unit_test(only_channels_with_something_to_come_are_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
