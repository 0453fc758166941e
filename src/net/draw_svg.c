/* SPDX-License-Identifier: BSD-3-Clause
 * A fabric as SVG, laid out as the web page does (doc/web.md): see draw.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/draw.h"
#include "net/draw_layout.h"

#define PAGE_WIDTH 1400 /* what the layers must fit into */
#define MARGIN 20
#define HEAD 84         /* title and legend */
#define LEAST_WIDTH 560 /* for its title */
#define XBAR_W DRAW_XBAR_W
#define XBAR_H DRAW_XBAR_H
#define PORTS_MAX 128 /* more cables than this: no numbers at their ends */
#define CELLS_MAX (64u << 20)

struct picture {
    const struct net *net;
    const struct net_drawing *how;
    struct bytebuf *out;
    struct draw_layout *l;
    struct draw_layers at; /* when each crossbar is drawn */
};

static const char *const words[] = {"healthy", "not known",
                                    "degraded or flapping", "down"};
static const char *const classes[] = {"h", "u", "d", "x"};

/* ---- pieces ---------------------------------------------------------------
 */

/* At most `most` letters of it, whole when it fits. */
static void put_text(struct bytebuf *out, const char *text, size_t most)
{
    size_t len = strlen(text);
    bool cut = len > most;

    for (size_t i = 0; i < (cut ? most - 1 : len); i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '<' || c == '>' || c == '&')
            bytebuf_printf(out, "&#%d;", c);
        else if (c < ' ' || c == 127)
            bytebuf_printf(out, "?");
        else
            bytebuf_add(out, text + i, 1);
    }
    if (cut)
        bytebuf_printf(out, "&#8230;");
}

static enum net_paint paint(const struct picture *p, uint32_t node,
                            uint32_t port)
{
    if (!p->how->paint)
        return NET_UNSURE;
    return p->how->paint(p->how->arg, p->net, node, port);
}

static enum net_paint worse(enum net_paint a, enum net_paint b)
{
    return a > b ? a : b;
}

/* Of a cable, by both of its ends. */
static enum net_paint cable_paint(const struct picture *p, uint32_t port)
{
    const struct net *net = p->net;
    uint32_t peer = net->ports[port].peer;

    return worse(paint(p, net->ports[port].node, net_port_number(net, port)),
                 paint(p, net->ports[peer].node, net_port_number(net, peer)));
}

static enum net_paint host_paint(const struct picture *p, uint32_t host)
{
    enum net_paint how = paint(p, host, NET_NONE);

    if (net_peer_node(p->net, host, 0) != NET_NONE)
        how = worse(how, cable_paint(p, p->net->nodes[host].first));
    return how;
}

static bool is_between(const struct net *net, uint32_t port)
{
    uint32_t peer = net->ports[port].peer;

    return peer != NET_NONE && peer > port &&
           !net_is_host(net, net->ports[port].node) &&
           !net_is_host(net, net->ports[peer].node);
}

static void put_end(const struct picture *p, uint32_t port)
{
    put_text(p->out, p->net->nodes[p->net->ports[port].node].name,
             SF_NET_NAME_MAX);
    bytebuf_printf(p->out, ":%u", net_port_called(p->net, port));
}

static void put_cable_title(const struct picture *p, uint32_t port,
                            enum net_paint how)
{
    bytebuf_printf(p->out, "<title>");
    put_end(p, port);
    bytebuf_printf(p->out, " - ");
    put_end(p, p->net->ports[port].peer);
    bytebuf_printf(p->out, ", %s</title>", words[how]);
}

static void put_box(const struct picture *p, uint32_t node, double x, double y,
                    double w, double h, enum net_paint how)
{
    uint32_t at =
        net_is_host(p->net, node) ? net_peer_node(p->net, node, 0) : NET_NONE;
    const char *name = p->net->nodes[node].name;

    bytebuf_printf(p->out,
                   "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\" rx=\"3\" class=\"%s\"/><text x=\"%.1f\" "
                   "y=\"%.1f\" class=\"on\">",
                   x, y, w, h, classes[how], x + w / 2, y + h / 2 + 4);
    put_text(p->out, name, (size_t)((w - 2) / 6.4) + 1);
    bytebuf_printf(p->out, "</text><title>%s ",
                   net_is_host(p->net, node) ? "node" : "switch");
    put_text(p->out, name, SF_NET_NAME_MAX);
    if (at != NET_NONE) {
        bytebuf_printf(p->out, " on ");
        put_end(p, p->net->ports[p->net->nodes[node].first].peer);
    }
    bytebuf_printf(p->out, ", %s</title></g>\n", words[how]);
}

