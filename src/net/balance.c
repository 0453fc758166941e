/* SPDX-License-Identifier: BSD-3-Clause
 * How evenly routes lie on the cables: see route.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* ---- the bound ----------------------------------------------------------- */

/* Hosts in the part of the net that each node lies in. */
static uint32_t *hosts_near(const struct net *net)
{
    uint32_t *queue = malloc((net->nnodes + 1) * sizeof(*queue));
    uint32_t *near = malloc((net->nnodes + 1) * sizeof(*near));

    if (near)
        memset(near, 0xff, net->nnodes * sizeof(*near));
    for (uint32_t i = 0; queue && near && i < net->nnodes; i++) {
        uint32_t n = 0, got = 0, hosts = 0;

        if (near[i] != NET_NONE)
            continue;
        queue[got++] = i;
        near[i] = 0;
        while (n < got) {
            uint32_t at = queue[n++];

            hosts += net_is_host(net, at);
            for (unsigned p = 0; p < net->nodes[at].nports; p++) {
                uint32_t to = net_peer_node(net, at, p);

                if (to == NET_NONE || near[to] != NET_NONE)
                    continue;
                near[to] = 0;
                queue[got++] = to;
            }
        }
        for (n = 0; n < got; n++)
            near[queue[n]] = hosts;
    }
    free(queue);
    return near;
}

double net_ideal_load(const struct net *net)
{
    uint32_t *near = hosts_near(net);
    double ideal = 0;

    for (uint32_t n = 0; near && n < net->nnodes; n++) {
        uint32_t hosts = 0, cables = 0;

        for (unsigned p = 0; p < net->nodes[n].nports; p++) {
            uint32_t to = net_peer_node(net, n, p);

            if (to == NET_NONE || to == n)
                continue;
            if (net_is_host(net, to))
                hosts++;
            else
                cables++;
        }
        if (!net_is_host(net, n) && cables) {
            double own = (double)hosts * (near[n] - hosts) / cables;

            if (own > ideal)
                ideal = own;
        }
    }
    free(near);
    return ideal;
}

/* ---- what there is --------------------------------------------------------
 */

/* Host by host, where there are no trees. */
static void path_loads(const struct net_routes *r, uint32_t *load,
                       struct net_balance *b)
{
    const struct net *net = r->net;
    struct net_path path;

    for (uint32_t s = 0; s < net->nnodes; s++) {
        if (!net_is_host(net, s))
            continue;
        for (uint32_t d = 0; d < net->nnodes; d++) {
            if (d == s || !net_is_host(net, d) ||
                !net_routes_path(r, s, d, &path))
                continue;
            b->pairs++;
            if (path.hops > b->longest)
                b->longest = path.hops;
            for (unsigned i = 1; i < path.hops; i++)
                load[path.port[i]]++;
        }
    }
}

static void tree_lengths(const struct net_routes *r, uint32_t leaf,
                         unsigned column, struct net_balance *b)
{
    uint32_t ports[NET_ROUTE_MAX];
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];

    for (uint32_t s = 0; hosts && s < r->nleaves; s++) {
        uint32_t from = r->weight[s] - (s == leaf); /* not to itself */
        int n = net_tree_walk(r, s, leaf, column, ports, r->hop_limit - 1);

        if (n < 0 || !r->weight[s])
            continue;
        b->pairs += (uint64_t)hosts * from;
        if ((from || s != leaf) && (unsigned)n + 1 > b->longest)
            b->longest = (unsigned)n + 1;
    }
}

static void find_worst(const struct net_routes *r, const uint32_t *load,
                       struct net_balance *b)
{
    const struct net *net = r->net;

    for (uint32_t p = 0; p < net->nports; p++)
        if (load[p] > b->worst) {
            b->worst = load[p];
            b->worst_port = p;
        }
    b->ideal = net_ideal_load(net);
    b->ratio = b->ideal > 0 ? (double)b->worst / b->ideal : 1;
}

int net_routes_balance(const struct net_routes *r, struct net_balance *b)
{
    uint64_t hosts = r->net->nhosts;
    uint32_t *own = NULL;

    *b = (struct net_balance){.worst_port = NET_NONE};
    if (r->engine == NET_GM2 || r->engine == NET_PAIRS) {
        own = calloc(r->net->nports + 1, sizeof(*own));
        if (!own)
            return -1;
        path_loads(r, own, b);
    } else {
        for (uint32_t l = 0; l < r->nleaves; l++)
            for (unsigned c = 0; c < r->columns; c++)
                tree_lengths(r, l, c, b);
    }
    b->cut_off = hosts * (hosts - (hosts > 0)) - b->pairs;
    find_worst(r, own ? own : r->load, b);
    free(own);
    return 0;
}
