/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a fabric, its cables, its counters, its faults.
 */
#include <stdlib.h>
#include <string.h>

#include "swfab/swfab_priv.h"

const char *swfab_fate_name(enum swfab_fate fate)
{
    static const char *const names[SWFAB_NCOUNTERS] = {
        [SWFAB_DELIVERED] = "delivered",   [SWFAB_NO_ROUTE] = "no-route",
        [SWFAB_ROUTE_LEFT] = "route-left", [SWFAB_BAD_ROUTE] = "bad-route",
        [SWFAB_PORT_RANGE] = "port-range", [SWFAB_NO_CABLE] = "no-cable",
        [SWFAB_LINK_DOWN] = "link-down",   [SWFAB_XBAR_DEAD] = "xbar-dead",
        [SWFAB_HOST_MUTE] = "host-mute",   [SWFAB_LOST] = "lost",
        [SWFAB_BLOCKED] = "blocked",       [SWFAB_BAD_SIZE] = "bad-size",
        [SWFAB_NO_HOST] = "no-host",       [SWFAB_FULL] = "full",
        [SWFAB_CORRUPTED] = "corrupted",
    };

    return (unsigned)fate < SWFAB_NCOUNTERS ? names[fate] : NULL;
}

static void set_peer(struct swfab *fab, uint32_t port, uint32_t peer)
{
    struct swfab_cell *cell = &fab->cells[port];
    const struct swfab_node *node;

    cell->peer = peer;
    cell->state &=
        (uint8_t) ~(CELL_NO_CABLE | CELL_DOWN | CELL_PEER_DEAD | CELL_USUAL);
    if (peer == NET_NONE) {
        cell->state |= CELL_NO_CABLE;
        return;
    }
    node = &fab->nodes[fab->node_of[peer]];
    cell->peer_number = (uint8_t)(peer - node->first);
    cell->peer_nports = node->nports;
    if (node->is_host)
        cell->state |= node->is_trunk ? CELL_USUAL : CELL_TO_HOST;
    else if (node->off)
        cell->state |= CELL_PEER_DEAD;
}

bool swfab_set_trunk(struct swfab *fab, uint32_t host)
{
    struct swfab_node *node = &fab->nodes[host];
    uint32_t peer;

    if (host >= fab->nnodes || !node->is_host)
        return false;
    node->is_trunk = true;
    peer = fab->cells[node->first].peer;
    if (peer != NET_NONE)
        fab->cells[peer].state |= CELL_TO_TRUNK;
    return true;
}

static bool allocate(struct swfab *fab, const struct net *net)
{
    size_t nports = net->nports + 1, nnodes = net->nnodes + 1;

    fab->nnodes = net->nnodes;
    fab->nports = net->nports;
    fab->cells =
        aligned_alloc(64, (nports * sizeof(*fab->cells) + 63) / 64 * 64);
    fab->node_of = calloc(nports, sizeof(*fab->node_of));
    fab->nodes = calloc(nnodes, sizeof(*fab->nodes));
    fab->counts = calloc(nports * SWFAB_NCOUNTERS, sizeof(*fab->counts));
    if (!fab->cells || !fab->node_of || !fab->nodes || !fab->counts)
        return false;
    memset(fab->cells, 0, nports * sizeof(*fab->cells));
    return true;
}

struct swfab *swfab_new(const struct net *net)
{
    struct swfab *fab = calloc(1, sizeof(*fab));

    if (!fab || !allocate(fab, net)) {
        swfab_free(fab);
        return NULL;
    }
    for (uint32_t n = 0; n < net->nnodes; n++) {
        const struct net_node *from = &net->nodes[n];

        fab->nodes[n] = (struct swfab_node){
            .id = from->id,
            .first = from->first,
            .nports = from->nports,
            .is_host = from->kind == NET_HOST,
            .has_id = from->kind == NET_XBAR && from->has_id,
        };
    }
    for (uint32_t p = 0; p < net->nports; p++)
        fab->node_of[p] = net->ports[p].node;
    for (uint32_t p = 0; p < net->nports; p++)
        set_peer(fab, p, net->ports[p].peer);
    fab->rng.state = 1;
    return fab;
}

