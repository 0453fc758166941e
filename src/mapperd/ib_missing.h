/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an exploration of InfiniBand asked for and never heard of.  A port that
 * is asked is noted by the route to it until an answer settles it; what is
 * left in the end, and has no cable in the map, is a hole in the map.  And
 * which switches are so far away that no question goes behind them.
 */
#ifndef SF_MAPPERD_IB_MISSING_H
#define SF_MAPPERD_IB_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "mapperd/smp.h"
#include "net/graph.h"

/* Ports by which the crossbars on the way are left, from 0. */
struct ib_route {
    uint8_t n;
    uint8_t port[SMP_HOPS_MAX];
};

struct ib_asked;

/* All zero to begin with; ib_missing_free() ends it. */
struct ib_missing {
    struct ib_asked *asked;
};

void ib_missing_ask(struct ib_missing *m, const uint8_t *port, uint8_t n);
/* It said that it is up: something is behind it. */
void ib_missing_up(struct ib_missing *m, const uint8_t *port, uint8_t n);
/* It is down, or what is behind it has answered. */
void ib_missing_settled(struct ib_missing *m, const uint8_t *port, uint8_t n);
void ib_missing_free(struct ib_missing *m);

/* Call `tell` once for each port of a switch that has no cable in the map
 * though one of the routes led there; up: it said so.  How many.  The host
 * whose map it is has number `me`. */
typedef void ib_missing_f(const struct net *map, uint32_t node, unsigned port,
                          bool up, void *arg);
unsigned ib_missing_tell(const struct ib_missing *m, const struct net *map,
                         uint32_t me, ib_missing_f *tell, void *arg);

/* The next switch, from number *node on, that is `n` crossbars behind the
 * first; the way to it.  False: no more, or no memory. */
bool ib_missing_edge(const struct net *map, uint32_t me, uint8_t n,
                     uint32_t *node, struct ib_route *way);

#endif
