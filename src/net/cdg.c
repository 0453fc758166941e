/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits for what: the graph that deadlock.c searches.  See deadlock.h.
 */
#include "net/deadlock.h"

#include <stdlib.h>

#include "net/pairs.h"
#include "net/route_impl.h"

struct net_cdg *net_cdg_new(const struct net *net)
{
    struct net_cdg *cdg = calloc(1, sizeof(*cdg));
    unsigned most = 1;

    if (!cdg)
        return NULL;
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net->nodes[n].nports > most)
            most = net->nodes[n].nports;
    cdg->net = net;
    cdg->words = (most + 63) / 64;
    cdg->bits =
        calloc((size_t)net->nports * cdg->words + 1, sizeof(*cdg->bits));
    if (!cdg->bits) {
        free(cdg);
        return NULL;
    }
    return cdg;
}

void net_cdg_free(struct net_cdg *cdg)
{
    if (!cdg)
        return;
    free(cdg->bits);
    free(cdg);
}

static void depend(struct net_cdg *cdg, uint32_t channel, unsigned out)
{
    cdg->bits[(size_t)channel * cdg->words + out / 64] |= 1ULL << out % 64;
}

void net_cdg_add_path(struct net_cdg *cdg, const struct net_path *path)
{
    for (unsigned i = 0; i < path->hops; i++)
        depend(cdg, path->port[i],
               net_port_number(cdg->net, path->port[i + 1]));
}

/* From each crossbar the first two cables of its way: together they are all
 * pairs that any route along the tree has.  Cables of hosts cannot be part
 * of a cycle. */
static void add_phase(struct net_cdg *cdg, const struct net_routes *r,
                      uint8_t *const next[2], unsigned phase)
{
    for (uint32_t x = 0; x < r->nx; x++) {
        const struct net_edge *e, *f;
        unsigned then;

        if (next[phase][x] == NET_NO_EDGE)
            continue;
        e = net_edge_at(r, x, next[phase][x]);
        then = next[e->up ? phase : NET_DOWN][e->to];
        if (then == NET_NO_EDGE)
            continue;
        f = net_edge_at(r, e->to, then);
        depend(cdg, net_edge_port(r, x, e), f->port);
    }
}

static void add_tree(struct net_cdg *cdg, const struct net_routes *r,
                     uint32_t leaf, unsigned column)
{
    uint8_t *next[2] = {net_tree(r, leaf, column, NET_ANY),
                        net_tree(r, leaf, column, NET_DOWN)};

    add_phase(cdg, r, next, NET_ANY);
    if (r->phases == 2)
        add_phase(cdg, r, next, NET_DOWN);
}

bool net_cdg_has_path(const struct net_cdg *cdg, const struct net_path *path)
{
    for (unsigned i = 1; i + 1 < path->hops; i++) {
        unsigned out = net_port_number(cdg->net, path->port[i + 1]);

        if (!(cdg->bits[(size_t)path->port[i] * cdg->words + out / 64] >>
                  out % 64 &
              1))
            return false;
    }
    return true;
}

/* Whatever turns are allowed to NET_PAIRS. */
static void add_allowed(struct net_cdg *cdg, const struct net_routes *r)
{
    const struct net_turns *t = r->pairs->t;

    for (uint32_t e = 0; e < r->nedges; e++) {
        uint32_t to = r->edges[e].to;

        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++)
            if (*net_turn(t, e, f) == NET_TURN_ALLOWED)
                depend(cdg, net_edge_port(r, t->from[e], &r->edges[e]),
                       r->edges[f].port);
    }
}

/* Go up after up, down after either, never up after down.  More than routes
 * do; if that has no cycle, neither have they. */
void net_cdg_add_turns(struct net_cdg *cdg, const struct net_routes *r)
{
    if (r->pairs) {
        add_allowed(cdg, r);
        return;
    }
    for (uint32_t x = 0; x < r->nx; x++)
        for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++) {
            const struct net_edge *e = &r->edges[i];

            for (uint32_t k = r->first[e->to]; k < r->first[e->to + 1]; k++)
                if (e->up || !r->edges[k].up)
                    depend(cdg, net_edge_port(r, x, e), r->edges[k].port);
        }
}

/* Ways between leaves; where they are not kept, all that they could do. */
static void add_pairs(struct net_cdg *cdg, const struct net_routes *r)
{
    struct net_path path = {.port = {0}};
    const struct net_pairs *p = r->pairs;

    if (!p->kept) {
        add_allowed(cdg, r);
        return;
    }
    for (uint32_t s = 0; s < r->nleaves; s++)
        for (uint32_t d = 0; d < r->nleaves; d++)
            for (unsigned v = 0; v < p->variants && s != d; v++) {
                int n = net_pairs_walk(r->pairs, s, d, v, path.port,
                                       r->hop_limit - 1);

                path.hops = (uint8_t)(n > 0 ? n - 1 : 0);
                net_cdg_add_path(cdg, &path);
            }
}

static void add_paths(struct net_cdg *cdg, const struct net_routes *r)
{
    struct net_path paths[NET_ALTERNATIVES_MAX];
    const struct net *net = r->net;

    for (uint32_t s = 0; s < net->nnodes; s++)
        for (uint32_t d = 0; d < net->nnodes && net_is_host(net, s); d++) {
            unsigned n =
                !net_is_host(net, d)
                    ? 0
                    : net_routes_paths(r, s, d, paths, NET_ALTERNATIVES_MAX);

            while (n > 0)
                net_cdg_add_path(cdg, &paths[--n]);
        }
}

void net_cdg_add_routes(struct net_cdg *cdg, const struct net_routes *r)
{
    if (r->pairs) {
        add_pairs(cdg, r);
        return;
    }
    if (r->engine == NET_GM2) {
        add_paths(cdg, r);
        return;
    }
    /* Trees without a row. */
    if (r->nrows < r->nleaves * r->columns && !r->block)
        net_cdg_add_turns(cdg, r);
    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++)
            if (r->rows[(size_t)l * r->columns + c])
                add_tree(cdg, r, l, c);
}
