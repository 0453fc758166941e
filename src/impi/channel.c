/* SPDX-License-Identifier: BSD-3-Clause
 * Channels: their life, and the bytes that come.  See tx.c for those that go.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/p2p_impl.h"

/* Read no more than a header behind a large packet: the payload after it is
 * large, too, most likely, and shall not be copied. */
#define LARGE (16384 + 1)
#define STAGE_SMALL IMPI_PACKET_SIZE
#define STAGE_NORMAL (16384 + 2 * IMPI_PACKET_SIZE)

static int add_pair(struct impi_channel *channel, struct impi_pair *pair)
{
    struct impi_pair **pairs;

    pairs = realloc(channel->pairs,
                    (channel->npairs + 1) * sizeof(struct impi_pair *));
    if (!pairs)
        return -1;
    channel->pairs = pairs;
    pairs[channel->npairs++] = pair;
    channel->last_pair = pair;
    pair->channel = channel;
    return 0;
}

int impi_p2p_attach_more(struct impi_p2p *p2p, struct impi_channel *channel,
                         uint32_t peer)
{
    struct impi_pair *pair = p2p_pair(p2p, peer);

    if (!pair)
        return -1;
    if (pair->channel || pair->lost) {
        errno = EEXIST;
        return -1;
    }
    if (add_pair(channel, pair) < 0)
        return -1;
    pair_wake(pair);
    return 0;
}

struct impi_channel *impi_p2p_attach(struct impi_p2p *p2p, uint32_t peer)
{
    struct impi_channel *channel = calloc(1, sizeof(*channel));
    int saved;

    if (!channel)
        return NULL;
    channel->p2p = p2p;
    channel->culprit = IMPI_ANY_PEER;
    channel->stage_limit = STAGE_NORMAL;
    TAILQ_INIT(&channel->active);
    TAILQ_INSERT_TAIL(&p2p->channels, channel, link);
    channel->stage = malloc(STAGE_SIZE);
    if (channel->stage && impi_p2p_attach_more(p2p, channel, peer) == 0)
        return channel;
    saved = errno;
    impi_channel_destroy(channel);
    errno = saved;
    return NULL;
}

struct impi_channel *impi_p2p_channel(struct impi_p2p *p2p, uint32_t peer)
{
    return p2p->pairs[peer] ? p2p->pairs[peer]->channel : NULL;
}

void impi_channel_destroy(struct impi_channel *channel)
{
    if (!channel)
        return;
    impi_channel_fail(channel, "the channel is closed");
    for (uint32_t i = 0; i < channel->npairs; i++)
        channel->pairs[i]->channel = NULL;
    TAILQ_REMOVE(&channel->p2p->channels, channel, link);
    free(channel->pairs);
    free(channel->scratch);
    free(channel->stage);
    free(channel);
}

void impi_channel_fail(struct impi_channel *channel, const char *why)
{
    if (channel->failed)
        return;
    channel->failed = true;
    channel->p2p->unsent -= channel->count;
    channel->count = 0;
    channel->rx_req = NULL;
    channel->rx_unexpected = NULL;
    channel->left = 0;
    if (channel->npairs == 1)
        errprintf(&channel->error, "rank %u: %s", channel->pairs[0]->peer, why);
    else
        errprintf(&channel->error, "%u ranks: %s", channel->npairs, why);
    for (uint32_t i = 0; i < channel->npairs; i++)
        pair_fail(channel->pairs[i], why);
}

bool impi_channel_failed(const struct impi_channel *channel)
{
    return channel->failed;
}

const char *impi_channel_error(const struct impi_channel *channel)
{
    return channel->error.text;
}

uint32_t impi_channel_culprit(const struct impi_channel *channel)
{
    return channel->culprit;
}

bool impi_channel_peer_fini(const struct impi_channel *channel)
{
    return channel->fini_received;
}

/* ---- rx ---- */

bool impi_channel_awaited(const struct impi_channel *channel)
{
    const struct impi_pair *pair = channel->pairs[0];

    return channel->npairs != 1 || channel->left > 0 ||
           channel->stage_len > 0 || !TAILQ_EMPTY(&pair->posted) ||
           !TAILQ_EMPTY(&pair->matched) || !TAILQ_EMPTY(&pair->waiting) ||
           !TAILQ_EMPTY(&channel->p2p->posted_any) || !pair_is_quiet(pair);
}

