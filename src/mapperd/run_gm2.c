/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GM-2 in the daemon.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "mapper/gm_address.h"
#include "mapperd/mapperd.h"

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

static void load(struct mapperd *d, const struct gm2_map *map, uint32_t me,
                 const struct net_routes *routes)
{
    struct hsn_peer *peers = engine_peers(d, map->net->nhosts);
    size_t n = 0;

    if (!peers)
        return;
    for (uint32_t i = 0; i < map->net->nhosts; i++) {
        if (i != me && fill_peer(&peers[n], map, me, i, routes))
            n++;
    }
    engine_pick_neighbours(peers, n, map->net->nodes[me].id);
    mapperd_load(d, peers, n, map->version.counter, true);
}

/* Nothing that this mapper sent has come back: by the routes of before hsnd
 * learns whether anybody hears it. */
static bool hears_nothing(const struct mapperd *d, const struct gm2_map *map)
{
    return map->net->ncables == 0 && d->npeers > 0;
}

static void on_configured(const struct gm2_map *map, uint32_t me,
                          const struct net_routes *routes, void *arg)
{
    struct gm2_status s;

    gm2_status(((struct mapperd *)arg)->gm2, &s);
    engine_alarm(arg, s.unproved, s.beyond);
    if (!hears_nothing(arg, map))
        load(arg, map, me, routes);
    mapperd_write_map(arg, map->net);
    mapperd_store_map(arg, map);
    mapperd_report_now(arg);
}

static void on_complete(uint32_t nhosts, void *arg)
{
    struct mapperd *d = arg;

    log_paced(&d->told, clock_ns(), log_info,
              "all %" PRIu32 " mappers have the map", nhosts);
    mapperd_report_now(arg);
}

static void on_cables(void *arg)
{
    struct mapperd *d = arg;

    d->reported_version = UINT64_MAX; /* the map, once more */
    mapperd_report_now(d);
}

static void on_invalid(void *arg)
{
    mapperd_report_now(arg);
}

static void on_unlike(uint64_t address, void *arg)
{
    struct mapperd *d = arg;
    char who[GM_ADDRESS_TEXT];

    log_paced(&d->alarms, clock_ns(), log_error,
              "SF-E858 routes of this host (%s) and of host %s could deadlock "
              "together: they turn differently; set Routes and "
              "NonClos alike on all hosts",
              d->node, gm_address_text(address, who));
}

static void on_moved(enum gm2_event event, enum gm2_state from,
                     enum gm2_state to, void *arg)
{
    struct mapperd *d = arg;

    log_paced(&d->told, clock_ns(), log_info, "%s: %s->%s",
              gm2_event_name(event), gm2_state_name(from), gm2_state_name(to));
}

static void on_ended(const char *text, void *arg)
{
    mapperd_end(arg, text);
}

static int start(struct mapperd *d, struct errbuf *err)
{
    static const struct gm2_ops ops = {
        .send = engine_send,
        .configured = on_configured,
        .invalid = on_invalid,
        .complete = on_complete,
        .cables = on_cables,
        .unlike = on_unlike,
        .moved = on_moved,
        .notice = engine_notice,
        .ended = on_ended,
    };
    struct gm2_config config;
    struct gm2_map *stored;

    settings_gm2(&d->settings, &config);
    config.address = d->address;
    if (engine_seed(&config.seed, err) < 0)
        return -1;
    d->gm2 = gm2_new(&config, &ops, d, clock_ns());
    if (!d->gm2)
        return errprintf(err, "no memory");
    stored = mapperd_stored_map(d);
    if (stored)
        gm2_suppose(d->gm2, stored);
    return 0;
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

static void status(const struct mapperd *d, struct json_object *out)
{
    struct gm2_status s;

    gm2_status(d->gm2, &s);
    jsonx_add_str(out, "state", gm2_state_name(s.state));
    if (s.state == GM2_STATE_LISTENING)
        jsonx_add_str(out, "note",
                      "level 0: waits for a mapper that may map; "
                      "if all are at level 0, none may");
    jsonx_add_bool(out, "leader", s.leader);
    jsonx_add_bool(out, "valid", s.valid);
    jsonx_add_bool(out, "complete", s.complete);
    jsonx_add_bool(out, "unchecked", d->settings.no_xbar_check);
    engine_put_address(out, "map_leader", s.version.leader);
    jsonx_add_int(out, "map_version", s.version.counter);
    engine_put_address(out, "parent", s.parent);
    jsonx_add_int(out, "level", s.level);
    jsonx_add_int(out, "hosts", s.nhosts);
    jsonx_add_int(out, "xbars", s.nxbars);
    jsonx_add_int(out, "cables", s.ncables);
    jsonx_add_int(out, "done", s.done);
    engine_put_routes(out, s.engine, s.unproved, s.beyond);
    engine_put_address(out, "unlike", s.unlike);
    jsonx_add_int(out, "round_us", s.round_time / 1000);
    jsonx_add_int(out, "sent", s.counters.sent);
    jsonx_add_int(out, "received", s.counters.received);
    jsonx_add_int(out, "probes", s.counters.probes);
    jsonx_add_int(out, "rounds", s.counters.rounds);
    jsonx_add_int(out, "explorations", s.counters.explorations);
    jsonx_add_int(out, "hypotheses", s.counters.hypotheses);
    jsonx_add_int(out, "regions", s.counters.regions);
    jsonx_add_int(out, "maps", s.counters.maps);
    jsonx_add_int(out, "pieces_received", s.counters.pieces_received);
    jsonx_add_int(out, "deltas_received", s.counters.deltas_received);
    jsonx_add_int(out, "pulled_bytes", s.counters.pulled);
    jsonx_add_int(out, "repairs", s.counters.repairs);
    jsonx_add_int(out, "lost_parents", s.counters.lost_parents);
    jsonx_add_int(out, "dropped_foreign", s.counters.dropped_foreign);
    jsonx_add_int(out, "dropped_broken", s.counters.dropped_broken);
}

static const struct net *map(const struct mapperd *d)
{
    const struct gm2_map *m = gm2_current_map(d->gm2);

    return m ? m->net : NULL;
}

static uint32_t lost(const struct mapperd *d, uint32_t port)
{
    return d->gm2 ? gm2_cable_lost(d->gm2, port) : 0;
}

static uint32_t falls(const struct mapperd *d, uint32_t port)
{
    return d->gm2 ? gm2_cable_falls(d->gm2, port) : 0;
}

const struct engine engine_gm2 = {"GM-2",   start,  stop, input, tick,
                                  deadline, status, map,  lost,  falls};
