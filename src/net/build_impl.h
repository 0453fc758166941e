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

/* "no such net"; NULL. */
struct net *net_no_net(struct errbuf *err, const char *name);
/* The net, or NULL with "out of memory". */
struct net *net_checked(struct net *net, struct errbuf *err);

#endif