void swfab_free(struct swfab *fab)
{
    if (!fab)
        return;
    free(fab->cells);
    free(fab->node_of);
    free(fab->nodes);
    free(fab->loss);
    free(fab->corruption);
    free(fab->counts);
    free(fab);
}

uint32_t swfab_port_index(const struct swfab *fab, uint32_t node, unsigned port)
{
    if (node >= fab->nnodes || port >= fab->nodes[node].nports)
        return NET_NONE;
    return fab->nodes[node].first + port;
}

uint32_t swfab_peer(const struct swfab *fab, uint32_t node, unsigned port)
{
    uint32_t p = swfab_port_index(fab, node, port);

    return p == NET_NONE ? NET_NONE : fab->cells[p].peer;
}

bool swfab_connect(struct swfab *fab, uint32_t a, unsigned port_a, uint32_t b,
                   unsigned port_b)
{
    uint32_t p = swfab_port_index(fab, a, port_a);
    uint32_t q = swfab_port_index(fab, b, port_b);

    if (p == NET_NONE || q == NET_NONE || p == q ||
        fab->cells[p].peer != NET_NONE || fab->cells[q].peer != NET_NONE)
        return false;
    set_peer(fab, p, q);
    set_peer(fab, q, p);
    return true;
}

bool swfab_disconnect(struct swfab *fab, uint32_t node, unsigned port)
{
    uint32_t p = swfab_port_index(fab, node, port);
    uint32_t q = swfab_peer(fab, node, port);

    if (q == NET_NONE)
        return false;
    set_peer(fab, p, NET_NONE);
    set_peer(fab, q, NET_NONE);
    return true;
}

uint32_t swfab_nnodes(const struct swfab *fab)
{
    return fab->nnodes;
}

uint32_t swfab_nports(const struct swfab *fab)
{
    return fab->nports;
}

uint32_t swfab_node_of(const struct swfab *fab, uint32_t port)
{
    return fab->node_of[port];
}

bool swfab_is_host(const struct swfab *fab, uint32_t node)
{
    return fab->nodes[node].is_host;
}

uint64_t swfab_count(const struct swfab *fab, uint32_t port,
                     enum swfab_fate cause)
{
    return fab->counts[(size_t)port * SWFAB_NCOUNTERS + cause];
}

uint64_t swfab_passed(const struct swfab *fab, uint32_t port)
{
    return fab->cells[port].passed;
}

uint64_t swfab_total(const struct swfab *fab, enum swfab_fate cause)
{
    return fab->totals[cause];
}

void swfab_count_up(struct swfab *fab, uint32_t port, enum swfab_fate cause)
{
    fab->counts[(size_t)port * SWFAB_NCOUNTERS + cause]++;
    fab->totals[cause]++;
}

void swfab_clear_counters(struct swfab *fab)
{
    memset(fab->counts, 0,
           (size_t)fab->nports * SWFAB_NCOUNTERS * sizeof(*fab->counts));
    memset(fab->totals, 0, sizeof(fab->totals));
    for (uint32_t p = 0; p < fab->nports; p++)
        fab->cells[p].passed = 0;
}

/* ---- faults ------------------------------------------------------------ */

/* What goes wrong on purpose. */

static void set_state(struct swfab *fab, uint32_t port, uint8_t bit, bool on)
{
    uint8_t *state = &fab->cells[port].state;

    *state = on ? *state | bit : *state & (uint8_t)~bit;
}

bool swfab_set_link(struct swfab *fab, uint32_t node, unsigned port, bool up)
{
    uint32_t peer = swfab_peer(fab, node, port);

    if (peer == NET_NONE)
        return false;
    set_state(fab, fab->nodes[node].first + port, CELL_DOWN, !up);
    set_state(fab, peer, CELL_DOWN, !up);
    return true;
}

bool swfab_set_xbar_dead(struct swfab *fab, uint32_t xbar, bool dead)
{
    struct swfab_node *node = &fab->nodes[xbar];

    if (xbar >= fab->nnodes || node->is_host)
        return false;
    node->off = dead;
    for (uint32_t p = node->first; p < node->first + node->nports; p++)
        if (fab->cells[p].peer != NET_NONE)
            set_state(fab, fab->cells[p].peer, CELL_PEER_DEAD, dead);
    return true;
}

