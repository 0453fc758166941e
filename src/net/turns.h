/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which cable a packet may take after which: a set of turns that can make no
 * cycle (src/net only).
 *
 * A channel is an edge of route_impl.h.  Every channel has a number, and of a
 * turn that is allowed the second channel's is higher; the numbers change as
 * turns are allowed, so that any set without a cycle can be had.  (The order
 * is kept as Pearce and Kelly do: only what lies between the two ends of a new
 * turn is looked at.)
 */
#ifndef SF_NET_TURNS_H
#define SF_NET_TURNS_H

#include "net/route_impl.h"

enum net_turn { NET_TURN_OPEN = 0, NET_TURN_ALLOWED, NET_TURN_NEVER };

struct net_turns {
    const struct net_routes *r;
    uint32_t *from;   /* per channel: x where it begins */
    uint32_t *back;   /* per channel: the other direction of its cable */
    uint32_t *number; /* per channel */
    uint32_t *base;   /* per channel: its first entry in state */
    uint8_t *state;   /* per channel and edge of the x it ends at */
    uint32_t nturns;  /* entries of state */
    uint64_t looks;   /* turns looked at to keep the order */
    uint32_t *seen, round, *stack; /* scratch */
    uint32_t *before, *after, *numbers, nbefore, nafter;
};

/* Needs ranks and edges.  Nothing is decided but that no packet turns round on
 * its cable.  NULL: out of memory. */
struct net_turns *net_turns_new(const struct net_routes *r);
void net_turns_free(struct net_turns *t);

static inline uint8_t *net_turn(const struct net_turns *t, uint32_t channel,
                                uint32_t then)
{
    return &t->state[t->base[channel] + then -
                     t->r->first[t->r->edges[channel].to]];
}

/* Allow a turn, if it closes no cycle with those allowed before; else it will
 * never be allowed.  Is it? */
bool net_turns_allow(struct net_turns *t, uint32_t channel, uint32_t then);

/* Up and down along the tree of each crossbar's highest neighbour: with these
 * every crossbar reaches every other of its part. */
void net_turns_allow_tree(struct net_turns *t);
/* Whatever is still open.  When `looks` turns have been looked at to keep the
 * order, only what follows it: then this is linear. */
void net_turns_allow_rest(struct net_turns *t, uint64_t looks);

/* A number of all that is allowed, whatever the order of nodes. */
uint32_t net_turns_print(const struct net_turns *t);

#endif
