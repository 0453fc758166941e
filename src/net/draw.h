/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture of a fabric: as SVG, or as a graph for graphviz's dot.
 *
 * SVG is laid out as the web page is (net/draw_layout.h): up to some dozens of
 * crossbars each is drawn, a row for each distance from the hosts, with its
 * hosts and the numbers of its ports; above that the cables between groups of
 * crossbars and the core are a matrix of coloured cells, and each group has its
 * hosts and a matrix of its own.
 *
 * In the graph for dot everything is drawn up to a few hundred hosts: crossbars
 * with the hosts on them, one line for all cables between two of them.  Above
 * that the virtual switches of net/topo.h are drawn instead, each with the
 * hosts or the number of crossbars in it, so that 2048 hosts fit a page.
 */
#ifndef SF_NET_DRAW_H
#define SF_NET_DRAW_H

#include "base/bytebuf.h"
#include "net/graph.h"

/* More hosts than this: collapsed, unless asked otherwise. */
#define NET_DRAW_ALL_MAX 256

/* The worse of two stands later. */
enum net_paint { NET_FINE, NET_UNSURE, NET_HURT, NET_DEAD };

struct net_drawing {
    enum { NET_DRAW_AUTO, NET_DRAW_ALL, NET_DRAW_COLLAPSED } what;
    /* How a node is (port NET_NONE), or the cable in a port; NULL: nothing is
     * known of the health of anything, all is grey. */
    enum net_paint (*paint)(void *arg, const struct net *net, uint32_t node,
                            uint32_t port);
    void *arg;
    /* SVG only: its title, and what is said of health; NULL: "Fabric", and that
     * nothing is known. */
    const char *title, *health;
};

/* False: out of memory; see also out->bad. */
bool net_write_svg(const struct net *net, const struct net_drawing *drawing,
                   struct bytebuf *out);
bool net_write_dot(const struct net *net, const struct net_drawing *drawing,
                   struct bytebuf *out);

#endif
