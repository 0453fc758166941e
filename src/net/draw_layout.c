/* SPDX-License-Identifier: BSD-3-Clause
 * See draw_layout.h.
 */
#define _GNU_SOURCE
#include "net/draw_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 14      /* between two boxes of a row */
#define ROW 120     /* from a level to the next */
#define HOSTS_AT 58 /* below the upper edge of their leaf */
#define HOST_GAP 4  /* between two rows of hosts */
#define WIDTH_LEAST 280
#define HOST_W_LEAST 28
#define HOST_W_MOST 74
#define LETTER 7

static bool is_xbar_at(const struct draw_layout *l, uint32_t n, unsigned level)
{
    return !net_is_host(l->net, n) && l->level[n] == level;
}

static void find_levels(struct draw_layout *l, uint32_t *queue)
{
    const struct net *net = l->net;
    uint32_t got = 0;

    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t at = net_is_host(net, n) ? net_peer_node(net, n, 0) : NET_NONE;

        if (at != NET_NONE && !net_is_host(net, at) && !l->level[at]) {
            l->level[at] = 1;
            queue[got++] = at;
        }
    }
    for (uint32_t i = 0; i < got; i++) {
        for (unsigned k = 0; k < net->nodes[queue[i]].nports; k++) {
            uint32_t to = net_peer_node(net, queue[i], k);

            if (to == NET_NONE || net_is_host(net, to) || l->level[to])
                continue;
            l->level[to] = l->level[queue[i]] + 1;
            queue[got++] = to;
        }
        if (l->level[queue[i]] > l->top)
            l->top = l->level[queue[i]];
    }
}

static int by_name(const void *a, const void *b, void *net)
{
    const struct net_node *nodes = ((const struct net *)net)->nodes;

    return strverscmp(nodes[*(const uint32_t *)a].name,
                      nodes[*(const uint32_t *)b].name);
}

uint32_t draw_layout_hosts(struct draw_layout *l, uint32_t xbar)
{
    const struct net *net = l->net;
    uint32_t n = 0;

    for (unsigned k = 0; k < net->nodes[xbar].nports; k++) {
        uint32_t h = net_peer_node(net, xbar, k);

        if (h != NET_NONE && net_is_host(net, h))
            l->hosts[n++] = h;
    }
    qsort_r(l->hosts, n, sizeof(*l->hosts), by_name, (void *)net);
    return n;
}

/* ---- groups ---------------------------------------------------------------
 */

static void gather(struct draw_layout *l, uint32_t leaf, uint32_t *queue)
{
    const struct net *net = l->net;
    struct draw_group *g = &l->groups[l->ngroups];
    uint32_t got = 1;

    l->group[leaf] = l->ngroups;
    queue[0] = leaf;
    for (uint32_t i = 0; i < got; i++) {
        g->nleaves += l->level[queue[i]] == 1;
        g->nmids += l->level[queue[i]] != 1;
        g->nhosts += draw_layout_hosts(l, queue[i]);
        for (unsigned k = 0; k < net->nodes[queue[i]].nports; k++) {
            uint32_t to = net_peer_node(net, queue[i], k);

            if (to == NET_NONE || net_is_host(net, to) ||
                l->group[to] != NET_NONE ||
                (l->level[to] >= l->top && l->top > 1))
                continue;
            l->group[to] = l->ngroups;
            queue[got++] = to;
        }
    }
    l->ngroups++;
    snprintf(g->name, sizeof(g->name), "Group %u", l->ngroups);
    if (g->nleaves == 1)
        snprintf(g->name, sizeof(g->name), "%s", net->nodes[leaf].name);
}

static void find_groups(struct draw_layout *l, uint32_t *queue)
{
    memset(l->group, 0xff, l->net->nnodes * sizeof(*l->group));
    for (uint32_t n = 0; n < l->net->nnodes; n++)
        if (is_xbar_at(l, n, 1) && l->group[n] == NET_NONE)
            gather(l, n, queue);
}

/* ---- layers ---------------------------------------------------------------
 */

static void find_host_width(struct draw_layout *l)
{
    size_t most = 0;

    for (uint32_t i = 0; i < l->net->nnodes; i++) {
        size_t len = net_is_host(l->net, i) ? strlen(l->net->nodes[i].name) : 0;

        most = len > most ? len : most;
    }
    l->host_w = LETTER * (double)most + 6;
    if (l->host_w < HOST_W_LEAST)
        l->host_w = HOST_W_LEAST;
    if (l->host_w > HOST_W_MOST)
        l->host_w = HOST_W_MOST;
}

