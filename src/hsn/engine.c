/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver: receiving, sending, its start and end, modules, and the table of
 * routes.
 */
#include "hsn/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/fragq.h"

#define HSN_NO_MESSAGE UINT32_MAX

struct hsn_module {
    struct hsn_module_ops ops;
    void *arg;
    uint16_t number;
    bool open;
};

/* A message between hsn_engine_send() and its completion. */
struct hsn_pending {
    uint64_t board;
    struct iovec data, header;
    uint64_t cookie;
    uint64_t deadline;
    uint32_t sequence, flow;
    int error;
    uint16_t module, to, type, subtype;
    uint8_t nfragments, next; /* packets in all; next one to go */
    uint8_t busy;             /* packets at the interface */
    uint8_t by;               /* route + 1 that it must take; 0: any */
    bool raw, gone;           /* gone: no packet of it leaves any more */
    uint8_t route_len;
    uint8_t route[HSN_ROUTE_MAX]; /* raw only */
    uint32_t chain;               /* next pending, or next free */
};

enum hsn_slot_state { HSN_SLOT_FREE, HSN_SLOT_BUSY };

/* A packet at the interface.  The second gather part, headers, lies here. */
struct hsn_slot {
    enum hsn_slot_state state;
    uint32_t message;
    uint32_t next_free;
    uint64_t deadline;
    uint8_t headers[HSN_HEADER_MAX + HSN_TRAILER];
};

struct hsn_engine {
    struct hsn_engine_options o;
    const struct hsn_nic_ops *ops;
    void *nic;
    struct hsn_module *modules;
    size_t nmodules;
    struct hsn_raw_ops raw;
    void *raw_arg;
    struct hsn_routes routes;
    struct hsn_counts counts;
    struct hsn_pages pages;
    uint32_t sequence;

    struct hsn_pending *messages; /* o.pending_max + o.send_slots */
    uint32_t free_message, first, last;
    unsigned npending;
    struct hsn_slot *slots;
    uint32_t free_slot;
    unsigned nbusy;
    bool output; /* hsn_output() is running */
    bool hold;   /* no flush now */
    bool stopped;

    struct hsn_rx *rx;
    struct hsn_fragq fragq;
    /* A lent half: it stays where it is as long as it is lent, for its partner
     * mostly is next. */
    struct hsn_rx *lent; /* NULL: none */
    struct hsn_frame lent_frame;
};

static struct hsn_module *hsn_module_find(struct hsn_engine *e,
                                          uint16_t number);

/* ---- rx ---------------------------------------------------------------- */

/* Places that packets arrive in, and how what lies in them comes to a module.
 */

/* Where the packet lies; returns how many parts. */
static size_t hsn_rx_parts(const struct hsn_rx *rx, struct iovec parts[2])
{
    size_t first = rx->buf[0].iov_len;

    if (rx->borrowed) {
        parts[0] = (struct iovec){(void *)(uintptr_t)rx->borrowed, rx->len};
        return 1;
    }
    parts[0] = rx->buf[0];
    if (rx->len <= first || rx->nbuf < 2) {
        parts[0].iov_len = rx->len < first ? rx->len : first;
        return 1;
    }
    parts[1] = (struct iovec){rx->buf[1].iov_base, rx->len - first};
    return 2;
}

/* A packet that the interface lent comes into our own buffers. */
static void hsn_rx_own(struct hsn_engine *e, struct hsn_rx *rx, size_t data_len)
{
    const uint8_t *from = rx->borrowed;
    size_t left = rx->len;

    if (!from)
        return;
    for (size_t k = 0; k < rx->nbuf && left > 0; k++) {
        size_t n = left < rx->buf[k].iov_len ? left : rx->buf[k].iov_len;

        memcpy(rx->buf[k].iov_base, from, n);
        from += n;
        left -= n;
    }
    HSN_ADD(&e->counts, copied_data, data_len);
    rx->borrowed = NULL;
}

