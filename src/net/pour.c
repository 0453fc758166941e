/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads of all trees that the digits give whole, at once.  See route_impl.h.
 *
 * Trees with the same digits go the same way up until they are above their
 * leaf.  So what all leaves send is poured upwards once for all trees of the
 * same digits, as if it never turned; then for each of these trees what went
 * up from above its leaf is taken back and sent down instead.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

struct pour {
    struct net_routes *r;
    const uint8_t *open; /* per tree: not whole */
    uint32_t *flow;      /* per x: hosts that come by, all leaves' */
    uint32_t *turned;    /* per x above a leaf: hosts that turn there */
    uint32_t *reached;   /* x with a flow, lower levels first */
    uint32_t *above;     /* of them those above the leaf, higher ones first */
    uint32_t nreached, nleaves, nabove;
    unsigned digit[NET_LEVELS_MAX + 1];
    uint64_t period; /* trees with numbers so far apart have the same digits */
};

/* The edge upwards from x; NULL: none. */
static const struct net_edge *edge_up(const struct pour *p, uint32_t x)
{
    const struct net_clos_shape *c = &p->r->clos;
    unsigned level = c->level[x];
    uint8_t ordinal = level < c->levels ? c->slot[c->slots[x] + p->digit[level]]
                                        : NET_NO_EDGE;

    return ordinal == NET_NO_EDGE ? NULL : net_edge_at(p->r, x, ordinal);
}

static void pour_up(struct pour *p, uint32_t part)
{
    struct net_routes *r = p->r;

    for (uint32_t i = 0; i < p->nreached; i++)
        p->flow[p->reached[i]] = 0;
    p->nreached = 0;
    for (uint32_t l = 0; l < r->nleaves; l++) {
        uint32_t x = r->leaf_x[l];

        if (r->part[x] != part || !r->weight[l])
            continue;
        p->reached[p->nreached++] = x;
        p->flow[x] = r->weight[l];
    }
    p->nleaves = p->nreached;
    for (uint32_t i = 0; i < p->nreached; i++) {
        uint32_t x = p->reached[i];
        const struct net_edge *e = edge_up(p, x);

        if (!e)
            continue;
        if (!p->flow[e->to])
            p->reached[p->nreached++] = e->to;
        p->flow[e->to] += p->flow[x];
    }
}

/* What of the flow came from above the leaf goes up no further. */
static void turn_back(struct pour *p, uint32_t leaf, uint32_t hosts)
{
    struct net_routes *r = p->r;

    p->nabove = 0;
    for (uint32_t i = p->nreached; i-- > p->nleaves;)
        if (net_clos_below(r, p->reached[i], leaf))
            p->above[p->nabove++] = p->reached[i];
    if (p->flow[r->leaf_x[leaf]])
        p->above[p->nabove++] = r->leaf_x[leaf];
    for (uint32_t i = 0; i < p->nabove; i++)
        p->turned[p->above[i]] = p->flow[p->above[i]];
    for (uint32_t i = 0; i < p->nabove; i++) {
        uint32_t x = p->above[i];
        const struct net_edge *e = edge_up(p, x);

        if (!e)
            continue;
        r->load[net_edge_port(r, x, e)] -= hosts * p->flow[x];
        p->turned[e->to] -= p->flow[x];
    }
}

static void send_down(struct pour *p, uint32_t leaf, unsigned column,
                      uint32_t hosts)
{
    struct net_routes *r = p->r;

    for (uint32_t i = 0; i < p->nabove; i++) {
        uint32_t x = p->above[i], n = p->turned[x];

        while (n && x != r->leaf_x[leaf]) {
            const struct net_edge *e =
                net_edge_at(r, x, net_clos_step(r, leaf, column, x));

            r->load[net_edge_port(r, x, e)] += hosts * n;
            x = e->to;
        }
    }
}

/* Hosts that a whole tree of this part leads to; 0: leave it alone. */
static uint32_t hosts_of(const struct pour *p, uint64_t tree, uint32_t part)
{
    const struct net_routes *r = p->r;
    uint32_t leaf = (uint32_t)(tree / r->columns);

    if (p->open[tree] || r->part[r->leaf_x[leaf]] != part)
        return 0;
    return r->ncolumn[tree];
}

/* All trees with the digits of the first one. */
static void pour_alike(struct pour *p, uint64_t first, uint32_t part)
{
    struct net_routes *r = p->r;
    uint64_t trees = (uint64_t)r->nleaves * r->columns;
    uint32_t sum = 0;

    for (uint64_t t = first; t < trees; t += p->period)
        sum += hosts_of(p, t, part);
    if (!sum)
        return;
    for (unsigned l = 1; l < r->clos.levels; l++)
        p->digit[l] = net_clos_digit(r, (uint32_t)(first / r->columns),
                                     (unsigned)(first % r->columns), l);
    pour_up(p, part);
    for (uint32_t i = 0; i < p->nreached; i++) {
        uint32_t x = p->reached[i];
        const struct net_edge *e = edge_up(p, x);

        if (e)
            r->load[net_edge_port(r, x, e)] += sum * p->flow[x];
    }
    for (uint64_t t = first; t < trees; t += p->period) {
        uint32_t hosts = hosts_of(p, t, part);

        if (!hosts)
            continue;
        turn_back(p, (uint32_t)(t / r->columns), hosts);
        send_down(p, (uint32_t)(t / r->columns), (unsigned)(t % r->columns),
                  hosts);
    }
}

static void pour_all(struct pour *p)
{
    struct net_routes *r = p->r;
    uint64_t trees = (uint64_t)r->nleaves * r->columns;
    uint32_t parts = 0;

    p->period = 1;
    for (unsigned l = 1; l < r->clos.levels && p->period < trees; l++)
        p->period *= r->clos.digits[l];
    for (uint32_t l = 0; l < r->nleaves; l++)
        if (r->part[r->leaf_x[l]] >= parts)
            parts = r->part[r->leaf_x[l]] + 1;
    for (uint32_t part = 0; part < parts; part++)
        for (uint64_t t = 0; t < p->period && t < trees; t++)
            pour_alike(p, t, part);
}

bool net_clos_pour(struct net_routes *r, const uint8_t *open)
{
    struct pour p = {.r = r, .open = open};
    bool ok;

    p.flow = calloc(r->nx + 1, sizeof(*p.flow));
    p.turned = calloc(r->nx + 1, sizeof(*p.turned));
    p.reached = malloc((r->nx + 1) * sizeof(*p.reached));
    p.above = malloc((r->nx + 1) * sizeof(*p.above));
    ok = p.flow && p.turned && p.reached && p.above;
    if (ok)
        pour_all(&p);
    free(p.flow);
    free(p.turned);
    free(p.reached);
    free(p.above);
    return ok;
}
