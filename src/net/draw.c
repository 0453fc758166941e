/* SPDX-License-Identifier: BSD-3-Clause
 * Drawings: all of a net, or with groups of crossbars as one.  See draw.h.
 */
#include "net/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/host_names.h"
#include "net/topo.h"

struct drawer {
    const struct net *net;
    const struct net_drawing *how;
    const struct net_topo *topo;
    struct bytebuf *out;
};

/* By enum net_paint. */
extern const char *const draw_colours[], *const draw_fills[];

static enum net_paint draw_paint(const struct drawer *d, uint32_t node,
                                 uint32_t port);
static enum net_paint draw_worse(enum net_paint a, enum net_paint b);
static void draw_quoted(const char *text, struct bytebuf *out);
static void draw_line(struct drawer *d, const char *kind, uint32_t a,
                      uint32_t b, unsigned cables, enum net_paint how);
static void draw_begin(struct drawer *d, bool circle);

/* ---- draw all ---------------------------------------------------------- */

/* Drawings of a whole net: each crossbar, with its hosts. */

static unsigned level_of(const struct drawer *d, uint32_t n)
{
    uint32_t sw = d->topo->of[n];

    return sw == NET_NONE ? 0 : d->topo->sw[sw].level;
}

static void write_html(const char *text, struct bytebuf *out)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            bytebuf_printf(out, "&#%d;", *text);
        else
            bytebuf_add(out, (unsigned char)*text < ' ' ? "?" : text, 1);
    }
}

static void write_row(struct drawer *d, uint32_t n, enum net_paint how,
                      const char *format)
{
    bytebuf_printf(d->out, "<TR><TD BGCOLOR=\"%s\" COLOR=\"%s\">",
                   draw_fills[how], draw_colours[how]);
    bytebuf_add(d->out, format, strlen(format));
    write_html(d->net->nodes[n].name, d->out);
    bytebuf_add(d->out, "</B>", *format ? 4 : 0);
    bytebuf_printf(d->out, "</TD></TR>");
}

/* A crossbar is a column: its name, then the hosts on it. */
static void draw_xbar(struct drawer *d, uint32_t n)
{
    bytebuf_printf(d->out,
                   "  n%u [shape=plain,label=<<TABLE BORDER=\"0\" "
                   "CELLBORDER=\"1\" CELLSPACING=\"0\">",
                   n);
    write_row(d, n, draw_paint(d, n, NET_NONE), "<B>");
    for (unsigned p = 0; p < d->net->nodes[n].nports; p++) {
        uint32_t h = net_peer_node(d->net, n, p);

        if (h != NET_NONE && net_is_host(d->net, h))
            write_row(d, h,
                      draw_worse(
                          draw_paint(d, h, NET_NONE),
                          draw_worse(draw_paint(d, n, p), draw_paint(d, h, 0))),
                      "");
    }
    bytebuf_printf(d->out, "</TABLE>>];\n");
}

/* Hosts stand in their crossbar; one without stands alone. */
static void draw_node(struct drawer *d, uint32_t n)
{
    uint32_t at = net_peer_node(d->net, n, 0);
    enum net_paint how = draw_paint(d, n, NET_NONE);

    if (!net_is_host(d->net, n)) {
        draw_xbar(d, n);
    } else if (at == NET_NONE || net_is_host(d->net, at)) {
        bytebuf_printf(d->out,
                       "  n%u [shape=ellipse,color=\"%s\",fillcolor=\"%s\","
                       "label=\"",
                       n, draw_colours[how], draw_fills[how]);
        draw_quoted(d->net->nodes[n].name, d->out);
        bytebuf_printf(d->out, "\"];\n");
    }
}

/* Cables from n's ports on to the node behind port p, if p is the first of
 * them and n the lower of the two. */
static void draw_cables(struct drawer *d, uint32_t n, unsigned p)
{
    uint32_t to = net_peer_node(d->net, n, p);
    enum net_paint how = NET_FINE;
    unsigned cables = 0;

    if (to == NET_NONE || to < n ||
        net_is_host(d->net, n) != net_is_host(d->net, to))
        return;
    for (unsigned k = 0; k < d->net->nodes[n].nports; k++) {
        if (net_peer_node(d->net, n, k) != to)
            continue;
        if (k < p)
            return;
        how = draw_worse(how, draw_paint(d, n, k));
        how = draw_worse(how, draw_paint(d, to, net_peer_port(d->net, n, k)));
        cables++;
    }
    /* dot draws the first of the two above. */
    if (level_of(d, to) > level_of(d, n))
        draw_line(d, "n", to, n, cables, how);
    else
        draw_line(d, "n", n, to, cables, how);
}

/* One row, in the order of the net: invisible lines hold it.  Of a row of one
 * crossbar the crossbar itself would be invisible. */
