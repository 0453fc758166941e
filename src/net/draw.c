/* SPDX-License-Identifier: BSD-3-Clause
 * See draw.h.
 */
#include "net/draw_priv.h"

const char *const draw_colours[] = {"#2e7d32", "#9e9e9e", "#ef6c00", "#c62828"};
const char *const draw_fills[] = {"#e8f5e9", "#eeeeee", "#ffe0b2", "#ffcdd2"};

enum net_paint draw_paint(const struct drawer *d, uint32_t node, uint32_t port)
{
    if (!d->how->paint)
        return NET_UNSURE;
    return d->how->paint(d->how->arg, d->net, node, port);
}

enum net_paint draw_worse(enum net_paint a, enum net_paint b)
{
    return a > b ? a : b;
}

void draw_quoted(const char *text, struct bytebuf *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bytebuf_add(out, "\\", 1);
        bytebuf_add(out, (unsigned char)*text < ' ' ? "?" : text, 1);
    }
}

void draw_line(struct drawer *d, const char *kind, uint32_t a, uint32_t b,
               unsigned cables, enum net_paint how)
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

void draw_begin(struct drawer *d, bool circle)
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
