/* SPDX-License-Identifier: BSD-3-Clause
 * Bytes that come to their place by another way than the channel's: the receive
 * is done when they are there, and the channel goes on meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

#define FROM 1
#define AT 2 /* who receives */
#define LONG 40

static char place[LONG], message[LONG];
static struct impi_request sends[3], recvs[2];

static void post(struct net *net, struct impi_request *req, int32_t tag,
                 void *to, size_t len)
{
    struct impi_recv recv = {
        .peer = FROM,
        .rank = FROM,
        .tag = tag,
        .buf = {.base = to, .len = len},
    };

    impi_p2p_irecv(net->p2p[AT], req, &recv);
}

/* What goes next, as it does on the wire; NULL: nothing. */
static const uint8_t *next(struct net *net, size_t *len)
{
    struct iovec iov[IMPI_TX_IOV];
    int n = impi_channel_tx(net->channel[FROM][AT], iov, IMPI_TX_IOV);

    *len = n > 0 ? iov[0].iov_len : 0;
    return n > 0 ? iov[0].iov_base : NULL;
}

static void gone(struct net *net, size_t len)
{
    impi_channel_tx_done(net->channel[FROM][AT], len);
}

/* The header, by the channel. */
static void pass_header(struct net *net)
{
    struct iovec iov[IMPI_RX_IOV];
    size_t len;
    const uint8_t *head = next(net, &len);

    assert_non_null(head);
    assert_int_equal(len, IMPI_PACKET_SIZE);
    impi_channel_rx(net->channel[AT][FROM], iov, IMPI_RX_IOV);
    memcpy(iov[0].iov_base, head, len);
    assert_int_equal(impi_channel_rx_done(net->channel[AT][FROM], len), 0);
    gone(net, len);
}

static struct net *start(void)
{
    struct net *net = net_create(&net_three);

    net_connect(net, FROM, AT);
    net_settle(net);
    for (int i = 0; i < LONG; i++)
        message[i] = (char)(i + 1);
    memset(place, 0, LONG);
    return net;
}

static void a_receive_is_done_when_its_bytes_are_there(void **state)
{
    struct net *net = start();
    struct impi_channel *at = net->channel[AT][FROM];
    struct impi_request *promised;
    size_t len, room;

    net->asleep[AT] = net->asleep[FROM] = true;
    assert_null(impi_channel_promise(at, LONG, &room, &promised));
    post(net, &recvs[0], 5, place, LONG);
    net_isend(net, FROM, AT, 5, message, 8, false, &sends[0]);
    pass_header(net);
    assert_non_null(next(net, &len));
    assert_int_equal(len, 8);
    assert_ptr_equal(impi_channel_promise(at, 100, &room, &promised), place);
    assert_int_equal(room, 8);
    assert_ptr_equal(promised, &recvs[0]);
    assert_false(recvs[0].done);
    /* All that was promised counts as read; the next message passes. */
    assert_null(impi_channel_promise(at, LONG, &room, &promised));
    gone(net, 8);
    net_isend(net, FROM, AT, 6, message, 3, false, &sends[1]);
    post(net, &recvs[1], 6, place + 20, 3);
    net->asleep[AT] = net->asleep[FROM] = false;
    net_settle(net);
    assert_true(recvs[1].done);
    assert_memory_equal(place + 20, message, 3);
    assert_false(recvs[0].done);
    memcpy(place, message, 8);
    impi_channel_kept(at, &recvs[0]);
    assert_true(recvs[0].done);
    assert_int_equal(recvs[0].status.error, IMPI_OK);
    assert_int_equal(recvs[0].status.bytes, 8);
    net_destroy(net);
}

/* In parts, kept in any order. */
static void parts_of_a_message_are_promised_one_by_one(void **state)
{
    struct net *net = start();
    struct impi_channel *at = net->channel[AT][FROM];
    struct impi_request *promised;
    size_t room;

    net->asleep[AT] = net->asleep[FROM] = true;
    post(net, &recvs[0], 5, place, LONG);
    net_isend(net, FROM, AT, 5, message, 8, false, &sends[0]);
    pass_header(net);
    assert_ptr_equal(impi_channel_promise(at, 3, &room, &promised), place);
    assert_int_equal(room, 3);
    assert_ptr_equal(impi_channel_promise(at, 9, &room, &promised), place + 3);
    assert_int_equal(room, 5);
    gone(net, 8);
    impi_channel_kept(at, &recvs[0]);
    assert_false(recvs[0].done);
    impi_channel_kept(at, &recvs[0]);
    assert_true(recvs[0].done);
    net->asleep[AT] = net->asleep[FROM] = false;
    net_settle(net);
    net_destroy(net);
}

/* An unexpected one may move before its bytes are there. */
static void no_place_is_promised_before_a_receive_is_known(void **state)
{
    struct net *net = start();
    struct impi_channel *at = net->channel[AT][FROM];
    struct impi_request *promised;
    size_t room;

    net->asleep[AT] = net->asleep[FROM] = true;
    net_isend(net, FROM, AT, 5, message, 8, false, &sends[0]);
    pass_header(net);
    assert_null(impi_channel_promise(at, 8, &room, &promised));
    net_destroy(net);
}

static void a_lost_peer_ends_what_was_promised(void **state)
{
    struct net *net = start();
    struct impi_channel *at = net->channel[AT][FROM];
    struct impi_request *promised;
    size_t room;

    net->asleep[AT] = net->asleep[FROM] = true;
    post(net, &recvs[0], 5, place, LONG);
    net_isend(net, FROM, AT, 5, message, 8, false, &sends[0]);
    pass_header(net);
    assert_non_null(impi_channel_promise(at, 8, &room, &promised));
    impi_channel_fail(at, "is gone");
    assert_true(recvs[0].done);
    assert_int_equal(recvs[0].status.error, IMPI_ERR_PEER);
    assert_null(impi_channel_promise(at, 8, &room, &promised));
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_is_done_when_its_bytes_are_there),
        cmocka_unit_test(parts_of_a_message_are_promised_one_by_one),
        cmocka_unit_test(no_place_is_promised_before_a_receive_is_known),
        cmocka_unit_test(a_lost_peer_ends_what_was_promised),
    };

    return cmocka_run_group_tests_name("p2p_promise", tests, NULL, NULL);
}