/* ---- head and foot --------------------------------------------------------
 */

static void put_head(const struct picture *p, double width, double height)
{
    uint32_t cables = 0, at = MARGIN;

    for (uint32_t i = 0; i < p->net->nports; i++)
        cables +=
            p->net->ports[i].peer != NET_NONE && p->net->ports[i].peer > i;
    width += 2 * MARGIN;
    height += HEAD + MARGIN;
    bytebuf_printf(
        p->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<style>"
        "svg{background:#fff}text{font:11px system-ui,\"DejaVu "
        "Sans\",sans-serif;fill:#1b2430}.t{font-size:17px;font-weight:600}"
        ".s,.p{fill:#566172}.p{font-size:8px;text-anchor:middle;stroke:#fff;"
        "stroke-width:3px;"
        "paint-order:stroke}"
        ".on{fill:#fff;text-anchor:middle}.e{text-anchor:end}"
        ".h{fill:#2b7a5b}.u{fill:#6a7380}.d{fill:#955f00}.x{fill:#c01f2e}"
        "path{fill:none;stroke-width:1.2}path.h{fill:none;stroke:#2b7a5b}"
        "path.u{fill:none;stroke:#7a8696;stroke-dasharray:2 3}"
        "path.d{fill:none;stroke:#955f00;stroke-width:2.5}"
        "path.x{fill:none;stroke:#c01f2e;stroke-width:3;stroke-dasharray:6 3}"
        "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
        "<text class=\"t\" x=\"%d\" y=\"28\">",
        width, height, width, height, MARGIN);
    put_text(p->out, p->how->title ? p->how->title : "Fabric", 120);
    bytebuf_printf(p->out,
                   "</text>\n<text class=\"s\" x=\"%d\" y=\"48\">%u host%s, "
                   "%u crossbar%s, %u cable%s. ",
                   MARGIN, p->net->nhosts, p->net->nhosts == 1 ? "" : "s",
                   p->net->nnodes - p->net->nhosts,
                   p->net->nnodes - p->net->nhosts == 1 ? "" : "s", cables,
                   cables == 1 ? "" : "s");
    put_text(p->out,
             p->how->health ? p->how->health
                            : "Nothing is known of its health: all is grey.",
             200);
    bytebuf_printf(p->out, "</text>\n");
    for (int i = NET_FINE; i <= NET_DEAD; i++) {
        bytebuf_printf(p->out,
                       "<rect x=\"%u\" y=\"58\" width=\"12\" height=\"12\" "
                       "rx=\"2\" class=\"%s\"/><text class=\"s\" x=\"%u\" "
                       "y=\"68\">%s</text>\n",
                       at, classes[i], at + 17, words[i]);
        at += 40 + 7 * (unsigned)strlen(words[i]);
    }
    bytebuf_printf(p->out, "<g transform=\"translate(%d %d)\">\n", MARGIN,
                   HEAD);
}

/* What hangs on nothing, by its names. */
static uint32_t count_loose(const struct picture *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->net->nnodes; i++)
        n += net_is_host(p->net, i) ? net_peer_node(p->net, i, 0) == NET_NONE
                                    : p->l->level[i] == 0;
    return n;
}

static double loose_height(const struct picture *p, double width)
{
    uint32_t n = count_loose(p), cols = (uint32_t)(width / (XBAR_W + 4));

    return n ? 34 + (double)((n + cols - 1) / cols) * (XBAR_H + 4) : 0;
}

static void put_loose(const struct picture *p, double top, double width)
{
    uint32_t n = 0, cols = (uint32_t)(width / (XBAR_W + 4));

    if (count_loose(p) == 0)
        return;
    bytebuf_printf(p->out,
                   "<text class=\"s\" x=\"0\" y=\"%.1f\">Nodes without a cable "
                   "and switches that no node reaches</text>\n",
                   top + 22);
    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        if (net_is_host(p->net, i) ? net_peer_node(p->net, i, 0) != NET_NONE
                                   : p->l->level[i] != 0)
            continue;
        put_box(p, i, (n % cols) * (double)(XBAR_W + 4),
                top + 34 + (double)(n / cols) * (XBAR_H + 4), XBAR_W, XBAR_H,
                net_is_host(p->net, i) ? host_paint(p, i)
                                       : paint(p, i, NET_NONE));
        n++;
    }
}

/* ---- layers ---------------------------------------------------------------
 */

