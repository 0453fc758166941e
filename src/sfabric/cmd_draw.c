/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric draw [--all|--collapsed] [--dot] [--health] [FILE]: the fabric as a
 * picture, SVG or the graph for graphviz's dot, on standard output.  Without a
 * net file the map comes from mapperd.  Health is painted on when switchmgrd
 * answers; on a file's net with --health only, for it may be of another fabric.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/jsonx.h"
#include "health/report.h"
#include "net/draw.h"
#include "sfabric/netsource.h"

struct wishes {
    struct net_drawing how;
    bool dot, health;
    const char *file;
};

/* Colour per node; cables are painted by their ends. */
struct health {
    const struct net *net;
    uint8_t *node;
    uint8_t *port;
};

/* ---- health -----------------------------------------------------------------
 */

static enum net_paint paint_of(const char *state)
{
    if (!state || strcmp(state, "unknown") == 0)
        return NET_UNSURE;
    if (strcmp(state, "healthy") == 0)
        return NET_FINE;
    return strcmp(state, "down") == 0 ? NET_DEAD : NET_HURT;
}

static uint32_t xbar_with_id(const struct net *net, uint64_t id)
{
    for (uint32_t i = 0; i < net->nnodes; i++)
        if (net->nodes[i].kind == NET_XBAR && net->nodes[i].id == id)
            return i;
    return NET_NONE;
}

/* A node of the net by what a report calls it: a host has a board, a crossbar
 * its id or, without one, its place in the map, of which the map's text makes a
 * name that counts from the hosts on. */
static uint32_t node_called(const struct net *net, const char *name,
                            uint64_t board)
{
    char plain[SF_NET_NAME_MAX];
    uint32_t at = net_find_name(net, name);
    unsigned long long number;

    if (at == NET_NONE && board)
        at = net_find_host(net, board);
    if (at == NET_NONE && sscanf(name, "x%16llx", &number) == 1)
        at = xbar_with_id(net, number);
    if (at == NET_NONE && sscanf(name, REPORT_ANON "%llu", &number) == 1) {
        snprintf(plain, sizeof(plain), "x%u", (uint32_t)number - net->nhosts);
        at = net_find_name(net, plain);
    }
    return at;
}

/* Both ends of the cable in a port: a host's state is that of its cable. */
static void put_cable(struct health *h, uint32_t node, unsigned long port,
                      enum net_paint p)
{
    uint32_t at;

    if (!net_is_host(h->net, node))
        port -= h->net->first_port;
    if (port >= h->net->nodes[node].nports)
        return;
    at = h->net->nodes[node].first + (uint32_t)port;
    h->port[at] = p;
    if (h->net->ports[at].peer != NET_NONE)
        h->port[h->net->ports[at].peer] = p;
}

/* "NAME" or "NAME:PORT" of an item. */
static void put_paint(struct health *h, const char *name, uint64_t board,
                      enum net_paint p)
{
    char node[SF_NET_NAME_MAX];
    size_t n = strcspn(name, ":");
    uint32_t at;
    unsigned long port = 0;

    if (n == 0 || n >= sizeof(node))
        return;
    memcpy(node, name, n);
    node[n] = '\0';
    at = node_called(h->net, node, board);
    if (at == NET_NONE)
        return;
    if (name[n])
        port = strtoul(name + n + 1, NULL, 10);
    else
        h->node[at] = p;
    if (name[n] || net_is_host(h->net, at))
        put_cable(h, at, port, p);
}

static void put_item(struct health *h, struct json_object *o)
{
    enum net_paint p = paint_of(jsonx_str(o, "state", 32));
    const char *name = jsonx_str(o, "name", SF_NET_NAME_MAX);
    const char *board = jsonx_str(o, "board", 32);
    const char *kind = jsonx_str(o, "kind", 32);
    const char *peer = jsonx_str(o, "peer", SF_NET_NAME_MAX);

    if (name)
        put_paint(h, name, board ? strtoull(board, NULL, 16) : 0, p);
    if (peer && kind && strcmp(kind, "link") == 0)
        put_paint(h, peer, 0, p);
}

static void put_list(struct health *h, struct json_object *reply,
                     const char *key)
{
    size_t n = 0;
    struct json_object *list = jsonx_array(reply, key, &n);

    for (size_t i = 0; i < n; i++)
        put_item(h, json_object_array_get_idx(list, i));
}

static enum net_paint painted(void *arg, const struct net *net, uint32_t node,
                              uint32_t port)
{
    const struct health *h = arg;

    return port == NET_NONE ? h->node[node]
                            : h->port[net->nodes[node].first + port];
}

