/* SPDX-License-Identifier: BSD-3-Clause
 * A fabric as SVG, laid out as the web page does (doc/web.md): see draw.h.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/draw.h"

#define PAGE_WIDTH 1400 /* what the layers must fit into */
#define MARGIN 20
#define HEAD 84 /* title and legend */
#define XBAR_W 62
#define XBAR_H 26
#define GAP 14
#define ROW 120
#define HOST_W 30
#define HOST_H 22
#define PORTS_MAX 128 /* more cables than this: no numbers at their ends */
#define CELLS_MAX (64u << 20)

struct group {
    uint32_t nleaves, nmids, nhosts;
};

struct picture {
    const struct net *net;
    const struct net_drawing *how;
    struct bytebuf *out;
    unsigned *level; /* per node: crossbars by their distance from hosts */
    unsigned top;
    uint32_t *group; /* per crossbar: its group, or NET_NONE */
    struct group *groups;
    uint32_t ngroups;
    double *x, *y;   /* per node: where its middle and its upper edge are */
    uint32_t *list;  /* hosts of one crossbar */
    uint32_t *queue; /* crossbars that are walked through */
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
    bytebuf_printf(p->out, ":%u", net_port_number(p->net, port));
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

/* ---- what is where --------------------------------------------------------
 */

static void find_levels(struct picture *p)
{
    const struct net *net = p->net;
    uint32_t *queue = p->queue, got = 0;

    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t at = net_is_host(net, n) ? net_peer_node(net, n, 0) : NET_NONE;

        if (at != NET_NONE && !net_is_host(net, at) && !p->level[at]) {
            p->level[at] = 1;
            queue[got++] = at;
        }
    }
    for (uint32_t i = 0; i < got; i++) {
        for (unsigned k = 0; k < net->nodes[queue[i]].nports; k++) {
            uint32_t to = net_peer_node(net, queue[i], k);

            if (to == NET_NONE || net_is_host(net, to) || p->level[to])
                continue;
            p->level[to] = p->level[queue[i]] + 1;
            queue[got++] = to;
        }
        if (p->level[queue[i]] > p->top)
            p->top = p->level[queue[i]];
    }
}

static int by_name(const void *a, const void *b, void *net)
{
    const struct net_node *nodes = ((const struct net *)net)->nodes;

    return strverscmp(nodes[*(const uint32_t *)a].name,
                      nodes[*(const uint32_t *)b].name);
}

/* The hosts of a crossbar into p->list, by their names; how many. */
static uint32_t hosts_of(const struct picture *p, uint32_t xbar)
{
    const struct net *net = p->net;
    uint32_t n = 0;

    for (unsigned k = 0; k < net->nodes[xbar].nports; k++) {
        uint32_t h = net_peer_node(net, xbar, k);

        if (h != NET_NONE && net_is_host(net, h))
            p->list[n++] = h;
    }
    qsort_r(p->list, n, sizeof(*p->list), by_name, (void *)net);
    return n;
}

static uint32_t row_length(const struct picture *p, unsigned level)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->net->nnodes; i++)
        n += !net_is_host(p->net, i) && p->level[i] == level;
    return n;
}

static uint32_t most_hosts(const struct picture *p)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        uint32_t n = p->level[i] == 1 ? hosts_of(p, i) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static double layers_width(const struct picture *p, uint32_t across)
{
    double leaf = across * HOST_W > XBAR_W ? across * HOST_W : XBAR_W;
    double width = row_length(p, 1) * (leaf + GAP);

    for (unsigned level = 2; level <= p->top; level++) {
        double w = row_length(p, level) * (double)(XBAR_W + GAP);

        width = w > width ? w : width;
    }
    return width > 560 ? width : 560;
}

/* How many hosts stand side by side below a leaf; 0: too wide for the page. */
static uint32_t hosts_across(const struct picture *p)
{
    uint32_t across = most_hosts(p);

    for (across = across < 4 ? across : 4; across > 0; across--)
        if (layers_width(p, across) <= PAGE_WIDTH)
            break;
    return across;
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
                                    : p->level[i] == 0;
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
                                   : p->level[i] != 0)
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

static void place_rows(struct picture *p, double width)
{
    for (unsigned level = p->top; level > 0; level--) {
        double each = width / row_length(p, level), at = each / 2;

        for (uint32_t i = 0; i < p->net->nnodes; i++) {
            if (net_is_host(p->net, i) || p->level[i] != level)
                continue;
            p->x[i] = at;
            p->y[i] = (p->top - level) * (double)ROW;
            at += each;
        }
    }
}

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
        bytebuf_printf(p->out, "%s%u", comma, k);
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

    if (p->y[net->ports[a].node] > p->y[net->ports[b].node]) {
        a = peer;
        b = port;
    }
    ax = p->x[net->ports[a].node] + off;
    bx = p->x[net->ports[b].node] + off;
    ay = p->y[net->ports[a].node];
    by = p->y[net->ports[b].node];
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

