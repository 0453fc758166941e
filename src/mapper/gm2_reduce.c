/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of a map for one host to verify: copies of the net in which only some
 * cables are left, with the same nodes and ports.
 */
#include <stdlib.h>

#include "mapper/gm2_priv.h"
#include "net/build.h"

/* Take out of a copy all cables that are not marked at their lower end. */
static struct net *keep_only(const struct net *net, const bool *keep)
{
    struct net *copy = net_copy(net);

    for (uint32_t p = 0; copy && p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q != NET_NONE && q > p && !keep[p] && !keep[q])
            net_disconnect(copy, net->ports[p].node, net_port_number(net, p));
    }
    return copy;
}

struct net *gm2_reduce_near(const struct net *net, uint32_t me)
{
    bool *keep = calloc(net->nports + 1, sizeof(*keep));
    uint32_t x = net_peer_node(net, me, 0);
    struct net *copy;

    if (!keep)
        return NULL;
    keep[net->nodes[me].first] = true;
    for (unsigned i = 0; x != NET_NONE && i < net->nodes[x].nports; i++)
        keep[net->nodes[x].first + i] = true;
    copy = keep_only(net, keep);
    free(keep);
    return copy;
}

/* up[n]: the port of node n that leads towards the host; NET_NONE. */
static void search(const struct net *net, uint32_t me, uint32_t *up,
                   uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        up[i] = NET_NONE;
    queue[tail++] = me;
    while (head < tail) {
        const struct net_node *node = &net->nodes[queue[head++]];

        for (unsigned i = 0; i < node->nports; i++) {
            uint32_t q = net->ports[node->first + i].peer, n;

            if (q == NET_NONE)
                continue;
            n = net->ports[q].node;
            if (n == me || up[n] != NET_NONE)
                continue;
            up[n] = q;
            if (net->nodes[n].kind == NET_XBAR)
                queue[tail++] = n;
        }
    }
}

/* Mark the way from a node to the host. */
static void mark_way(const struct net *net, uint32_t node, const uint32_t *up,
                     bool *keep)
{
    while (up[node] != NET_NONE && !keep[up[node]]) {
        keep[up[node]] = true;
        node = net->ports[net->ports[up[node]].peer].node;
    }
}

static void mark_share(const struct net *net, uint32_t me, const uint32_t *up,
                       bool *keep)
{
    uint32_t link = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, node = net->ports[p].node;

        if (q == NET_NONE || q < p || net->nodes[node].kind != NET_XBAR ||
            net->nodes[net->ports[q].node].kind != NET_XBAR)
            continue;
        if (link++ % net->nhosts != me)
            continue;
        mark_way(net, node, up, keep);
        mark_way(net, net->ports[q].node, up, keep);
        keep[p] = true;
    }
}

struct net *gm2_reduce_share(const struct net *net, uint32_t me)
{
    bool *keep = calloc(net->nports + 1, sizeof(*keep));
    uint32_t *up = calloc(net->nnodes + 1, sizeof(*up));
    uint32_t *queue = calloc(net->nnodes + 1, sizeof(*queue));
    struct net *copy = NULL;

    if (keep && up && queue) {
        search(net, me, up, queue);
        keep[net->nodes[me].first] = true;
        mark_share(net, me, up, keep);
        copy = keep_only(net, keep);
    }
    free(queue);
    free(up);
    free(keep);
    return copy;
}

struct net *gm2_reduce_above(const struct net *net, uint32_t me)
{
    struct net *copy = net_copy(net);

    for (uint32_t i = me + 1; copy && i < copy->nhosts; i++)
        net_disconnect(copy, i, 0);
    return copy;
}

struct net *gm2_reduce_reachable(const struct net *net, uint32_t me,
                                 uint32_t *there)
{
    uint32_t *up = calloc(net->nnodes + 1, sizeof(*up));
    uint32_t *queue = calloc(net->nnodes + 1, sizeof(*queue));
    bool *gone = calloc(net->nnodes + 1, sizeof(*gone));
    struct net *left = NULL;

    if (up && queue && gone) {
        search(net, me, up, queue);
        *there = me;
        for (uint32_t i = 0; i < net->nnodes; i++) {
            gone[i] = i != me && up[i] == NET_NONE;
            *there -= i < me && gone[i];
        }
        left = net_without(net, gone, NULL);
    }
    free(gone);
    free(queue);
    free(up);
    return left;
}
