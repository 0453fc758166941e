/* SPDX-License-Identifier: BSD-3-Clause
 * What each arriving packet does (3.5 to 3.8).  Nothing of it is believed:
 * a peer that lies loses its channel and nothing else.
 */
#include <errno.h>
#include <string.h>

#include "impi/p2p_impl.h"

static int broken(struct errbuf *err, const char *text)
{
    errprintf(err, "%s", text);
    errno = EPROTO;
    return -1;
}

static int no_memory(struct errbuf *err)
{
    errprintf(err, "out of memory for its messages");
    errno = ENOMEM;
    return -1;
}

void pair_acknowledge(struct impi_pair *pair)
{
    pair->received = 0;
    pair->arrived -= pair->p2p->ackmark;
    if (pair->lost)
        return;
    pair->acks_due++;
    pair_wake(pair);
}

int pair_answer(struct impi_pair *pair, uint32_t type, uint64_t srqid,
                uint64_t drqid)
{
    struct control *control;

    if (pair->ncontrols >= SF_IMPI_CONTROLS_MAX)
        return -1;
    control = impi_pool_get(&pair->p2p->control_pool);
    if (!control)
        return -1;
    *control = (struct control){.type = type, .srqid = srqid, .drqid = drqid};
    TAILQ_INSERT_TAIL(&pair->controls, control, link);
    pair->ncontrols++;
    pair_wake(pair);
    return 0;
}

static struct impi_pair *find_pair(struct impi_channel *channel,
                                   const uint8_t src[IMPI_PROC_SIZE])
{
    if (memcmp(channel->last_pair->proc, src, IMPI_PROC_SIZE) == 0)
        return channel->last_pair;
    for (uint32_t i = 0; i < channel->npairs; i++) {
        if (memcmp(channel->pairs[i]->proc, src, IMPI_PROC_SIZE) == 0) {
            channel->last_pair = channel->pairs[i];
            return channel->last_pair;
        }
    }
    return NULL;
}

static int protoack(struct impi_pair *pair, struct errbuf *err)
{
    if (pair->sent < pair->p2p->ackmark)
        return broken(err, "acknowledges packets that were never sent");
    pair->sent -= pair->p2p->ackmark;
    pair->p2p->stats.protoacks_received++;
    pair_wake(pair);
    return 0;
}

/* Does the sender get its credit back although nobody received it yet? */
static bool acknowledge_early(const struct impi_pair *pair,
                              const struct impi_packet *pk)
{
    size_t max = pair->p2p->unexpected_max;

    return pair->unexpected_mem <= max ||
           (pk->len <= MODEST && pair->unexpected_mem / MODEST_FACTOR < max);
}

/* Keep it, and let the sender go on while that takes little memory. */
static int first_unexpected(struct impi_channel *channel,
                            struct impi_pair *pair,
                            const struct impi_packet *pk, bool later,
                            struct errbuf *err)
{
    struct impi_unexpected *u;

    if (channel->fini_wanted) { /* nobody will ever receive it */
        pair_received(pair);
        return 0;
    }
    u = unexpected_add(pair, pk);
    if (!u)
        return no_memory(err);
    if (later)
        unexpected_later(u);
    channel->rx_unexpected = u;
    if (acknowledge_early(pair, pk)) {
        u->received = true;
        pair_received(pair);
    }
    return 0;
}

static int first_data(struct impi_channel *channel, struct impi_pair *pair,
                      const struct impi_packet *pk, struct errbuf *err)
{
    bool later = false;
    struct impi_request *req = match_posted(pair, pk->cid, pk->tag, &later);

    if (!req)
        return first_unexpected(channel, pair, pk, later, err);
    pair_received(pair);
    if (recv_begin(pair, req, pk->lsrank, pk->tag, pk->msglen, pk->srqid,
                   pk->type == IMPI_PK_DATASYNC) < 0)
        return no_memory(err);
    channel->rx_req = req;
    return 0;
}

static int rest_data(struct impi_channel *channel, struct impi_pair *pair,
                     const struct impi_packet *pk, struct errbuf *err)
{
    struct impi_request *req = impi_slots_find(&pair->p2p->slots, pk->drqid);

    if (!req || req->is_send || req->pair != pair)
        return broken(err, "sends data for a request that does not exist");
    if (pk->len > req->msglen - req->moved)
        return broken(err, "sends more data than the message has");
    channel->rx_req = req;
    pair_received(pair);
    return 0;
}

static bool is_swapped(const struct impi_p2p *p2p, const struct impi_packet *pk)
{
    return impi_packet_is_swapped(pk, p2p->maxdatalen, p2p->nprocs);
}

