/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An explorer that begins with what a verifier has found true of an old map,
 * and has only the rest to ask: ports whose cable or host is gone, is another
 * one or is new, and whatever they lead to.
 *
 * What was verified is as good as what is explored: every cable was in a tour
 * that came home, every host said its name, every free port was asked.  The
 * end check closes all links to rings, old ones and new ones; if it fails,
 * everything is explored anew.
 */
#include <stdlib.h>

#include "mapper/explore_priv.h"
#include "mapper/verify.h"

struct after {
    struct explore *x;
    const struct verify *v;
    const struct net *old;
    struct net *net; /* it, less what is not true any more */
    uint32_t *rec;   /* node: its record, ATLAS_NONE: not reached */
    int *entry;      /* node: port of its record's slot 0 */
    uint32_t *queue;
    uint32_t n;
};

/* ---- what is still true -------------------------------------------------- */

static void take_out(struct net *net, const struct verify_change *c)
{
    switch (c->what) {
    case VERIFY_LINK_LOST:
        net_disconnect(net, c->node, (unsigned)c->port);
        break;
    case VERIFY_HOST_LOST:
    case VERIFY_HOST_OTHER:
    case VERIFY_XBAR_OTHER:
        net_disconnect_all(net, c->node);
        break;
    case VERIFY_HOST_NEW:
    case VERIFY_LINK_NEW:
    case VERIFY_MOVED:
        break;
    }
}

/* A crossbar that neither its id nor a host has named. */
static bool is_nameless(const struct after *a, uint32_t node)
{
    const struct net_node *n = &a->net->nodes[node];

    if (n->kind != NET_XBAR || n->has_id || node == verify_root(a->v))
        return false;
    for (unsigned p = 0; p < n->nports; p++) {
        uint32_t peer = net_peer_node(a->net, node, p);

        if (peer != NET_NONE && net_is_host(a->net, peer))
            return false;
    }
    return true;
}

/* Another crossbar may stand in its place: it is met anew.  So are the
 * nameless ones beside it, which are told by what they hang on. */
static void forget(struct after *a, uint32_t node)
{
    if (node == NET_NONE || !is_nameless(a, node))
        return;
    a->rec[node] = 0;
    a->queue[a->n++] = node;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t at = a->queue[i];

        for (unsigned p = 0; p < a->net->nodes[at].nports; p++) {
            uint32_t peer = net_peer_node(a->net, at, p);

            if (peer != NET_NONE && a->rec[peer] == ATLAS_NONE &&
                is_nameless(a, peer)) {
                a->rec[peer] = 0;
                a->queue[a->n++] = peer;
            }
        }
    }
    while (a->n > 0)
        net_disconnect_all(a->net, a->queue[--a->n]);
}

/* Whatever a change is at. */
static void forget_around(struct after *a, const struct verify_change *c)
{
    forget(a, c->node);
    if (c->what == VERIFY_LINK_LOST)
        forget(a, c->peer);
    if (c->what == VERIFY_XBAR_OTHER || net_is_host(a->old, c->node))
        for (unsigned p = 0; p < a->old->nodes[c->node].nports; p++)
            forget(a, net_peer_node(a->old, c->node, p));
}

static bool keep_true(struct after *a)
{
    const struct verify_change *c;

    a->net = net_copy(a->old);
    for (uint32_t i = 0; a->net && (c = verify_change(a->v, i)) != NULL; i++)
        take_out(a->net, c);
    for (uint32_t n = 0; a->net && n < a->net->nnodes; n++)
        if (net_is_host(a->net, n) && n != verify_me(a->v) &&
            !verify_host(a->v, n))
            net_disconnect_all(a->net, n);
    for (uint32_t i = 0; a->net && (c = verify_change(a->v, i)) != NULL; i++)
        forget_around(a, c);
    return a->net != NULL;
}

/* Something answered at a port that was free. */
static bool is_new(const struct verify *v, uint32_t node, int port)
{
    const struct verify_change *c;

    for (uint32_t i = 0; (c = verify_change(v, i)) != NULL; i++)
        if ((c->what == VERIFY_HOST_NEW || c->what == VERIFY_LINK_NEW ||
             c->what == VERIFY_MOVED) &&
            c->node == node && c->port == port)
            return true;
    return false;
}

/* Is it to be asked what is there now? */
static bool is_open(const struct after *a, uint32_t node, int port)
{
    const struct net_node *n = &a->old->nodes[node];

    if (port >= 0 && port < n->nports &&
        a->old->ports[n->first + (uint32_t)port].peer != NET_NONE)
        return true;
    return is_new(a->v, node, port);
}

