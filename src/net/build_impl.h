/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the builders (src/net only): see build.h for the names.
 */
#ifndef SF_NET_BUILD_IMPL_H
#define SF_NET_BUILD_IMPL_H

#include "net/build.h"

/* Each takes the whole name, for messages, and what stands behind "line:"
 * and so on. */
struct net *net_build_row(const char *name, const char *arg, bool ring,
                          struct errbuf *err);
struct net *net_build_torus(const char *name, const char *arg,
                            struct errbuf *err);
struct net *net_build_random(const char *name, const char *arg,
                             struct errbuf *err);
struct net *net_build_hostless(const char *name, const char *arg,
                               struct errbuf *err);

struct net *net_build_cube(const char *name, const char *arg,
                           struct errbuf *err);
struct net *net_build_dragonfly(const char *name, const char *arg,
                                struct errbuf *err);
struct net *net_build_regular(const char *name, const char *arg,
                              struct errbuf *err);

/* `n` crossbars x0 ... and `hosts` hosts on the first ports of each.  NULL:
 * out of memory. */
struct net *net_xbars_with_hosts(unsigned n, unsigned ports, unsigned hosts);
/* The fewest ports of a real crossbar (4, 8, 16, 32), or just enough. */
unsigned net_xbar_size(unsigned need);

/* "no such net"; NULL. */
struct net *net_no_net(struct errbuf *err, const char *name);
/* The net, or NULL with "out of memory". */
struct net *net_checked(struct net *net, struct errbuf *err);

#endif
