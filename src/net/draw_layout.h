/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands where in a picture of a fabric: of `sfabric draw` (net/draw.h)
 * and of the web page, to which switchmgrd gives these numbers.
 *
 * A crossbar's level is its distance from the hosts.  Up to
 * DRAW_LAYOUT_XBARS_MAX crossbars stand in layers, a row for each level, with
 * the hosts below their leaf.  More of them are groups: what hangs together
 * below the highest level.
 */
#ifndef SF_NET_DRAW_LAYOUT_H
#define SF_NET_DRAW_LAYOUT_H

#include "net/graph.h"

#define DRAW_LAYOUT_XBARS_MAX 48
#define DRAW_LAYOUT_ACROSS_MAX 4 /* hosts side by side below a leaf */

/* Boxes, in pixels. */
#define DRAW_XBAR_W 62
#define DRAW_XBAR_H 26
#define DRAW_HOST_H 18

struct draw_group {
    uint32_t nleaves, nmids, nhosts;
    char name[SF_NET_NAME_MAX]; /* "Group 2", or of its only leaf */
};

struct draw_layout {
    const struct net *net;
    unsigned *level; /* per node: 0: a host, or no host reaches it; leaves 1 */
    unsigned top;    /* the highest level; 0: there is none */
    uint32_t *group; /* per node: a crossbar's group, or NET_NONE */
    struct draw_group *groups;
    uint32_t ngroups;
    double host_w;   /* of a host's box: as wide as the names want it */
    uint32_t *hosts; /* see draw_layout_hosts() */
};

/* Layers with so many hosts side by side.  x is the middle of a box, y its
 * upper edge; per node, 0 where it does not stand in the picture. */
struct draw_layers {
    uint32_t across;
    double width, height;
    double *x, *y;
};

/* NULL: no memory.  net is borrowed. */
struct draw_layout *draw_layout_new(const struct net *net);
void draw_layout_free(struct draw_layout *l);

/* How many hosts hang on a crossbar; they are in l->hosts, by their names,
 * until the next call. */
uint32_t draw_layout_hosts(struct draw_layout *l, uint32_t xbar);

/* Are there so few crossbars that each is to be drawn? */
bool draw_layout_in_layers(const struct draw_layout *l);

/* With 1 to DRAW_LAYOUT_ACROSS_MAX hosts side by side, or as many as a leaf
 * has.  False: no memory.  draw_layers_free() frees what is in it. */
bool draw_layers_make(struct draw_layout *l, uint32_t across,
                      struct draw_layers *out);
/* The widest ones that are not wider than this.  False: none is (across 0), or
 * no memory. */
bool draw_layers_fit(struct draw_layout *l, double width,
                     struct draw_layers *out);
void draw_layers_free(struct draw_layers *layers);

#endif