static void draw_rank(struct drawer *d, unsigned level)
{
    unsigned count = 0;

    bytebuf_printf(d->out, "  { rank=same;");
    for (uint32_t n = 0; n < d->net->nnodes; n++)
        if (!net_is_host(d->net, n) && level_of(d, n) == level)
            bytebuf_printf(d->out, "%s n%u", count++ ? " --" : "", n);
    bytebuf_printf(d->out, "%s }\n",
                   count > 1    ? " [style=invis];"
                   : count == 1 ? ";"
                                : "");
}

static void draw_ranks(struct drawer *d)
{
    unsigned top = 0;

    for (uint32_t i = 0; i < d->topo->nsw; i++)
        if (d->topo->sw[i].level > top)
            top = d->topo->sw[i].level;
    for (unsigned level = top; level > 0; level--)
        draw_rank(d, level);
}

/* Higher crossbars have higher levels, and dot wants them first. */
static void draw_all(struct drawer *d)
{
    draw_begin(d, false);
    for (uint32_t n = 0; n < d->net->nnodes; n++)
        draw_node(d, n);
    draw_ranks(d);
    for (uint32_t n = 0; n < d->net->nnodes; n++)
        for (unsigned p = 0; p < d->net->nodes[n].nports; p++)
            draw_cables(d, n, p);
}

/* ---- draw collapsed ---------------------------------------------------- */

/* Drawings of large nets: virtual switches and bundles of cables. */

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
    if (host_names_compress(names, n, &list)) {
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

/* False: no memory. */
static bool draw_collapsed(struct drawer *d)
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

/* ---- draw -------------------------------------------------------------- */

const char *const draw_colours[] = {"#2e7d32", "#9e9e9e", "#ef6c00", "#c62828"};
const char *const draw_fills[] = {"#e8f5e9", "#eeeeee", "#ffe0b2", "#ffcdd2"};

/* Of a node (port NET_NONE), or of the cable at its port. */
static enum net_paint draw_paint(const struct drawer *d, uint32_t node,
                                 uint32_t port)
{
    if (!d->how->paint)
        return NET_UNSURE;
    return d->how->paint(d->how->arg, d->net, node, port);
}

static enum net_paint draw_worse(enum net_paint a, enum net_paint b)
{
    return a > b ? a : b;
}

/* Inside of "". */
static void draw_quoted(const char *text, struct bytebuf *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bytebuf_add(out, "\\", 1);
        bytebuf_add(out, (unsigned char)*text < ' ' ? "?" : text, 1);
    }
}

/* Several cables between the same two: a thicker line and their number,
 * beside it where there is room, else for the mouse.  kind: "n" for nodes, "v"
 * for virtual switches. */
static void draw_line(struct drawer *d, const char *kind, uint32_t a,
                      uint32_t b, unsigned cables, enum net_paint how)
{
    bytebuf_printf(d->out, "  %s%u -- %s%u [color=\"%s\"", kind, a, kind, b,
                   draw_colours[how]);
    if (*kind == 'n')
        bytebuf_printf(d->out, ",tailport=s,headport=n,tooltip=\"%u cable%s\"",
                       cables, cables == 1 ? "" : "s");
    if (cables > 1)
        bytebuf_printf(d->out, ",penwidth=%.1f",
                       1 + 0.2 * (cables < 16 ? cables : 16));
    if (cables > 1 && *kind == 'v')
        bytebuf_printf(d->out, ",label=\"%u\"", cables);
    bytebuf_printf(d->out, how == NET_DEAD ? ",style=dashed];\n" : "];\n");
}

/* Opens the graph. */
static void draw_begin(struct drawer *d, bool circle)
{
    bytebuf_printf(d->out,
                   "graph fabric {\n"
                   "  graph [%s,fontname=\"Helvetica\"];\n"
                   "  node [fontname=\"Helvetica\",fontsize=10,style=filled,"
                   "fillcolor=\"#ffffff\"];\n"
                   "  edge [fontname=\"Helvetica\",fontsize=8];\n",
                   circle ? "layout=twopi,ranksep=3,overlap=false"
                          : "rankdir=TB,ranksep=1.2,nodesep=0.3");
}

bool net_write_dot(const struct net *net, const struct net_drawing *drawing,
                   struct bytebuf *out)
{
    static const struct net_drawing plain;
    struct drawer d = {
        .net = net, .how = drawing ? drawing : &plain, .out = out};
    struct net_topo *topo = net_topo_new(net, 0);
    bool ok = topo != NULL;

    if (!ok)
        return false;
    d.topo = topo;
    if (d.how->what == NET_DRAW_COLLAPSED ||
        (d.how->what == NET_DRAW_AUTO && net->nhosts > NET_DRAW_ALL_MAX))
        ok = draw_collapsed(&d);
    else
        draw_all(&d);
    bytebuf_printf(out, "}\n");
    net_topo_free(topo);
    return ok;
}
