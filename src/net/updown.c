/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shortest ways up, then down: see updown.h.
 *
 * A state is 2 * x + phase: NET_ANY while the way from the source has only
 * gone up, NET_DOWN from its first step down.  All of it in integers, so that
 * all machines come to the same.
 */
#include "net/updown.h"

#include <stdlib.h>
#include <string.h>

#include "net/index.h"

/* Leaves that stand for all others where loads are estimated. */
#define SAMPLE 64
/* How often weights are changed; not more once the worst is as near to what
 * no routes can beat. */
#define PASSES 40
#define NEAR_IDEAL 1.02
#define WEIGHT_MAX (1u << 24)
/* Sums of weights per distance; parts of a host pair in flows. */
#define MASS_MAX (1ull << 22)
#define FLOW_BITS 6

struct net_updown {
    const struct net_routes *r;
    uint32_t *back;   /* per edge: the other direction of its cable */
    uint32_t *weight; /* per edge */
    uint8_t *columns; /* per leaf, also when its hosts have gone since */

    /* The search of one source. */
    uint32_t source; /* leaf; NET_NONE: nobody's */
    uint16_t *dist;  /* per state; NET_FAR */
    uint64_t *mass;  /* per state: weights of all ways to it; only those of
                        states at the same distance compare */
    uint32_t *queue, nqueue;

    /* While loads are estimated. */
    uint64_t *flow;        /* per state */
    uint64_t *load, *most; /* per edge: of all sources; of one of them */
    uint32_t *best;        /* per edge: the best weights yet */
};

/* ---- the search of one source ------------------------------------------- */

static void reach(struct net_updown *u, uint32_t from, uint32_t e)
{
    const struct net_edge *edge = &u->r->edges[e];
    uint32_t to = 2 * edge->to + (edge->up ? NET_ANY : NET_DOWN);

    if (edge->dead || (edge->up && from % 2 == NET_DOWN))
        return;
    if (u->dist[to] == NET_FAR) {
        u->dist[to] = u->dist[from] + 1;
        u->mass[to] = 0;
        u->queue[u->nqueue++] = to;
    }
    if (u->dist[to] == u->dist[from] + 1)
        u->mass[to] += u->mass[from] * u->weight[e] / WEIGHT_MAX;
}

/* Masses of states at one distance, that none grows or vanishes. */
static void level_masses(struct net_updown *u, uint32_t from, uint32_t upto)
{
    uint64_t most = 1;

    for (uint32_t i = from; i < upto; i++)
        if (u->mass[u->queue[i]] > most)
            most = u->mass[u->queue[i]];
    for (uint32_t i = from; i < upto; i++) {
        uint64_t *mass = &u->mass[u->queue[i]];

        *mass = *mass * MASS_MAX / most;
        *mass += *mass == 0;
    }
}

static void search(struct net_updown *u, uint32_t leaf)
{
    const struct net_routes *r = u->r;
    uint32_t n = 0, start = 2 * r->leaf_x[leaf] + NET_ANY;

    memset(u->dist, 0xff, 2 * (size_t)r->nx * sizeof(*u->dist));
    u->source = leaf;
    u->dist[start] = 0;
    u->mass[start] = MASS_MAX;
    u->queue[0] = start;
    u->nqueue = 1;
    while (n < u->nqueue) {
        uint32_t upto = u->nqueue;

        level_masses(u, n, upto);
        for (; n < upto && u->dist[u->queue[n]] < NET_FAR - 1; n++) {
            uint32_t x = u->queue[n] / 2;

            for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
                reach(u, u->queue[n], e);
            *r->looks += r->first[x + 1] - r->first[x];
        }
    }
}

/* ---- back from a destination -------------------------------------------- */

/* Where a way comes from: a state, and by which edge (NET_NONE at its end). */
struct origin {
    uint32_t state, edge;
    uint64_t mass;
};

#define ORIGINS_MAX (2 * SF_NET_XBAR_PORTS_MAX)

/* The one or two states in which the shortest ways end at x. */
static unsigned ends_at(const struct net_updown *u, uint32_t x,
                        struct origin *o)
{
    uint16_t any = u->dist[2 * x + NET_ANY], down = u->dist[2 * x + NET_DOWN];
    unsigned n = 0;

    if (any != NET_FAR && any <= down)
        o[n++] = (struct origin){2 * x + NET_ANY, NET_NONE,
                                 u->mass[2 * x + NET_ANY]};
    if (down != NET_FAR && down <= any)
        o[n++] = (struct origin){2 * x + NET_DOWN, NET_NONE,
                                 u->mass[2 * x + NET_DOWN]};
    return n;
}

