/* SPDX-License-Identifier: BSD-3-Clause
 * Loading routes: from a connection, which collects them and hands all of them
 * over at once, or only those that changed; or from a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "hsnd/hsnd.h"

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

int hsnd_routes_begin(struct conn *c, struct hsn_request *r, struct answer *a)
{
    (void)a;
    if (!hsnd_may_raw(c))
        return hsnd_refuse(c, "routes of map", r->a, EPERM);
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

int hsnd_routes_add(struct conn *c, struct hsn_request *r, struct answer *a)
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

static int take_routes(struct hsnd *d, const struct hsn_peer *peers, size_t n,
                       uint32_t map_version, uint32_t host_type,
                       bool configured, struct errbuf *err)
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

int hsnd_routes_end(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct errbuf err;
    int error = 0;

    (void)r;
    (void)a;
    if (c->d->loader != c)
        return EPROTO;
    if (c->changing)
        error = take_changes(c);
    if (error == 0 && take_routes(c->d, c->peers, c->npeers, c->map_version,
                                  c->host_type, c->configured, &err) < 0) {
        error = errno;
        log_warn("SF-E801 routes are refused: %s", err.text);
    }
    if (error == 0)
        c->d->loaded_by = c;
    forget_load(c);
    return error;
}

/* The whole of a file of routes. */
int hsnd_routes_file(struct hsnd *d, const char *path, struct errbuf *err)
{
    size_t len, n;
    char *text = file_read(path, SF_HSN_ROUTES_SIZE_MAX, 0, &len, err);
    struct hsn_peer *peers = NULL;
    int rc = -1;

    if (text && hsn_routes_parse(path, text, len, &peers, &n, err) == 0)
        rc = take_routes(d, peers, n, 0, 0, true, err);
    free(peers);
    free(text);
    return rc;
}
