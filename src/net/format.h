/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nets as text.  Two formats are read and written (doc/net.md):
 *
 *   ours           hosts, crossbars and cables, a line each: swfab.net(5)
 *   InfiniBand's   what ibnetdiscover prints and ibsim reads; port p there is
 *                  our p - 1, each cabled port of an adapter is a host of its
 *                  own, every switch tells its id
 *
 * JSON is only written; pictures are net/draw.h.  Writers append to a
 * bytebuf whose `bad` says that something did not fit.
 */
#ifndef SF_NET_FORMAT_H
#define SF_NET_FORMAT_H

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "net/graph.h"

/* Parse text[0..len) as ours, as InfiniBand's, or as what it looks like.
 * NULL with *err "FILE:LINE: what is wrong" (`file` is used for that only);
 * errno EINVAL, EMSGSIZE (longer than SF_NET_FILE_MAX) or ENOMEM. */
struct net *net_parse_text(const char *file, const char *text, size_t len,
                           struct errbuf *err);
struct net *net_parse_ib(const char *file, const char *text, size_t len,
                         struct errbuf *err);
struct net *net_parse(const char *file, const char *text, size_t len,
                      struct errbuf *err);

/* Each appends the whole net. */
void net_write_text(const struct net *net, struct bytebuf *out);
void net_write_ib(const struct net *net, struct bytebuf *out);
void net_write_json(const struct net *net, struct bytebuf *out);

/* Name a host that is a port of a node with adapters: NODE, then NODE-pPORT;
 * of another adapter (`device` is not NULL) NODE-DEVICE, NODE-DEVICE-pPORT;
 * with a number behind it where that is somebody's already.  So one node has
 * several hosts, and all formats can tell them apart.  False: no memory. */
bool net_name_port(struct net *net, uint32_t host, const char *node,
                   const char *device, unsigned port);

/* A copy in which every node has a name, as these files want it: maps carry
 * none, so a host goes by its board id (a twin by its place, too), a crossbar
 * by its place.  NULL: no memory. */
struct net *net_copy_named(const struct net *net);

#endif