/* Memory that takes the next payload bytes without a copy; NULL: none. */
static uint8_t *direct_room(struct impi_channel *channel, size_t *room)
{
    struct impi_unexpected *u = channel->rx_unexpected;
    struct impi_request *req = channel->rx_req;
    uint64_t left = channel->left;

    if (u) {
        *room = left;
        return u->data + u->have;
    }
    if (!req || !req->buf.base || req->moved >= req->buf.len)
        return NULL;
    if (left > req->buf.len - req->moved)
        left = req->buf.len - req->moved;
    *room = left;
    return (uint8_t *)req->buf.base + req->moved;
}

int impi_channel_rx(struct impi_channel *channel, struct iovec *iov, int max)
{
    size_t limit = channel->stage_limit;
    uint8_t *room = NULL;
    int n = 0;

    channel->direct = 0;
    if (channel->left > 0 && channel->stage_len == 0) {
        room = direct_room(channel, &channel->direct);
        if (!room)
            limit = STAGE_SIZE;
    }
    if (room) {
        iov[n++] = (struct iovec){room, channel->direct};
        if (n == max)
            return n;
    }
    if (limit < channel->stage_len + IMPI_PACKET_SIZE)
        limit = channel->stage_len + IMPI_PACKET_SIZE;
    iov[n++] = (struct iovec){channel->stage + channel->stage_len,
                              limit - channel->stage_len};
    return n;
}

/* n payload bytes at data (NULL: already in place). */
static void take_payload(struct impi_channel *channel, uint8_t *data, size_t n)
{
    struct impi_unexpected *u = channel->rx_unexpected;
    struct impi_request *req = channel->rx_req;

    channel->left -= (uint32_t)n;
    if (u) {
        if (data)
            memcpy(u->data + u->have, data, n);
        u->have += (uint32_t)n;
    } else if (req && data) {
        recv_bytes(req, data, n);
    } else if (req) {
        req->moved += n;
    }
    if (channel->left == 0)
        deliver_payload_end(channel);
}

/* Whose packet it is, by its own word. */
static uint32_t sender(const struct impi_channel *channel,
                       const struct impi_packet *pk)
{
    for (uint32_t i = 0; i < channel->npairs; i++)
        if (channel->npairs == 1 ||
            memcmp(channel->pairs[i]->proc, pk->src, IMPI_PROC_SIZE) == 0)
            return channel->pairs[i]->peer;
    return IMPI_ANY_PEER;
}

static int take_header(struct impi_channel *channel, const uint8_t *head)
{
    struct impi_packet pk;
    struct errbuf err;
    int saved;

    impi_packet_decode(&pk, head);
    if (deliver_packet(channel, &pk, &err) < 0) {
        saved = errno;
        if (saved == EPROTO)
            channel->culprit = sender(channel, &pk);
        impi_channel_fail(channel, err.text);
        errno = saved;
        return -1;
    }
    channel->stage_limit =
        impi_packet_payload(&pk) >= LARGE ? STAGE_SMALL : STAGE_NORMAL;
    if (channel->left == 0)
        deliver_payload_end(channel);
    return 0;
}

/* Work through what is staged; what is left is part of a header. */
static int take_stage(struct impi_channel *channel)
{
    uint8_t *at = channel->stage;
    size_t left = channel->stage_len;

    while (left > 0) {
        size_t n = IMPI_PACKET_SIZE;

        if (channel->left > 0) {
            n = left < channel->left ? left : channel->left;
            take_payload(channel, at, n);
        } else if (left < n) {
            break;
        } else if (take_header(channel, at) < 0) {
            return -1;
        }
        at += n;
        left -= n;
    }
    if (left > 0 && at != channel->stage)
        memmove(channel->stage, at, left);
    channel->stage_len = left;
    return 0;
}

static int end_of_file(struct impi_channel *channel)
{
    if (channel->fini_received)
        return 0;
    impi_channel_fail(channel, "ended without taking leave");
    errno = ECONNRESET;
    return -1;
}

int impi_channel_rx_done(struct impi_channel *channel, size_t n)
{
    size_t direct = n < channel->direct ? n : channel->direct;

    if (channel->failed) {
        errno = ECONNRESET;
        return -1;
    }
    if (n == 0)
        return end_of_file(channel);
    channel->direct = 0;
    if (direct > 0)
        take_payload(channel, NULL, direct);
    channel->stage_len += n - direct;
    assert(channel->stage_len <= STAGE_SIZE);
    return take_stage(channel);
}
