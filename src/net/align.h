/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which crossbar of a map is which of an older one?  Hosts are told by their
 * address, crossbars by their id; others by most of the hosts on them, then by
 * what they hang on.  A guess: where much has changed some crossbars have no
 * counterpart, or a wrong one.
 */
#ifndef SF_NET_ALIGN_H
#define SF_NET_ALIGN_H

#include "net/graph.h"

/* Of each node n of `now` its node of `old`, or NET_NONE, in pair[n], and the
 * port there minus the port here in shift[n]; no node of `old` twice.  False:
 * out of memory. */
bool net_align(const struct net *old, const struct net *now, uint32_t *pair,
               int *shift);

/* A copy of `now` in which crossbars have the places and ports of their
 * counterparts, as far as they have one that is wide enough; all others come
 * behind them.  Hosts keep their order.  NULL: out of memory. */
struct net *net_align_copy(const struct net *old, const struct net *now);

/* A copy of `now`, its nodes in their order, in which nodes have the names,
 * and crossbars the width and the port numbers, of their counterparts in
 * `named`: how the people who plugged the cables speak of them.  `named` need
 * not know the ids of crossbars.  Nodes without a counterpart stay as they are.
 * NULL: out of memory. */
struct net *net_align_names(const struct net *named, const struct net *now);

#endif
