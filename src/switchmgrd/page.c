/* SPDX-License-Identifier: BSD-3-Clause
 * See page.h.
 */
#include "switchmgrd/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_names.h"
#include "base/jsonx.h"
#include "base/number.h"
#include "net/draw_layout.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/jobs.h"
#include "switchmgrd/page_files.h"

#define FRESH_MS 500 /* two browsers that ask at once are one look */
#define EVENTS 50

struct page {
    struct {
        char *text; /* NULL: no map yet */
        size_t len;
        unsigned version;
    } fabric[SF_ELAN_RAILS_MAX]; /* of each rail */
    char *health, *asked;        /* the last is a job */
    size_t health_len, asked_len;
    int64_t at; /* of the health */
};

struct page *page_new(void)
{
    return calloc(1, sizeof(struct page));
}

void page_free(struct page *p)
{
    if (!p)
        return;
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        free(p->fabric[rail].text);
    free(p->health);
    free(p->asked);
    free(p);
}

/* Its text on its own, or NULL. */
static char *take_text(struct json_object *o, size_t *len)
{
    const char *text = jsonx_text(o, len);
    char *copy = text ? malloc(*len + 1) : NULL;

    if (copy) {
        memcpy(copy, text, *len);
        copy[*len] = '\0';
    }
    json_object_put(o);
    return copy;
}

static void add_text(struct json_object *list, const char *text)
{
    json_object_array_add(list, json_object_new_string(text));
}

static void add_number(struct json_object *list, int64_t number)
{
    json_object_array_add(list, json_object_new_int64(number));
}

/* ---- the fabric ------------------------------------------------------------
 */

/* Crossbars are named by their place among crossbars. */
static int64_t place(const uint32_t *places, uint32_t node)
{
    return node == NET_NONE ? -1 : (int64_t)places[node];
}

/* [name, crossbar, port]; -1: no cable. */
static struct json_object *put_host(const struct net *net, uint32_t i,
                                    const uint32_t *places)
{
    struct json_object *o = json_object_new_array();
    uint32_t to = net_peer_node(net, i, 0), port = net->nodes[i].first;
    char board[32];

    if (to != NET_NONE && net_is_host(net, to))
        to = NET_NONE;
    snprintf(board, sizeof(board), "%012" PRIx64, net->nodes[i].id);
    add_text(o, net->nodes[i].name[0] ? net->nodes[i].name : board);
    add_number(o, place(places, to));
    add_number(o, to == NET_NONE
                      ? -1
                      : (int64_t)net_port_called(net, net->ports[port].peer));
    return o;
}

/* [name, what reports may call it..]: by its id, or by its place in the map. */
static struct json_object *put_xbar(const struct net *net, uint32_t i,
                                    uint32_t at)
{
    struct json_object *o = json_object_new_array();
    char own[32], id[32], anon[32], name[SF_REPORT_NAME_MAX];

    snprintf(own, sizeof(own), "x%u", at);
    snprintf(id, sizeof(id), "x%" PRIx64, net->nodes[i].id);
    snprintf(anon, sizeof(anon), REPORT_ANON "%" PRIu32, i);
    add_text(o, net->nodes[i].name[0] ? net->nodes[i].name : own);
    if (net->nodes[i].id)
        add_text(o, id);
    report_name(name, net->nodes[i].name);
    if (name[0] && strcmp(name, net->nodes[i].name) != 0)
        add_text(o, name);
    add_text(o, anon);
    return o;
}

static void put_links(const struct net *net, const uint32_t *places,
                      struct json_object *list)
{
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;
        struct json_object *o;

        if (q == NET_NONE || q < p || net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node))
            continue;
        o = json_object_new_array();
        add_number(o, places[net->ports[p].node]);
        add_number(o, net_port_called(net, p));
        add_number(o, places[net->ports[q].node]);
        add_number(o, net_port_called(net, q));
        json_object_array_add(list, o);
    }
}

static struct json_object *pair(double x, double y)
{
    struct json_object *o = json_object_new_array();

    json_object_array_add(o, json_object_new_double(x));
    json_object_array_add(o, json_object_new_double(y));
    return o;
}

