/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes wrong on purpose.
 */
#include <stdlib.h>

#include "swfab/swfab_priv.h"

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
