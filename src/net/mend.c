/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repair the trees of a folded Clos, place by place, after it lost one cable.
 *
 * A tree that used the cable changes at a few places only, and in a large net
 * there is no time to look at every crossbar of every such tree.  Which places
 * change follows from *turns*.  The turn of a crossbar towards a leaf is the
 * lowest level at which a way up from the crossbar can turn down to the leaf;
 * the higher the turn, the longer the way.  The leaves that can be reached with
 * each turn are bit sets, so that all leaves are handled at once:
 *
 *   upwards    trees to leaves that are not below the cable: where another
 *              cable upwards has an equally low turn, only the place at the
 *              cable's lower end is open;
 *   downwards  trees to leaves below the cable: the open places are crossbars
 *              whose turn has changed, and their neighbours that lead to them.
 *
 * An open place gets the least loaded of the shortest ways, as in tree.c, and
 * loads change only for what came through open places.  Where a leaf crossbar's
 * own turn has changed, its ways are longer or gone; such trees are left to be
 * repaired as a whole.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "net/mend.h"
#include "net/route_impl.h"

/* ---- turns --------------------------------------------------------------- */

/* The leaves that crossbars reach with a turn at or below a level. */
struct turns {
    const struct net_routes *r;
    unsigned from, words; /* the words of leaves that are considered */
    uint32_t *at;         /* per x: its index in `set`, or NET_NONE */
    uint64_t *set;        /* [x][level][word] */
};

static uint64_t *turns_set(const struct turns *t, uint32_t x, unsigned level)
{
    return t->set +
           ((size_t)t->at[x] * t->r->clos.levels + level - 1) * t->words;
}

static void turns_free(struct turns *t)
{
    free(t->at);
    free(t->set);
}

/* Add what lies below x to all levels from x's own upwards. */
static void turns_begin(struct turns *t, uint32_t x, const uint64_t *below)
{
    const struct net_routes *r = t->r;

    for (unsigned l = r->clos.level[x]; l && l <= r->clos.levels; l++)
        memcpy(turns_set(t, x, l), below + (size_t)x * r->clos.words + t->from,
               t->words * sizeof(*below));
}

static void turns_join(struct turns *t, uint32_t x)
{
    const struct net_routes *r = t->r;

    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
        const struct net_edge *edge = &r->edges[e];

        if (!edge->up)
            break; /* up edges come first */
        if (edge->dead)
            continue;
        for (unsigned l = r->clos.level[x] + 1; l <= r->clos.levels; l++) {
            uint64_t *to = turns_set(t, x, l);
            const uint64_t *from = turns_set(t, edge->to, l);

            for (unsigned w = 0; w < t->words; w++)
                to[w] |= from[w];
        }
    }
}

/* Compute the sets of the crossbars that are marked in `at`. */
static bool turns_find(struct turns *t, const uint64_t *below)
{
    const struct net_routes *r = t->r;
    uint32_t n = 0;

    for (uint32_t x = 0; x < r->nx; x++)
        if (t->at[x] != NET_NONE)
            t->at[x] = n++;
    t->set = calloc((size_t)n * r->clos.levels + 1,
                    (t->words + 1) * sizeof(*t->set));
    if (!t->set)
        return false;
    for (uint32_t i = r->nx; i-- > 0;) {
        uint32_t x = r->order[i];

        if (t->at[x] == NET_NONE)
            continue;
        turns_begin(t, x, below);
        if (r->clos.level[x])
            turns_join(t, x);
    }
    return true;
}

static bool turns_new(struct turns *t, const struct net_routes *r, bool all)
{
    *t = (struct turns){.r = r, .words = r->clos.words};
    t->at = malloc((r->nx + 1) * sizeof(*t->at));
    if (t->at)
        memset(t->at, all ? 0 : 0xff, r->nx * sizeof(*t->at));
    return t->at != NULL;
}

