/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests: receives and the messages that they match, taking sends back.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "impi/p2p_impl.h"

static void take_unexpected(struct impi_request *req,
                            struct impi_unexpected *u);

/* ---- unexpected -------------------------------------------------------- */

/* Messages that came before their receive, and probes of them (3.7.3). They
 * are on their pair's list and on the list of all, in order of arrival. */

static struct impi_unexpected *allocate(struct impi_p2p *p2p, uint32_t *size)
{
    if (*size <= UNEXPECTED_SMALL) {
        *size = UNEXPECTED_SMALL;
        return impi_pool_get(&p2p->small_pool);
    }
    if (*size <= UNEXPECTED_MEDIUM) {
        *size = UNEXPECTED_MEDIUM;
        return impi_pool_get(&p2p->medium_pool);
    }
    return malloc(sizeof(struct impi_unexpected) + *size);
}

static void release(struct impi_p2p *p2p, struct impi_unexpected *u)
{
    if (u->size == UNEXPECTED_SMALL)
        impi_pool_put(&p2p->small_pool, u);
    else if (u->size == UNEXPECTED_MEDIUM)
        impi_pool_put(&p2p->medium_pool, u);
    else
        free(u);
}

struct impi_unexpected *unexpected_add(struct impi_pair *pair,
                                       const struct impi_packet *pk)
{
    struct impi_p2p *p2p = pair->p2p;
    uint32_t size = pk->len;
    struct impi_unexpected *u = allocate(p2p, &size);

    if (!u)
        return NULL;
    *u = (struct impi_unexpected){
        .pair = pair,
        .cid = pk->cid,
        .srqid = pk->srqid,
        .msglen = pk->msglen,
        .rank = pk->lsrank,
        .tag = pk->tag,
        .len = pk->len,
        .sync = pk->type == IMPI_PK_DATASYNC,
        .size = size,
    };
    u->service = pk->cid >= IMPI_MAX_CID;
    TAILQ_INSERT_TAIL(u->service ? &p2p->service : &p2p->unexpected, u, link);
    TAILQ_INSERT_TAIL(&pair->unexpected, u, of_pair);
    pair->unexpected_mem += sizeof(*u) + size;
    p2p->stats.unexpected_messages++;
    p2p->stats.unexpected_bytes += sizeof(*u) + size;
    if (p2p->stats.unexpected_peak < p2p->stats.unexpected_bytes)
        p2p->stats.unexpected_peak = p2p->stats.unexpected_bytes;
    return u;
}

static void unexpected_unlink(struct impi_unexpected *u)
{
    u->pair->p2p->nlater -= u->later;
    TAILQ_REMOVE(u->service ? &u->pair->p2p->service
                            : &u->pair->p2p->unexpected,
                 u, link);
    TAILQ_REMOVE(&u->pair->unexpected, u, of_pair);
}

static void unexpected_free(struct impi_unexpected *u)
{
    struct impi_p2p *p2p = u->pair->p2p;

    u->pair->unexpected_mem -= sizeof(*u) + u->size;
    p2p->stats.unexpected_bytes -= sizeof(*u) + u->size;
    release(p2p, u);
}

void unexpected_drop(struct impi_unexpected *u)
{
    struct impi_channel *channel = u->pair->channel;

    if (channel && channel->rx_unexpected == u)
        channel->rx_unexpected = NULL;
    unexpected_unlink(u);
    unexpected_free(u);
}

static inline struct impi_unexpected *find(struct impi_p2p *p2p,
                                           const struct impi_recv *args)
{
    struct impi_unexpected *u;

    if (args->peer == IMPI_ANY_PEER) {
        TAILQ_FOREACH(u, &p2p->unexpected, link)
        {
            if (u->cid == args->cid && tag_fits(args->tag, u->tag))
                return u;
        }
        return NULL;
    }
    if (!p2p->pairs[args->peer])
        return NULL;
    TAILQ_FOREACH(u, &p2p->pairs[args->peer]->unexpected, of_pair)
    {
        if (u->cid == args->cid && tag_fits(args->tag, u->tag))
            return u;
    }
    return NULL;
}

