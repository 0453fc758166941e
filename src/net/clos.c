/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognising a folded Clos, also with holes, and the slots of d-mod-k.
 *
 * The level of a crossbar is 1 + its distance to the nearest leaf.  Where no
 * cable joins two crossbars of one level, up is towards the higher level and
 * nothing that goes up, then down, can deadlock; whether every leaf reaches
 * every other so is seen when the distances are there (routes.c).
 *
 * d-mod-k wants one number for "the same" cable at different crossbars, and
 * no numbering of ports can be relied on.  What identifies a crossbar of
 * level l + 1 as seen from level l is its *class*: the part of the net it
 * hangs in when all levels below l + 1 are taken away.  In a Clos the leaves
 * of all pods see the same classes, so a leaf's slot (class, k-th cable to
 * it) means the same everywhere, and holes leave other slots where they are.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* ---- what is kept of the trees ----------------------------------------- */

/* What is kept of the trees. A tree that the digits of a
 * Clos give whole needs no memory: from a crossbar above the leaf there is
 * one way down, from any other the digit's slot leads up. Only trees with a
 * place that the digits leave open, or that have been changed, have a row
 * with an edge for each crossbar. Trees of other nets all have one. What the
 * digits say is said of the net as it was at first: a tree that uses a cable
 * which is taken out gets a row. */

/* Rows of one fabric, in bytes: beyond that the answer is an error, not a
 * machine without memory. */
#define ROWS_MAX (2ULL << 30)

/* ---- what lies below a crossbar ------------------------------------------ */

static bool net_clos_find_below(struct net_routes *r)
{
    struct net_clos_shape *c = &r->clos;

    c->words = r->nleaves / 64 + 1;
    c->below = calloc((size_t)r->nx + 1, c->words * sizeof(*c->below));
    if (!c->below)
        return false;
    for (uint32_t l = 0; l < r->nleaves; l++)
        c->below[(size_t)r->leaf_x[l] * c->words + l / 64] |= 1ULL << l % 64;
    for (uint32_t i = 0; i < r->nx; i++) {
        uint32_t x = r->order[i];
        const uint64_t *from = c->below + (size_t)x * c->words;

        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            uint64_t *to = c->below + (size_t)r->edges[e].to * c->words;

            if (!r->edges[e].up)
                break; /* up edges come first */
            for (unsigned w = 0; w < c->words; w++)
                to[w] |= from[w];
        }
    }
    return true;
}

/* ---- one place, as the digits say ---------------------------------------- */

/* Downwards there is one crossbar to go to, by one of several cables. */
static uint8_t way_down(const struct net_routes *r, uint32_t x, uint32_t leaf,
                        unsigned skip)
{
    unsigned n = r->first[x + 1] - r->first[x];
    uint8_t got = NET_NO_EDGE;

    for (unsigned i = 0; i < n; i++) {
        const struct net_edge *e = net_edge_at(r, x, i);

        if (e->up || !net_clos_below(r, e->to, leaf))
            continue;
        got = (uint8_t)i;
        if (skip-- == 0)
            return got;
    }
    return got;
}

uint8_t net_clos_step(const struct net_routes *r, uint32_t leaf,
                      unsigned column, uint32_t x)
{
    unsigned level = r->clos.level[x];

    if (r->part[x] != r->part[r->leaf_x[leaf]])
        return NET_NO_EDGE;
    if (net_clos_below(r, x, leaf))
        return level == 1
                   ? NET_NO_EDGE
                   : way_down(r, x, leaf,
                              net_clos_digit(r, leaf, column, level - 1) %
                                  r->clos.parallel[level - 1]);
    if (level >= r->clos.levels)
        return NET_NO_EDGE;
    return r->clos
        .slot[r->clos.slots[x] + net_clos_digit(r, leaf, column, level)];
}

/* ---- rows ---------------------------------------------------------------- */

static int too_much(const struct net_routes *r, uint64_t bytes,
                    struct errbuf *err)
{
    return errprintf(err,
                     "the routes of %u crossbars and %u hosts would take "
                     "%llu bytes, the limit is %llu",
                     r->nx, r->net->nhosts, (unsigned long long)bytes,
                     ROWS_MAX);
}

