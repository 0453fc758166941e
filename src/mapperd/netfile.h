/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nets and maps as files.
 */
#ifndef SF_MAPPERD_NETFILE_H
#define SF_MAPPERD_NETFILE_H

#include "base/errbuf.h"
#include "net/graph.h"

/* Read a net file (net/format.h); where there is no such file and the name
 * has no '/', what net/build.h makes of it.  NULL and *err. */
struct net *netfile_read(const char *name, struct errbuf *err);

/* Write a map (base/file.h).  A name that ends in ".json" or ".ibnet" gets
 * that format; of others a map of InfiniBand its own, in which ports keep their
 * numbers, all else ours.  0 or -1 and *err. */
int netfile_write(const char *path, const struct net *net, struct errbuf *err);

#endif
