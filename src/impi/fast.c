/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/fast.h"

#include <endian.h>
#include <string.h>

#include "impi/p2p_impl.h"

static void show(const struct impi_pair *pair, bool in, const void *wire)
{
    struct impi_packet pk;

    if (!pair->p2p->ops->packet)
        return;
    impi_packet_decode(&pk, wire);
    packet_seen(pair->p2p, pair->peer, in, &pk);
}

/* ---- out ---- */

/* Nothing comes before a new packet, and nobody waits for its like.  Below
 * half of the credit a first packet is not cut (channel.c). */
static bool may_send(const struct impi_channel *channel,
                     const struct impi_pair *pair)
{
    return channel->npairs == 1 && !channel->failed && channel->count == 0 &&
           !channel->fini_wanted && !pair->active && !pair->lost &&
           pair->sent < channel->p2p->hiwater / 2 && pair_is_quiet(pair);
}

/* Most messages are like the one before.  What stays is not written: the ring
 * reads words of 8 bytes next, and a load waits long for two shorter stores. */
static inline void put32(uint32_t *field, uint32_t value)
{
    if (*field != value)
        *field = value;
}

const void *impi_fast_send(struct impi_channel *channel,
                           const struct impi_send *args)
{
    struct impi_p2p *p2p = channel->p2p;
    struct impi_pair *pair = channel->pairs[0];
    struct impi_packet *pk = &pair->fast;

    if (!may_send(channel, pair) || pair->peer != args->peer ||
        args->buf.len > p2p->first_max)
        return NULL;
    put32(&pk->len, htobe32((uint32_t)args->buf.len));
    pk->srqid = htobe64(SHORT_SEND_ID | (p2p->send_number + 1));
    pk->msglen = htobe64(args->buf.len);
    put32((uint32_t *)&pk->lsrank, htobe32((uint32_t)args->rank));
    put32((uint32_t *)&pk->tag, htobe32((uint32_t)args->tag));
    pk->cid = htobe64(args->cid);
    pk->seqnum = htobe64(pair->seqnum + 1);
    pk->count = (int64_t)htobe64(args->count);
    return pk;
}

void impi_fast_sent(struct impi_channel *channel, size_t len)
{
    struct impi_p2p *p2p = channel->p2p;
    struct impi_pair *pair = channel->pairs[0];

    p2p->send_number++;
    p2p->stats.packets_sent++;
    pair->seqnum++;
    pair->sent++;
    pair->stalled = false;
    pair->stats.messages_out++;
    pair->stats.bytes_out += len;
    show(pair, false, &pair->fast);
}

/* ---- in ---- */

bool impi_fast_is_free(const struct impi_channel *channel,
                       const struct impi_recv *want)
{
    const struct impi_p2p *p2p = channel->p2p;
    const struct impi_pair *pair = channel->pairs[0];

    return channel->npairs == 1 && !channel->failed && channel->left == 0 &&
           channel->stage_len == 0 && TAILQ_EMPTY(&pair->posted) &&
           TAILQ_EMPTY(&p2p->posted_any) && TAILQ_EMPTY(&pair->unexpected) &&
           (want->peer == pair->peer ||
            (want->peer == IMPI_ANY_PEER && TAILQ_EMPTY(&p2p->unexpected)));
}

static inline uint64_t word(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return w;
}

/* What differs between two IMPI_Procs, 0 if nothing.  In words: they are too
 * short for a call. */
static inline uint64_t difference(const uint8_t *a, const uint8_t *b)
{
    return (word(a) ^ word(b)) | (word(a + 8) ^ word(b + 8)) |
           (word(a + 16) ^ word(b + 16));
}
_Static_assert(IMPI_PROC_SIZE == 24, "three words");

/* All that channel.c asks of a first packet, and that it is the last. */
static bool is_whole(const struct impi_channel *channel,
                     const struct impi_packet *pk, size_t len)
{
    const struct impi_p2p *p2p = channel->p2p;
    const struct impi_pair *pair = channel->pairs[0];

    return pk->type == htobe32(IMPI_PK_DATA) &&
           pk->len == htobe32((uint32_t)len) && pk->msglen == htobe64(len) &&
           len <= p2p->maxdatalen && pair->arrived < p2p->hiwater &&
           !channel->fini_received &&
           (difference(pk->src, pair->proc) |
            difference(pk->dest, pair->fast.src)) == 0;
}

bool impi_fast_take(struct impi_channel *channel, const void *head, size_t len,
                    const struct impi_recv *want, struct impi_status *status)
{
    struct impi_pair *pair = channel->pairs[0];
    const struct impi_packet *pk = head;
    int32_t tag = (int32_t)be32toh((uint32_t)pk->tag);
    int32_t rank = (int32_t)be32toh((uint32_t)pk->lsrank);

    if (pk->cid != htobe64(want->cid) || !tag_fits(want->tag, tag) ||
        len > want->buf.len || !is_whole(channel, pk, len))
        return false;
    show(pair, true, head);
    pair->arrived++;
    pair->p2p->stats.packets_received++;
    pair->stats.messages_in++;
    pair->stats.bytes_in += len;
    pair_received(pair);
    *status = (struct impi_status){
        .source = want->peer == IMPI_ANY_PEER ? rank : want->rank,
        .tag = tag,
        .bytes = len,
        .msglen = len,
    };
    return true;
}