/* The hosts of a leaf below it, in columns; the first of each has the line. */
static void put_hosts(const struct picture *p, uint32_t leaf, uint32_t across)
{
    uint32_t n = hosts_of(p, leaf), cols = n < across ? n : across;

    for (uint32_t i = 0; i < n; i++) {
        double x = p->x[leaf] + (i % cols - (cols - 1) / 2.) * HOST_W;
        double y = p->y[leaf] + 58 + (double)(i / cols) * HOST_H;
        enum net_paint how = NET_FINE;

        if (i < cols) {
            for (uint32_t k = i; k < n; k += cols)
                how = worse(how, host_paint(p, p->list[k]));
            bytebuf_printf(p->out,
                           "<path class=\"%s\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n",
                           classes[how], p->x[leaf], p->y[leaf] + XBAR_H, x, y);
        }
        put_box(p, p->list[i], x - HOST_W / 2. + 1, y, HOST_W - 2, HOST_H - 4,
                host_paint(p, p->list[i]));
    }
}

static void draw_layers(struct picture *p, uint32_t across)
{
    uint32_t deep = (most_hosts(p) + across - 1) / across, cables = 0;
    double width = layers_width(p, across);
    double height = p->top * (double)ROW + deep * (double)HOST_H + 24;

    for (uint32_t i = 0; i < p->net->nports; i++)
        cables += is_between(p->net, i);
    put_head(p, width, height + loose_height(p, width));
    place_rows(p, width);
    for (uint32_t i = 0; i < p->net->nports; i++)
        if (is_between(p->net, i) && p->level[p->net->ports[i].node])
            put_between(p, i, cables <= PORTS_MAX);
    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        if (net_is_host(p->net, i) || p->level[i] == 0)
            continue;
        put_box(p, i, p->x[i] - XBAR_W / 2., p->y[i], XBAR_W, XBAR_H,
                paint(p, i, NET_NONE));
        put_hosts(p, i, across);
    }
    put_loose(p, height, width);
}

/* ---- groups and matrices --------------------------------------------------
 */

/* What hangs together below the highest level. */
static void find_groups(struct picture *p)
{
    const struct net *net = p->net;
    uint32_t *queue = p->queue;

    memset(p->group, 0xff, net->nnodes * sizeof(*p->group));
    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t got = 1;
        struct group *g;

        if (p->level[n] != 1 || p->group[n] != NET_NONE)
            continue;
        g = &p->groups[p->ngroups];
        *g = (struct group){0};
        p->group[n] = p->ngroups;
        queue[0] = n;
        for (uint32_t i = 0; i < got; i++) {
            g->nleaves += p->level[queue[i]] == 1;
            g->nmids += p->level[queue[i]] != 1;
            g->nhosts += hosts_of(p, queue[i]);
            for (unsigned k = 0; k < net->nodes[queue[i]].nports; k++) {
                uint32_t to = net_peer_node(net, queue[i], k);

                if (to == NET_NONE || net_is_host(net, to) ||
                    p->group[to] != NET_NONE ||
                    (p->level[to] >= p->top && p->top > 1))
                    continue;
                p->group[to] = p->ngroups;
                queue[got++] = to;
            }
        }
        p->ngroups++;
    }
}

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

static void group_name(const struct picture *p, uint32_t g, char *name,
                       size_t size)
{
    uint32_t n = 0;

    snprintf(name, size, "Group %u", g + 1);
    if (p->groups[g].nleaves != 1)
        return;
    while (n < p->net->nnodes && (p->group[n] != g || p->level[n] != 1))
        n++;
    if (n < p->net->nnodes)
        snprintf(name, size, "%s", p->net->nodes[n].name);
}

