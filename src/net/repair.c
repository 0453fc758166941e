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

bool net_routes_agree(const struct net_routes *r)
{
    struct net_routes *now = net_routes_bare(r->net);
    bool same = now && orient(r, now) && same_ups(r, now);

    net_routes_free(now);
    return same;
}

/* Does x still have a cable downwards, so that its distance to the leaves is
 * what it was? */
static bool has_below(const struct net_routes *r, uint32_t x)
{
    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
        if (!r->edges[e].up && !r->edges[e].dead)
            return true;
    return false;
}

/* The lost cables of a Clos leave every level what it is where each crossbar
 * above a leaf keeps a cable downwards; then ranks and directions are the same.
 * Slots: a lost cable can make one class of crossbars two, at each level, and
 * the number of parallel cables can only fall. */
bool net_routes_surely_agree(const struct net_routes *r)
{
    unsigned lost = 0;

    if (!r->is_clos || r->host_lost)
        return false;
    for (uint32_t x = 0; x < r->nx; x++)
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            if (!r->edges[e].dead || r->edges[e].up)
                continue;
            lost++;
            if (!r->clos.level[x] || !has_below(r, x))
                return false;
        }
    for (unsigned l = 1; l < r->clos.levels; l++)
        if (r->clos.digits[l] + lost * r->clos.parallel[l] > NET_SLOTS_MAX)
            return false;
    return true;
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
    uint32_t leaf;     /* whose distances are there; NET_NONE: nobody's */
    uint8_t *whole;    /* per tree: to be mended as a whole */
    uint8_t *leaf_hit; /* per leaf: a route from it changed */
    struct net_turned_places turned;
    struct net_upstream from; /* x whose way is another in a tree */
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
    r->host_lost = true;
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
        return net_mend_cable(rep->r, a, b, rep->whole)
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

/* Note where a tree leads elsewhere than the old one. */
static bool note_turned(struct net_routes *r, uint32_t leaf, unsigned column,
                        const uint8_t *old)
{
    const uint8_t *now = net_tree(r, leaf, column);

    for (uint32_t x = 0; x < r->nx; x++)
        if (now[x] != old[x] && !net_tree_note(r, leaf, column, x, old[x]))
            return false;
    return true;
}

/* Choose a whole tree anew where it must be. */
static int fill(struct repair *rep, uint32_t leaf, unsigned column,
                struct errbuf *err)
{
    struct net_routes *r = rep->r;
    uint8_t *old;
    bool ok;

    if (net_tree_own(r, leaf, column, err) < 0)
        return -1;
    old = malloc(r->nx + 1);
    if (old)
        memcpy(old, net_tree(r, leaf, column), r->nx);
    net_tree_load(r, leaf, column, -1);
    net_tree_open(r, leaf, column);
    net_tree_fill(r, leaf, column);
    ok = old && note_turned(r, leaf, column, old);
    free(old);
    return ok ? 0 : errprintf(err, "out of memory for the repair");
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
            return errprintf(err, "the net is no longer a folded Clos");
        if (rc < 0)
            return -1;
    }
    return fill(rep, leaf, column, err);
}

/* ---- what was turned ---------------------------------------------------- */

static int by_place(const void *va, const void *vb)
{
    const struct net_turned *a = va, *b = vb;

    if (a->tree != b->tree)
        return a->tree < b->tree ? -1 : 1;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return a->nth < b->nth ? -1 : a->nth > b->nth;
}

/* Each place once, as it was first, and only if it leads elsewhere now. */
static void settle_turned(const struct net_routes *r,
                          struct net_turned_places *t)
{
    const struct net_turned *last = NULL;
    uint32_t n = 0;

    if (t->n)
        qsort(t->at, t->n, sizeof(*t->at), by_place);
    for (uint32_t i = 0; i < t->n; i++) {
        struct net_turned at = t->at[i];
        bool again = last && last->tree == at.tree && last->x == at.x;

        last = &t->at[i];
        if (again ||
            at.was == net_tree_step(r, (uint32_t)(at.tree / r->columns),
                                    (unsigned)(at.tree % r->columns), at.x))
            continue;
        t->at[n++] = at;
    }
    t->n = n;
}

/* The routes of one tree that come by the places from..to. */
static void report_tree(struct repair *rep, uint32_t from, uint32_t to)
{
    const struct net_routes *r = rep->r;
    uint64_t tree = rep->turned.at[from].tree;
    unsigned hosts = r->ncolumn[tree];

    rep->what.trees++;
    net_upstream_begin(&rep->from);
    for (uint32_t i = from; i < to; i++)
        net_upstream_add(&rep->from, rep->turned.at[i].x);
    net_upstream_find(&rep->from, r, (uint32_t)(tree / r->columns),
                      (unsigned)(tree % r->columns));
    for (uint32_t i = 0; i < rep->from.n; i++) {
        uint32_t leaf = r->leaf_of[r->xnode[rep->from.x[i]]];

        if (leaf == NET_NONE || !hosts)
            continue;
        rep->leaf_hit[leaf] = 1;
        rep->what.routes += hosts;
    }
}

static void report(struct repair *rep)
{
    struct net_routes *r = rep->r;
    const struct net_turned_places *t = &rep->turned;

    for (uint32_t i = 0, to; i < t->n; i = to) {
        for (to = i + 1; to < t->n && t->at[to].tree == t->at[i].tree;)
            to++;
        report_tree(rep, i, to);
    }
    for (uint32_t l = 0; l < r->nleaves; l++)
        if (rep->leaf_hit[l])
            rep->what.hosts += r->weight[l];
}

static int mend_all(struct repair *rep, struct errbuf *err)
{
    struct net_routes *r = rep->r;

    if (!rep->turned.n &&
        !memchr(rep->whole, 1, (size_t)r->nleaves * r->columns))
        return 0; /* only hosts went */
    net_find_parts(r, r->passing);
    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++)
            if (rep->whole[(size_t)l * r->columns + c] &&
                mend(rep, l, c, err) < 0)
                return -1;
    if (net_relieve(r, err) < 0)
        return -1;
    settle_turned(r, &rep->turned);
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

    rep->whole = calloc(trees, 1);
    rep->leaf_hit = calloc(r->nleaves + 1, 1);
    r->turned = &rep->turned;
    return net_upstream_new(&rep->from, r) && rep->whole && rep->leaf_hit;
}

static void end(struct repair *rep)
{
    rep->r->turned = NULL;
    free(rep->turned.at);
    free(rep->whole);
    free(rep->leaf_hit);
    net_upstream_free(&rep->from);
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

/* All turns that up and down allow are searched for a cycle once; what a repair
 * turns must be among them. */
static int prove_turned(struct repair *rep, struct errbuf *err)
{
    struct net_routes *r = rep->r;

    if (!r->turns_proved && net_turns_deadlock(r, err) != 0)
        return -1;
    r->turns_proved = true;
    return net_turned_deadlock(r, rep->turned.at, rep->turned.n, err) == 0 ? 0
                                                                           : -1;
}

static int mend_trees(struct repair *rep, struct errbuf *err)
{
    if (mend_all(rep, err) < 0 || prove_turned(rep, err) < 0)
        return -1;
    return net_routes_surely_agree(rep->r) || net_routes_agree(rep->r)
               ? 0
               : other_ups(err);
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
