/* SPDX-License-Identifier: BSD-3-Clause
 * Pending queue, send queue, completions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/engine_priv.h"

#define REAP 32         /* completions asked for at a time */
#define OUTPUT_MAX 1024 /* packets that one hsn_output() sends */

int hsn_send_init(struct hsn_engine *e)
{
    uint32_t n = e->o.pending_max + e->o.send_slots;

    e->first = e->last = HSN_NO_MESSAGE;
    e->messages = calloc(n, sizeof(*e->messages));
    e->slots = calloc(e->o.send_slots, sizeof(*e->slots));
    if (!e->messages || !e->slots)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        e->messages[i].chain = i + 1 < n ? i + 1 : HSN_NO_MESSAGE;
    for (uint32_t i = 0; i < e->o.send_slots; i++) {
        e->slots[i].state = HSN_SLOT_FREE;
        e->slots[i].next_free = i + 1;
    }
    return 0;
}

void hsn_send_free(struct hsn_engine *e)
{
    free(e->messages);
    free(e->slots);
}

static void complete(struct hsn_engine *e, uint32_t index)
{
    struct hsn_pending m = e->messages[index];
    struct hsn_module *module;

    e->messages[index].chain = e->free_message;
    e->free_message = index;
    HSN_ADD(&e->counts, completed, 1);
    if (m.raw) {
        if (e->raw.complete)
            e->raw.complete(e->raw_arg, m.cookie, m.error);
        return;
    }
    module = hsn_module_find(e, m.module);
    if (module && module->ops.complete)
        module->ops.complete(module->arg, m.cookie, m.error);
}

/* No packet is under way any more and none will be. */
static void complete_if_over(struct hsn_engine *e, uint32_t index)
{
    if (e->messages[index].gone && e->messages[index].busy == 0)
        complete(e, index);
}

static void pop_pending(struct hsn_engine *e)
{
    struct hsn_pending *m = &e->messages[e->first];

    m->gone = true;
    e->first = m->chain;
    if (e->first == HSN_NO_MESSAGE)
        e->last = HSN_NO_MESSAGE;
    e->npending--;
}

/* The first pending message does not go (any further). */
static void drop_first(struct hsn_engine *e, int error)
{
    uint32_t index = e->first;

    e->messages[index].error = error;
    pop_pending(e);
    complete_if_over(e, index);
}

static void slot_done(struct hsn_engine *e, uint32_t slot, int error)
{
    struct hsn_slot *s = &e->slots[slot];
    struct hsn_pending *m = &e->messages[s->message];
    struct hsn_routed *peer;

    s->state = HSN_SLOT_FREE;
    s->next_free = e->free_slot;
    e->free_slot = slot;
    e->nbusy--;
    m->busy--;
    if (error) {
        HSN_ADD(&e->counts, send_failed, 1);
        m->error = error;
        peer = m->raw ? NULL : hsn_routes_find(&e->routes, m->board);
        if (peer)
            peer->state.failed++;
    }
    complete_if_over(e, s->message);
}

static void reap(struct hsn_engine *e)
{
    struct hsn_sent sent[REAP];
    size_t n;

    do {
        n = e->ops->reap(e->nic, sent, REAP);
        for (size_t i = 0; i < n; i++)
            if (sent[i].slot < e->o.send_slots &&
                e->slots[sent[i].slot].state == HSN_SLOT_BUSY)
                slot_done(e, sent[i].slot, sent[i].error);
    } while (n == REAP);
}

/* The interface holds packets for too long: take them back. */
static void expire_busy(struct hsn_engine *e, uint64_t now)
{
    for (uint32_t i = 0; e->nbusy && i < e->o.send_slots; i++) {
        if (e->slots[i].state != HSN_SLOT_BUSY || e->slots[i].deadline > now)
            continue;
        e->ops->cancel(e->nic, i);
        HSN_ADD(&e->counts, send_expired, 1);
        slot_done(e, i, ETIMEDOUT);
    }
}

static void expire_pending(struct hsn_engine *e, uint64_t now)
{
    while (e->first != HSN_NO_MESSAGE &&
           e->messages[e->first].deadline <= now) {
        HSN_ADD(&e->counts, send_expired, 1);
        drop_first(e, ETIMEDOUT);
    }
}

/* Both gather parts of the next packet of a datagram. */
static void build(struct hsn_engine *e, const struct hsn_pending *m,
                  struct hsn_slot *slot, struct hsn_tx *tx)
{
    struct hsn_frame f = {
        .host = e->o.board,
        .to = m->board,
        .incarnation = e->o.incarnation,
        .sequence = m->sequence,
        .module = m->to,
        .data_len = (uint16_t)m->data.iov_len,
        .header_len = (uint16_t)m->header.iov_len,
        .fragment = m->next,
        .last = m->next + 1 == m->nfragments,
    };
    struct hsn_extent x = hsn_extent(&f);

