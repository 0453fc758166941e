/* SPDX-License-Identifier: BSD-3-Clause
 * From a net to a tree of virtual switches: see topo.h.
 */
#include "net/topo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cable {
    uint32_t stage; /* distance from the hosts at which it counts */
    uint32_t a, b;
};

struct builder {
    struct net_topo *t;
    const struct net *net;
    unsigned plane;
    uint32_t *level;  /* per node: crossbar's distance to a leaf + 1; 0 */
    uint32_t *up;     /* union-find over nodes */
    uint32_t *top;    /* per leaf: its highest virtual switch so far */
    uint32_t *seen;   /* per node: first top found below this root */
    uint32_t *merged; /* per node: the new virtual switch, or NET_NONE */
    uint32_t nleaves, cap;
};

static bool mine(const struct builder *b, uint32_t n)
{
    return b->net->nodes[n].plane == b->plane;
}

/* ---- leaves -------------------------------------------------------------- */

static uint32_t new_switch(struct builder *b, unsigned level, uint64_t key)
{
    struct net_topo *t = b->t;
    struct net_vswitch *s;

    if (t->nsw == b->cap) {
        uint32_t want = b->cap ? b->cap * 2 : 64;

        s = realloc(t->sw, want * sizeof(*s));
        if (!s)
            return NET_NONE;
        t->sw = s;
        b->cap = want;
    }
    s = &t->sw[t->nsw];
    *s = (struct net_vswitch){
        .level = level, .key = key, .parent = NET_NONE, .xbar = NET_NONE};
    return t->nsw++;
}

/* A leaf for this crossbar, if it has hosts.  False: out of memory. */
static bool add_leaf(struct builder *b, uint32_t xbar)
{
    struct net_topo *t = b->t;
    const struct net *net = b->net;
    uint32_t first = t->nhosts, leaf;
    uint64_t key = UINT64_MAX;

    for (unsigned p = 0; p < net->nodes[xbar].nports; p++) {
        uint32_t h = net_peer_node(net, xbar, p);

        if (h == NET_NONE || !net_is_host(net, h) || !mine(b, h))
            continue;
        t->hosts[t->nhosts++] = h;
        if (net->nodes[h].id < key)
            key = net->nodes[h].id;
    }
    if (t->nhosts == first)
        return true;
    leaf = new_switch(b, 1, key);
    if (leaf == NET_NONE)
        return false;
    t->sw[leaf].xbar = xbar;
    t->sw[leaf].first = first;
    t->sw[leaf].nhosts = t->nhosts - first;
    for (uint32_t i = first; i < t->nhosts; i++)
        t->of[t->hosts[i]] = leaf;
    t->of[xbar] = leaf;
    b->top[leaf] = leaf;
    return true;
}

/* ---- what hangs together --------------------------------------------------
 */

static uint32_t root_of(uint32_t *up, uint32_t n)
{
    while (up[n] != n)
        n = up[n] = up[up[n]];
    return n;
}

static void find_levels(struct builder *b, uint32_t *queue)
{
    const struct net *net = b->net;
    uint32_t n = 0, got = 0;

    for (uint32_t l = 0; l < b->nleaves; l++) {
        b->level[b->t->sw[l].xbar] = 1;
        queue[got++] = b->t->sw[l].xbar;
    }
    while (n < got) {
        uint32_t at = queue[n++];

        for (unsigned p = 0; p < net->nodes[at].nports; p++) {
            uint32_t to = net_peer_node(net, at, p);

            if (to == NET_NONE || net_is_host(net, to) || b->level[to])
                continue;
            b->level[to] = b->level[at] + 1;
            queue[got++] = to;
        }
    }
}

static int by_stage(const void *va, const void *vb)
{
    const struct cable *a = va, *b = vb;

    return a->stage < b->stage ? -1 : a->stage > b->stage;
}

/* All cables between crossbars, nearest to the hosts first. */
static uint32_t list_cables(const struct builder *b, struct cable *c)
{
    const struct net *net = b->net;
    uint32_t n = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, x, y;

        if (q == NET_NONE || q < p)
            continue;
        x = net->ports[p].node;
        y = net->ports[q].node;
        if (!b->level[x] || !b->level[y])
            continue;
        c[n++] = (struct cable){
            .stage = b->level[x] > b->level[y] ? b->level[x] : b->level[y],
            .a = x,
            .b = y};
        if (c[n - 1].stage < 2)
            c[n - 1].stage = 2;
    }
    qsort(c, n, sizeof(*c), by_stage);
    return n;
}

