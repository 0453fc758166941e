/* SPDX-License-Identifier: BSD-3-Clause
 * Drawings of a whole net: each crossbar, with its hosts.
 */
#include <string.h>

#include "net/draw_priv.h"

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
void draw_all(struct drawer *d)
{
    draw_begin(d, false);
    for (uint32_t n = 0; n < d->net->nnodes; n++)
        draw_node(d, n);
    draw_ranks(d);
    for (uint32_t n = 0; n < d->net->nnodes; n++)
        for (unsigned p = 0; p < d->net->nodes[n].nports; p++)
            draw_cables(d, n, p);
}
