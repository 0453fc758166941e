/* SPDX-License-Identifier: BSD-3-Clause
 * Routes from the trees: as ports, as bytes, several of them.
 * See route_impl.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/index.h"
#include "net/pairs.h"
#include "net/rng.h"
#include "net/route_impl.h"
#include "net/updown.h"

/* ---- routes that share no cable ---------------------------------------- */

/* Routes that share no cable with those there are: a search for the shortest
 * legal way without the cables in use, again and again. */

/* A state is 2 * x + phase; of NET_PAIRS the channel by which x was entered,
 * or as many as there are channels: nowhere yet. */
struct hunt {
    const struct net_routes *r;
    uint8_t *used;  /* per global port: its cable is in use */
    uint32_t *from; /* state it was reached from, NET_NONE: not reached */
    uint32_t *by;   /* global port it was reached by */
    uint32_t *queue;
};

static bool net_path_same(const struct net_path *a, const struct net_path *b);

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
        *r->looks += r->first[x + 1] - r->first[x];
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

    if (r->edges[e].dead || h->used[port] || h->from[e] != NET_NONE)
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

/* After the n given, further routes that share no cable with any. */
static unsigned net_more_paths(const struct net_routes *r, uint32_t src,
                               uint32_t dst, struct net_path *paths, unsigned n,
                               unsigned max)
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

/* The shortest legal way between hosts of leaves, whatever the hop limit. */
static bool net_shortest_path(const struct net_routes *r, uint32_t src,
                              uint32_t dst, struct net_path *path)
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

/* ---- the GM-2 document's routes ---------------------------------------- */

/* The GM-2 document's route computation: each host for itself, "repeated
 * Dijkstra's algorithm with link costs incremented for each route that goes
 * across them", ports explored in random order, and within each set of routes
 * several searches between which routes are handed out. Fewer hops always
 * win; among ways of equal hops the sum of the costs. All ways go up, then
 * down, so they cannot deadlock together with any others. */

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
static void gm2_search(struct net_gm2 *g)
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
            gm2_search(g);
            for (; done < (uint64_t)g->nhosts * i / SEARCHES; done++)
                if (g->number[g->hosts[done]] != NET_NONE)
                    hand_out(g, g->hosts[done], set);
        }
    }
}

static void gm2_write_path(const struct net_gm2 *g, uint32_t dst, unsigned set,
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

/* Up to max ways from leaf to leaf for one source and one destination
 * host; as net_routes_paths(). */
static unsigned net_gm2_paths(const struct net_routes *r, uint32_t src,
                              uint32_t dst, struct net_path *paths,
                              unsigned max)
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

        gm2_write_path(g, dst, set, &paths[n]);
        for (unsigned i = 0; i < n; i++)
            fresh = fresh && !net_path_same(&paths[i], &paths[n]);
        n += fresh;
    }
    return n;
}

int net_tree_walk(const struct net_routes *r, uint32_t from, uint32_t leaf,
                  unsigned column, uint32_t *ports, unsigned max)
{
    uint32_t x = r->leaf_x[from], end = r->leaf_x[leaf];
    unsigned n = 0;

    while (x != end) {
        unsigned ordinal = net_tree_step(r, leaf, column, x);
        const struct net_edge *e;

        if (ordinal == NET_NO_EDGE || n == max)
            return -1;
        e = net_edge_at(r, x, ordinal);
        ports[n++] = net_edge_port(r, x, e);
        x = e->to;
    }
    return (int)n;
}

/* The first and last port of a path, around the ways between leaves. */
static bool path_ends(const struct net_routes *r, uint32_t src, uint32_t dst,
                      uint32_t *first, uint32_t *last)
{
    const struct net *net = r->net;

    if (src == dst || !net_is_host(net, src) || !net_is_host(net, dst))
        return false;
    *first = net->nodes[src].first;
    *last = net->ports[net->nodes[dst].first].peer;
    return net->ports[*first].peer != NET_NONE && *last != NET_NONE;
}

/* Two hosts on one cable. */
static bool face_to_face(const struct net_routes *r, uint32_t src, uint32_t dst,
                         struct net_path *path)
{
    const struct net_node *s = &r->net->nodes[src], *d = &r->net->nodes[dst];

    path->hops = 0;
    path->port[0] = s->first;
    return r->net->ports[s->first].peer == d->first;
}

