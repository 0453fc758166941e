/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GM-1 in the daemon: the mapper, or its host side alone (--respond-only).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "mapperd/mapperd.h"
#include "net/build.h"

static const struct hostside *side(const struct mapperd *d)
{
    return d->gm1 ? gm1_host_side(d->gm1) : d->host;
}

/* ---- what was configured ------------------------------------------------- */

struct table {
    struct hsn_peer *peers;
    size_t n, size;
    uint64_t own;
};

static void add_entry(const struct gm1_entry *entry, void *arg)
{
    struct table *t = arg;
    struct hsn_peer *peer = &t->peers[t->n];

    /* Without a byte only the other of two hosts on one cable is reached: of
     * more, this one is beyond the hop limit. */
    if (t->n == t->size || entry->address == t->own ||
        (entry->route.len == 0 && t->size > 2))
        return;
    peer->address = entry->address;
    peer->host_type = entry->node_type;
    peer->nroutes = 1;
    peer->route[0].len = (uint8_t)entry->route.len;
    memcpy(peer->route[0].byte, entry->route.byte, entry->route.len);
    t->n++;
}

static void on_complete(uint32_t version, void *arg)
{
    struct mapperd *d = arg;
    struct hostside_state s;
    struct table t = {.own = d->address};

    hostside_state(side(d), &s);
    t.peers = engine_peers(d, s.nentries);
    t.size = s.nentries;
    if (!t.peers)
        return;
    hostside_entries(side(d), add_entry, &t);
    engine_pick_neighbours(t.peers, t.n, t.own);
    mapperd_load(d, t.peers, t.n, version, true);
    mapperd_report_now(d);
}

static void on_cleared(void *arg)
{
    struct mapperd *d = arg;
    struct hsn_peer *none = d->board ? engine_peers(d, 0) : NULL;

    if (none)
        mapperd_load(d, none, 0, 0, false);
}

/* ---- the mapper ---------------------------------------------------------- */

static void no_rank(uint64_t address, struct gm2_host *host, void *arg)
{
    *host = (struct gm2_host){0};
}

/* In the one format there is for both protocols. */
static void store(struct mapperd *d)
{
    struct gm1_status s;
    struct gm2_version version;
    struct gm2_map *map;

    gm1_status(d->gm1, &s);
    version = (struct gm2_version){d->address, 0, s.version ? s.version : 1};
    map = gm2_map_new(gm1_map(d->gm1), &version, no_rank, NULL);
    if (map)
        mapperd_store_map(d, map);
    gm2_map_free(map);
}

static void suppose(struct mapperd *d)
{
    struct gm2_map *stored = mapperd_stored_map(d);
    struct net *net = stored ? net_copy(stored->net) : NULL;

    /* GM-1 asks no crossbar for an id, so it may not believe one. */
    if (net)
        net_tell_ids(net, false);
    if (net)
        gm1_suppose(d->gm1, net);
    gm2_map_free(stored);
}

static void on_moved(enum gm1_event event, enum gm1_state from,
                     enum gm1_state to, void *arg)
{
    struct mapperd *d = arg;
    struct gm1_status s;

    log_paced(&d->told, clock_ns(), log_info, "%s: %s->%s",
              gm1_event_name(event), gm1_state_name(from), gm1_state_name(to));
    if (to != GM1_STATE_CONFIGURING)
        return;
    gm1_status(d->gm1, &s);
    engine_alarm(d, s.unproved, s.beyond);
    mapperd_write_map(d, gm1_map(d->gm1));
    store(d);
}

static void on_fatal(const char *text, void *arg)
{
    log_error("SF-E852 %s", text);
}

static int start_gm1(struct mapperd *d, struct errbuf *err)
{
    static const struct gm1_ops ops = {
        .send = engine_send,
        .cleared = on_cleared,
        .configured = on_complete,
        .moved = on_moved,
        .notice = engine_notice,
        .fatal = on_fatal,
    };
    struct gm1_options config;

    settings_gm1(&d->settings, &config);
    config.host.address = d->address;
    config.host.name = d->node;
    if (engine_seed(&config.seed, err) < 0)
        return -1;
    d->gm1 = gm1_new(&config, &ops, d, clock_ns());
    if (!d->gm1)
        return errprintf(err, "no memory");
    suppose(d);
    return 0;
}

