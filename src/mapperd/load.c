/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes into hsnd, and the map into its file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/bytebuf.h"
#include "base/file.h"
#include "base/clock.h"
#include "base/log.h"
#include "mapperd/mapperd.h"
#include "mapperd/netfile.h"
#include "net/format.h"

/* ---- what differs -------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const struct hsn_peer *x = *(const struct hsn_peer *const *)a;
    const struct hsn_peer *y = *(const struct hsn_peer *const *)b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static bool same_peer(const struct hsn_peer *a, const struct hsn_peer *b)
{
    if (a->host_type != b->host_type || a->neighbour != b->neighbour ||
        a->nroutes != b->nroutes)
        return false;
    for (unsigned i = 0; i < a->nroutes; i++)
        if (a->route[i].len != b->route[i].len ||
            memcmp(a->route[i].byte, b->route[i].byte, a->route[i].len) != 0)
            return false;
    return true;
}

static const struct hsn_peer **sorted(const struct hsn_peer *peers, size_t n)
{
    const struct hsn_peer **list = malloc((n + 1) * sizeof(*list));

    for (size_t i = 0; list && i < n; i++)
        list[i] = &peers[i];
    if (list)
        qsort(list, n, sizeof(*list), by_address);
    return list;
}

static bool holds(const struct hsn_peer **list, size_t n,
                  const struct hsn_peer *peer, const struct hsn_peer **found)
{
    const struct hsn_peer **at =
        bsearch(&peer, list, n, sizeof(*list), by_address);

    *found = at ? *at : NULL;
    return at != NULL;
}

/* What to say to hsnd, whose routes are `old`, so that it has `now`: how many,
 * in *out (the caller's own); -1: no memory. */
static ssize_t changes(const struct hsn_peer *old, size_t nold,
                       const struct hsn_peer *now, size_t nnow,
                       struct hsn_peer **out)
{
    const struct hsn_peer **was = sorted(old, nold), **is = sorted(now, nnow);
    const struct hsn_peer *found;
    ssize_t n = -1;

    *out = calloc(nold + nnow + 1, sizeof(**out));
    if (was && is && *out) {
        n = 0;
        for (size_t i = 0; i < nnow; i++)
            if (!holds(was, nold, &now[i], &found) ||
                !same_peer(found, &now[i]))
                (*out)[n++] = now[i];
        for (size_t i = 0; i < nold; i++)
            if (!holds(is, nnow, &old[i], &found))
                (*out)[n++].address = old[i].address;
    }
    free(was);
    free(is);
    return n;
}

/* ---- loading ------------------------------------------------------------- */

static void loaded(struct mapperd *d, size_t said)
{
    d->loaded = true;
    d->peers_said += said;
    log_paced(&d->told, clock_ns(), log_info,
              "routes to %zu hosts of map %u are loaded, %zu said", d->npeers,
              d->loaded_version, said);
}

void mapperd_load_again(struct mapperd *d)
{
    if (!d->board || !d->peers)
        return;
    d->loaded = false;
    if (hsn_load_routes(d->board, d->loaded_version, d->loaded_type,
                        d->configured, d->peers, d->npeers) == 0)
        loaded(d, d->npeers);
    else if (errno == EAGAIN)
        ev_timer_again(d->loop, &d->reload);
    else
        log_error("SF-E853 hsnd does not take the routes: %s", strerror(errno));
}

/* hsnd has `old` of us: say what is different.  False: say all. */
static bool change(struct mapperd *d, const struct hsn_peer *old, size_t nold,
                   uint32_t from)
{
    struct hsn_peer *out = NULL;
    ssize_t n = changes(old, nold, d->peers, d->npeers, &out);
    bool done =
        n >= 0 && (size_t)n < d->npeers &&
        hsn_change_routes(d->board, from, d->loaded_version, d->loaded_type,
                          d->configured, out, (size_t)n) == 0;

    if (done)
        loaded(d, (size_t)n);
    free(out);
    return done;
}

void mapperd_load(struct mapperd *d, struct hsn_peer *peers, size_t n,
                  uint32_t version, bool configured)
{
    struct hsn_peer *old = d->peers;
    size_t nold = d->npeers;
    uint32_t from = d->loaded_version;

    d->peers = peers;
    d->npeers = n;
    d->loaded_version = version;
    d->loaded_type = (uint32_t)d->settings.host_type;
    d->configured = configured;
    if (!d->board || !d->loaded || !change(d, old, nold, from))
        mapperd_load_again(d);
    free(old);
}

/* ---- the map into its file ----------------------------------------------- */

struct net *mapperd_named_map(const struct mapperd *d, const struct net *net)
{
    struct net *given = names_give(d->names, net);
    struct net *named = given ? net_copy_named(given) : NULL;

    net_free(given);
    return named;
}

void mapperd_write_map(struct mapperd *d, const struct net *net)
{
    struct errbuf err = {"no memory"};
    struct net *named;
    struct bytebuf text;

    if (!d->settings.map_file || !net)
        return;
    bytebuf_init(&text, SF_NET_FILE_MAX);
    named = mapperd_named_map(d, net);
    if (!named)
        return;
    net_write_text(named, &text);
    net_free(named);
    if (text.bad ||
        file_replace(d->settings.map_file, bytebuf_data(&text),
                     bytebuf_len(&text), 0666, FILE_UMASK, &err) < 0)
        log_warn("SF-E854 cannot write the map: %s", err.text);
    bytebuf_free(&text);
}
