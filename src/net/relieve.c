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
/* Edges that are looked at in one run: a second or two. */
#define BUDGET_MAX 100000000

struct relief {
    struct net_routes *r;
    uint32_t target; /* no cable at or below this is looked at */
    uint32_t fair;   /* no step aside at or below this */
    unsigned aside;  /* steps aside so far */
    bool step_aside; /* the next may be one */
    uint64_t budget; /* edges that may still be looked at */
    uint8_t *stuck;  /* per global port: no way was found */
    uint32_t leaf;   /* of the tree */
    unsigned column;
    struct net_upstream over;  /* x whose way in the tree goes over the cable */
    struct net_upstream moved; /* x whose way is being turned */
    uint8_t *off;              /* per x in `over`: its way does no longer */
    uint32_t *ranks;           /* of those in `over`, in ascending order */
    uint32_t cable;            /* global port that is to be relieved */
    uint32_t x;                /* where it begins */
    unsigned ordinal;
};

static const struct net_edge *edge_from(const struct relief *f, uint32_t x)
{
    unsigned step = net_tree_step(f->r, f->leaf, f->column, x);

    return step == NET_NO_EDGE ? NULL : net_edge_at(f->r, x, step);
}

static bool goes_over(const struct relief *f, uint32_t x)
{
    return f->over.seen[x] == f->over.round && !f->off[x];
}

/* Most loaded cable from x on. */
static uint32_t worst_on(const struct relief *f, uint32_t x)
{
    const struct net_edge *e;
    uint32_t worst = 0;

    while ((e = edge_from(f, x))) {
        uint32_t load = f->r->load[net_edge_port(f->r, x, e)];

        if (load > worst)
            worst = load;
        x = e->to;
    }
    return worst;
}

static void add_on(struct relief *f, uint32_t x, uint32_t hosts)
{
    const struct net_edge *e;

    while ((e = edge_from(f, x))) {
        f->r->load[net_edge_port(f->r, x, e)] += hosts;
        x = e->to;
    }
}

static int by_value(const void *va, const void *vb)
{
    const uint32_t *a = va, *b = vb;

    return *a < *b ? -1 : *a > *b;
}

/* Who goes over the cable in this tree, and how many hosts with each. */
static void find_over(struct relief *f)
{
    struct net_routes *r = f->r;
    unsigned hosts = r->ncolumn[(size_t)f->leaf * r->columns + f->column];

    net_upstream_begin(&f->over);
    net_upstream_add(&f->over, f->x);
    net_upstream_find(&f->over, r, f->leaf, f->column);
    for (uint32_t i = 0; i < f->over.n; i++) {
        uint32_t x = f->over.x[i], leaf = r->leaf_of[r->xnode[x]];
        uint64_t looks = r->first[x + 1] - r->first[x];

        f->budget -= looks < f->budget ? looks : f->budget;
        f->off[x] = 0;
        f->ranks[i] = r->rank[x];
        r->passing[x] = leaf == NET_NONE ? 0 : r->weight[leaf] * hosts;
    }
    for (uint32_t i = f->over.n; i-- > 1;) {
        uint32_t x = f->over.x[i];

        r->passing[edge_from(f, x)->to] += r->passing[x];
    }
}

/* The least loaded other way from x, with what goes there now taken off its old
 * one. */
static unsigned other_way(const struct relief *f, uint32_t x, uint32_t *worst)
{
    const struct net_routes *r = f->r;
    unsigned n = r->first[x + 1] - r->first[x], best = NET_NO_EDGE;
    unsigned step = net_tree_step(r, f->leaf, f->column, x);

    for (unsigned k = 0; k < n; k++) {
        unsigned i = (k + x + f->aside) % n;
        const struct net_edge *e = net_edge_at(r, x, i);
        uint32_t load, on;

        if (i == step || !net_edge_shortest(r, x, e) || goes_over(f, e->to))
            continue;
        load = r->load[net_edge_port(r, x, e)];
        if (load >= *worst)
            continue;
        on = worst_on(f, e->to);
        if (on > load)
            load = on;
        if (load < *worst) {
            *worst = load;
            best = i;
        }
    }
    return best;
}

