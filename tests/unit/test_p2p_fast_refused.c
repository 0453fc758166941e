/* SPDX-License-Identifier: BSD-3-Clause
 * Short messages without a request: each reason to go the general way instead.
 */
#include "p2p_fast.h"

/* ---- reasons not to send so ---- */

static void sends(struct net *net, bool yes)
{
    struct impi_send args = out(1, 9, "hello");

    assert_int_equal(impi_fast_send(net->channel[0][1], &args) != NULL, yes);
}

static void not_past_a_queued_send(void **state)
{
    struct net *net = start(10, 1);
    struct impi_request req;

    net_isend(net, 0, 1, 1, "0123456789", 10, false, &req);
    sends(net, false);
    net_step(net); /* a part of it is written */
    assert_false(req.done);
    sends(net, false);
    net_settle(net);
    assert_true(req.done);
    sends(net, true);
    net_destroy(net);
}

static void not_past_a_due_acknowledgement(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_request req[ACKMARK];

    for (int i = 0; i < ACKMARK; i++) {
        net_isend(net, 1, 0, 1, "x", 1, false, &req[i]);
        net->asleep[0] = true;
        net_settle(net);
    }
    sends(net, true);
    net->asleep[0] = false;
    while (impi_p2p_stats(net->p2p[0])->packets_received < ACKMARK) {
        struct net_stream *s = &net->stream[1][0];

        assert_int_equal(net_inject(net, 0, 1, s->bytes, s->len), 0);
        s->len = 0;
    }
    sends(net, false);
    net_settle(net);
    sends(net, true);
    net_destroy(net);
}

static void not_past_a_due_answer(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_request recv;
    char room[MAXDATALEN];
    struct impi_packet pk = {
        .type = IMPI_PK_DATASYNC, .len = 1, .msglen = 1, .tag = 1, .srqid = 7};

    net_irecv(net, 0, 1, 1, room, sizeof(room), &recv);
    assert_int_equal(net_inject_packet(net, 0, 1, pk, "x"), 0);
    sends(net, false); /* a SYNCACK */
    net_settle(net);
    net_destroy(net);
}

static void not_when_half_of_the_credit_is_gone(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_send args = out(1, 9, "hello");

    for (int i = 0; i < HIWATER / 2; i++)
        assert_true(put(net, 0, &args));
    sends(net, false);
    net_settle(net); /* kept there, and acknowledged */
    sends(net, true);
    net_destroy(net);
}

static void not_more_than_one_packet(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_send args = out(1, 9, "0123456789abcdef");

    assert_non_null(impi_fast_send(net->channel[0][1], &args));
    args = out(1, 9, "0123456789abcdefg");
    assert_null(impi_fast_send(net->channel[0][1], &args));
    net_destroy(net);
}

static void not_by_a_channel_of_several_peers_or_of_another(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_send args = out(2, 9, "hello");
    char room[MAXDATALEN];
    struct impi_recv want = in(1, 9, room, sizeof(room));

    net_connect(net, 0, 1);
    assert_null(impi_fast_send(net->channel[0][1], &args));
    sends(net, true);
    assert_true(impi_fast_is_free(net->channel[0][1], &want));
    want.peer = 2;
    assert_false(impi_fast_is_free(net->channel[0][1], &want));
    want.peer = 1;
    assert_int_equal(impi_p2p_attach_more(net->p2p[0], net->channel[0][1], 2),
                     0);
    sends(net, false);
    assert_false(impi_fast_is_free(net->channel[0][1], &want));
    net_destroy(net);
}

static void not_at_the_end(void **state)
{
    struct net *net = start(4000, 1);
    char room[MAXDATALEN];
    struct impi_recv want = in(1, 9, room, sizeof(room));

    impi_channel_fini(net->channel[0][1]);
    sends(net, false);
    impi_channel_fail(net->channel[0][1], "test");
    sends(net, false);
    assert_false(impi_fast_is_free(net->channel[0][1], &want));
    net_destroy(net);
}

/* ---- reasons not to receive so ---- */

static void is_free(struct net *net, uint32_t from, bool yes)
{
    struct impi_recv want = in(from, 9, NULL, 0);

    assert_int_equal(impi_fast_is_free(net->channel[0][1], &want), yes);
}

static void not_past_a_posted_receive(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_request req;
    char room[4];

    is_free(net, 1, true);
    net_irecv(net, 0, 1, 3, room, sizeof(room), &req);
    is_free(net, 1, false);
    is_free(net, IMPI_ANY_PEER, false);
    impi_p2p_cancel_recv(net->p2p[0], &req, true);
    is_free(net, 1, true);
    net_irecv(net, 0, IMPI_ANY_PEER, 3, room, sizeof(room), &req);
    is_free(net, 1, false);
    impi_p2p_cancel_recv(net->p2p[0], &req, true);
    net_irecv(net, 0, 2, 3, room, sizeof(room), &req); /* of another peer */
    is_free(net, 1, true);
    net_destroy(net);
}

