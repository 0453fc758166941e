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
 * hosts); whatever any routes could do that go up, then down as these do. */
void net_cdg_add_path(struct net_cdg *cdg, const struct net_path *path);
void net_cdg_add_routes(struct net_cdg *cdg, const struct net_routes *r);
void net_cdg_add_turns(struct net_cdg *cdg, const struct net_routes *r);

/* Does the route ask, between crossbars, for nothing but what was added? */
bool net_cdg_has_path(const struct net_cdg *cdg, const struct net_path *path);

/* 0: no cycle.  1: there is one, *err names a few of its cables.  -1: out of
 * memory. */
int net_cdg_check(const struct net_cdg *cdg, struct errbuf *err);

/* All in one for the routes of an engine.  The second without any route, for
 * all that could ever be computed along the same ups and downs. */
int net_routes_deadlock(const struct net_routes *r, struct errbuf *err);
int net_turns_deadlock(const struct net_routes *r, struct errbuf *err);

/* Some places of trees were turned: does any route through them go up after it
 * went down?  Ups and downs must be as before, and net_turns_deadlock() must
 * have found no cycle.  0: none does, and so all routes are free of deadlock if
 * they were.  1 and *err: one does. */
struct net_turned;
int net_turned_deadlock(const struct net_routes *r, const struct net_turned *at,
                        uint32_t n, struct errbuf *err);

/* All routes of one host, alternatives too, with whatever other hosts compute
 * for themselves along the same ups and downs: no set of turns up and down
 * makes a cycle, and no route of this host has another turn.  As
 * net_cdg_check(). */
int net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                             struct errbuf *err);

/* Routes that are proved: of this host, NET_NONE: of all.  Those asked for;
 * where these could deadlock, those that NET_AUTO gives, or for NET_GM2 those
 * that go up and down the same way (so hosts that do not need it go together
 * with those that do); where these could, too, NET_UPDOWN's.  *why says then
 * what was found; its text is empty when the routes are those asked for.  NULL,
 * *err and errno: as net_routes_new(); EDEADLK: none of them is free of
 * deadlock. */
struct net_routes *net_routes_proved(const struct net *net,
                                     const struct net_route_params *params,
                                     uint32_t host, struct errbuf *why,
                                     struct errbuf *err);

#endif