    if (x.header_len)
        memcpy(slot->headers, m->header.iov_base, x.header_len);
    tx->part[0] = (struct iovec){
        x.data_len ? (uint8_t *)m->data.iov_base + x.data_at : NULL,
        x.data_len};
    tx->part[1] = (struct iovec){slot->headers, x.header_len};
    hsn_frame_put(&f, tx->part, 2, slot->headers + x.header_len);
    tx->part[1].iov_len += HSN_TRAILER;
    tx->type = HSN_TYPE;
    tx->subtype = 0;
}

/* Where the message goes.  False: nowhere any more. */
static bool find_route(struct hsn_engine *e, const struct hsn_pending *m,
                       struct hsn_tx *tx, struct hsn_routed **peer,
                       size_t *route)
{
    *peer = NULL;
    if (m->raw) {
        tx->route = m->route;
        tx->route_len = m->route_len;
        tx->type = m->type;
        tx->subtype = m->subtype;
        tx->part[0] = m->data;
        return true;
    }
    *peer = hsn_routes_find(&e->routes, m->board);
    if (!*peer)
        return false;
    *route = m->by && m->by <= (*peer)->nroutes
                 ? (*peer)->first + m->by - 1u
                 : hsn_routes_pick(*peer, m->flow ^ (uint32_t)e->o.board);
    tx->route = e->routes.routes[*route].byte;
    tx->route_len = e->routes.routes[*route].len;
    return true;
}

static void mark_busy(struct hsn_engine *e, uint32_t index, uint64_t now)
{
    struct hsn_slot *slot = &e->slots[e->free_slot];
    struct hsn_pending *m = &e->messages[index];

    slot->message = index;
    slot->state = HSN_SLOT_BUSY;
    slot->deadline = now + e->o.send_ns;
    e->free_slot = slot->next_free;
    e->nbusy++;
    m->busy++;
    if (++m->next == m->nfragments)
        pop_pending(e);
}

/* Give the next packet of the first pending message to the interface.  False:
 * it is busy. */
static bool send_next(struct hsn_engine *e, uint64_t now)
{
    uint32_t index = e->first;
    struct hsn_pending *m = &e->messages[index];
    struct hsn_tx tx = {.slot = e->free_slot};
    struct hsn_routed *peer;
    size_t route = 0;
    int error;

    if (!m->raw && m->board == e->o.board) {
        hsn_loop_back(e, m->to, &m->data, &m->header);
        drop_first(e, 0);
        return true;
    }
    if (e->free_slot >= e->o.send_slots)
        return false;
    if (!find_route(e, m, &tx, &peer, &route)) {
        HSN_ADD(&e->counts, no_route, 1);
        drop_first(e, ENETUNREACH);
        return true;
    }
    if (!m->raw)
        build(e, m, &e->slots[e->free_slot], &tx);
    error = e->ops->send(e->nic, &tx);
    if (error == EAGAIN)
        return false;
    if (error) {
        HSN_ADD(&e->counts, send_failed, 1);
        drop_first(e, error);
        return true;
    }
    HSN_ADD(&e->counts, sent, 1);
    HSN_ADD(&e->counts, sent_bytes, hsn_parts_len(tx.part, 2));
    if (peer) {
        peer->state.sent++;
        peer->state.in_use |= m->module != HSN_MODULE_ECHO;
        e->routes.states[route].sent++;
    }
    mark_busy(e, index, now);
    return true;
}

void hsn_output(struct hsn_engine *e, uint64_t now)
{
    if (e->output || e->stopped)
        return;
    e->output = true;
    reap(e);
    expire_pending(e, now);
    for (int i = 0; i < OUTPUT_MAX && e->first != HSN_NO_MESSAGE; i++)
        if (!send_next(e, now)) {
            e->ops->flush(e->nic);
            reap(e);
            if (e->first == HSN_NO_MESSAGE || !send_next(e, now))
                break;
        }
    if (!e->hold)
        e->ops->flush(e->nic);
    reap(e);
    expire_busy(e, now);
    e->output = false;
}

void hsn_engine_hold(struct hsn_engine *e, bool hold, uint64_t now)
{
    e->hold = hold;
    if (!hold)
        hsn_output(e, now);
}

/* A new message at the end of the pending queue; NULL with errno. */
static struct hsn_pending *new_pending(struct hsn_engine *e, uint64_t now)
{
    uint32_t index = e->free_message;
    struct hsn_pending *m;

