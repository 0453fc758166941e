/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

/* Entries, where data in pieces go one by one. */
#define PIECES (IMPI_TX_IOV + 4)

uint32_t net_random(struct net *net, uint32_t below)
{
    net->random ^= net->random << 13;
    net->random ^= net->random >> 7;
    net->random ^= net->random << 17;
    return (uint32_t)((net->random >> 32) * below >> 32);
}

static enum impi_claim claim(void *arg, struct impi_request *recv)
{
    struct net_proc *proc = arg;

    proc->claims++;
    if (proc->later)
        return IMPI_CLAIM_LATER;
    if (proc->deny == 0)
        return IMPI_CLAIM_OURS;
    proc->deny--;
    proc->denied = recv;
    return IMPI_CLAIM_NATIVE;
}

static void stream_open(struct net_stream *s, size_t size)
{
    s->bytes = malloc(size);
    s->size = size;
    assert_non_null(s->bytes);
}

void net_connect(struct net *net, uint32_t a, uint32_t b)
{
    if (net->channel[a][b])
        return;
    net->channel[a][b] = impi_p2p_attach(net->p2p[a], b);
    assert_non_null(net->channel[a][b]);
    net->channel[b][a] = impi_p2p_attach(net->p2p[b], a);
    assert_non_null(net->channel[b][a]);
}

static void connect_now(void *arg, uint32_t peer)
{
    struct net_proc *proc = arg;

    net_connect(proc->net, proc->rank, peer);
}

const struct net_options net_three = {
    .nprocs = 3,
    .maxdatalen = 16,
    .ackmark = 2,
    .hiwater = 8,
    .capacity = 4000,
    .piece = 4000,
    .seed = 1,
};

struct net *net_create(const struct net_options *options)
{
    struct net *net = calloc(1, sizeof(*net));

    assert_non_null(net);
    assert_true(options->nprocs <= NET_PROCS);
    net->random = options->seed * 2654435761u + 88172645463325252u;
    net->piece = options->piece;
    net->apart = options->apart;
    net->max_out = options->places ? PIECES : IMPI_TX_IOV;
    net->max_in = options->places ? PIECES : IMPI_RX_IOV;
    assert_int_equal(impi_world_alloc(&net->world, 1, options->nprocs), 0);
    net->world.maxdatalen = options->maxdatalen;
    net->world.ackmark = options->ackmark;
    net->world.hiwater = options->hiwater;
    if (options->extended)
        net->world.flags = IMPI_WORLD_EXTENDED;
    for (uint32_t i = 0; i < options->nprocs; i++) {
        net->world.procs[i].pid = 1000 + i;
        net->world.procs[i].hostid[15] = 1;
    }
    for (uint32_t i = 0; i < options->nprocs; i++) {
        net->procs[i] = (struct net_proc){.net = net, .rank = i};
        net->ops[i] =
            (struct impi_p2p_ops){.claim = claim, .connect = connect_now};
        net->p2p[i] =
            impi_p2p_create(&net->world, i, &net->ops[i], &net->procs[i]);
        assert_non_null(net->p2p[i]);
        for (uint32_t k = 0; k < options->nprocs; k++)
            stream_open(&net->stream[i][k], options->capacity);
    }
    return net;
}

void net_destroy(struct net *net)
{
    for (uint32_t i = 0; i < net->world.nprocs; i++) {
        impi_p2p_destroy(net->p2p[i]);
        for (uint32_t k = 0; k < net->world.nprocs; k++)
            free(net->stream[i][k].bytes);
    }
    impi_world_free(&net->world);
    free(net);
}

/* Cut the stream into packets again, without the engine's help. */
static void trace(struct net *net, uint32_t from, uint32_t to, const uint8_t *p,
                  size_t n)
{
    struct net_stream *s = &net->stream[from][to];

    while (n > 0) {
        size_t k = s->payload_left;

        if (k == 0) {
            struct net_traced *t;

            s->head[s->head_len++] = *p++;
            n--;
            if (s->head_len < IMPI_PACKET_SIZE)
                continue;
            s->head_len = 0;
            assert_true(net->ntrace < NET_TRACE);
            t = &net->trace[net->ntrace++];
            t->from = from;
            t->to = to;
            impi_packet_decode(&t->pk, s->head);
            s->payload_left = impi_packet_payload(&t->pk);
            continue;
        }
        k = k < n ? k : n;
        p += k;
        n -= k;
        s->payload_left -= k;
    }
}

static size_t move_out(struct net *net, uint32_t a, uint32_t b)
{
    struct net_stream *s = &net->stream[a][b];
    struct impi_channel *channel = net->channel[a][b];
    struct iovec iov[PIECES];
    int n = net->apart ? impi_channel_tx_apart(channel, iov, net->max_out)
                       : impi_channel_tx(channel, iov, net->max_out);
    size_t room = s->size - s->len, moved = 0;
    size_t want = 1 + net_random(net, (uint32_t)net->piece);

    if (s->closed)
        return 0;
    room = room < want ? room : want;
    for (int i = 0; i < n && room > 0; i++) {
        size_t k = iov[i].iov_len < room ? iov[i].iov_len : room;

        if (iov[i].iov_base)
            memcpy(s->bytes + s->len, iov[i].iov_base, k);
        else
            impi_channel_fetch(channel, s->bytes + s->len, k);
        s->len += k;
        room -= k;
        moved += k;
        if (net->trace_on)
            trace(net, a, b, s->bytes + s->len - k, k);
        if (k < iov[i].iov_len)
            break;
    }
    if (moved > 0)
        impi_channel_tx_done(channel, moved);
    return moved;
}

