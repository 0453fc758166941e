/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees: the way from every crossbar to one leaf.  See route_impl.h.
 *
 * A tree has two phases where the way from a crossbar may depend on how it
 * was reached: NET_DOWN (reached downwards: only down from here) and NET_ANY.
 * On a Clos both are one.
 */
#include <string.h>

#include "net/route_impl.h"

/* ---- one place of a tree ----------------------------------------------- */

bool net_edge_shortest(const struct net_routes *r, uint32_t x, unsigned phase,
                       const struct net_edge *e)
{
    if (e->dead)
        return false;
    if (phase == NET_DOWN)
        return !e->up && r->down[e->to] + 1u == r->down[x];
    return e->up ? r->any[e->to] + 1u == r->any[x]
                 : r->down[e->to] + 1u == r->any[x];
}

/* Most loaded cable from (x, phase) on, as the tree stands; no need to look
 * further once it is above the limit. */
static uint32_t bottleneck(const struct net_routes *r, uint8_t *const next[2],
                           uint32_t x, unsigned phase, uint32_t limit)
{
    uint32_t worst = 0;

    while (next[phase][x] != NET_NO_EDGE && worst <= limit) {
        const struct net_edge *e = net_edge_at(r, x, next[phase][x]);
        uint32_t load = r->load[net_edge_port(r, x, e)];

        if (load > worst)
            worst = load;
        if (!e->up)
            phase = NET_DOWN;
        x = e->to;
    }
    return worst;
}

struct choice {
    unsigned ordinal;
    uint32_t worst, own;
};

static void consider(const struct net_routes *r, uint8_t *const next[2],
                     uint32_t x, unsigned ordinal, bool live,
                     struct choice *best)
{
    const struct net_edge *e = net_edge_at(r, x, ordinal);
    uint32_t own = r->load[net_edge_port(r, x, e)], worst;

    if (best->ordinal != NET_NO_EDGE && own > best->worst)
        return;
    if (live)
        worst =
            bottleneck(r, next, e->to, e->up ? NET_ANY : NET_DOWN,
                       best->ordinal == NET_NO_EDGE ? UINT32_MAX : best->worst);
    else
        worst = e->up ? r->bany[e->to] : r->bdown[e->to];
    if (own > worst)
        worst = own;
    if (best->ordinal == NET_NO_EDGE || worst < best->worst ||
        (worst == best->worst && own < best->own))
        *best = (struct choice){ordinal, worst, own};
}

/* The edges that begin a shortest way; looked for once for all trees of the
 * leaf. */
static unsigned ways_from(struct net_routes *r, uint32_t x, unsigned phase,
                          const uint8_t **ways)
{
    uint8_t *list = r->ways[phase] + r->first[x];
    unsigned edges = r->first[x + 1] - r->first[x], n = 0;

    *ways = list;
    if (r->seen[phase][x] == r->round)
        return r->nways[phase][x];
    for (unsigned i = 0; i < edges; i++)
        if (net_edge_shortest(r, x, phase, net_edge_at(r, x, i)))
            list[n++] = (uint8_t)i;
    r->seen[phase][x] = r->round;
    r->nways[phase][x] = (uint8_t)n;
    return n;
}

/* The shortest way from x whose most loaded cable has least load; which of
 * equal ones is first in turn goes round with the trees. */
static struct choice choose(struct net_routes *r, uint8_t *const next[2],
                            uint32_t x, unsigned phase, unsigned turn,
                            bool live)
{
    const uint8_t *ways;
    unsigned n = ways_from(r, x, phase, &ways), from = 0;
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
                !net_edge_shortest(r, x, NET_ANY, net_edge_at(r, x, slot[d])))
                bad[level][d] = true;
    }
}

static void open_phase(struct net_routes *r, uint8_t *next, unsigned phase)
{
    for (uint32_t x = 0; x < r->nx; x++)
        if (next[x] != NET_NO_EDGE &&
            !net_edge_shortest(r, x, phase, net_edge_at(r, x, next[x])))
            next[x] = NET_NO_EDGE;
}

void net_tree_open(struct net_routes *r, uint32_t leaf, unsigned column)
{
    open_phase(r, net_tree(r, leaf, column, NET_ANY), NET_ANY);
    if (r->phases == 2)
        open_phase(r, net_tree(r, leaf, column, NET_DOWN), NET_DOWN);
}

/* Put the hosts of one leaf on their way. */
static void add_way(struct net_routes *r, uint8_t *const next[2], uint32_t x,
                    uint32_t hosts)
{
    unsigned phase = NET_ANY;

    while (next[phase][x] != NET_NO_EDGE) {
        const struct net_edge *e = net_edge_at(r, x, next[phase][x]);

        r->load[net_edge_port(r, x, e)] += hosts;
        if (!e->up)
            phase = NET_DOWN;
        x = e->to;
    }
}

/* The load from x on, remembered for those that come by x. */
static void remember(struct net_routes *r, uint32_t x, unsigned phase,
                     unsigned ordinal)
{
    const struct net_edge *e;
    uint32_t *b = phase == NET_ANY ? r->bany : r->bdown;

    b[x] = 0;
    if (ordinal == NET_NO_EDGE)
        return;
    e = net_edge_at(r, x, ordinal);
    b[x] = e->up ? r->bany[e->to] : r->bdown[e->to];
    if (r->load[net_edge_port(r, x, e)] > b[x])
        b[x] = r->load[net_edge_port(r, x, e)];
}

static void fill_down(struct net_routes *r, uint8_t *const next[2],
                      unsigned turn)
{
    for (uint32_t i = 0; i < r->nx; i++) {
        uint32_t x = r->order[i];

        if (r->down[x] == NET_FAR)
            continue;
        if (next[NET_DOWN][x] == NET_NO_EDGE && r->down[x])
            next[NET_DOWN][x] =
                (uint8_t)choose(r, next, x, NET_DOWN, turn + x, false).ordinal;
        remember(r, x, NET_DOWN, next[NET_DOWN][x]);
    }
}

void net_tree_fill(struct net_routes *r, uint32_t leaf, unsigned column)
{
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];
    unsigned turn = leaf + column;
    uint8_t *next[2];

    net_tree_phases(r, leaf, column, next);
    fill_down(r, next, turn);
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i], at = r->leaf_of[r->xnode[x]];
        bool source = at != NET_NONE && hosts;

        if (r->any[x] == NET_FAR)
            continue;
        if (next[NET_ANY][x] == NET_NO_EDGE && r->any[x])
            next[NET_ANY][x] =
                (uint8_t)choose(r, next, x, NET_ANY, turn + x, source).ordinal;
        remember(r, x, NET_ANY, next[NET_ANY][x]);
        if (source)
            add_way(r, next, x, hosts * r->weight[at]);
    }
}
