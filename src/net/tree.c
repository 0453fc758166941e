/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees: the way from every crossbar of a Clos to one leaf.  See route_impl.h.
 * Where one can go only down to the leaf, one does: so the way from a crossbar
 * is the same however it was reached.
 */
#include <string.h>

#include "net/route_impl.h"

/* ---- one place of a tree ----------------------------------------------- */

bool net_edge_shortest(const struct net_routes *r, uint32_t x,
                       const struct net_edge *e)
{
    unsigned on = e->up ? r->any[e->to] : r->down[e->to];

    return !e->dead && on + 1u == r->any[x];
}

/* Most loaded cable from x on, as the tree stands; no need to look further once
 * it is above the limit. */
static uint32_t bottleneck(const struct net_routes *r, const uint8_t *next,
                           uint32_t x, uint32_t limit)
{
    const struct net_edge *e;
    uint32_t worst = 0;

    while (worst <= limit && (e = net_tree_edge(r, next, x))) {
        uint32_t load = r->load[net_edge_port(r, x, e)];

        if (load > worst)
            worst = load;
        x = e->to;
    }
    return worst;
}

struct choice {
    unsigned ordinal;
    uint32_t worst, own;
};

static void consider(const struct net_routes *r, const uint8_t *next,
                     uint32_t x, unsigned ordinal, bool live,
                     struct choice *best)
{
    const struct net_edge *e = net_edge_at(r, x, ordinal);
    uint32_t own = r->load[net_edge_port(r, x, e)], worst;

    if (best->ordinal != NET_NO_EDGE && own > best->worst)
        return;
    if (live)
        worst =
            bottleneck(r, next, e->to,
                       best->ordinal == NET_NO_EDGE ? UINT32_MAX : best->worst);
    else
        worst = r->onward[e->to];
    if (own > worst)
        worst = own;
    if (best->ordinal == NET_NO_EDGE || worst < best->worst ||
        (worst == best->worst && own < best->own))
        *best = (struct choice){ordinal, worst, own};
}

/* The edges that begin a shortest way; looked for once for all trees of the
 * leaf. */
static unsigned ways_from(struct net_routes *r, uint32_t x,
                          const uint8_t **ways)
{
    uint8_t *list = r->ways + r->first[x];
    unsigned edges = r->first[x + 1] - r->first[x], n = 0;

    *ways = list;
    if (r->seen[x] == r->round)
        return r->nways[x];
    for (unsigned i = 0; i < edges; i++)
        if (net_edge_shortest(r, x, net_edge_at(r, x, i)))
            list[n++] = (uint8_t)i;
    r->seen[x] = r->round;
    r->nways[x] = (uint8_t)n;
    return n;
}

/* The shortest way from x whose most loaded cable has least load; which of
 * equal ones is first in turn goes round with the trees. */
static struct choice choose(struct net_routes *r, const uint8_t *next,
                            uint32_t x, unsigned turn, bool live)
{
    const uint8_t *ways;
    unsigned n = ways_from(r, x, &ways), from = 0;
    struct choice best = {NET_NO_EDGE, 0, 0};

    if (n > 1)
        turn %= r->first[x + 1] - r->first[x];
    while (from < n && ways[from] < turn)
        from++;
    for (unsigned i = 0; i < n; i++)
        consider(r, next, x, ways[(from + i) % n], live, &best);
    return best;
}

/* ---- whole trees ------------------------------------------------------- */

void net_clos_find_bad(const struct net_routes *r,
                       bool bad[NET_LEVELS_MAX + 1][NET_SLOTS_MAX])
{
    memset(bad, 0, (NET_LEVELS_MAX + 1) * sizeof(*bad));
    for (uint32_t x = 0; x < r->nx; x++) {
        unsigned level = r->clos.level[x];
        const uint8_t *slot = r->clos.slot + r->clos.slots[x];

        if (r->any[x] == NET_FAR || r->down[x] != NET_FAR)
            continue;
        for (unsigned d = 0; d < r->clos.digits[level]; d++)
            if (slot[d] == NET_NO_EDGE ||
                !net_edge_shortest(r, x, net_edge_at(r, x, slot[d])))
                bad[level][d] = true;
    }
}

void net_tree_open(struct net_routes *r, uint32_t leaf, unsigned column)
{
    uint8_t *next = net_tree(r, leaf, column);

    for (uint32_t x = 0; x < r->nx; x++)
        if (next[x] != NET_NO_EDGE &&
            !net_edge_shortest(r, x, net_edge_at(r, x, next[x])))
            next[x] = NET_NO_EDGE;
}

/* Put the hosts of one leaf on their way. */
static void add_way(struct net_routes *r, const uint8_t *next, uint32_t x,
                    uint32_t hosts)
{
    const struct net_edge *e;

    while ((e = net_tree_edge(r, next, x))) {
        r->load[net_edge_port(r, x, e)] += hosts;
        x = e->to;
    }
}

/* The load from x on, remembered for those that come by x. */
static void remember(struct net_routes *r, const uint8_t *next, uint32_t x)
{
    const struct net_edge *e = net_tree_edge(r, next, x);
    uint32_t load = e ? r->load[net_edge_port(r, x, e)] : 0;

    r->onward[x] = e && r->onward[e->to] > load ? r->onward[e->to] : load;
}

/* The part above the leaf, from it upwards. */
static void fill_down(struct net_routes *r, uint8_t *next, unsigned turn)
{
    for (uint32_t i = 0; i < r->nx; i++) {
        uint32_t x = r->order[i];

        if (r->down[x] == NET_FAR)
            continue;
        if (next[x] == NET_NO_EDGE && r->down[x])
            next[x] = (uint8_t)choose(r, next, x, turn + x, false).ordinal;
        remember(r, next, x);
    }
}

void net_tree_fill(struct net_routes *r, uint32_t leaf, unsigned column)
{
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];
    unsigned turn = leaf + column;
    uint8_t *next = net_tree(r, leaf, column);

    fill_down(r, next, turn);
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i], at = r->leaf_of[r->xnode[x]];
        bool source = at != NET_NONE && hosts;

        if (r->any[x] == NET_FAR)
            continue;
        if (next[x] == NET_NO_EDGE && r->any[x])
            next[x] = (uint8_t)choose(r, next, x, turn + x, source).ordinal;
        remember(r, next, x);
        if (source)
            add_way(r, next, x, hosts * r->weight[at]);
    }
}