/* Which of the cables between these two crossbars it is, and of how many. */
static unsigned among(const struct net *net, uint32_t port, unsigned *of)
{
    uint32_t node = net->ports[port].node;
    uint32_t to = net->ports[net->ports[port].peer].node;
    unsigned at = 0, all = 0;

    for (unsigned k = 0; k < net->nodes[node].nports; k++) {
        if (net_peer_node(net, node, k) != to)
            continue;
        at += net->nodes[node].first + k < port;
        all++;
    }
    *of = all;
    return at;
}

/* Which ports of a's crossbar go to b's, a fifth of the way along. */
static void put_ports(const struct picture *p, uint32_t a, uint32_t b, double x,
                      double y, double to_x, double to_y)
{
    const struct net *net = p->net;
    uint32_t node = net->ports[a].node, to = net->ports[b].node;
    const char *comma = "";

    bytebuf_printf(p->out, "<text class=\"p\" x=\"%.1f\" y=\"%.1f\">",
                   x + (to_x - x) / 5, y + (to_y - y) / 5 + 3);
    for (unsigned k = 0; k < net->nodes[node].nports; k++) {
        if (net_peer_node(net, node, k) != to)
            continue;
        bytebuf_printf(p->out, "%s%u", comma,
                       net_port_called(net, net->nodes[node].first + k));
        comma = ",";
    }
    bytebuf_printf(p->out, "</text>");
}

static void put_between(const struct picture *p, uint32_t port, bool numbers)
{
    const struct net *net = p->net;
    uint32_t peer = net->ports[port].peer, a = port, b = peer;
    enum net_paint how = cable_paint(p, port);
    unsigned all, at = among(net, port, &all);
    double off = (at - (all - 1) / 2.) * 6, ax, bx, ay, by;

    if (p->at.y[net->ports[a].node] > p->at.y[net->ports[b].node]) {
        a = peer;
        b = port;
    }
    ax = p->at.x[net->ports[a].node] + off;
    bx = p->at.x[net->ports[b].node] + off;
    ay = p->at.y[net->ports[a].node];
    by = p->at.y[net->ports[b].node];
    if (ay == by) { /* within a row: above it */
        bytebuf_printf(p->out,
                       "<path class=\"%s\" d=\"M%.1f %.1f Q%.1f %.1f %.1f "
                       "%.1f\">",
                       classes[how], ax, ay, (ax + bx) / 2, ay - 46, bx, by);
    } else {
        ay += XBAR_H;
        bytebuf_printf(p->out,
                       "<path class=\"%s\" d=\"M%.1f %.1f L%.1f %.1f\">",
                       classes[how], ax, ay, bx, by);
    }
    put_cable_title(p, port, how);
    bytebuf_printf(p->out, "</path>");
    if (numbers && at == all / 2) { /* of all between the two */
        put_ports(p, a, b, ax, ay, bx, by);
        put_ports(p, b, a, bx, by, ax, ay);
    }
    bytebuf_printf(p->out, "\n");
}

/* The hosts of a leaf; the first of each column has the line. */
static void put_hosts(const struct picture *p, uint32_t leaf)
{
    uint32_t n = draw_layout_hosts(p->l, leaf);
    uint32_t cols = n < p->at.across ? n : p->at.across;
    double w = p->l->host_w;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t host = p->l->hosts[i];
        enum net_paint how = NET_FINE;

        if (i < cols) {
            for (uint32_t k = i; k < n; k += cols)
                how = worse(how, host_paint(p, p->l->hosts[k]));
            bytebuf_printf(p->out,
                           "<path class=\"%s\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n",
                           classes[how], p->at.x[leaf], p->at.y[leaf] + XBAR_H,
                           p->at.x[host], p->at.y[host]);
        }
        put_box(p, host, p->at.x[host] - w / 2, p->at.y[host], w, DRAW_HOST_H,
                host_paint(p, host));
    }
}

static void draw_layers(struct picture *p)
{
    uint32_t cables = 0;
    double width = p->at.width > LEAST_WIDTH ? p->at.width : LEAST_WIDTH;
    double height = p->at.height + 24;

    for (uint32_t i = 0; i < p->net->nports; i++)
        cables += is_between(p->net, i);
    put_head(p, width, height + loose_height(p, width));
    for (uint32_t i = 0; i < p->net->nports; i++)
        if (is_between(p->net, i) && p->l->level[p->net->ports[i].node])
            put_between(p, i, cables <= PORTS_MAX);
    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        if (net_is_host(p->net, i) || p->l->level[i] == 0)
            continue;
        put_box(p, i, p->at.x[i] - XBAR_W / 2., p->at.y[i], XBAR_W, XBAR_H,
                paint(p, i, NET_NONE));
        put_hosts(p, i);
    }
    put_loose(p, height, width);
}

