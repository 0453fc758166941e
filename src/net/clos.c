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
    r->phases = 1;
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
