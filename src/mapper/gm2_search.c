/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes: between the explorer or verifier, which know nothing of bytes, and
 * GM-2's messages.
 */
#include <string.h>

#include "mapper/gm2_priv.h"

static void own_host(const struct gm2 *m, struct probe_host *host)
{
    *host = (struct probe_host){
        .address = m->config.address,
        .level = m->config.level,
        .type = m->config.host_type,
    };
    if (!m->map)
        return;
    host->map_leader = m->map->version.leader;
    host->map_version = m->map->version.counter;
}

void gm2_search_stop(struct gm2 *m)
{
    explore_free(m->x);
    verify_free(m->v);
    net_free(m->reduced);
    gm2_hypothesis_stop(m);
    m->x = NULL;
    m->v = NULL;
    m->reduced = NULL;
}

static void new_session(struct gm2 *m)
{
    m->session = (uint32_t)net_rng_next(&m->rng);
    memset(m->flight, 0, GM2_FLIGHT * sizeof(*m->flight));
}

bool gm2_search_verify(struct gm2 *m, const struct verify_options *options,
                       const struct net *net, uint32_t me)
{
    struct prober_limits limits = m->config.limits;

    /* A free port that is still free answers nothing: what is missed now is
     * found in the next round. */
    limits.tries =
        options->hosts || options->links ? (uint8_t)m->config.verify_tries : 2;
    new_session(m);
    verify_free(m->v);
    m->v = verify_new(&limits, options, net, me);
    return m->v != NULL;
}

struct explore *gm2_search_explorer(struct gm2 *m)
{
    struct prober_limits limits = m->config.limits;
    struct probe_host me;

    limits.tries = m->tries;
    limits.no_check = m->config.no_xbar_check;
    own_host(m, &me);
    return explore_new(&limits, &me);
}

void gm2_search_explore(struct gm2 *m, struct explore *x)
{
    m->counters.explorations++;
    new_session(m);
    m->x = x;
    if (!m->x)
        gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
}

void gm2_search_start(struct gm2 *m)
{
    if (!gm2_hypothesis_start(m))
        gm2_search_explore(m, gm2_search_explorer(m));
}

/* ---- out ----------------------------------------------------------------- */

/* The low half of a tag numbers the probes in flight. */
static struct gm2_flight *flight_of(struct gm2 *m, uint64_t tag)
{
    return &m->flight[(uint32_t)tag % GM2_FLIGHT];
}

static void send_scout(struct gm2 *m, const struct probe *probe,
                       const struct gm2_route *route)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT,
                              .reason = m->state == GM2_STATE_MAPPING
                                            ? GM2_LX_MAPPING
                                            : GM2_LX_VERIFYING,
                              .tag = probe->tag,
                              .session = m->session};
    struct gm2_flight *flight = flight_of(m, probe->tag);

    flight->tag = probe->tag;
    flight->route = *route;
    msg.scout.back.len = route->len;
    net_route_reverse(msg.scout.back.byte, route->byte, route->len);
    gm2_say(m, &msg, route);
}

static void send_tagged(struct gm2 *m, const struct probe *probe,
                        const struct gm2_route *route)
{
    const struct gm2_message msg = {
        .subtype = GM2_PROBE, .tag = probe->tag, .session = m->session};
    uint8_t body[GM2_PROBE_SIZE];
    size_t len = gm2_encode(body, sizeof(body), &msg);

    net_type_put(body, NET_TYPE_MAPPING, NET_SUBTYPE_TAGGED);
    m->counters.sent++;
    m->counters.sent_bytes += len;
    m->ops.send(route->byte, route->len, body, len, m->arg);
}

static void send_probe(struct gm2 *m, const struct probe *probe)
{
    struct gm2_message msg = {
        .subtype = GM2_PROBE, .tag = probe->tag, .session = m->session};
    struct gm2_route route;

    if (probe->nroute > GM2_ROUTE_MAX)
        return;
    m->counters.probes++;
    route.len = probe->nroute;
    memcpy(route.byte, probe->route, probe->nroute);
    if (probe->kind == PROBE_SCOUT)
        send_scout(m, probe, &route);
    else if (probe->kind == PROBE_TAGGED)
        send_tagged(m, probe, &route);
    else
        gm2_say(m, &msg, &route);
}

/* ---- in ------------------------------------------------------------------ */

static void answer(struct gm2 *m, const struct probe_answer *a)
{
    if (m->x)
        explore_answer(m->x, m->now, a);
    else if (m->v)
        verify_answer(m->v, m->now, a);
}

void gm2_search_back(struct gm2 *m, const struct gm2_message *msg,
                     const struct probe_id *id)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_BACK};

    if ((!m->x && !m->v) || msg->session != m->session) {
        m->counters.dropped_late++;
        gm2_look_out_answered(m, msg);
        return;
    }
    if (id) {
        a.outcome = PROBE_ID;
        a.id = *id;
    }
    answer(m, &a);
}

/* A scout of ours came back to us: our own port lies at the route's end. */
bool gm2_search_own(struct gm2 *m, const struct gm2_message *msg)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_HOST};

    if (msg->session != m->session)
        return false;
    own_host(m, &a.host);
    answer(m, &a);
    return true;
}

static void say_pause(struct gm2 *m, const struct gm2_route *route)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT, .reason = GM2_LX_PAUSE};

    msg.scout.argument = (uint32_t)(m->config.pause_time / 1000000000);
    msg.scout.back.len = route->len;
    net_route_reverse(msg.scout.back.byte, route->byte, route->len);
    gm2_say(m, &msg, route);
}

bool gm2_search_reply(struct gm2 *m, const struct gm2_message *msg)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_HOST};
    const struct gm2_flight *flight = flight_of(m, msg->tag);
    bool mapping = m->state == GM2_STATE_MAPPING;

    if ((!m->x && !m->v) || msg->session != m->session)
        return false;
    a.host.address = msg->sender;
    a.host.level = msg->level;
    a.host.type = msg->host_type;
    a.host.map_leader = msg->version.leader;
    a.host.map_version = msg->version.counter;
    answer(m, &a);
    if (!mapping || flight->tag != msg->tag)
        return true;
    if (m->config.pause)
        say_pause(m, &flight->route);
    gm2_meet(m, msg, &flight->route);
    return true;
}

/* ---- running ------------------------------------------------------------- */

static bool next_probe(struct gm2 *m, struct probe *probe)
{
    if (m->x)
        return explore_next(m->x, m->now, probe);
    return m->v && verify_next(m->v, m->now, probe);
}

/* True: a search has ended, and another one may have begun. */
static bool search_done(struct gm2 *m)
{
    bool explored = m->x && explore_done(m->x);
    bool verified = m->v && verify_done(m->v);

    if (explored)
        gm2_explored(m);
    else if (verified && m->guess.net)
        gm2_hypothesis_done(m);
    else if (verified)
        gm2_round_searched(m);
    return explored || verified;
}

void gm2_search_run(struct gm2 *m, bool tick)
{
    struct probe probe;

    if (tick && m->x)
        explore_tick(m->x, m->now);
    else if (tick && m->v)
        verify_tick(m->v, m->now);
    do {
        while (next_probe(m, &probe))
            send_probe(m, &probe);
    } while (search_done(m));
}

uint64_t gm2_search_deadline(const struct gm2 *m)
{
    if (m->x)
        return explore_done(m->x) ? m->now : explore_deadline(m->x);
    if (m->v)
        return verify_done(m->v) ? m->now : verify_deadline(m->v);
    return GM2_NEVER;
}
