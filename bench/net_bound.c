/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What no routes can beat, also if each pair of hosts could split its packets
 * over any ways and deadlock were no matter: see net_bound.h.
 *
 * With any length for each cable, the sum over all pairs of their distance is
 * at most the sum over all cables of length times load, so
 *
 *     worst load >= sum of distances / sum of lengths.
 *
 * Lengths are made to grow with the load that shortest ways gave the cables
 * so far; the best of all bounds is kept.  It is proved whatever they are.
 */
#include "net_bound.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 400

struct bound {
    const struct net *net;
    uint32_t *hosts;         /* per node: on a crossbar */
    double *length, *load;   /* per global port, summed up over rounds */
    double *dist, *down;     /* per node: of one source; hosts behind it */
    uint32_t *by, *order, n; /* port it was reached by; nodes as settled */
    bool *done;
};

static bool is_cable(const struct net *net, uint32_t port)
{
    uint32_t peer = net->ports[port].peer;

    return peer != NET_NONE && !net_is_host(net, net->ports[port].node) &&
           !net_is_host(net, net->ports[peer].node);
}

static void settle(struct bound *b, uint32_t at)
{
    const struct net_node *node = &b->net->nodes[at];

    b->done[at] = true;
    b->order[b->n++] = at;
    for (unsigned i = 0; i < node->nports; i++) {
        uint32_t port = node->first + i, to;

        if (!is_cable(b->net, port))
            continue;
        to = b->net->ports[b->net->ports[port].peer].node;
        if (b->dist[at] + b->length[port] < b->dist[to]) {
            b->dist[to] = b->dist[at] + b->length[port];
            b->by[to] = port;
        }
    }
}

/* Dijkstra without a heap: these nets are small. */
static void search(struct bound *b, uint32_t from)
{
    const struct net *net = b->net;
    uint32_t at = from;

    b->n = 0;
    for (uint32_t x = 0; x < net->nnodes; x++) {
        b->dist[x] = INFINITY;
        b->done[x] = net_is_host(net, x);
    }
    b->dist[from] = 0;
    while (at != NET_NONE) {
        settle(b, at);
        at = NET_NONE;
        for (uint32_t x = 0; x < net->nnodes; x++)
            if (!b->done[x] && isfinite(b->dist[x]) &&
                (at == NET_NONE || b->dist[x] < b->dist[at]))
                at = x;
    }
}

/* Everything from one crossbar onto the cables; its sum of distances. */
static double add_source(struct bound *b, uint32_t from)
{
    double sum = 0;

    search(b, from);
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t at = b->order[i];

        b->down[at] = (double)b->hosts[at] * b->hosts[from];
        sum += b->dist[at] * b->down[at];
    }
    for (uint32_t i = b->n; i-- > 1;) {
        uint32_t at = b->order[i], port = b->by[at];

        b->load[port] += b->down[at];
        b->down[b->net->ports[port].node] += b->down[at];
    }
    return sum;
}

/* A bound, and loads for the next one. */
static double bound_once(struct bound *b)
{
    double distances = 0, lengths = 0;

    for (uint32_t p = 0; p < b->net->nports; p++)
        if (is_cable(b->net, p))
            lengths += b->length[p];
    for (uint32_t x = 0; x < b->net->nnodes; x++)
        if (b->hosts[x])
            distances += add_source(b, x);
    return lengths > 0 ? distances / lengths : 0;
}

static void lengthen(struct bound *b, unsigned round)
{
    double worst = 0, steep = 5 + 55.0 * round / ROUNDS;

    for (uint32_t p = 0; p < b->net->nports; p++)
        worst = fmax(worst, b->load[p]);
    for (uint32_t p = 0; p < b->net->nports && worst > 0; p++)
        b->length[p] = exp(steep * (b->load[p] / worst - 1));
}

static void *make(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

double net_bound(const struct net *net)
{
    struct bound b = {.net = net,
                      .hosts = make(net->nnodes, sizeof(*b.hosts)),
                      .length = make(net->nports, sizeof(*b.length)),
                      .load = make(net->nports, sizeof(*b.load)),
                      .dist = make(net->nnodes, sizeof(*b.dist)),
                      .down = make(net->nnodes, sizeof(*b.down)),
                      .by = make(net->nnodes, sizeof(*b.by)),
                      .order = make(net->nnodes, sizeof(*b.order)),
                      .done = make(net->nnodes, sizeof(*b.done))};
    double best = 0;

    for (uint32_t h = 0; h < net->nnodes; h++)
        if (net_is_host(net, h) && net_peer_node(net, h, 0) != NET_NONE)
            b.hosts[net_peer_node(net, h, 0)]++;
    for (uint32_t p = 0; p < net->nports; p++)
        b.length[p] = 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        best = fmax(best, bound_once(&b));
        lengthen(&b, i);
    }
    free(b.hosts);
    free(b.length);
    free(b.load);
    free(b.dist);
    free(b.down);
    free(b.by);
    free(b.order);
    free(b.done);
    return best;
}
