/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports to switchmgrd: every HealthInterval, and when a map comes or goes.
 * Only the leader tells what the map consists of, once per version, and each
 * time which cables between crossbars were gone for a moment; the others
 * say from time to time that they are there.  munged, which seals them, is
 * asked beside the loop: while it hangs, mapping goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mapper/cables.h"
#include "mapper/gm_address.h"
#include "mapperd/mapperd.h"

#define QUIET_INTERVALS 15 /* between two words of one that does not lead */
#define FALLEN_MAX 256     /* cables that fell, told beside the map */

static void name_node(const struct net *net, uint32_t node, char *name,
                      size_t size)
{
    const struct net_node *n = &net->nodes[node];
    char who[GM_ADDRESS_TEXT];

    if (n->name[0])
        snprintf(name, size, "%s", n->name);
    else if (n->kind == NET_HOST)
        snprintf(name, size, "%s", gm_address_text(n->id, who));
    else if (n->id != 0)
        snprintf(name, size, "x%016llx", (unsigned long long)n->id);
    else
        snprintf(name, size, REPORT_ANON "%u", node);
}

static void name_end(const struct net *net, uint32_t port, char *name,
                     size_t size)
{
    size_t len;

    name_node(net, net->ports[port].node, name, size);
    len = strlen(name);
    snprintf(name + len, size - len, ":%u", net_port_number(net, port));
}

static void add_node(const struct net *net, uint32_t node,
                     struct report_record *r)
{
    const struct net_node *n = &net->nodes[node];
    uint32_t peer;

    r->kind = n->kind == NET_HOST ? REPORT_HOST : REPORT_XBAR;
    r->seen = SEEN_UP;
    r->board = n->id;
    if (n->kind == NET_XBAR) {
        name_node(net, node, r->name, sizeof(r->name));
        return;
    }
    peer = net->ports[n->first].peer;
    if (peer != NET_NONE)
        name_end(net, peer, r->peer, sizeof(r->peer));
}

/* The number of a node's first port with a cable. */
static unsigned first_cabled(const struct net *net, uint32_t node)
{
    unsigned port = 0;

    while (port < net->nodes[node].nports &&
           net_peer_node(net, node, port) == NET_NONE)
        port++;
    return port;
}

/* A port of the map with names, in the map itself: there the ports of a
 * crossbar are counted from elsewhere. */
static uint32_t port_of_map(const struct net *map, const struct net *named,
                            uint32_t port)
{
    uint32_t node = named->ports[port].node;

    return map->nodes[node].first + first_cabled(map, node) +
           net_port_number(named, port) - first_cabled(named, node);
}

/* A cable between crossbars that loses frames. */
static void put_lost(const struct mapperd *d, const struct net *named,
                     uint32_t port, struct report_record *r)
{
    uint32_t lost = 0;

    if (d->engine->lost)
        lost = d->engine->lost(d, port_of_map(d->engine->map(d), named, port));
    if (!lost)
        return;
    r->seen = SEEN_DEGRADED;
    snprintf(r->why, sizeof(r->why), "%u.%02u%% of frames lost limit %u.%u%%",
             lost / 10000, lost / 100 % 100, CABLES_LIMIT / 10000,
             CABLES_LIMIT / 1000 % 10);
}

static bool is_between(const struct net *net, uint32_t port)
{
    uint32_t q = net->ports[port].peer;

    return q != NET_NONE && q >= port &&
           net->nodes[net->ports[port].node].kind != NET_HOST &&
           net->nodes[net->ports[q].node].kind != NET_HOST;
}

static uint32_t falls_at(const struct mapperd *d, const struct net *named,
                         uint32_t port)
{
    return d->engine->falls ? d->engine->falls(d, port_of_map(d->engine->map(d),
                                                              named, port))
                            : 0;
}

static void add_link(const struct mapperd *d, const struct net *net, uint32_t p,
                     struct report_record *r)
{
    r->kind = REPORT_LINK;
    r->seen = SEEN_UP;
    r->rail = (uint8_t)d->settings.unit;
    r->count = falls_at(d, net, p);
    name_end(net, p, r->name, sizeof(r->name));
    name_end(net, net->ports[p].peer, r->peer, sizeof(r->peer));
    put_lost(d, net, p, r);
}

