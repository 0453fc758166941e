/* SPDX-License-Identifier: BSD-3-Clause
 * The receive queue: what each packet is, and whom it goes to.
 */
#include <stdlib.h>

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
            rx->buf[k] =
                (struct iovec){hsn_pages_get(&e->pages), e->pages.size};
            if (!rx->buf[k].iov_base)
                return -1;
        }
    }
    return 0;
}

void hsn_receive_free(struct hsn_engine *e)
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

unsigned hsn_receive(struct hsn_engine *e, uint64_t now)
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
