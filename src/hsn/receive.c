/* SPDX-License-Identifier: BSD-3-Clause
 * Receive queue, fragment queue, delivery.
 */
#include <stdlib.h>
#include <string.h>

#include "hsn/engine_priv.h"

int hsn_receive_init(struct hsn_engine *e)
{
    e->rx = calloc(e->o.rx_slots, sizeof(*e->rx));
    if (!e->rx || hsn_fragq_init(&e->fragq, e->o.halves_max) < 0)
        return -1;
    for (unsigned i = 0; i < e->o.rx_slots; i++) {
        struct hsn_rx *rx = &e->rx[i];

        rx->nbuf = HSN_MTU / e->pages.size;
        for (size_t k = 0; k < rx->nbuf; k++) {
            rx->buf[k] = (struct iovec){hsn_page_get(&e->pages), e->pages.size};
            if (!rx->buf[k].iov_base)
                return -1;
        }
    }
    return 0;
}

static void free_half(struct hsn_engine *e, uint32_t index)
{
    struct hsn_half half = hsn_fragq_take(&e->fragq, index);

    hsn_page_put(&e->pages, half.page[0]);
    hsn_page_put(&e->pages, half.page[1]);
}

void hsn_receive_free(struct hsn_engine *e)
{
    while (e->fragq.used)
        free_half(e, e->fragq.oldest);
    hsn_fragq_free(&e->fragq);
    for (unsigned i = 0; e->rx && i < e->o.rx_slots; i++)
        for (size_t k = 0; k < e->rx[i].nbuf; k++)
            hsn_page_put(&e->pages, e->rx[i].buf[k].iov_base);
    free(e->rx);
    e->rx = NULL;
}