static unsigned add_origin(const struct net_updown *u, uint32_t state,
                           uint32_t from, uint32_t edge, struct origin *o)
{
    if (u->dist[from] == NET_FAR || u->dist[from] + 1u != u->dist[state])
        return 0;
    *o = (struct origin){from, edge,
                         u->mass[from] * u->weight[edge] / WEIGHT_MAX};
    o->mass += o->mass == 0;
    return 1;
}

static unsigned origins_of(struct net_updown *u, uint32_t state,
                           struct origin *o)
{
    const struct net_routes *r = u->r;
    uint32_t x = state / 2;
    unsigned n = 0;

    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
        const struct net_edge *edge = &r->edges[e];
        bool climbs = !edge->up; /* from there to x */

        if (edge->dead || climbs != (state % 2 == NET_ANY))
            continue;
        n += add_origin(u, state, 2 * edge->to + NET_ANY, u->back[e], o + n);
        if (!climbs)
            n += add_origin(u, state, 2 * edge->to + NET_DOWN, u->back[e],
                            o + n);
    }
    *r->looks += r->first[x + 1] - r->first[x];
    return n;
}

static uint64_t sum_of(const struct origin *o, unsigned n)
{
    uint64_t sum = 0;

    while (n > 0)
        sum += o[--n].mass;
    return sum;
}

/* The origin whose part of the line the point is in; the point becomes its
 * place in this part. */
static const struct origin *choose(const struct origin *o, unsigned n,
                                   uint32_t *point)
{
    uint64_t sum = sum_of(o, n), at = sum * *point, before = 0;
    unsigned i = 0;

    while (i + 1 < n && (before + o[i].mass) << 32 <= at)
        before += o[i++].mass;
    at = (at - (before << 32)) / o[i].mass;
    *point = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
    return &o[i];
}

/* ---- one way ------------------------------------------------------------- */

/* The place on the line of two hosts, and of their other routes. */
static uint32_t point_of(const struct net_updown *u, uint32_t src, uint32_t dst,
                         unsigned variant)
{
    const struct net_routes *r = u->r;
    uint32_t s = r->leaf_of[src], d = r->leaf_of[dst];
    uint64_t from = u->columns[s], to = u->columns[d];
    uint64_t pair = r->column[src] * to + r->column[dst];
    uint64_t first = net_hash_id(r->key[r->leaf_x[s]] * 31 +
                                 net_hash_id(r->key[r->leaf_x[d]]));

    return (uint32_t)(first + (pair << 32) / (from * to) +
                      ((uint64_t)variant << 32) / NET_UPDOWN_VARIANTS);
}

int net_updown_walk(struct net_updown *u, uint32_t src, uint32_t dst,
                    unsigned variant, uint32_t *ports, unsigned max)
{
    const struct net_routes *r = u->r;
    uint32_t s = r->leaf_of[src], d = r->leaf_of[dst], point, state;
    struct origin o[ORIGINS_MAX];
    unsigned n, hops;

    if (s == d)
        return 0;
    if (u->source != s)
        search(u, s);
    n = ends_at(u, r->leaf_x[d], o);
    if (n == 0 || u->dist[o[0].state] > max)
        return -1;
    point = point_of(u, src, dst, variant);
    state = choose(o, n, &point)->state;
    hops = u->dist[state];
    for (unsigned i = hops; i-- > 0;) {
        const struct origin *from;

        n = origins_of(u, state, o);
        from = choose(o, n, &point);
        state = from->state;
        ports[i] = net_edge_port(r, state / 2, &r->edges[from->edge]);
    }
    return (int)hops;
}

/* ---- loads, as estimated ------------------------------------------------- */

/* What comes to a state is shared among its origins. */
static void share(struct net_updown *u, const struct origin *o, unsigned n,
                  uint64_t flow)
{
    uint64_t sum = sum_of(o, n);

    for (unsigned i = 0; i < n; i++) {
        uint64_t part = flow * o[i].mass / sum;

        u->flow[o[i].state] += part;
        if (o[i].edge != NET_NONE)
            u->load[o[i].edge] += part;
    }
}

/* From one source to all; its loads alone. */
static void flow_from(struct net_updown *u, uint32_t s)
{
    const struct net_routes *r = u->r;
    struct origin o[ORIGINS_MAX];

    search(u, s);
    memset(u->flow, 0, 2 * (size_t)r->nx * sizeof(*u->flow));
    memset(u->load, 0, r->nedges * sizeof(*u->load));
    for (uint32_t d = 0; d < r->nleaves; d++) {
        unsigned n = d == s ? 0 : ends_at(u, r->leaf_x[d], o);

        if (n > 0)
            share(u, o, n,
                  ((uint64_t)r->weight[s] * r->weight[d]) << FLOW_BITS);
    }
    for (uint32_t i = u->nqueue; i-- > 1;) {
        uint32_t state = u->queue[i];

        if (u->flow[state])
            share(u, o, origins_of(u, state, o), u->flow[state]);
    }
}

