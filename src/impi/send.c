/* SPDX-License-Identifier: BSD-3-Clause
 * Sends: from the call to the packets (3.6, 3.7.1, 3.7.2).
 */
#include <string.h>

#include "impi/fast.h"
#include "impi/p2p_impl.h"

/* Ends a send that could not start. */
static void send_refuse(struct impi_request *req, enum impi_error error)
{
    req->status.error = error;
    req->state = IMPI_REQ_DONE;
    req->done = true;
}

static void send_init(struct impi_request *req, const struct impi_send *args)
{
    request_init(req, args->rank, args->tag, args->cid, &args->buf);
    req->state = IMPI_REQ_QUEUED;
    req->is_send = true;
    req->sync = args->sync;
    req->shared = false;
    req->msglen = args->buf.len;
    req->order = args->count;
}

/* Is it answered by a SYNCACK? */
static bool send_waits(const struct impi_request *req)
{
    return !(req->id & SHORT_SEND_ID);
}

void impi_p2p_isend(struct impi_p2p *p2p, struct impi_request *req,
                    const struct impi_send *args)
{
    struct impi_pair *pair = p2p_pair(p2p, args->peer);

    send_init(req, args);
    if (!pair) {
        send_refuse(req, IMPI_ERR_MEMORY);
        return;
    }
    if (pair->lost || (pair->channel && pair->channel->fini_wanted)) {
        send_refuse(req, IMPI_ERR_PEER);
        return;
    }
    if (args->sync || args->buf.len > p2p->first_max)
        req->id = impi_slots_add(&p2p->slots, req);
    else
        req->id = SHORT_SEND_ID | ++p2p->send_number;
    if (!req->id) {
        send_refuse(req, IMPI_ERR_MEMORY);
        return;
    }
    req->pair = pair;
    p2p->pending++;
    TAILQ_INSERT_TAIL(&pair->first, req, link);
    pair_wake(pair);
}

void impi_fast_request(struct impi_p2p *p2p, struct impi_request *req,
                       const struct impi_send *args)
{
    send_init(req, args);
    req->id = SHORT_SEND_ID | p2p->send_number;
    req->pair = p2p->pairs[args->peer];
    req->moved = req->msglen;
    req->state = IMPI_REQ_DONE;
    req->done = true;
}

bool pair_can_send(const struct impi_pair *pair)
{
    if (pair->acks_due > 0)
        return true;
    return pair->sent < pair->p2p->hiwater && !pair_is_quiet(pair);
}

/* What item->pk needs besides. */
static void fill(struct impi_pair *pair, struct tx_item *item,
                 struct impi_request *req)
{
    struct impi_packet *pk = &item->pk;

    memcpy(pk->src, pair->p2p->procs[pair->p2p->rank], IMPI_PROC_SIZE);
    memcpy(pk->dest, pair->proc, IMPI_PROC_SIZE);
    pk->seqnum = ++pair->seqnum;
    item->req = req;
    item->len = impi_packet_payload(pk);
    packet_seen(pair->p2p, pair->peer, false, pk);
    impi_packet_to_wire(pk);
}

static void protoack_packet(struct impi_pair *pair, struct tx_item *item)
{
    item->pk = (struct impi_packet){.type = IMPI_PK_PROTOACK};
    pair->acks_due--;
    pair->p2p->stats.protoacks_sent++;
    fill(pair, item, NULL);
}

static void control_packet(struct impi_pair *pair, struct tx_item *item)
{
    struct control *control = TAILQ_FIRST(&pair->controls);

    item->pk = (struct impi_packet){
        .type = control->type,
        .srqid = control->srqid,
        .drqid = control->drqid,
    };
    TAILQ_REMOVE(&pair->controls, control, link);
    pair->ncontrols--;
    impi_pool_put(&pair->p2p->control_pool, control);
    fill(pair, item, NULL);
}

/* The next packet of a message: its first, or the next of the rest. */
static void data_packet(struct impi_pair *pair, struct tx_item *item,
                        struct impi_request *req, uint32_t type, uint32_t max)
{
    uint64_t len = req->msglen - req->moved;

    if (len > max)
        len = max;
    item->pk = (struct impi_packet){
        .type = type,
        .len = (uint32_t)len,
        .srqid = req->id,
        .drqid = req->peer_id,
        .msglen = req->msglen,
        .lsrank = req->rank,
        .tag = req->tag,
        .cid = req->cid,
        .count = (int64_t)req->order,
    };
    fill(pair, item, req);
    item->off = req->moved;
    item->data = req->buf.base;
    if (item->data)
        item->data += req->moved;
    pair->stats.bytes_out += len;
    req->moved += len;
    req->unwritten++;
}