/* Hosts or crossbars, in the order in which they are told. */
static struct json_object *put_places(const struct net *net, bool hosts,
                                      const struct draw_layers *at)
{
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < net->nnodes; i++) {
        if (net_is_host(net, i) == hosts)
            json_object_array_add(list, pair(at->x[i], at->y[i]));
    }
    return list;
}

/* With many hosts side by side first; the page takes what fits its window. */
static struct json_object *put_layers(struct draw_layout *l)
{
    struct json_object *list = json_object_new_array(), *o;
    struct draw_layers at;

    for (uint32_t across = DRAW_LAYOUT_ACROSS_MAX;
         draw_layout_in_layers(l) && across > 0 &&
         draw_layers_make(l, across, &at);
         across = at.across - 1) {
        o = json_object_new_object();
        json_object_object_add(o, "size", pair(at.width, at.height));
        json_object_object_add(o, "xbars", put_places(l->net, false, &at));
        json_object_object_add(o, "hosts", put_places(l->net, true, &at));
        json_object_array_add(list, o);
        draw_layers_free(&at);
    }
    return list;
}

/* As `sfabric draw` has it. */
static void put_layout(const struct net *net, struct json_object *out)
{
    struct json_object *o = json_object_new_object();
    struct json_object *levels = json_object_new_array();
    struct json_object *groups = json_object_new_array();
    struct json_object *names = json_object_new_array();
    struct draw_layout *l = draw_layout_new(net);

    for (uint32_t i = 0; l && i < net->nnodes; i++) {
        if (net_is_host(net, i))
            continue;
        add_number(levels, l->level[i]);
        add_number(groups, l->group[i] == NET_NONE ? -1 : (int64_t)l->group[i]);
    }
    for (uint32_t g = 0; l && g < l->ngroups; g++)
        add_text(names, l->groups[g].name);
    json_object_object_add(o, "levels", levels);
    json_object_object_add(o, "groups", groups);
    json_object_object_add(o, "names", names);
    if (l) {
        json_object_object_add(o, "xbar", pair(DRAW_XBAR_W, DRAW_XBAR_H));
        json_object_object_add(o, "host", pair(l->host_w, DRAW_HOST_H));
        json_object_object_add(o, "layers", put_layers(l));
    }
    draw_layout_free(l);
    json_object_object_add(out, "layout", o);
}

void page_take_net(struct page *p, uint8_t rail, const struct net *net)
{
    struct json_object *o = json_object_new_object();
    struct json_object *hosts = json_object_new_array();
    struct json_object *xbars = json_object_new_array();
    struct json_object *links = json_object_new_array();
    uint32_t *places = calloc(net->nnodes + 1, sizeof(*places)), n = 0;
    size_t len = 0;
    char *text;

    for (uint32_t i = 0; places && i < net->nnodes; i++) {
        if (!net_is_host(net, i)) {
            places[i] = n;
            json_object_array_add(xbars, put_xbar(net, i, n++));
        }
    }
    for (uint32_t i = 0; places && i < net->nnodes; i++) {
        if (net_is_host(net, i))
            json_object_array_add(hosts, put_host(net, i, places));
    }
    if (places)
        put_links(net, places, links);
    free(places);
    json_object_object_add(o, "hosts", hosts);
    json_object_object_add(o, "xbars", xbars);
    json_object_object_add(o, "links", links);
    put_layout(net, o);
    text = take_text(o, &len);
    if (!text)
        return;
    if (p->fabric[rail].text && p->fabric[rail].len == len &&
        memcmp(p->fabric[rail].text, text, len) == 0) {
        free(text);
        return;
    }
    free(p->fabric[rail].text);
    p->fabric[rail].text = text;
    p->fabric[rail].len = len;
    p->fabric[rail].version++;
    p->at = 0;
}

void page_drop_net(struct page *p, uint8_t rail)
{
    free(p->fabric[rail].text);
    p->fabric[rail].text = NULL;
}

/* ---- its health ------------------------------------------------------------
 */

