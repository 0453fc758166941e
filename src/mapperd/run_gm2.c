/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GM-2 in the daemon.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mac.h"
#include "mapper/gm_address.h"
#include "mapperd/mapperd.h"

/* Hosts that each host sends echoes to.  Three, so that one that is dead is
 * not most of them, and EchoReporters (3) can be reached. */
#define NEIGHBOURS 3

static void on_send(const uint8_t *route, size_t nroute, const void *body,
                    size_t len, void *arg)
{
    mapperd_send(arg, route, nroute, body, len);
}

static bool fill_peer(struct hsn_peer *peer, const struct gm2_map *map,
                      uint32_t me, uint32_t host,
                      const struct net_routes *routes)
{
    struct net_route ways[HSN_ROUTES_MAX];
    unsigned n = net_routes_get(routes, me, host, ways, HSN_ROUTES_MAX);

    if (n == 0)
        return false;
    peer->address = map->net->nodes[host].id;
    peer->host_type = map->hosts[host].type;
    peer->nroutes = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        peer->route[i].len = ways[i].hops;
        memcpy(peer->route[i].byte, ways[i].byte, ways[i].hops);
    }
    return true;
}

static void on_configured(const struct gm2_map *map, uint32_t me,
                          const struct net_routes *routes, void *arg)
{
    struct hsn_peer *peers = calloc(map->net->nhosts + 1, sizeof(*peers));
    size_t n = 0;

    if (!peers) {
        mapperd_notice(arg, "no memory for the routes");
        return;
    }
    for (uint32_t i = 0; i < map->net->nhosts; i++) {
        if (i == me || !fill_peer(&peers[n], map, me, i, routes))
            continue;
        /* Echoes go round the list of hosts, so many from each. */
        peers[n].neighbour =
            (i + map->net->nhosts - me) % map->net->nhosts <= NEIGHBOURS;
        n++;
    }
    mapperd_load(arg, peers, n, map->version.counter, true);
    mapperd_write_map(arg, map->net);
    mapperd_report_now(arg);
}

static void on_complete(uint32_t nhosts, void *arg)
{
    log_info("all %" PRIu32 " mappers have the map", nhosts);
    mapperd_report_now(arg);
}

static void on_invalid(void *arg)
{
    mapperd_report_now(arg);
}

static void on_moved(enum gm2_event event, enum gm2_state from,
                     enum gm2_state to, void *arg)
{
    log_info("%s: %s->%s", gm2_event_name(event), gm2_state_name(from),
             gm2_state_name(to));
}

static void on_notice(const char *text, void *arg)
{
    mapperd_notice(arg, text);
}

static void on_ended(const char *text, void *arg)
{
    mapperd_end(arg, text);
}

static int start(struct mapperd *d, struct errbuf *err)
{
    static const struct gm2_ops ops = {
        .send = on_send,
        .configured = on_configured,
        .invalid = on_invalid,
        .complete = on_complete,
        .moved = on_moved,
        .notice = on_notice,
        .ended = on_ended,
    };
    struct gm2_config config;

    settings_gm2(&d->settings, &config);
    config.address = d->address;
    if (mac_random(&config.seed, sizeof(config.seed)) == 0)
        d->gm2 = gm2_new(&config, &ops, d, mapperd_clock());
    return d->gm2 ? 0 : errprintf(err, "no memory");
}

static void stop(struct mapperd *d)
{
    gm2_free(d->gm2);
    d->gm2 = NULL;
}

static void input(struct mapperd *d, uint64_t now, const void *body, size_t len)
{
    gm2_input(d->gm2, now, body, len);
}

static void tick(struct mapperd *d, uint64_t now)
{
    gm2_tick(d->gm2, now);
}

static uint64_t deadline(const struct mapperd *d)
{
    return gm2_deadline(d->gm2);
}

static void put_address(struct json_object *out, const char *key,
                        uint64_t address)
{
    char text[GM_ADDRESS_TEXT];

    json_object_object_add(
        out, key,
        address ? json_object_new_string(gm_address_text(address, text))
                : NULL);
}

static void put_number(struct json_object *out, const char *key, uint64_t n)
{
    json_object_object_add(out, key, json_object_new_int64((int64_t)n));
}

static void status(const struct mapperd *d, struct json_object *out)
{
    struct gm2_status s;

    gm2_status(d->gm2, &s);
    json_object_object_add(out, "state",
                           json_object_new_string(gm2_state_name(s.state)));
    if (s.state == GM2_STATE_LISTENING)
        json_object_object_add(
            out, "note",
            json_object_new_string("level 0: waits for a mapper that may map; "
                                   "if all are at level 0, none may"));
    json_object_object_add(out, "leader", json_object_new_boolean(s.leader));
    json_object_object_add(out, "valid", json_object_new_boolean(s.valid));
    json_object_object_add(out, "complete",
                           json_object_new_boolean(s.complete));
    put_address(out, "map_leader", s.version.leader);
    put_number(out, "map_version", s.version.counter);
    put_address(out, "parent", s.parent);
    put_number(out, "level", s.level);
    put_number(out, "hosts", s.nhosts);
    put_number(out, "xbars", s.nxbars);
    put_number(out, "cables", s.ncables);
    put_number(out, "done", s.done);
    put_number(out, "round_us", s.round_time / 1000);
    put_number(out, "sent", s.counters.sent);
    put_number(out, "received", s.counters.received);
    put_number(out, "probes", s.counters.probes);
    put_number(out, "rounds", s.counters.rounds);
    put_number(out, "explorations", s.counters.explorations);
    put_number(out, "maps", s.counters.maps);
    put_number(out, "lost_parents", s.counters.lost_parents);
    put_number(out, "dropped_foreign", s.counters.dropped_foreign);
    put_number(out, "dropped_broken", s.counters.dropped_broken);
}

static const struct net *map(const struct mapperd *d)
{
    const struct gm2_map *m = gm2_current_map(d->gm2);

    return m ? m->net : NULL;
}

const struct engine engine_gm2 = {"GM-2", start,    stop,   input,
                                  tick,   deadline, status, map};
