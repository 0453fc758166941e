/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What whole trees put on their cables, and what they were before a repair.
 * See route_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

static void pass_on(struct net_routes *r, uint32_t x, unsigned ordinal,
                    uint32_t hosts)
{
    const struct net_edge *e = net_edge_at(r, x, ordinal);

    if (e->up)
        r->sub_any[e->to] += hosts;
    else
        r->sub_down[e->to] += hosts;
}

/* Upwards the hosts gather in the order of the ranks, downwards against it. */
void net_tree_flow(struct net_routes *r, uint32_t leaf, unsigned column)
{
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];
    uint8_t *next[2];

    net_tree_phases(r, leaf, column, next);
    memset(r->sub_any, 0, r->nx * sizeof(*r->sub_any));
    memset(r->sub_down, 0, r->nx * sizeof(*r->sub_down));
    for (uint32_t l = 0; l < r->nleaves; l++)
        r->sub_any[r->leaf_x[l]] = r->weight[l] * hosts;
    for (uint32_t i = 0; i < r->nx; i++) {
        uint32_t x = r->order[i];

        if (r->sub_any[x] && next[NET_ANY][x] != NET_NO_EDGE)
            pass_on(r, x, next[NET_ANY][x], r->sub_any[x]);
    }
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i];

        if (r->sub_down[x] && next[NET_DOWN][x] != NET_NO_EDGE)
            pass_on(r, x, next[NET_DOWN][x], r->sub_down[x]);
    }
}

void net_tree_load(struct net_routes *r, uint32_t leaf, unsigned column,
                   int sign)
{
    uint8_t *next[2];

    if (!r->ncolumn[(size_t)leaf * r->columns + column])
        return;
    net_tree_phases(r, leaf, column, next);
    net_tree_flow(r, leaf, column);
    for (uint32_t x = 0; x < r->nx; x++)
        for (unsigned phase = NET_ANY; phase <= NET_DOWN; phase++) {
            uint32_t hosts = phase == NET_ANY ? r->sub_any[x] : r->sub_down[x];

            if (hosts && next[phase][x] != NET_NO_EDGE)
                r->load[net_edge_port(r, x,
                                      net_edge_at(r, x, next[phase][x]))] +=
                    (uint32_t)sign * hosts;
        }
}

bool net_tree_save(struct net_routes *r, uint32_t leaf, unsigned column)
{
    size_t t = (size_t)leaf * r->columns + column, size;

    if (!r->saved || r->saved[t])
        return true;
    size = (size_t)r->phases * r->nx;
    r->saved[t] = malloc(size + 1);
    if (r->saved[t])
        memcpy(r->saved[t], net_tree(r, leaf, column, 0), size);
    return r->saved[t] != NULL;
}