/* Loads of all pairs.  What most of it comes from one source of the sample
 * counts once, the rest for all those that were not looked at. */
static uint64_t estimate(struct net_updown *u, uint64_t *all)
{
    const struct net_routes *r = u->r;
    uint32_t sample = r->nleaves < SAMPLE ? r->nleaves : SAMPLE;
    uint64_t worst = 0;

    memset(all, 0, r->nedges * sizeof(*all));
    memset(u->most, 0, r->nedges * sizeof(*u->most));
    for (uint32_t i = 0; i < sample; i++) {
        flow_from(u, (uint32_t)((uint64_t)r->nleaves * i / sample));
        for (uint32_t e = 0; e < r->nedges; e++) {
            all[e] += u->load[e];
            if (u->load[e] > u->most[e])
                u->most[e] = u->load[e];
        }
    }
    for (uint32_t e = 0; e < r->nedges; e++) {
        if (r->nleaves > sample)
            all[e] = u->most[e] +
                     (all[e] - u->most[e]) * (r->nleaves - 1) / (sample - 1);
        if (all[e] > worst)
            worst = all[e];
    }
    return worst;
}

/* By up to a third, a smaller part in later passes, the more the nearer to the
 * worst load. */
static void lower_weights(struct net_updown *u, const uint64_t *all,
                          uint64_t worst, unsigned pass)
{
    for (uint32_t e = 0; e < u->r->nedges; e++) {
        uint64_t part = all[e] * 256 / worst, steep = part * part / 256;

        steep = steep * steep / 256;
        u->weight[e] -=
            (uint32_t)((uint64_t)u->weight[e] * steep / 256 / (3 + pass / 4));
        u->weight[e] += u->weight[e] < 256;
    }
}

static bool choose_weights(struct net_updown *u)
{
    size_t size = u->r->nedges * sizeof(*u->weight);
    uint64_t *all = malloc((u->r->nedges + 1) * sizeof(*all));
    double ideal = net_ideal_load(u->r->net) * (1 << FLOW_BITS);
    uint64_t least = UINT64_MAX, worst;

    for (unsigned pass = 0; all && pass < PASSES; pass++) {
        worst = estimate(u, all);
        if (worst < least) {
            least = worst;
            memcpy(u->best, u->weight, size);
        }
        if (worst == 0 || (double)least <= ideal * NEAR_IDEAL)
            break;
        lower_weights(u, all, worst, pass);
    }
    memcpy(u->weight, u->best, size);
    net_updown_forget(u);
    free(all);
    return all != NULL;
}

/* ---- new ----------------------------------------------------------------- */

static bool allocate(struct net_updown *u)
{
    size_t states = 2 * (size_t)u->r->nx + 1, edges = u->r->nedges + 1;

    return (u->back = malloc(edges * sizeof(*u->back))) &&
           (u->columns = malloc(u->r->nleaves + 1)) &&
           (u->weight = malloc(edges * sizeof(*u->weight))) &&
           (u->best = malloc(edges * sizeof(*u->best))) &&
           (u->load = malloc(edges * sizeof(*u->load))) &&
           (u->most = malloc(edges * sizeof(*u->most))) &&
           (u->dist = malloc(states * sizeof(*u->dist))) &&
           (u->mass = malloc(states * sizeof(*u->mass))) &&
           (u->flow = malloc(states * sizeof(*u->flow))) &&
           (u->queue = malloc(states * sizeof(*u->queue)));
}

struct net_updown *net_updown_new(const struct net_routes *r)
{
    struct net_updown *u = calloc(1, sizeof(*u));

    if (!u)
        return NULL;
    u->r = r;
    if (!allocate(u)) {
        net_updown_free(u);
        return NULL;
    }
    for (uint32_t e = 0; e < r->nedges; e++) {
        u->back[e] = net_edge_by_port(r, r->edges[e].to, r->edges[e].peer);
        u->weight[e] = u->best[e] = WEIGHT_MAX;
    }
    for (uint32_t l = 0; l < r->nleaves; l++)
        u->columns[l] =
            (uint8_t)(r->weight[l] < r->columns ? r->weight[l] : r->columns);
    if (!choose_weights(u)) {
        net_updown_free(u);
        return NULL;
    }
    return u;
}

void net_updown_free(struct net_updown *u)
{
    if (!u)
        return;
    free(u->back);
    free(u->columns);
    free(u->weight);
    free(u->best);
    free(u->load);
    free(u->most);
    free(u->dist);
    free(u->mass);
    free(u->flow);
    free(u->queue);
    free(u);
}

void net_updown_forget(struct net_updown *u)
{
    u->source = NET_NONE;
}
