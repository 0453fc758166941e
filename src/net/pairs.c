/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A way for each pair of leaves: see pairs.h.
 */
#include "net/pairs.h"

#include <stdlib.h>
#include <string.h>

/* Turns looked at in all: a second or so.  More than that, and only a sample
 * of the leaves is laid beforehand. */
#define PAIRS_WORK 60000000
/* Of a look at a turn that nobody asked for, which is much less work: all of
 * them with 2 048 hosts, some seconds. */
#define PAIRS_REST (32ull * PAIRS_WORK)
#define PAIRS_BYTES (128u << 20)
#define PASSES 8
#define TRIES 24 /* sets of turns */
#define SAMPLE_MIN 16
#define SEARCHES 4 /* for a source that is laid when it is asked for */
#define FINE_MAX 16
#define VARIANTS_MAX 16

/* Costs.  While turns are found: a cable's own, and as much again at the
 * highest load.  Afterwards: STEEP octaves from no load to the highest. */
#define COST_CABLE 1024
#define COST_WORST (1u << 20)
#define STEEP 43
#define OCTAVES_ABOVE 8

/* Repairs: ways that are laid between two looks at the loads; times that ways
 * over cables which bear more than an eighth above the worst are laid again. */
#define MEND_AT_ONCE 4
#define MEND_PASSES 8

/* ---- hosts and variants ---------------------------------------------------
 */

unsigned net_pairs_variant(const struct net_pairs *p, uint32_t src,
                           uint32_t dst)
{
    unsigned a = p->r->column[src], b = p->r->column[dst];

    return p->fine ? a * p->r->columns + b : (a + b) % p->variants;
}

/* Host pairs that take a variant first. */
static uint64_t weight(const struct net_pairs *p, uint32_t s, uint32_t d,
                       unsigned variant)
{
    const uint16_t *from = p->hosts + (size_t)s * p->classes;
    const uint16_t *to = p->hosts + (size_t)d * p->classes;
    uint64_t sum = 0;

    if (p->fine)
        return (uint64_t)from[variant / p->classes] * to[variant % p->classes];
    for (unsigned a = 0; a < p->classes; a++)
        sum += (uint64_t)from[a] * to[(variant + p->classes - a) % p->classes];
    return sum;
}

static void choose_variants(struct net_pairs *p)
{
    const struct net_routes *r = p->r;
    uint64_t ways = (uint64_t)r->nleaves * r->nleaves * p->stride;

    p->fine = r->columns * r->columns <= FINE_MAX &&
              ways * r->columns * r->columns <= PAIRS_BYTES;
    if (p->fine) {
        p->variants = r->columns * r->columns;
        p->classes = r->columns;
        return;
    }
    p->variants = r->columns < VARIANTS_MAX ? r->columns : VARIANTS_MAX;
    while (p->variants > 1 && p->kept && ways * p->variants > PAIRS_BYTES)
        p->variants /= 2;
    p->classes = p->variants;
}

static void class_hosts(struct net_pairs *p)
{
    const struct net_routes *r = p->r;

    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++)
            p->hosts[(size_t)l * p->classes + c % p->classes] +=
                r->ncolumn[(size_t)l * r->columns + c];
}

/* ---- new ------------------------------------------------------------------
 */

static bool allocate(struct net_pairs *p)
{
    const struct net_routes *r = p->r;
    size_t n = r->nedges + 1, leaves = r->nleaves + 1;
    size_t rows = (p->kept ? r->nleaves : 1) * (size_t)r->nleaves;

    return (p->hosts = calloc(leaves * p->classes, sizeof(*p->hosts))) &&
           (p->ways = malloc(rows * p->variants * p->stride + 1)) &&
           (p->load = calloc(n, sizeof(*p->load))) &&
           (p->own = calloc(n, sizeof(*p->own))) &&
           (p->cost = malloc(n * sizeof(*p->cost))) &&
           (p->via = malloc(n * sizeof(*p->via))) &&
           (p->best = malloc((r->nx + 1) * sizeof(*p->best))) &&
           (p->dist = malloc(n * sizeof(*p->dist))) &&
           (p->hops = malloc(n * sizeof(*p->hops))) &&
           (p->heap = malloc((n + 1) * sizeof(*p->heap))) &&
           (p->place = malloc(n * sizeof(*p->place))) &&
           (p->items = malloc(leaves * p->variants * sizeof(*p->items))) &&
           (p->again = malloc(leaves * p->variants * sizeof(*p->again)));
}

