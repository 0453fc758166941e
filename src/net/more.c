/* SPDX-License-Identifier: BSD-3-Clause
 * Routes that share no cable with those there are: a search for the shortest
 * legal way without the cables in use, again and again.  See route_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/pairs.h"
#include "net/route_impl.h"

/* A state is 2 * x + phase; of NET_PAIRS the channel by which x was entered,
 * or as many as there are channels: nowhere yet. */
struct hunt {
    const struct net_routes *r;
    uint8_t *used;  /* per global port: its cable is in use */
    uint32_t *from; /* state it was reached from, NET_NONE: not reached */
    uint32_t *by;   /* global port it was reached by */
    uint32_t *queue;
};

static bool begin(struct hunt *h, const struct net_routes *r)
{
    size_t states = r->pairs ? r->nedges + 1 : 2 * (size_t)r->nx + 1;

    h->r = r;
    h->used = calloc(r->net->nports + 1, 1);
    h->from = malloc(states * sizeof(*h->from));
    h->by = malloc(states * sizeof(*h->by));
    h->queue = malloc(states * sizeof(*h->queue));
    return h->used && h->from && h->by && h->queue;
}

static void end(struct hunt *h)
{
    free(h->used);
    free(h->from);
    free(h->by);
    free(h->queue);
}

static void use(struct hunt *h, const struct net_path *path)
{
    for (unsigned i = 1; i < path->hops; i++) {
        h->used[path->port[i]] = 1;
        h->used[h->r->net->ports[path->port[i]].peer] = 1;
    }
}

/* The state at x = end in which it was reached, or NET_NONE. */
static uint32_t search(struct hunt *h, uint32_t start, uint32_t end_x)
{
    const struct net_routes *r = h->r;
    uint32_t n = 0, got = 0;

    memset(h->from, 0xff, 2 * (size_t)r->nx * sizeof(*h->from));
    h->queue[got++] = 2 * start;
    h->from[2 * start] = 2 * start;
    while (n < got) {
        uint32_t at = h->queue[n++], x = at / 2;

        if (x == end_x)
            return at;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            const struct net_edge *edge = &r->edges[e];
            uint32_t port = net_edge_port(r, x, edge);
            uint32_t to = 2 * edge->to + !edge->up;

            if (edge->dead || h->used[port] || h->from[to] != NET_NONE ||
                (edge->up && at % 2 == NET_DOWN))
                continue;
            h->from[to] = at;
            h->by[to] = port;
            h->queue[got++] = to;
        }
    }
    return NET_NONE;
}

static void enter(struct hunt *h, uint32_t from, uint32_t e, uint32_t *got)
{
    const struct net_routes *r = h->r;
    uint32_t port = net_edge_port(r, r->pairs->t->from[e], &r->edges[e]);

    if (h->used[port] || h->from[e] != NET_NONE)
        return;
    h->from[e] = from;
    h->by[e] = port;
    h->queue[(*got)++] = e;
}

/* The same along the turns of NET_PAIRS. */
static uint32_t search_turns(struct hunt *h, uint32_t start, uint32_t end_x)
{
    const struct net_routes *r = h->r;
    uint32_t n = 0, got = 0;

    memset(h->from, 0xff, r->nedges * sizeof(*h->from));
    h->from[r->nedges] = r->nedges;
    for (uint32_t e = r->first[start]; e < r->first[start + 1]; e++)
        enter(h, r->nedges, e, &got);
    while (n < got) {
        uint32_t at = h->queue[n++], x = r->edges[at].to;

        if (x == end_x)
            return at;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
            if (*net_turn(r->pairs->t, at, e) == NET_TURN_ALLOWED)
                enter(h, at, e, &got);
    }
    return NET_NONE;
}

static uint32_t next_way(struct hunt *h, uint32_t start, uint32_t end_x)
{
    return h->r->pairs ? search_turns(h, start, end_x)
                       : search(h, start, end_x);
}

/* The way that the search found, between the ends of paths[0]. */
static bool write_path(const struct hunt *h, uint32_t state, unsigned limit,
                       const struct net_path *like, struct net_path *path)
{
    unsigned hops = 1;

    for (uint32_t s = state; h->from[s] != s; s = h->from[s])
        hops++;
    if (hops > limit)
        return false;
    path->hops = (uint8_t)hops;
    path->port[0] = like->port[0];
    path->port[hops] = like->port[like->hops];
    for (uint32_t s = state; h->from[s] != s; s = h->from[s])
        path->port[--hops] = h->by[s];
    return true;
}

unsigned net_more_paths(const struct net_routes *r, uint32_t src, uint32_t dst,
                        struct net_path *paths, unsigned n, unsigned max)
{
    uint32_t start = r->leaf_x[r->leaf_of[src]];
    uint32_t last = r->leaf_x[r->leaf_of[dst]], state;
    struct hunt h;

    if (begin(&h, r)) {
        for (unsigned i = 0; i < n; i++)
            use(&h, &paths[i]);
        while (n < max && (state = next_way(&h, start, last)) != NET_NONE &&
               write_path(&h, state, r->hop_limit, &paths[0], &paths[n]))
            use(&h, &paths[n++]);
    }
    end(&h);
    return n;
}

bool net_shortest_path(const struct net_routes *r, uint32_t src, uint32_t dst,
                       struct net_path *path)
{
    struct net_path ends = {.hops = 1};
    struct hunt h;
    bool found = false;

    ends.port[0] = r->net->nodes[src].first;
    ends.port[1] = r->net->ports[r->net->nodes[dst].first].peer;
    if (begin(&h, r)) {
        uint32_t state = next_way(&h, r->leaf_x[r->leaf_of[src]],
                                  r->leaf_x[r->leaf_of[dst]]);

        found = state != NET_NONE &&
                write_path(&h, state, NET_ROUTE_MAX, &ends, path);
    }
    end(&h);
    return found;
}