/* Mark x, what lies above it, and what lay above it through the lost cable. */
static void turns_mark_above(struct turns *t, uint32_t x)
{
    const struct net_routes *r = t->r;

    t->at[x] = 0;
    for (uint32_t i = r->rank[x]; i < r->nx; i++) {
        uint32_t at = r->order[i];

        for (uint32_t e = r->first[at];
             t->at[at] != NET_NONE && e < r->first[at + 1] && r->edges[e].up;
             e++)
            t->at[r->edges[e].to] = 0;
    }
}

/* Level of the lowest turn from x to the leaf; 0 if there is no way. */
static unsigned turn_level(const struct turns *t, uint32_t x, uint32_t leaf)
{
    unsigned w = leaf / 64 - t->from;

    for (unsigned l = t->r->clos.level[x]; l && l <= t->r->clos.levels; l++)
        if (turns_set(t, x, l)[w] >> leaf % 64 & 1)
            return l;
    return 0;
}

/* ---- what lies below, over the cables that are left ---------------------- */

static void see_below(const struct net_routes *r, uint64_t *below, uint32_t x,
                      uint64_t *now)
{
    memset(now, 0, r->clos.words * sizeof(*now));
    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
        const uint64_t *from = below + (size_t)r->edges[e].to * r->clos.words;

        for (unsigned w = 0;
             !r->edges[e].up && !r->edges[e].dead && w < r->clos.words; w++)
            now[w] |= from[w];
    }
}

/* Allocate clos.live at the first loss; until then it equals clos.below. */
static bool find_live(struct net_routes *r)
{
    size_t size = (size_t)r->nx * r->clos.words * sizeof(*r->clos.live);

    if (r->clos.live)
        return true;
    r->clos.live = malloc(size + 1);
    if (!r->clos.live)
        return false;
    memcpy(r->clos.live, r->clos.below, size);
    return true;
}

/* Update clos.live after x lost a cable downwards. */
static bool lose_below(struct net_routes *r, uint32_t x)
{
    size_t size = r->clos.words * sizeof(*r->clos.live);
    uint64_t *now = malloc(size + 1);
    uint8_t *dirty = calloc(r->nx + 1, 1);
    bool ok = now && dirty;

    if (ok)
        dirty[x] = 1;
    for (uint32_t i = r->rank[x]; ok && i < r->nx; i++) {
        uint32_t at = r->order[i];
        uint64_t *was = r->clos.live + (size_t)at * r->clos.words;

        if (!dirty[at])
            continue;
        see_below(r, r->clos.live, at, now);
        if (memcmp(was, now, size) == 0)
            continue;
        memcpy(was, now, size);
        for (uint32_t e = r->first[at]; e < r->first[at + 1] && r->edges[e].up;
             e++)
            dirty[r->edges[e].to] = 1;
    }
    free(now);
    free(dirty);
    return ok;
}

/* ---- open places --------------------------------------------------------- */

struct place {
    uint64_t tree;
    uint32_t rank;
};

struct mend {
    struct net_routes *r;
    uint8_t *whole;             /* per tree: not to be done place by place */
    struct turns up;            /* of crossbars above the cable */
    struct turns before, after; /* of all, towards leaves below the cable */
    uint32_t low, high;         /* ends of the cable */
    unsigned ordinal_up, ordinal_down;
    struct place *open;
    size_t nopen, room;
    struct net_upstream from; /* x whose way passes through open places */
    uint32_t *opened; /* per x: equal to from.round if open in this tree */
    bool failed;      /* out of memory */
};

static void open_place(struct mend *m, uint32_t leaf, unsigned column,
                       uint32_t x)
{
    if (m->nopen == m->room) {
        size_t room = m->room ? 2 * m->room : 4096;
        struct place *more = realloc(m->open, room * sizeof(*more));

        if (!more) {
            m->failed = true;
            return;
        }
        m->open = more;
        m->room = room;
    }
    m->open[m->nopen++] =
        (struct place){(uint64_t)leaf * m->r->columns + column, m->r->rank[x]};
}

/* Leave all trees of a leaf to be repaired as a whole. */
static void leave_to_others(struct mend *m, uint32_t leaf)
{
    memset(m->whole + (size_t)leaf * m->r->columns, 1, m->r->columns);
}

