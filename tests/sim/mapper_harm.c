/* SPDX-License-Identifier: BSD-3-Clause
 * What goes wrong: see mapper_harm.h.
 */
#include "mapper_harm.h"

#include <string.h>

static uint32_t pick_host(struct world *w)
{
    uint32_t k = net_rng_below(&w->rng, w->net->nhosts);

    for (uint32_t i = 0;; i++)
        if (w->net->nodes[i].kind == NET_HOST && k-- == 0)
            return i;
}

/* A cable between two crossbars, or any when there is none. */
static bool pick_link(struct world *w, uint32_t *node, unsigned *port)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t p = net_rng_below(&w->rng, w->net->nports);
        uint32_t n = w->net->ports[p].node, q = w->net->ports[p].peer;

        if (q == NET_NONE || w->net->nodes[n].kind != NET_XBAR ||
            w->net->nodes[w->net->ports[q].node].kind != NET_XBAR)
            continue;
        *node = n;
        *port = net_port_number(w->net, p);
        return true;
    }
    return false;
}

static bool pick_free_port(struct world *w, uint32_t *node, unsigned *port)
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t p = net_rng_below(&w->rng, w->net->nports);
        uint32_t n = w->net->ports[p].node;

        if (w->net->ports[p].peer != NET_NONE ||
            w->net->nodes[n].kind != NET_XBAR)
            continue;
        *node = n;
        *port = net_port_number(w->net, p);
        return true;
    }
    return false;
}

/* ---- what goes wrong ----------------------------------------------------- */

static void harm_nothing(struct world *w, const struct harm_hands *hands)
{
    (void)w;
    (void)hands;
}

static void harm_leader(struct world *w, const struct harm_hands *hands)
{
    uint32_t leader = NET_NONE;

    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST && hands->leads(w, i))
            leader = i;
    if (leader != NET_NONE)
        world_kill(w, leader);
}

static void harm_interior(struct world *w, const struct harm_hands *hands)
{
    world_kill(w, pick_host(w));
}

static void harm_restart(struct world *w, const struct harm_hands *hands)
{
    uint32_t host = pick_host(w);

    world_kill(w, host);
    world_run(w, world_now(w) + net_rng_below(&w->rng, 3000) * MS);
    hands->put(w, host);
}

static void harm_link(struct world *w, const struct harm_hands *hands)
{
    unsigned port;
    uint32_t node;

    if (pick_link(w, &node, &port))
        world_pull(w, node, port);
}

/* Cables that are pulled and put back one after the other, each as soon as
 * the fabric has settled: no map lasts. */
static void harms_in_a_row(struct world *w, const struct harm_hands *hands)
{
    for (int i = 0; i < 4; i++) {
        unsigned port, back;
        uint32_t node, peer;

        if (!pick_link(w, &node, &port))
            return;
        peer = net_peer_node(w->net, node, port);
        back = net_peer_port(w->net, node, port);
        world_pull(w, node, port);
        world_until(w, world_now(w) + hands->limit, hands->settled);
        world_plug(w, node, port, peer, back);
        world_until(w, world_now(w) + hands->limit, hands->settled);
    }
}

/* All cables to other crossbars that leave one, then back again. */
static void harm_partition(struct world *w, const struct harm_hands *hands)
{
    uint32_t node, peer[256];
    unsigned port, back[256];

    if (!pick_link(w, &node, &port))
        return;
    for (unsigned p = 0; p < w->net->nodes[node].nports; p++) {
        peer[p] = net_peer_node(w->net, node, p);
        back[p] = peer[p] == NET_NONE ? 0 : net_peer_port(w->net, node, p);
        if (peer[p] != NET_NONE && w->net->nodes[peer[p]].kind == NET_XBAR)
            world_pull(w, node, p);
        else
            peer[p] = NET_NONE;
    }
    world_until(w, world_now(w) + hands->limit, hands->settled);
    for (unsigned p = 0; p < w->net->nodes[node].nports; p++)
        if (peer[p] != NET_NONE && net_peer_node(w->net, node, p) == NET_NONE)
            world_plug(w, node, p, peer[p], back[p]);
}

static void harm_move(struct world *w, const struct harm_hands *hands)
{
    uint32_t host = pick_host(w), node;
    unsigned port;

    if (!pick_free_port(w, &node, &port))
        return;
    world_pull(w, host, 0);
    if (net_rng_chance(&w->rng, 0.5))
        world_run(w, world_now(w) + net_rng_below(&w->rng, 2000) * MS);
    world_plug(w, host, 0, node, port);
}