static size_t scatter(struct impi_channel *channel, const uint8_t *data,
                      size_t len, int max)
{
    struct iovec iov[PIECES];
    int n = impi_channel_rx(channel, iov, max);
    size_t moved = 0;

    for (int i = 0; i < n && moved < len; i++) {
        size_t k = len - moved;

        k = k < iov[i].iov_len ? k : iov[i].iov_len;
        memcpy(iov[i].iov_base, data + moved, k);
        moved += k;
    }
    return moved;
}

static size_t give(struct impi_channel *channel, const uint8_t *data,
                   size_t len)
{
    size_t want = impi_channel_rx_apart(channel);

    if (len > want)
        len = want;
    if (len > 0)
        impi_channel_give(channel, data, len);
    return len;
}

static size_t move_in(struct net *net, uint32_t a, uint32_t b)
{
    struct net_stream *s = &net->stream[b][a];
    struct impi_channel *channel = net->channel[a][b];
    size_t want = 1 + net_random(net, (uint32_t)net->piece);
    size_t moved;

    if (s->len == 0 || impi_channel_failed(channel))
        return 0;
    want = s->len < want ? s->len : want;
    moved = net->apart ? give(channel, s->bytes, want) : 0;
    if (moved == 0) {
        moved = scatter(channel, s->bytes, want, net->max_in);
        impi_channel_rx_done(channel, moved);
    }
    memmove(s->bytes, s->bytes + moved, s->len - moved);
    s->len -= moved;
    return moved;
}

size_t net_step(struct net *net)
{
    uint32_t n = net->world.nprocs, start = net_random(net, n);
    size_t moved = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = (start + i) % n;

        if (net->asleep[a])
            continue;
        for (uint32_t b = 0; b < n; b++) {
            if (!net->channel[a][b])
                continue;
            moved += move_out(net, a, b);
            moved += move_in(net, a, b);
        }
    }
    return moved;
}

void net_settle(struct net *net)
{
    while (net_step(net) > 0)
        ;
}

void net_wait(struct net *net, struct impi_request **reqs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (!reqs[i]->done) {
            if (net_step(net) == 0)
                fail_msg("request %zu of %zu never ends", i, n);
        }
    }
}

int net_inject(struct net *net, uint32_t a, uint32_t b, const void *data,
               size_t len)
{
    const uint8_t *p = data;

    while (len > 0) {
        size_t n = scatter(net->channel[a][b], p, len, net->max_in);

        if (impi_channel_rx_done(net->channel[a][b], n) < 0)
            return -1;
        p += n;
        len -= n;
    }
    return 0;
}

int net_inject_packet(struct net *net, uint32_t a, uint32_t b,
                      struct impi_packet pk, const void *data)
{
    uint8_t head[IMPI_PACKET_SIZE];

    impi_proc_encode(pk.src, net->world.procs[b].hostid,
                     net->world.procs[b].pid);
    impi_proc_encode(pk.dest, net->world.procs[a].hostid,
                     net->world.procs[a].pid);
    impi_packet_encode(head, &pk);
    if (net_inject(net, a, b, head, sizeof(head)) < 0)
        return -1;
    if (!data)
        return 0;
    return net_inject(net, a, b, data, impi_packet_payload(&pk));
}

bool net_take_packet(struct net *net, uint32_t a, uint32_t b,
                     struct impi_packet *pk)
{
    struct impi_channel *channel = net->channel[a][b];
    struct iovec iov[IMPI_TX_IOV];
    uint32_t left;

    if (impi_channel_tx(channel, iov, IMPI_TX_IOV) == 0)
        return false;
    assert_int_equal(iov[0].iov_len, IMPI_PACKET_SIZE);
    impi_packet_decode(pk, iov[0].iov_base);
    impi_channel_tx_done(channel, IMPI_PACKET_SIZE);
    for (left = impi_packet_payload(pk); left > 0;) {
        size_t n;

        assert_true(impi_channel_tx(channel, iov, IMPI_TX_IOV) > 0);
        n = iov[0].iov_len < left ? iov[0].iov_len : left;
        impi_channel_tx_done(channel, n);
        left -= (uint32_t)n;
    }
    return true;
}

void net_isend(struct net *net, uint32_t from, uint32_t to, int32_t tag,
               const void *data, size_t len, bool sync,
               struct impi_request *req)
{
    struct impi_send args = {
        .peer = to,
        .rank = (int32_t)from,
        .tag = tag,
        .sync = sync,
        .buf = {.base = (void *)(uintptr_t)data, .len = len},
    };

    impi_p2p_isend(net->p2p[from], req, &args);
}

void net_irecv(struct net *net, uint32_t at, uint32_t from, int32_t tag,
               void *data, size_t len, struct impi_request *req)
{
    struct impi_recv args = {
        .peer = from,
        .rank = from == IMPI_ANY_PEER ? 0 : (int32_t)from,
        .tag = tag,
        .buf = {.base = data, .len = len},
    };

    impi_p2p_irecv(net->p2p[at], req, &args);
}