/* Along the tree of one column, or by one variant.  False: no way. */
static bool path_by(const struct net_routes *r, uint32_t src, uint32_t dst,
                    unsigned column, struct net_path *path)
{
    uint32_t last;
    int n;

    if (!path_ends(r, src, dst, &path->port[0], &last) ||
        r->leaf_of[src] == NET_NONE || r->leaf_of[dst] == NET_NONE)
        return false;
    if (r->updown)
        n = net_updown_walk(r->updown, src, dst, column, path->port + 1,
                            r->hop_limit - 1);
    else if (r->pairs)
        n = net_pairs_walk(r->pairs, r->leaf_of[src], r->leaf_of[dst], column,
                           path->port + 1, r->hop_limit - 1);
    else
        n = net_tree_walk(r, r->leaf_of[src], r->leaf_of[dst], column,
                          path->port + 1, r->hop_limit - 1);
    if (n < 0)
        return false;
    path->port[n + 1] = last;
    path->hops = (uint8_t)(n + 1);
    return true;
}

bool net_routes_path(const struct net_routes *r, uint32_t src, uint32_t dst,
                     struct net_path *path)
{
    return net_routes_paths(r, src, dst, path, 1) == 1;
}

/* ---- several ----------------------------------------------------------- */

/* A cable by the lower index of its two ends. */
static uint32_t cable(const struct net *net, uint32_t port)
{
    uint32_t q = net->ports[port].peer;

    return q < port ? q : port;
}

/* Cables between crossbars: without the hosts' own. */
static bool share_cable(const struct net *net, const struct net_path *a,
                        const struct net_path *b)
{
    for (unsigned i = 1; i < a->hops; i++)
        for (unsigned k = 1; k < b->hops; k++)
            if (cable(net, a->port[i]) == cable(net, b->port[k]))
                return true;
    return false;
}

/* Are they the same route? */
static bool net_path_same(const struct net_path *a, const struct net_path *b)
{
    return a->hops == b->hops &&
           memcmp(a->port, b->port, (a->hops + 1u) * sizeof(a->port[0])) == 0;
}

static bool apart_from(const struct net *net, const struct net_path *p,
                       const struct net_path *paths, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (share_cable(net, p, &paths[i]))
            return false;
    return true;
}

static bool new_path(const struct net_path *p, const struct net_path *paths,
                     unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (net_path_same(p, &paths[i]))
            return false;
    return true;
}

static unsigned by_columns(const struct net_routes *r, uint32_t src,
                           uint32_t dst, struct net_path *paths, unsigned n,
                           unsigned max, bool disjoint)
{
    unsigned own = r->updown  ? 0
                   : r->pairs ? net_pairs_variant(r->pairs, src, dst)
                              : r->column[dst];
    unsigned all = r->updown  ? NET_UPDOWN_VARIANTS
                   : r->pairs ? r->pairs->variants
                              : r->columns;

    for (unsigned c = 0; c < all && n < max; c++) {
        struct net_path *p = &paths[n];

        if (path_by(r, src, dst, (own + c) % all, p) &&
            (disjoint ? n == 0 || apart_from(r->net, p, paths, n)
                      : new_path(p, paths, n)))
            n++;
        if (n && paths[0].hops == 1)
            break; /* one crossbar: there is no other way */
    }
    return n;
}

/* Cables of a leaf to other crossbars. */
static unsigned cables_of(const struct net_routes *r, uint32_t leaf)
{
    uint32_t x = r->leaf_x[leaf];
    unsigned n = 0;

    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
        n += !r->edges[e].dead;
    return n;
}

/* No more routes than this can share no cable. */
static unsigned most_apart(const struct net_routes *r, uint32_t src,
                           uint32_t dst)
{
    unsigned from = cables_of(r, r->leaf_of[src]);
    unsigned to = cables_of(r, r->leaf_of[dst]);

    return from < to ? from : to;
}