static bool is_below(const struct net_routes *r, const uint64_t *below,
                     uint32_t x, uint32_t leaf)
{
    return below[(size_t)x * r->clos.words + leaf / 64] >> leaf % 64 & 1;
}

/* Trees that lead up through the cable. */
static void open_upwards(struct mend *m)
{
    const struct net_routes *r = m->r;
    unsigned level = r->clos.level[m->low];

    for (uint32_t l = 0; l < r->nleaves; l++) {
        unsigned was = 0, is = NET_LEVELS_MAX + 1;

        if (is_below(r, r->clos.live, m->low, l))
            continue;
        for (unsigned c = 0; c < r->columns; c++) {
            if (!net_tree_uses(r, l, c, m->low, m->ordinal_up))
                continue;
            if (is > NET_LEVELS_MAX) {
                was = turn_level(&m->up, m->high, l);
                is = turn_level(&m->up, m->low, l);
            }
            if (is == was && is > level)
                open_place(m, l, c, m->low);
            else
                leave_to_others(m, l);
        }
    }
}

/* Open x, and the neighbours that lead to it. */
static void open_around(struct mend *m, uint32_t leaf, uint32_t x)
{
    const struct net_routes *r = m->r;

    for (unsigned c = 0; c < r->columns; c++)
        open_place(m, leaf, c, x);
    for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++) {
        uint32_t w = r->edges[i].to;
        unsigned back = r->edges[i].peer;

        for (unsigned c = 0; c < r->columns; c++) {
            unsigned step = net_tree_step(r, leaf, c, w);

            if (step != NET_NO_EDGE && net_edge_at(r, w, step)->port == back)
                open_place(m, leaf, c, w);
        }
    }
}

/* The leaves of one word towards which x's turn has changed. */
static uint64_t other_turns(const struct mend *m, uint32_t x, unsigned w)
{
    uint64_t diff = 0;

    for (unsigned l = m->r->clos.level[x]; l && l <= m->r->clos.levels; l++)
        diff |= turns_set(&m->before, x, l)[w] ^ turns_set(&m->after, x, l)[w];
    return diff;
}

static void open_changed(struct mend *m, uint32_t x, unsigned w)
{
    const struct net_routes *r = m->r;
    uint64_t diff = other_turns(m, x, w);

    for (; diff; diff &= diff - 1) {
        uint32_t leaf =
            (m->after.from + w) * 64 + (unsigned)__builtin_ctzll(diff);

        if (r->leaf_of[r->xnode[x]] != NET_NONE)
            leave_to_others(m, leaf);
        else if (!m->whole[(size_t)leaf * r->columns])
            open_around(m, leaf, x);
    }
}

/* Trees that lead down through the cable, wherever they come from. */
static void open_downwards(struct mend *m)
{
    const struct net_routes *r = m->r;

    for (uint32_t x = 0; x < r->nx; x++)
        for (unsigned w = 0; w < m->after.words; w++)
            open_changed(m, x, w);
    for (uint32_t l = m->after.from * 64;
         l < r->nleaves && l < (m->after.from + m->after.words) * 64; l++)
        for (unsigned c = 0; c < r->columns; c++)
            if (is_below(r, r->clos.below, m->low, l) &&
                net_tree_uses(r, l, c, m->high, m->ordinal_down))
                open_place(m, l, c, m->high);
}

/* ---- one tree ------------------------------------------------------------ */

struct tree {
    uint32_t leaf;
    unsigned column;
    const struct turns *turns;
};

static const struct net_edge *edge_of(const struct mend *m,
                                      const struct tree *t, uint32_t x)
{
    unsigned step = net_tree_step(m->r, t->leaf, t->column, x);

    return step == NET_NO_EDGE ? NULL : net_edge_at(m->r, x, step);
}

/* Find every crossbar whose way passes through an open place. */
static void find_sources(struct mend *m, const struct tree *t,
                         const struct place *open, size_t n)
{
    const struct net_routes *r = m->r;

    net_upstream_begin(&m->from);
    for (size_t i = 0; i < n; i++) {
        m->opened[r->order[open[i].rank]] = m->from.round;
        net_upstream_add(&m->from, r->order[open[i].rank]);
    }
    net_upstream_find(&m->from, r, t->leaf, t->column);
}