/* Take the first n pages out of a place and replace them; false (nothing
 * happened) for lack of memory. */
static bool hsn_rx_take_pages(struct hsn_engine *e, struct hsn_rx *rx, size_t n,
                              void *page[2])
{
    void *fresh[2] = {NULL, NULL};

    for (size_t k = 0; k < n; k++) {
        fresh[k] = hsn_pages_get(&e->pages);
        if (!fresh[k]) {
            HSN_ADD(&e->counts, no_memory, 1);
            hsn_pages_put(&e->pages, fresh[0]);
            return false;
        }
    }
    page[0] = page[1] = NULL;
    for (size_t k = 0; k < n; k++) {
        page[k] = rx->buf[k].iov_base;
        rx->buf[k].iov_base = fresh[k];
    }
    return true;
}

/* The module header in one piece: where two buffers share it, it moves to the
 * beginning of the second. */
static struct iovec hsn_rx_header(struct hsn_engine *e,
                                  const struct iovec *parts, size_t at,
                                  size_t len)
{
    size_t first = parts[0].iov_len;
    uint8_t *second;

    if (at + len <= first)
        return (struct iovec){(uint8_t *)parts[0].iov_base + at, len};
    second = parts[1].iov_base;
    if (at >= first)
        return (struct iovec){second + (at - first), len};
    memmove(second + (first - at), second, len - (first - at));
    memcpy(second, (uint8_t *)parts[0].iov_base + at, first - at);
    HSN_ADD(&e->counts, copied_header, len);
    return (struct iovec){second, len};
}

static void hsn_deliver(struct hsn_engine *e, struct hsn_module *m,
                        const struct hsn_delivery *d)
{
    HSN_ADD(&e->counts, delivered, 1);
    m->ops.deliver(m->arg, d);
}

/* How many buffers of a place hold bytes [0, len). */
static size_t hsn_rx_pages_for(const struct hsn_rx *rx, size_t len)
{
    return rx->nbuf == 2 && len > rx->buf[0].iov_len ? 2 : 1;
}

/* ---- loop back --------------------------------------------------------- */

/* Messages to modules of the same board. */

/* A message to a module of the same board. */
static void hsn_loop_back(struct hsn_engine *e, uint16_t module,
                          const struct iovec *data, const struct iovec *header)
{
    struct hsn_module *m = hsn_module_find(e, module);
    struct hsn_delivery d = {.from = e->o.board,
                             .module = module,
                             .data[0] = *data,
                             .ndata = data->iov_len ? 1 : 0,
                             .header = *header};

    if (!m)
        HSN_ADD(&e->counts, no_module, 1);
    else
        hsn_deliver(e, m, &d);
}

/* ---- send -------------------------------------------------------------- */

/* Pending queue, send queue, completions. */

#define REAP 32         /* completions asked for at a time */
#define OUTPUT_MAX 1024 /* packets that one hsn_output() sends */

static int hsn_send_init(struct hsn_engine *e)
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

static void hsn_send_free(struct hsn_engine *e)
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

static void hsn_output(struct hsn_engine *e, uint64_t now)
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

/* Complete, with an error, all of a module (or all: -1). */
static void hsn_send_cancel(struct hsn_engine *e, int module)
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

/* ---- halves ------------------------------------------------------------ */

/* Messages of two packets: the first to come waits for the other, and both
 * become one message. */

static void free_half(struct hsn_engine *e, uint32_t index)
{
    struct hsn_half half = hsn_fragq_take(&e->fragq, index);

    hsn_pages_put(&e->pages, half.page[0]);
    hsn_pages_put(&e->pages, half.page[1]);
}

static void hsn_halves_free(struct hsn_engine *e)
{
    while (e->fragq.used)
        free_half(e, e->fragq.oldest);
    hsn_fragq_free(&e->fragq);
}