/* What Slurm was told of a node. */
static const char *told(const struct collector *n, const char *name)
{
    struct collector_node *p = NULL;

    HASH_FIND_STR(n->nodes, name, p);
    if (!p || !p->in_slurm)
        return "not a node of Slurm";
    if (p->maintenance)
        return "maintenance: not drained";
    if (p->flags & REC_NODE_OWN_DRAIN)
        return "drained by the fabric";
    if (p->flags & REC_NODE_UNDONE)
        return "drain taken back by an administrator";
    if (p->flags & REC_NODE_CAPPED)
        return "drain held back by the caps";
    if (p->flags & REC_NODE_DRAIN)
        return "drained by somebody else";
    return "not drained";
}

static struct json_object *put_item(const struct collector *n,
                                    const struct health_item *i)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "name", i->name);
    if (i->peer[0])
        jsonx_add_str(o, "peer", i->peer);
    jsonx_add_str(o, "state", health_state_name(i->state));
    jsonx_add_int(o, "rail", i->rail);
    if (i->state == HEALTH_HEALTHY)
        return o;
    jsonx_add_int(o, "since", steady_wall(i->since));
    jsonx_add_str(o, "why", i->why);
    if (i->kind == REPORT_HOST)
        jsonx_add_str(o, "slurm", told(n, i->name));
    return o;
}

/* Healthy ones of the first rail by their names alone, so that thousands of
 * them are short. */
static void put_kind(const struct collector *n, enum report_kind kind,
                     const char *key, struct json_object *out)
{
    struct json_object *list = json_object_new_array();
    const struct health_item *i;

    for (i = model_next(n->model, kind, NULL); i;
         i = model_next(n->model, kind, i)) {
        if (i->state == HEALTH_HEALTHY && kind != REPORT_LINK && i->rail == 0)
            add_text(list, i->name);
        else
            json_object_array_add(list, put_item(n, i));
    }
    json_object_object_add(out, key, list);
}

static void put_maintained(const struct collector *n, struct json_object *out)
{
    struct json_object *list = json_object_new_array();

    for (struct collector_node *p = n->nodes; p; p = p->hh.next) {
        if (p->maintenance)
            add_text(list, p->name);
    }
    json_object_object_add(out, "maintenance", list);
}

/* Nodes whose drain the caps hold back now. */
static int64_t held_back(const struct collector *n)
{
    int64_t held = 0;

    for (const struct collector_node *p = n->nodes; p; p = p->hh.next)
        held += (p->flags & REC_NODE_CAPPED) != 0;
    return held;
}

/* Who leads each rail that has a map. */
static void put_maps(const struct collector *n, struct json_object *out)
{
    struct json_object *list = json_object_new_array(), *o;

    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        const struct health_map *m = model_map_of(n->model, rail);

        if (!m->known)
            continue;
        o = json_object_new_object();
        jsonx_add_int(o, "rail", rail);
        jsonx_add_str(o, "leader", m->leader);
        jsonx_add_int(o, "heard", steady_wall(m->at));
        json_object_array_add(list, o);
    }
    json_object_object_add(out, "maps", list);
}

/* Which rails have a map to be shown, and as it was when. */
static void put_fabrics(const struct page *p, struct json_object *out)
{
    struct json_object *list = json_object_new_array(), *o;

    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        if (!p->fabric[rail].text)
            continue;
        o = json_object_new_object();
        jsonx_add_int(o, "rail", rail);
        jsonx_add_int(o, "version", p->fabric[rail].version);
        json_object_array_add(list, o);
    }
    json_object_object_add(out, "fabrics", list);
}

static void look(struct page *p, const struct collector *n, int64_t now)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_int(o, "now", steady_wall(now));
    put_fabrics(p, o);
    jsonx_add_bool(o, "dry_run", n->conf.dry_run);
    jsonx_add_bool(o, "reachable", n->updater.reachable);
    jsonx_add_int(o, "drained", n->updater.own_drains);
    jsonx_add_int(o, "waiting", n->updater.waiting);
    jsonx_add_int(o, "capped", held_back(n));
    jsonx_add_int(o, "drain_max", n->conf.drain_max);
    jsonx_add_int(o, "drain_interval", n->conf.drain_interval);
    jsonx_add_int(o, "drain_percent", n->conf.drain_percent);
    put_maps(n, o);
    put_kind(n, REPORT_HOST, "hosts", o);
    put_kind(n, REPORT_XBAR, "xbars", o);
    put_kind(n, REPORT_LINK, "links", o);
    put_maintained(n, o);
    json_object_object_add(
        o, "events",
        collector_events_since(n, n->nevents > EVENTS ? n->nevents - EVENTS : 0,
                               EVENTS));
    free(p->health);
    p->health = take_text(o, &p->health_len);
    p->at = now;
}

