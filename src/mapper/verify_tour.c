/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of the verifier's probes.
 */
#include "mapper/verify_priv.h"

#include <string.h>

struct walk {
    struct verify *v;
    struct vjob *job;
    uint32_t node, in; /* where the packet is, global port it came in by */
    unsigned bytes;
    bool sure;
};

static unsigned number(const struct net *net, uint32_t port)
{
    return net_port_number(net, port);
}

static uint32_t peer_node(const struct net *net, uint32_t port)
{
    return net->ports[net->ports[port].peer].node;
}

static bool usable(const struct verify *v, uint32_t port, bool sure)
{
    uint32_t l = v->link_of[port];

    if (l == NET_NONE)
        return false;
    return sure ? v->links[l].state == VLINK_SOUND
                : v->links[l].state != VLINK_LOST;
}

void tour_plan(struct verify *v, bool sure)
{
    const struct net *net = v->map;
    uint32_t head = 0, tail = 0;

    for (uint32_t n = 0; n < net->nnodes; n++)
        v->parent[n] = NET_NONE;
    if (v->root == NET_NONE)
        return;
    v->parent[v->root] = net->ports[net->nodes[v->me].first].peer;
    v->dist[v->root] = 0;
    v->queue[tail++] = v->root;
    while (head < tail) {
        uint32_t n = v->queue[head++];
        const struct net_node *node = &net->nodes[n];

        for (uint32_t p = node->first; p < node->first + node->nports; p++) {
            uint32_t far;

            if (!usable(v, p, sure))
                continue;
            far = peer_node(net, p);
            if (v->parent[far] != NET_NONE)
                continue;
            v->parent[far] = net->ports[p].peer;
            v->dist[far] = (uint16_t)(v->dist[n] + 1);
            v->queue[tail++] = far;
        }
    }
}

/* Ports by which the way to a crossbar leaves those before it, last first. */
static unsigned ports_to(const struct verify *v, uint32_t node, uint32_t *out)
{
    unsigned n = 0;

    for (; node != v->root; n++) {
        out[n] = v->map->ports[v->parent[node]].peer;
        node = v->map->ports[out[n]].node;
    }
    return n;
}

static uint8_t byte_for(const struct verify *v, uint32_t in, uint32_t out)
{
    unsigned to = number(v->map, out);

    if (v->limits.absolute)
        return (uint8_t)to;
    return net_route_byte((int)to - (int)number(v->map, in));
}

static void note(struct walk *w, uint32_t port)
{
    struct verify *v = w->v;
    uint32_t l = v->link_of[port];
    struct vlink *link = &v->links[l];

    w->job->links[w->job->nlinks++] = l;
    if (link->state == VLINK_UNKNOWN && !link->out) {
        link->out = true;
        v->need[v->map->ports[link->a].node]--;
        v->need[v->map->ports[link->b].node]--;
    }
}

/* Over one cable. */
static void step(struct walk *w, uint32_t port)
{
    w->job->probe.route[w->bytes++] = byte_for(w->v, w->in, port);
    if (w->v->link_of[port] != NET_NONE)
        note(w, port);
    w->in = w->v->map->ports[port].peer;
    w->node = w->v->map->ports[w->in].node;
}

static bool may_step(const struct walk *w, uint32_t port, bool wanted)
{
    const struct verify *v = w->v;
    uint32_t l = v->link_of[port], far;
    bool fresh;

    if (l == NET_NONE || v->links[l].state == VLINK_LOST)
        return false;
    fresh = v->links[l].state == VLINK_UNKNOWN && !v->links[l].out;
    if (wanted ? !fresh : !usable(v, port, w->sure))
        return false;
    far = peer_node(v->map, port);
    return v->parent[far] != NET_NONE &&
           w->bytes + 1 + v->dist[far] + 1u <= v->limits.max_route &&
           w->job->nlinks + v->dist[far] + 2u < PROBE_ROUTE_MAX;
}

static unsigned wanted_links(const struct walk *w)
{
    unsigned n = 0;

    for (int i = 0; i < w->job->nlinks; i++)
        n += w->v->links[w->job->links[i]].out;
    return n;
}

/* Where to go on: an untoured link here, or one step towards one. */
static uint32_t next_port(const struct walk *w)
{
    const struct verify *v = w->v;
    const struct net_node *node = &v->map->nodes[w->node];
    uint32_t end = node->first + node->nports;

    if (wanted_links(w) >= v->most)
        return NET_NONE;
    for (uint32_t p = node->first; v->need[w->node] > 0 && p < end; p++)
        if (p != w->in && may_step(w, p, true))
            return p;
    for (uint32_t p = node->first; p < end; p++)
        if (p != w->in && may_step(w, p, false) &&
            v->need[peer_node(v->map, p)] > 0)
            return p;
    return NET_NONE;
}

/* A way home through the door we came in by would not tell whose door it is:
 * better over some other crossbar. */
static void widen_end(struct walk *w)
{
    const struct net_node *node = &w->v->map->nodes[w->node];

    if (w->node == w->v->root || w->in != w->v->parent[w->node])
        return;
    for (uint32_t p = node->first; p < node->first + node->nports; p++) {
        if (p != w->in && may_step(w, p, false) &&
            w->v->parent[peer_node(w->v->map, p)] != w->v->map->ports[p].peer) {
            step(w, p);
            return;
        }
    }
}

static void go_home(struct walk *w)
{
    while (w->node != w->v->me)
        step(w, w->v->parent[w->node]);
}