bool swfab_set_host_mute(struct swfab *fab, uint32_t host, bool mute)
{
    if (host >= fab->nnodes || !fab->nodes[host].is_host)
        return false;
    fab->nodes[host].off = mute;
    return true;
}

bool swfab_host_is_mute(const struct swfab *fab, uint32_t host)
{
    return fab->nodes[host].is_host && fab->nodes[host].off;
}

bool swfab_link_is_up(const struct swfab *fab, uint32_t node, unsigned port)
{
    uint32_t p = swfab_port_index(fab, node, port);
    const struct swfab_node *at = &fab->nodes[node];

    return p != NET_NONE && (at->is_host || !at->off) &&
           !(fab->cells[p].state & ~(CELL_LOSSY | CELL_USUAL));
}

void swfab_seed(struct swfab *fab, uint64_t seed)
{
    fab->rng.state = seed;
}

/* The table, made when it is first needed. */
static double *chances(const struct swfab *fab, double **table)
{
    if (!*table)
        *table = calloc(fab->nports + 1u, sizeof(**table));
    return *table;
}

static void set_chance(struct swfab *fab, double *table, uint32_t port,
                       double p)
{
    table[port] = p;
    set_state(fab, port, CELL_LOSSY,
              (fab->loss && fab->loss[port] > 0) ||
                  (fab->corruption && fab->corruption[port] > 0));
}

static bool set_chance_of_cable(struct swfab *fab, double **table,
                                uint32_t node, unsigned port, double p)
{
    uint32_t peer = swfab_peer(fab, node, port);

    if (peer == NET_NONE || !chances(fab, table))
        return false;
    set_chance(fab, *table, fab->nodes[node].first + port, p);
    set_chance(fab, *table, peer, p);
    return true;
}

static bool set_chance_of_all(struct swfab *fab, double **table, double p)
{
    if (!chances(fab, table))
        return false;
    for (uint32_t port = 0; port < fab->nports; port++)
        set_chance(fab, *table, port, p);
    return true;
}

bool swfab_set_loss(struct swfab *fab, uint32_t node, unsigned port, double p)
{
    return set_chance_of_cable(fab, &fab->loss, node, port, p);
}

bool swfab_set_corruption(struct swfab *fab, uint32_t node, unsigned port,
                          double p)
{
    return set_chance_of_cable(fab, &fab->corruption, node, port, p);
}

bool swfab_set_loss_all(struct swfab *fab, double p)
{
    return set_chance_of_all(fab, &fab->loss, p);
}

bool swfab_set_corruption_all(struct swfab *fab, double p)
{
    return set_chance_of_all(fab, &fab->corruption, p);
}

/* Flip one bit of what is still on the way. */
static void flip_a_bit(struct swfab *fab, struct swfab_walk *w)
{
    uint32_t left = (uint32_t)(w->len - w->stripped);
    uint32_t at = (uint32_t)w->stripped + net_rng_below(&fab->rng, left);
    uint8_t bit = (uint8_t)(1 << net_rng_below(&fab->rng, 8));

    if (at < SWFAB_HEAD_MAX) {
        w->head[at] ^= bit;
    } else if (w->nflips < SWFAB_FLIPS_MAX) {
        w->flip[w->nflips].at = at;
        w->flip[w->nflips++].bit = bit;
    }
}

enum swfab_fate swfab_cross_special(struct swfab *fab, uint32_t port,
                                    struct swfab_walk *w)
{
    uint8_t state = fab->cells[port].state;

    if (state & CELL_NO_CABLE)
        return SWFAB_NO_CABLE;
    if (state & CELL_DOWN)
        return SWFAB_LINK_DOWN;
    if (fab->loss && net_rng_chance(&fab->rng, fab->loss[port]))
        return SWFAB_LOST;
    if (state & CELL_PEER_DEAD)
        return SWFAB_XBAR_DEAD;
    if (fab->corruption && net_rng_chance(&fab->rng, fab->corruption[port])) {
        flip_a_bit(fab, w);
        swfab_count_up(fab, port, SWFAB_CORRUPTED);
    }
    return SWFAB_DELIVERED;
}
