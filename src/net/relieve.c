/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking load off the worst cables.  Trees are laid out one after the other,
 * so what comes late finds its best ways taken; and where a cable is gone its
 * neighbour may be the only place left to go on that spot, while others
 * further back could have gone elsewhere.  Here the most loaded cable is
 * taken, and of the trees over it one place after the other is turned to
 * another shortest way, whenever all cables of that way stay below the load
 * that the worst one had.  So the worst never grows, and the sorted list of
 * loads falls with every step.
 *
 * Where no such step is left and the worst is still clearly above the bound,
 * a step that makes another cable the worst instead may open the way to a
 * better one: a few of those are tried.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* ---- what whole trees put on their cables ------------------------------ */

/* What whole trees put on their cables, and what they were before a repair. */

static void pass_on(struct net_routes *r, const uint8_t *next, uint32_t x,
                    bool up)
{
    const struct net_edge *e = r->passing[x] ? net_tree_edge(r, next, x) : NULL;

    if (e && e->up == up)
        r->passing[e->to] += r->passing[x];
}

/* Upwards the hosts gather in the order of the ranks, downwards against it. */
static void net_tree_flow(struct net_routes *r, uint32_t leaf, unsigned column)
{
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];
    const uint8_t *next = net_tree(r, leaf, column);

    memset(r->passing, 0, r->nx * sizeof(*r->passing));
    for (uint32_t l = 0; l < r->nleaves; l++)
        r->passing[r->leaf_x[l]] = r->weight[l] * hosts;
    for (uint32_t i = 0; i < r->nx; i++)
        pass_on(r, next, r->order[i], true);
    for (uint32_t i = r->nx; i-- > 0;)
        pass_on(r, next, r->order[i], false);
}

void net_tree_load(struct net_routes *r, uint32_t leaf, unsigned column,
                   int sign)
{
    const uint8_t *next = net_tree(r, leaf, column);

    if (!r->ncolumn[(size_t)leaf * r->columns + column])
        return;
    net_tree_flow(r, leaf, column);
    for (uint32_t x = 0; x < r->nx; x++) {
        const struct net_edge *e = net_tree_edge(r, next, x);

        if (e)
            r->load[net_edge_port(r, x, e)] += (uint32_t)sign * r->passing[x];
    }
}

bool net_tree_save(struct net_routes *r, uint32_t leaf, unsigned column)
{
    size_t t = (size_t)leaf * r->columns + column;

    if (!r->saved || r->saved[t])
        return true;
    r->saved[t] = malloc(r->nx + 1);
    if (r->saved[t])
        memcpy(r->saved[t], net_tree(r, leaf, column), r->nx);
    return r->saved[t] != NULL;
}

/* ---- how evenly routes lie --------------------------------------------- */

/* How evenly routes lie on the cables: see route.h. */

/* ---- the bound ----------------------------------------------------------- */

/* Hosts in the part of the net that each node lies in. */
static uint32_t *hosts_near(const struct net *net)
{
    uint32_t *queue = malloc((net->nnodes + 1) * sizeof(*queue));
    uint32_t *near = malloc((net->nnodes + 1) * sizeof(*near));

    if (near)
        memset(near, 0xff, net->nnodes * sizeof(*near));
    for (uint32_t i = 0; queue && near && i < net->nnodes; i++) {
        uint32_t n = 0, got = 0, hosts = 0;

        if (near[i] != NET_NONE)
            continue;
        queue[got++] = i;
        near[i] = 0;
        while (n < got) {
            uint32_t at = queue[n++];

            hosts += net_is_host(net, at);
            for (unsigned p = 0; p < net->nodes[at].nports; p++) {
                uint32_t to = net_peer_node(net, at, p);

                if (to == NET_NONE || near[to] != NET_NONE)
                    continue;
                near[to] = 0;
                queue[got++] = to;
            }
        }
        for (n = 0; n < got; n++)
            near[queue[n]] = hosts;
    }
    free(queue);
    return near;
}

