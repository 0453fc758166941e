/* SPDX-License-Identifier: BSD-3-Clause
 * Channels: the bytes that go.  A ring of packets is handed out at a time;
 * contiguous data lie in the users' buffers, converted data of the first
 * packet in a scratch buffer that is filled piece by piece.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "impi/p2p_impl.h"

static struct tx_item *item_at(struct impi_channel *channel, unsigned i)
{
    return &channel->items[(channel->head + i) % TX_ITEMS];
}

bool impi_channel_tx_ready(const struct impi_channel *channel)
{
    if (channel->failed)
        return false;
    return channel->count > 0 || !TAILQ_EMPTY(&channel->active) ||
           (channel->fini_wanted && !channel->fini_sent);
}

static void retire_pair(struct impi_channel *channel, struct impi_pair *pair)
{
    TAILQ_REMOVE(&channel->active, pair, link);
    pair->active = false;
    channel->p2p->unsent--;
}

/* Put the next packet of the next pair into *item. */
static bool next_packet(struct impi_channel *channel, struct tx_item *item)
{
    struct impi_pair *pair;

    while ((pair = TAILQ_FIRST(&channel->active))) {
        bool got = pair_next_packet(pair, item);

        if (!got || !pair_can_send(pair)) {
            retire_pair(channel, pair);
        } else if (channel->npairs > 1) {
            TAILQ_REMOVE(&channel->active, pair, link);
            TAILQ_INSERT_TAIL(&channel->active, pair, link);
        }
        if (got)
            return true;
    }
    return false;
}

static bool all_quiet(const struct impi_channel *channel)
{
    for (uint32_t i = 0; i < channel->npairs; i++) {
        if (!pair_is_quiet(channel->pairs[i]))
            return false;
    }
    return true;
}

static bool fini_packet(struct impi_channel *channel, struct tx_item *item)
{
    struct impi_packet pk = {.type = IMPI_PK_FINI};

    if (!channel->fini_wanted || channel->fini_sent || !all_quiet(channel))
        return false;
    packet_seen(channel->p2p, channel->pairs[0]->peer, false, &pk);
    impi_packet_encode(item->head, &pk);
    item->req = NULL;
    item->len = 0;
    channel->fini_sent = true;
    return true;
}

static bool converted(const struct tx_item *item)
{
    return item->len > 0 && !item->data;
}

/* Fill the ring up to about TX_BYTES. */
static void fill_ring(struct impi_channel *channel)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < channel->count; i++)
        bytes += IMPI_PACKET_SIZE + item_at(channel, i)->len;
    while (channel->count < TX_ITEMS && bytes < TX_BYTES) {
        struct tx_item *item = item_at(channel, channel->count);

        if (!next_packet(channel, item) && !fini_packet(channel, item))
            return;
        channel->count++;
        channel->p2p->unsent++;
        bytes += IMPI_PACKET_SIZE + item->len;
    }
}

/* Make the data of the item from `done` on available in the scratch. */
static bool fill_scratch(struct impi_channel *channel, struct tx_item *item,
                         uint64_t done)
{
    uint64_t left = item->len - done;
    struct impi_buffer *buf = &item->req->buf;

    if (channel->scratch_len > 0 && done >= channel->scratch_from &&
        done - channel->scratch_from < channel->scratch_len)
        return true;
    if (!channel->scratch)
        channel->scratch = malloc(SCRATCH_SIZE);
    if (!channel->scratch) {
        impi_channel_fail(channel, "out of memory for its messages");
        return false;
    }
    if (left > SCRATCH_SIZE)
        left = SCRATCH_SIZE;
    if (buf->move(buf->arg, item->off + done, channel->scratch, left) < 0) {
        memset(channel->scratch, 0, left);
        item->req->status.error = IMPI_ERR_CONVERT;
    }
    channel->scratch_from = done;
    channel->scratch_len = (uint32_t)left;
    return true;
}

/* The next bytes of the item's payload from `done` on; 0: not yet. */
static size_t payload(struct impi_channel *channel, struct tx_item *item,
                      uint64_t done, struct iovec *iov)
{
    uint64_t off;

    if (!converted(item)) {
        *iov = (struct iovec){(void *)(uintptr_t)(item->data + done),
                              item->len - done};
        return iov->iov_len;
    }
    if (item != item_at(channel, 0) || !fill_scratch(channel, item, done))
        return 0;
    off = done - channel->scratch_from;
    *iov = (struct iovec){channel->scratch + off, channel->scratch_len - off};
    return iov->iov_len;
}

/* Up to two entries for what is left of the item; *whole: all of it. */
static int item_iov(struct impi_channel *channel, struct tx_item *item,
                    uint64_t done, struct iovec *iov, bool *whole)
{
    int n = 0;

    *whole = true;
    if (done < IMPI_PACKET_SIZE) {
        iov[n++] = (struct iovec){item->head + done, IMPI_PACKET_SIZE - done};
        done = IMPI_PACKET_SIZE;
    }
    done -= IMPI_PACKET_SIZE;
    if (done < item->len) {
        size_t len = payload(channel, item, done, &iov[n]);

        if (len > 0)
            n++;
        *whole = len == item->len - done;
    }
    return n;
}

int impi_channel_tx(struct impi_channel *channel, struct iovec *iov, int max)
{
    size_t bytes = 0;
    bool whole = true;
    int n = 0;

    if (channel->failed)
        return 0;
    fill_ring(channel);
    for (unsigned i = 0; i < channel->count && whole && n + 2 <= max; i++) {
        uint64_t done = i == 0 ? channel->tx_sent : 0;
        int first = n;

        n += item_iov(channel, item_at(channel, i), done, &iov[n], &whole);
        for (int k = first; k < n; k++) {
            if (iov[k].iov_len > TX_BYTES - bytes) {
                iov[k].iov_len = TX_BYTES - bytes;
                return k + (iov[k].iov_len > 0);
            }
            bytes += iov[k].iov_len;
        }
    }
    return channel->failed ? 0 : n;
}

void impi_channel_tx_done(struct impi_channel *channel, size_t n)
{
    uint64_t sent = channel->tx_sent + n;

    if (channel->failed)
        return;
    while (channel->count > 0) {
        struct tx_item *item = item_at(channel, 0);
        uint64_t size = (uint64_t)IMPI_PACKET_SIZE + item->len;

        if (sent < size)
            break;
        sent -= size;
        channel->head = (channel->head + 1) % TX_ITEMS;
        channel->count--;
        channel->p2p->unsent--;
        channel->scratch_len = 0;
        if (item->req)
            send_written(channel->p2p, item->req);
    }
    assert(channel->count > 0 || sent == 0);
    channel->tx_sent = sent;
}

void impi_channel_fini(struct impi_channel *channel)
{
    channel->fini_wanted = true;
}

bool impi_channel_finished(const struct impi_channel *channel)
{
    return channel->fini_sent && channel->fini_received &&
           channel->count == 0 && TAILQ_EMPTY(&channel->active);
}