void net_pairs_free(struct net_pairs *p)
{
    if (!p)
        return;
    net_turns_free(p->t);
    free(p->hosts);
    free(p->ways);
    free(p->load);
    free(p->own);
    free(p->cost);
    free(p->via);
    free(p->best);
    free(p->dist);
    free(p->hops);
    free(p->heap);
    free(p->place);
    free(p->items);
    free(p->again);
    free(p);
}

/* ---- one search -----------------------------------------------------------
 */

static void rise(struct net_pairs *p, uint32_t i)
{
    uint32_t e = p->heap[i];

    for (; i > 1 && p->dist[p->heap[i / 2]] > p->dist[e]; i /= 2) {
        p->heap[i] = p->heap[i / 2];
        p->place[p->heap[i]] = i;
    }
    p->heap[i] = e;
    p->place[e] = i;
}

static uint32_t take_nearest(struct net_pairs *p)
{
    uint32_t nearest = p->heap[1], e = p->heap[p->nheap--], i = 1;

    p->place[nearest] = 0;
    if (p->nheap == 0)
        return nearest;
    for (;;) {
        uint32_t c = 2 * i;

        if (c > p->nheap)
            break;
        c += c < p->nheap && p->dist[p->heap[c + 1]] < p->dist[p->heap[c]];
        if (p->dist[p->heap[c]] >= p->dist[e])
            break;
        p->heap[i] = p->heap[c];
        p->place[p->heap[i]] = i;
        i = c;
    }
    p->heap[i] = e;
    p->place[e] = i;
    return nearest;
}

static void relax(struct net_pairs *p, uint32_t e, uint32_t via, uint64_t dist,
                  unsigned hops)
{
    if (dist >= p->dist[e])
        return;
    p->dist[e] = dist;
    p->via[e] = via;
    p->hops[e] = (uint16_t)hops;
    if (!p->place[e])
        p->heap[p->place[e] = ++p->nheap] = e;
    rise(p, p->place[e]);
}

/* The cheapest way to each crossbar, of at most so many channels: best[] is
 * its last one.  `open`: also over turns that nobody has asked for. */
static void search(struct net_pairs *p, uint32_t from, unsigned limit,
                   bool open)
{
    const struct net_routes *r = p->r;

    memset(p->dist, 0xff, r->nedges * sizeof(*p->dist));
    memset(p->place, 0, r->nedges * sizeof(*p->place));
    memset(p->best, 0xff, r->nx * sizeof(*p->best));
    p->nheap = 0;
    for (uint32_t e = r->first[from]; e < r->first[from + 1]; e++)
        if (!r->edges[e].dead)
            relax(p, e, NET_NONE, p->cost[e], 1);
    while (p->nheap > 0) {
        uint32_t e = take_nearest(p), x = r->edges[e].to;
        const uint8_t *turn = p->t->state + p->t->base[e];

        if (p->best[x] == NET_NONE)
            p->best[x] = e;
        if (p->hops[e] >= limit)
            continue;
        for (uint32_t f = r->first[x]; f < r->first[x + 1]; f++, turn++)
            if (!r->edges[f].dead &&
                (*turn == NET_TURN_ALLOWED || (open && *turn == NET_TURN_OPEN)))
                relax(p, f, e, p->dist[e] + p->cost[f], p->hops[e] + 1u);
        p->work += r->first[x + 1] - r->first[x];
    }
    p->best[from] = NET_NONE;
}

static void cost_alike(struct net_pairs *p)
{
    for (uint32_t e = 0; e < p->r->nedges; e++)
        p->cost[e] = 1;
}

static uint64_t highest(const struct net_pairs *p, const uint64_t *load)
{
    uint64_t most = 0;

    for (uint32_t e = 0; e < p->r->nedges; e++)
        if (load[e] > most)
            most = load[e];
    return most;
}

