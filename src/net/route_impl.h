/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the routing engines (src/net only): see route.h for the idea.
 *
 * Crossbars are numbered 0 .. nx-1 in node order ("x" below), leaves in an
 * order of their own ("leaf"); an edge is one end of a cable between two
 * crossbars, with an ordinal within its crossbar.  Every crossbar has a rank;
 * an edge is up when it leads to a higher rank.  Ranks are distinct, so up
 * edges can make no cycle.
 */
#ifndef SF_NET_ROUTE_IMPL_H
#define SF_NET_ROUTE_IMPL_H

#include "net/route.h"

#define NET_FAR UINT16_MAX /* distance: no way */
#define NET_NO_EDGE 255    /* ordinal: none */
#define NET_COLUMNS_MAX 32
#define NET_LEVELS_MAX 8
#define NET_SLOTS_MAX 255 /* cables upwards of one crossbar */

struct net_edge {
    uint32_t to;  /* x at the other end */
    uint8_t port; /* leaves by */
    uint8_t peer; /* enters by */
    uint8_t up;
    uint8_t dead; /* taken out since */
};

/* What a folded Clos adds: see clos.c. */
struct net_clos_shape {
    unsigned levels;
    unsigned digits[NET_LEVELS_MAX + 1];   /* cables upwards at a level */
    unsigned parallel[NET_LEVELS_MAX + 1]; /* of them to one crossbar */
    uint8_t *level;                        /* per x, 1 is a leaf */
    uint32_t *slots; /* per x: where its part of `slot` begins */
    uint8_t *slot;   /* digit -> edge ordinal or NET_NO_EDGE */
    uint64_t *below; /* per x: a bit for each leaf below it, or that it is */
    uint64_t *live;  /* the same of the cables that are left; NULL: all are */
    unsigned words;  /* of below, per x */
};

/* Where a tree without a row leads elsewhere than the digits say. */
struct net_patch {
    uint32_t n, room;
    struct net_patched {
        uint32_t x;
        uint8_t ordinal;
    } at[]; /* by x */
};

/* A place of a tree, and where it led before it was turned. */
struct net_turned {
    uint64_t tree;
    uint32_t x, nth; /* nth: of all that were turned */
    uint8_t was;
};

/* The places that a repair has turned; one may be there more than once. */
struct net_turned_places {
    struct net_turned *at;
    uint32_t n, room;
};

/* Crossbars whose way in a tree comes by the first ones of them. */
struct net_upstream {
    uint32_t *x; /* each behind the one that it leads to */
    uint32_t n;
    uint32_t *seen, round; /* per x: equal to `round` if it is in x[] */
};

struct net_routes {
    const struct net *net;
    enum net_engine engine, asked; /* asked: may be NET_AUTO */
    unsigned alternatives, hop_limit;
    uint64_t seed;
    struct net_beyond beyond;

    uint32_t nx, nleaves, nedges;
    unsigned columns; /* per leaf */
    bool is_clos;     /* oriented as one: a way downwards is a shortest */
    unsigned depth;   /* of net_orient_tree(): cables from any crossbar to its
                       * centre */

    uint32_t *xnode;  /* x -> node */
    uint32_t *xindex; /* node -> x (crossbar) or NET_NONE */
    uint64_t *key;    /* per x: what ties are broken by */
    uint32_t *order;  /* x by ascending rank */
    uint32_t *rank;   /* per x */
    uint32_t *first;  /* per x and one more: its edges */
    struct net_edge *edges;
    uint32_t *leaf_x;  /* leaf -> x */
    uint32_t *leaf_of; /* node -> leaf (hosts and leaves) or NET_NONE */
    uint8_t *column;   /* per node: a host's */
    uint32_t *weight;  /* per leaf: hosts */
    uint16_t *ncolumn; /* per leaf and column: hosts */
    struct net_clos_shape clos;

    struct net_gm2 *gm2;       /* engine NET_GM2 only; has no trees */
    struct net_pairs *pairs;   /* engine NET_PAIRS only; has no trees */
    struct net_updown *updown; /* engine NET_UPDOWN only; has no trees */

    uint8_t **rows; /* per tree (leaf, column): [x] edge ordinal; NULL: as the
                     * digits say (clos.c) */
    struct net_patch **patches; /* per tree; NULL: none */
    uint32_t nrows;             /* with memory of their own */
    uint32_t *load;  /* per global port: host pairs that leave by it */
    uint64_t *looks; /* edges looked at so far: work, on any machine */

