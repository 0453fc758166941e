/* SPDX-License-Identifier: BSD-3-Clause
 * Routes after cables are gone: see route.h, net_routes_repair().
 */
#include <stdlib.h>
#include <string.h>

#include "net/deadlock.h"
#include "net/mend.h"
#include "net/pairs.h"
#include "net/route_impl.h"
#include "net/updown.h"

/* ---- do the routes of two hosts go together? --------------------------- */

/* Do the routes of two hosts go together? See route_impl.h and route.h. */

/* Live edges are the new ones, in their order. */
static bool same_ups(const struct net_routes *r, const struct net_routes *now)
{
    if (r->nx != now->nx)
        return false;
    for (uint32_t x = 0; x < r->nx; x++) {
        uint32_t e = now->first[x];

        for (uint32_t o = r->first[x]; o < r->first[x + 1]; o++) {
            const struct net_edge *old = &r->edges[o];

            if (old->dead)
                continue;
            if (e == now->first[x + 1] || now->edges[e].port != old->port ||
                now->edges[e].up != old->up)
                return false;
            e++;
        }
        if (e != now->first[x + 1])
            return false;
    }
    return true;
}

/* As compute() in routes.c decides, but for what only routes show. */
static bool orient(const struct net_routes *r, struct net_routes *now)
{
    bool clos = false;

    if (!net_survey(now) ||
        (r->asked != NET_UPDOWN && !net_orient_clos(now, &clos)))
        return false;
    if (clos != (r->engine == NET_DMODK))
        return false;
    return clos || net_orient_tree(now);
}

static bool net_routes_agree(const struct net_routes *r)
{
    struct net_routes *now = net_routes_bare(r->net);
    bool same = now && orient(r, now) && same_ups(r, now);

    net_routes_free(now);
    return same;
}

/* Of one port, so that a set of them has a number that its order is not in. */
static uint32_t print_of(uint32_t port)
{
    uint32_t h = (port + 1) * UINT32_C(0x9e3779b1);

    h = (h ^ h >> 15) * UINT32_C(0x85ebca77);
    return h ^ h >> 13;
}

uint16_t net_routes_ups(const struct net_routes *r)
{
    uint32_t all = 0;
    uint16_t ups;

    if (r->pairs)
        all = net_turns_print(r->pairs->t);
    for (uint32_t x = 0; x < r->nx && !r->pairs; x++)
        for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++)
            if (!r->edges[i].dead && r->edges[i].up)
                all ^= print_of(net_edge_port(r, x, &r->edges[i]));
    ups = (uint16_t)(all ^ all >> 16);
    return ups ? ups : 1;
}

struct repair {
    struct net_routes *r;
    uint32_t leaf; /* whose distances are there; NET_NONE: nobody's */
    struct net_hurt hurt;
    uint8_t *changed; /* per x: its way is another */
    struct net_repair what;
};

/* ---- a host that is gone ------------------------------------------------ */

/* Take its share of the loads away; nobody else's route changes. */
static int forget_host(struct repair *rep, uint32_t host, struct errbuf *err)
{
    struct net_routes *r = rep->r;
    uint32_t leaf = r->leaf_of[host], ports[NET_ROUTE_MAX];
    unsigned own = r->column[host];

    if (leaf == NET_NONE)
        return 0;
    if (r->pairs)
        return errprintf(err, "a host is gone: its ways are in the loads");
    if (!r->rows) {
        r->leaf_of[host] = NET_NONE;
        return 0;
    }
    if (net_tree_own(r, leaf, own, err) < 0)
        return -1;
    net_tree_load(r, leaf, own, -1);
    r->ncolumn[(size_t)leaf * r->columns + own]--;
    net_tree_load(r, leaf, own, 1);
    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++) {
            int n = net_tree_walk(r, leaf, l, c, ports, NET_ROUTE_MAX);

            for (int i = 0; i < n; i++)
                r->load[ports[i]] -= r->ncolumn[(size_t)l * r->columns + c];
        }
    r->weight[leaf]--;
    r->leaf_of[host] = NET_NONE;
    rep->what.hosts++;
    return 0;
}