static uint32_t row_length(const struct draw_layout *l, unsigned level)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->net->nnodes; i++)
        n += is_xbar_at(l, i, level);
    return n;
}

static uint32_t most_hosts(struct draw_layout *l)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < l->net->nnodes; i++) {
        uint32_t n = is_xbar_at(l, i, 1) ? draw_layout_hosts(l, i) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static double width_of(const struct draw_layout *l, uint32_t across)
{
    double hosts = across * (l->host_w + 2);
    double leaf = hosts > DRAW_XBAR_W ? hosts : DRAW_XBAR_W;
    double width = row_length(l, 1) * (leaf + GAP);

    for (unsigned level = 2; level <= l->top; level++) {
        double w = row_length(l, level) * (double)(DRAW_XBAR_W + GAP);

        width = w > width ? w : width;
    }
    return width > WIDTH_LEAST ? width : WIDTH_LEAST;
}

/* In columns below their leaf. */
static void place_hosts(struct draw_layout *l, uint32_t leaf,
                        struct draw_layers *out)
{
    uint32_t n = draw_layout_hosts(l, leaf);
    uint32_t cols = n < out->across ? n : out->across;

    for (uint32_t i = 0; i < n; i++) {
        out->x[l->hosts[i]] =
            out->x[leaf] + (i % cols - (cols - 1) / 2.) * (l->host_w + 2);
        out->y[l->hosts[i]] = out->y[leaf] + HOSTS_AT +
                              i / cols * (double)(DRAW_HOST_H + HOST_GAP);
    }
}

static void place_rows(struct draw_layout *l, struct draw_layers *out)
{
    for (unsigned level = l->top; level > 0; level--) {
        double each = out->width / row_length(l, level), at = each / 2;

        for (uint32_t i = 0; i < l->net->nnodes; i++) {
            if (!is_xbar_at(l, i, level))
                continue;
            out->x[i] = at;
            out->y[i] = (l->top - level) * (double)ROW;
            at += each;
            place_hosts(l, i, out);
        }
    }
}

bool draw_layers_make(struct draw_layout *l, uint32_t across,
                      struct draw_layers *out)
{
    uint32_t most = most_hosts(l), deep;

    *out = (struct draw_layers){.across = across < most ? across : most};
    deep = (most + out->across - 1) / out->across;
    out->width = width_of(l, out->across);
    out->height = l->top ? (l->top - 1) * (double)ROW + HOSTS_AT +
                               deep * (double)(DRAW_HOST_H + HOST_GAP)
                         : 0;
    out->x = calloc(l->net->nnodes + 1, sizeof(*out->x));
    out->y = calloc(l->net->nnodes + 1, sizeof(*out->y));
    if (!out->x || !out->y) {
        draw_layers_free(out);
        return false;
    }
    place_rows(l, out);
    return true;
}

bool draw_layers_fit(struct draw_layout *l, double width,
                     struct draw_layers *out)
{
    uint32_t across = most_hosts(l);

    if (across > DRAW_LAYOUT_ACROSS_MAX)
        across = DRAW_LAYOUT_ACROSS_MAX;
    while (across > 0 && width_of(l, across) > width)
        across--;
    *out = (struct draw_layers){.across = across};
    return across && draw_layers_make(l, across, out);
}

void draw_layers_free(struct draw_layers *layers)
{
    free(layers->x);
    free(layers->y);
    layers->x = layers->y = NULL;
}

/* ---- the whole ------------------------------------------------------------
 */

bool draw_layout_in_layers(const struct draw_layout *l)
{
    return l->net->nnodes - l->net->nhosts <= DRAW_LAYOUT_XBARS_MAX;
}

void draw_layout_free(struct draw_layout *l)
{
    if (!l)
        return;
    free(l->level);
    free(l->group);
    free(l->groups);
    free(l->hosts);
    free(l);
}

struct draw_layout *draw_layout_new(const struct net *net)
{
    struct draw_layout *l = calloc(1, sizeof(*l));
    size_t n = net->nnodes + 1;
    uint32_t *queue = malloc(n * sizeof(*queue));

    if (l) {
        l->net = net;
        l->level = calloc(n, sizeof(*l->level));
        l->group = malloc(n * sizeof(*l->group));
        l->groups = calloc(n, sizeof(*l->groups));
        l->hosts = malloc(n * sizeof(*l->hosts));
    }
    if (!queue || !l || !l->level || !l->group || !l->groups || !l->hosts) {
        free(queue);
        draw_layout_free(l);
        return NULL;
    }
    find_levels(l, queue);
    find_groups(l, queue);
    find_host_width(l);
    free(queue);
    return l;
}
