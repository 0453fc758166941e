/* SPDX-License-Identifier: BSD-3-Clause
 *
 * topology.conf: from the mappers' maps to the candidate file (topology.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sitedir.h"
#include "net/format.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/page.h"
#include "switchmgrd/topology.h"

#define ASK_MS 1000 /* how long all mappers together may take */

_Static_assert(SF_ELAN_RAILS_MAX <= SF_CTL_ASK_MAX, "a mapper for each rail");

static const char *resolve(uint64_t board, void *arg)
{
    const struct collector *n = arg;
    uint32_t rail;
    const struct elan_host *h =
        n->hosts ? elanhosts_find_board(n->hosts, board, &rail) : NULL;

    return h ? h->name : NULL;
}

static bool take_host(const char *name, void *arg)
{
    struct collector_node *p = collector_node_find(arg, name);

    if (!p || !p->in_slurm)
        return false;
    p->in_map = true;
    return true;
}

/* The first node of Slurm that the map lacks, or NULL. */
static const char *missing(struct collector *n)
{
    struct collector_node *p, *next;

    HASH_ITER(hh, n->nodes, p, next)
    {
        if (p->in_slurm && !p->in_map)
            return p->name;
    }
    return NULL;
}

static void write_candidate(struct collector *n, const struct bytebuf *text)
{
    struct sitedir sitedir;
    struct errbuf err;

    if (file_replace(sitedir_run(&sitedir, TOPOLOGY_CANDIDATE),
                     bytebuf_data(text), bytebuf_len(text), 0644, 0, &err) < 0)
        collector_events_alarm(err.text, steady_now(), n);
}

/* The page shows all of the map, by Slurm's names where there are any. */
static void show_map(struct collector *n, uint8_t rail, const char *name,
                     const char *text, size_t len)
{
    struct errbuf err;
    struct net *net = net_parse(name, text, len, &err);
    bool ok = net != NULL;

    for (uint32_t i = 0; ok && i < net->nnodes; i++) {
        const char *host = net_is_host(net, i) && net->nodes[i].id
                               ? resolve(net->nodes[i].id, n)
                               : NULL;

        ok = !host || net_set_name(net, i, host);
    }
    if (ok)
        page_take_net(n->page, rail, net);
    else if (!net)
        collector_events_alarm(err.text, steady_now(), n);
    net_free(net);
}

static void make_topology(struct collector *n, const char *name,
                          const char *text, size_t len)
{
    struct topology_ops ops = {resolve, take_host, n};
    struct collector_node *p, *next;
    struct bytebuf out;
    struct errbuf err;
    char why[256];

    HASH_ITER(hh, n->nodes, p, next)
    p->in_map = false;
    bytebuf_init(&out, SF_TOPOLOGY_SIZE_MAX);
    if (topology_text(name, text, len, topology_is_yaml(n->conf.topology_conf),
                      n->conf.topology_domains, &ops, &out, &err) < 0) {
        collector_events_alarm(err.text, steady_now(), n);
    } else if (missing(n)) {
        snprintf(why, sizeof(why), "topology.conf stays: the map has no %.64s",
                 missing(n));
        collector_events_alarm(why, steady_now(), n);
    } else {
        write_candidate(n, &out);
    }
    bytebuf_free(&out);
}

/* topology.conf is made from the first rail's. */
static void take_map(struct collector *n, uint8_t rail, const char *name,
                     const char *text, size_t len)
{
    if (n->page)
        show_map(n, rail, name, text, len);
    if (rail == 0 && n->conf.topology_conf && *n->conf.topology_conf)
        make_topology(n, name, text, len);
}

static void look_at_file(struct collector *n, uint8_t rail, const char *path)
{
    struct errbuf err;
    size_t len;
    char *text = file_read(path, SF_NET_FILE_MAX, 0, &len, &err);

    if (text)
        take_map(n, rail, path, text, len);
    else if (errno != ENOENT) /* not written yet */
        collector_events_alarm(err.text, steady_now(), n);
    free(text);
}

/* TopologyMap: a file for each rail, separated by commas. */
static void look_at_files(struct collector *n)
{
    char *list = strdup(n->conf.topology_map), *rest, *path;

    if (!list)
        return;
    path = strtok_r(list, ", ", &rest);
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        if (path)
            look_at_file(n, rail, path);
        else if (n->page)
            page_drop_net(n->page, rail);
        path = path ? strtok_r(NULL, ", ", &rest) : NULL;
    }
    free(list);
}

/* A mapper that is late is told of once; the rail keeps the map that it had. */
static void note_late(struct collector *n, uint8_t rail,
                      const struct ctl_answer *a)
{
    uint32_t bit = (uint32_t)1 << rail;
    bool was = n->mappers_late & bit;

    n->mappers_late &= ~bit;
    if (a->error == ETIMEDOUT) {
        n->mappers_late |= bit;
        if (!was)
            collector_event(n, steady_now(),
                            "alarm: mapperd of rail %u is late: it did not "
                            "say its map within %d ms; the rail keeps the "
                            "map that it had",
                            rail, ASK_MS);
    } else if (was) {
        collector_event(n, steady_now(), "mapperd of rail %u is late no more",
                        rail);
    }
}

static void take_answer(struct collector *n, uint8_t rail,
                        const struct ctl_answer *a)
{
    struct json_object *map;

    if (a->reply && json_object_object_get_ex(a->reply, "map", &map) &&
        json_object_is_type(map, json_type_string))
        take_map(n, rail, "map", json_object_get_string(map),
                 (size_t)json_object_get_string_len(map));
    json_object_put(a->reply);
}

/* mapperd's socket is called after its unit.  An error: there is no mapper
 * here, or none that leads.  All are asked at once: this process does nothing
 * else meanwhile. */
static void ask_mappers(struct collector *n)
{
    struct ctl_answer asked[SF_ELAN_RAILS_MAX];
    struct sitedir paths[SF_ELAN_RAILS_MAX];
    char name[64];

    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        snprintf(name, sizeof(name), rail ? "mapperd-%u.sock" : "mapperd.sock",
                 rail);
        asked[rail].path = sitedir_run(&paths[rail], name);
    }
    ctl_ask_all(asked, SF_ELAN_RAILS_MAX, "map", ASK_MS);
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        note_late(n, rail, &asked[rail]);
        take_answer(n, rail, &asked[rail]);
    }
}

void collector_topology_look(struct collector *n)
{
    if (n->conf.topology_map && *n->conf.topology_map) {
        n->mappers_late = 0;
        look_at_files(n);
    } else {
        ask_mappers(n);
    }
}
