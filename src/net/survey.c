/* SPDX-License-Identifier: BSD-3-Clause
 * What the routing engines know of a net before they route it.
 * See route_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* ---- distances from one leaf ------------------------------------------- */

/* How far every crossbar is from one leaf: going only down, and up and then
 * down. */

/* What reaches the leaf going only down, is found going only up from it. */
static void distances_down(struct net_routes *r, uint32_t root)
{
    uint32_t n = 0, got = 0;

    memset(r->down, 0xff, r->nx * sizeof(*r->down));
    r->queue[got++] = root;
    r->down[root] = 0;
    while (n < got) {
        uint32_t x = r->queue[n++];

        if (r->down[x] == NET_FAR - 1)
            continue;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            const struct net_edge *edge = &r->edges[e];

            if (!edge->up)
                break; /* up edges come first */
            if (edge->dead || r->down[edge->to] != NET_FAR)
                continue;
            r->down[edge->to] = r->down[x] + 1;
            r->queue[got++] = edge->to;
        }
    }
}

/* Cables upwards only, to the same crossbars. */
static bool same_parents(const struct net_routes *r, uint32_t a, uint32_t b)
{
    uint32_t n = r->first[a + 1] - r->first[a];

    if (r->first[b + 1] - r->first[b] != n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct net_edge *e = net_edge_at(r, a, i);
        const struct net_edge *f = net_edge_at(r, b, i);

        if (!e->up || !f->up || e->dead || f->dead || e->to != f->to)
            return false;
    }
    return n > 0;
}

bool net_leaves_alike(const struct net_routes *r, uint32_t leaf)
{
    return r->there != NET_NONE &&
           same_parents(r, r->leaf_x[r->there], r->leaf_x[leaf]);
}

static void swap(uint16_t *distance, uint32_t a, uint32_t b)
{
    uint16_t was = distance[a];

    distance[a] = distance[b];
    distance[b] = was;
}

void net_distances_forget(struct net_routes *r)
{
    r->there = NET_NONE;
    r->round++;
}

void net_distances(struct net_routes *r, uint32_t leaf)
{
    bool alike = net_leaves_alike(r, leaf);

    if (alike) {
        swap(r->down, r->leaf_x[r->there], r->leaf_x[leaf]);
        swap(r->any, r->leaf_x[r->there], r->leaf_x[leaf]);
    }
    r->there = leaf;
    r->round++;
    if (alike)
        return;
    *r->looks += 2 * (uint64_t)r->nedges;
    distances_down(r, r->leaf_x[leaf]);
    memcpy(r->any, r->down, r->nx * sizeof(*r->any));
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i];
        unsigned best = r->any[x];

        if (r->is_clos && best != NET_FAR)
            continue;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            const struct net_edge *edge = &r->edges[e];

            if (!edge->up)
                break;
            if (!edge->dead && r->any[edge->to] + 1u < best)
                best = r->any[edge->to] + 1u;
        }
        r->any[x] = best;
    }
}

static bool allocate(struct net_routes *r)
{
    size_t n = r->net->nnodes + 1, x = r->net->nxbars + 1;

    r->nx = r->net->nxbars;
    return (r->xnode = calloc(x, sizeof(*r->xnode))) &&
           (r->xindex = malloc(n * sizeof(*r->xindex))) &&
           (r->key = calloc(x, sizeof(*r->key))) &&
           (r->order = calloc(x, sizeof(*r->order))) &&
           (r->rank = calloc(x, sizeof(*r->rank))) &&
           (r->first = calloc(x + 1, sizeof(*r->first))) &&
           (r->leaf_x = calloc(x, sizeof(*r->leaf_x))) &&
           (r->leaf_of = malloc(n * sizeof(*r->leaf_of))) &&
           (r->column = calloc(n, sizeof(*r->column))) &&
           (r->weight = calloc(x, sizeof(*r->weight))) &&
           (r->down = malloc(x * sizeof(*r->down))) &&
           (r->any = malloc(x * sizeof(*r->any))) &&
           (r->part = calloc(x, sizeof(*r->part))) &&
           (r->onward = calloc(x, sizeof(*r->onward))) &&
           (r->passing = calloc(x, sizeof(*r->passing))) &&
           (r->queue = calloc(x, sizeof(*r->queue))) &&
           (r->ways = calloc(r->net->nports + 1, 1)) &&
           (r->nways = calloc(x, 1)) &&
           (r->seen = calloc(x, sizeof(*r->seen))) &&
           (r->looks = calloc(1, sizeof(*r->looks))) &&
           (r->load = calloc(r->net->nports + 1, sizeof(*r->load)));
}

struct keyed {
    uint64_t key;
    uint32_t n;
};

static int by_key(const void *va, const void *vb)
{
    const struct keyed *a = va, *b = vb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->n < b->n ? -1 : a->n > b->n;
}