static void evict(struct hsn_engine *e, uint64_t host)
{
    uint32_t victim;

    while ((victim = hsn_fragq_victim(&e->fragq, host)) != HSN_FRAGQ_NONE) {
        free_half(e, victim);
        HSN_ADD(&e->counts, fragment_evicted, 1);
    }
}

/* The partner is not there: wait for it. */
static void keep_half(struct hsn_engine *e, const struct hsn_frame *f,
                      struct hsn_rx *rx, uint64_t now)
{
    struct hsn_extent x = hsn_extent(f);
    struct hsn_half half = {.frame = *f, .deadline = now + e->o.fragment_ns};

    hsn_rx_own(e, rx, x.data_len);
    if (!hsn_rx_take_pages(
            e, rx, hsn_rx_pages_for(rx, x.data_len + x.header_len), half.page))
        return;
    evict(e, f->host);
    hsn_fragq_add(&e->fragq, &half);
}

/* The parts of a half that waited. */
static void half_parts(const struct hsn_engine *e, const struct hsn_half *half,
                       struct iovec parts[2])
{
    parts[0] = (struct iovec){half->page[0], e->pages.size};
    parts[1] = (struct iovec){half->page[1], e->pages.size};
}

/* The data stays where it is, in two pieces. */
static void combine_in_place(struct hsn_engine *e, struct hsn_module *m,
                             const struct hsn_frame *f,
                             struct iovec parts[2][2])
{
    size_t rest = f->data_len - HSN_FRAGMENT;
    struct hsn_delivery d = {.from = f->host, .module = f->module, .ndata = 2};

    d.data[0] = (struct iovec){parts[0][0].iov_base, HSN_FRAGMENT};
    d.data[1] = (struct iovec){parts[1][0].iov_base, rest};
    d.header = hsn_rx_header(e, parts[1], rest, f->header_len);
    hsn_deliver(e, m, &d);
}

/* The partner is there, at index. */
static void combine(struct hsn_engine *e, struct hsn_module *m,
                    const struct hsn_frame *f, struct hsn_rx *rx,
                    uint32_t index)
{
    struct iovec parts[2][2];
    struct hsn_half half = hsn_fragq_take(&e->fragq, index);

    hsn_rx_parts(rx, parts[f->fragment]);
    half_parts(e, &half, parts[half.frame.fragment]);
    combine_in_place(e, m, f, parts);
    hsn_pages_put(&e->pages, half.page[0]);
    hsn_pages_put(&e->pages, half.page[1]);
}

/* Do two halves of one message contradict each other? */
static bool differ(const struct hsn_frame *a, const struct hsn_frame *b)
{
    return a->module != b->module || a->data_len != b->data_len ||
           a->header_len != b->header_len;
}

/* The lent half will be lent no longer: wait for its partner elsewhere. */
static void hsn_halves_keep_lent(struct hsn_engine *e, uint64_t now)
{
    if (e->lent)
        keep_half(e, &e->lent_frame, e->lent, now);
    e->lent = NULL;
}

/* Both halves are lent: nothing is copied.  False: they are no pair. */
static bool combine_lent(struct hsn_engine *e, struct hsn_module *m,
                         const struct hsn_frame *f, struct hsn_rx *rx)
{
    const struct hsn_frame *other = &e->lent_frame;
    struct iovec parts[2][2];

    if (!e->lent || !rx->borrowed || !hsn_fragq_same_message(other, f) ||
        other->fragment == f->fragment || differ(other, f))
        return false;
    hsn_rx_parts(rx, parts[f->fragment]);
    hsn_rx_parts(e->lent, parts[other->fragment]);
    e->lent = NULL;
    combine_in_place(e, m, f, parts);
    return true;
}

/* The partner is not there yet. */
static void first_half(struct hsn_engine *e, const struct hsn_frame *f,
                       struct hsn_rx *rx, uint64_t now)
{
    if (!rx->borrowed) {
        keep_half(e, f, rx, now);
        return;
    }
    e->lent = rx;
    e->lent_frame = *f;
}