/* Two crossbars' cables change places. */
static void harm_swap(struct world *w, const struct harm_hands *hands)
{
    uint32_t a, b, pa, pb;
    unsigned p, q, ra, rb;

    if (!pick_link(w, &a, &p) || !pick_link(w, &b, &q))
        return;
    pa = net_peer_node(w->net, a, p);
    ra = net_peer_port(w->net, a, p);
    pb = net_peer_node(w->net, b, q);
    rb = net_peer_port(w->net, b, q);
    if ((a == b && p == q) || (a == pb && p == rb))
        return;
    world_pull(w, a, p);
    world_pull(w, b, q);
    world_plug(w, a, p, pb, rb);
    world_plug(w, b, q, pa, ra);
}

static void harm_flap(struct world *w, const struct harm_hands *hands)
{
    uint32_t node, peer;
    unsigned port, back;

    if (!pick_link(w, &node, &port))
        return;
    peer = net_peer_node(w->net, node, port);
    back = net_peer_port(w->net, node, port);
    for (int i = 0; i < 8; i++) {
        world_pull(w, node, port);
        world_run(w, world_now(w) + net_rng_below(&w->rng, 700) * MS);
        world_plug(w, node, port, peer, back);
        world_run(w, world_now(w) + net_rng_below(&w->rng, 700) * MS);
    }
}

/* A crossbar is exchanged: all its cables are out for a while, and come back
 * in any order. */
static void harm_replace(struct world *w, const struct harm_hands *hands)
{
    uint32_t node, peer[256];
    unsigned port, back[256], n;

    if (!pick_link(w, &node, &port))
        return;
    n = w->net->nodes[node].nports;
    for (unsigned p = 0; p < n; p++) {
        peer[p] = net_peer_node(w->net, node, p);
        back[p] = peer[p] == NET_NONE ? 0 : net_peer_port(w->net, node, p);
        if (peer[p] == node)
            peer[p] = NET_NONE;
        world_pull(w, node, p);
    }
    world_run(w, world_now(w) + net_rng_below(&w->rng, 4000) * MS);
    for (unsigned p = n; p-- > 0;) {
        unsigned other = net_rng_below(&w->rng, p + 1);

        if (peer[other] != NET_NONE)
            world_plug(w, node, p, peer[other], back[other]);
        peer[other] = peer[p];
        back[other] = back[p];
    }
}

/* Bytes of a disk that are not what was written. */
static void rot(struct world *w, struct bytebuf *stored)
{
    size_t len = bytebuf_len(stored);
    uint8_t *bytes = (uint8_t *)(uintptr_t)bytebuf_data(stored);

    if (len > 0 && net_rng_chance(&w->rng, 0.15))
        bytes[net_rng_below(&w->rng, (uint32_t)len)] ^=
            (uint8_t)(1 + net_rng_below(&w->rng, 255));
}

/* All are off while the fabric changes, then all come at once, with the maps
 * of before where the world keeps maps. */
static void harm_power(struct world *w, const struct harm_hands *hands)
{
    static void (*const changes[])(
        struct world *, const struct harm_hands *) = {harm_nothing, harm_link,
                                                      harm_move, harm_swap};

    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST)
            world_kill(w, i);
    for (uint32_t n = net_rng_below(&w->rng, 4); n > 0; n--)
        changes[net_rng_below(&w->rng, 4)](w, hands);
    world_run(w, world_now(w) + 100 * MS);
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (w->net->nodes[i].kind != NET_HOST)
            continue;
        rot(w, &w->hosts[i].stored);
        hands->put(w, i);
    }
}

const struct harm harms[HARMS] = {
    {"all-at-once", harm_nothing, 0, NULL},
    {"leader-killed", harm_leader, 0, NULL},
    {"mapper-killed", harm_interior, 0, NULL},
    {"mapper-restarted", harm_restart, 0, NULL},
    {"link-lost", harm_link, 0, NULL},
    {"partition-and-heal", harm_partition, 0, NULL},
    {"host-moved", harm_move, 0, NULL},
    {"cables-swapped", harm_swap, 0, NULL},
    {"crossbar-replaced", harm_replace, 0, NULL},
    {"flapping-link", harm_flap, 0, NULL},
    {"loss-30-percent", harm_link, 0.3, NULL},
    {"power-cut", harm_power, 0, NULL},
    {"after-other-faults", harm_link, 0, harms_in_a_row},
};