/* What switchmgrd says, if it is there; a fabric without one is drawn too.
 * --socket is mapperd's where it gives the map. */
/* False: it did not answer. */
static bool ask_health(struct health *h, const struct sfabric_options *options,
                       bool has_file)
{
    static const char *const kinds[] = {"host", "link", "xbar"};
    struct sfabric_options own = *options, *o = &own;

    if (!has_file)
        own.socket = NULL;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct json_object *request = json_object_new_object(), *reply;

        jsonx_add_str(request, "kind", kinds[i]);
        reply = sfabric_ask(o, "switchmgrd", "items", request);
        if (!reply)
            return false;
        put_list(h, reply, "items");
        json_object_put(reply);
    }
    return true;
}

/* ---- the picture ------------------------------------------------------------
 */

static int draw(const struct net *net, const struct wishes *w)
{
    struct bytebuf out;
    int rc = SFABRIC_OK;

    bytebuf_init(&out, 8UL * SF_NET_FILE_MAX);
    if (!(w->dot ? net_write_dot : net_write_svg)(net, &w->how, &out) ||
        out.bad)
        rc = sfabric_fail("out of memory");
    else if (fwrite(bytebuf_data(&out), 1, bytebuf_len(&out), stdout) !=
             bytebuf_len(&out))
        rc = sfabric_fail("standard output: %m");
    bytebuf_free(&out);
    return rc;
}

/* What the picture says of the health on it. */
static void say_health(bool asked, bool answered, char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (!asked)
        snprintf(text, size, "Nobody was asked for its health: all is grey.");
    else if (!answered)
        snprintf(text, size,
                 "switchmgrd does not answer: nothing is known of its health, "
                 "all is grey.");
    else if (!localtime_r(&now, &tm) ||
             strftime(text, size, "Health as of %Y-%m-%d %H:%M:%S.", &tm) == 0)
        snprintf(text, size, "Health as of now.");
}

enum { OPT_ALL = 0x1000, OPT_COLLAPSED, OPT_DOT, OPT_HEALTH };

static const struct option options[] = {
    {"all", no_argument, NULL, OPT_ALL},
    {"collapsed", no_argument, NULL, OPT_COLLAPSED},
    {"dot", no_argument, NULL, OPT_DOT},
    {"health", no_argument, NULL, OPT_HEALTH},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    (void)value;
    if (val == OPT_ALL || val == OPT_COLLAPSED)
        w->how.what = val == OPT_ALL ? NET_DRAW_ALL : NET_DRAW_COLLAPSED;
    w->dot |= val == OPT_DOT;
    w->health |= val == OPT_HEALTH;
    return true;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct wishes w = {.how = {.what = NET_DRAW_AUTO}};
    struct health h = {0};
    struct net *net;
    char title[160], says[128];
    bool asked, answered = false;
    int rc;

    if (sfabric_parse(&cmd_draw, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    w.file = argv[1];
    if (o->format)
        return sfabric_fail("-o is for lists; a picture goes to standard "
                            "output: sfabric draw >%s",
                            o->format);
    net = sfabric_net(o, w.file);
    if (!net)
        return SFABRIC_UNKNOWN;
    if (net->nnodes == 0)
        sfabric_fail("%s has neither hosts nor crossbars",
                     w.file ? w.file : "mapperd's map");
    h.net = net;
    h.node = calloc(net->nnodes + 1, 1);
    h.port = calloc(net->nports + 1, 1);
    asked = h.node && h.port && (!w.file || w.health);
    if (asked) {
        memset(h.node, NET_UNSURE, net->nnodes);
        memset(h.port, NET_UNSURE, net->nports);
        answered = ask_health(&h, o, w.file != NULL);
        w.how.paint = painted;
        w.how.arg = &h;
    }
    say_health(asked, answered, says, sizeof(says));
    snprintf(title, sizeof(title), "Fabric of %s",
             w.file ? w.file : "mapperd's map");
    w.how.title = title;
    w.how.health = says;
    rc = draw(net, &w);
    free(h.node);
    free(h.port);
    net_free(net);
    return rc;
}

const struct sfabric_cmd cmd_draw = {
    .name = "draw",
    .args = "[--all|--collapsed] [--dot] [--health] [FILE]",
    .help = "a picture of the fabric or of a net file, as SVG",
    .options = options,
    .take = take,
    .most = 1,
    .run = run,
};