static size_t fill(const struct mapperd *d, const struct net *net,
                   struct report_record *records)
{
    size_t n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++) {
        records[n].rail = (uint8_t)d->settings.unit;
        add_node(net, i, &records[n++]);
    }
    for (uint32_t p = 0; p < net->nports; p++)
        if (is_between(net, p))
            add_link(d, net, p, &records[n++]);
    return n;
}

/* The cables that were ever gone for a moment, each time: how often. */
static void put_falls(struct mapperd *d, struct report *report,
                      const struct net *map)
{
    struct net *net = d->engine->falls ? names_give(d->names, map) : NULL;
    struct report_record *records =
        net ? calloc(FALLEN_MAX, sizeof(*records)) : NULL;

    for (uint32_t p = 0;
         records && p < net->nports && report->nrecords < FALLEN_MAX; p++)
        if (is_between(net, p) && falls_at(d, net, p))
            add_link(d, net, p, &records[report->nrecords++]);
    report->records = report->nrecords ? records : NULL;
    map_sender_put(&d->reports, report);
    net_free(net);
    free(records);
}

static void put_map(struct mapperd *d, struct report *report,
                    const struct net *map)
{
    struct net *net = names_give(d->names, map);
    size_t room = (size_t)map->nnodes + map->ncables + 1;
    struct report_record *records = net ? calloc(room, sizeof(*records)) : NULL;

    map_sender_put_parts(&d->reports, report, records,
                         records ? fill(d, net, records) : 0);
    net_free(net);
    free(records);
}

static void describe(struct mapperd *d, struct report *report)
{
    struct json_object *s = json_object_new_object(), *o;

    d->engine->status(d, s);
    report->map.present = true;
    report->map.rail = (uint8_t)d->settings.unit;
    /* Without hsnd it sees nothing, and leads nobody. */
    if (json_object_object_get_ex(s, "leader", &o))
        report->map.leader = d->board && json_object_get_boolean(o);
    if (json_object_object_get_ex(s, "map_version", &o))
        report->map.version = (uint64_t)json_object_get_int64(o);
    if (json_object_object_get_ex(s, "round_us", &o))
        report->map.verify_us = (uint32_t)json_object_get_int64(o);
    report->map.configured = d->loaded && d->configured;
    if (report->map.leader)
        snprintf(report->map.leader_node, sizeof(report->map.leader_node), "%s",
                 d->node);
    json_object_put(s);
}

void mapperd_report_now(struct mapperd *d)
{
    struct report report = {.from = REPORT_MAPPERD};
    const struct net *net;

    if (!map_sender_is_open(&d->reports))
        return;
    snprintf(report.node, sizeof(report.node), "%s", d->node);
    describe(d, &report);
    net = d->engine->map(d);
    if (map_sender_lost_any(&d->reports))
        d->reported_version = UINT64_MAX;
    if (!report.map.leader || !net) {
        map_sender_put(&d->reports, &report);
        return;
    }
    if (report.map.version == d->reported_version) {
        put_falls(d, &report, net);
        return;
    }
    d->reported_version = report.map.version;
    put_map(d, &report, net);
}

static bool leads(struct mapperd *d)
{
    struct report report = {.from = REPORT_MAPPERD};

    describe(d, &report);
    return report.map.leader;
}

static void on_report(struct ev_loop *loop, ev_timer *t, int events)
{
    struct mapperd *d = t->data;

    if (d->intervals++ % QUIET_INTERVALS == 0 || leads(d))
        mapperd_report_now(d);
}

int mapperd_reports(struct mapperd *d, struct errbuf *err)
{
    const double interval = (double)d->settings.health_interval;

    if (map_sender_open(&d->reports, d->loop, &d->settings, err) < 0)
        return -1;
    if (!map_sender_is_open(&d->reports))
        return 0;
    ev_timer_init(&d->report, on_report, interval, interval);
    d->report.data = d;
    ev_timer_start(d->loop, &d->report);
    return 0;
}
