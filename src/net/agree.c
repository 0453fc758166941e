/* SPDX-License-Identifier: BSD-3-Clause
 * Do the routes of two hosts go together?  See route_impl.h and route.h.
 */
#include "net/pairs.h"
#include "net/route_impl.h"

/* Live edges are the new ones, in their order. */
static bool same_ups(const struct net_routes *r, const struct net_routes *now)
{
    if (r->nx != now->nx)
        return false;
    for (uint32_t x = 0; x < r->nx; x++) {
        uint32_t e = now->first[x];

        for (uint32_t o = r->first[x]; o < r->first[x + 1]; o++) {
            const struct net_edge *old = &r->edges[o];

            if (old->dead)
                continue;
            if (e == now->first[x + 1] || now->edges[e].port != old->port ||
                now->edges[e].up != old->up)
                return false;
            e++;
        }
        if (e != now->first[x + 1])
            return false;
    }
    return true;
}

/* As compute() in routes.c decides, but for what only routes show. */
static bool orient(const struct net_routes *r, struct net_routes *now)
{
    bool clos = false;

    if (!net_survey(now) ||
        (r->asked != NET_UPDOWN && !net_orient_clos(now, &clos)))
        return false;
    if (clos != (r->engine == NET_DMODK))
        return false;
    return clos || net_orient_tree(now);
}

bool net_routes_agree(const struct net_routes *r)
{
    struct net_routes *now = net_routes_bare(r->net);
    bool same = now && orient(r, now) && same_ups(r, now);

    net_routes_free(now);
    return same;
}

/* Of one port, so that a set of them has a number that its order is not in. */
static uint32_t print_of(uint32_t port)
{
    uint32_t h = (port + 1) * UINT32_C(0x9e3779b1);

    h = (h ^ h >> 15) * UINT32_C(0x85ebca77);
    return h ^ h >> 13;
}

uint16_t net_routes_ups(const struct net_routes *r)
{
    uint32_t all = 0;
    uint16_t ups;

    if (r->pairs)
        all = net_turns_print(r->pairs->t);
    for (uint32_t x = 0; x < r->nx && !r->pairs; x++)
        for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++)
            if (!r->edges[i].dead && r->edges[i].up)
                all ^= print_of(net_edge_port(r, x, &r->edges[i]));
    ups = (uint16_t)(all ^ all >> 16);
    return ups ? ups : 1;
}
