/* SPDX-License-Identifier: BSD-3-Clause
 * Cancelled sends packet by packet (IMPI 3.7).
 */
#include "p2p_peer.h"

/* ---- cancelled sends, the receiver's side ---- */

static void cancel_and_expect(struct net *net, uint64_t srqid, uint32_t answer)
{
    struct impi_packet pk = {.type = IMPI_PK_CANCEL, .srqid = srqid};

    assert_int_equal(say(net, pk, NULL), 0);
    pk = hear(net, answer);
    assert_true(pk.srqid == srqid);
    silent(net); /* exactly one */
}

static void cancel_of_buffered_and_of_received(void **state)
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

static void cancel_of_a_half_received_long_message(void **state)
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

static void the_newest_of_one_id_is_cancelled(void **state)
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

/* A message that was not acknowledged gives its credit back when it is
 * destroyed: else such a pair stops. */
static void credit_of_a_destroyed_message_is_returned(void **state)
{
    struct net *net = open_net();

    impi_p2p_set_unexpected_max(net->p2p[0], 0);
    for (uint64_t i = 0; i < 4 * (uint64_t)two.hiwater; i++) {
        struct impi_packet pk = short_5;

        pk.srqid = 7 + i;
        assert_int_equal(say(net, pk, "hello"), 0);
        cancel_and_expect(net, pk.srqid, IMPI_PK_CANCELYES);
        assert_int_equal(impi_p2p_stats(net->p2p[0])->protoacks_sent, i + 1);
        if (i % two.ackmark == two.ackmark - 1)
            ack(net); /* its own replies count, too */
    }
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
static void cancel_asks_in_three_cases(void **state)
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

static void cancel_is_local_otherwise(void **state)
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

/* ackmark is 2: two of each kind are worth one PROTOACK. */
static void cancels_and_replies_are_acknowledged(void **state)
{
    struct net *net = open_net();
    const struct impi_p2p_stats *stats = impi_p2p_stats(net->p2p[0]);
    struct impi_request req[2];
    uint64_t srqid;

    cancel_and_expect(net, 100, IMPI_PK_CANCELNO);
    assert_int_equal(stats->protoacks_sent, 0);
    cancel_and_expect(net, 101, IMPI_PK_CANCELNO);
    assert_int_equal(stats->protoacks_sent, 1);
    for (int i = 0; i < 2; i++) {
        net_isend(net, 0, 1, 1, "hello", 5, false, &req[i]);
        srqid = hear(net, IMPI_PK_DATA).srqid;
        impi_p2p_cancel_send(net->p2p[0], &req[i]);
        hear(net, IMPI_PK_CANCEL);
        ack(net); /* of these two */
        assert_int_equal(reply(net, IMPI_PK_CANCELNO, srqid), 0);
        silent(net);
        assert_int_equal(stats->protoacks_sent, 1 + i);
    }
    net_destroy(net);
}

static void crossing_syncack_and_cancel(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_of_buffered_and_of_received),
        cmocka_unit_test(credit_of_a_destroyed_message_is_returned),
        cmocka_unit_test(cancel_of_a_half_received_long_message),
        cmocka_unit_test(the_newest_of_one_id_is_cancelled),
        cmocka_unit_test(cancel_asks_in_three_cases),
        cmocka_unit_test(cancel_is_local_otherwise),
        cmocka_unit_test(crossing_syncack_and_cancel),
        cmocka_unit_test(cancels_and_replies_are_acknowledged),
        cmocka_unit_test(peer_gives_back_what_it_has_received),
    };

    return cmocka_run_group_tests_name("p2p_peer_cancel", tests, NULL, NULL);
}
