/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GM-2 document's route computation: each host for itself, "repeated
 * Dijkstra's algorithm with link costs incremented for each route that goes
 * across them", ports explored in random order, and within each set of routes
 * several searches between which routes are handed out.
 *
 * Fewer hops always win; among ways of equal hops the sum of the costs.  All
 * ways go up, then down, so they cannot deadlock together with any others.
 */
#include <stdlib.h>
#include <string.h>

#include "net/index.h"
#include "net/rng.h"
#include "net/route_impl.h"

/* Searches per set of routes. */
#define SEARCHES 4

/* A state is 2 * x + phase. */
struct net_gm2 {
    const struct net_routes *r;
    uint32_t src; /* whose routes these are; NET_NONE: nobody's */
    struct net_rng rng;
    uint32_t *cost;  /* per global port */
    uint16_t *hops;  /* per state; NET_FAR */
    uint64_t *total; /* per state: cost of the way */
    uint32_t *from;  /* per state */
    uint8_t *by;     /* per state: edge ordinal it was reached by */
    uint32_t *queue;
    uint32_t nhosts;
    uint32_t *hosts;  /* reachable hosts, in the order of the set */
    uint32_t *number; /* node -> row of `way` */
    uint8_t *way;     /* [host][set][hop]: edge ordinals, NET_NO_EDGE ends */
};

void net_gm2_free(struct net_gm2 *g)
{
    if (!g)
        return;
    free(g->cost);
    free(g->hops);
    free(g->total);
    free(g->from);
    free(g->by);
    free(g->queue);
    free(g->hosts);
    free(g->number);
    free(g->way);
    free(g);
}

struct net_gm2 *net_gm2_new(const struct net_routes *r)
{
    struct net_gm2 *g = calloc(1, sizeof(*g));
    size_t states = 2 * (size_t)r->nx + 1, hosts = r->net->nhosts + 1;

    if (!g)
        return NULL;
    g->r = r;
    g->src = NET_NONE;
    g->cost = malloc((r->net->nports + 1) * sizeof(*g->cost));
    g->hops = malloc(states * sizeof(*g->hops));
    g->total = malloc(states * sizeof(*g->total));
    g->from = malloc(states * sizeof(*g->from));
    g->by = malloc(states);
    g->queue = malloc(states * sizeof(*g->queue));
    g->hosts = malloc(hosts * sizeof(*g->hosts));
    g->number = malloc((r->net->nnodes + 1) * sizeof(*g->number));
    g->way = malloc(hosts * r->alternatives * r->hop_limit);
    if (g->cost && g->hops && g->total && g->from && g->by && g->queue &&
        g->hosts && g->number && g->way)
        return g;
    net_gm2_free(g);
    return NULL;
}

static void relax(struct net_gm2 *g, uint32_t at, unsigned ordinal,
                  uint32_t *got)
{
    const struct net_routes *r = g->r;
    const struct net_edge *e = net_edge_at(r, at / 2, ordinal);
    uint32_t to = 2 * e->to + !e->up;
    uint64_t total;

    if (e->dead || (e->up && at % 2 == NET_DOWN))
        return;
    total = g->total[at] + g->cost[net_edge_port(r, at / 2, e)];
    if (g->hops[to] == NET_FAR)
        g->queue[(*got)++] = to;
    else if (g->hops[to] != g->hops[at] + 1 || g->total[to] <= total)
        return;
    g->hops[to] = g->hops[at] + 1;
    g->total[to] = total;
    g->from[to] = at;
    g->by[to] = (uint8_t)ordinal;
}

/* The edges of x in random order; how many. */
static unsigned random_order(struct net_gm2 *g, uint32_t x, uint8_t *order)
{
    unsigned n = g->r->first[x + 1] - g->r->first[x];

    for (unsigned i = 0; i < n; i++) {
        unsigned j = net_rng_below(&g->rng, i + 1);

        order[i] = order[j];
        order[j] = (uint8_t)i;
    }
    return n;
}

/* All states of one distance are settled before the next is begun. */
static void search(struct net_gm2 *g)
{
    const struct net_routes *r = g->r;
    uint32_t start = 2 * r->leaf_x[r->leaf_of[g->src]], n = 0, got = 0;

    for (uint32_t s = 0; s < 2 * r->nx; s++)
        g->hops[s] = NET_FAR;
    g->queue[got++] = start;
    g->hops[start] = 0;
    g->total[start] = 0;
    g->from[start] = start;
    while (n < got) {
        uint32_t at = g->queue[n++];
        uint8_t order[NET_NO_EDGE];
        unsigned edges = random_order(g, at / 2, order);

        for (unsigned i = 0; i < edges; i++)
            relax(g, at, order[i], &got);
    }
}