static int data(struct impi_channel *channel, struct impi_pair *pair,
                const struct impi_packet *pk, struct errbuf *err)
{
    if (is_swapped(pair->p2p, pk))
        return broken(err, IMPI_PACKET_SWAPPED);
    if (pk->len > pair->p2p->maxdatalen)
        return broken(err, "sends a packet longer than maxdatalen");
    if (pk->len > pk->msglen)
        return broken(err, "sends a packet longer than its message");
    channel->left = pk->len;
    pair->stats.bytes_in += pk->len;
    if (pk->type == IMPI_PK_DATA && pk->len < pk->msglen)
        return rest_data(channel, pair, pk, err);
    pair->stats.messages_in++;
    return first_data(channel, pair, pk, err);
}

/* 3.7.4: what is still buffered is destroyed, the newest of that id. */
static int cancel(struct impi_pair *pair, uint64_t srqid, struct errbuf *err)
{
    uint32_t answer = IMPI_PK_CANCELNO;
    struct impi_unexpected *u;

    pair_received(pair);
    TAILQ_FOREACH_REVERSE(u, &pair->unexpected, unexpected_list, of_pair)
    {
        if (u->srqid != srqid)
            continue;
        if (!u->received)
            pair_received(pair);
        unexpected_drop(u);
        answer = IMPI_PK_CANCELYES;
        break;
    }
    return pair_answer(pair, answer, srqid, 0) < 0 ? no_memory(err) : 0;
}

static int cancel_reply(struct impi_pair *pair, const struct impi_packet *pk,
                        struct errbuf *err)
{
    const char *wrong;

    pair_received(pair);
    wrong = send_cancel_reply(pair, pk->srqid, pk->type == IMPI_PK_CANCELYES);
    return wrong ? broken(err, wrong) : 0;
}

static int syncack(struct impi_pair *pair, const struct impi_packet *pk,
                   struct errbuf *err)
{
    pair_received(pair);
    if (send_matched(pair, pk->srqid, pk->drqid) < 0)
        return broken(err, "acknowledges a message that does not wait for it");
    return 0;
}

static int fini(struct impi_channel *channel, const struct impi_packet *pk,
                struct errbuf *err)
{
    if (channel->fini_received)
        return broken(err, "ends the channel twice");
    channel->fini_received = true;
    packet_seen(channel->p2p, channel->pairs[0]->peer, true, pk);
    return 0;
}

/* Packets that count for flow control. */
static int counted(struct impi_channel *channel, struct impi_pair *pair,
                   const struct impi_packet *pk, struct errbuf *err)
{
    if (++pair->arrived > pair->p2p->hiwater)
        return broken(err, "sends more packets than hiwater allows");
    pair->p2p->stats.packets_received++;
    switch (pk->type) {
    case IMPI_PK_DATA:
    case IMPI_PK_DATASYNC:
        if (channel->fini_received)
            return broken(err, "sends data after its FINI");
        return data(channel, pair, pk, err);
    case IMPI_PK_SYNCACK:
        return syncack(pair, pk, err);
    case IMPI_PK_CANCEL:
        return cancel(pair, pk->srqid, err);
    default:
        return cancel_reply(pair, pk, err);
    }
}

int deliver_packet(struct impi_channel *channel, const struct impi_packet *pk,
                   struct errbuf *err)
{
    struct impi_p2p *p2p = channel->p2p;
    struct impi_pair *pair;

    if (pk->type == IMPI_PK_FINI)
        return fini(channel, pk, err);
    if (pk->type > IMPI_PK_FINI && is_swapped(p2p, pk))
        return broken(err, IMPI_PACKET_SWAPPED);
    if (pk->type > IMPI_PK_FINI) {
        errprintf(err, "sends a packet of the unknown type %u", pk->type);
        errno = EPROTO;
        return -1;
    }
    pair = find_pair(channel, pk->src);
    if (!pair)
        return broken(err, "sends for a process that is not behind it");
    if (memcmp(pk->dest, p2p->procs[p2p->rank], IMPI_PROC_SIZE) != 0)
        return broken(err, "sends a packet for another process");
    packet_seen(p2p, pair->peer, true, pk);
    if (impi_packet_is_old(pk) && p2p->ops->old)
        p2p->ops->old(p2p->arg, pair->peer);
    if (pk->type == IMPI_PK_PROTOACK)
        return protoack(pair, err);
    return counted(channel, pair, pk, err);
}

void deliver_payload_end(struct impi_channel *channel)
{
    struct impi_request *req = channel->rx_req;

    channel->rx_req = NULL;
    channel->rx_unexpected = NULL;
    if (req)
        recv_check_done(channel->p2p, req);
}
