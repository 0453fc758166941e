/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far every crossbar is from one leaf: going only down, and up and then
 * down.  See route_impl.h.
 */
#include <string.h>

#include "net/route_impl.h"

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
    distances_down(r, r->leaf_x[leaf]);
    memcpy(r->any, r->down, r->nx * sizeof(*r->any));
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i];
        unsigned best = r->any[x];

        if (r->phases == 1 && best != NET_FAR)
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
