/* SPDX-License-Identifier: BSD-3-Clause
 * Short messages without a request: the same on the wire and the same for
 * whoever comes after, and each reason to go the general way instead.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/fast.h"
#include "p2p_net.h"

#define HIWATER 8
#define ACKMARK 2
#define MAXDATALEN 16

static struct net *start(size_t piece, uint64_t seed)
{
    const struct net_options options = {.nprocs = 3,
                                        .maxdatalen = MAXDATALEN,
                                        .ackmark = ACKMARK,
                                        .hiwater = HIWATER,
                                        .capacity = 4000,
                                        .piece = piece,
                                        .seed = seed};
    struct net *net = net_create(&options);

    net_connect(net, 0, 1);
    net_connect(net, 0, 2);
    return net;
}

static struct impi_send out(uint32_t to, int32_t tag, const char *text)
{
    return (struct impi_send){
        .peer = to,
        .rank = 4,
        .tag = tag,
        .cid = 6,
        .count = 3,
        .buf = {.base = (void *)(uintptr_t)text, .len = strlen(text)}};
}

static struct impi_recv in(uint32_t from, int32_t tag, void *room, size_t len)
{
    return (struct impi_recv){.peer = from,
                              .rank = 5,
                              .tag = tag,
                              .cid = 6,
                              .buf = {.base = room, .len = len}};
}

/* ---- both ways, as the connections use them ---- */

static bool put(struct net *net, uint32_t a, const struct impi_send *args)
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
static bool take(struct net *net, uint32_t a, uint32_t b,
                 const struct impi_recv *want, struct impi_status *status)
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

/* ---- the good case ---- */

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
    const struct net_options options = {.nprocs = 3,
                                        .maxdatalen = MAXDATALEN,
                                        .ackmark = ACKMARK,
                                        .hiwater = HIWATER,
                                        .capacity = 4000,
                                        .piece = 4000};
    struct net *net = net_create(&options);
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

/* ---- mixed with all else ---- */

#define MIX 400
#define TAGS 3
#define AHEAD 5 /* else a queue builds up that nothing passes */

/* ---- who is waited for ---- */

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

/* ---- who watches ---- */

/* Packets from 0 to 1, as either end shows them. */
static struct {
    unsigned out, in;
    char text[8 * MIX][200];
} seen;

static void watch_out(void *arg, uint32_t peer, bool comes,
                      const struct impi_packet *pk)
{
    if (comes || peer != 1)
        return;
    assert_in_range(seen.out, 0, 8 * MIX - 1);
    impi_packet_format(seen.text[seen.out++], sizeof(seen.text[0]), pk);
}

static void watch_in(void *arg, uint32_t peer, bool comes,
                     const struct impi_packet *pk)
{
    char text[200];

    if (!comes || peer != 0)
        return;
    impi_packet_format(text, sizeof(text), pk);
    assert_in_range(seen.in, 0, seen.out - 1);
    assert_string_equal(text, seen.text[seen.in++]);
}

static void watch(struct net *net)
{
    seen.out = seen.in = 0;
    net->ops[0].packet = watch_out;
    net->ops[1].packet = watch_in;
}

struct mix {
    struct net *net;
    struct impi_request send[MIX];
    uint32_t text[MIX];
    unsigned sent, next[TAGS], puts, takes;
};

static void send_one(struct mix *m)
{
    unsigned i = m->sent++;
    struct impi_send args = {.peer = 1,
                             .tag = (int32_t)net_random(m->net, TAGS),
                             .cid = 6,
                             .sync = net_random(m->net, 8) == 0,
                             .buf = {.base = &m->text[i], .len = 4}};

    m->text[i] = (uint32_t)args.tag << 16 | m->next[args.tag]++;
    if (!args.sync && net_random(m->net, 2) && put(m->net, 0, &args))
        m->puts++;
    else
        impi_p2p_isend(m->net->p2p[0], &m->send[i], &args);
}

static uint32_t receive_one(struct mix *m, int32_t tag)
{
    struct impi_request req, *p = &req;
    struct impi_status st;
    uint32_t got = 0;
    struct impi_recv want = in(0, tag, &got, 4);

    if (net_random(m->net, 2) && take(m->net, 1, 0, &want, &st)) {
        m->takes++;
        return got;
    }
    impi_p2p_irecv(m->net->p2p[1], &req, &want);
    net_wait(m->net, &p, 1);
    return got;
}

/* Each tag's messages come in their order, whichever way each end takes, and
 * each packet is shown once at both ends. */
static void order_stays_in_any_mix(void **state)
{
    unsigned puts = 0, takes = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        static struct mix m;
        unsigned want[TAGS] = {0}, got = 0;

        m = (struct mix){.net = start(200, seed)};
        watch(m.net);
        impi_p2p_set_unexpected_max(m.net->p2p[1], 1000000);
        while (got < MIX) {
            uint32_t tag = net_random(m.net, TAGS);

            if (m.sent < MIX && m.sent < got + AHEAD &&
                net_random(m.net, 5) < 3)
                send_one(&m);
            else if (want[tag] < m.next[tag]) {
                assert_int_equal(receive_one(&m, (int32_t)tag),
                                 tag << 16 | want[tag]);
                want[tag]++;
                got++;
            } else if (net_random(m.net, 8) == 0)
                net_settle(m.net);
        }
        puts += m.puts;
        takes += m.takes;
        net_settle(m.net);
        assert_true(seen.out >= MIX);
        assert_int_equal(seen.in, seen.out);
        net_destroy(m.net);
    }
    if (puts < 5000 || takes < 300)
        fail_msg("shows nothing: %u sent and %u received so", puts, takes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_the_engines),
        cmocka_unit_test(request_of_one_may_be_cancelled),
        cmocka_unit_test(message_goes_straight_from_end_to_end),
        cmocka_unit_test(credit_comes_back),
        cmocka_unit_test(part_is_ended_by_the_engine),
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
        cmocka_unit_test(only_channels_with_something_to_come_are_awaited),
        cmocka_unit_test(order_stays_in_any_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
