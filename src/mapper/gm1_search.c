/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes: between the explorer or verifier, which know nothing of bytes, and
 * GM-1's messages.  The low half of a tag is the port of the message, the
 * high half is added to the phase that this search began with.
 */
#include <string.h>

#include "mapper/gm1_priv.h"

static void own_host(const struct gm1 *g, struct probe_host *host)
{
    struct hostside_state s;

    hostside_state(g->host, &s);
    *host = (struct probe_host){
        .address = g->config.host.address,
        .map_leader = s.mapper,
        .map_version = hostside_whole_version(g->host),
        .level = g->config.host.level,
        .gm_id = s.gmid,
        .type = g->config.host.node_type,
    };
}

void gm1_search_stop(struct gm1 *g)
{
    explore_free(g->x);
    verify_free(g->v);
    g->x = NULL;
    g->v = NULL;
}

static void new_phase(struct gm1 *g)
{
    g->phase += GM1_PHASES;
    memset(g->flight, 0, GM1_FLIGHT * sizeof(*g->flight));
}

/* All of it, in the place of an exploration. */
static bool start_supposed(struct gm1 *g)
{
    const struct verify_options whole = {
        .hosts = true,
        .links = true,
        .empty = true,
        .rings = VERIFY_RINGS_ALL,
    };

    if (!g->supposed)
        return false;
    new_phase(g);
    g->v = verify_new(&g->config.limits, &whole, g->supposed,
                      net_find_host(g->supposed, g->config.host.address));
    if (g->v)
        g->counters.hypotheses++;
    else
        gm1_suppose(g, NULL);
    return g->v != NULL;
}

struct explore *gm1_search_explorer(struct gm1 *g)
{
    struct probe_host me;

    own_host(g, &me);
    return explore_new(&g->config.limits, &me);
}

void gm1_search_explore_by(struct gm1 *g, struct explore *x)
{
    g->counters.explorations++;
    new_phase(g);
    g->x = x;
    if (!g->x)
        gm1_fire(g, GM1_EVENT_FAILED);
}

void gm1_search_explore(struct gm1 *g)
{
    gm1_forget(g);
    if (!start_supposed(g))
        gm1_search_explore_by(g, gm1_search_explorer(g));
}

void gm1_search_verify(struct gm1 *g)
{
    const struct verify_options all = {
        .hosts = true,
        .links = true,
        .empty = true,
        .rings = GM1_RINGS,
        .round = (uint32_t)g->counters.verifications,
    };
    uint32_t me = net_find_host(g->net, g->config.host.address);

    g->counters.verifications++;
    new_phase(g);
    g->v = verify_new(&g->config.limits, &all, g->net, me);
    if (!g->v)
        gm1_fire(g, GM1_EVENT_CHANGED);
}

/* ---- out ----------------------------------------------------------------- */

/* The low half of a tag numbers the probes in flight. */
static struct gm1_flight *flight_of(struct gm1 *g, uint64_t tag)
{
    return &g->flight[(uint32_t)tag % GM1_FLIGHT];
}

static bool make_scout(struct gm1 *g, const struct probe *probe,
                       struct gm1_message *msg)
{
    struct gm1_flight *flight = flight_of(g, probe->tag);

    if (probe->nroute > GM1_ROUTE_MAX)
        return false;
    flight->tag = probe->tag;
    flight->route.len = probe->nroute;
    memcpy(flight->route.byte, probe->route, probe->nroute);
    msg->subtype = GM1_SCOUT;
    msg->scout = (struct gm1_scout){.mapper = g->config.host.address,
                                    .level = g->config.host.level};
    msg->scout.back.len = probe->nroute;
    net_route_reverse(msg->scout.back.byte, probe->route, probe->nroute);
    g->counters.scouts++;
    return true;
}

static void send_probe(struct gm1 *g, const struct probe *probe)
{
    struct gm1_message msg = {.subtype = GM1_PROBE,
                              .port = (uint32_t)probe->tag,
                              .phase = g->phase + (uint32_t)(probe->tag >> 32)};
    uint8_t body[GM1_SCOUT_SIZE];

    if (probe->kind == PROBE_SCOUT) {
        if (!make_scout(g, probe, &msg))
            return;
    } else {
        if (probe->kind == PROBE_TOUR)
            msg.subtype = GM1_VERIFY;
        g->counters.switches++;
    }
    g->ops.send(probe->route, probe->nroute, body,
                gm1_encode(body, sizeof(body), &msg), g->arg);
}

/* ---- in ------------------------------------------------------------------ */

/* False: of another search, or not ours at all. */
static bool tag_of(const struct gm1 *g, const struct gm1_message *msg,
                   uint64_t *tag)
{
    uint32_t high = msg->phase - g->phase;

    *tag = (uint64_t)high << 32 | msg->port;
    return (g->x || g->v) && high < GM1_PHASES;
}

static void answer(struct gm1 *g, const struct probe_answer *a)
{
    if (g->x)
        explore_answer(g->x, g->now, a);
    else
        verify_answer(g->v, g->now, a);
}

void gm1_search_back(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_BACK};

    if (tag_of(g, msg, &a.tag))
        answer(g, &a);
}

bool gm1_search_own(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_HOST};

    if (msg->scout.mapper != g->config.host.address || !tag_of(g, msg, &a.tag))
        return false;
    own_host(g, &a.host);
    answer(g, &a);
    gm1_search_run(g, false);
    return true;
}

bool gm1_search_reply(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_HOST};
    const struct gm1_reply *r = &msg->reply;
    const struct gm1_flight *flight;
    struct gm1_heard *host;

    if (msg->subtype != GM1_REPLY || !tag_of(g, msg, &a.tag) || r->address == 0)
        return false;
    flight = flight_of(g, a.tag);
    if (flight->tag != a.tag)
        return false;
    a.host.address = r->address;
    a.host.map_leader = r->mapper;
    a.host.map_version = r->version;
    a.host.level = r->level;
    a.host.gm_id = r->gmid;
    a.host.type = r->node_type;
    a.host.option = r->option;
    memcpy(a.host.name, r->name, sizeof(r->name));
    host = gm1_hear(g, r, &flight->route);
    if (host && r->option == GM1_OPTION_CLOUD)
        gm1_take_members(host, msg);
    answer(g, &a);
    if (r->level != 0)
        gm1_meet(g, r->address, r->level, &flight->route);
    return true;
}

/* ---- running ------------------------------------------------------------- */

static bool next_probe(struct gm1 *g, struct probe *probe)
{
    if (g->x)
        return explore_next(g->x, g->now, probe);
    return g->v && verify_next(g->v, g->now, probe);
}

/* True: a search has ended, and another one may have begun. */
static bool search_done(struct gm1 *g)
{
    bool explored = g->x && explore_done(g->x);
    bool verified = g->v && verify_done(g->v);

    if (explored)
        gm1_explored(g);
    else if (verified && g->supposed)
        gm1_supposed(g);
    else if (verified)
        gm1_verified(g);
    return explored || verified;
}

void gm1_search_run(struct gm1 *g, bool tick)
{
    struct probe probe;

    if (tick && g->x)
        explore_tick(g->x, g->now);
    else if (tick && g->v)
        verify_tick(g->v, g->now);
    do {
        while (next_probe(g, &probe))
            send_probe(g, &probe);
    } while (search_done(g));
}

uint64_t gm1_search_deadline(const struct gm1 *g)
{
    if (g->x)
        return explore_done(g->x) ? g->now : explore_deadline(g->x);
    if (g->v)
        return verify_done(g->v) ? g->now : verify_deadline(g->v);
    return GM1_NEVER;
}