static unsigned higher(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* Put a new switch over each group of tops that now hang together.  False:
 * out of memory. */
static bool merge(struct builder *b)
{
    struct net_topo *t = b->t;

    for (uint32_t l = 0; l < b->nleaves; l++) {
        uint32_t r = root_of(b->up, t->sw[l].xbar);

        b->seen[r] = b->merged[r] = NET_NONE;
    }
    for (uint32_t l = 0; l < b->nleaves; l++) {
        uint32_t r = root_of(b->up, t->sw[l].xbar), top = b->top[l], s;

        if (b->seen[r] == NET_NONE)
            b->seen[r] = top;
        if (b->seen[r] == top || b->merged[r] != NET_NONE)
            continue;
        s = new_switch(b, 0, UINT64_MAX);
        if (s == NET_NONE)
            return false;
        b->merged[r] = s;
    }
    for (uint32_t l = 0; l < b->nleaves; l++) {
        uint32_t s = b->merged[root_of(b->up, t->sw[l].xbar)];
        struct net_vswitch *old = &t->sw[b->top[l]];

        if (s == NET_NONE)
            continue;
        old->parent = s;
        t->sw[s].level = higher(t->sw[s].level, old->level + 1);
        if (old->key < t->sw[s].key)
            t->sw[s].key = old->key;
        b->top[l] = s;
    }
    return true;
}

static bool join(struct builder *b, const struct cable *c, uint32_t n)
{
    for (uint32_t i = 0, k; i < n; i = k) {
        bool any = false;

        for (k = i; k < n && c[k].stage == c[i].stage; k++) {
            uint32_t x = root_of(b->up, c[k].a), y = root_of(b->up, c[k].b);

            any = any || x != y;
            b->up[x] = y;
        }
        if (any && !merge(b))
            return false;
    }
    return true;
}

/* ---- order and names ------------------------------------------------------
 */

struct sorted {
    unsigned level;
    uint64_t key;
    uint32_t old;
};

static int by_height(const void *va, const void *vb)
{
    const struct sorted *a = va, *b = vb;

    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->old < b->old ? -1 : 1;
}

static bool put_in_order(struct builder *b)
{
    struct net_topo *t = b->t;
    struct sorted *k = malloc((t->nsw + 1) * sizeof(*k));
    struct net_vswitch *sw = malloc((t->nsw + 1) * sizeof(*sw));
    uint32_t *to = malloc((t->nsw + 1) * sizeof(*to));
    bool ok = k && sw && to;

    for (uint32_t i = 0; ok && i < t->nsw; i++)
        k[i] = (struct sorted){t->sw[i].level, t->sw[i].key, i};
    if (ok)
        qsort(k, t->nsw, sizeof(*k), by_height);
    for (uint32_t i = 0; ok && i < t->nsw; i++)
        to[k[i].old] = i;
    for (uint32_t i = 0; ok && i < t->nsw; i++) {
        sw[i] = t->sw[k[i].old];
        if (sw[i].parent != NET_NONE)
            sw[i].parent = to[sw[i].parent];
        snprintf(sw[i].name, sizeof(sw[i].name), "s%u_%012" PRIx64, sw[i].level,
                 sw[i].key);
    }
    for (uint32_t n = 0; ok && n < b->net->nnodes; n++)
        if (t->of[n] != NET_NONE)
            t->of[n] = to[t->of[n]];
    if (ok) {
        free(t->sw);
        t->sw = sw;
    } else {
        free(sw);
    }
    free(k);
    free(to);
    return ok;
}

/* A crossbar above the leaves is part of the lowest switch over a leaf that
 * it reaches going down: that of the neighbour nearer to the hosts, or the
 * one above it. */
static void place_interior(struct builder *b, const uint32_t *queue, uint32_t n)
{
    struct net_topo *t = b->t;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = queue[i], level = b->level[at];

        if (level < 2)
            continue;
        for (unsigned p = 0; p < b->net->nodes[at].nports; p++) {
            uint32_t to = net_peer_node(b->net, at, p), s;

            if (to == NET_NONE || net_is_host(b->net, to) ||
                b->level[to] >= level || t->of[to] == NET_NONE)
                continue;
            s = t->of[to];
            if (t->sw[s].parent != NET_NONE && t->sw[s].level < level)
                s = t->sw[s].parent;
            if (t->of[at] == NET_NONE ||
                t->sw[s].level > t->sw[t->of[at]].level)
                t->of[at] = s;
        }
    }
}

/* ---- the whole ------------------------------------------------------------
 */

static bool allocate(struct builder *b)
{
    size_t n = b->net->nnodes + 1;

    b->t->net = b->net;
    b->t->of = malloc(n * sizeof(uint32_t));
    b->t->hosts = malloc((b->net->nhosts + 1) * sizeof(uint32_t));
    b->level = calloc(n, sizeof(uint32_t));
    b->up = malloc(n * sizeof(uint32_t));
    b->top = malloc(n * sizeof(uint32_t));
    b->seen = malloc(n * sizeof(uint32_t));
    b->merged = malloc(n * sizeof(uint32_t));
    return b->t->of && b->t->hosts && b->level && b->up && b->top && b->seen &&
           b->merged;
}

static bool build(struct builder *b)
{
    const struct net *net = b->net;
    uint32_t *queue = malloc((net->nnodes + 1) * sizeof(*queue)), n, got = 0;
    struct cable *c = malloc((net->ncables + 1) * sizeof(*c));
    bool ok = queue && c;

    memset(b->t->of, 0xff, net->nnodes * sizeof(uint32_t));
    for (n = 0; ok && n < net->nnodes; n++) {
        b->up[n] = n;
        if (!net_is_host(net, n) && mine(b, n))
            ok = add_leaf(b, n);
    }
    b->nleaves = b->t->nsw;
    if (ok) {
        find_levels(b, queue);
        for (n = 0; n < net->nnodes; n++)
            got += b->level[n] != 0;
        ok = join(b, c, list_cables(b, c));
    }
    if (ok)
        place_interior(b, queue, got);
    ok = ok && put_in_order(b);
    free(queue);
    free(c);
    return ok;
}

struct net_topo *net_topo_new(const struct net *net, unsigned plane)
{
    struct builder b = {.net = net, .plane = plane};
    bool ok;

    b.t = calloc(1, sizeof(*b.t));
    ok = b.t && allocate(&b) && build(&b);
    free(b.level);
    free(b.up);
    free(b.top);
    free(b.seen);
    free(b.merged);
    if (ok)
        return b.t;
    net_topo_free(b.t);
    return NULL;
}

void net_topo_free(struct net_topo *t)
{
    if (!t)
        return;
    free(t->sw);
    free(t->hosts);
    free(t->of);
    free(t);
}