/* An untoured link with an end that can be reached; the port to leave by. */
static uint32_t first_port(struct verify *v)
{
    for (; v->at_link < v->nlinks; v->at_link++) {
        const struct vlink *l = &v->links[v->at_link];
        uint32_t a = v->map->ports[l->a].node, b = v->map->ports[l->b].node;

        if (l->state != VLINK_UNKNOWN || l->out)
            continue;
        if (v->parent[a] == NET_NONE && v->parent[b] == NET_NONE)
            continue;
        if (v->parent[a] == NET_NONE ||
            (v->parent[b] != NET_NONE && v->dist[b] < v->dist[a]))
            return l->b;
        return l->a;
    }
    return NET_NONE;
}

static void walk_to(struct walk *w, uint32_t node)
{
    uint32_t out[PROBE_ROUTE_MAX];
    unsigned n = ports_to(w->v, node, out);

    while (n > 0)
        step(w, out[--n]);
}

/* The one way to a link whose far end no sound link reaches: there and back
 * over itself. */
static void there_and_back(struct walk *w, uint32_t port)
{
    step(w, port);
    step(w, w->in);
}

/* Untoured links here that no other way leads behind. */
static void bounce(struct walk *w)
{
    const struct verify *v = w->v;
    const struct net_node *node = &v->map->nodes[w->node];

    for (uint32_t p = node->first; p < node->first + node->nports; p++) {
        uint32_t l = v->link_of[p];

        if (l == NET_NONE || v->links[l].state != VLINK_UNKNOWN ||
            v->links[l].out || v->parent[peer_node(v->map, p)] != NET_NONE)
            continue;
        if (wanted_links(w) >= v->most ||
            w->bytes + 2u + v->dist[w->node] + 1u > v->limits.max_route ||
            w->job->nlinks + v->dist[w->node] + 3u >= PROBE_ROUTE_MAX)
            return;
        there_and_back(w, p);
    }
}

bool tour_make(struct verify *v, struct vjob *job, bool sure)
{
    struct walk w = {.v = v, .job = job, .sure = sure};
    uint32_t port = first_port(v);

    if (port == NET_NONE)
        return false;
    w.node = v->root;
    w.in = v->map->ports[v->map->nodes[v->me].first].peer;
    job->nlinks = 0;
    memset(&job->probe, 0, sizeof(job->probe));
    job->probe.kind = PROBE_TOUR;
    if (2 * (v->dist[v->map->ports[port].node] + 1u) + 1 >
            v->limits.max_route ||
        v->dist[v->map->ports[port].node] > PROBE_ROUTE_MAX / 2 - 2) {
        v->at_link++; /* beyond our reach: nothing to be said of it */
        return tour_make(v, job, sure);
    }
    walk_to(&w, v->map->ports[port].node);
    if (v->parent[peer_node(v->map, port)] == NET_NONE) {
        there_and_back(&w, port);
    } else if (v->links[v->link_of[port]].out) {
        /* on the way here already */
    } else if (may_step(&w, port, true)) {
        step(&w, port);
    } else {
        there_and_back(&w, port);
    }
    bounce(&w);
    while ((port = next_port(&w)) != NET_NONE) {
        step(&w, port);
        bounce(&w);
    }
    widen_end(&w);
    go_home(&w);
    job->probe.nroute = (uint8_t)w.bytes;
    return true;
}

static bool in_tree(const struct verify *v, const struct vlink *link)
{
    return v->parent[v->map->ports[link->a].node] == link->a ||
           v->parent[v->map->ports[link->b].node] == link->b;
}

bool tour_make_ring(struct verify *v, struct vjob *job, uint32_t l)
{
    const struct vlink *link = &v->links[l];
    uint32_t a = v->map->ports[link->a].node, b = v->map->ports[link->b].node;
    struct walk w = {.v = v, .job = job, .node = v->root};

    if (link->state != VLINK_SOUND || v->parent[a] == NET_NONE ||
        v->parent[b] == NET_NONE || in_tree(v, link) ||
        v->dist[a] + v->dist[b] + 2u > v->limits.max_route)
        return false;
    w.in = v->map->ports[v->map->nodes[v->me].first].peer;
    job->probe.kind = PROBE_TOUR;
    walk_to(&w, a);
    step(&w, link->a);
    go_home(&w);
    job->probe.nroute = (uint8_t)w.bytes;
    return true;
}

bool tour_to_port(const struct verify *v, uint32_t node, int port, bool loop,
                  struct probe *probe)
{
    uint32_t out[PROBE_ROUTE_MAX];
    uint32_t in = v->map->ports[v->map->nodes[v->me].first].peer;
    unsigned n, bytes = 0;

    if (v->parent[node] == NET_NONE || v->dist[node] >= PROBE_ROUTE_MAX / 2 ||
        (loop ? 2u * v->dist[node] + 3 : v->dist[node] + 1u) >
            v->limits.max_route)
        return false;
    n = ports_to(v, node, out);
    while (n > 0) {
        n--;
        probe->route[bytes++] = byte_for(v, in, out[n]);
        in = v->map->ports[out[n]].peer;
    }
    probe->route[bytes++] =
        v->limits.absolute ? (uint8_t)port
                           : net_route_byte(port - (int)number(v->map, in));
    if (loop) {
        probe->route[bytes] = net_route_byte(0);
        net_route_reverse(probe->route + bytes + 1, probe->route, bytes);
        bytes = 2 * bytes + 1;
    }
    probe->nroute = (uint8_t)bytes;
    return true;
}