static void hsn_halves_receive(struct hsn_engine *e, struct hsn_module *m,
                               const struct hsn_frame *f, struct hsn_rx *rx,
                               uint64_t now)
{
    const struct hsn_frame *other;
    uint32_t index;

    if (combine_lent(e, m, f, rx))
        return;
    hsn_halves_keep_lent(e, now);
    index = hsn_fragq_find(&e->fragq, f);
    if (index == HSN_FRAGQ_NONE) {
        first_half(e, f, rx, now);
        return;
    }
    other = &e->fragq.half[index].frame;
    if (other->fragment == f->fragment)
        HSN_ADD(&e->counts, fragment_duplicate, 1);
    else if (differ(other, f))
        HSN_ADD(&e->counts, fragment_mismatch, 1);
    else
        combine(e, m, f, rx, index);
}

static void hsn_halves_expire(struct hsn_engine *e, uint64_t now)
{
    while (e->fragq.used && e->fragq.half[e->fragq.oldest].deadline <= now) {
        struct hsn_routed *peer = hsn_routes_find(
            &e->routes, e->fragq.half[e->fragq.oldest].frame.host);

        if (peer)
            peer->state.expired++;
        free_half(e, e->fragq.oldest);
        HSN_ADD(&e->counts, fragment_expired, 1);
    }
}

/* ---- receive ----------------------------------------------------------- */

/* The receive queue: what each packet is, and whom it goes to. */

static int hsn_receive_init(struct hsn_engine *e)
{
    e->rx = calloc(e->o.rx_slots, sizeof(*e->rx));
    if (!e->rx || hsn_fragq_init(&e->fragq, e->o.halves_max) < 0)
        return -1;
    for (unsigned i = 0; i < e->o.rx_slots; i++) {
        struct hsn_rx *rx = &e->rx[i];

        rx->nbuf = HSN_MTU / e->pages.size;
        for (size_t k = 0; k < rx->nbuf; k++) {
            rx->buf[k] =
                (struct iovec){hsn_pages_get(&e->pages), e->pages.size};
            if (!rx->buf[k].iov_base)
                return -1;
        }
    }
    return 0;
}

static void hsn_receive_free(struct hsn_engine *e)
{
    hsn_halves_free(e);
    for (unsigned i = 0; e->rx && i < e->o.rx_slots; i++)
        for (size_t k = 0; k < e->rx[i].nbuf; k++)
            hsn_pages_put(&e->pages, e->rx[i].buf[k].iov_base);
    free(e->rx);
    e->rx = NULL;
}

/* [0, len) of what lies in parts; returns how many pieces. */
static size_t cut(struct iovec out[2], const struct iovec *parts, size_t len)
{
    out[0] = parts[0];
    if (len <= parts[0].iov_len) {
        out[0].iov_len = len;
        return len ? 1 : 0;
    }
    out[1] = (struct iovec){parts[1].iov_base, len - parts[0].iov_len};
    return 2;
}

/* The message is one packet. */
static void deliver_whole(struct hsn_engine *e, struct hsn_module *m,
                          const struct hsn_frame *f, struct hsn_rx *rx)
{
    struct hsn_delivery d = {.from = f->host, .module = f->module};
    struct iovec parts[2];

    hsn_rx_parts(rx, parts);
    d.ndata = cut(d.data, parts, f->data_len);
    d.header = hsn_rx_header(e, parts, f->data_len, f->header_len);
    hsn_deliver(e, m, &d);
}

static void receive_raw(struct hsn_engine *e, const struct hsn_rx *rx,
                        const struct iovec *parts, size_t nparts)
{
    if (e->raw.deliver &&
        e->raw.deliver(e->raw_arg, rx->type, rx->subtype, parts, nparts))
        HSN_ADD(&e->counts, raw_delivered, 1);
    else
        HSN_ADD(&e->counts, no_type, 1);
}

