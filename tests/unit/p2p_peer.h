/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The message engine is rank 0, the test plays rank 1 packet by packet.
 */
#ifndef SF_TESTS_P2P_PEER_H
#define SF_TESTS_P2P_PEER_H

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

static inline struct net *open_net(void)
{
    struct net *net = net_create(&two);

    net_connect(net, 0, 1);
    return net;
}

/* What rank 1 says to the engine. */
static inline int say(struct net *net, struct impi_packet pk, const void *data)
{
    return net_inject_packet(net, 0, 1, pk, data);
}

/* The next packet that the engine says must be of this type. */
static inline struct impi_packet hear(struct net *net, uint32_t type)
{
    struct impi_packet pk;

    do {
        assert_true(net_take_packet(net, 0, 1, &pk));
    } while (pk.type == IMPI_PK_PROTOACK && type != IMPI_PK_PROTOACK);
    assert_int_equal(pk.type, type);
    return pk;
}

static inline void silent(struct net *net)
{
    struct impi_packet pk;

    while (net_take_packet(net, 0, 1, &pk))
        assert_int_equal(pk.type, IMPI_PK_PROTOACK);
}

static inline void ack(struct net *net)
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

/* The channel fails with that text, and a request to the peer with it; other
 * peers are not touched. */
static inline void check_caught(struct net *net, struct impi_packet pk,
                                const void *data, const char *text)
{
    struct impi_request posted, other;
    char in[2][8];
    const char *error;

    net_irecv(net, 0, 1, 1000, in[0], 8, &posted);
    net_irecv(net, 0, 2, 1000, in[1], 8, &other);
    assert_int_equal(say(net, pk, data), -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(impi_channel_culprit(net->channel[0][1]), 1);
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

#endif