int net_rows_new(struct net_routes *r, struct errbuf *err)
{
    size_t trees = (size_t)r->nleaves * r->columns;

    r->rows = calloc(trees + 1, sizeof(*r->rows));
    r->patches = calloc(trees + 1, sizeof(*r->patches));
    return r->rows && r->patches
               ? 0
               : errprintf(err, "out of memory for the routes");
}

void net_rows_free(struct net_routes *r)
{
    size_t trees = (size_t)r->nleaves * r->columns;

    for (size_t t = 0; r->rows && t < trees; t++)
        free(r->rows[t]);
    for (size_t t = 0; r->patches && t < trees; t++)
        free(r->patches[t]);
    free(r->rows);
    free(r->patches);
    r->rows = NULL;
    r->patches = NULL;
    r->nrows = 0;
}

/* The first place at or behind x. */
static uint32_t patch_place(const struct net_patch *p, uint32_t x)
{
    uint32_t lo = 0, hi = p->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (p->at[mid].x < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct net_patched *net_patch_find(const struct net_patch *p, uint32_t x)
{
    uint32_t i = patch_place(p, x);

    return i < p->n && p->at[i].x == x ? &p->at[i] : NULL;
}

/* Room for one place more.  NULL: out of memory. */
static struct net_patch *patch_room(struct net_patch **p)
{
    uint32_t room = *p ? 2 * (*p)->room : 2;
    struct net_patch *more;

    if (*p && (*p)->n < (*p)->room)
        return *p;
    more = realloc(*p, sizeof(*more) + room * sizeof(more->at[0]));
    if (!more)
        return NULL;
    if (!*p)
        more->n = 0;
    more->room = room;
    return *p = more;
}

/* A tree with so many places of its own gets a row. */
static bool is_crowded(const struct net_routes *r, const struct net_patch *p)
{
    return p && p->n * sizeof(p->at[0]) >= r->nx;
}

bool net_tree_note(struct net_routes *r, uint32_t leaf, unsigned column,
                   uint32_t x, uint8_t was)
{
    struct net_turned_places *t = r->turned;

    if (!t)
        return true;
    if (t->n == t->room) {
        uint32_t room = t->room ? 2 * t->room : 4096;
        struct net_turned *more = realloc(t->at, room * sizeof(*more));

        if (!more)
            return false;
        t->at = more;
        t->room = room;
    }
    t->at[t->n] = (struct net_turned){
        .tree = (uint64_t)leaf * r->columns + column, x, t->n, was};
    t->n++;
    return true;
}

bool net_tree_set(struct net_routes *r, uint32_t leaf, unsigned column,
                  uint32_t x, uint8_t ordinal)
{
    size_t tree = (size_t)leaf * r->columns + column;
    struct net_patch *p = r->patches[tree];
    uint32_t i;

    if (!net_tree_note(r, leaf, column, x, net_tree_step(r, leaf, column, x)))
        return false;
    if (is_crowded(r, p) && net_tree_own(r, leaf, column, NULL) < 0)
        return false;
    if (r->rows[tree]) {
        r->rows[tree][x] = ordinal;
        return true;
    }
    p = patch_room(&r->patches[tree]);
    if (!p)
        return false;
    i = patch_place(p, x);
    if (i == p->n || p->at[i].x != x) {
        memmove(p->at + i + 1, p->at + i, (p->n - i) * sizeof(p->at[0]));
        p->n++;
    }
    p->at[i] = (struct net_patched){x, ordinal};
    return true;
}

/* A tree as the digits and its patches say. */
static void write_tree(const struct net_routes *r, uint32_t leaf,
                       unsigned column, uint8_t *row)
{
    const struct net_patch *p = r->patches[(size_t)leaf * r->columns + column];

    for (uint32_t x = 0; x < r->nx; x++)
        row[x] = net_clos_step(r, leaf, column, x);
    for (uint32_t i = 0; p && i < p->n; i++)
        row[p->at[i].x] = p->at[i].ordinal;
}

int net_tree_own(struct net_routes *r, uint32_t leaf, unsigned column,
                 struct errbuf *err)
{
    uint8_t **row = &r->rows[(size_t)leaf * r->columns + column];

    if (*row)
        return 0;
    if ((r->nrows + 1ULL) * r->nx > ROWS_MAX)
        return too_much(r, (r->nrows + 1ULL) * r->nx, err);
    *row = malloc(r->nx + 1);
    if (!*row)
        return errprintf(err, "out of memory for the routes");
    r->nrows++;
    write_tree(r, leaf, column, *row);
    free(r->patches[(size_t)leaf * r->columns + column]);
    r->patches[(size_t)leaf * r->columns + column] = NULL;
    return 0;
}

/* ---- the loads of whole trees ------------------------------------------ */

/* Loads of all trees that the digits give whole, at once. See route_impl.h.
 * Trees with the same digits go the same way up until they are above their
 * leaf. So what all leaves send is poured upwards once for all trees of the
 * same digits, as if it never turned; then for each of these trees what went
 * up from above its leaf is taken back and sent down instead. */

struct pour {
    struct net_routes *r;
    const uint8_t *open; /* per tree: not whole */
    uint32_t *flow;      /* per x: hosts that come by, all leaves' */
    uint32_t *turned;    /* per x above a leaf: hosts that turn there */
    uint32_t *reached;   /* x with a flow, lower levels first */
    uint32_t *above;     /* of them those above the leaf, higher ones first */
    uint32_t nreached, nleaves, nabove;
    unsigned digit[NET_LEVELS_MAX + 1];
    uint64_t period; /* trees with numbers so far apart have the same digits */
};

/* The edge upwards from x; NULL: none. */
static const struct net_edge *edge_up(const struct pour *p, uint32_t x)
{
    const struct net_clos_shape *c = &p->r->clos;
    unsigned level = c->level[x];
    uint8_t ordinal = level < c->levels ? c->slot[c->slots[x] + p->digit[level]]
                                        : NET_NO_EDGE;

    return ordinal == NET_NO_EDGE ? NULL : net_edge_at(p->r, x, ordinal);
}

static void pour_up(struct pour *p, uint32_t part)
{
    struct net_routes *r = p->r;

    for (uint32_t i = 0; i < p->nreached; i++)
        p->flow[p->reached[i]] = 0;
    p->nreached = 0;
    for (uint32_t l = 0; l < r->nleaves; l++) {
        uint32_t x = r->leaf_x[l];

        if (r->part[x] != part || !r->weight[l])
            continue;
        p->reached[p->nreached++] = x;
        p->flow[x] = r->weight[l];
    }
    p->nleaves = p->nreached;
    for (uint32_t i = 0; i < p->nreached; i++) {
        uint32_t x = p->reached[i];
        const struct net_edge *e = edge_up(p, x);

        if (!e)
            continue;
        if (!p->flow[e->to])
            p->reached[p->nreached++] = e->to;
        p->flow[e->to] += p->flow[x];
    }
}

/* What of the flow came from above the leaf goes up no further. */
static void turn_back(struct pour *p, uint32_t leaf, uint32_t hosts)
{
    struct net_routes *r = p->r;

    p->nabove = 0;
    for (uint32_t i = p->nreached; i-- > p->nleaves;)
        if (net_clos_below(r, p->reached[i], leaf))
            p->above[p->nabove++] = p->reached[i];
    if (p->flow[r->leaf_x[leaf]])
        p->above[p->nabove++] = r->leaf_x[leaf];
    for (uint32_t i = 0; i < p->nabove; i++)
        p->turned[p->above[i]] = p->flow[p->above[i]];
    for (uint32_t i = 0; i < p->nabove; i++) {
        uint32_t x = p->above[i];
        const struct net_edge *e = edge_up(p, x);

        if (!e)
            continue;
        r->load[net_edge_port(r, x, e)] -= hosts * p->flow[x];
        p->turned[e->to] -= p->flow[x];
    }
}

static void send_down(struct pour *p, uint32_t leaf, unsigned column,
                      uint32_t hosts)
{
    struct net_routes *r = p->r;

    for (uint32_t i = 0; i < p->nabove; i++) {
        uint32_t x = p->above[i], n = p->turned[x];

        while (n && x != r->leaf_x[leaf]) {
            const struct net_edge *e =
                net_edge_at(r, x, net_clos_step(r, leaf, column, x));

            r->load[net_edge_port(r, x, e)] += hosts * n;
            x = e->to;
        }
    }
}

/* Hosts that a whole tree of this part leads to; 0: leave it alone. */
static uint32_t hosts_of(const struct pour *p, uint64_t tree, uint32_t part)
{
    const struct net_routes *r = p->r;
    uint32_t leaf = (uint32_t)(tree / r->columns);

    if (p->open[tree] || r->part[r->leaf_x[leaf]] != part)
        return 0;
    return r->ncolumn[tree];
}

/* All trees with the digits of the first one. */
static void pour_alike(struct pour *p, uint64_t first, uint32_t part)
{
    struct net_routes *r = p->r;
    uint64_t trees = (uint64_t)r->nleaves * r->columns;
    uint32_t sum = 0;

    for (uint64_t t = first; t < trees; t += p->period)
        sum += hosts_of(p, t, part);
    if (!sum)
        return;
    for (unsigned l = 1; l < r->clos.levels; l++)
        p->digit[l] = net_clos_digit(r, (uint32_t)(first / r->columns),
                                     (unsigned)(first % r->columns), l);
    pour_up(p, part);
    for (uint32_t i = 0; i < p->nreached; i++) {
        uint32_t x = p->reached[i];
        const struct net_edge *e = edge_up(p, x);

        if (e)
            r->load[net_edge_port(r, x, e)] += sum * p->flow[x];
    }
    for (uint64_t t = first; t < trees; t += p->period) {
        uint32_t hosts = hosts_of(p, t, part);

        if (!hosts)
            continue;
        turn_back(p, (uint32_t)(t / r->columns), hosts);
        send_down(p, (uint32_t)(t / r->columns), (unsigned)(t % r->columns),
                  hosts);
    }
}

static void pour_all(struct pour *p)
{
    struct net_routes *r = p->r;
    uint64_t trees = (uint64_t)r->nleaves * r->columns;
    uint32_t parts = 0;

    p->period = 1;
    for (unsigned l = 1; l < r->clos.levels && p->period < trees; l++)
        p->period *= r->clos.digits[l];
    for (uint32_t l = 0; l < r->nleaves; l++)
        if (r->part[r->leaf_x[l]] >= parts)
            parts = r->part[r->leaf_x[l]] + 1;
    for (uint32_t part = 0; part < parts; part++)
        for (uint64_t t = 0; t < p->period && t < trees; t++)
            pour_alike(p, t, part);
}

bool net_clos_pour(struct net_routes *r, const uint8_t *open)
{
    struct pour p = {.r = r, .open = open};
    bool ok;

    p.flow = calloc(r->nx + 1, sizeof(*p.flow));
    p.turned = calloc(r->nx + 1, sizeof(*p.turned));
    p.reached = malloc((r->nx + 1) * sizeof(*p.reached));
    p.above = malloc((r->nx + 1) * sizeof(*p.above));
    ok = p.flow && p.turned && p.reached && p.above;
    if (ok)
        pour_all(&p);
    free(p.flow);
    free(p.turned);
    free(p.reached);
    free(p.above);
    return ok;
}

/* ---- levels ------------------------------------------------------------ */

/* Level of every x; 0 where no leaf is near.  False: not a Clos. */
static bool find_levels(struct net_routes *r)
{
    uint8_t *level = r->clos.level;
    uint32_t n = 0, got = 0;

    for (uint32_t l = 0; l < r->nleaves; l++) {
        r->queue[got++] = r->leaf_x[l];
        level[r->leaf_x[l]] = 1;
    }
    while (n < got) {
        uint32_t x = r->queue[n++];

        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            uint32_t to = r->edges[e].to;

            if (level[to] == level[x])
                return false;
            if (level[to])
                continue;
            if (level[x] == NET_LEVELS_MAX)
                return false;
            level[to] = level[x] + 1;
            r->queue[got++] = to;
        }
        r->clos.levels = level[x];
    }
    return true;
}

struct ranked {
    uint8_t level;
    uint64_t key;
    uint32_t x;
};

static int by_level(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->x < b->x ? -1 : a->x > b->x;
}

static bool rank_levels(struct net_routes *r)
{
    struct ranked *k = malloc((r->nx + 1) * sizeof(*k));

    if (!k)
        return false;
    for (uint32_t x = 0; x < r->nx; x++)
        k[x] = (struct ranked){r->clos.level[x], r->key[x], x};
    qsort(k, r->nx, sizeof(*k), by_level);
    for (uint32_t i = 0; i < r->nx; i++) {
        r->order[i] = k[i].x;
        r->rank[k[i].x] = i;
    }
    free(k);
    return true;
}

/* ---- parts of the net, by union-find ----------------------------------- */

static uint32_t root_of(uint32_t *up, uint32_t x)
{
    while (up[x] != x)
        x = up[x] = up[up[x]];
    return x;
}

/* The root is the member with the lowest rank, whatever the order. */
static void unite(const struct net_routes *r, uint32_t *up, uint32_t a,
                  uint32_t b)
{
    a = root_of(up, a);
    b = root_of(up, b);
    if (a == b)
        return;
    if (r->rank[a] < r->rank[b])
        up[b] = a;
    else
        up[a] = b;
}

static void apart(const struct net_routes *r, uint32_t *up)
{
    for (uint32_t x = 0; x < r->nx; x++)
        up[x] = x;
}

/* Join what the cables between level and level + 1 join. */
static void join_level(const struct net_routes *r, uint32_t *up, unsigned level)
{
    for (uint32_t x = 0; x < r->nx; x++) {
        if (r->clos.level[x] != level)
            continue;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
            if (r->clos.level[r->edges[e].to] == level + 1)
                unite(r, up, x, r->edges[e].to);
    }
}

/* ---- leaves in the order of their pods --------------------------------- */

struct placed {
    uint32_t pod[NET_LEVELS_MAX]; /* outermost first */
    uint32_t rank, x, leaf;
};

static int by_place(const void *va, const void *vb)
{
    const struct placed *a = va, *b = vb;

    for (unsigned i = 0; i < NET_LEVELS_MAX; i++)
        if (a->pod[i] != b->pod[i])
            return a->pod[i] < b->pod[i] ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Renumber the leaves; what stands beside them moves along. */
static bool reorder(struct net_routes *r, const struct placed *p)
{
    uint32_t *weight = malloc((r->nx + 1) * sizeof(*weight));
    uint16_t *ncolumn =
        malloc(((size_t)r->nleaves * r->columns + 1) * sizeof(*ncolumn));
    uint32_t *to = malloc((r->nleaves + 1) * sizeof(*to));
    bool ok = weight && ncolumn && to;

    for (uint32_t l = 0; ok && l < r->nleaves; l++) {
        to[p[l].leaf] = l;
        r->leaf_x[l] = p[l].x;
        weight[l] = r->weight[p[l].leaf];
        memcpy(ncolumn + (size_t)l * r->columns,
               r->ncolumn + (size_t)p[l].leaf * r->columns,
               r->columns * sizeof(*ncolumn));
    }
    for (uint32_t n = 0; ok && n < r->net->nnodes; n++)
        if (r->leaf_of[n] != NET_NONE)
            r->leaf_of[n] = to[r->leaf_of[n]];
    if (ok) {
        free(r->weight);
        free(r->ncolumn);
        r->weight = weight;
        r->ncolumn = ncolumn;
    } else {
        free(weight);
        free(ncolumn);
    }
    free(to);
    return ok;
}

/* Pods of a level: what hangs together when the levels above are gone. */
static bool order_leaves(struct net_routes *r, uint32_t *up)
{
    struct placed *p = calloc(r->nleaves + 1, sizeof(*p));
    bool ok = p != NULL;

    for (uint32_t l = 0; ok && l < r->nleaves; l++) {
        p[l].leaf = l;
        p[l].x = r->leaf_x[l];
        p[l].rank = r->rank[p[l].x];
    }
    apart(r, up);
    for (unsigned level = 1; ok && level < r->clos.levels; level++) {
        join_level(r, up, level);
        for (uint32_t l = 0; l < r->nleaves; l++)
            p[l].pod[NET_LEVELS_MAX - level] = r->rank[root_of(up, p[l].x)];
    }
    if (ok) {
        qsort(p, r->nleaves, sizeof(*p), by_place);
        ok = reorder(r, p);
    }
    free(p);
    return ok;
}

/* ---- slots ------------------------------------------------------------- */

/* One cable upwards: the class it leads to and its place among those. */
struct climb {
    uint32_t group; /* the part of the net the class lies in, with level l */
    uint32_t class;
    uint32_t x;
    uint8_t ordinal;
    uint32_t slot; /* class's number within its group */
    unsigned nth;  /* cable of x to that class */
};

static int by_class(const void *va, const void *vb)
{
    const struct climb *a = va, *b = vb;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : 1;
}

static void number_climbs(struct climb *c, uint32_t n, unsigned *slots,
                          unsigned *parallel)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct climb *b = i ? &c[i - 1] : NULL;
        bool same_group = b && b->group == c[i].group;
        bool same_class = same_group && b->class == c[i].class;

        c[i].slot = !same_group ? 0 : b->slot + !same_class;
        c[i].nth = same_class && b->x == c[i].x ? b->nth + 1 : 0;
        if (c[i].slot + 1 > *slots)
            *slots = c[i].slot + 1;
        if (c[i].nth + 1 > *parallel)
            *parallel = c[i].nth + 1;
    }
}

