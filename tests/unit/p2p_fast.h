/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages without a request, on the streams of p2p_net.h: each end as
 * the connections use it.
 */
#ifndef SF_TESTS_P2P_FAST_H
#define SF_TESTS_P2P_FAST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/fast.h"
#include "p2p_net.h"

/* As net_three has them. */
#define HIWATER 8
#define ACKMARK 2
#define MAXDATALEN 16

static inline struct net *start(size_t piece, uint64_t seed)
{
    struct net_options options = net_three;
    struct net *net;

    options.piece = piece;
    options.seed = seed;
    net = net_create(&options);
    net_connect(net, 0, 1);
    net_connect(net, 0, 2);
    return net;
}

static inline struct impi_send out(uint32_t to, int32_t tag, const char *text)
{
    return (struct impi_send){
        .peer = to,
        .rank = 4,
        .tag = tag,
        .cid = 6,
        .count = 3,
        .buf = {.base = (void *)(uintptr_t)text, .len = strlen(text)}};
}

static inline struct impi_recv in(uint32_t from, int32_t tag, void *room,
                                  size_t len)
{
    return (struct impi_recv){.peer = from,
                              .rank = 5,
                              .tag = tag,
                              .cid = 6,
                              .buf = {.base = room, .len = len}};
}

static inline bool put(struct net *net, uint32_t a,
                       const struct impi_send *args)
{
    struct impi_channel *channel = net->channel[a][args->peer];
    struct net_stream *s = &net->stream[a][args->peer];
    const void *head = impi_fast_send(channel, args);

    if (!head || s->size - s->len < IMPI_PACKET_SIZE + args->buf.len)
        return false;
    memcpy(s->bytes + s->len, head, IMPI_PACKET_SIZE);
    s->len += IMPI_PACKET_SIZE;
    memcpy(s->bytes + s->len, args->buf.base, args->buf.len);
    s->len += args->buf.len;
    impi_fast_sent(channel, args->buf.len);
    return true;
}

/* The first packet of the stream from b, whose length is at `len`. */
static inline bool take(struct net *net, uint32_t a, uint32_t b,
                        const struct impi_recv *want,
                        struct impi_status *status)
{
    struct net_stream *s = &net->stream[b][a];
    struct impi_packet head, pk;
    size_t len;

    if (!impi_fast_is_free(net->channel[a][b], want) ||
        s->len < IMPI_PACKET_SIZE)
        return false;
    memcpy(&head, s->bytes, sizeof(head));
    impi_packet_decode(&pk, s->bytes);
    len = impi_packet_payload(&pk);
    if (s->len < sizeof(head) + len ||
        !impi_fast_take(net->channel[a][b], &head, len, want, status))
        return false;
    memcpy(want->buf.base, s->bytes + sizeof(head), len);
    s->len -= sizeof(head) + len;
    memmove(s->bytes, s->bytes + sizeof(head) + len, s->len);
    return true;
}

#endif
