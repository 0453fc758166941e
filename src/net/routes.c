/* SPDX-License-Identifier: BSD-3-Clause
 * Making routes: which engine, in which order.  See route.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/deadlock.h"
#include "net/pairs.h"
#include "net/route_impl.h"
#include "net/updown.h"

static const char *const engine_names[] = {"auto", "dmodk", "pairs", "updown",
                                           "gm2"};

const char *net_engine_name(enum net_engine engine)
{
    return engine_names[engine];
}

bool net_engine_parse(const char *name, enum net_engine *engine)
{
    for (unsigned i = 0; i < sizeof(engine_names) / sizeof(char *); i++)
        if (strcmp(name, engine_names[i]) == 0) {
            *engine = (enum net_engine)i;
            return true;
        }
    return false;
}

enum net_engine net_routes_engine(const struct net_routes *r)
{
    return r->engine;
}

static void free_survey(struct net_routes *r)
{
    void *all[] = {r->xnode,  r->xindex,  r->key,    r->order,   r->rank,
                   r->first,  r->edges,   r->leaf_x, r->leaf_of, r->column,
                   r->weight, r->ncolumn, r->load,   r->down,    r->any,
                   r->onward, r->passing, r->queue,  r->part,    r->ways,
                   r->nways,  r->seen,    r->looks};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

void net_routes_free(struct net_routes *r)
{
    int saved = errno;

    if (!r)
        return;
    free_survey(r);
    free(r->clos.level);
    free(r->clos.slots);
    free(r->clos.slot);
    free(r->clos.below);
    free(r->clos.live);
    net_rows_free(r);
    net_gm2_free(r->gm2);
    net_pairs_free(r->pairs);
    net_updown_free(r->updown);
    free(r);
    errno = saved;
}

/* ---- too long? ---------------------------------------------------------- */

uint32_t net_leaf_host(const struct net_routes *r, uint32_t leaf)
{
    const struct net *net = r->net;
    uint32_t n = 0;

    while (n < net->nnodes && (r->leaf_of[n] != leaf || !net_is_host(net, n)))
        n++;
    return n;
}

/* For the text. */
static const char *name_of(const struct net_routes *r, uint32_t leaf)
{
    return r->net->nodes[net_leaf_host(r, leaf)].name;
}

/* Note the ways to a leaf that are too long.  1: as net_check_leaf(). */
static int note_leaf(struct net_routes *r, uint32_t leaf)
{
    uint32_t part = r->part[r->leaf_x[leaf]];
    struct net_beyond *b = &r->beyond;
    int answer = 0;

    for (uint32_t s = 0; s < r->nleaves; s++) {
        uint32_t x = r->leaf_x[s];

        if (r->any[x] == NET_FAR && r->part[x] == part)
            answer = 1;
        if (r->any[x] == NET_FAR || r->any[x] + 1u <= r->hop_limit)
            continue;
        if (r->any[x] + 1u > b->hops) {
            b->hops = r->any[x] + 1u;
            b->from = net_leaf_host(r, s);
            b->to = net_leaf_host(r, leaf);
        }
        b->pairs += (uint64_t)r->weight[s] * r->weight[leaf];
    }
    return answer;
}

int net_check_leaf(const struct net_routes *r, uint32_t leaf,
                   struct errbuf *err)
{
    uint32_t part = r->part[r->leaf_x[leaf]];
    int answer = 0;

    for (uint32_t s = 0; s < r->nleaves; s++) {
        uint32_t x = r->leaf_x[s];

        if (r->any[x] == NET_FAR && r->part[x] == part)
            answer = 1;
        if (r->any[x] != NET_FAR && r->any[x] + 1u > r->hop_limit)
            return errprintf(err,
                             "the route from %s to %s takes %u hops, the "
                             "limit is %u",
                             name_of(r, s), name_of(r, leaf), r->any[x] + 1u,
                             r->hop_limit);
    }
    return answer;
}

/* ---- engines ------------------------------------------------------------ */

static int no_memory(struct errbuf *err)
{
    return errprintf(err, "out of memory for the routes");
}

/* Which trees do the digits not give whole?  Those get rows. */
static int find_open(struct net_routes *r, uint8_t *open)
{
    bool bad[NET_LEVELS_MAX + 1][NET_SLOTS_MAX];
    int rc = 0;

    for (uint32_t l = 0; l < r->nleaves && rc == 0; l++) {
        bool alike = net_leaves_alike(r, l);

        net_distances(r, l);
        rc = note_leaf(r, l);
        if (!alike)
            net_clos_find_bad(r, bad);
        for (unsigned c = 0; c < r->columns && rc == 0; c++)
            for (unsigned level = 1; level < r->clos.levels; level++)
                if (bad[level][net_clos_digit(r, l, c, level)])
                    open[(size_t)l * r->columns + c] = 1;
    }
    return rc;
}

/* Trees that the digits leave open wait until the others have their load. */
static int fill_open(struct net_routes *r, const uint8_t *open,
                     struct errbuf *err)
{
    for (uint32_t l = 0; l < r->nleaves; l++) {
        if (!memchr(open + (size_t)l * r->columns, 1, r->columns))
            continue;
        net_distances(r, l);
        for (unsigned c = 0; c < r->columns; c++) {
            if (!open[(size_t)l * r->columns + c])
                continue;
            if (net_tree_own(r, l, c, err) < 0)
                return -1;
            net_tree_open(r, l, c);
            net_tree_fill(r, l, c);
        }
    }
    return 0;
}

