/* SPDX-License-Identifier: BSD-3-Clause
 * See align.h.
 */
#include "net/align.h"

#include <stdlib.h>
#include <string.h>

struct align {
    const struct net *old, *now;
    uint32_t *pair; /* of each node now */
    int *shift;
    bool *taken; /* nodes of old */
    bool loose;  /* old need not know the ids of crossbars */
    uint32_t *queue, nqueue;
};

static bool same_kind(const struct align *a, const struct net_node *now,
                      const struct net_node *old)
{
    if (now->kind != old->kind)
        return false;
    if (now->kind == NET_HOST || (a->loose && !old->has_id))
        return true;
    return now->has_id == old->has_id && (!now->has_id || now->id == old->id);
}

static void take(struct align *a, uint32_t n, uint32_t old, int shift)
{
    if (a->pair[n] != NET_NONE || old == NET_NONE || a->taken[old] ||
        !same_kind(a, &a->now->nodes[n], &a->old->nodes[old]))
        return;
    a->pair[n] = old;
    a->shift[n] = shift;
    a->taken[old] = true;
    if (a->now->nodes[n].kind == NET_XBAR)
        a->queue[a->nqueue++] = n;
}

static void take_known(struct align *a)
{
    for (uint32_t n = 0; n < a->now->nnodes; n++) {
        const struct net_node *node = &a->now->nodes[n];

        if (node->kind == NET_HOST)
            take(a, n, net_find_host(a->old, node->id), 0);
        else if (node->has_id)
            take(a, n, net_find_xbar(a->old, node->id), 0);
    }
}

/* Where the host on a port was: crossbar and port there; NET_NONE. */
static uint32_t place_before(const struct align *a, uint32_t host,
                             unsigned *port)
{
    uint32_t x = NET_NONE;

    if (net_is_host(a->now, host) && a->pair[host] != NET_NONE)
        x = net_peer_node(a->old, a->pair[host], 0);
    if (x != NET_NONE)
        *port = net_peer_port(a->old, a->pair[host], 0);
    return x;
}

/* What most hosts of a crossbar say (Boyer and Moore's vote). */
static void take_by_hosts(struct align *a, uint32_t n)
{
    const struct net_node *node = &a->now->nodes[n];
    uint32_t best = NET_NONE;
    int best_shift = 0, votes = 0;

    for (unsigned p = 0; p < node->nports; p++) {
        uint32_t host = net_peer_node(a->now, n, p), x;
        unsigned port = 0;
        int shift;

        if (host == NET_NONE)
            continue;
        x = place_before(a, host, &port);
        if (x == NET_NONE || net_is_host(a->old, x))
            continue;
        shift = (int)port - (int)p;
        if (votes == 0) {
            best = x;
            best_shift = shift;
        }
        votes += x == best && shift == best_shift ? 1 : -1;
    }
    take(a, n, best, best_shift);
}

/* The crossbars at the other ends of one that is known. */
static void take_neighbours(struct align *a, uint32_t n)
{
    const struct net_node *was = &a->old->nodes[a->pair[n]];

    for (unsigned p = 0; p < a->now->nodes[n].nports; p++) {
        uint32_t far = net_peer_node(a->now, n, p), before;
        int at = (int)p + a->shift[n];

        if (far == NET_NONE || net_is_host(a->now, far) || at < 0 ||
            at >= was->nports)
            continue;
        before = net_peer_node(a->old, a->pair[n], (unsigned)at);
        if (before != NET_NONE && !net_is_host(a->old, before))
            take(a, far, before,
                 (int)net_peer_port(a->old, a->pair[n], (unsigned)at) -
                     (int)net_peer_port(a->now, n, p));
    }
}

static bool align(const struct net *old, const struct net *now, bool loose,
                  uint32_t *pair, int *shift)
{
    struct align a = {
        .old = old, .now = now, .pair = pair, .shift = shift, .loose = loose};
    uint32_t next = 0;
    bool ok;

    a.taken = calloc(old->nnodes + 1, sizeof(*a.taken));
    a.queue = malloc((now->nnodes + 1) * sizeof(*a.queue));
    ok = a.taken && a.queue;
    if (ok) {
        memset(pair, 0xff, now->nnodes * sizeof(*pair));
        memset(shift, 0, now->nnodes * sizeof(*shift));
        take_known(&a);
        for (uint32_t n = 0; n < now->nnodes; n++)
            if (now->nodes[n].kind == NET_XBAR)
                take_by_hosts(&a, n);
        while (next < a.nqueue)
            take_neighbours(&a, a.queue[next++]);
    }
    free(a.taken);
    free(a.queue);
    return ok;
}

bool net_align(const struct net *old, const struct net *now, uint32_t *pair,
               int *shift)
{
    return align(old, now, false, pair, shift);
}

/* ---- a copy in the old order --------------------------------------------- */

/* Do all its cables find their ports in the counterpart? */
static bool fits(const struct net *old, const struct net *now, uint32_t n,
                 uint32_t was, int shift)
{
    for (unsigned p = 0; p < now->nodes[n].nports; p++) {
        int at = (int)p + shift;

        if (net_peer_node(now, n, p) != NET_NONE &&
            (at < 0 || at >= old->nodes[was].nports))
            return false;
    }
    return !now->nodes[n].has_id ||
           now->nodes[n].nports == old->nodes[was].nports;
}