    /* Scratch for one destination leaf: shortest ways from each x, only
     * down, and up then down. */
    uint32_t there; /* whose distances these are; NET_NONE: nobody's */
    uint16_t *down, *any;
    /* Edges that begin a shortest way, per x: as many as `nways`, from first[x]
     * on; good while `seen` says the present round. */
    uint8_t *ways, *nways;
    uint32_t *seen, round;
    uint32_t *onward;  /* per x: the most loaded cable on the tree's way */
    uint32_t *passing; /* per x: hosts whose way passes it */
    struct net_turned_places *turned; /* NULL: no repair runs */
    bool turns_proved; /* a search found no cycle in all that may follow */
    bool host_lost;    /* since they were computed */
    uint32_t *queue;
    uint32_t *part; /* per x: which connected part of the net */
};

/* Phases of a way: may it still go up? */
enum { NET_ANY = 0, NET_DOWN = 1 };

/* The row of a tree that has one. */
static inline uint8_t *net_tree(const struct net_routes *r, uint32_t leaf,
                                unsigned column)
{
    return r->rows[(size_t)leaf * r->columns + column];
}

static inline const struct net_edge *net_edge_at(const struct net_routes *r,
                                                 uint32_t x, unsigned ordinal)
{
    return &r->edges[r->first[x] + ordinal];
}

/* The index of the edge that leaves x by this port of it. */
static inline uint32_t net_edge_by_port(const struct net_routes *r, uint32_t x,
                                        unsigned port)
{
    uint32_t e = r->first[x];

    while (r->edges[e].port != port)
        e++;
    return e;
}

static inline uint32_t net_edge_port(const struct net_routes *r, uint32_t x,
                                     const struct net_edge *e)
{
    return r->net->nodes[r->xnode[x]].first + e->port;
}

/* survey.c: crossbars, leaves, columns, edges; ranks from the centre. */
bool net_survey(struct net_routes *r);
bool net_orient_tree(struct net_routes *r);
/* Fills part[]; dist is scratch, one per x.  Needs the edges. */
void net_find_parts(struct net_routes *r, uint32_t *dist);
bool net_index_edges(struct net_routes *r);

/* clos.c: ranks from levels, and the slots.  *fits: it is a Clos.  False:
 * out of memory. */
bool net_orient_clos(struct net_routes *r, bool *fits);
/* The digit that a tree has at a level. */
unsigned net_clos_digit(const struct net_routes *r, uint32_t leaf,
                        unsigned column, unsigned level);

static inline bool net_clos_below(const struct net_routes *r, uint32_t x,
                                  uint32_t leaf)
{
    return r->clos.below[(size_t)x * r->clos.words + leaf / 64] >> leaf % 64 &
           1;
}

/* Where the digits lead from x. */
uint8_t net_clos_step(const struct net_routes *r, uint32_t leaf,
                      unsigned column, uint32_t x);
/* Room for the trees. */
int net_rows_new(struct net_routes *r, struct errbuf *err);
void net_rows_free(struct net_routes *r);
/* Give a tree a row if it has none: it is about to change. */
int net_tree_own(struct net_routes *r, uint32_t leaf, unsigned column,
                 struct errbuf *err);
/* Note where a place led, if a repair runs.  False: out of memory. */
bool net_tree_note(struct net_routes *r, uint32_t leaf, unsigned column,
                   uint32_t x, uint8_t was);
/* Turn one place of a tree, and note it.  False: out of memory. */
bool net_tree_set(struct net_routes *r, uint32_t leaf, unsigned column,
                  uint32_t x, uint8_t ordinal);
/* The place of a tree that is patched at x; NULL: none. */
const struct net_patched *net_patch_find(const struct net_patch *p, uint32_t x);

/* Where a tree leads from x. */
static inline uint8_t net_tree_step(const struct net_routes *r, uint32_t leaf,
                                    unsigned column, uint32_t x)
{
    size_t tree = (size_t)leaf * r->columns + column;
    const struct net_patched *at;

    if (r->rows[tree])
        return r->rows[tree][x];
    at = r->patches[tree] ? net_patch_find(r->patches[tree], x) : NULL;
    return at ? at->ordinal : net_clos_step(r, leaf, column, x);
}

