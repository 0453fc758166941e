/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fabrics made to order: the standing bench nets, and what tests need.
 *
 * Hosts are called h0, h1 ... and have the board addresses NET_BUILD_HOST_ID
 * + index; crossbars are called by level and number (s1.0 is the first leaf)
 * or x0, x1 ..., and have the ids NET_BUILD_XBAR_ID + index, which they tell
 * nobody (has_id is 0) unless "+ids" is said.
 */
#ifndef SF_NET_BUILD_H
#define SF_NET_BUILD_H

#include "base/errbuf.h"
#include "net/graph.h"

/* In the vendor's range 00:60:dd; never 0. */
#define NET_BUILD_HOST_ID 0x0060dd000001ULL
#define NET_BUILD_XBAR_ID 0x0060dd8000000001ULL

#define NET_CLOS_LEVELS_MAX 6

/* A folded Clos of `levels` levels of crossbars.  A crossbar of level i (from
 * 1) has down[i-1] groups of parallel[i-1] cables to the level below (level 0
 * is the hosts); the one below has up[i-1] such groups to different crossbars
 * of this level.  up[0] and parallel[0] are 1: a host has one cable. */
struct net_clos {
    unsigned levels;
    unsigned ports; /* of each crossbar; 0: the fewest that do */
    unsigned down[NET_CLOS_LEVELS_MAX];
    unsigned up[NET_CLOS_LEVELS_MAX];
    unsigned parallel[NET_CLOS_LEVELS_MAX];
};

/* A net by name:
 *
 *   C64 C512 C2048 C8192 C65536  the bench nets (doc/net.md)
 *   clos:8x8:1x4:1x2        down, up, parallel of each level
 *   line:N[:H]              N crossbars in a row, H hosts (default 2) on each
 *   ring:N[:H]
 *   torus:XxY[xZ][:H[:L]]   L (default 1) cables between neighbours
 *   hypercube:D[:H]         2^D crossbars, joined where one bit differs
 *   dragonfly:A:G[:H]       A crossbars in a group, each joined to all others
 *                           of it and by G cables to other groups, of which
 *                           there are A * G + 1: each two have one cable
 *   regular:X:D[:H[:SEED]]  X crossbars, each joined to D others by chance
 *   random:X:H[:SEED]       X crossbars of 16 ports, H hosts, connected
 *   hostless-ring[:N]       N (default 6) crossbars without hosts in a ring,
 *                           between two crossbars with four hosts each
 *   two-planes              two separate C64, planes 0 and 1
 *
 * and behind it, in order, any of
 *
 *   +ids                    crossbars tell their id
 *   +cut=PERCENT[:SEED]     that share of all cables is taken out
 *   +cutx=PERCENT[:SEED]    the same, of those between crossbars
 *   +shuffle[=SEED]         each crossbar's cables in any of its ports
 *
 * NULL and *err: no such name, a figure out of range, out of memory. */
struct net *net_build_named(const char *name, struct errbuf *err);

/* Take out `share` (0 .. 1) of the cables, chosen by seed; hosts' cables too
 * if `hosts`.  The number taken out. */
uint32_t net_cut_cables(struct net *net, double share, uint64_t seed,
                        bool hosts);

/* Permute the ports of each crossbar. */
bool net_shuffle_ports(struct net *net, uint64_t seed);

/* Set has_id of every crossbar. */
void net_tell_ids(struct net *net, bool tell);

/* A new net of what can be reached from a node, without the rest; *there is
 * that node's index in it.  NULL: out of memory. */
struct net *net_reachable(const struct net *net, uint32_t from,
                          uint32_t *there);

/* A new net without some nodes (gone[n]), the others in their order; to[n] (may
 * be NULL) becomes the node's index in it, or NET_NONE.  NULL: out of
 * memory. */
struct net *net_without(const struct net *net, const bool *gone, uint32_t *to);

#endif
