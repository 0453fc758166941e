/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nets and maps as files.
 */
#ifndef SF_MAPPERD_NETFILE_H
#define SF_MAPPERD_NETFILE_H

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "net/graph.h"

/* All of a file, behind what is in out; its limit is the file's.  0 or -1 with
 * *err and errno. */
int netfile_text(const char *path, struct bytebuf *out, struct errbuf *err);

/* Read a net file (net/format.h); where there is no such file and the name
 * has no '/', what net/build.h makes of it.  NULL and *err. */
struct net *netfile_read(const char *name, struct errbuf *err);

/* Bytes into a file: to one beside it first (PATH.new), then renamed.  0 or -1
 * and *err. */
int netfile_put(const char *path, const struct bytebuf *bytes, int mode,
                struct errbuf *err);

/* Write a map, so.  A name that ends in
 * ".json" or ".ibnet" gets that format, others ours.  0 or -1 and *err. */
int netfile_write(const char *path, const struct net *net, struct errbuf *err);

#endif