double net_ideal_load(const struct net *net)
{
    uint32_t *near = hosts_near(net);
    double ideal = 0;

    for (uint32_t n = 0; near && n < net->nnodes; n++) {
        uint32_t hosts = 0, cables = 0;

        for (unsigned p = 0; p < net->nodes[n].nports; p++) {
            uint32_t to = net_peer_node(net, n, p);

            if (to == NET_NONE || to == n)
                continue;
            if (net_is_host(net, to))
                hosts++;
            else
                cables++;
        }
        if (!net_is_host(net, n) && cables) {
            double own = (double)hosts * (near[n] - hosts) / cables;

            if (own > ideal)
                ideal = own;
        }
    }
    free(near);
    return ideal;
}

/* ---- what there is --------------------------------------------------------
 */

/* Host by host, where there are no trees. */
static void path_loads(const struct net_routes *r, uint32_t *load,
                       struct net_balance *b)
{
    const struct net *net = r->net;
    struct net_path path;

    for (uint32_t s = 0; s < net->nnodes; s++) {
        if (!net_is_host(net, s))
            continue;
        for (uint32_t d = 0; d < net->nnodes; d++) {
            if (d == s || !net_is_host(net, d) ||
                !net_routes_path(r, s, d, &path))
                continue;
            b->pairs++;
            if (path.hops > b->longest)
                b->longest = path.hops;
            for (unsigned i = 1; i < path.hops; i++)
                load[path.port[i]]++;
        }
    }
}

static void tree_lengths(const struct net_routes *r, uint32_t leaf,
                         unsigned column, struct net_balance *b)
{
    uint32_t ports[NET_ROUTE_MAX];
    unsigned hosts = r->ncolumn[(size_t)leaf * r->columns + column];

    for (uint32_t s = 0; hosts && s < r->nleaves; s++) {
        uint32_t from = r->weight[s] - (s == leaf); /* not to itself */
        int n = net_tree_walk(r, s, leaf, column, ports, r->hop_limit - 1);

        if (n < 0 || !r->weight[s])
            continue;
        b->pairs += (uint64_t)hosts * from;
        if ((from || s != leaf) && (unsigned)n + 1 > b->longest)
            b->longest = (unsigned)n + 1;
    }
}

static void find_worst(const struct net_routes *r, const uint32_t *load,
                       struct net_balance *b)
{
    const struct net *net = r->net;

    for (uint32_t p = 0; p < net->nports; p++)
        if (load[p] > b->worst) {
            b->worst = load[p];
            b->worst_port = p;
        }
    b->ideal = net_ideal_load(net);
    b->ratio = b->ideal > 0 ? (double)b->worst / b->ideal : 1;
}

int net_routes_balance(const struct net_routes *r, struct net_balance *b)
{
    uint64_t hosts = r->net->nhosts;
    uint32_t *own = NULL;

    *b = (struct net_balance){.worst_port = NET_NONE};
    if (r->gm2 || r->pairs || r->updown) {
        own = calloc(r->net->nports + 1, sizeof(*own));
        if (!own)
            return -1;
        path_loads(r, own, b);
    } else {
        for (uint32_t l = 0; l < r->nleaves; l++)
            for (unsigned c = 0; c < r->columns; c++)
                tree_lengths(r, l, c, b);
    }
    b->cut_off = hosts * (hosts - (hosts > 0)) - b->pairs;
    find_worst(r, own ? own : r->load, b);
    free(own);
    return 0;
}

/* Steps aside, and from which share above the bound they are tried. */
#define ASIDE_MAX 64
#define ASIDE_ABOVE 1.05
/* Places of trees that are looked at in one run: a second or two. */
#define BUDGET_MAX 100000000