/* ---- groups and matrices --------------------------------------------------
 */

struct matrix {
    uint32_t rows, columns;
    uint32_t *row, *column; /* per node: which it is, or NET_NONE */
    uint8_t *cell;          /* 1 + paint of what is there */
};

/* The cables between what is a row and what is a column. */
static bool fill(const struct picture *p, struct matrix *m)
{
    const struct net *net = p->net;

    m->cell = (size_t)m->rows * m->columns < CELLS_MAX
                  ? calloc((size_t)m->rows * m->columns + 1, 1)
                  : NULL;
    for (uint32_t i = 0; m->cell && i < net->nports; i++) {
        uint32_t peer = net->ports[i].peer, r, c;
        uint8_t *cell, how;

        if (peer == NET_NONE || net_is_host(net, net->ports[i].node) ||
            net_is_host(net, net->ports[peer].node))
            continue;
        r = m->row[net->ports[i].node];
        c = m->column[net->ports[peer].node];
        if (r == NET_NONE || c == NET_NONE)
            continue;
        cell = &m->cell[(size_t)r * m->columns + c];
        how = (uint8_t)(1 + cable_paint(p, i));
        *cell = *cell > how ? *cell : how;
    }
    return m->cell != NULL;
}

static void put_cells(const struct picture *p, const struct matrix *m, double x,
                      double y, double w, double h)
{
    for (uint32_t r = 0; r < m->rows; r++) {
        for (uint32_t c = 0; c < m->columns; c++) {
            uint8_t how = m->cell[(size_t)r * m->columns + c];

            if (how)
                bytebuf_printf(p->out,
                               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                               "height=\"%.1f\" class=\"%s\"/>",
                               x + c * w, y + r * h, w - 1, h - 1,
                               classes[how - 1]);
        }
        bytebuf_printf(p->out, "\n");
    }
}

/* Groups by core crossbars; how high it is. */
static double draw_core(struct picture *p, struct matrix *m)
{
    double w, h = 14;

    m->rows = p->l->ngroups;
    m->columns = 0;
    memcpy(m->row, p->l->group, p->net->nnodes * sizeof(*m->row));
    for (uint32_t i = 0; i < p->net->nnodes; i++)
        m->column[i] = !net_is_host(p->net, i) && p->l->level[i] == p->l->top
                           ? m->columns++
                           : NET_NONE;
    if (p->l->top < 2 || m->columns == 0)
        return 0;
    if (!fill(p, m))
        return -1;
    w = m->columns > 96 ? 6 : m->columns > 40 ? 10 : 18;
    while (w > 2 && 110 + m->columns * w > PAGE_WIDTH)
        w--;
    bytebuf_printf(p->out, "<text class=\"s\" x=\"0\" y=\"12\">Groups by core "
                           "switches: the cables between them</text>\n");
    for (uint32_t g = 0; g < p->l->ngroups; g++) {
        bytebuf_printf(p->out, "<text class=\"s e\" x=\"100\" y=\"%.1f\">",
                       32 + g * h);
        put_text(p->out, p->l->groups[g].name, 15);
        bytebuf_printf(p->out, "</text>");
    }
    put_cells(p, m, 108, 22, w, h);
    free(m->cell);
    m->cell = NULL;
    return 22 + p->l->ngroups * h + 24;
}

#define CARD_W 330
#define CARD_STRIP 310
#define SMALL 6 /* a leaf by a spine of a group */
#define DOT 9

static double strip_height(uint32_t hosts)
{
    uint32_t cols = CARD_STRIP / DOT;

    return (double)((hosts + cols - 1) / cols) * DOT;
}

static double card_height(const struct draw_group *g)
{
    double small = g->nmids ? g->nleaves * (double)SMALL + 8 : 0;

    return 26 + strip_height(g->nhosts) + small + 14;
}