static void cost_gently(struct net_pairs *p)
{
    uint64_t most = highest(p, p->load);

    for (uint32_t e = 0; e < p->r->nedges; e++)
        p->cost[e] = COST_CABLE +
                     (most ? (uint32_t)(p->load[e] * COST_CABLE / most) : 0);
}

/* Half for each STEEP-th part of the highest load that is not there. */
static uint32_t steep(uint64_t load, uint64_t most)
{
    int64_t part = ((int64_t)most - (int64_t)load) * STEEP * 256 /
                   (int64_t)(most ? most : 1);
    uint64_t cost = COST_WORST;

    if (part < 0) {
        part = -part;
        if (part > OCTAVES_ABOVE * 256)
            part = OCTAVES_ABOVE * 256;
        cost = (cost << (part >> 8)) * (256 + (part & 255)) / 256;
    } else {
        cost = (part >> 8) > 40 ? 0 : cost >> (part >> 8);
        cost = cost * (512 - (part & 255)) / 512;
    }
    return COST_CABLE + (uint32_t)cost;
}

/* `more`: what is about to be added. */
static void cost_steeply(struct net_pairs *p, const uint64_t *load,
                         uint64_t most, uint64_t more)
{
    for (uint32_t e = 0; e < p->r->nedges; e++)
        p->cost[e] = steep(load[e] + more, most);
}

/* ---- ways -----------------------------------------------------------------
 */

static uint8_t *row_of(const struct net_pairs *p, uint32_t s)
{
    return p->ways +
           (p->kept ? (size_t)s * p->r->nleaves * p->variants * p->stride : 0);
}

static uint8_t *way_of(const struct net_pairs *p, uint32_t s, uint32_t d,
                       unsigned variant)
{
    return row_of(p, s) + ((size_t)d * p->variants + variant) * p->stride;
}

/* The way that the search found.  False: none. */
static bool write_way(struct net_pairs *p, uint32_t d, uint8_t *way)
{
    const struct net_routes *r = p->r;
    uint32_t e = p->best[r->leaf_x[d]];
    unsigned n;

    way[0] = NET_NO_EDGE;
    if (e == NET_NONE)
        return false;
    n = p->hops[e];
    way[n] = NET_NO_EDGE;
    for (; e != NET_NONE; e = p->via[e])
        way[--n] = (uint8_t)(e - r->first[p->t->from[e]]);
    return true;
}

static void add_load(const struct net_pairs *p, uint64_t *load, uint32_t s,
                     const uint8_t *way, uint64_t hosts)
{
    const struct net_routes *r = p->r;
    uint32_t x = r->leaf_x[s];

    for (; *way != NET_NO_EDGE; way++) {
        load[r->first[x] + *way] += hosts;
        x = r->edges[r->first[x] + *way].to;
    }
}

/* Numbers 0 .. n-1 but those of the source's own leaf, in any order. */
static uint32_t shuffle_items(struct net_pairs *p, uint32_t s, unsigned each)
{
    uint32_t n = 0;

    for (uint32_t d = 0; d < p->r->nleaves; d++)
        for (unsigned v = 0; v < each && d != s; v++) {
            uint32_t j = net_rng_below(&p->rng, ++n);

            p->items[n - 1] = p->items[j];
            p->items[j] = d * each + v;
        }
    return n;
}

/* ---- turns ----------------------------------------------------------------
 */

/* Allow all turns of the way to a leaf. */
static bool allow_way(struct net_pairs *p, uint32_t d)
{
    uint32_t e = p->best[p->r->leaf_x[d]];

    for (; e != NET_NONE && p->via[e] != NET_NONE; e = p->via[e])
        if (!net_turns_allow(p->t, p->via[e], e))
            return false;
    return true;
}

/* Lay the way to a leaf; all variants are the same as yet. */
static void lay_first(struct net_pairs *p, uint32_t s, uint32_t d, uint8_t *way)
{
    uint64_t hosts = (uint64_t)p->r->weight[s] * p->r->weight[d];

    if (write_way(p, d, way))
        add_load(p, p->load, s, way, hosts);
    else if (p->r->part[p->r->leaf_x[s]] == p->r->part[p->r->leaf_x[d]])
        p->missing += hosts;
    for (unsigned v = 1; v < p->variants && p->kept; v++)
        memcpy(way + (size_t)v * p->stride, way, p->stride);
}

