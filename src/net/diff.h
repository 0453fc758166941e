/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expected cabling beside the found: what a person has to plug elsewhere.
 * And what a map shows that should not be.
 *
 * Hosts are paired by address, crossbars by id; other crossbars by what hangs
 * on them: the pairing that most cables agree with, leaves first.  So a swap
 * of two cables is told as two cables, not as two strange crossbars.  The
 * ports of a crossbar without an id are compared up to a shift, the one that
 * most of its cables agree with.
 */
#ifndef SF_NET_DIFF_H
#define SF_NET_DIFF_H

#include "base/errbuf.h"
#include "net/graph.h"

enum net_difference {
    NET_DIFF_HOST_MISSING, /* expected, not found */
    NET_DIFF_HOST_UNKNOWN, /* found, not expected */
    NET_DIFF_XBAR_MISSING,
    NET_DIFF_XBAR_UNKNOWN,
    NET_DIFF_CABLE_MISSING, /* between parts that are both there */
    NET_DIFF_CABLE_UNKNOWN,
    NET_DIFF_HOST_MOVED, /* plugged in elsewhere */
};

const char *net_difference_name(enum net_difference kind);

typedef void net_diff_f(void *arg, enum net_difference kind, const char *text);

/* Tell every difference, hosts first.  How many, -1: out of memory. */
int net_diff(const struct net *expected, const struct net *found,
             net_diff_f *tell, void *arg);

/* What contradicts itself in one net: two hosts with one address, two
 * crossbars with one id, two nodes with one name.  How many, -1: out of
 * memory. */
typedef void net_conflict_f(void *arg, const char *text);
int net_conflicts(const struct net *net, net_conflict_f *tell, void *arg);

/* A node's name, or its address or number where it has none; `buf` may be
 * used for that. */
const char *net_name_of(const struct net *net, uint32_t n, char buf[40]);

#endif
