/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier's next question, stage by stage.
 */
#include "mapper/verify_priv.h"

/* The next host to ask. */
static bool make_host(struct verify *v, struct vjob *job)
{
    const struct net *net = v->map;

    for (; v->at_node < net->nnodes; v->at_node++) {
        uint32_t host = v->at_node, at;

        if (!net_is_host(net, host) || host == v->me)
            continue;
        at = net_peer_node(net, host, 0);
        if (at == NET_NONE)
            continue;
        job->node = host;
        job->probe.kind = v->limits.absolute ? PROBE_TAGGED : PROBE_SCOUT;
        if (at == v->me ||
            (!net_is_host(net, at) &&
             tour_to_port(v, at, (int)net_peer_port(net, host, 0), false,
                          &job->probe))) {
            v->at_node++;
            return true;
        }
        verify_host_lost(v, host);
    }
    return false;
}

/* The next link of this round's share to be closed to a ring. */
static bool make_ring(struct verify *v, struct vjob *job)
{
    uint32_t share = (v->nlinks - 1) / v->options.rings + 1;

    for (; v->at_link < v->nlinks; v->at_link++) {
        if (v->at_link % share != v->options.round % share ||
            !tour_make_ring(v, job, v->at_link))
            continue;
        job->node = v->at_link++;
        return true;
    }
    return false;
}

/* A probe that turns round in a crossbar, which marks it. */
static bool to_turn_in(const struct verify *v, uint32_t node,
                       struct probe *probe)
{
    uint32_t before;

    probe->kind = PROBE_TAGGED;
    if (node == v->root) {
        probe->nroute = 1;
        probe->route[0] = net_route_byte(0);
        return true;
    }
    before = v->map->ports[v->parent[node]].peer;
    return tour_to_port(v, v->map->ports[before].node,
                        (int)net_port_number(v->map, before), true, probe);
}

/* The next crossbar to be asked who it is. */
static bool make_id(struct verify *v, struct vjob *job)
{
    while (v->at_node < v->map->nnodes) {
        uint32_t node = v->at_node++;

        if (!v->map->nodes[node].has_id || v->parent[node] == NET_NONE ||
            !to_turn_in(v, node, &job->probe))
            continue;
        job->node = node;
        job->port = (int)net_port_number(v->map, v->parent[node]);
        return true;
    }
    return false;
}

/* Ports that a crossbar may have, by what the map shows of it. */
static void port_range(const struct verify *v, const struct net_node *node,
                       int *first, int *last)
{
    int lo = node->nports, hi = -1;

    *first = 0;
    *last = node->nports - 1;
    if (node->has_id || v->limits.absolute)
        return;
    for (int p = 0; p < node->nports; p++) {
        if (v->map->ports[node->first + (uint32_t)p].peer == NET_NONE)
            continue;
        lo = p < lo ? p : lo;
        hi = p;
    }
    if (hi < 0)
        return;
    *first = hi - (v->limits.max_ports - 1);
    *last = lo + (v->limits.max_ports - 1);
}

static bool is_free(const struct verify *v, const struct net_node *node,
                    int port)
{
    return port < 0 || port >= node->nports ||
           v->map->ports[node->first + (uint32_t)port].peer == NET_NONE;
}

/* The next free port to look at. */
static bool make_empty(struct verify *v, struct vjob *job)
{
    unsigned share = v->options.empty_share ? v->options.empty_share : 1;

    for (; v->at_node < v->map->nnodes; v->at_node++, v->at_port = INT16_MIN) {
        const struct net_node *node = &v->map->nodes[v->at_node];
        int first, last;

        if (node->kind != NET_XBAR || v->parent[v->at_node] == NET_NONE)
            continue;
        port_range(v, node, &first, &last);
        if (v->at_port < first)
            v->at_port = first;
        for (; v->at_port <= last; v->at_port++) {
            if (!is_free(v, node, v->at_port) ||
                ((unsigned)(v->at_port - first) + v->at_node) % share !=
                    v->options.round % share)
                continue;
            job->node = v->at_node;
            job->port = v->at_port;
            job->scout = !v->limits.absolute;
            job->probe.kind = job->scout ? PROBE_SCOUT : PROBE_TAGGED;
            if (!tour_to_port(v, job->node, job->port, false, &job->probe))
                break;
            v->at_port++;
            return true;
        }
    }
    return false;
}

/* Absolute fabrics: one probe asks who is at the far end of one link. */
static bool make_absolute(struct verify *v, struct vjob *job)
{
    for (; v->at_link < v->nlinks; v->at_link++) {
        const struct vlink *l = &v->links[v->at_link];
        uint32_t from = l->a, node = v->map->ports[from].node;
        uint32_t other = v->map->ports[l->b].node;

        if (l->state != VLINK_UNKNOWN)
            continue;
        if (v->parent[node] == NET_NONE ||
            (v->parent[other] != NET_NONE && v->dist[other] < v->dist[node])) {
            from = l->b;
            node = other;
        }
        if (v->parent[node] == NET_NONE)
            continue;
        job->node = from;
        job->probe.kind = PROBE_TAGGED;
        job->nlinks = 1;
        job->links[0] = v->at_link;
        if (!tour_to_port(v, node, (int)net_port_number(v->map, from), false,
                          &job->probe))
            continue;
        v->links[v->at_link++].out = true;
        return true;
    }
    return false;
}

bool verify_make_job(struct verify *v, struct vjob *job)
{
    switch (v->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        if (v->limits.absolute)
            return make_absolute(v, job);
        return tour_make(v, job, v->stage == VERIFY_BISECT);
    case VERIFY_HOSTS:
        return make_host(v, job);
    case VERIFY_RINGS:
        return make_ring(v, job);
    case VERIFY_IDS:
        return make_id(v, job);
    case VERIFY_EMPTY:
        return make_empty(v, job);
    case VERIFY_END:
        break;
    }
    return false;
}