/* x leads elsewhere from now on, and with it those that come by x. */
static bool move(struct relief *f, uint32_t x, unsigned way, uint32_t hosts)
{
    struct net_routes *r = f->r;

    net_upstream_begin(&f->moved);
    net_upstream_add(&f->moved, x);
    net_upstream_find(&f->moved, r, f->leaf, f->column);
    for (uint32_t i = 0; i < f->moved.n; i++)
        f->off[f->moved.x[i]] = 1;
    for (uint32_t at = x; at != f->x;) {
        at = edge_from(f, at)->to;
        r->passing[at] -= hosts;
    }
    return net_tree_set(r, f->leaf, f->column, x, (uint8_t)way);
}

/* Turn one place if that helps.  1: it did; -1: out of memory. */
static int turn(struct relief *f, uint32_t x)
{
    struct net_routes *r = f->r;
    uint32_t hosts = r->passing[x], load = r->load[f->cable], worst;
    unsigned way;
    bool ok = true;

    if (!hosts || f->off[x] || hosts > load)
        return 0;
    add_on(f, x, -hosts);
    worst = load - hosts + f->step_aside; /* others must stay below that */
    way = other_way(f, x, &worst);
    if (way != NET_NO_EDGE)
        ok = move(f, x, way, hosts);
    add_on(f, x, hosts);
    return !ok ? -1 : way != NET_NO_EDGE;
}

/* Each place once, in the order of the ranks from the step aside on.  As
 * turn(), of any of them. */
static int turn_each(struct relief *f)
{
    const struct net_routes *r = f->r;
    uint32_t n = f->over.n, from = 0;
    int any = 0;

    while (from < n && f->ranks[from] < f->aside % r->nx)
        from++;
    for (uint32_t i = 0; i < n && r->load[f->cable] > f->target; i++) {
        int rc = turn(f, r->order[f->ranks[(from + i) % n]]);

        if (rc < 0 || (rc > 0 && f->step_aside))
            return rc;
        any |= rc;
    }
    return any;
}

/* One tree over the cable.  False: out of memory. */
static bool relieve_tree(struct relief *f, uint32_t leaf, unsigned column)
{
    struct net_routes *r = f->r;
    int rc;

    f->leaf = leaf;
    f->column = column;
    find_over(f);
    if (!r->passing[f->x] || !f->budget)
        return true;
    qsort(f->ranks, f->over.n, sizeof(*f->ranks), by_value);
    if (r->there != leaf)
        net_distances(r, leaf);
    while ((rc = turn_each(f)) > 0 && !f->step_aside && f->budget)
        f->budget -= f->over.n < f->budget ? f->over.n : f->budget;
    return rc >= 0;
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
    struct relief f = {.r = r};
    double ideal = net_ideal_load(r->net);
    uint32_t g = grain(r);
    bool ok;

    f.target = ((uint32_t)ideal + g - 1) / g * g;
    f.fair = (uint32_t)(ideal * ASIDE_ABOVE);
    f.budget = 4 * (uint64_t)r->nleaves * r->columns * r->nx + 100000;
    if (f.budget > BUDGET_MAX)
        f.budget = BUDGET_MAX;
    f.stuck = calloc(r->net->nports + 1, 1);
    f.off = calloc(r->nx + 1, 1);
    f.ranks = malloc((r->nx + 1) * sizeof(*f.ranks));
    ok = net_upstream_new(&f.over, r) && net_upstream_new(&f.moved, r) &&
         f.stuck && f.off && f.ranks && run(&f);
    net_upstream_free(&f.over);
    net_upstream_free(&f.moved);
    free(f.stuck);
    free(f.off);
    free(f.ranks);
    return ok ? 0 : errprintf(err, "out of memory for the routes");
}