static void not_past_a_message_that_waits(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_request req;

    net_isend(net, 2, 0, 3, "x", 1, false, &req);
    net_settle(net);
    is_free(net, 1, true);
    is_free(net, IMPI_ANY_PEER, false);
    net_isend(net, 1, 0, 3, "x", 1, false, &req);
    net_settle(net);
    is_free(net, 1, false);
    net_destroy(net);
}

static void not_in_the_middle_of_a_packet(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_request req;
    char room[8];
    struct impi_packet pk = {.len = 5, .msglen = 5, .tag = 3};

    net_irecv(net, 0, 1, 3, room, sizeof(room), &req);
    assert_int_equal(net_inject_packet(net, 0, 1, pk, NULL), 0);
    is_free(net, 1, false); /* its data are to come */
    assert_int_equal(net_inject(net, 0, 1, "12345", 5), 0);
    assert_true(req.done);
    is_free(net, 1, true);
    assert_int_equal(net_inject(net, 0, 1, "12345", 5), 0);
    is_free(net, 1, false); /* a part of a header */
    net_destroy(net);
}

/* A packet from 1 to 0 that `want` below takes. */
static struct impi_packet right(const struct net *net)
{
    struct impi_packet pk = {
        .len = 5, .msglen = 5, .lsrank = 4, .tag = 9, .cid = 6};

    impi_proc_encode(pk.src, net->world.procs[1].hostid,
                     net->world.procs[1].pid);
    impi_proc_encode(pk.dest, net->world.procs[0].hostid,
                     net->world.procs[0].pid);
    return pk;
}

static bool takes(struct net *net, struct impi_packet pk, size_t len)
{
    char room[8];
    struct impi_recv want = in(1, 9, room, sizeof(room));
    struct impi_status st;
    uint64_t before = impi_p2p_stats(net->p2p[0])->packets_received;
    bool yes;

    impi_packet_to_wire(&pk);
    yes = impi_fast_take(net->channel[0][1], &pk, len, &want, &st);
    assert_int_equal(impi_p2p_stats(net->p2p[0])->packets_received,
                     before + yes);
    return yes;
}

static void only_the_very_packet(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_packet pk = right(net);

    assert_true(takes(net, pk, 5));
    assert_false(takes(net, pk, 4)); /* not all of it */
    assert_false(takes(net, pk, 6)); /* and more */
    pk.msglen = 6;                   /* the first part of a message */
    assert_false(takes(net, pk, 5));
    pk = right(net);
    pk.len = pk.msglen = 9; /* would be cut */
    assert_false(takes(net, pk, 9));
    pk = right(net);
    pk.tag = 8;
    assert_false(takes(net, pk, 5));
    pk = right(net);
    pk.cid = 7;
    assert_false(takes(net, pk, 5));
    for (uint32_t type = IMPI_PK_DATASYNC; type <= IMPI_PK_TYPES; type++) {
        pk = right(net);
        pk.type = type;
        assert_false(takes(net, pk, 5));
    }
    pk = right(net);
    pk.src[0] ^= 1;
    assert_false(takes(net, pk, 5));
    pk = right(net);
    pk.dest[IMPI_PROC_SIZE - 1] ^= 1;
    assert_false(takes(net, pk, 5));
    net_destroy(net);
}

/* The engine finds out that this peer breaks the rules. */
static void not_more_than_hiwater_nor_after_fini(void **state)
{
    struct net *net = start(4000, 1);
    struct impi_packet pk = right(net), fini = {.type = IMPI_PK_FINI};

    assert_int_equal(net_inject_packet(net, 0, 1, fini, NULL), 0);
    assert_false(takes(net, pk, 5));
    net_destroy(net);

    net = start(4000, 1);
    impi_p2p_set_unexpected_max(net->p2p[0], 0);
    pk.tag = 3;
    for (int i = 0; i < HIWATER; i++) /* nobody receives them */
        assert_int_equal(net_inject_packet(net, 0, 1, pk, "12345"), 0);
    pk.tag = 9;
    assert_false(takes(net, pk, 5));
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_past_a_queued_send),
        cmocka_unit_test(not_past_a_due_acknowledgement),
        cmocka_unit_test(not_past_a_due_answer),
        cmocka_unit_test(not_when_half_of_the_credit_is_gone),
        cmocka_unit_test(not_more_than_one_packet),
        cmocka_unit_test(not_by_a_channel_of_several_peers_or_of_another),
        cmocka_unit_test(not_at_the_end),
        cmocka_unit_test(not_past_a_posted_receive),
        cmocka_unit_test(not_past_a_message_that_waits),
        cmocka_unit_test(not_in_the_middle_of_a_packet),
        cmocka_unit_test(only_the_very_packet),
        cmocka_unit_test(not_more_than_hiwater_nor_after_fini),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
