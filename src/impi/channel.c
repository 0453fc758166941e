/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Channels: their life, sends, the bytes that go, the bytes that come.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/fast.h"
#include "impi/p2p_impl.h"

static int data(struct impi_channel *channel, struct impi_pair *pair,
                const struct impi_packet *pk, struct errbuf *err);

/* ---- send -------------------------------------------------------------- */

/* Sends: from the call to the packets (3.6, 3.7.1, 3.7.2). */

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

    memcpy(pk->src, pair->p2p->proc, IMPI_PROC_SIZE);
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

/* Fill *item with the pair's next packet; false: nothing may be sent. */
static bool pair_next_packet(struct impi_pair *pair, struct tx_item *item)
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

/* One packet of the send is wholly written. */
static void send_written(struct impi_p2p *p2p, struct impi_request *req)
{
    req->unwritten--;
    send_check_drained(p2p, req);
}

/* A SYNCACK came for srqid; -1: for nothing. */
static int send_matched(struct impi_pair *pair, uint64_t srqid, uint64_t drqid)
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

/* ---- tx ---------------------------------------------------------------- */

/* Channels: the bytes that go. A ring of packets is handed out at a time;
 * contiguous data lie in the users' buffers, converted data of the first
 * packet in a scratch buffer that is filled piece by piece. */

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

static bool in_scratch(const struct impi_channel *channel, uint64_t done)
{
    return channel->scratch_len > 0 && done >= channel->scratch_from &&
           done - channel->scratch_from < channel->scratch_len;
}

/* n bytes of its data from `from` on, by the callback. */
static void move_out(struct tx_item *item, uint64_t from, void *to, size_t n)
{
    struct impi_buffer *buf = &item->req->buf;

    if (buf->move(buf->arg, item->off + from, to, n) == 0)
        return;
    memset(to, 0, n);
    item->req->status.error = IMPI_ERR_CONVERT;
}

/* Make the data of the item from `done` on available in the scratch. */
static bool fill_scratch(struct impi_channel *channel, struct tx_item *item,
                         uint64_t done)
{
    uint64_t left = item->len - done;

    if (in_scratch(channel, done))
        return true;
    if (!channel->scratch)
        channel->scratch = malloc(SCRATCH_SIZE);
    if (!channel->scratch) {
        impi_channel_fail(channel, "out of memory for its messages");
        return false;
    }
    if (left > SCRATCH_SIZE)
        left = SCRATCH_SIZE;
    move_out(item, done, channel->scratch, left);
    channel->scratch_from = done;
    channel->scratch_len = (uint32_t)left;
    return true;
}

/* The head item's data from `done` on, which the callback has.  Returns the
 * entries filled. */
static int moved_payload(struct impi_channel *channel, struct tx_item *item,
                         uint64_t done, struct iovec *iov, int max, bool apart)
{
    struct impi_buffer *buf = &item->req->buf;
    bool fresh = !in_scratch(channel, done);
    uint64_t off;

    channel->fetched = done;
    if (fresh && apart) {
        *iov = (struct iovec){NULL, item->len - done};
        return 1;
    }
    if (fresh && buf->places && max > IMPI_TX_IOV) {
        channel->placed = true;
        return buf->places(buf->arg, iov, max, item->len - done);
    }
    if (!fill_scratch(channel, item, done))
        return 0;
    off = done - channel->scratch_from;
    *iov = (struct iovec){channel->scratch + off, channel->scratch_len - off};
    return 1;
}

/* The item's data from `done` on.  Returns the entries filled; 0: not yet. */
static int payload(struct impi_channel *channel, struct tx_item *item,
                   uint64_t done, struct iovec *iov, int max, bool apart)
{
    if (!converted(item)) {
        *iov = (struct iovec){(void *)(uintptr_t)(item->data + done),
                              item->len - done};
        return 1;
    }
    if (item != item_at(channel, 0))
        return 0;
    return moved_payload(channel, item, done, iov, max, apart);
}