/* Routes to this tree's hosts that begin at x. */
static uint32_t hosts_at(const struct mend *m, const struct tree *t, uint32_t x)
{
    const struct net_routes *r = m->r;
    uint32_t leaf = r->leaf_of[r->xnode[x]];

    return leaf == NET_NONE
               ? 0
               : r->weight[leaf] *
                     r->ncolumn[(size_t)t->leaf * r->columns + t->column];
}

static void add_load(struct mend *m, const struct tree *t, uint32_t x,
                     uint32_t hosts)
{
    const struct net_edge *e;

    while (hosts && (e = edge_of(m, t, x))) {
        m->r->load[net_edge_port(m->r, x, e)] += hosts;
        x = e->to;
    }
}

/* Load of the most loaded cable from x on. */
static uint32_t worst_on(const struct mend *m, const struct tree *t, uint32_t x)
{
    const struct net_edge *e;
    uint32_t worst = 0;

    while ((e = edge_of(m, t, x))) {
        uint32_t load = m->r->load[net_edge_port(m->r, x, e)];

        if (load > worst)
            worst = load;
        x = e->to;
    }
    return worst;
}

/* Does a shortest way from x, with this turn, begin with this edge? */
static bool leads_there(const struct mend *m, const struct tree *t, uint32_t x,
                        unsigned turn, const struct net_edge *e)
{
    const struct net_routes *r = m->r;

    if (e->dead || (bool)e->up != (turn > r->clos.level[x]))
        return false;
    return e->up ? turn_level(t->turns, e->to, t->leaf) == turn
                 : is_below(r, r->clos.live, e->to, t->leaf);
}

/* As choose() in tree.c: the way whose most loaded cable has the least load. */
static uint8_t best_way(const struct mend *m, const struct tree *t, uint32_t x,
                        unsigned turn)
{
    const struct net_routes *r = m->r;
    unsigned n = r->first[x + 1] - r->first[x];
    uint32_t worst = 0, own = 0;
    uint8_t best = NET_NO_EDGE;

    for (unsigned k = 0; turn && k < n; k++) {
        unsigned i = (t->leaf + t->column + x + k) % n;
        const struct net_edge *e = net_edge_at(r, x, i);
        uint32_t load = r->load[net_edge_port(r, x, e)], on;

        if ((best != NET_NO_EDGE && load > worst) ||
            !leads_there(m, t, x, turn, e))
            continue;
        on = worst_on(m, t, e->to);
        if (on < load)
            on = load;
        if (best == NET_NO_EDGE || on < worst || (on == worst && load < own)) {
            best = (uint8_t)i;
            worst = on;
            own = load;
        }
    }
    return best;
}

static void close_place(struct mend *m, const struct tree *t, uint32_t x,
                        bool downwards)
{
    unsigned turn = turn_level(t->turns, x, t->leaf);

    if ((turn == m->r->clos.level[x]) != downwards)
        return;
    if (!net_tree_set(m->r, t->leaf, t->column, x, best_way(m, t, x, turn)))
        m->failed = true;
}

static int higher_first(const void *va, const void *vb, void *arg)
{
    const uint32_t *rank = ((const struct net_routes *)arg)->rank;
    const uint32_t *a = va, *b = vb;

    return rank[*a] > rank[*b] ? -1 : rank[*a] < rank[*b];
}

/* Downwards the lower crossbars are decided first, upwards the higher ones; the
 * leaves come last. */
static void mend_tree(struct mend *m, const struct tree *t,
                      const struct place *open, size_t n)
{
    struct net_routes *r = m->r;

    find_sources(m, t, open, n);
    for (uint32_t i = 0; i < m->from.n; i++)
        add_load(m, t, m->from.x[i], -hosts_at(m, t, m->from.x[i]));
    for (size_t i = 0; i < n; i++)
        close_place(m, t, r->order[open[i].rank], true);
    qsort_r(m->from.x, m->from.n, sizeof(*m->from.x), higher_first, r);
    for (uint32_t i = 0; i < m->from.n; i++) {
        uint32_t x = m->from.x[i];

        if (m->opened[x] == m->from.round)
            close_place(m, t, x, false);
        add_load(m, t, x, hosts_at(m, t, x));
    }
}