/* A group: its nodes, and its leaves by its spines. */
static bool put_card(struct picture *p, struct matrix *m, uint32_t g, double x,
                     double y)
{
    uint32_t n = 0, cols = CARD_STRIP / DOT, r = 0, c = 0;
    double small = SMALL;

    bytebuf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 14);
    put_text(p->out, p->l->groups[g].name, 30);
    bytebuf_printf(p->out, ": %u node%s</text>\n", p->l->groups[g].nhosts,
                   p->l->groups[g].nhosts == 1 ? "" : "s");
    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        bool mine = !net_is_host(p->net, i) && p->l->group[i] == g;
        uint32_t hosts = mine ? draw_layout_hosts(p->l, i) : 0;

        m->row[i] = mine && p->l->level[i] == 1 ? r++ : NET_NONE;
        m->column[i] = mine && p->l->level[i] > 1 ? c++ : NET_NONE;
        for (uint32_t k = 0; k < hosts; k++, n++) {
            enum net_paint how = host_paint(p, p->l->hosts[k]);

            bytebuf_printf(p->out,
                           "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" "
                           "height=\"7\" rx=\"1\" class=\"%s\"><title>",
                           x + n % cols * (double)DOT,
                           y + 22 + n / cols * (double)DOT, classes[how]);
            put_text(p->out, p->net->nodes[p->l->hosts[k]].name,
                     SF_NET_NAME_MAX);
            bytebuf_printf(p->out, ", %s</title></rect>", words[how]);
        }
    }
    bytebuf_printf(p->out, "\n");
    m->rows = r;
    m->columns = c;
    if (c == 0)
        return true;
    if (!fill(p, m))
        return false;
    while (small > 2 && c * small > CARD_STRIP)
        small--;
    put_cells(p, m, x, y + 28 + strip_height(n), small, SMALL);
    free(m->cell);
    m->cell = NULL;
    return true;
}

static double cards_height(const struct picture *p, uint32_t across)
{
    double all = 0, row = 0;

    for (uint32_t g = 0; g < p->l->ngroups; g++) {
        double h = card_height(&p->l->groups[g]);

        row = g % across == 0 || h > row ? h : row;
        if (g % across == across - 1 || g + 1 == p->l->ngroups)
            all += row;
    }
    return all;
}

static bool draw_cards(struct picture *p, struct matrix *m, double top,
                       uint32_t across)
{
    double row = 0;

    for (uint32_t g = 0; g < p->l->ngroups; g++) {
        double h = card_height(&p->l->groups[g]);

        if (!put_card(p, m, g, g % across * (double)(CARD_W + 20), top))
            return false;
        row = g % across == 0 || h > row ? h : row;
        if (g % across == across - 1) {
            top += row;
            row = 0;
        }
    }
    return true;
}

static bool draw_groups(struct picture *p)
{
    uint32_t across = PAGE_WIDTH / (CARD_W + 20);
    double core = p->l->top > 1 ? 46 + p->l->ngroups * 14. : 0, cards, at;
    size_t n = p->net->nnodes + 1;
    struct matrix m = {0};
    bool ok;

    m.row = malloc(n * sizeof(*m.row));
    m.column = malloc(n * sizeof(*m.column));
    ok = m.row && m.column;
    if (ok) {
        cards = cards_height(p, across);
        put_head(p, PAGE_WIDTH, core + cards + loose_height(p, PAGE_WIDTH));
        at = draw_core(p, &m);
        ok = at >= 0 && draw_cards(p, &m, core, across);
        put_loose(p, core + cards, PAGE_WIDTH);
    }
    free(m.row);
    free(m.column);
    free(m.cell);
    return ok;
}

/* ---- the whole ------------------------------------------------------------
 */

static bool draw(struct picture *p)
{
    bool all = p->how->what == NET_DRAW_ALL, ok;

    if (p->net->nnodes == 0) {
        put_head(p, LEAST_WIDTH, 40);
        bytebuf_printf(p->out, "<text x=\"0\" y=\"20\">The map is empty: there "
                               "are neither hosts nor crossbars.</text>\n");
        return true;
    }
    if (!all &&
        (p->how->what == NET_DRAW_COLLAPSED || !draw_layout_in_layers(p->l)))
        return draw_groups(p);
    ok = draw_layers_fit(p->l, PAGE_WIDTH, &p->at);
    if (!ok && p->at.across == 0)
        return all ? draw_layers_make(p->l, 1, &p->at) && (draw_layers(p), true)
                   : draw_groups(p);
    if (ok)
        draw_layers(p);
    return ok;
}

bool net_write_svg(const struct net *net, const struct net_drawing *drawing,
                   struct bytebuf *out)
{
    static const struct net_drawing plain;
    struct picture p = {
        .net = net, .how = drawing ? drawing : &plain, .out = out};
    bool ok;

    p.l = draw_layout_new(net);
    ok = p.l && draw(&p);
    bytebuf_printf(out, "</g>\n</svg>\n");
    draw_layers_free(&p.at);
    draw_layout_free(p.l);
    return ok;
}