struct relief {
    struct net_routes *r;
    struct errbuf *err;
    uint32_t target; /* no cable at or below this is looked at */
    uint32_t fair;   /* no step aside at or below this */
    unsigned aside;  /* steps aside so far */
    bool step_aside; /* the next may be one */
    uint64_t budget; /* places that may still be looked at */
    uint8_t *stuck;  /* per global port: no way was found */
    uint8_t *over;   /* per x: its way goes over the cable */
    uint32_t leaf;   /* whose distances are there */
    uint32_t cable;  /* global port that is to be relieved */
    uint32_t x;      /* where it begins */
    unsigned ordinal;
};

/* Most loaded cable from x on. */
static uint32_t worst_on(const struct net_routes *r, const uint8_t *next,
                         uint32_t x)
{
    const struct net_edge *e;
    uint32_t worst = 0;

    while ((e = net_tree_edge(r, next, x))) {
        uint32_t load = r->load[net_edge_port(r, x, e)];

        if (load > worst)
            worst = load;
        x = e->to;
    }
    return worst;
}

static void add_on(struct net_routes *r, const uint8_t *next, uint32_t x,
                   uint32_t hosts)
{
    const struct net_edge *e;

    while ((e = net_tree_edge(r, next, x))) {
        r->load[net_edge_port(r, x, e)] += hosts;
        x = e->to;
    }
}

static void mark(struct relief *f, const uint8_t *next, uint32_t x, bool up)
{
    const struct net_edge *e = net_tree_edge(f->r, next, x);

    if ((e && e->up) != up)
        return;
    f->over[x] = e && ((x == f->x && next[x] == f->ordinal) || f->over[e->to]);
}

/* Downwards what the lower ones do is known first, upwards the higher ones. */
static void mark_all(struct relief *f, const uint8_t *next)
{
    const struct net_routes *r = f->r;

    for (uint32_t i = 0; i < r->nx; i++)
        mark(f, next, r->order[i], false);
    for (uint32_t i = r->nx; i-- > 0;)
        mark(f, next, r->order[i], true);
}

/* The least loaded other way from x, with what goes there now taken off its old
 * one. */
static unsigned other_way(const struct relief *f, const uint8_t *next,
                          uint32_t x, uint32_t *worst)
{
    const struct net_routes *r = f->r;
    unsigned n = r->first[x + 1] - r->first[x], best = NET_NO_EDGE;

    for (unsigned k = 0; k < n; k++) {
        unsigned i = (k + x + f->aside) % n;
        const struct net_edge *e = net_edge_at(r, x, i);
        uint32_t load, on;

        if (i == next[x] || !net_edge_shortest(r, x, e) || f->over[e->to])
            continue;
        load = r->load[net_edge_port(r, x, e)];
        if (load >= *worst)
            continue;
        on = worst_on(r, next, e->to);
        if (on > load)
            load = on;
        if (load < *worst) {
            *worst = load;
            best = i;
        }
    }
    return best;
}

/* Turn one place if that helps.  True if it did. */
static bool turn(struct relief *f, uint8_t *next, uint32_t x)
{
    struct net_routes *r = f->r;
    uint32_t hosts = r->passing[x], load = r->load[f->cable], worst;
    unsigned way;

    if (!hosts || !f->over[x] || hosts > load)
        return false;
    add_on(r, next, x, -hosts);
    worst = load - hosts + f->step_aside; /* others must stay below that */
    way = other_way(f, next, x, &worst);
    if (way != NET_NO_EDGE)
        next[x] = (uint8_t)way;
    add_on(r, next, x, hosts);
    return way != NET_NO_EDGE;
}

static bool turn_one(struct relief *f, uint8_t *next)
{
    const struct net_routes *r = f->r;

    for (uint32_t i = 0; i < r->nx; i++)
        if (turn(f, next, r->order[(i + f->aside) % r->nx]))
            return true;
    return false;
}