/* The better of the two states at a crossbar. */
static uint32_t reached(const struct net_gm2 *g, uint32_t x)
{
    uint32_t a = 2 * x, b = 2 * x + 1;

    if (g->hops[a] != g->hops[b])
        return g->hops[a] < g->hops[b] ? a : b;
    return g->total[a] <= g->total[b] ? a : b;
}

static void hand_out(struct net_gm2 *g, uint32_t host, unsigned set)
{
    const struct net_routes *r = g->r;
    uint8_t *way = g->way + ((size_t)g->number[host] * r->alternatives + set) *
                                r->hop_limit;
    uint32_t s = reached(g, r->leaf_x[r->leaf_of[host]]);
    unsigned n = g->hops[s];

    if (n == NET_FAR || n >= r->hop_limit) {
        way[0] = NET_NO_EDGE;
        g->number[host] = NET_NONE;
        return;
    }
    way[n] = NET_NO_EDGE;
    for (; n > 0; s = g->from[s]) {
        uint32_t x = g->from[s] / 2;

        way[--n] = g->by[s];
        g->cost[net_edge_port(r, x, net_edge_at(r, x, g->by[s]))]++;
    }
}

static void shuffle(struct net_gm2 *g)
{
    for (uint32_t i = g->nhosts; i > 1; i--) {
        uint32_t j = net_rng_below(&g->rng, i), t = g->hosts[i - 1];

        g->hosts[i - 1] = g->hosts[j];
        g->hosts[j] = t;
    }
}

static void compute(struct net_gm2 *g, uint32_t src)
{
    const struct net_routes *r = g->r;

    g->src = src;
    g->rng.state = r->seed ^ net_hash_id(r->net->nodes[src].id);
    memset(g->cost, 0, r->net->nports * sizeof(*g->cost));
    g->nhosts = 0;
    for (uint32_t n = 0; n < r->net->nnodes; n++) {
        g->number[n] = NET_NONE;
        if (n == src || !net_is_host(r->net, n) || r->leaf_of[n] == NET_NONE)
            continue;
        g->number[n] = g->nhosts;
        g->hosts[g->nhosts++] = n;
    }
    for (unsigned set = 0; set < r->alternatives; set++) {
        uint32_t done = 0;

        shuffle(g);
        for (uint32_t i = 1; i <= SEARCHES; i++) {
            search(g);
            for (; done < (uint64_t)g->nhosts * i / SEARCHES; done++)
                if (g->number[g->hosts[done]] != NET_NONE)
                    hand_out(g, g->hosts[done], set);
        }
    }
}

static void write_path(const struct net_gm2 *g, uint32_t dst, unsigned set,
                       struct net_path *path)
{
    const struct net_routes *r = g->r;
    const struct net *net = r->net;
    const uint8_t *way =
        g->way +
        ((size_t)g->number[dst] * r->alternatives + set) * r->hop_limit;
    uint32_t x = r->leaf_x[r->leaf_of[g->src]];
    unsigned n = 0;

    path->port[n++] = net->nodes[g->src].first;
    for (; *way != NET_NO_EDGE; way++) {
        const struct net_edge *e = net_edge_at(r, x, *way);

        path->port[n++] = net_edge_port(r, x, e);
        x = e->to;
    }
    path->port[n] = net->ports[net->nodes[dst].first].peer;
    path->hops = (uint8_t)n;
}

static bool has_place(const struct net_routes *r, uint32_t host)
{
    return net_is_host(r->net, host) && r->leaf_of[host] != NET_NONE &&
           r->net->ports[r->net->nodes[host].first].peer != NET_NONE;
}

unsigned net_gm2_paths(const struct net_routes *r, uint32_t src, uint32_t dst,
                       struct net_path *paths, unsigned max)
{
    struct net_gm2 *g = r->gm2;
    unsigned n = 0;

    if (!has_place(r, src) || !has_place(r, dst))
        return 0;
    if (g->src != src)
        compute(g, src);
    if (g->number[dst] == NET_NONE)
        return 0;
    for (unsigned set = 0; set < r->alternatives && n < max; set++) {
        bool fresh = true;

        write_path(g, dst, set, &paths[n]);
        for (unsigned i = 0; i < n; i++)
            fresh = fresh && !net_path_same(&paths[i], &paths[n]);
        n += fresh;
    }
    return n;
}