static void count_fault(struct hsn_engine *e, enum hsn_frame_fault fault)
{
    static const enum hsn_count counts[] = {
        [HSN_FRAME_SHORT] = HSN_COUNT_bad_short,
        [HSN_FRAME_VERSION] = HSN_COUNT_bad_version,
        [HSN_FRAME_CHECKSUM] = HSN_COUNT_bad_checksum,
        [HSN_FRAME_LIES] = HSN_COUNT_bad_fields,
    };

    e->counts.n[counts[fault]]++;
}

static void receive_packet(struct hsn_engine *e, struct hsn_rx *rx,
                           uint64_t now)
{
    struct iovec parts[2];
    size_t nparts = hsn_rx_parts(rx, parts);
    struct hsn_frame f;
    struct hsn_module *m;
    struct hsn_routed *peer;
    enum hsn_frame_fault fault;

    HSN_ADD(&e->counts, received, 1);
    HSN_ADD(&e->counts, received_bytes, rx->len);
    if (rx->type != HSN_TYPE) {
        receive_raw(e, rx, parts, nparts);
        return;
    }
    fault = hsn_frame_get(&f, parts, nparts);
    if (fault != HSN_FRAME_OK) {
        count_fault(e, fault);
        return;
    }
    if (f.to != e->o.board || f.host == e->o.board) {
        HSN_ADD(&e->counts, foreign, 1);
        return;
    }
    peer = hsn_routes_find(&e->routes, f.host);
    if (peer)
        peer->state.received++;
    m = hsn_module_find(e, f.module);
    if (!m)
        HSN_ADD(&e->counts, no_module, 1);
    else if (f.fragment == 0 && f.last)
        deliver_whole(e, m, &f, rx);
    else
        hsn_halves_receive(e, m, &f, rx, now);
}

static unsigned hsn_receive(struct hsn_engine *e, uint64_t now)
{
    size_t all = 0, n;

    do {
        n = e->ops->recv(e->nic, e->rx, e->o.batch - all);
        for (size_t i = 0; i < n; i++)
            receive_packet(e, &e->rx[i], now);
        hsn_halves_keep_lent(e, now);
        for (size_t i = 0; i < n; i++)
            e->rx[i].borrowed = NULL;
        if (n)
            e->ops->release(e->nic);
        all += n;
    } while (n && all < e->o.batch);
    return (unsigned)all;
}

/* ---- engine ------------------------------------------------------------ */

#define SECOND 1000000000ULL

static void set_default(unsigned *value, unsigned standard)
{
    if (*value == 0)
        *value = standard;
}

struct hsn_engine *hsn_engine_new(const struct hsn_engine_options *o,
                                  const struct hsn_nic_ops *ops, void *nic)
{
    struct hsn_engine *e;

    if (o->page_size != 4096 && o->page_size != 8192) {
        errno = EINVAL;
        return NULL;
    }
    e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->o = *o;
    set_default(&e->o.rx_slots, 64);
    set_default(&e->o.batch, 32);
    set_default(&e->o.pending_max, 256);
    set_default(&e->o.send_slots, 64);
    set_default(&e->o.halves_max, 256);
    if (e->o.fragment_ns == 0)
        e->o.fragment_ns = SECOND;
    if (e->o.send_ns == 0)
        e->o.send_ns = SECOND;
    if (e->o.batch > e->o.rx_slots)
        e->o.batch = e->o.rx_slots;
    e->ops = ops;
    e->nic = nic;
    e->sequence = o->sequence;
    hsn_pages_init(&e->pages, o->page_size, &o->memory);
    if (hsn_send_init(e) == 0 && hsn_receive_init(e) == 0)
        return e;
    hsn_engine_free(e);
    errno = ENOMEM;
    return NULL;
}

void hsn_engine_stop(struct hsn_engine *e)
{
    e->stopped = true;
    if (e->messages)
        hsn_send_cancel(e, -1);
    hsn_receive_free(e);
}

