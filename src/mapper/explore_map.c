/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The finished map as a net, and what there is to say about it.
 */
#include "mapper/explore_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drawing {
    struct atlas *atlas;
    struct net *net;
    uint32_t *node_of; /* record: its node */
    int *port0;        /* record: slot of its port 0 */
};

static uint32_t draw_host(struct net *net, const struct probe_host *host)
{
    char name[32];

    snprintf(name, sizeof(name), "h%012" PRIx64, host->address);
    return net_add_host(net, host->name[0] ? host->name : name, host->address);
}

static bool is_told(const struct drawing *d, uint32_t rec)
{
    return d->atlas->recs[rec].name != 0;
}

/* One that no node has told. */
static void invent_name(const struct net *net, char *name, size_t size)
{
    uint32_t number = net->nxbars;

    do
        snprintf(name, size, "x%u", number++);
    while (net_find_name(net, name) != NET_NONE);
}

static bool draw_xbar(struct drawing *d, uint32_t rec)
{
    const struct atlas_rec *r = &d->atlas->recs[rec];
    unsigned ports = (unsigned)(r->hi - r->lo + 1);
    char name[32];
    const char *told = is_told(d, rec) ? d->atlas->names + r->name : name;

    d->port0[rec] = r->lo;
    if (r->entry >= 0 && r->nports) {
        ports = r->nports;
        d->port0[rec] = -r->entry;
    }
    if (!is_told(d, rec))
        invent_name(d->net, name, sizeof(name));
    d->node_of[rec] = net_add_xbar(d->net, told, ports, r->id);
    if (d->node_of[rec] == NET_NONE)
        return false;
    d->net->nodes[d->node_of[rec]].has_id = r->id != 0;
    return true;
}

/* The cable of one slot, drawn from the end that comes first. */
static bool draw_cable(struct drawing *d, uint32_t rec, int s)
{
    struct atlas *a = d->atlas;
    const struct atlas_slot *slot = atlas_slot(a, (struct atlas_ref){rec, s});
    unsigned port = (unsigned)(s - d->port0[rec]);
    struct atlas_ref far;
    uint32_t node;

    if (slot->state == SLOT_HOST) {
        const struct atlas_host *host = &a->hosts[slot->far];
        struct atlas_ref own = atlas_at(a, 0, 0);

        node = slot->far == 0 && rec == own.rec && s == own.slot
                   ? 0
                   : draw_host(d->net, &host->info);
        return node != NET_NONE &&
               net_connect(d->net, node, 0, d->node_of[rec], port);
    }
    if (slot->state != SLOT_LINK)
        return true;
    far = atlas_at(a, slot->far, slot->far_slot);
    if (far.rec < rec || (far.rec == rec && far.slot <= s))
        return true;
    return net_connect(d->net, d->node_of[rec], port, d->node_of[far.rec],
                       (unsigned)(far.slot - d->port0[far.rec]));
}

/* Those whose names were told, or the others. */
static bool draw_xbars(struct drawing *d, bool told)
{
    struct atlas *a = d->atlas;

    for (uint32_t rec = 0; rec < a->nrecs; rec++)
        if (is_told(d, rec) == told && atlas_lives(a, rec) &&
            !draw_xbar(d, rec))
            return false;
    return true;
}

static bool draw(struct drawing *d)
{
    struct atlas *a = d->atlas;

    if (!draw_xbars(d, true) || !draw_xbars(d, false))
        return false;
    for (uint32_t rec = 0; rec < a->nrecs; rec++) {
        const struct atlas_rec *r = &a->recs[rec];

        if (!atlas_lives(a, rec))
            continue;
        for (int s = r->lo; s <= r->hi; s++)
            if (!draw_cable(d, rec, s))
                return false;
    }
    return true;
}

static bool draw_opposite(const struct explore *x, struct net *net)
{
    uint32_t node;

    if (!x->has_opposite)
        return true;
    node = draw_host(net, &x->opposite);
    return node != NET_NONE && net_connect(net, 0, 0, node, 0);
}

struct net *explore_map(const struct explore *x)
{
    struct atlas *a = (struct atlas *)&x->atlas; /* shortens its signposts */
    struct drawing d = {.atlas = a, .net = net_new()};
    bool ok = false;

