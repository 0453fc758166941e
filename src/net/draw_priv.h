/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What both kinds of drawings share.
 */
#ifndef SF_NET_DRAW_PRIV_H
#define SF_NET_DRAW_PRIV_H

#include "base/bytebuf.h"
#include "net/draw.h"
#include "net/topo.h"

struct drawer {
    const struct net *net;
    const struct net_drawing *how;
    const struct net_topo *topo;
    struct bytebuf *out;
};

/* By enum net_paint. */
extern const char *const draw_colours[], *const draw_fills[];

/* Of a node (port NET_NONE), or of the cable at its port. */
enum net_paint draw_paint(const struct drawer *d, uint32_t node, uint32_t port);
enum net_paint draw_worse(enum net_paint a, enum net_paint b);
/* Inside of "". */
void draw_quoted(const char *text, struct bytebuf *out);
/* Several cables between the same two: a thicker line and their number,
 * beside it where there is room, else for the mouse.  kind: "n" for nodes, "v"
 * for virtual switches. */
void draw_line(struct drawer *d, const char *kind, uint32_t a, uint32_t b,
               unsigned cables, enum net_paint how);
/* Opens the graph. */
void draw_begin(struct drawer *d, bool circle);

/* ---- draw_all.c: each crossbar, with its hosts ---- */
void draw_all(struct drawer *d);

/* ---- draw_collapsed.c: virtual switches and bundles of cables ---- */
/* False: no memory. */
bool draw_collapsed(struct drawer *d);

#endif