/* A leaf's key is its lowest host address; else the id, else nothing. */
static uint64_t key_of(const struct net *net, uint32_t n)
{
    const struct net_node *node = &net->nodes[n];
    uint64_t key = node->has_id ? node->id | 1ULL << 63 : UINT64_MAX;

    for (unsigned p = 0; p < node->nports; p++) {
        uint32_t q = net->ports[node->first + p].peer, at;

        at = q == NET_NONE ? NET_NONE : net->ports[q].node;
        if (at != NET_NONE && net_is_host(net, at) && net->nodes[at].id < key)
            key = net->nodes[at].id;
    }
    return key;
}

static uint32_t count_hosts(const struct net *net, uint32_t n)
{
    uint32_t hosts = 0;

    for (unsigned p = 0; p < net->nodes[n].nports; p++) {
        uint32_t at = net_peer_node(net, n, p);

        hosts += at != NET_NONE && net_is_host(net, at);
    }
    return hosts;
}

/* Number the crossbars by their keys. */
static bool number_xbars(struct net_routes *r)
{
    const struct net *net = r->net;
    struct keyed *k = malloc((r->nx + 1) * sizeof(*k));
    uint32_t got = 0;

    if (!k)
        return false;
    for (uint32_t n = 0; n < net->nnodes; n++) {
        r->xindex[n] = r->leaf_of[n] = NET_NONE;
        if (!net_is_host(net, n))
            k[got++] = (struct keyed){key_of(net, n), n};
    }
    qsort(k, got, sizeof(*k), by_key);
    for (uint32_t x = 0; x < got; x++) {
        r->xnode[x] = k[x].n;
        r->xindex[k[x].n] = x;
        r->key[x] = k[x].key;
        r->weight[x] = count_hosts(net, k[x].n); /* see number_leaves() */
    }
    free(k);
    return true;
}

/* The crossbars with hosts, in their order. */
static void number_leaves(struct net_routes *r)
{
    for (uint32_t x = 0; x < r->nx; x++) {
        if (!r->weight[x])
            continue;
        r->leaf_x[r->nleaves] = x;
        r->leaf_of[r->xnode[x]] = r->nleaves;
        if (r->weight[x] > r->columns)
            r->columns = r->weight[x];
        r->weight[r->nleaves++] = r->weight[x];
    }
    if (r->columns > NET_COLUMNS_MAX)
        r->columns = NET_COLUMNS_MAX;
}

/* Hosts of one leaf get their columns by address. */
static void number_hosts(struct net_routes *r, uint32_t leaf)
{
    const struct net *net = r->net;
    const struct net_node *node = &net->nodes[r->xnode[r->leaf_x[leaf]]];
    struct keyed k[SF_NET_XBAR_PORTS_MAX];
    unsigned n = 0;

    for (unsigned p = 0; p < node->nports; p++) {
        uint32_t q = net->ports[node->first + p].peer;

        if (q != NET_NONE && net_is_host(net, net->ports[q].node))
            k[n++] = (struct keyed){net->nodes[net->ports[q].node].id,
                                    net->ports[q].node};
    }
    qsort(k, n, sizeof(*k), by_key);
    for (unsigned i = 0; i < n; i++) {
        r->leaf_of[k[i].n] = leaf;
        r->column[k[i].n] = i % r->columns;
        r->ncolumn[leaf * r->columns + i % r->columns]++;
    }
}

bool net_survey(struct net_routes *r)
{
    if (!allocate(r) || !number_xbars(r))
        return false;
    r->columns = 1;
    number_leaves(r);
    r->ncolumn =
        calloc((size_t)r->nleaves * r->columns + 1, sizeof(*r->ncolumn));
    if (!r->ncolumn)
        return false;
    for (uint32_t l = 0; l < r->nleaves; l++)
        number_hosts(r, l);
    return true;
}

/* ---- edges ------------------------------------------------------------- */

static int by_direction(const void *va, const void *vb)
{
    const struct net_edge *a = va, *b = vb;

    if (a->up != b->up)
        return a->up ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->port < b->port ? -1 : 1;
}

/* The edges of x, from its ports. */
static unsigned edges_of(const struct net_routes *r, uint32_t x,
                         struct net_edge *e)
{
    const struct net *net = r->net;
    const struct net_node *node = &net->nodes[r->xnode[x]];
    unsigned n = 0;

    for (unsigned p = 0; p < node->nports; p++) {
        uint32_t q = net->ports[node->first + p].peer, to;

        if (q == NET_NONE)
            continue;
        to = r->xindex[net->ports[q].node];
        if (to == NET_NONE || to == x)
            continue;
        e[n++] = (struct net_edge){.to = to,
                                   .port = p,
                                   .peer = net_port_number(net, q),
                                   .up = r->rank[to] > r->rank[x]};
    }
    return n;
}

bool net_index_edges(struct net_routes *r)
{
    uint32_t n = 0;

    free(r->edges);
    r->edges = malloc((r->net->nports + 1) * sizeof(*r->edges));
    if (!r->edges)
        return false;
    for (uint32_t x = 0; x < r->nx; x++) {
        unsigned k = edges_of(r, x, r->edges + n);

        r->first[x] = n;
        qsort(r->edges + n, k, sizeof(*r->edges), by_direction);
        n += k;
    }
    r->first[r->nx] = r->nedges = n;
    net_distances_forget(r);
    return true;
}