/* The receiver is slow to take this pair's messages: send only a little of
 * the next one, and the rest when it has matched.  So a message that it does
 * wait for gets through behind any number of large ones. */
static uint32_t first_length(struct impi_pair *pair, struct impi_request *req)
{
    struct impi_p2p *p2p = pair->p2p;
    uint64_t id;

    if (!p2p->modest || req->msglen <= MODEST ||
        pair->sent < p2p->hiwater / 2 || p2p->first_max <= MODEST)
        return p2p->first_max;
    if (!send_waits(req)) {
        id = impi_slots_add(&p2p->slots, req);
        if (!id)
            return p2p->first_max;
        req->id = id;
    }
    return MODEST;
}

static void first_packet(struct impi_pair *pair, struct tx_item *item)
{
    struct impi_request *req = TAILQ_FIRST(&pair->first);
    uint32_t max = first_length(pair, req);
    bool waits = send_waits(req);

    pair->stats.messages_out++;
    TAILQ_REMOVE(&pair->first, req, link);
    TAILQ_INSERT_TAIL(&pair->waiting, req, link);
    data_packet(pair, item, req, waits ? IMPI_PK_DATASYNC : IMPI_PK_DATA, max);
    req->state = waits ? IMPI_REQ_SENT : IMPI_REQ_DRAINING;
}

static void rest_packet(struct impi_pair *pair, struct tx_item *item)
{
    struct impi_request *req = TAILQ_FIRST(&pair->rest);

    TAILQ_REMOVE(&pair->rest, req, link);
    data_packet(pair, item, req, IMPI_PK_DATA, pair->p2p->maxdatalen);
    if (req->moved < req->msglen) {
        TAILQ_INSERT_TAIL(&pair->rest, req, link);
        return;
    }
    TAILQ_INSERT_TAIL(&pair->waiting, req, link);
    req->state = IMPI_REQ_DRAINING;
}

bool pair_next_packet(struct impi_pair *pair, struct tx_item *item)
{
    bool first = !TAILQ_EMPTY(&pair->first);
    bool rest = !TAILQ_EMPTY(&pair->rest);

    if (pair->acks_due > 0) {
        protoack_packet(pair, item);
        return true;
    }
    if (pair->sent >= pair->p2p->hiwater) {
        pair->stats.waits += !pair->stalled;
        pair->stalled = true;
        return false;
    }
    pair->stalled = false;
    if (!TAILQ_EMPTY(&pair->controls))
        control_packet(pair, item);
    else if (first && (!rest || pair->turn))
        first_packet(pair, item);
    else if (rest)
        rest_packet(pair, item);
    else
        return false;
    pair->turn = !pair->turn;
    pair->sent++;
    pair->p2p->stats.packets_sent++;
    return true;
}

void send_check_drained(struct impi_p2p *p2p, struct impi_request *req)
{
    if (req->state == IMPI_REQ_DRAINING && req->unwritten == 0 &&
        !req->cancelling)
        request_complete(p2p, req, &req->pair->waiting, IMPI_OK);
}

void send_written(struct impi_p2p *p2p, struct impi_request *req)
{
    req->unwritten--;
    send_check_drained(p2p, req);
}

int send_matched(struct impi_pair *pair, uint64_t srqid, uint64_t drqid)
{
    struct impi_p2p *p2p = pair->p2p;
    struct impi_request *req = impi_slots_find(&p2p->slots, srqid);
    bool late; /* for the rest: the own FINI is out */

    if (!req || !req->is_send || req->pair != pair ||
        req->state != IMPI_REQ_SENT)
        return -1;
    late = req->moved < req->msglen && pair->channel->fini_sent;
    req->peer_id = drqid;
    if (late)
        req->status.error = IMPI_ERR_PEER;
    if (late || req->moved == req->msglen) {
        req->state = IMPI_REQ_DRAINING;
        send_check_drained(p2p, req);
        return 0;
    }
    req->state = IMPI_REQ_SENDING;
    TAILQ_REMOVE(&pair->waiting, req, link);
    TAILQ_INSERT_TAIL(&pair->rest, req, link);
    pair_wake(pair);
    return 0;
}
