/* SPDX-License-Identifier: BSD-3-Clause
 * Receives and the posted queue (3.7).
 *
 * Receives from a given peer are on its pair's list, the others on one common
 * list; a number in order of posting tells which of two candidates is older.
 */
#include <string.h>

#include "impi/p2p_impl.h"

static struct impi_request *find_posted(struct impi_request_list *list,
                                        uint64_t cid, int32_t tag)
{
    struct impi_request *req;

    TAILQ_FOREACH(req, list, link)
    {
        if (req->cid == cid && tag_fits(req->tag, tag))
            return req;
    }
    return NULL;
}

struct impi_request *match_posted(struct impi_pair *pair, uint64_t cid,
                                  int32_t tag, bool *later)
{
    struct impi_p2p *p2p = pair->p2p;

    for (;;) {
        struct impi_request_list *list = &pair->posted;
        struct impi_request *req = find_posted(list, cid, tag);
        struct impi_request *any = find_posted(&p2p->posted_any, cid, tag);
        enum impi_claim claim = IMPI_CLAIM_OURS;

        if (any && (!req || any->order < req->order)) {
            list = &p2p->posted_any;
            req = any;
        }
        if (!req)
            return NULL;
        if (p2p->nlater > 0 && later_fits(p2p, req))
            claim = IMPI_CLAIM_LATER;
        else if (req->shared)
            claim = p2p->ops->claim(p2p->arg, req);
        *later = claim == IMPI_CLAIM_LATER;
        if (*later)
            return NULL;
        TAILQ_REMOVE(list, req, link);
        if (claim == IMPI_CLAIM_OURS)
            return req;
        req->state = IMPI_REQ_IDLE;
        p2p->pending--;
    }
}

int recv_begin(struct impi_pair *pair, struct impi_request *req, int32_t rank,
               int32_t tag, uint64_t msglen, uint64_t srqid, bool sync)
{
    struct impi_p2p *p2p = pair->p2p;

    if (!req->pair)
        req->status.source = rank;
    req->pair = pair;
    req->status.tag = tag;
    req->status.msglen = msglen;
    req->status.bytes = msglen < req->buf.len ? msglen : req->buf.len;
    if (msglen > req->buf.len)
        req->status.error = IMPI_ERR_TRUNCATE;
    req->msglen = msglen;
    req->moved = 0;
    req->state = IMPI_REQ_MATCHED;
    TAILQ_INSERT_TAIL(&pair->matched, req, link);
    if (!sync)
        return 0;
    req->id = impi_slots_add(&p2p->slots, req);
    if (!req->id)
        return -1;
    return pair_answer(pair, IMPI_PK_SYNCACK, srqid, req->id);
}

void recv_bytes(struct impi_request *req, uint8_t *data, size_t n)
{
    uint64_t off = req->moved;
    uint64_t room = off < req->buf.len ? req->buf.len - off : 0;

    req->moved += n;
    if (n > room)
        n = room;
    if (n == 0)
        return;
    if (req->buf.base)
        memcpy((uint8_t *)req->buf.base + off, data, n);
    else if (req->buf.move(req->buf.arg, off, data, n) < 0)
        req->status.error = IMPI_ERR_CONVERT;
}

void recv_check_done(struct impi_p2p *p2p, struct impi_request *req)
{
    if (req->moved == req->msglen)
        request_complete(p2p, req, &req->pair->matched, IMPI_OK);
}

/* Give a message that is on no queue any more to a receive. */
static void give(struct impi_request *req, struct impi_unexpected *u)
{
    struct impi_pair *pair = u->pair;
    struct impi_channel *channel = pair->channel;
    struct impi_p2p *p2p = pair->p2p;
    bool no_memory;

    if (!u->received)
        pair_received(pair);
    no_memory = recv_begin(pair, req, u->rank, u->tag, u->msglen, u->srqid,
                           u->sync && !pair->lost) < 0;
    recv_bytes(req, u->data, u->have);
    if (channel && channel->rx_unexpected == u) {
        channel->rx_unexpected = NULL;
        channel->rx_req = req;
    }
    unexpected_free(u);
    if (no_memory) {
        if (channel && channel->rx_req == req)
            channel->rx_req = NULL;
        request_complete(p2p, req, &pair->matched, IMPI_ERR_MEMORY);
    } else if (pair->lost && req->moved < req->msglen)
        request_complete(p2p, req, &pair->matched, IMPI_ERR_PEER);
    else
        recv_check_done(p2p, req);
}

void take_unexpected(struct impi_request *req, struct impi_unexpected *u)
{
    unexpected_unlink(u);
    give(req, u);
}

static void recv_init(struct impi_request *req, const struct impi_recv *args)
{
    request_init(req, args->rank, args->tag, args->cid, &args->buf);
    req->state = IMPI_REQ_POSTED;
    req->is_send = false;
    req->sync = false;
    req->shared = args->shared;
    req->msglen = 0;
}

static void recv_post(struct impi_p2p *p2p, struct impi_request *req)
{
    req->order = ++p2p->order;
    if (!req->pair)
        TAILQ_INSERT_TAIL(&p2p->posted_any, req, link);
    else if (req->pair->lost)
        request_complete(p2p, req, NULL, IMPI_ERR_PEER);
    else
        TAILQ_INSERT_TAIL(&req->pair->posted, req, link);
}

void impi_p2p_irecv(struct impi_p2p *p2p, struct impi_request *req,
                    const struct impi_recv *args)
{
    struct impi_unexpected *u = find_unexpected(p2p, args);

    recv_init(req, args);
    p2p->pending++;
    if (args->peer != IMPI_ANY_PEER) {
        req->pair = p2p_pair(p2p, args->peer);
        if (!req->pair) {
            request_complete(p2p, req, NULL, IMPI_ERR_MEMORY);
            return;
        }
    }
    if (!u) {
        recv_post(p2p, req);
        return;
    }
    take_unexpected(req, u);
}

bool impi_p2p_cancel_recv(struct impi_p2p *p2p, struct impi_request *req,
                          bool silent)
{
    struct impi_request_list *list;

    if (req->state != IMPI_REQ_POSTED)
        return false;
    list = req->pair ? &req->pair->posted : &p2p->posted_any;
    if (silent) {
        TAILQ_REMOVE(list, req, link);
        req->state = IMPI_REQ_IDLE;
        p2p->pending--;
        return true;
    }
    req->status.cancelled = true;
    request_complete(p2p, req, list, IMPI_OK);
    return true;
}

void impi_p2p_imrecv(struct impi_p2p *p2p, struct impi_request *req,
                     struct impi_unexpected *message,
                     const struct impi_buffer *buf)
{
    struct impi_recv args = {
        .peer = message->pair->peer,
        .rank = message->rank,
        .tag = message->tag,
        .cid = message->cid,
        .buf = *buf,
    };

    recv_init(req, &args);
    p2p->pending++;
    give(req, message);
}
