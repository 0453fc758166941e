/* SPDX-License-Identifier: BSD-3-Clause
 * Who comes by a place of a tree.  See route_impl.h.
 */
#include <stdlib.h>

#include "net/route_impl.h"

bool net_upstream_new(struct net_upstream *u, const struct net_routes *r)
{
    *u = (struct net_upstream){.x = malloc((r->nx + 1) * sizeof(*u->x)),
                               .seen = calloc(r->nx + 1, sizeof(*u->seen))};
    return u->x && u->seen;
}

void net_upstream_free(struct net_upstream *u)
{
    free(u->x);
    free(u->seen);
}

void net_upstream_begin(struct net_upstream *u)
{
    u->n = 0;
    u->round++;
}

void net_upstream_add(struct net_upstream *u, uint32_t x)
{
    if (u->seen[x] == u->round)
        return;
    u->seen[x] = u->round;
    u->x[u->n++] = x;
}

void net_upstream_find(struct net_upstream *u, const struct net_routes *r,
                       uint32_t leaf, unsigned column)
{
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t x = u->x[i];

        for (uint32_t k = r->first[x]; k < r->first[x + 1]; k++) {
            uint32_t w = r->edges[k].to;
            unsigned step;

            if (u->seen[w] == u->round)
                continue;
            step = net_tree_step(r, leaf, column, w);
            if (step != NET_NO_EDGE &&
                net_edge_at(r, w, step)->port == r->edges[k].peer &&
                net_edge_at(r, w, step)->to == x)
                net_upstream_add(u, w);
        }
    }
}
