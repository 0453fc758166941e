/* SPDX-License-Identifier: BSD-3-Clause
 * Drawings of large nets: virtual switches and bundles of cables.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net/draw_priv.h"
#include "net/hostlist.h"

/* More leaves than this do not stand in one row: a circle. */
#define ROW_MAX 40
/* A leaf's list of hosts is cut after so many bytes. */
#define LABEL_MAX 60

/* A list of names, compressed; `many` instead of one that is too long. */
static void write_names(struct drawer *d, const char **names, uint32_t n,
                        const char *many)
{
    struct bytebuf list;

    bytebuf_init(&list, SF_NET_FILE_MAX);
    if (net_hostlist_compress(names, n, &list)) {
        bytebuf_add(&list, "", 1);
        draw_quoted(bytebuf_len(&list) > LABEL_MAX
                        ? many
                        : (const char *)bytebuf_data(&list),
                    d->out);
    }
    bytebuf_free(&list);
}

static void write_hosts(struct drawer *d, const struct net_vswitch *s)
{
    const char **names = malloc((s->nhosts + 1) * sizeof(*names));
    char many[32];

    snprintf(many, sizeof(many), "%u hosts", s->nhosts);
    for (uint32_t i = 0; names && i < s->nhosts; i++)
        names[i] = d->net->nodes[d->topo->hosts[s->first + i]].name;
    if (names)
        write_names(d, names, s->nhosts, many);
    free(names);
}

/* A group goes by the names of its crossbars, or by the first of them. */
static void write_group(struct drawer *d, uint32_t sw, uint32_t xbars)
{
    const char **names = malloc((xbars + 1) * sizeof(*names));
    char many[SF_NET_NAME_MAX + 16] = "";
    uint32_t n = 0;

    for (uint32_t i = 0; names && i < d->net->nnodes && n < xbars; i++)
        if (d->topo->of[i] == sw && !net_is_host(d->net, i))
            names[n++] = d->net->nodes[i].name;
    if (n > 0) {
        snprintf(many, sizeof(many), "%s ...", names[0]);
        write_names(d, names, n, many);
    }
    free(names);
    bytebuf_printf(d->out, "\\n%u crossbar%s", xbars, xbars == 1 ? "" : "s");
}

/* What the parts of a virtual switch are like, and how many crossbars. */
static enum net_paint gather(const struct drawer *d, uint32_t sw,
                             uint32_t *xbars)
{
    enum net_paint how = NET_FINE;

    *xbars = 0;
    for (uint32_t n = 0; n < d->net->nnodes; n++) {
        if (d->topo->of[n] != sw)
            continue;
        *xbars += !net_is_host(d->net, n);
        how = draw_worse(how, draw_paint(d, n, NET_NONE));
    }
    return how;
}

static void draw_vswitch(struct drawer *d, uint32_t i)
{
    const struct net_vswitch *s = &d->topo->sw[i];
    uint32_t xbars;
    enum net_paint how = gather(d, i, &xbars);

    bytebuf_printf(d->out,
                   "  v%u [shape=box,color=\"%s\",fillcolor=\"%s\",label=\"", i,
                   draw_colours[how], draw_fills[how]);
    if (s->xbar != NET_NONE) {
        draw_quoted(d->net->nodes[s->xbar].name, d->out);
        bytebuf_printf(d->out, "\\n");
        write_hosts(d, s);
    } else {
        write_group(d, i, xbars);
    }
    bytebuf_printf(d->out, "\"];\n");
}

struct bundle {
    uint32_t a, b;
    enum net_paint how;
};

static int by_ends(const void *va, const void *vb)
{
    const struct bundle *x = va, *y = vb;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* One bundle for each cable that leaves a virtual switch, upper end first. */
static uint32_t list_bundles(const struct drawer *d, struct bundle *b)
{
    const struct net *net = d->net;
    uint32_t n = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, x, y;

        if (q == NET_NONE || q < p)
            continue;
        x = d->topo->of[net->ports[p].node];
        y = d->topo->of[net->ports[q].node];
        if (x == NET_NONE || y == NET_NONE || x == y)
            continue;
        b[n++] = (struct bundle){
            .a = x < y ? x : y,
            .b = x < y ? y : x,
            .how = draw_worse(
                draw_paint(d, net->ports[p].node, net_port_number(net, p)),
                draw_paint(d, net->ports[q].node, net_port_number(net, q)))};
    }
    qsort(b, n, sizeof(*b), by_ends);
    return n;
}

static bool draw_bundles(struct drawer *d)
{
    struct bundle *b = malloc((d->net->ncables + 1) * sizeof(*b));
    uint32_t n, k;

    if (!b)
        return false;
    n = list_bundles(d, b);
    for (uint32_t i = 0; i < n; i = k) {
        enum net_paint how = NET_FINE;

        for (k = i; k < n && b[k].a == b[i].a && b[k].b == b[i].b; k++)
            how = draw_worse(how, b[k].how);
        draw_line(d, "v", b[i].a, b[i].b, k - i, how);
    }
    free(b);
    return true;
}

bool draw_collapsed(struct drawer *d)
{
    uint32_t leaves = 0;

    for (uint32_t i = 0; i < d->topo->nsw; i++)
        leaves += d->topo->sw[i].xbar != NET_NONE;
    draw_begin(d, leaves > ROW_MAX);
    if (leaves > ROW_MAX && d->topo->sw[0].parent == NET_NONE)
        bytebuf_printf(d->out, "  graph [root=v0];\n");
    for (uint32_t i = 0; i < d->topo->nsw; i++)
        draw_vswitch(d, i);
    return draw_bundles(d);
}