static int route_digits(struct net_routes *r, struct errbuf *err)
{
    size_t trees = (size_t)r->nleaves * r->columns;
    uint8_t *open = calloc(trees + 1, 1);
    int rc = open ? find_open(r, open) : no_memory(err);

    if (rc == 0 && !net_clos_pour(r, open))
        rc = no_memory(err);
    if (rc == 0 && memchr(open, 1, trees))
        rc = fill_open(r, open, err) < 0 ? -1 : net_relieve(r, err);
    free(open);
    return rc;
}

/* Whether a way could be too long.  1: some leaves have none. */
static int note_leaves(struct net_routes *r)
{
    int rc = 0;

    for (uint32_t l = 0; l < r->nleaves && rc == 0; l++) {
        net_distances(r, l);
        rc = note_leaf(r, l);
    }
    return rc;
}

/* A host's own routes are computed when they are asked for. */
static int route_updown(struct net_routes *r, struct errbuf *err)
{
    /* Every way to the centre and down from there is one. */
    if (2 * r->depth + 1 > r->hop_limit)
        note_leaves(r);
    r->updown = net_updown_new(r);
    return r->updown ? 0 : no_memory(err);
}

/* The same. */
static int route_gm2(struct net_routes *r, struct errbuf *err)
{
    int rc = note_leaves(r);

    if (rc)
        return rc;
    r->gm2 = net_gm2_new(r);
    return r->gm2 ? 0 : no_memory(err);
}

static int find_parts(struct net_routes *r, struct errbuf *err)
{
    uint32_t *dist = malloc((r->nx + 1) * sizeof(*dist));

    if (!dist)
        return no_memory(err);
    net_find_parts(r, dist);
    free(dist);
    return 0;
}

/* 1: as a Clos it does not work. */
static int try_clos(struct net_routes *r, struct errbuf *err)
{
    bool fits;

    if (!net_orient_clos(r, &fits))
        return no_memory(err);
    if (!fits)
        return 1;
    if (find_parts(r, err) < 0)
        return -1;
    if (r->engine == NET_GM2)
        return route_gm2(r, err);
    r->engine = NET_DMODK;
    return net_rows_new(r, err) < 0 ? -1 : route_digits(r, err);
}

static int use_tree(struct net_routes *r, struct errbuf *err)
{
    net_rows_free(r);
    r->beyond = (struct net_beyond){.limit = r->hop_limit};
    memset(r->load, 0, r->net->nports * sizeof(*r->load));
    if (!net_orient_tree(r))
        return no_memory(err);
    if (find_parts(r, err) < 0)
        return -1;
    if (r->engine == NET_GM2)
        return route_gm2(r, err);
    if (r->engine != NET_UPDOWN) {
        r->engine = NET_PAIRS;
        r->pairs = net_pairs_new(r);
        return r->pairs ? 0 : no_memory(err);
    }
    return route_updown(r, err);
}

static int compute(struct net_routes *r, struct errbuf *err)
{
    enum net_engine wanted = r->engine;
    int rc = 1;

    if (!net_survey(r))
        return no_memory(err);
    if (wanted != NET_UPDOWN && wanted != NET_PAIRS)
        rc = try_clos(r, err);
    if (rc <= 0)
        return rc;
    if (wanted == NET_DMODK)
        return errprintf(err, "engine dmodk: the net is not a folded Clos");
    r->engine = wanted;
    return use_tree(r, err);
}

/* Of NET_GM2 and NET_UPDOWN every host has routes of its own, which nobody else
 * knows: what is proved is that nothing which goes up, then down can
 * deadlock. */
static int prove(struct net_routes *r, struct errbuf *err)
{
    int rc = r->gm2 || r->updown ? net_turns_deadlock(r, err)
                                 : net_routes_deadlock(r, err);

    if (rc > 0)
        errno = EDEADLK;
    /* As net_cdg_add_routes() does. */
    r->turns_proved = rc == 0 && r->rows && r->nrows < r->nleaves * r->columns;
    return rc == 0 ? 0 : -1;
}

struct net_routes *net_routes_bare(const struct net *net)
{
    struct net_routes *r = calloc(1, sizeof(*r));

    if (r)
        r->net = net;
    return r;
}

struct net_routes *net_routes_new(const struct net *net,
                                  const struct net_route_params *params,
                                  struct errbuf *err)
{
    struct net_routes *r = net_routes_bare(net);

    if (!r) {
        no_memory(err);
        return NULL;
    }
    r->engine = r->asked = params->engine;
    r->alternatives =
        params->alternatives ? params->alternatives : NET_ALTERNATIVES_DEFAULT;
    r->hop_limit = params->hop_limit ? params->hop_limit : NET_HOPS_DEFAULT;
    r->seed = params->seed;
    r->beyond.limit = r->hop_limit;
    if (r->hop_limit > NET_ROUTE_MAX ||
        r->alternatives > NET_ALTERNATIVES_MAX) {
        errprintf(err,
                  "at most %d hops and %d routes per host can be asked "
                  "for",
                  NET_ROUTE_MAX, NET_ALTERNATIVES_MAX);
        errno = EINVAL;
        net_routes_free(r);
        return NULL;
    }
    errno = 0;
    if (compute(r, err) < 0 || prove(r, err) < 0) {
        if (errno != ENOMEM && errno != EDEADLK)
            errno = EINVAL;
        net_routes_free(r);
        return NULL;
    }
    return r;
}

void net_routes_beyond(const struct net_routes *r, struct net_beyond *b)
{
    *b = r->beyond;
}

const uint32_t *net_routes_loads(const struct net_routes *r)
{
    return r->gm2 || r->updown || (r->pairs && !r->pairs->kept) ? NULL
                                                                : r->load;
}