/* One that was not matched yet may belong to an older receive. */
static struct impi_unexpected *find_unexpected(struct impi_p2p *p2p,
                                               const struct impi_recv *args)
{
    struct impi_unexpected *u = find(p2p, args);

    if (!u || !u->later)
        return u;
    impi_p2p_settle(p2p);
    return find(p2p, args);
}

/* Available once the first packet is wholly read (3.7.3); a younger message
 * must not be seen before an older one that fits. */
static struct impi_unexpected *probe(struct impi_p2p *p2p,
                                     const struct impi_recv *args,
                                     struct impi_status *status)
{
    struct impi_unexpected *u = find_unexpected(p2p, args);

    if (!u || u->have < u->len)
        return NULL;
    *status = (struct impi_status){
        .source = args->peer == IMPI_ANY_PEER ? u->rank : args->rank,
        .tag = u->tag,
        .bytes = u->msglen,
        .msglen = u->msglen,
    };
    return u;
}

bool impi_p2p_iprobe(struct impi_p2p *p2p, const struct impi_recv *args,
                     struct impi_status *status)
{
    return probe(p2p, args, status) != NULL;
}

struct impi_unexpected *impi_p2p_improbe(struct impi_p2p *p2p,
                                         const struct impi_recv *args,
                                         struct impi_status *status)
{
    struct impi_unexpected *u = probe(p2p, args, status);

    if (u)
        unexpected_unlink(u);
    return u;
}

struct impi_unexpected *impi_p2p_service(struct impi_p2p *p2p, uint32_t *peer,
                                         uint64_t *cid, uint64_t *len)
{
    struct impi_unexpected *u = TAILQ_FIRST(&p2p->service);

    if (!u)
        return NULL;
    *peer = u->pair->peer;
    *cid = u->cid;
    *len = u->msglen;
    unexpected_unlink(u);
    return u;
}

/* ---- later ------------------------------------------------------------- */

/* Messages that found a receive which could not be claimed when they came.
 * They wait among the unexpected ones. Until they are matched, whatever comes
 * for a receive that one of them may want waits behind it: so messages of one
 * pair are matched in their order. All others go on. */

void unexpected_later(struct impi_unexpected *u)
{
    u->later = true;
    u->pair->p2p->nlater++;
}

/* Does one of those fit this posted receive? */
static bool later_fits(const struct impi_p2p *p2p,
                       const struct impi_request *req)
{
    const struct impi_unexpected *u;

    TAILQ_FOREACH(u, &p2p->unexpected, link)
    {
        if (u->later && u->cid == req->cid && tag_fits(req->tag, u->tag) &&
            (!req->pair || req->pair == u->pair))
            return true;
    }
    return false;
}

void impi_p2p_settle(struct impi_p2p *p2p)
{
    size_t left = p2p->nlater;
    struct impi_unexpected *u, *next;

    p2p->nlater = 0; /* those before it are settled: the order is kept */
    for (u = TAILQ_FIRST(&p2p->unexpected); u && left > 0; u = next) {
        struct impi_request *req;
        bool later = false;

        next = TAILQ_NEXT(u, link);
        if (!u->later)
            continue;
        left--;
        u->later = false;
        req = match_posted(u->pair, u->cid, u->tag, &later);
        if (later)
            unexpected_later(u);
        else if (req)
            take_unexpected(req, u);
    }
}

/* ---- match ------------------------------------------------------------- */

/* Receives and the posted queue (3.7). Receives from a given peer are on its
 * pair's list, the others on one common list; a number in order of posting
 * tells which of two candidates is older. */

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
    req->promised = 0;
    req->state = IMPI_REQ_MATCHED;
    TAILQ_INSERT_TAIL(&pair->matched, req, link);
    if (!sync)
        return 0;
    req->id = impi_slots_add(&p2p->slots, req);
    if (!req->id)
        return -1;
    return pair_answer(pair, IMPI_PK_SYNCACK, srqid, req->id);
}

void recv_bytes(struct impi_request *req, const uint8_t *data, size_t n)
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
    else if (req->buf.move(req->buf.arg, off, (void *)(uintptr_t)data, n) < 0)
        req->status.error = IMPI_ERR_CONVERT;
}