/* ---- a cable between crossbars ------------------------------------------ */

/* Mark the edge at one end dead. */
static void kill_edge(struct repair *rep, uint32_t port)
{
    struct net_routes *r = rep->r;
    uint32_t x = r->xindex[r->net->ports[port].node];

    r->edges[net_edge_by_port(r, x, net_port_number(r->net, port))].dead = 1;
    net_distances_forget(r);
}

static int kill_cable(struct repair *rep, uint32_t a, uint32_t b,
                      struct errbuf *err)
{
    if (rep->r->rows)
        return net_mend_cable(rep->r, a, b, &rep->hurt)
                   ? 0
                   : errprintf(err, "out of memory for the repair");
    kill_edge(rep, a);
    kill_edge(rep, b);
    return 0;
}

static int lose_cable(struct repair *rep, uint32_t a, uint32_t b,
                      struct errbuf *err)
{
    const struct net *net = rep->r->net;
    uint32_t na = net->ports[a].node, nb = net->ports[b].node;

    if (net_is_host(net, na) && forget_host(rep, na, err) < 0)
        return -1;
    if (net_is_host(net, nb) && forget_host(rep, nb, err) < 0)
        return -1;
    if (net_is_host(net, na) || net_is_host(net, nb))
        return 0;
    return kill_cable(rep, a, b, err);
}

/* ---- trees -------------------------------------------------------------- */

/* Is the way from x another than in the old tree?  Known of the crossbars it
 * leads to. */
static void differ(struct repair *rep, const uint8_t *now, const uint8_t *old,
                   uint32_t x)
{
    const struct net_edge *e = net_tree_edge(rep->r, now, x);

    rep->changed[x] = now[x] != old[x] || (e && rep->changed[e->to]);
}

static bool leads_up(const struct net_edge *e)
{
    return e && e->up;
}

/* Downwards what the lower ones do is known first, upwards the higher ones. */
static void compare(struct repair *rep, uint32_t leaf, unsigned column)
{
    struct net_routes *r = rep->r;
    const uint8_t *now = net_tree(r, leaf, column);
    const uint8_t *old = r->saved[(size_t)leaf * r->columns + column];
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];

    for (uint32_t i = 0; i < r->nx; i++)
        if (!leads_up(net_tree_edge(r, now, r->order[i])))
            differ(rep, now, old, r->order[i]);
    for (uint32_t i = r->nx; i-- > 0;)
        if (leads_up(net_tree_edge(r, now, r->order[i])))
            differ(rep, now, old, r->order[i]);
    for (uint32_t l = 0; hosts && l < r->nleaves; l++) {
        if (!rep->changed[r->leaf_x[l]])
            continue;
        rep->hurt.leaf_hit[l] = 1;
        rep->what.routes += hosts;
    }
}

static int mend(struct repair *rep, uint32_t leaf, unsigned column,
                struct errbuf *err)
{
    struct net_routes *r = rep->r;

    if (rep->leaf != leaf) {
        int rc;

        net_distances(r, leaf);
        rep->leaf = leaf;
        rc = net_check_leaf(r, leaf, err);
        if (rc > 0)
            return errprintf(err, "the net is no folded Clos any more");
        if (rc < 0)
            return -1;
    }
    if (net_tree_own(r, leaf, column, err) < 0)
        return -1;
    if (!net_tree_save(r, leaf, column))
        return errprintf(err, "out of memory for the repair");
    net_tree_load(r, leaf, column, -1);
    net_tree_open(r, leaf, column);
    net_tree_fill(r, leaf, column);
    return 0;
}

static void report(struct repair *rep)
{
    struct net_routes *r = rep->r;

    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++)
            if (r->saved[(size_t)l * r->columns + c]) {
                rep->what.trees++;
                compare(rep, l, c);
            }
    for (uint32_t l = 0; l < r->nleaves; l++)
        if (rep->hurt.leaf_hit[l])
            rep->what.hosts += r->weight[l];
}