/* One tree over the cable.  False: out of memory. */
static bool relieve_tree(struct relief *f, uint32_t leaf, unsigned column)
{
    struct net_routes *r = f->r;
    uint8_t *next;

    if (net_tree_own(r, leaf, column, f->err) < 0 ||
        !net_tree_save(r, leaf, column))
        return false;
    next = net_tree(r, leaf, column);
    if (f->leaf != leaf)
        net_distances(r, leaf);
    f->leaf = leaf;
    do {
        if (f->budget < r->nx) {
            f->budget = 0;
            return true;
        }
        f->budget -= r->nx;
        net_tree_flow(r, leaf, column);
        mark_all(f, next);
    } while (r->load[f->cable] > f->target && turn_one(f, next) &&
             !f->step_aside);
    return true;
}

static bool relieve_cable(struct relief *f)
{
    struct net_routes *r = f->r;

    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++) {
            if (!r->ncolumn[(size_t)l * r->columns + c] ||
                !net_tree_uses(r, l, c, f->x, f->ordinal))
                continue;
            if (r->load[f->cable] <= f->target || !f->budget)
                return true;
            if (!relieve_tree(f, l, c))
                return false;
        }
    return true;
}

/* The most loaded cable that is not stuck.  False: none above the target. */
static bool find_worst_cable(struct relief *f)
{
    const struct net_routes *r = f->r;
    uint32_t worst = f->target;

    f->cable = NET_NONE;
    for (uint32_t x = 0; x < r->nx; x++)
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            uint32_t port = net_edge_port(r, x, &r->edges[e]);

            if (r->load[port] <= worst || f->stuck[port])
                continue;
            worst = r->load[port];
            f->cable = port;
            f->x = x;
            f->ordinal = e - r->first[x];
        }
    return f->cable != NET_NONE;
}

/* No better step is left: one aside from the worst cable, then on. */
static bool go_aside(struct relief *f)
{
    struct net_routes *r = f->r;
    uint32_t before;
    bool ok;

    memset(f->stuck, 0, r->net->nports);
    if (f->aside++ == ASIDE_MAX || !find_worst_cable(f) ||
        r->load[f->cable] <= f->fair)
        return false;
    before = r->load[f->cable];
    f->step_aside = true;
    ok = relieve_cable(f);
    f->step_aside = false;
    return ok && r->load[f->cable] < before;
}

static bool run(struct relief *f)
{
    do {
        while (f->budget && find_worst_cable(f)) {
            uint32_t before = f->r->load[f->cable];

            f->budget -= f->budget < f->r->nx ? f->budget : f->r->nx;
            if (!relieve_cable(f))
                return false;
            if (f->r->load[f->cable] == before)
                f->stuck[f->cable] = 1;
        }
    } while (f->budget && go_aside(f));
    return true;
}

/* Loads are made of whole leaves: multiples of what all leaves have in
 * common. */
static uint32_t grain(const struct net_routes *r)
{
    uint32_t g = 0;

    for (uint32_t l = 0; l < r->nleaves; l++)
        for (uint32_t a = r->weight[l], b; a; a = b) {
            b = g % a;
            g = a;
        }
    return g ? g : 1;
}

int net_relieve(struct net_routes *r, struct errbuf *err)
{
    struct relief f = {.r = r, .err = err, .leaf = NET_NONE};
    double ideal = net_ideal_load(r->net);
    uint32_t g = grain(r);
    bool ok;

    f.target = ((uint32_t)ideal + g - 1) / g * g;
    f.fair = (uint32_t)(ideal * ASIDE_ABOVE);
    f.budget = 4 * (uint64_t)r->nleaves * r->columns * r->nx + 100000;
    if (f.budget > BUDGET_MAX)
        f.budget = BUDGET_MAX;
    f.stuck = calloc(r->net->nports + 1, 1);
    f.over = calloc(r->nx + 1, 1);
    ok = f.stuck && f.over && run(&f);
    free(f.stuck);
    free(f.over);
    return ok ? 0 : errprintf(err, "out of memory for the routes");
}
