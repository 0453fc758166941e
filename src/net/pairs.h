/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A way for each pair of leaves, along turns that can make no cycle (src/net
 * only).  Leaves of several hosts have several ways to each other, called
 * variants; which one a pair of hosts takes is said by their columns.
 *
 * The turns are found while ways are laid: leaf by leaf, to a few leaves at a
 * time, the cheapest way is looked for, over turns that are allowed and such
 * as nobody has asked for yet; cables cost more the more they bear.  Then the
 * way's turns are allowed for good; where one would close a cycle, it never
 * will be, and another way is looked for.  The turns along a tree are allowed
 * before all others, so there is always one.  When the turns are settled, ways
 * are laid anew, again and again, with costs that rise steeply towards the most
 * loaded cable.
 *
 * Where that would take too long (PAIRS_WORK), it is done for a sample of the
 * leaves, and the ways of any other are laid when they are asked for, over the
 * same turns and by what the sample says of the loads.
 *
 * All of it in integers: hosts of all kinds must come to the same turns.
 */
#ifndef SF_NET_PAIRS_H
#define SF_NET_PAIRS_H

#include "net/rng.h"
#include "net/turns.h"

struct net_pairs {
    const struct net_routes *r;
    struct net_turns *t;
    unsigned variants, classes, stride;
    bool fine;        /* a variant for each pair of columns */
    bool kept;        /* ways of all leaves, or of one source at a time */
    uint32_t source;  /* whose, if not kept; NET_NONE: nobody's */
    uint16_t *hosts;  /* per leaf and class: hosts */
    uint8_t *ways;    /* [source][destination][variant][stride]: edge ordinals,
                         NET_NO_EDGE ends; a way of none: there is none */
    uint64_t *load;   /* per channel: host pairs; not kept: of the sample, as if
                         of all */
    uint64_t *own;    /* not kept: with what the source adds */
    uint64_t work;    /* turns looked at so far */
    uint64_t worst;   /* kept: most that a channel bore before any repair */
    uint64_t missing; /* host pairs without a way, while turns are found */

    /* Of one search. */
    uint32_t *cost, *via, *best; /* per channel; channel; per x, a channel */
    uint64_t *dist;              /* per channel */
    uint16_t *hops;              /* per channel */
    uint32_t *heap, *place, nheap;
    uint32_t *items, *again; /* destinations of one source, shuffled */
    struct net_rng rng;
    uint64_t seed;
};

/* Needs net_orient_tree() and parts.  NULL: out of memory. */
struct net_pairs *net_pairs_new(struct net_routes *r);
void net_pairs_free(struct net_pairs *p);

/* Edges of r have died: ways over them are laid anew, over the turns that are
 * allowed, no others; so what is left makes no cycle.  Then ways leave cables
 * that bear much more than the worst did.  load: per global port, becomes
 * theirs.  False: somebody would be without a way who had one, or the worst
 * bears half as much again; they are unusable. */
bool net_pairs_repair(struct net_pairs *p, uint32_t *load,
                      struct net_repair *what);

/* The variant that a pair of hosts takes first. */
unsigned net_pairs_variant(const struct net_pairs *p, uint32_t src,
                           uint32_t dst);

/* Along one variant: as net_tree_walk(). */
int net_pairs_walk(struct net_pairs *p, uint32_t from, uint32_t leaf,
                   unsigned variant, uint32_t *ports, unsigned max);

#endif