/* Did anything come back by the crossbar on the own cable? */
static bool begins(const struct after *a)
{
    const struct net_node *root = &a->net->nodes[verify_root(a->v)];
    unsigned wired = 0;

    for (unsigned p = 0; p < root->nports; p++)
        wired += a->net->ports[root->first + p].peer != NET_NONE;
    return a->net->ports[a->net->nodes[verify_me(a->v)].first].peer !=
               NET_NONE &&
           wired > 1;
}

/* ---- into the atlas ------------------------------------------------------ */

static bool add_xbar(struct after *a, uint32_t node, uint32_t port,
                     struct atlas_ref from)
{
    const struct net_node *n = &a->net->nodes[node];
    struct atlas *atlas = &a->x->atlas;
    const struct probe_id id = {
        .id = n->id, .entry = (uint8_t)port, .nports = (uint8_t)n->nports};

    a->rec[node] = atlas_add(atlas, from);
    a->entry[node] = (int)port;
    a->queue[a->n++] = node;
    return a->rec[node] != ATLAS_NONE &&
           (!n->has_id || atlas_set_id(atlas, a->rec[node], &id));
}

static bool add_host(struct after *a, uint32_t node, struct atlas_ref at)
{
    struct atlas *atlas = &a->x->atlas;
    uint32_t host = atlas_host(
        atlas, node == verify_me(a->v) ? &a->x->me : verify_host(a->v, node));

    return host != ATLAS_NONE && atlas_set_host(atlas, at, host);
}

/* What a port of a crossbar leads to, nodes that are met first behind it. */
static bool add_port(struct after *a, uint32_t node, unsigned p)
{
    uint32_t q = a->net->ports[a->net->nodes[node].first + p].peer, far;
    struct atlas_ref at = {a->rec[node], (int)p - a->entry[node]}, to;

    if (q == NET_NONE)
        return true;
    far = a->net->ports[q].node;
    if (net_is_host(a->net, far))
        return add_host(a, far, at);
    if (a->rec[far] == ATLAS_NONE &&
        !add_xbar(a, far, net_port_number(a->net, q), at))
        return false;
    to.rec = a->rec[far];
    to.slot = (int)net_port_number(a->net, q) - a->entry[far];
    return atlas_set_link(&a->x->atlas, at, to);
}

static bool add_all(struct after *a)
{
    const struct net *net = a->net;
    uint32_t in = net->ports[net->nodes[verify_me(a->v)].first].peer;
    bool ok = atlas_host(&a->x->atlas, &a->x->me) == 0 &&
              add_xbar(a, verify_root(a->v), net_port_number(net, in),
                       (struct atlas_ref){ATLAS_NONE, 0});

    for (uint32_t i = 0; ok && i < a->n; i++)
        for (unsigned p = 0; ok && p < net->nodes[a->queue[i]].nports; p++)
            ok = add_port(a, a->queue[i], p);
    return ok;
}

/* Ports that were asked just now, and are free. */
static void settle_free(struct after *a, uint32_t node)
{
    struct atlas *atlas = &a->x->atlas;
    int first, last;

    atlas_window(atlas, &atlas->recs[a->rec[node]], &first, &last);
    for (int s = first; s <= last; s++) {
        struct atlas_ref at = {a->rec[node], s};
        struct atlas_slot *slot = atlas_slot(atlas, at);

        if (!slot || slot->state != SLOT_UNKNOWN ||
            is_open(a, node, s + a->entry[node]))
            continue;
        slot->state = SLOT_SILENT;
        slot->flags |= SLOT_NO_HOST | SLOT_NO_XBAR | SLOT_SURE;
    }
}

static void forget_records(struct after *a)
{
    for (uint32_t i = 0; i < a->old->nnodes; i++)
        a->rec[i] = ATLAS_NONE;
}

static bool fill(struct after *a)
{
    forget_records(a);
    if (!add_all(a))
        return false;
    for (uint32_t i = 0; i < a->n && !a->x->atlas.torn; i++)
        settle_free(a, a->queue[i]);
    a->x->supposed = true;
    explore_facts(a->x);
    return !a->x->failed;
}

bool explore_after(struct explore *x, const struct verify *v)
{
    uint32_t n = verify_map(v)->nnodes;
    struct after a = {.x = x, .v = v, .old = verify_map(v)};
    bool ok = false;

    if (verify_failed(v) || verify_root(v) == NET_NONE || x->limits.no_check)
        return true;
    a.rec = malloc((n + 1) * sizeof(*a.rec));
    a.entry = malloc((n + 1) * sizeof(*a.entry));
    a.queue = malloc((n + 1) * sizeof(*a.queue));
    if (a.rec && a.entry && a.queue) {
        forget_records(&a);
        ok = keep_true(&a) && (!begins(&a) || fill(&a));
    }
    net_free(a.net);
    free(a.rec);
    free(a.entry);
    free(a.queue);
    return ok;
}