/* To n leaves, with what is allowed on the way; all those to which a turn was
 * refused are looked at again. */
static void find_turns(struct net_pairs *p, uint32_t s, const uint32_t *to,
                       uint32_t n)
{
    const struct net_routes *r = p->r;
    bool alike = false;

    memcpy(p->again, to, n * sizeof(*to));
    cost_gently(p);
    while (n > 0) {
        bool refused = false;
        uint32_t left = 0;

        search(p, r->leaf_x[s], r->hop_limit - 1, true);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t d = p->again[i], x = r->leaf_x[d];
            bool none =
                p->best[x] == NET_NONE && r->part[x] == r->part[r->leaf_x[s]];
            bool allowed = allow_way(p, d);

            refused |= !allowed;
            if (!allowed || (none && !alike))
                p->again[left++] = d;
            else
                lay_first(p, s, d, p->kept ? way_of(p, s, d, 0) : p->ways);
        }
        /* Too long where costs lead: the shortest will do. */
        if (!refused && left > 0) {
            cost_alike(p);
            alike = true;
        }
        n = left;
    }
}

/* The i-th share of the destinations of one source. */
static void find_turns_of(struct net_pairs *p, uint32_t s, unsigned i,
                          unsigned searches)
{
    uint32_t n, from, upto;

    p->rng.state = p->seed << 32 | s;
    n = shuffle_items(p, s, 1);
    from = (uint32_t)((uint64_t)n * i / searches);
    upto = (uint32_t)((uint64_t)n * (i + 1) / searches);
    if (upto > from)
        find_turns(p, s, p->items + from, upto - from);
}

/* ---- laying anew ----------------------------------------------------------
 */

/* Some items of a source, over turns that are allowed.  scale: how much more
 * its hosts count. */
static void lay(struct net_pairs *p, uint64_t *load, uint32_t s,
                const uint32_t *items, uint32_t n, uint64_t scale)
{
    const struct net_routes *r = p->r;
    bool missing = false;

    search(p, r->leaf_x[s], r->hop_limit - 1, false);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = items[i] / p->variants;
        uint8_t *way = row_of(p, s) + (size_t)items[i] * p->stride;

        if (write_way(p, d, way))
            add_load(p, load, s, way,
                     scale * weight(p, s, d, items[i] % p->variants));
        else
            missing |= r->part[r->leaf_x[d]] == r->part[r->leaf_x[s]];
    }
    if (!missing)
        return;
    cost_alike(p);
    search(p, r->leaf_x[s], r->hop_limit - 1, false);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = items[i] / p->variants;
        uint8_t *way = row_of(p, s) + (size_t)items[i] * p->stride;

        if (way[0] == NET_NO_EDGE && write_way(p, d, way))
            add_load(p, load, s, way,
                     scale * weight(p, s, d, items[i] % p->variants));
    }
}

static void lay_again(struct net_pairs *p, uint32_t s, unsigned searches)
{
    uint32_t n = shuffle_items(p, s, p->variants), done = 0;

    for (unsigned i = 1; i <= searches; i++) {
        uint32_t upto = (uint32_t)((uint64_t)n * i / searches);
        uint64_t most = highest(p, p->load), hosts = 0;

        for (uint32_t k = done; k < upto; k++) {
            uint32_t d = p->items[k] / p->variants;

            hosts = weight(p, s, d, p->items[k] % p->variants);
            add_load(p, p->load, s,
                     row_of(p, s) + (size_t)p->items[k] * p->stride, -hosts);
        }
        cost_steeply(p, p->load, most, hosts);
        if (upto > done)
            lay(p, p->load, s, p->items + done, upto - done, 1);
        done = upto;
    }
}