void recv_check_done(struct impi_p2p *p2p, struct impi_request *req)
{
    if (req->moved == req->msglen && req->promised == 0)
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

/* The message goes from the queues to the receive, with what is still to come
 * of its first packet. */
static void take_unexpected(struct impi_request *req, struct impi_unexpected *u)
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

/* ---- cancel ------------------------------------------------------------ */

/* Taking sends back (3.7.4). The receiver is asked only in the three cases
 * that the standard names; a CANCEL follows the packet that it means, because
 * that has been handed out before. */

static void cancel_here(struct impi_p2p *p2p, struct impi_request *req)
{
    req->status.cancelled = true;
    request_complete(p2p, req, &req->pair->first, IMPI_OK);
}

/* A short message that is written already: take the request up again. */
static void reopen(struct impi_p2p *p2p, struct impi_request *req)
{
    req->done = false;
    req->state = IMPI_REQ_DRAINING;
    p2p->pending++;
    TAILQ_INSERT_TAIL(&req->pair->waiting, req, link);
}

/* May the receiver still have it unmatched? */
static bool worth_asking(const struct impi_request *req)
{
    if (req->status.error || req->cancelling || req->pair->lost ||
        req->pair->channel->fini_wanted || req->pair->channel->fini_received)
        return false;
    return req->state == IMPI_REQ_SENT || (req->id & SHORT_SEND_ID);
}

void impi_p2p_cancel_send(struct impi_p2p *p2p, struct impi_request *req)
{
    if (!req->pair) /* it never started */
        return;
    if (req->state == IMPI_REQ_QUEUED) {
        cancel_here(p2p, req);
        return;
    }
    if (!worth_asking(req) ||
        pair_answer(req->pair, IMPI_PK_CANCEL, req->id, 0) < 0)
        return;
    if (req->done)
        reopen(p2p, req);
    req->cancelling = true;
}

static struct impi_request *find_waiting(struct impi_request_list *list,
                                         uint64_t srqid)
{
    struct impi_request *req;

    TAILQ_FOREACH(req, list, link)
    {
        if (req->cancelling && req->id == srqid)
            return req;
    }
    return NULL;
}

const char *send_cancel_reply(struct impi_pair *pair, uint64_t srqid, bool yes)
{
    struct impi_request *req = find_waiting(&pair->waiting, srqid);

    if (!req)
        req = find_waiting(&pair->rest, srqid);
    if (!req)
        return "answers a cancel request that was never made";
    /* Acknowledged: it was matched, and can not be unmatched as well. */
    if (yes && req->state != IMPI_REQ_SENT && !(req->id & SHORT_SEND_ID))
        return "gives a message back that it has received";
    req->cancelling = false;
    if (yes) {
        req->status.cancelled = true;
        req->state = IMPI_REQ_DRAINING;
    }
    send_check_drained(pair->p2p, req);
    return NULL;
}

static void encode_proc(const struct impi_p2p *p2p, uint32_t rank,
                        uint8_t id[IMPI_PROC_SIZE])
{
    struct impi_proc p = impi_world_proc(p2p->world, rank);

    impi_proc_encode(id, p.hostid, p.pid);
}

struct impi_p2p *impi_p2p_create(const struct impi_world *world, uint32_t rank,
                                 const struct impi_p2p_ops *ops, void *arg)
{
    struct impi_p2p *p2p;

    if (rank >= world->nprocs || world->ackmark < 1 ||
        world->ackmark > world->hiwater || world->maxdatalen < 1) {
        errno = EINVAL;
        return NULL;
    }
    p2p = calloc(1, sizeof(*p2p));
    if (!p2p)
        return NULL;
    p2p->ops = ops;
    p2p->arg = arg;
    p2p->rank = rank;
    p2p->nprocs = world->nprocs;
    p2p->maxdatalen = world->maxdatalen;
    p2p->ackmark = world->ackmark;
    p2p->hiwater = world->hiwater;
    p2p->modest = world->flags & IMPI_WORLD_EXTENDED;
    p2p->first_max = p2p->maxdatalen;
    if (p2p->modest && p2p->first_max > FIRST_MAX)
        p2p->first_max = FIRST_MAX;
    p2p->unexpected_max = SF_IMPI_UNEXPECTED_MAX;
    TAILQ_INIT(&p2p->channels);
    TAILQ_INIT(&p2p->posted_any);
    TAILQ_INIT(&p2p->unexpected);
    TAILQ_INIT(&p2p->service);
    impi_pool_init(&p2p->small_pool,
                   sizeof(struct impi_unexpected) + UNEXPECTED_SMALL, 128);
    impi_pool_init(&p2p->medium_pool,
                   sizeof(struct impi_unexpected) + UNEXPECTED_MEDIUM, 32);
    impi_pool_init(&p2p->control_pool, sizeof(struct control), 64);
    p2p->world = world;
    encode_proc(p2p, rank, p2p->proc);
    p2p->pairs = calloc(world->nprocs, sizeof(struct impi_pair *));
    if (!p2p->pairs) {
        impi_p2p_destroy(p2p);
        errno = ENOMEM;
        return NULL;
    }
    return p2p;
}

int impi_p2p_grow(struct impi_p2p *p2p, const struct impi_world *world)
{
    size_t n = world->nprocs, old = p2p->nprocs;
    struct impi_pair **pairs =
        realloc(p2p->pairs, n * sizeof(struct impi_pair *));

    if (!pairs)
        return -1;
    p2p->pairs = pairs;
    memset(pairs + old, 0, (n - old) * sizeof(struct impi_pair *));
    p2p->nprocs = world->nprocs;
    return 0;
}

/* Their memory may be gone already. */
static void forget_requests(struct impi_p2p *p2p)
{
    for (uint32_t i = 0; p2p->pairs && i < p2p->nprocs; i++) {
        struct impi_pair *pair = p2p->pairs[i];

        if (!pair)
            continue;
        TAILQ_INIT(&pair->first);
        TAILQ_INIT(&pair->rest);
        TAILQ_INIT(&pair->waiting);
        TAILQ_INIT(&pair->posted);
        TAILQ_INIT(&pair->matched);
    }
}

void impi_p2p_destroy(struct impi_p2p *p2p)
{
    struct impi_channel *channel;
    struct impi_unexpected *u;

    if (!p2p)
        return;
    forget_requests(p2p);
    while ((channel = TAILQ_FIRST(&p2p->channels)))
        impi_channel_destroy(channel);
    while ((u = TAILQ_FIRST(&p2p->unexpected)) ||
           (u = TAILQ_FIRST(&p2p->service)))
        unexpected_drop(u);
    for (uint32_t i = 0; p2p->pairs && i < p2p->nprocs; i++) {
        if (p2p->pairs[i])
            free(p2p->pairs[i]->error);
        free(p2p->pairs[i]);
    }
    impi_pool_destroy(&p2p->small_pool);
    impi_pool_destroy(&p2p->medium_pool);
    impi_pool_destroy(&p2p->control_pool);
    impi_slots_free(&p2p->slots);
    free(p2p->wide);
    free(p2p->pairs);
    free(p2p);
}

void impi_p2p_set_unexpected_max(struct impi_p2p *p2p, size_t bytes)
{
    p2p->unexpected_max = bytes;
}

static struct impi_pair *pair_create(struct impi_p2p *p2p, uint32_t peer)
{
    struct impi_pair *pair = calloc(1, sizeof(*pair));

    if (!pair)
        return NULL;
    pair->p2p = p2p;
    pair->peer = peer;
    encode_proc(p2p, peer, pair->proc);
    memcpy(pair->fast.src, p2p->proc, IMPI_PROC_SIZE);
    memcpy(pair->fast.dest, pair->proc, IMPI_PROC_SIZE);
    TAILQ_INIT(&pair->controls);
    TAILQ_INIT(&pair->first);
    TAILQ_INIT(&pair->rest);
    TAILQ_INIT(&pair->waiting);
    TAILQ_INIT(&pair->posted);
    TAILQ_INIT(&pair->matched);
    TAILQ_INIT(&pair->unexpected);
    p2p->pairs[peer] = pair;
    return pair;
}

struct impi_pair *p2p_pair(struct impi_p2p *p2p, uint32_t peer)
{
    assert(peer < p2p->nprocs && peer != p2p->rank);
    return p2p->pairs[peer] ? p2p->pairs[peer] : pair_create(p2p, peer);
}

void pair_wake(struct impi_pair *pair)
{
    if (pair->active || pair->lost)
        return;
    if (!pair->channel) {
        if (pair->connecting || pair_is_quiet(pair))
            return;
        pair->connecting = true;
        pair->p2p->ops->connect(pair->p2p->arg, pair->peer);
        return;
    }
    if (!pair_can_send(pair))
        return;
    pair->active = true;
    pair->p2p->unsent++;
    TAILQ_INSERT_TAIL(&pair->channel->active, pair, link);
}

void request_complete(struct impi_p2p *p2p, struct impi_request *req,
                      struct impi_request_list *from, enum impi_error error)
{
    if (from)
        TAILQ_REMOVE(from, req, link);
    if (req->id && !(req->id & SHORT_SEND_ID)) {
        impi_slots_remove(&p2p->slots, req->id);
        req->id = 0;
    }
    if (error)
        req->status.error = error;
    req->state = IMPI_REQ_DONE;
    req->done = true;
    p2p->pending--;
}

static void fail_list(struct impi_p2p *p2p, struct impi_request_list *list)
{
    struct impi_request *req;

    while ((req = TAILQ_FIRST(list)))
        request_complete(p2p, req, list, IMPI_ERR_PEER);
}

static void drop_controls(struct impi_pair *pair)
{
    struct control *control;

    while ((control = TAILQ_FIRST(&pair->controls))) {
        TAILQ_REMOVE(&pair->controls, control, link);
        impi_pool_put(&pair->p2p->control_pool, control);
    }
    pair->ncontrols = 0;
    pair->acks_due = 0;
}

/* Messages that are here as a whole can still be received. */
static void drop_half_read(struct impi_pair *pair)
{
    struct impi_unexpected *u, *next;

    for (u = TAILQ_FIRST(&pair->unexpected); u; u = next) {
        next = TAILQ_NEXT(u, of_pair);
        if (u->have < u->len)
            unexpected_drop(u);
    }
}

void pair_fail(struct impi_pair *pair, const char *why)
{
    struct impi_p2p *p2p = pair->p2p;

    if (pair->lost)
        return;
    pair->lost = true;
    pair->error = strdup(why);
    if (pair->active) {
        TAILQ_REMOVE(&pair->channel->active, pair, link);
        pair->active = false;
        p2p->unsent--;
    }
    drop_controls(pair);
    drop_half_read(pair);
    fail_list(p2p, &pair->first);
    fail_list(p2p, &pair->rest);
    fail_list(p2p, &pair->waiting);
    fail_list(p2p, &pair->posted);
    fail_list(p2p, &pair->matched);
}

void impi_p2p_peer_fail(struct impi_p2p *p2p, uint32_t peer, const char *why)
{
    struct impi_pair *pair = p2p_pair(p2p, peer);

    if (!pair)
        return;
    if (pair->channel)
        impi_channel_fail(pair->channel, why);
    else
        pair_fail(pair, why);
}

void impi_p2p_fail_any(struct impi_p2p *p2p, uint64_t cid)
{
    struct impi_request *req, *next;

    for (req = TAILQ_FIRST(&p2p->posted_any); req; req = next) {
        next = TAILQ_NEXT(req, link);
        if (req->cid == cid && !req->shared)
            request_complete(p2p, req, &p2p->posted_any, IMPI_ERR_PEER);
    }
}

const char *impi_p2p_peer_error(const struct impi_p2p *p2p, uint32_t peer)
{
    const struct impi_pair *pair = p2p->pairs[peer];

    if (!pair || !pair->lost)
        return NULL;
    return pair->error ? pair->error : "lost";
}

bool impi_p2p_busy(const struct impi_p2p *p2p)
{
    return p2p->pending > 0 || p2p->unsent > 0;
}

const struct impi_p2p_stats *impi_p2p_stats(const struct impi_p2p *p2p)
{
    return &p2p->stats;
}

bool impi_p2p_peer_stats(const struct impi_p2p *p2p, uint32_t peer,
                         struct impi_peer_stats *stats)
{
    const struct impi_pair *pair = p2p->pairs[peer];

    if (!pair)
        return false;
    *stats = pair->stats;
    return stats->messages_out > 0 || stats->messages_in > 0;
}