/* The edge by which a tree leaves x; NULL: none. */
static inline const struct net_edge *
net_tree_edge(const struct net_routes *r, const uint8_t *next, uint32_t x)
{
    return next[x] == NET_NO_EDGE ? NULL : net_edge_at(r, x, next[x]);
}

/* Does a tree leave x by this edge? */
static inline bool net_tree_uses(const struct net_routes *r, uint32_t leaf,
                                 unsigned column, uint32_t x, unsigned ordinal)
{
    return net_tree_step(r, leaf, column, x) == ordinal;
}

/* clos.c.  The loads of all trees that are not open.  False: out of memory. */
bool net_clos_pour(struct net_routes *r, const uint8_t *open);

/* survey.c.  Distances to one leaf into down[] and any[]. */
void net_distances(struct net_routes *r, uint32_t leaf);
/* A cable has gone: no distances are there. */
void net_distances_forget(struct net_routes *r);
/* Do the distances that are there tell those of this leaf, too, but for the
 * two leaves themselves? */
bool net_leaves_alike(const struct net_routes *r, uint32_t leaf);

/* tree.c, and relieve.c (loads, flows, what is saved): with the distances of
 * the leaf that they are told, on trees that have a row. Which digits at which
 * level leave places open?  bad[level][digit]. */
void net_clos_find_bad(const struct net_routes *r,
                       bool bad[NET_LEVELS_MAX + 1][NET_SLOTS_MAX]);
/* Leave those open whose way is gone or no longer a shortest. */
void net_tree_open(struct net_routes *r, uint32_t leaf, unsigned column);
/* Choose an edge for each open place, the least loaded way at that moment;
 * adds the whole tree's load. */
void net_tree_fill(struct net_routes *r, uint32_t leaf, unsigned column);
/* Does this edge begin a shortest way from x? */
bool net_edge_shortest(const struct net_routes *r, uint32_t x,
                       const struct net_edge *e);
/* Add (sign 1) or take away (-1) the load of a tree. */
void net_tree_load(struct net_routes *r, uint32_t leaf, unsigned column,
                   int sign);

/* upstream.c.  False: out of memory. */
bool net_upstream_new(struct net_upstream *u, const struct net_routes *r);
void net_upstream_free(struct net_upstream *u);
/* Begin with nothing; add x, unless it is there; then add every crossbar whose
 * way in a tree passes one that was added. */
void net_upstream_begin(struct net_upstream *u);
void net_upstream_add(struct net_upstream *u, uint32_t x);
void net_upstream_find(struct net_upstream *u, const struct net_routes *r,
                       uint32_t leaf, unsigned column);

/* repair.c.  Would routes computed now go up and down as these do?  The first
 * looks at the crossbars that lost cables only, and says true only if it is
 * sure; the second looks at everything. */
bool net_routes_surely_agree(const struct net_routes *r);
bool net_routes_agree(const struct net_routes *r);

/* relieve.c.  Move ways off the most loaded cables while that makes the worst
 * better.  -1: out of memory. */
int net_relieve(struct net_routes *r, struct errbuf *err);

/* routes.c.  Is the longest way to the leaf within the limit, and does every
 * leaf of its part have one?  -1 and *err: too long; 1: a leaf has none. */
int net_check_leaf(const struct net_routes *r, uint32_t leaf,
                   struct errbuf *err);

/* Any host of a leaf. */
uint32_t net_leaf_host(const struct net_routes *r, uint32_t leaf);

/* Of a net, with nothing in them.  NULL: no memory. */
struct net_routes *net_routes_bare(const struct net *net);

/* walk.c.  Along a tree from leaf to leaf: edges as global ports.  Hops - 1,
 * or -1 if there is no way. */
int net_tree_walk(const struct net_routes *r, uint32_t from, uint32_t leaf,
                  unsigned column, uint32_t *ports, unsigned max);

/* walk.c.  One source host's routes at a time are remembered. */
struct net_gm2;
struct net_gm2 *net_gm2_new(const struct net_routes *r);
void net_gm2_free(struct net_gm2 *gm2);

/* Of deadlock.c.  A channel is a cable in one direction, named by the
 * global port that sends. What a channel waits for leaves the node it arrives
 * at, so one bit per port of that node says it all. */
struct net_cdg {
    const struct net *net;
    unsigned words; /* of 64 bits per channel */
    uint64_t *bits;
};

#endif