struct copy {
    const struct net *now;
    struct net *net;
    uint32_t *pair; /* of each node now: its node of old */
    uint32_t *to;   /* of each node now: its node in the copy */
    int *shift;
};

static bool copy_begin(struct copy *c, const struct net *old,
                       const struct net *now, bool loose)
{
    const size_t n = now->nnodes + 1;

    *c = (struct copy){.now = now, .net = net_new()};
    c->pair = malloc(n * sizeof(*c->pair));
    c->to = malloc(n * sizeof(*c->to));
    c->shift = malloc(n * sizeof(*c->shift));
    if (!c->net || !c->pair || !c->to || !c->shift ||
        !align(old, now, loose, c->pair, c->shift))
        return false;
    memset(c->to, 0xff, now->nnodes * sizeof(*c->to));
    return true;
}

static struct net *copy_end(struct copy *c, bool ok)
{
    free(c->pair);
    free(c->to);
    free(c->shift);
    if (ok)
        return c->net;
    net_free(c->net);
    return NULL;
}

static bool add(struct copy *c, uint32_t n, const char *name, unsigned nports,
                int shift)
{
    const struct net_node *node = &c->now->nodes[n];

    c->shift[n] = shift;
    c->to[n] = node->kind == NET_HOST
                   ? net_add_host(c->net, name, node->id)
                   : net_add_xbar(c->net, name, nports, node->id);
    if (c->to[n] == NET_NONE)
        return false;
    c->net->nodes[c->to[n]].has_id = node->has_id;
    c->net->nodes[c->to[n]].plane = node->plane;
    return true;
}

static bool add_hosts(struct copy *c)
{
    for (uint32_t n = 0; n < c->now->nnodes; n++)
        if (net_is_host(c->now, n) && !add(c, n, c->now->nodes[n].name, 1, 0))
            return false;
    return true;
}

/* back[]: of each old node the one now. */
static bool add_xbars(struct copy *c, const struct net *old,
                      const uint32_t *back)
{
    for (uint32_t o = 0; o < old->nnodes; o++)
        if (back[o] != NET_NONE &&
            !add(c, back[o], c->now->nodes[back[o]].name, old->nodes[o].nports,
                 c->shift[back[o]]))
            return false;
    for (uint32_t n = 0; n < c->now->nnodes; n++)
        if (c->to[n] == NET_NONE &&
            !add(c, n, c->now->nodes[n].name, c->now->nodes[n].nports, 0))
            return false;
    return true;
}

static bool add_cables(struct copy *c)
{
    const struct net *now = c->now;

    for (uint32_t p = 0; p < now->nports; p++) {
        uint32_t q = now->ports[p].peer, a = now->ports[p].node, b;

        if (q == NET_NONE || q < p)
            continue;
        b = now->ports[q].node;
        if (!net_connect(
                c->net, c->to[a],
                (unsigned)((int)net_port_number(now, p) + c->shift[a]),
                c->to[b],
                (unsigned)((int)net_port_number(now, q) + c->shift[b])))
            return false;
    }
    return true;
}

/* pair[] turned round, of crossbars that fit. */
static void turn_round(const struct net *old, const struct net *now,
                       const uint32_t *pair, const int *shift, uint32_t *back)
{
    memset(back, 0xff, old->nnodes * sizeof(*back));
    for (uint32_t n = 0; n < now->nnodes; n++)
        if (now->nodes[n].kind == NET_XBAR && pair[n] != NET_NONE &&
            fits(old, now, n, pair[n], shift[n]))
            back[pair[n]] = n;
}

struct net *net_align_copy(const struct net *old, const struct net *now)
{
    uint32_t *back = malloc((old->nnodes + 1) * sizeof(*back));
    struct copy c;
    bool ok = copy_begin(&c, old, now, false) && back;

    if (ok) {
        turn_round(old, now, c.pair, c.shift, back);
        ok = add_hosts(&c) && add_xbars(&c, old, back) && add_cables(&c);
    }
    free(back);
    return copy_end(&c, ok);
}

/* ---- a copy with the old names ------------------------------------------- */

static bool add_named(struct copy *c, const struct net *named, uint32_t n)
{
    const struct net_node *node = &c->now->nodes[n];
    uint32_t was = c->pair[n];

    if (was == NET_NONE ||
        (node->kind == NET_XBAR && !fits(named, c->now, n, was, c->shift[n])))
        return add(c, n, node->name, node->nports, 0);
    return add(c, n, named->nodes[was].name, named->nodes[was].nports,
               c->shift[n]);
}

struct net *net_align_names(const struct net *named, const struct net *now)
{
    struct copy c;
    bool ok = copy_begin(&c, named, now, true);

    for (uint32_t n = 0; ok && n < now->nnodes; n++)
        ok = add_named(&c, named, n);
    return copy_end(&c, ok && add_cables(&c));
}