/* ---- paths -----------------------------------------------------------------
 */

static bool is_file(const char *path, struct page_answer *a)
{
    static const struct {
        const char *path, *type, *text;
        size_t len;
    } files[] = {
        {"/", "text/html; charset=utf-8", page_html, sizeof(page_html) - 1},
        {"/page.css", "text/css; charset=utf-8", page_css,
         sizeof(page_css) - 1},
        {"/page.js", "text/javascript; charset=utf-8", page_js,
         sizeof(page_js) - 1},
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strcmp(path, files[i].path) == 0) {
            *a = (struct page_answer){files[i].type, files[i].text,
                                      files[i].len};
            return true;
        }
    }
    return false;
}

/* {} without an object, which is the callee's. */
static bool give(struct page *p, struct json_object *o, struct page_answer *a)
{
    o = o ? o : json_object_new_object();
    free(p->asked);
    p->asked = take_text(o, &p->asked_len);
    a->text = p->asked;
    a->len = p->asked_len;
    return p->asked != NULL;
}

static bool add_name(void *list, const char *name)
{
    add_text(list, name);
    return true;
}

/* /job/NUMBER: its nodes; {} when there is none. */
static bool job(struct page *p, const struct collector *n, const char *path,
                struct page_answer *a)
{
    static const char begin[] = "/job/";
    const char *name = path + sizeof(begin) - 1, *nodes;
    struct json_object *o = NULL, *list;

    if (strncmp(path, begin, sizeof(begin) - 1) != 0)
        return false;
    nodes = n->jobs ? jobs_nodes(n->jobs, name) : NULL;
    if (nodes) {
        o = json_object_new_object();
        list = json_object_new_array();
        jsonx_add_str(o, "job", name);
        host_names_each(nodes, add_name, list, NULL);
        json_object_object_add(o, "nodes", list);
    }
    return give(p, o, a);
}

bool page_is_history(const char *path, const char **link, enum history_by *by)
{
    static const struct {
        const char *path;
        enum history_by by;
    } ways[] = {{"/day/", HISTORY_BY_MINUTE}, {"/year/", HISTORY_BY_HOUR}};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        size_t len = strlen(ways[i].path);

        if (strncmp(path, ways[i].path, len) == 0) {
            *link = path + len;
            *by = ways[i].by;
            return true;
        }
    }
    return false;
}

/* /fabric/RAIL: its map, or one of nothing; /fabric.json: of the first rail
 * that has one. */
static bool fabric(const struct page *p, const char *path,
                   struct page_answer *a)
{
    static const char begin[] = "/fabric/";
    static const char none[] = "{\"hosts\":[],\"xbars\":[],\"links\":[],"
                               "\"layout\":{\"levels\":[],\"groups\":[],"
                               "\"names\":[],\"layers\":[]}}";
    uint32_t at = 0;

    if (strcmp(path, "/fabric.json") == 0)
        while (at < SF_ELAN_RAILS_MAX - 1 && !p->fabric[at].text)
            at++;
    else if (strncmp(path, begin, sizeof(begin) - 1) != 0 ||
             number_parse(&at, path + sizeof(begin) - 1, 0,
                          SF_ELAN_RAILS_MAX - 1) < 0)
        return false;
    a->text = p->fabric[at].text ? p->fabric[at].text : none;
    a->len = p->fabric[at].text ? p->fabric[at].len : sizeof(none) - 1;
    return true;
}

bool page_get(struct page *p, const struct collector *n, const char *path,
              struct page_answer *a)
{
    int64_t now = steady_now();

    if (is_file(path, a))
        return true;
    a->type = "application/json";
    if (fabric(p, path, a))
        return true;
    if (strcmp(path, "/health.json") != 0)
        return job(p, n, path, a);
    if (!p->health || now - p->at > FRESH_MS)
        look(p, n, now);
    a->text = p->health;
    a->len = p->health_len;
    return p->health != NULL;
}