/* Passes over all leaves; the best of them stays.  False: out of memory. */
static bool even_out(struct net_pairs *p, unsigned searches)
{
    const struct net_routes *r = p->r;
    size_t size = (size_t)r->nleaves * r->nleaves * p->variants * p->stride;
    size_t loads = r->nedges * sizeof(*p->load);
    uint8_t *ways = malloc(size + 1);
    uint64_t *load = malloc(loads + 1), worst = UINT64_MAX;

    for (unsigned pass = 0; ways && load && pass <= PASSES; pass++) {
        for (uint32_t s = 0; pass > 0 && s < r->nleaves; s++)
            lay_again(p, s, searches * p->variants);
        if (highest(p, p->load) >= worst)
            continue;
        worst = highest(p, p->load);
        memcpy(ways, p->ways, size);
        memcpy(load, p->load, loads);
    }
    if (ways && load) {
        memcpy(p->ways, ways, size);
        memcpy(p->load, load, loads);
    }
    free(ways);
    free(load);
    return ways && load;
}

/* ---- a sample -------------------------------------------------------------
 */

/* Loads of a sample, as if of all leaves. */
static void lay_sample(struct net_pairs *p, const uint32_t *sample, uint32_t n)
{
    const struct net_routes *r = p->r;

    memset(p->load, 0, r->nedges * sizeof(*p->load));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t items = shuffle_items(p, sample[i], p->variants);

        cost_steeply(p, p->load, highest(p, p->load), 0);
        lay(p, p->load, sample[i], p->items, items, 1);
    }
    for (uint32_t e = 0; e < r->nedges; e++)
        p->load[e] = p->load[e] * r->nleaves / (n ? n : 1);
}

/* Loads alone would send all sources the same way: each sees them a little
 * differently, and its own hosts count as if all did as they do. */
static void lay_source(struct net_pairs *p, uint32_t s)
{
    const struct net_routes *r = p->r;
    uint64_t most = highest(p, p->load);
    uint32_t n, done = 0;

    p->rng.state = r->key[r->leaf_x[s]];
    n = shuffle_items(p, s, p->variants);
    memset(row_of(p, s), NET_NO_EDGE,
           (size_t)r->nleaves * p->variants * p->stride);
    memset(p->own, 0, r->nedges * sizeof(*p->own));
    for (unsigned i = 1; i <= SEARCHES; i++) {
        uint32_t upto = (uint32_t)((uint64_t)n * i / SEARCHES);

        for (uint32_t e = 0; e < r->nedges; e++)
            p->cost[e] = (uint32_t)((uint64_t)steep(
                                        p->load[e] / 2 + p->own[e] / 2, most) *
                                    (4 + net_rng_below(&p->rng, 5)) / 4);
        if (upto > done)
            lay(p, p->own, s, p->items + done, upto - done, r->nleaves);
        done = upto;
    }
    p->source = s;
}

/* ---- all ------------------------------------------------------------------
 */

/* Ways from a leaf that are longer than the limit. */
static void note_source(struct net_pairs *p, struct net_routes *r, uint32_t s)
{
    struct net_beyond *b = &r->beyond;

    cost_alike(p);
    search(p, r->leaf_x[s], NET_FAR, false);
    for (uint32_t d = 0; d < r->nleaves; d++) {
        uint32_t e = p->best[r->leaf_x[d]];
        unsigned hops = e == NET_NONE ? 0 : p->hops[e] + 1u;

        if (hops <= r->hop_limit)
            continue;
        b->pairs += (uint64_t)r->weight[s] * r->weight[d];
        if (hops > b->hops) {
            b->hops = hops;
            b->from = net_leaf_host(r, s);
            b->to = net_leaf_host(r, d);
        }
    }
}

/* Leaves in any order. */
static void shuffle_leaves(struct net_pairs *p, uint32_t *leaf)
{
    p->rng.state = p->seed;
    for (uint32_t i = 0; i < p->r->nleaves; i++) {
        uint32_t j = net_rng_below(&p->rng, i + 1);

        leaf[i] = leaf[j];
        leaf[j] = i;
    }
}

static uint64_t turns_of(const struct net_routes *r)
{
    uint64_t n = 0;

    for (uint32_t e = 0; e < r->nedges; e++)
        n += r->first[r->edges[e].to + 1] - r->first[r->edges[e].to];
    return n;
}

/* How many searches from each leaf the work allows; none: for a sample only,
 * of *sample leaves. */