unsigned net_routes_paths(const struct net_routes *r, uint32_t src,
                          uint32_t dst, struct net_path *paths, unsigned max)
{
    unsigned n, most;

    if (max > r->alternatives)
        max = r->alternatives;
    if (max == 0 || src == dst)
        return 0;
    if (face_to_face(r, src, dst, &paths[0]))
        return 1;
    if (r->engine == NET_GM2)
        return net_gm2_paths(r, src, dst, paths, max);
    n = by_columns(r, src, dst, paths, 0, max, true);
    if (n == 0 || n == max || paths[0].hops == 1)
        return n;
    most = most_apart(r, src, dst);
    if (most > max)
        most = max;
    if (n < most)
        n = net_more_paths(r, src, dst, paths, n, most);
    return by_columns(r, src, dst, paths, n, max, false);
}

unsigned net_routes_get(const struct net_routes *r, uint32_t src, uint32_t dst,
                        struct net_route *routes, unsigned max)
{
    struct net_path paths[NET_ALTERNATIVES_MAX];
    unsigned n, got = 0;

    if (max > NET_ALTERNATIVES_MAX)
        max = NET_ALTERNATIVES_MAX;
    n = net_routes_paths(r, src, dst, paths, max);
    for (unsigned i = 0; i < n; i++)
        if (net_path_bytes(r->net, &paths[i], &routes[got]))
            got++;
    return got;
}

bool net_routes_reach(const struct net_routes *r, uint32_t src, uint32_t dst,
                      struct net_route *route)
{
    struct net_path path;
    uint32_t last;

    if (net_routes_get(r, src, dst, route, 1) == 1)
        return true;
    return path_ends(r, src, dst, &path.port[0], &last) &&
           r->leaf_of[src] != NET_NONE && r->leaf_of[dst] != NET_NONE &&
           net_shortest_path(r, src, dst, &path) &&
           net_path_bytes(r->net, &path, route);
}

/* Room for "and 4294967295 more". */
#define AND_MORE 24

unsigned net_routes_missing(const struct net_routes *r, uint32_t src,
                            struct errbuf *names)
{
    const struct net *net = r->net;
    unsigned n = 0, told = 0;
    struct net_route route;
    size_t len = 0;

    names->text[0] = '\0';
    for (uint32_t to = 0; to < net->nnodes; to++) {
        const struct net_node *node = &net->nodes[to];
        char who[SF_NET_NAME_MAX];
        size_t size;

        if (to == src || !net_is_host(net, to) ||
            net_peer_node(net, to, 0) == NET_NONE ||
            net_routes_get(r, src, to, &route, 1) == 1)
            continue;
        if (node->name[0])
            snprintf(who, sizeof(who), "%s", node->name);
        else
            snprintf(who, sizeof(who), "%012llx", (unsigned long long)node->id);
        size = strlen(who) + 2;
        if (told == n++ && len + size + AND_MORE < sizeof(names->text)) {
            len += (size_t)snprintf(names->text + len, size + 1, "%s%s",
                                    told ? ", " : "", who);
            told++;
        }
    }
    if (told < n)
        snprintf(names->text + len, AND_MORE, " and %u more", n - told);
    return n;
}

/* ---- bytes ------------------------------------------------------------- */

bool net_path_bytes(const struct net *net, const struct net_path *path,
                    struct net_route *route)
{
    route->hops = path->hops;
    for (unsigned i = 0; i < path->hops; i++) {
        uint32_t in = net->ports[path->port[i]].peer;
        int delta = (int)path->port[i + 1] - (int)in;

        if (delta < NET_DELTA_MIN || delta > NET_DELTA_MAX)
            return false;
        route->byte[i] = net_route_byte(delta);
    }
    return true;
}

uint32_t net_route_follow(const struct net *net, uint32_t src,
                          const struct net_route *route, struct net_path *path)
{
    uint32_t port = net->nodes[src].first;
    struct net_path ignored;

    if (!path)
        path = &ignored;
    path->hops = route->hops;
    path->port[0] = port;
    for (unsigned i = 0; i < route->hops; i++) {
        uint32_t in = net->ports[port].peer, n;
        int out;

        if (in == NET_NONE || net_is_host(net, net->ports[in].node))
            return NET_NONE;
        n = net->ports[in].node;
        out = (int)net_port_number(net, in) + net_route_delta(route->byte[i]);
        if (out < 0 || out >= net->nodes[n].nports)
            return NET_NONE;
        port = net->nodes[n].first + (uint32_t)out;
        path->port[i + 1] = port;
    }
    port = net->ports[port].peer;
    if (port == NET_NONE || !net_is_host(net, net->ports[port].node))
        return NET_NONE;
    return net->ports[port].node;
}
