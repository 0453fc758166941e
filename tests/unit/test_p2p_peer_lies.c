/* SPDX-License-Identifier: BSD-3-Clause
 * Peers that lie to the message engine.
 */
#include "p2p_peer.h"

static void unknown_type_is_an_error_of_that_channel(void **state)
{
    struct impi_packet pk = {.type = 8};

    check_caught(open_net(), pk, NULL, "sends a packet of the unknown type 8");
}

static void packet_longer_than_maxdatalen(void **state)
{
    struct impi_packet pk = {.len = UINT32_MAX, .msglen = UINT32_MAX};

    check_caught(open_net(), pk, NULL, "sends a packet longer than maxdatalen");
    pk.len = pk.msglen = two.maxdatalen + 1;
    check_caught(open_net(), pk, NULL, "sends a packet longer than maxdatalen");
    pk = (struct impi_packet){.len = 6, .msglen = 5};
    check_caught(open_net(), pk, NULL,
                 "sends a packet longer than its message");
}

static void packet_of_maxdatalen_is_taken(void **state)
{
    struct net *net = open_net();
    struct impi_packet pk = short_5;
    struct impi_request req;
    char in[10];

    assert_int_equal(two.maxdatalen, sizeof(in));
    pk.len = pk.msglen = two.maxdatalen;
    net_irecv(net, 0, 1, pk.tag, in, sizeof(in), &req);
    assert_int_equal(say(net, pk, "0123456789"), 0);
    assert_true(req.done);
    assert_memory_equal(in, "0123456789", sizeof(in));
    net_destroy(net);
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

static void packets_in_another_order_are_told(void **state)
{
    struct impi_packet pk = {
        .len = 5, .msglen = 5, .lsrank = 1, .tag = 3, .cid = 1ull << 56};

    check_caught(open_net(), pk, "hello", IMPI_PACKET_SWAPPED);
    check_caught(open_net(), (struct impi_packet){.type = IMPI_PK_FINI << 24},
                 NULL, IMPI_PACKET_SWAPPED);
}

/* Two peers behind one channel, as behind a relay. */
static void culprit_is_named_behind_a_relay(void **state)
{
    struct impi_packet pk = {.len = 6, .msglen = 5};
    struct net *net = open_net();
    struct impi_channel *channel = net->channel[0][1];
    uint8_t frame[IMPI_PACKET_SIZE];

    assert_int_equal(impi_p2p_attach_more(net->p2p[0], channel, 2), 0);
    assert_int_equal(impi_p2p_attach_more(net->p2p[0], channel, 2), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(say(net, short_5, "hello"), 0);
    assert_int_equal(impi_channel_culprit(channel), IMPI_ANY_PEER);
    impi_proc_encode(pk.src, net->world.procs[2].hostid, 1002);
    impi_proc_encode(pk.dest, net->world.procs[0].hostid, 1000);
    impi_packet_encode(frame, &pk);
    assert_int_equal(net_inject(net, 0, 1, frame, sizeof(frame)), -1);
    assert_int_equal(impi_channel_culprit(channel), 2);
    net_destroy(net);
    net = open_net(); /* an end is no breach */
    impi_channel_fail(net->channel[0][1], "reset");
    assert_int_equal(impi_channel_culprit(net->channel[0][1]), IMPI_ANY_PEER);
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_type_is_an_error_of_that_channel),
        cmocka_unit_test(packet_longer_than_maxdatalen),
        cmocka_unit_test(packet_of_maxdatalen_is_taken),
        cmocka_unit_test(peer_sends_for_requests_that_do_not_exist),
        cmocka_unit_test(peer_sends_more_than_the_message_has),
        cmocka_unit_test(peer_uses_the_request_of_another_peer),
        cmocka_unit_test(peer_acknowledges_nothing),
        cmocka_unit_test(peer_ignores_hiwater),
        cmocka_unit_test(peer_speaks_for_others),
        cmocka_unit_test(packets_in_another_order_are_told),
        cmocka_unit_test(culprit_is_named_behind_a_relay),
    };

    return cmocka_run_group_tests_name("p2p_peer_lies", tests, NULL, NULL);
}