    d.node_of = calloc(a->nrecs + 1u, sizeof(*d.node_of));
    d.port0 = calloc(a->nrecs + 1u, sizeof(*d.port0));
    if (!x->failed && d.net && d.node_of && d.port0)
        ok = draw_host(d.net, &x->me) == 0 && draw_opposite(x, d.net) &&
             draw(&d);
    free(d.node_of);
    free(d.port0);
    if (ok)
        return d.net;
    net_free(d.net);
    return NULL;
}

const struct probe_host *explore_host(const struct explore *x, uint64_t address)
{
    uint32_t host = idmap_get(&x->atlas.by_address, address);

    if (x->has_opposite && x->opposite.address == address)
        return &x->opposite;
    if (address == x->me.address)
        return &x->me;
    return host == IDMAP_NONE ? NULL : &x->atlas.hosts[host].info;
}

const char *explore_doubt(const struct explore *x, uint32_t i)
{
    return i < x->ndoubts ? x->doubts[i] : NULL;
}

static void doubt_record(struct explore *x, uint32_t rec, unsigned number)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];
    int first, last, far = 0;

    atlas_window(&x->atlas, r, &first, &last);
    for (int s = first; s <= last; s++) {
        const struct atlas_slot *slot =
            atlas_slot(&x->atlas, (struct atlas_ref){rec, s});

        if (!slot)
            continue;
        if (slot->state == SLOT_XBAR)
            explore_add_doubt(x,
                              "crossbar x%u, port %d: leads to a crossbar "
                              "that could not be told",
                              number, s - (r->entry >= 0 ? -r->entry : r->lo));
        else if (slot->state < SLOT_XBAR && (slot->flags & SLOT_FAR))
            far++;
    }
    if (far > 0)
        explore_add_doubt(x,
                          "crossbar x%u, %u crossbars away: %d ports are out "
                          "of reach of the longest probe",
                          number, r->depth, far);
}

/* Hosts whose address answers in more than one place. */
static void doubt_addresses(struct explore *x)
{
    for (uint32_t rec = 0; x->wary && rec < x->atlas.nrecs; rec++) {
        const struct atlas_rec *r = &x->atlas.recs[rec];

        for (int s = r->lo; r->up == rec && s <= r->hi; s++) {
            struct atlas_ref at = {rec, s}, first;
            const struct atlas_slot *slot = atlas_slot(&x->atlas, at);
            const struct atlas_host *host;

            if (slot->state != SLOT_HOST)
                continue;
            host = &x->atlas.hosts[slot->far];
            first = atlas_at(&x->atlas, host->rec, host->slot);
            if (first.rec != rec || first.slot != s)
                explore_add_doubt(
                    x, "address %012" PRIx64 " answers in several places",
                    host->info.address);
        }
    }
}

void explore_doubts(struct explore *x)
{
    unsigned number = 0;

    doubt_addresses(x);
    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++)
        if (atlas_lives(&x->atlas, rec))
            doubt_record(x, rec, number++);
}

static void count_ports(const struct explore *x, struct explore_stats *stats)
{
    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++) {
        const struct atlas_rec *r = &x->atlas.recs[rec];

        if (r->up != rec)
            continue;
        stats->hosts += r->nhosts;
        stats->links += r->nlinks;
    }
    stats->links = stats->links / 2 + stats->hosts;
}

void explore_stats(const struct explore *x, struct explore_stats *stats)
{
    const struct window *w = &x->window;

    *stats = (struct explore_stats){
        .probes = w->sent,
        .retries = w->resent,
        .unanswered = w->unanswered,
        .crossbars = x->atlas.nlive,
        .merges = x->atlas.merges,
        .restarts = x->restarts,
        .rounds = x->round,
        .window = (uint32_t)w->size,
        .longest = w->longest,
        .wait = window_wait(w, PROBE_SCOUT),
        .bytes = x->atlas.bytes + window_bytes(w) +
                 x->cap_cases * sizeof(struct xcase),
    };
    memcpy(stats->by_kind, w->by_kind, sizeof(stats->by_kind));
    count_ports(x, stats);
}