void hsn_engine_free(struct hsn_engine *e)
{
    if (!e)
        return;
    hsn_engine_stop(e);
    hsn_send_free(e);
    hsn_routes_free(&e->routes);
    free(e->modules);
    free(e);
}

static struct hsn_module *hsn_module_find(struct hsn_engine *e, uint16_t number)
{
    for (size_t i = 0; i < e->nmodules; i++)
        if (e->modules[i].open && e->modules[i].number == number)
            return &e->modules[i];
    return NULL;
}

/* A place in the table: one that is free, else a new one. */
static struct hsn_module *new_module(struct hsn_engine *e)
{
    struct hsn_module *more;

    for (size_t i = 0; i < e->nmodules; i++)
        if (!e->modules[i].open)
            return &e->modules[i];
    more = realloc(e->modules, (e->nmodules + 1) * sizeof(*more));
    if (!more)
        return NULL;
    e->modules = more;
    return &more[e->nmodules++];
}

int hsn_engine_open(struct hsn_engine *e, uint16_t module,
                    const struct hsn_module_ops *ops, void *arg)
{
    struct hsn_module *m;

    if (hsn_module_find(e, module)) {
        errno = EBUSY;
        return -1;
    }
    m = new_module(e);
    if (!m)
        return -1;
    *m = (struct hsn_module){
        .ops = *ops, .arg = arg, .number = module, .open = true};
    return 0;
}

void hsn_engine_close(struct hsn_engine *e, uint16_t module)
{
    struct hsn_module *m = hsn_module_find(e, module);

    if (!m)
        return;
    hsn_send_cancel(e, module);
    m->open = false;
}

void hsn_engine_raw(struct hsn_engine *e, const struct hsn_raw_ops *ops,
                    void *arg)
{
    e->raw = *ops;
    e->raw_arg = arg;
}

unsigned hsn_engine_wake(struct hsn_engine *e, uint64_t now)
{
    unsigned n = 0;

    if (e->stopped)
        return 0;
    n = hsn_receive(e, now);
    hsn_halves_expire(e, now);
    hsn_output(e, now);
    return n;
}

uint64_t hsn_engine_deadline(const struct hsn_engine *e)
{
    uint64_t at = UINT64_MAX;

    if (e->fragq.used)
        at = e->fragq.half[e->fragq.oldest].deadline;
    if (e->first != HSN_NO_MESSAGE && e->messages[e->first].deadline < at)
        at = e->messages[e->first].deadline;
    for (unsigned i = 0; e->nbusy && i < e->o.send_slots; i++)
        if (e->slots[i].state == HSN_SLOT_BUSY && e->slots[i].deadline < at)
            at = e->slots[i].deadline;
    return at;
}

void hsn_engine_set_routes(struct hsn_engine *e, struct hsn_routes *take)
{
    hsn_routes_free(&e->routes);
    e->routes = *take;
    *take = (struct hsn_routes){0};
}

const struct hsn_routes *hsn_engine_routes(const struct hsn_engine *e)
{
    return &e->routes;
}

struct hsn_routes *hsn_engine_routes_of(struct hsn_engine *e)
{
    return &e->routes;
}

void hsn_engine_levels(const struct hsn_engine *e, struct hsn_levels *l)
{
    *l = (struct hsn_levels){
        .pending = e->npending,
        .busy = e->nbusy,
        .rx_slots = e->o.rx_slots,
        .halves = e->fragq.used,
        .pages_allocated = e->pages.allocated,
        .pages_freed = e->pages.freed,
    };
    for (unsigned i = 0; e->rx && i < e->o.rx_slots; i++)
        l->rx_filled += e->rx[i].buf[e->rx[i].nbuf - 1].iov_base != NULL;
}

struct hsn_counts *hsn_engine_counts(struct hsn_engine *e)
{
    return &e->counts;
}