static void stop_gm1(struct mapperd *d)
{
    gm1_free(d->gm1);
    d->gm1 = NULL;
}

static void input_gm1(struct mapperd *d, uint64_t now, const void *body,
                      size_t len)
{
    gm1_input(d->gm1, now, body, len);
}

static void tick_gm1(struct mapperd *d, uint64_t now)
{
    gm1_tick(d->gm1, now);
}

static uint64_t deadline_gm1(const struct mapperd *d)
{
    return gm1_deadline(d->gm1);
}

static void status_host(const struct mapperd *d, struct json_object *out)
{
    const struct hostside_counters *c = hostside_counters(side(d));
    struct hostside_state s;

    hostside_state(side(d), &s);
    engine_put_address(out, "map_leader", s.mapper);
    jsonx_add_int(out, "map_version", s.version);
    jsonx_add_int(out, "gmid", s.gmid);
    jsonx_add_int(out, "entries", s.nentries);
    jsonx_add_bool(out, "valid", s.complete);
    jsonx_add_int(out, "scouts", c->scouts);
    jsonx_add_int(out, "configs", c->configs);
    jsonx_add_int(out, "dropped_foreign", c->dropped_foreign);
    jsonx_add_int(out, "dropped_broken", c->dropped_broken);
}

static void status_gm1(const struct mapperd *d, struct json_object *out)
{
    struct gm1_status s;

    gm1_status(d->gm1, &s);
    status_host(d, out);
    jsonx_add_str(out, "state", gm1_state_name(s.state));
    jsonx_add_bool(out, "leader", s.state != GM1_STATE_DORMANT);
    engine_put_address(out, "active", s.active);
    jsonx_add_int(out, "hosts", s.nhosts);
    jsonx_add_int(out, "members", s.nmembers);
    jsonx_add_int(out, "unconfigured", s.unconfigured);
    engine_put_routes(out, s.engine, s.unproved, s.beyond);
    jsonx_add_int(out, "explorations", s.counters.explorations);
    jsonx_add_int(out, "hypotheses", s.counters.hypotheses);
    jsonx_add_int(out, "regions", s.counters.regions);
    jsonx_add_int(out, "verifications", s.counters.verifications);
    jsonx_add_int(out, "versions", s.counters.versions);
}

static const struct net *map_gm1(const struct mapperd *d)
{
    return gm1_map(d->gm1);
}

const struct engine engine_gm1 = {"GM-1",   start_gm1,    stop_gm1,   input_gm1,
                                  tick_gm1, deadline_gm1, status_gm1, map_gm1,
                                  NULL,     NULL};

/* ---- the host side alone ------------------------------------------------- */

static int start_host(struct mapperd *d, struct errbuf *err)
{
    static const struct hostside_ops ops = {
        .send = engine_send, .cleared = on_cleared, .complete = on_complete};
    const struct hostside_config config = {
        .address = d->address,
        .name = d->node,
        .node_type = (uint16_t)d->settings.host_type,
        .minimal = d->settings.minimal,
    };

    d->host = hostside_new(&config, &ops, d);
    return d->host ? 0 : errprintf(err, "no memory");
}

static void stop_host(struct mapperd *d)
{
    hostside_free(d->host);
    d->host = NULL;
}

static void input_host(struct mapperd *d, uint64_t now, const void *body,
                       size_t len)
{
    hostside_input(d->host, body, len);
}

static void tick_host(struct mapperd *d, uint64_t now)
{
}

static uint64_t deadline_host(const struct mapperd *d)
{
    return UINT64_MAX;
}

static const struct net *map_host(const struct mapperd *d)
{
    return NULL;
}

const struct engine engine_host = {
    "host side of GM-1", start_host,  stop_host, input_host, tick_host,
    deadline_host,       status_host, map_host,  NULL,       NULL};