static int mend_all(struct repair *rep, struct errbuf *err)
{
    struct net_routes *r = rep->r;

    if (!rep->what.trees &&
        !memchr(rep->hurt.tree, 1, (size_t)r->nleaves * r->columns))
        return 0; /* only hosts went */
    net_find_parts(r, r->passing);
    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++)
            if (rep->hurt.tree[(size_t)l * r->columns + c] &&
                mend(rep, l, c, err) < 0)
                return -1;
    if (net_relieve(r, err) < 0)
        return -1;
    report(rep);
    return 0;
}

/* Where a host's routes are computed when they are asked for: those that went
 * over what is gone are others then.  Is there still a way for everybody? */
static int mend_updown(struct repair *rep, struct errbuf *err)
{
    struct net_routes *r = rep->r;

    net_updown_forget(r->updown);
    net_find_parts(r, r->passing);
    for (uint32_t l = 0; l < r->nleaves && 2 * r->depth + 1 > r->hop_limit;
         l++) {
        net_distances(r, l);
        if (net_check_leaf(r, l, err) < 0)
            return -1;
    }
    return 0;
}

static bool begin(struct repair *rep)
{
    struct net_routes *r = rep->r;
    size_t trees = (size_t)r->nleaves * r->columns + 1;

    rep->hurt.what = &rep->what;
    r->saved = calloc(trees, sizeof(*r->saved));
    rep->hurt.tree = calloc(trees, 1);
    rep->hurt.leaf_hit = calloc(r->nleaves + 1, 1);
    rep->changed = calloc(r->nx + 1, 1);
    return r->saved && rep->hurt.tree && rep->hurt.leaf_hit && rep->changed;
}

static void end(struct repair *rep)
{
    struct net_routes *r = rep->r;
    size_t trees = (size_t)r->nleaves * r->columns;

    for (size_t t = 0; r->saved && t < trees; t++)
        free(r->saved[t]);
    free(r->saved);
    r->saved = NULL;
    free(rep->hurt.tree);
    free(rep->hurt.leaf_hit);
    free(rep->changed);
}

static int other_ups(struct errbuf *err)
{
    return errprintf(err, "up and down are others in what is left");
}

/* Where each host's routes are computed when they are asked for, and where they
 * are ways between pairs: over turns that are as before. */
static int mend_others(struct repair *rep, struct errbuf *err)
{
    struct net_routes *r = rep->r;

    if (r->updown && !net_routes_agree(r))
        return other_ups(err);
    if (r->updown)
        return mend_updown(rep, err);
    net_find_parts(r, r->passing);
    if (!net_pairs_repair(r->pairs, r->load, &rep->what))
        return errprintf(err, "the turns that are allowed lead no more, or not "
                              "evenly, from everybody to everybody");
    return 0;
}

static int mend_trees(struct repair *rep, struct errbuf *err)
{
    if (mend_all(rep, err) < 0 || net_routes_deadlock(rep->r, err) != 0)
        return -1;
    return net_routes_agree(rep->r) ? 0 : other_ups(err);
}

int net_routes_repair(struct net_routes *r, const uint32_t *ports,
                      const uint32_t *peers, unsigned n,
                      struct net_repair *what, struct errbuf *err)
{
    struct repair rep = {.r = r, .leaf = NET_NONE};
    int rc = -1;

    if (r->engine == NET_GM2)
        return errprintf(err, "engine gm2 computes new routes each time");
    if (begin(&rep)) {
        rc = 0;
        for (unsigned i = 0; i < n && rc == 0; i++)
            rc = lose_cable(&rep, ports[i], peers[i], err);
        if (rc == 0 && r->rows)
            rc = mend_trees(&rep, err);
        else if (rc == 0 && mend_others(&rep, err) < 0)
            rc = -1;
        else if (rc == 0 && net_turns_deadlock(r, err) != 0)
            rc = -1;
    } else {
        errprintf(err, "out of memory for the repair");
    }
    if (what)
        *what = rep.what;
    end(&rep);
    return rc;
}
