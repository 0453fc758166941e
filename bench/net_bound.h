/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SF_BENCH_NET_BOUND_H
#define SF_BENCH_NET_BOUND_H

#include "net/graph.h"

/* A lower bound, within a percent or so, of the worst load of a cable between
 * crossbars in one direction when every host sends one packet to every other,
 * over any ways and in any shares.  For nets of some hundred crossbars. */
double net_bound(const struct net *net);

#endif
