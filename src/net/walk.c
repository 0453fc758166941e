/* SPDX-License-Identifier: BSD-3-Clause
 * Routes from the trees: as ports, as bytes, several of them.
 * See route_impl.h.
 */
#include <stdio.h>
#include <string.h>

#include "net/pairs.h"
#include "net/route_impl.h"

int net_tree_walk(const struct net_routes *r, uint32_t from, uint32_t leaf,
                  unsigned column, uint32_t *ports, unsigned max)
{
    uint32_t x = r->leaf_x[from], end = r->leaf_x[leaf];
    unsigned n = 0, phase = NET_ANY;

    while (x != end) {
        unsigned ordinal = net_tree_step(r, leaf, column, phase, x);
        const struct net_edge *e;

        if (ordinal == NET_NO_EDGE || n == max)
            return -1;
        e = net_edge_at(r, x, ordinal);
        ports[n++] = net_edge_port(r, x, e);
        if (!e->up)
            phase = NET_DOWN;
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
    n = r->pairs ? net_pairs_walk(r->pairs, r->leaf_of[src], r->leaf_of[dst],
                                  column, path->port + 1, r->hop_limit - 1)
                 : net_tree_walk(r, r->leaf_of[src], r->leaf_of[dst], column,
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

bool net_path_same(const struct net_path *a, const struct net_path *b)
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
    unsigned own =
        r->pairs ? net_pairs_variant(r->pairs, src, dst) : r->column[dst];
    unsigned all = r->pairs ? r->pairs->variants : r->columns;

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

unsigned net_routes_paths(const struct net_routes *r, uint32_t src,
                          uint32_t dst, struct net_path *paths, unsigned max)
{
    unsigned n;

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
    n = net_more_paths(r, src, dst, paths, n, max);
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