/* All cables from `level` upwards, with their classes (`up`: the levels above
 * this one joined). */
static uint32_t climbs(const struct net_routes *r, uint32_t *up, unsigned level,
                       struct climb *c)
{
    uint32_t n = 0;

    for (uint32_t x = 0; x < r->nx; x++) {
        if (r->clos.level[x] != level)
            continue;
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
            if (r->edges[e].up)
                c[n++] = (struct climb){
                    .class = r->rank[root_of(up, r->edges[e].to)],
                    .x = x,
                    .ordinal = (uint8_t)(e - r->first[x])};
    }
    return n;
}

static bool fill_slots(struct net_routes *r, const struct climb *c, uint32_t n,
                       unsigned level, uint32_t *used)
{
    unsigned digits = r->clos.digits[level];
    uint8_t *grown;

    for (uint32_t x = 0; x < r->nx; x++)
        if (r->clos.level[x] == level) {
            r->clos.slots[x] = *used;
            *used += digits;
        }
    grown = realloc(r->clos.slot, *used + 1);
    if (!grown)
        return false;
    r->clos.slot = grown;
    for (uint32_t x = 0; x < r->nx; x++)
        if (r->clos.level[x] == level)
            memset(grown + r->clos.slots[x], NET_NO_EDGE, digits);
    for (uint32_t i = 0; i < n; i++)
        grown[r->clos.slots[c[i].x] + c[i].slot * r->clos.parallel[level] +
              c[i].nth] = c[i].ordinal;
    return true;
}

