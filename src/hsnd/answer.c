/* SPDX-License-Identifier: BSD-3-Clause
 * What hsnd answers on its socket.
 */
#include <errno.h>
#include <string.h>

#include "hsn/frame.h"
#include "hsnd/hsnd.h"

/* Each verb: an errno, or 0 and has put its answer. */
typedef int verb_f(struct conn *c, struct hsn_request *r, struct answer *a);

static int do_board(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct hsnd *d = c->d;
    const struct hsn_routes *routes = hsn_engine_routes(d->engine);
    const struct hsn_counts *n = hsn_engine_counts(d->engine);
    struct hsn_board_info b = {
        .address = d->board,
        .host_type = routes->host_type,
        .map_version = routes->map_version,
        .npeers = (uint32_t)routes->npeers,
        .configured = routes->configured,
        .link = d->nic->up,
        .simulated = hsn_nic_simulated(d->nic),
        .page_size = (uint32_t)d->conf.page_size,
        .counters = {.sent = n->n[HSN_COUNT_sent],
                     .received = n->n[HSN_COUNT_received],
                     .sent_bytes = n->n[HSN_COUNT_sent_bytes],
                     .received_bytes = n->n[HSN_COUNT_received_bytes],
                     .delivered = n->n[HSN_COUNT_delivered],
                     .lost = hsn_counts_lost(n)},
    };

    (void)r;
    memcpy(b.node, d->node, sizeof(b.node));
    hsn_board_put(&a->w, &b);
    return 0;
}

/* An endpoint is answered with the size of its rings. */
static int opened(struct conn *c, struct port *p, struct answer *a)
{
    if (!p)
        return errno;
    a->port = p;
    be_put64(&a->w, (uint64_t)c->d->conf.ring_kb * 1024);
    return 0;
}

static int do_open_raw(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct hsnd *d = c->d;
    struct port *p;

    if (r->a > 0x7fff || r->a == HSN_TYPE || r->a == HSN_TYPE_LOOP)
        return EINVAL;
    if (!hsnd_may_raw(c))
        return hsnd_refuse(c, "raw type", r->a, EPERM);
    if (d->raw[r->a])
        return EBUSY;
    p = port_new(c, PORT_RAW, (uint16_t)r->a, a->fds);
    if (p)
        d->raw[r->a] = p;
    return opened(c, p, a);
}

static int do_open_dgram(struct conn *c, struct hsn_request *r,
                         struct answer *a)
{
    struct hsnd *d = c->d;
    struct port *p;

    if (r->a > UINT16_MAX || r->a == HSN_MODULE_ECHO || r->a == HSN_MODULE_ELAN)
        return EINVAL;
    if (r->a < HSN_MODULE_FREE && !hsnd_may_dgram(c))
        return hsnd_refuse(c, "module", r->a, EPERM);
    if (d->dgram[r->a])
        return EBUSY;
    p = port_new(c, PORT_DGRAM, (uint16_t)r->a, a->fds);
    if (p && hsn_engine_open(d->engine, p->number, &port_dgram_ops, p) < 0) {
        port_end(p);
        return ENOMEM;
    }
    if (p)
        d->dgram[r->a] = p;
    return opened(c, p, a);
}

static int do_open_elan(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct port *p = NULL;
    int error = elan_attach(c, r, &p, a->fds);

    return error ? error : opened(c, p, a);
}

static int do_peer(struct conn *c, struct hsn_request *r, struct answer *a)
{
    const struct hsn_routes *routes = hsn_engine_routes(c->d->engine);
    const struct hsn_routed *peer = hsn_routes_find(routes, be_get64(&r->more));
    struct hsn_peer out;

    if (!be_reader_done(&r->more))
        return EPROTO;
    if (!peer)
        return EHOSTUNREACH;
    hsn_routes_export(routes, peer, &out);
    hsn_peer_put(&a->w, &out);
    return 0;
}

static verb_f *const verbs[HSN_VERBS] = {
    [HSN_BOARD] = do_board,
    [HSN_OPEN_RAW] = do_open_raw,
    [HSN_OPEN_DGRAM] = do_open_dgram,
    [HSN_OPEN_ELAN] = do_open_elan,
    [HSN_ROUTES_BEGIN] = hsnd_routes_begin,
    [HSN_ROUTES_ADD] = hsnd_routes_add,
    [HSN_ROUTES_END] = hsnd_routes_end,
    [HSN_PEER] = do_peer,
    [HSN_ROUTES_CHANGE] = hsnd_routes_begin,
    [HSN_PAGES] = hsnd_pages,
};

void hsnd_answer(struct conn *c, const void *buf, size_t len, struct answer *a)
{
    struct hsn_request r;
    int error = EPROTO;

    hsn_answer_begin(&a->w, a->buf, sizeof(a->buf), 0);
    if (hsn_request_get(&r, buf, len) == 0)
        error = verbs[r.verb](c, &r, a);
    if (error)
        hsn_answer_begin(&a->w, a->buf, sizeof(a->buf), error);
}