/* ---- all trees ----------------------------------------------------------- */

static int by_tree(const void *va, const void *vb)
{
    const struct place *a = va, *b = vb;

    if (a->tree != b->tree)
        return a->tree < b->tree ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void drop_twins(struct mend *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nopen; i++)
        if (n == 0 || by_tree(&m->open[n - 1], &m->open[i]) != 0)
            m->open[n++] = m->open[i];
    m->nopen = n;
}

static void mend_trees(struct mend *m)
{
    const struct net_routes *r = m->r;

    qsort(m->open, m->nopen, sizeof(*m->open), by_tree);
    drop_twins(m);
    for (size_t i = 0, n; i < m->nopen && !m->failed; i += n) {
        uint64_t tree = m->open[i].tree;
        struct tree t = {.leaf = (uint32_t)(tree / r->columns),
                         .column = (unsigned)(tree % r->columns)};

        t.turns =
            is_below(r, r->clos.below, m->low, t.leaf) ? &m->after : &m->up;
        for (n = 1; i + n < m->nopen && m->open[i + n].tree == tree;)
            n++;
        if (!m->whole[tree])
            mend_tree(m, &t, m->open + i, n);
    }
}

/* Restrict t to the words that hold leaves below the cable. */
static void limit_words(struct turns *t, uint32_t low)
{
    const struct net_routes *r = t->r;
    const uint64_t *below = r->clos.below + (size_t)low * r->clos.words;
    unsigned to = r->clos.words;

    while (t->from < to && !below[t->from])
        t->from++;
    while (to > t->from && !below[to - 1])
        to--;
    t->words = to - t->from;
}

static bool begin(struct mend *m)
{
    struct net_routes *r = m->r;

    if (!find_live(r) || !turns_new(&m->up, r, false) ||
        !turns_new(&m->before, r, true) || !turns_new(&m->after, r, true) ||
        !net_upstream_new(&m->from, r))
        return false;
    m->opened = calloc(r->nx + 1, sizeof(*m->opened));
    limit_words(&m->before, m->low);
    limit_words(&m->after, m->low);
    turns_mark_above(&m->up, m->low);
    return m->opened && turns_find(&m->before, r->clos.live);
}

static void end(struct mend *m)
{
    turns_free(&m->up);
    turns_free(&m->before);
    turns_free(&m->after);
    free(m->open);
    net_upstream_free(&m->from);
    free(m->opened);
}

static bool lose(struct mend *m, struct net_edge *up, struct net_edge *down)
{
    struct net_routes *r = m->r;

    up->dead = down->dead = 1;
    net_distances_forget(r);
    if (!lose_below(r, m->high) || !turns_find(&m->up, r->clos.live) ||
        !turns_find(&m->after, r->clos.live))
        return false;
    open_upwards(m);
    open_downwards(m);
    if (!m->failed)
        mend_trees(m);
    return !m->failed;
}

bool net_mend_cable(struct net_routes *r, uint32_t a, uint32_t b,
                    uint8_t *whole)
{
    struct mend m = {.r = r, .whole = whole};
    uint32_t xa = r->xindex[r->net->ports[a].node];
    uint32_t xb = r->xindex[r->net->ports[b].node];
    bool up = r->rank[xb] > r->rank[xa], ok;
    uint32_t eu, ed;

    m.low = up ? xa : xb;
    m.high = up ? xb : xa;
    eu = net_edge_by_port(r, m.low, net_port_number(r->net, up ? a : b));
    ed = net_edge_by_port(r, m.high, net_port_number(r->net, up ? b : a));
    m.ordinal_up = eu - r->first[m.low];
    m.ordinal_down = ed - r->first[m.high];
    ok = r->edges[eu].dead ||
         (begin(&m) && lose(&m, &r->edges[eu], &r->edges[ed]));
    end(&m);
    return ok;
}