/* From the top down, so that the classes above each level are there. */
static bool number_slots(struct net_routes *r, uint32_t *up, bool *fits)
{
    struct climb *c = malloc((r->nedges + 1) * sizeof(*c));
    uint32_t used = 0;
    bool ok = c != NULL;

    apart(r, up);
    for (unsigned l = r->clos.levels; ok && --l > 0;) {
        uint32_t n = climbs(r, up, l, c);
        unsigned slots = 1, parallel = 1;

        join_level(r, up, l);
        for (uint32_t i = 0; i < n; i++)
            c[i].group = r->rank[root_of(up, c[i].x)];
        qsort(c, n, sizeof(*c), by_class);
        number_climbs(c, n, &slots, &parallel);
        r->clos.parallel[l] = parallel;
        r->clos.digits[l] = slots * parallel;
        if (slots * parallel > NET_SLOTS_MAX)
            *fits = false;
        ok = !*fits || fill_slots(r, c, n, l, &used);
    }
    free(c);
    return ok;
}

bool net_orient_clos(struct net_routes *r, bool *fits)
{
    uint32_t *up = malloc((r->nx + 1) * sizeof(*up));
    bool ok;

    r->clos.level = calloc(r->nx + 1, 1);
    r->clos.slots = calloc(r->nx + 1, sizeof(*r->clos.slots));
    ok = up && r->clos.level && r->clos.slots && net_index_edges(r);
    *fits = ok && r->nleaves && find_levels(r);
    if (*fits)
        ok = rank_levels(r) && net_index_edges(r) && order_leaves(r, up) &&
             number_slots(r, up, fits) && net_clos_find_below(r);
    r->is_clos = *fits;
    free(up);
    return ok;
}

unsigned net_clos_digit(const struct net_routes *r, uint32_t leaf,
                        unsigned column, unsigned level)
{
    uint64_t z = (uint64_t)leaf * r->columns + column;

    for (unsigned l = 1; l < level; l++)
        z /= r->clos.digits[l];
    return (unsigned)(z % r->clos.digits[level]);
}