/* ---- up and down by distance from the centre --------------------------- */

/* Up and down by distance from the centre. */

/* More crossbars than this: the centre is estimated (two searches), not
 * found by a search from each. */
#define CENTRE_EXACT_MAX 1500

/* ---- up is towards the centre ------------------------------------------ */

/* Breadth first from x; dist has NET_NONE where nobody was.  Crossbars
 * reached, in r->queue; *far becomes the last distance. */
static uint32_t search(struct net_routes *r, uint32_t x, uint32_t *dist,
                       uint32_t *far)
{
    uint32_t n = 0, got = 0;

    r->queue[got++] = x;
    dist[x] = 0;
    while (n < got) {
        uint32_t at = r->queue[n++];

        *far = dist[at];
        *r->looks += r->first[at + 1] - r->first[at];
        for (uint32_t e = r->first[at]; e < r->first[at + 1]; e++)
            if (!r->edges[e].dead && dist[r->edges[e].to] == NET_NONE) {
                dist[r->edges[e].to] = dist[at] + 1;
                r->queue[got++] = r->edges[e].to;
            }
    }
    return got;
}

static void forget(struct net_routes *r, uint32_t n, uint32_t *dist)
{
    for (uint32_t i = 0; i < n; i++)
        dist[r->queue[i]] = NET_NONE;
}

/* How far at least the farthest is from each crossbar, after a search from one
 * whose own is so far. */
static void raise_least(const struct net_routes *r, uint32_t n,
                        const uint32_t *dist, uint32_t far, uint32_t *least)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t y = r->queue[i], d = dist[y];

        if (d < far - d)
            d = far - d;
        if (d > least[y])
            least[y] = d;
    }
}

/* The crossbar of the part around x whose farthest is nearest, ties by key.
 * Nothing is searched from a crossbar that earlier searches rule out. */
static uint32_t centre(struct net_routes *r, uint32_t x, uint32_t *dist,
                       uint32_t *part)
{
    uint32_t far = 0, best_far = NET_NONE, best = x, n;
    uint32_t *least = r->passing;

    n = search(r, x, dist, &far);
    forget(r, n, dist);
    memcpy(part, r->queue, n * sizeof(*part));
    for (uint32_t i = 0; i < n; i++)
        least[part[i]] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = part[i];

        if (n > CENTRE_EXACT_MAX && i % (n / CENTRE_EXACT_MAX + 1))
            continue;
        if (least[c] > best_far ||
            (least[c] == best_far && r->key[c] >= r->key[best]))
            continue;
        search(r, c, dist, &far);
        raise_least(r, n, dist, far, least);
        forget(r, n, dist);
        if (far < best_far || (far == best_far && r->key[c] < r->key[best])) {
            best_far = far;
            best = c;
        }
    }
    return best;
}

struct ranked {
    uint32_t dist;
    uint64_t key;
    uint32_t x;
};

/* Far ones first, so that the centre ranks highest. */
static int by_rank(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->dist != b->dist)
        return a->dist > b->dist ? -1 : 1;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->x < b->x ? -1 : a->x > b->x;
}

static void rank_by(struct net_routes *r, struct ranked *k)
{
    qsort(k, r->nx, sizeof(*k), by_rank);
    for (uint32_t i = 0; i < r->nx; i++) {
        r->order[i] = k[i].x;
        r->rank[k[i].x] = i;
    }
}

void net_find_parts(struct net_routes *r, uint32_t *dist)
{
    uint32_t far, parts = 0;

    memset(dist, 0xff, r->nx * sizeof(*dist));
    for (uint32_t x = 0; x < r->nx; x++) {
        uint32_t n;

        if (dist[x] != NET_NONE)
            continue;
        n = search(r, x, dist, &far);
        for (uint32_t i = 0; i < n; i++)
            r->part[r->queue[i]] = parts;
        parts++;
    }
}

bool net_orient_tree(struct net_routes *r)
{
    uint32_t *dist = malloc((r->nx + 1) * sizeof(*dist));
    uint32_t *part = malloc((r->nx + 1) * sizeof(*part)), far;
    struct ranked *k = malloc((r->nx + 1) * sizeof(*k));
    bool ok = dist && part && k && net_index_edges(r);

    if (ok) {
        memset(dist, 0xff, r->nx * sizeof(*dist));
        for (uint32_t x = 0; x < r->nx; x++)
            k[x] = (struct ranked){NET_NONE, r->key[x], x};
        for (uint32_t x = 0; x < r->nx; x++) {
            uint32_t n;

            if (k[x].dist != NET_NONE)
                continue;
            n = search(r, centre(r, x, dist, part), dist, &far);
            if (far > r->depth)
                r->depth = far;
            for (uint32_t i = 0; i < n; i++)
                k[r->queue[i]].dist = dist[r->queue[i]];
            forget(r, n, dist);
        }
        rank_by(r, k);
        r->is_clos = false;
        ok = net_index_edges(r);
    }
    free(dist);
    free(part);
    free(k);
    return ok;
}
