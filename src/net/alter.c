/* SPDX-License-Identifier: BSD-3-Clause
 * Nets made from nets: faults, other ports, parts.  See build.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/rng.h"

/* May the cable at this port (seen from its lower end) be taken out? */
static bool candidate(const struct net *net, uint32_t p, bool hosts)
{
    uint32_t q = net->ports[p].peer;

    return q != NET_NONE && p < q &&
           (hosts || (!net_is_host(net, net->ports[p].node) &&
                      !net_is_host(net, net->ports[q].node)));
}

/* Selection sampling: each candidate goes with the probability that makes
 * the number exact. */
uint32_t net_cut_cables(struct net *net, double share, uint64_t seed,
                        bool hosts)
{
    struct net_rng rng = {seed};
    uint32_t left = 0, want, cut = 0;

    for (uint32_t p = 0; p < net->nports; p++)
        left += candidate(net, p, hosts);
    want = (uint32_t)(share * left + 0.5);
    for (uint32_t p = 0; p < net->nports && cut < want; p++) {
        if (!candidate(net, p, hosts))
            continue;
        if (net_rng_below(&rng, left--) < want - cut) {
            net_disconnect(net, net->ports[p].node, net_port_number(net, p));
            cut++;
        }
    }
    return cut;
}

/* Where each port's cable goes: a permutation within each crossbar. */
static void permute(const struct net *net, struct net_rng *rng, uint32_t *to)
{
    for (uint32_t p = 0; p < net->nports; p++)
        to[p] = p;
    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t *own = to + net->nodes[n].first;

        for (unsigned i = net->nodes[n].nports; i > 1; i--) {
            unsigned j = net_rng_below(rng, i);
            uint32_t t = own[i - 1];

            own[i - 1] = own[j];
            own[j] = t;
        }
    }
}

bool net_shuffle_ports(struct net *net, uint64_t seed)
{
    struct net_rng rng = {seed};
    uint32_t *to = malloc((net->nports + 1) * sizeof(*to));
    uint32_t *peer = malloc((net->nports + 1) * sizeof(*peer));

    if (!to || !peer) {
        free(to);
        free(peer);
        return false;
    }
    permute(net, &rng, to);
    for (uint32_t p = 0; p < net->nports; p++)
        peer[to[p]] =
            net->ports[p].peer == NET_NONE ? NET_NONE : to[net->ports[p].peer];
    for (uint32_t p = 0; p < net->nports; p++)
        net->ports[p].peer = peer[p];
    free(to);
    free(peer);
    return true;
}

void net_tell_ids(struct net *net, bool tell)
{
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (!net_is_host(net, n))
            net->nodes[n].has_id = tell;
}

/* Mark what can be reached; queue and mark have one entry per node. */
static uint32_t flood(const struct net *net, uint32_t from, uint32_t *queue,
                      uint32_t *mark)
{
    uint32_t n = 0, got = 0;

    memset(mark, 0xff, net->nnodes * sizeof(*mark));
    queue[got] = from;
    mark[from] = got++;
    while (n < got) {
        const struct net_node *node = &net->nodes[queue[n++]];

        for (unsigned p = 0; p < node->nports; p++) {
            uint32_t q = net->ports[node->first + p].peer, at;

            if (q == NET_NONE)
                continue;
            at = net->ports[q].node;
            if (mark[at] == NET_NONE) {
                queue[got] = at;
                mark[at] = got++;
            }
        }
    }
    return got;
}

static bool copy_node(struct net *to, const struct net *from, uint32_t n)
{
    const struct net_node *f = &from->nodes[n];
    uint32_t at = f->kind == NET_HOST
                      ? net_add_host(to, f->name, f->id)
                      : net_add_xbar(to, f->name, f->nports, f->id);

    if (at == NET_NONE)
        return false;
    to->nodes[at].has_id = f->has_id;
    to->nodes[at].plane = f->plane;
    return true;
}

static struct net *part(const struct net *net, const uint32_t *queue,
                        uint32_t n, const uint32_t *mark)
{
    struct net *to = net_new();

    for (uint32_t i = 0; to && i < n; i++)
        if (!copy_node(to, net, queue[i])) {
            net_free(to);
            return NULL;
        }
    for (uint32_t p = 0; to && p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q != NET_NONE && p < q && mark[net->ports[p].node] != NET_NONE &&
            mark[net->ports[q].node] != NET_NONE)
            net_connect(to, mark[net->ports[p].node], net_port_number(net, p),
                        mark[net->ports[q].node], net_port_number(net, q));
    }
    return to;
}

struct net *net_reachable(const struct net *net, uint32_t from, uint32_t *there)
{
    uint32_t *queue = malloc(net->nnodes * sizeof(*queue));
    uint32_t *mark = malloc(net->nnodes * sizeof(*mark));
    struct net *to = NULL;

    if (queue && mark) {
        to = part(net, queue, flood(net, from, queue, mark), mark);
        if (there)
            *there = mark[from];
    }
    free(queue);
    free(mark);
    return to;
}

struct net *net_without(const struct net *net, const bool *gone, uint32_t *to)
{
    uint32_t *queue = malloc((net->nnodes + 1) * sizeof(*queue));
    uint32_t *mark = malloc((net->nnodes + 1) * sizeof(*mark));
    struct net *left = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; queue && mark && i < net->nnodes; i++) {
        mark[i] = gone[i] ? NET_NONE : n;
        if (!gone[i])
            queue[n++] = i;
    }
    if (queue && mark)
        left = part(net, queue, n, mark);
    if (left && to)
        memcpy(to, mark, net->nnodes * sizeof(*to));
    free(queue);
    free(mark);
    return left;
}
