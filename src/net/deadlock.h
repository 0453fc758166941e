/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Can a set of routes deadlock?  A packet holds the cable it is on while it
 * waits for the next, so routes are deadlock free when "on this cable, wants
 * that one" makes no cycle among the directed cables (Dally and Seitz).  The
 * test is linear in the dependencies (depth-first search).
 *
 * It knows nothing of how routes were made: it is the proof, not the plan.
 */
#ifndef SF_NET_DEADLOCK_H
#define SF_NET_DEADLOCK_H

#include "net/route.h"

/* Who waits for what: dependencies between the directed cables of a net. */
struct net_cdg;

/* Borrows the net.  NULL: out of memory. */
struct net_cdg *net_cdg_new(const struct net *net);
void net_cdg_free(struct net_cdg *cdg);

/* Add one route; all first routes of an engine's trees (NET_GM2: of all
 * hosts). */
void net_cdg_add_path(struct net_cdg *cdg, const struct net_path *path);
void net_cdg_add_routes(struct net_cdg *cdg, const struct net_routes *r);

/* 0: no cycle.  1: there is one, *err names a few of its cables.  -1: out of
 * memory. */
int net_cdg_check(const struct net_cdg *cdg, struct errbuf *err);

/* All in one for the routes of an engine. */
int net_routes_deadlock(const struct net_routes *r, struct errbuf *err);

#endif