    if (e->npending == e->o.pending_max || index == HSN_NO_MESSAGE) {
        HSN_ADD(&e->counts, refused_full, 1);
        errno = EAGAIN;
        return NULL;
    }
    m = &e->messages[index];
    e->free_message = m->chain;
    memset(m, 0, offsetof(struct hsn_pending, route));
    m->chain = HSN_NO_MESSAGE;
    m->deadline = now + e->o.send_ns;
    if (e->last != HSN_NO_MESSAGE)
        e->messages[e->last].chain = index;
    else
        e->first = index;
    e->last = index;
    e->npending++;
    return m;
}

static int refuse(struct hsn_engine *e, uint64_t *count, int error)
{
    if (count)
        ++*count;
    errno = error;
    return -1;
}

int hsn_engine_send(struct hsn_engine *e, uint16_t module,
                    const struct hsn_send *s, uint64_t now)
{
    unsigned n = hsn_fragments(s->data.iov_len, s->header.iov_len);
    struct hsn_pending *m;

    if (e->stopped)
        return refuse(e, NULL, ESHUTDOWN);
    if (!hsn_module_find(e, module))
        return refuse(e, NULL, ENOENT);
    if (n == 0)
        return refuse(e, &e->counts.n[HSN_COUNT_refused_size], EMSGSIZE);
    if (s->board != e->o.board && !hsn_routes_find(&e->routes, s->board))
        return refuse(e, &e->counts.n[HSN_COUNT_no_route], ENETUNREACH);
    m = new_pending(e, now);
    if (!m)
        return -1;
    m->board = s->board;
    m->data = s->data;
    m->header = s->header;
    m->cookie = s->cookie;
    m->module = module;
    m->to = s->to ? s->to : module;
    m->flow = s->flow ? s->flow : (uint32_t)m->module << 16 | m->to;
    m->by = s->by;
    m->nfragments = (uint8_t)n;
    m->sequence = e->sequence++;
    hsn_output(e, now);
    return 0;
}

int hsn_engine_send_raw(struct hsn_engine *e, const struct hsn_send_raw *s,
                        uint64_t now)
{
    struct hsn_pending *m;

    if (e->stopped)
        return refuse(e, NULL, ESHUTDOWN);
    if (s->payload.iov_len > HSN_MTU || s->route_len > HSN_ROUTE_MAX)
        return refuse(e, &e->counts.n[HSN_COUNT_refused_size], EMSGSIZE);
    if (!hsn_route_valid(s->route, s->route_len) || s->type >> 15)
        return refuse(e, NULL, EINVAL);
    m = new_pending(e, now);
    if (!m)
        return -1;
    m->raw = true;
    m->type = s->type;
    m->subtype = s->subtype;
    m->data = s->payload;
    m->cookie = s->cookie;
    m->nfragments = 1;
    m->route_len = (uint8_t)s->route_len;
    if (s->route_len)
        memcpy(m->route, s->route, s->route_len);
    hsn_output(e, now);
    return 0;
}

static bool is_of(const struct hsn_pending *m, int module)
{
    return module < 0 || (!m->raw && m->module == module);
}

/* Take the module's messages out of the pending queue; the first of them,
 * chained. */
static uint32_t take_pending(struct hsn_engine *e, int module)
{
    uint32_t *at = &e->first, taken = HSN_NO_MESSAGE, *end = &taken, index;

    e->last = HSN_NO_MESSAGE;
    while ((index = *at) != HSN_NO_MESSAGE) {
        struct hsn_pending *m = &e->messages[index];

        if (!is_of(m, module)) {
            e->last = index;
            at = &m->chain;
            continue;
        }
        *at = m->chain;
        *end = index;
        end = &m->chain;
        e->npending--;
    }
    *end = HSN_NO_MESSAGE;
    return taken;
}

static void cancel_pending(struct hsn_engine *e, int module)
{
    uint32_t index = take_pending(e, module), next;

    for (; index != HSN_NO_MESSAGE; index = next) {
        struct hsn_pending *m = &e->messages[index];

        next = m->chain;
        m->gone = true;
        m->error = ECANCELED;
        HSN_ADD(&e->counts, send_cancelled, 1);
        complete_if_over(e, index);
    }
}

void hsn_send_cancel(struct hsn_engine *e, int module)
{
    bool output = e->output;

    e->output = true; /* callbacks must not start sending now */
    cancel_pending(e, module);
    reap(e);
    for (uint32_t i = 0; e->nbusy && i < e->o.send_slots; i++) {
        if (e->slots[i].state != HSN_SLOT_BUSY ||
            !is_of(&e->messages[e->slots[i].message], module))
            continue;
        e->ops->cancel(e->nic, i);
        HSN_ADD(&e->counts, send_cancelled, 1);
        slot_done(e, i, ECANCELED);
    }
    e->output = output;
}