static size_t bytes_of(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* What is left of the item, in up to max entries, at least two; *whole: all
 * of it. */
static int item_iov(struct impi_channel *channel, struct tx_item *item,
                    uint64_t done, struct iovec *iov, int max, bool apart,
                    bool *whole)
{
    int n = 0, first;

    *whole = true;
    if (done < IMPI_PACKET_SIZE) {
        iov[n++] = (struct iovec){item->head + done, IMPI_PACKET_SIZE - done};
        done = IMPI_PACKET_SIZE;
    }
    done -= IMPI_PACKET_SIZE;
    if (done == item->len)
        return n;
    first = n;
    n += payload(channel, item, done, iov + n, max - n, apart);
    *whole = bytes_of(iov + first, n - first) == item->len - done;
    return n;
}

static int channel_tx(struct impi_channel *channel, struct iovec *iov, int max,
                      bool apart)
{
    size_t bytes = 0;
    bool whole = true;
    int n = 0;

    if (channel->failed)
        return 0;
    channel->placed = false;
    fill_ring(channel);
    for (unsigned i = 0; i < channel->count && whole && n + 2 <= max; i++) {
        uint64_t done = i == 0 ? channel->tx_sent : 0;
        int first = n;

        n += item_iov(channel, item_at(channel, i), done, &iov[n], max - n,
                      apart, &whole);
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

int impi_channel_tx(struct impi_channel *channel, struct iovec *iov, int max)
{
    return channel_tx(channel, iov, max, false);
}

int impi_channel_tx_apart(struct impi_channel *channel, struct iovec *iov,
                          int max)
{
    return channel_tx(channel, iov, max, true);
}

void impi_channel_fetch(struct impi_channel *channel, void *to, size_t n)
{
    move_out(item_at(channel, 0), channel->fetched, to, n);
    channel->fetched += n;
}

/* The head item is written up to `sent`. */
static void pass_written(struct impi_channel *channel, uint64_t sent)
{
    struct tx_item *item = item_at(channel, 0);
    uint64_t done = sent > IMPI_PACKET_SIZE ? sent - IMPI_PACKET_SIZE : 0;

    if (!channel->placed)
        return;
    channel->placed = false;
    if (done > item->len)
        done = item->len;
    if (done > channel->fetched)
        item->req->buf.pass(item->req->buf.arg, done - channel->fetched);
}

void impi_channel_tx_done(struct impi_channel *channel, size_t n)
{
    uint64_t sent = channel->tx_sent + n;

    if (channel->failed)
        return;
    pass_written(channel, sent);
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

/* ---- deliver ----------------------------------------------------------- */

/* What each arriving packet does (3.5 to 3.8). Nothing of it is believed: a
 * peer that lies loses its channel and nothing else. */

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

/* A packet came from that channel; sets its rx_* for the payload.  Returns 0,
 * or -1 with errno and err. */
static int deliver_packet(struct impi_channel *channel,
                          const struct impi_packet *pk, struct errbuf *err)
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
    if (memcmp(pk->dest, p2p->proc, IMPI_PROC_SIZE) != 0)
        return broken(err, "sends a packet for another process");
    packet_seen(p2p, pair->peer, true, pk);
    if (impi_packet_is_old(pk) && p2p->ops->old)
        p2p->ops->old(p2p->arg, pair->peer);
    if (pk->type == IMPI_PK_PROTOACK)
        return protoack(pair, err);
    return counted(channel, pair, pk, err);
}

/* Its payload is here as a whole. */
static void deliver_payload_end(struct impi_channel *channel)
{
    struct impi_request *req = channel->rx_req;

    channel->rx_req = NULL;
    channel->rx_unexpected = NULL;
    if (req)
        recv_check_done(channel->p2p, req);
}

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
static uint8_t *direct_room(const struct impi_channel *channel, size_t *room)
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

/* Memory that is read from again at once; NULL: none. */
static uint8_t *wide_room(struct impi_channel *channel)
{
    struct impi_p2p *p2p = channel->p2p;

    if (!p2p->wide)
        p2p->wide = malloc(WIDE_SIZE);
    if (!p2p->wide)
        return NULL;
    channel->wide = true;
    channel->direct = channel->left < WIDE_SIZE ? channel->left : WIDE_SIZE;
    return p2p->wide;
}

/* The places in pieces of the next payload bytes; 0: none. */
static int spread_room(struct impi_channel *channel, struct iovec *iov, int max)
{
    struct impi_request *req = channel->rx_req;
    uint64_t len = channel->left;
    int n;

    if (!req || max <= IMPI_RX_IOV || !req->buf.places ||
        req->moved >= req->buf.len)
        return 0;
    if (len > req->buf.len - req->moved)
        len = req->buf.len - req->moved;
    n = req->buf.places(req->buf.arg, iov, max, len);
    channel->direct = bytes_of(iov, n);
    channel->spread = true;
    return n;
}

/* Where the next payload bytes go, if not to the stage. */
static int payload_room(struct impi_channel *channel, struct iovec *iov,
                        int max)
{
    uint8_t *room = direct_room(channel, &channel->direct);
    int n = room ? 0 : spread_room(channel, iov, max - 1);

    if (n > 0)
        return n;
    if (!room)
        room = wide_room(channel);
    if (room)
        *iov = (struct iovec){room, channel->direct};
    return room ? 1 : 0;
}

int impi_channel_rx(struct impi_channel *channel, struct iovec *iov, int max)
{
    size_t limit = channel->stage_limit;
    int n = 0;

    channel->direct = 0;
    channel->wide = channel->spread = false;
    if (channel->left > 0 && channel->stage_len == 0) {
        n = payload_room(channel, iov, max);
        if (n == max)
            return n;
        if (n == 0)
            limit = STAGE_SIZE;
    }
    if (limit < channel->stage_len + IMPI_PACKET_SIZE)
        limit = channel->stage_len + IMPI_PACKET_SIZE;
    iov[n++] = (struct iovec){channel->stage + channel->stage_len,
                              limit - channel->stage_len};
    return n;
}

/* n payload bytes at data (NULL: already in place). */
static void take_payload(struct impi_channel *channel, const uint8_t *data,
                         size_t n)
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
        if (channel->spread)
            req->buf.pass(req->buf.arg, n);
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
        take_payload(channel, channel->wide ? channel->p2p->wide : NULL,
                     direct);
    channel->spread = false;
    channel->stage_len += n - direct;
    assert(channel->stage_len <= STAGE_SIZE);
    return take_stage(channel);
}

size_t impi_channel_rx_apart(const struct impi_channel *channel)
{
    size_t room;

    if (channel->failed || channel->stage_len > 0 || channel->left == 0 ||
        direct_room(channel, &room))
        return 0;
    return channel->left;
}

void impi_channel_give(struct impi_channel *channel, const void *data, size_t n)
{
    take_payload(channel, data, n);
}

void *impi_channel_promise(struct impi_channel *channel, size_t max,
                           size_t *len, struct impi_request **promised)
{
    struct impi_request *req = channel->rx_req;
    uint8_t *room;

    if (channel->failed || channel->left == 0 || channel->stage_len > 0 ||
        !req || channel->rx_unexpected)
        return NULL;
    room = direct_room(channel, len);
    if (!room)
        return NULL;
    if (*len > max)
        *len = max;
    req->promised++;
    *promised = req;
    take_payload(channel, NULL, *len);
    return room;
}

void impi_channel_kept(struct impi_channel *channel,
                       struct impi_request *promised)
{
    promised->promised--;
    recv_check_done(channel->p2p, promised);
}