static unsigned plan(const struct net_pairs *p, uint32_t *sample)
{
    const struct net_routes *r = p->r;
    uint64_t one = turns_of(r) + 1, all = one * r->nleaves;
    uint64_t searches = PAIRS_WORK / (PASSES + 1) / (all ? all : 1);

    *sample = r->nleaves;
    if (searches > 0 &&
        (uint64_t)r->nleaves * r->nleaves * p->stride <= PAIRS_BYTES)
        return searches < r->nleaves ? (unsigned)searches : r->nleaves;
    if (PAIRS_WORK / 2 / one < *sample)
        *sample = (uint32_t)(PAIRS_WORK / 2 / one);
    if (*sample < SAMPLE_MIN)
        *sample = r->nleaves < SAMPLE_MIN ? r->nleaves : SAMPLE_MIN;
    return 0;
}

/* One set of turns, and how bad it is: how many pairs have no way within the
 * limit, and what the most loaded cable bears.  False: out of memory. */
static bool try_turns(struct net_pairs *p, uint32_t *leaf, unsigned searches,
                      uint32_t sample, uint64_t *worst)
{
    p->t = net_turns_new(p->r);
    if (!p->t)
        return false;
    memset(p->load, 0, p->r->nedges * sizeof(*p->load));
    p->missing = 0;
    net_turns_allow_tree(p->t);
    shuffle_leaves(p, leaf);
    for (unsigned k = 0; k < searches; k++)
        for (uint32_t i = 0; i < sample; i++)
            find_turns_of(p, leaf[i], k, searches);
    *worst = highest(p, p->load) + (p->missing << 32);
    return true;
}

/* The best of some sets.  False: out of memory. */
static bool choose_turns(struct net_pairs *p, uint32_t *leaf, unsigned searches,
                         uint32_t sample)
{
    uint64_t best = 0, seed = 0, worst;
    unsigned n = 0;

    do {
        net_turns_free(p->t);
        p->seed = n;
        if (!try_turns(p, leaf, searches, sample, &worst))
            return false;
        if (n == 0 || worst < best) {
            best = worst;
            seed = p->seed;
        }
    } while (p->kept && ++n < TRIES && p->work < PAIRS_WORK);
    if (seed == p->seed)
        return true;
    net_turns_free(p->t);
    p->seed = seed;
    return try_turns(p, leaf, searches, sample, &worst);
}

static bool lay_all(struct net_pairs *p, struct net_routes *r,
                    unsigned searches, uint32_t sample)
{
    uint32_t *leaf = malloc((r->nleaves + 1) * sizeof(*leaf));
    bool ok = leaf && choose_turns(p, leaf, searches ? searches : 1, sample);

    if (ok) {
        net_turns_allow_rest(p->t, PAIRS_REST);
        for (uint32_t i = 0; i < sample; i++)
            note_source(p, r, leaf[i]);
        if (p->kept)
            ok = even_out(p, searches);
        else
            lay_sample(p, leaf, sample);
    }
    free(leaf);
    return ok;
}

/* Per global port. */
static void keep_loads(const struct net_pairs *p, uint32_t *load)
{
    const struct net_routes *r = p->r;

    for (uint32_t e = 0; e < r->nedges; e++)
        load[net_edge_port(r, p->t->from[e], &r->edges[e])] =
            (uint32_t)p->load[e];
}

struct net_pairs *net_pairs_new(struct net_routes *r)
{
    struct net_pairs *p = calloc(1, sizeof(*p));
    unsigned searches;
    uint32_t sample;
    bool ok;

    if (!p)
        return NULL;
    p->r = r;
    p->stride = r->hop_limit;
    p->source = NET_NONE;
    searches = plan(p, &sample);
    p->kept = searches > 0;
    choose_variants(p);
    ok = allocate(p);
    if (ok) {
        memset(p->ways, NET_NO_EDGE,
               (p->kept ? r->nleaves : 1) * (size_t)r->nleaves * p->variants *
                   p->stride);
        class_hosts(p);
        ok = lay_all(p, r, searches, sample);
    }
    if (!ok) {
        net_pairs_free(p);
        return NULL;
    }
    if (p->kept) {
        keep_loads(p, r->load);
        p->worst = highest(p, p->load);
    }
    return p;
}

/* ---- after cables are gone ------------------------------------------------
 */