/* Where the packet lies. */
static size_t rx_parts(const struct hsn_rx *rx, struct iovec parts[2])
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
static void own_packet(struct hsn_engine *e, struct hsn_rx *rx, size_t data_len)
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
static bool take_pages(struct hsn_engine *e, struct hsn_rx *rx, size_t n,
                       void *page[2])
{
    void *fresh[2] = {NULL, NULL};

    for (size_t k = 0; k < n; k++) {
        fresh[k] = hsn_page_get(&e->pages);
        if (!fresh[k]) {
            HSN_ADD(&e->counts, no_memory, 1);
            hsn_page_put(&e->pages, fresh[0]);
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
static struct iovec whole_header(struct hsn_engine *e,
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

static void deliver(struct hsn_engine *e, struct hsn_module *m,
                    const struct hsn_delivery *d)
{
    HSN_ADD(&e->counts, delivered, 1);
    e->pages.delivered += (d->page[0] != NULL) + (d->page[1] != NULL);
    m->ops.deliver(m->arg, d);
}

/* How many buffers of a place hold bytes [0, len). */
static size_t pages_for(const struct hsn_rx *rx, size_t len)
{
    return rx->nbuf == 2 && len > rx->buf[0].iov_len ? 2 : 1;
}

/* The message is one packet. */
static void deliver_whole(struct hsn_engine *e, struct hsn_module *m,
                          const struct hsn_frame *f, struct hsn_rx *rx)
{
    struct hsn_delivery d = {.from = f->host, .module = f->module};
    struct iovec parts[2];
    size_t len = (size_t)f->data_len + f->header_len;

    if (!m->ops.copies) {
        if (f->data_len > e->pages.size) {
            HSN_ADD(&e->counts, page_size, 1);
            return;
        }
        own_packet(e, rx, f->data_len);
    }
    rx_parts(rx, parts);
    d.ndata = cut(d.data, parts, f->data_len);
    d.header = whole_header(e, parts, f->data_len, f->header_len);
    if (!m->ops.copies && !take_pages(e, rx, pages_for(rx, len), d.page))
        return;
    deliver(e, m, &d);
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

    own_packet(e, rx, x.data_len);
    if (!take_pages(e, rx, pages_for(rx, x.data_len + x.header_len), half.page))
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

/* To a module that copies: the data stays where it is, in two pieces. */
static void combine_in_place(struct hsn_engine *e, struct hsn_module *m,
                             const struct hsn_frame *f,
                             struct iovec parts[2][2])
{
    size_t rest = f->data_len - HSN_FRAGMENT;
    struct hsn_delivery d = {.from = f->host, .module = f->module, .ndata = 2};

    d.data[0] = (struct iovec){parts[0][0].iov_base, HSN_FRAGMENT};
    d.data[1] = (struct iovec){parts[1][0].iov_base, rest};
    d.header = whole_header(e, parts[1], rest, f->header_len);
    deliver(e, m, &d);
}

/* To a module that gets pages: the second half of the data goes behind the
 * first, the module header to the beginning of the second buffer. */
static void combine_pages(struct hsn_engine *e, struct hsn_module *m,
                          const struct hsn_frame *f, void *first, void *second)
{
    size_t rest = f->data_len - HSN_FRAGMENT;
    struct hsn_delivery d = {.from = f->host,
                             .module = f->module,
                             .ndata = 1,
                             .data[0] = {first, f->data_len},
                             .header = {second, f->header_len},
                             .page = {first, second}};

    memcpy((uint8_t *)first + HSN_FRAGMENT, second, rest);
    memmove(second, (uint8_t *)second + rest, f->header_len);
    HSN_ADD(&e->counts, copied_data, rest);
    HSN_ADD(&e->counts, copied_header, f->header_len);
    if (f->header_len == 0) {
        hsn_page_put(&e->pages, second);
        d.page[1] = NULL;
    }
    deliver(e, m, &d);
}

/* The partner is there, at index. */
static void combine(struct hsn_engine *e, struct hsn_module *m,
                    const struct hsn_frame *f, struct hsn_rx *rx,
                    uint32_t index)
{
    struct iovec parts[2][2];
    struct hsn_half half;
    void *page[2];

    if (!m->ops.copies) {
        own_packet(e, rx, hsn_extent(f).data_len);
        if (!take_pages(e, rx, 1, page))
            return;
        half = hsn_fragq_take(&e->fragq, index);
        combine_pages(e, m, f, f->fragment == 0 ? page[0] : half.page[0],
                      f->fragment == 0 ? half.page[0] : page[0]);
        return;
    }
    half = hsn_fragq_take(&e->fragq, index);
    rx_parts(rx, parts[f->fragment]);
    half_parts(e, &half, parts[half.frame.fragment]);
    combine_in_place(e, m, f, parts);
    hsn_page_put(&e->pages, half.page[0]);
    hsn_page_put(&e->pages, half.page[1]);
}

/* Do two halves of one message contradict each other? */
static bool differ(const struct hsn_frame *a, const struct hsn_frame *b)
{
    return a->module != b->module || a->data_len != b->data_len ||
           a->header_len != b->header_len;
}

/* The lent half will be lent no longer: wait for its partner elsewhere. */
static void keep_lent(struct hsn_engine *e, uint64_t now)
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
    rx_parts(rx, parts[f->fragment]);
    rx_parts(e->lent, parts[other->fragment]);
    e->lent = NULL;
    combine_in_place(e, m, f, parts);
    return true;
}

/* The partner is not there yet. */
static void first_half(struct hsn_engine *e, const struct hsn_module *m,
                       const struct hsn_frame *f, struct hsn_rx *rx,
                       uint64_t now)
{
    if (!m->ops.copies || !rx->borrowed) {
        keep_half(e, f, rx, now);
        return;
    }
    e->lent = rx;
    e->lent_frame = *f;
}

static void receive_fragment(struct hsn_engine *e, struct hsn_module *m,
                             const struct hsn_frame *f, struct hsn_rx *rx,
                             uint64_t now)
{
    const struct hsn_frame *other;
    uint32_t index;

    if (!m->ops.copies && f->data_len > e->pages.size) {
        HSN_ADD(&e->counts, page_size, 1);
        return;
    }
    if (combine_lent(e, m, f, rx))
        return;
    keep_lent(e, now);
    index = hsn_fragq_find(&e->fragq, f);
    if (index == HSN_FRAGQ_NONE) {
        first_half(e, m, f, rx, now);
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
    size_t nparts = rx_parts(rx, parts);
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
        receive_fragment(e, m, &f, rx, now);
}

unsigned hsn_receive(struct hsn_engine *e, uint64_t now)
{
    size_t all = 0, n;

    do {
        n = e->ops->recv(e->nic, e->rx, e->o.batch - all);
        for (size_t i = 0; i < n; i++)
            receive_packet(e, &e->rx[i], now);
        keep_lent(e, now);
        for (size_t i = 0; i < n; i++)
            e->rx[i].borrowed = NULL;
        if (n)
            e->ops->release(e->nic);
        all += n;
    } while (n && all < e->o.batch);
    return (unsigned)all;
}

void hsn_expire(struct hsn_engine *e, uint64_t now)
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

/* The sender's memory is read, so that a page is made where one is due. */
static void loop_back_pages(struct hsn_engine *e, struct hsn_module *m,
                            struct hsn_delivery *d)
{
    size_t data = d->data[0].iov_len, header = d->header.iov_len;
    bool two = data + header > e->pages.size;

    if (data > e->pages.size) {
        HSN_ADD(&e->counts, page_size, 1);
        return;
    }
    d->page[0] = hsn_page_get(&e->pages);
    d->page[1] = two ? hsn_page_get(&e->pages) : NULL;
    if (!d->page[0] || (two && !d->page[1])) {
        HSN_ADD(&e->counts, no_memory, 1);
        hsn_page_put(&e->pages, d->page[0]);
        hsn_page_put(&e->pages, d->page[1]);
        return;
    }
    if (data)
        memcpy(d->page[0], d->data[0].iov_base, data);
    d->data[0].iov_base = d->page[0];
    HSN_ADD(&e->counts, copied_data, data);
    if (header) {
        void *to = two ? d->page[1] : (uint8_t *)d->page[0] + data;

        d->header.iov_base = memcpy(to, d->header.iov_base, header);
    }
    deliver(e, m, d);
}

void hsn_loop_back(struct hsn_engine *e, uint16_t module,
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
    else if (m->ops.copies)
        deliver(e, m, &d);
    else
        loop_back_pages(e, m, &d);
}