/* Groups by core crossbars; how high it is. */
static double draw_core(struct picture *p, struct matrix *m)
{
    double w, h = 14;
    char name[SF_NET_NAME_MAX];

    m->rows = p->ngroups;
    m->columns = 0;
    memcpy(m->row, p->group, p->net->nnodes * sizeof(*m->row));
    for (uint32_t i = 0; i < p->net->nnodes; i++)
        m->column[i] = !net_is_host(p->net, i) && p->level[i] == p->top
                           ? m->columns++
                           : NET_NONE;
    if (p->top < 2 || m->columns == 0)
        return 0;
    if (!fill(p, m))
        return -1;
    w = m->columns > 96 ? 6 : m->columns > 40 ? 10 : 18;
    while (w > 2 && 110 + m->columns * w > PAGE_WIDTH)
        w--;
    bytebuf_printf(p->out, "<text class=\"s\" x=\"0\" y=\"12\">Groups by core "
                           "switches: the cables between them</text>\n");
    for (uint32_t g = 0; g < p->ngroups; g++) {
        group_name(p, g, name, sizeof(name));
        bytebuf_printf(p->out, "<text class=\"s e\" x=\"100\" y=\"%.1f\">",
                       32 + g * h);
        put_text(p->out, name, 15);
        bytebuf_printf(p->out, "</text>");
    }
    put_cells(p, m, 108, 22, w, h);
    free(m->cell);
    m->cell = NULL;
    return 22 + p->ngroups * h + 24;
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

static double card_height(const struct group *g)
{
    double small = g->nmids ? g->nleaves * (double)SMALL + 8 : 0;

    return 26 + strip_height(g->nhosts) + small + 14;
}

/* A group: its nodes, and its leaves by its spines. */
static bool put_card(struct picture *p, struct matrix *m, uint32_t g, double x,
                     double y)
{
    char name[SF_NET_NAME_MAX];
    uint32_t n = 0, cols = CARD_STRIP / DOT, r = 0, c = 0;
    double small = SMALL;

    group_name(p, g, name, sizeof(name));
    bytebuf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 14);
    put_text(p->out, name, 30);
    bytebuf_printf(p->out, ": %u node%s</text>\n", p->groups[g].nhosts,
                   p->groups[g].nhosts == 1 ? "" : "s");
    for (uint32_t i = 0; i < p->net->nnodes; i++) {
        bool mine = !net_is_host(p->net, i) && p->group[i] == g;
        uint32_t hosts = mine ? hosts_of(p, i) : 0;

        m->row[i] = mine && p->level[i] == 1 ? r++ : NET_NONE;
        m->column[i] = mine && p->level[i] > 1 ? c++ : NET_NONE;
        for (uint32_t k = 0; k < hosts; k++, n++) {
            enum net_paint how = host_paint(p, p->list[k]);

            bytebuf_printf(p->out,
                           "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" "
                           "height=\"7\" rx=\"1\" class=\"%s\"><title>",
                           x + n % cols * (double)DOT,
                           y + 22 + n / cols * (double)DOT, classes[how]);
            put_text(p->out, p->net->nodes[p->list[k]].name, SF_NET_NAME_MAX);
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

    for (uint32_t g = 0; g < p->ngroups; g++) {
        double h = card_height(&p->groups[g]);

        row = g % across == 0 || h > row ? h : row;
        if (g % across == across - 1 || g + 1 == p->ngroups)
            all += row;
    }
    return all;
}

static bool draw_cards(struct picture *p, struct matrix *m, double top,
                       uint32_t across)
{
    double row = 0;

    for (uint32_t g = 0; g < p->ngroups; g++) {
        double h = card_height(&p->groups[g]);

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
    double core = p->top > 1 ? 46 + p->ngroups * 14. : 0, cards, at;
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
    uint32_t xbars = p->net->nnodes - p->net->nhosts, across;

    find_levels(p);
    if (p->net->nnodes == 0) {
        put_head(p, 560, 40);
        bytebuf_printf(p->out, "<text x=\"0\" y=\"20\">The map is empty: there "
                               "are neither hosts nor crossbars.</text>\n");
        return true;
    }
    across = p->how->what == NET_DRAW_COLLAPSED ? 0 : hosts_across(p);
    if (p->how->what == NET_DRAW_ALL && across == 0)
        across = 1;
    if (p->how->what == NET_DRAW_AUTO && xbars > NET_DRAW_XBARS_MAX)
        across = 0;
    if (across) {
        draw_layers(p, across);
        return true;
    }
    find_groups(p);
    return draw_groups(p);
}

bool net_write_svg(const struct net *net, const struct net_drawing *drawing,
                   struct bytebuf *out)
{
    static const struct net_drawing plain;
    struct picture p = {
        .net = net, .how = drawing ? drawing : &plain, .out = out};
    size_t n = net->nnodes + 1;
    bool ok;

    p.level = calloc(n, sizeof(*p.level));
    p.group = malloc(n * sizeof(*p.group));
    p.groups = calloc(n, sizeof(*p.groups));
    p.x = calloc(n, sizeof(*p.x));
    p.y = calloc(n, sizeof(*p.y));
    p.list = malloc(n * sizeof(*p.list));
    p.queue = malloc(n * sizeof(*p.queue));
    ok = p.level && p.group && p.groups && p.x && p.y && p.list && p.queue &&
         draw(&p);
    bytebuf_printf(out, "</g>\n</svg>\n");
    free(p.level);
    free(p.group);
    free(p.groups);
    free(p.x);
    free(p.y);
    free(p.list);
    free(p.queue);
    return ok;
}
