/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shortest ways up, then down, of one source at a time (src/net only).
 *
 * A search from the source's leaf tells every shortest way to every crossbar.
 * Which of them a pair of hosts takes is said by a point between 0 and 1: from
 * the destination back to the source, each crossbar that the way can come from
 * has its part of the line.  The points of all pairs of hosts of two leaves
 * lie evenly on it, so the ways share the load as the parts say.
 *
 * The parts: each channel has a weight, and a way as much as the product of
 * its channels'.  The weights begin alike and fall where the load is high, as
 * long as that makes the worst load better.  For this the loads of all pairs
 * are estimated, from a search of each of SAMPLE leaves; so all of it, and the
 * routes of one host, is work in proportion to the net.
 *
 * No way depends on what other sources do; all have the same weights.
 */
#ifndef SF_NET_UPDOWN_H
#define SF_NET_UPDOWN_H

#include "net/route_impl.h"

/* Ways that are tried for the routes of a pair of hosts. */
#define NET_UPDOWN_VARIANTS 16

/* Needs net_orient_tree(), of the same net_routes.  NULL: out of memory. */
struct net_updown *net_updown_new(const struct net_routes *r);
void net_updown_free(struct net_updown *u);

/* Edges of r have died: searches so far do not count. */
void net_updown_forget(struct net_updown *u);

/* One way between the leaves of two hosts: as net_tree_walk(). */
int net_updown_walk(struct net_updown *u, uint32_t src, uint32_t dst,
                    unsigned variant, uint32_t *ports, unsigned max);

#endif