/* Does a way go over a cable that is gone, or over one that bears more than
 * `limit`? */
static bool must_go(const struct net_pairs *p, uint32_t s, const uint8_t *way,
                    uint64_t limit)
{
    const struct net_routes *r = p->r;
    uint32_t x = r->leaf_x[s];

    for (; *way != NET_NO_EDGE; way++) {
        uint32_t e = r->first[x] + *way;

        if (r->edges[e].dead || p->load[e] > limit)
            return true;
        x = r->edges[e].to;
    }
    return false;
}

/* The ways of a source that must go are laid anew, all others stay.  False:
 * somebody who had a way has none. */
static bool mend_source(struct net_pairs *p, uint32_t s, uint64_t limit,
                        struct net_repair *what)
{
    uint32_t all = p->r->nleaves * p->variants, n = 0;

    for (uint32_t i = 0; i < all; i++) {
        uint8_t *way = row_of(p, s) + (size_t)i * p->stride;
        uint64_t hosts = weight(p, s, i / p->variants, i % p->variants);

        if (i / p->variants == s || !must_go(p, s, way, limit))
            continue;
        add_load(p, p->load, s, way, -hosts);
        way[0] = NET_NO_EDGE;
        what->routes += hosts;
        p->items[n++] = i;
    }
    if (n == 0)
        return true;
    what->hosts += p->r->weight[s];
    for (uint32_t i = 0; i < n; i += MEND_AT_ONCE) {
        cost_steeply(p, p->load, highest(p, p->load), 0);
        lay(p, p->load, s, p->items + i,
            n - i < MEND_AT_ONCE ? n - i : MEND_AT_ONCE, 1);
    }
    for (uint32_t i = 0; i < n; i++)
        if (row_of(p, s)[(size_t)p->items[i] * p->stride] == NET_NO_EDGE)
            return false;
    return true;
}

/* Where ways are laid when they are asked for: is there one from each of some
 * leaves to all that it can reach at all? */
static bool sample_reaches(struct net_pairs *p)
{
    const struct net_routes *r = p->r;

    cost_alike(p);
    for (uint32_t i = 0; i < SAMPLE_MIN && i < r->nleaves; i++) {
        uint32_t s = (uint32_t)((uint64_t)r->nleaves * i / SAMPLE_MIN);

        search(p, r->leaf_x[s], r->hop_limit - 1, false);
        for (uint32_t d = 0; d < r->nleaves; d++)
            if (d != s && p->best[r->leaf_x[d]] == NET_NONE &&
                r->part[r->leaf_x[d]] == r->part[r->leaf_x[s]])
                return false;
    }
    return true;
}

bool net_pairs_repair(struct net_pairs *p, uint32_t *load,
                      struct net_repair *what)
{
    const struct net_routes *r = p->r;

    if (!p->kept) {
        p->source = NET_NONE;
        return sample_reaches(p);
    }
    for (unsigned pass = 0; pass <= MEND_PASSES; pass++) {
        uint64_t limit = pass == 0 ? UINT64_MAX : p->worst * 9 / 8;

        if (pass > 0 && highest(p, p->load) <= limit)
            break;
        for (uint32_t s = 0; s < r->nleaves; s++)
            if (!mend_source(p, s, limit, what))
                return false;
    }
    keep_loads(p, load);
    return highest(p, p->load) * 2 <= p->worst * 3;
}

int net_pairs_walk(struct net_pairs *p, uint32_t from, uint32_t leaf,
                   unsigned variant, uint32_t *ports, unsigned max)
{
    const struct net_routes *r = p->r;
    uint32_t x = r->leaf_x[from];
    const uint8_t *way;
    unsigned n = 0;

    if (from == leaf)
        return 0;
    if (!p->kept && p->source != from)
        lay_source(p, from);
    way = way_of(p, from, leaf, variant);
    if (*way == NET_NO_EDGE)
        return -1;
    for (; *way != NET_NO_EDGE; way++) {
        const struct net_edge *e = net_edge_at(r, x, *way);

        if (n == max)
            return -1;
        ports[n++] = net_edge_port(r, x, e);
        x = e->to;
    }
    return (int)n;
}
