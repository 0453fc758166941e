/* SPDX-License-Identifier: BSD-3-Clause
 * What hsnd answers on its socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "hsn/frame.h"
#include "hsnd/hsnd.h"

/* Each verb: an errno, or 0 and has put its answer. */
typedef int verb_f(struct conn *c, struct hsn_request *r, struct answer *a);

static bool may_raw(struct conn *c)
{
    struct hsnd *d = c->d;

    return hsnd_privileged(c->fd, c->uid, d->raw_gid, d->has_raw_gid);
}

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

static int refuse(struct conn *c, const char *what, uint32_t number, int error)
{
    c->d->counts.refused_port++;
    log_info("uid %u may not open %s %#x: %s", (unsigned)c->uid, what, number,
             strerror(error));
    return error;
}

static int do_open_raw(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct hsnd *d = c->d;
    struct port *p;

    if (r->a > 0x7fff || r->a == HSN_TYPE)
        return EINVAL;
    if (!may_raw(c))
        return refuse(c, "raw type", r->a, EPERM);
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
    if (r->a < HSN_MODULE_FREE &&
        !hsnd_privileged(c->fd, c->uid, d->dgram_gid, d->has_dgram_gid))
        return refuse(c, "module", r->a, EPERM);
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

static void forget_load(struct conn *c)
{
    free(c->peers);
    c->peers = NULL;
    c->npeers = 0;
    c->changing = false;
    if (c->d->loader == c)
        c->d->loader = NULL;
}

void hsnd_load_gone(struct conn *c)
{
    forget_load(c);
    if (c->d->loaded_by == c)
        c->d->loaded_by = NULL;
}

static int do_routes_begin(struct conn *c, struct hsn_request *r,
                           struct answer *a)
{
    (void)a;
    if (!may_raw(c))
        return refuse(c, "routes of map", r->a, EPERM);
    if (c->d->loader && c->d->loader != c)
        return EAGAIN;
    forget_load(c);
    c->d->loader = c;
    c->map_version = r->a;
    c->host_type = r->b;
    c->configured = be_get8(&r->more) != 0;
    if (r->verb == HSN_ROUTES_CHANGE) {
        uint32_t version = hsn_engine_routes(c->d->engine)->map_version;

        c->changing = true;
        if (c->d->loaded_by != c || be_get32(&r->more) != version) {
            forget_load(c);
            return ESTALE;
        }
    }
    return be_reader_done(&r->more) ? 0 : EPROTO;
}

static int do_routes_add(struct conn *c, struct hsn_request *r,
                         struct answer *a)
{
    struct hsn_peer *more;

    (void)a;
    if (c->d->loader != c)
        return EPROTO;
    while (r->more.left) {
        if (c->npeers == HSN_PEERS_MAX)
            return E2BIG;
        if ((c->npeers & (c->npeers - 1)) == 0) {
            more = realloc(c->peers,
                           (c->npeers ? 2 * c->npeers : 1) * sizeof(*c->peers));
            if (!more)
                return ENOMEM;
            c->peers = more;
        }
        if (hsn_peer_get(&r->more, &c->peers[c->npeers]) < 0)
            return EPROTO;
        c->npeers++;
    }
    return 0;
}

int hsnd_routes_take(struct hsnd *d, const struct hsn_peer *peers, size_t n,
                     uint32_t map_version, uint32_t host_type, bool configured,
                     struct errbuf *err)
{
    struct hsn_routes r;

    if (hsn_routes_make(&r, peers, n, hsn_engine_routes(d->engine), err) < 0)
        return -1;
    r.map_version = map_version;
    r.host_type = host_type;
    r.configured = configured;
    hsn_engine_set_routes(d->engine, &r);
    d->loaded_by = NULL;
    log_info("routes of map %" PRIu32 " to %zu boards%s", map_version, n,
             configured ? ", complete" : "");
    return 0;
}

/* Those that are loaded with the changes in their places.  NULL: no memory. */
static struct hsn_peer *changed(const struct conn *c, size_t *n)
{
    const struct hsn_routes *old = hsn_engine_routes(c->d->engine);
    struct hsn_peer *all = calloc(old->npeers + c->npeers + 1, sizeof(*all));
    bool *gone = calloc(old->npeers + 1, sizeof(*gone));

    *n = 0;
    for (size_t i = 0; all && gone && i < c->npeers; i++) {
        const struct hsn_routed *was =
            hsn_routes_find(old, c->peers[i].address);

        if (was)
            gone[was - old->peers] = true;
        if (c->peers[i].nroutes > 0)
            all[(*n)++] = c->peers[i];
    }
    for (size_t i = 0; all && gone && i < old->npeers; i++)
        if (!gone[i])
            hsn_routes_export(old, &old->peers[i], &all[(*n)++]);
    if (!gone) {
        free(all);
        all = NULL;
    }
    free(gone);
    return all;
}

static int take_changes(struct conn *c)
{
    size_t n;
    struct hsn_peer *all = changed(c, &n);

    if (!all)
        return ENOMEM;
    free(c->peers);
    c->peers = all;
    c->npeers = n;
    return n > HSN_PEERS_MAX ? E2BIG : 0;
}

static int do_routes_end(struct conn *c, struct hsn_request *r,
                         struct answer *a)
{
    struct errbuf err;
    int error = 0;

    (void)r;
    (void)a;
    if (c->d->loader != c)
        return EPROTO;
    if (c->changing)
        error = take_changes(c);
    if (error == 0 &&
        hsnd_routes_take(c->d, c->peers, c->npeers, c->map_version,
                         c->host_type, c->configured, &err) < 0) {
        error = errno;
        log_warn("SF-E801 routes are refused: %s", err.text);
    }
    if (error == 0)
        c->d->loaded_by = c;
    forget_load(c);
    return error;
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
    [HSN_ROUTES_BEGIN] = do_routes_begin,
    [HSN_ROUTES_ADD] = do_routes_add,
    [HSN_ROUTES_END] = do_routes_end,
    [HSN_PEER] = do_peer,
    [HSN_ROUTES_CHANGE] = do_routes_begin,
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

/* The whole of a file of routes. */
int hsnd_routes_file(struct hsnd *d, const char *path, struct errbuf *err)
{
    FILE *f = fopen(path, "re");
    char *text = f ? malloc(SF_HSN_ROUTES_SIZE_MAX) : NULL;
    struct hsn_peer *peers = NULL;
    size_t len, n;
    int rc = -1;

    if (!f || !text) {
        errprintf(err, "%s: %s", path, strerror(errno));
    } else {
        len = fread(text, 1, SF_HSN_ROUTES_SIZE_MAX, f);
        if (hsn_routes_parse(path, text, len, &peers, &n, err) == 0)
            rc = hsnd_routes_take(d, peers, n, 0, 0, true, err);
    }
    free(peers);
    free(text);
    if (f)
        fclose(f);
    return rc;
}
