/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Birth and death of a GM-1 mapper, its moves from state to state, time.
 */
#include "mapper/gm1.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"

#define MS UINT64_C(1000000)

void gm1_options_default(struct gm1_options *config)
{
    *config = (struct gm1_options){
        .limits = PROBER_LIMITS_DEFAULT,
        .active_sleep = 10000 * MS,
        .dormant_wake = 5000 * MS,
        .window = 16,
    };
    config->limits.max_route = NET_WIRE_ROUTE_MAX;
    config->limits.max_hops = GM1_ROUTE_MAX;
    config->limits.tries = 4; /* and three again */
    config->limits.fixed_timers = true;
    config->limits.window_max = 512;
    config->routes.alternatives = 1;
}

/* ---- the own host side --------------------------------------------------- */

static void host_sends(const uint8_t *route, size_t nroute, const void *body,
                       size_t len, void *arg)
{
    struct gm1 *g = arg;

    if (g->local)
        gm1_decode(&g->own_reply, body, len);
    else
        g->ops.send(route, nroute, body, len, g->arg);
}

static bool outranks_me(const struct gm1 *g, uint32_t level, uint64_t address)
{
    return gm_outranks(level, address, g->config.host.level,
                       g->config.host.address);
}

void gm1_meet(struct gm1 *g, uint64_t mapper, uint32_t level,
              const struct gm1_route *route)
{
    if (!outranks_me(g, level, mapper))
        return;
    g->heard_higher = true;
    if (g->higher == 0 || g->higher == mapper ||
        gm_outranks(level, mapper, g->higher_level, g->higher)) {
        g->higher = mapper;
        g->higher_level = level;
        g->to_higher = *route;
    }
    gm1_fire(g, GM1_EVENT_MET_HIGHER);
}

static void host_scouted(const struct gm1_scout *scout, void *arg)
{
    struct gm1 *g = arg;

    if (!g->local)
        gm1_meet(g, scout->mapper, scout->level, &scout->back);
}

/* It configures itself by a map without a cable: nothing that it sent has come
 * back. */
static bool hears_nothing(const struct gm1 *g)
{
    return g->local && g->net && g->net->ncables == 0;
}

static void host_cleared(void *arg)
{
    struct gm1 *g = arg;

    if (g->ops.cleared && !(g->has_peers && hears_nothing(g)))
        g->ops.cleared(g->arg);
}

static void host_complete(uint32_t version, void *arg)
{
    struct gm1 *g = arg;
    struct hostside_state s;

    if (g->has_peers && hears_nothing(g))
        return;
    hostside_state(g->host, &s);
    g->has_peers = s.nentries > 1;
    if (g->ops.configured)
        g->ops.configured(version, g->arg);
}

static const struct hostside_ops host_ops = {host_sends, host_scouted,
                                             host_cleared, host_complete};

struct gm1 *gm1_new(const struct gm1_options *config, const struct gm1_ops *ops,
                    void *arg, uint64_t now)
{
    struct gm1 *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->config = *config;
    if (g->config.limits.window_max > GM1_FLIGHT)
        g->config.limits.window_max = GM1_FLIGHT;
    g->ops = *ops;
    g->arg = arg;
    g->host = hostside_new(&config->host, &host_ops, g);
    g->flight = calloc(GM1_FLIGHT, sizeof(*g->flight));
    if (!g->host || !g->flight) {
        gm1_free(g);
        return NULL;
    }
    g->rng.state = config->seed ^ config->host.address;
    g->phase = (uint32_t)net_rng_next(&g->rng);
    g->talk_phase = (uint32_t)net_rng_next(&g->rng);
    g->now = now;
    g->timer = now + config->start_delay;
    return g;
}

void gm1_free(struct gm1 *g)
{
    if (!g)
        return;
    gm1_search_stop(g);
    gm1_free_hosts(g);
    net_routes_free(g->routes);
    net_free(g->supposed);
    net_free(g->net);
    free(g->rows);
    hostside_free(g->host);
    free(g->flight);
    free(g);
}

void gm1_notice(struct gm1 *g, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (g->ops.notice)
        g->ops.notice(text, g->arg);
}

/* ---- states -------------------------------------------------------------- */

static void enter(struct gm1 *g)
{
    switch (g->state) {
    case GM1_STATE_DORMANT:
        g->timer = g->now + g->config.dormant_wake;
        break;
    case GM1_STATE_EXPLORING:
        g->higher = 0;
        gm1_search_explore(g);
        break;
    case GM1_STATE_QUERYING:
        gm1_query_more(g);
        break;
    case GM1_STATE_CONFIGURING:
        gm1_configure_start(g);
        break;
    case GM1_STATE_VERIFYING:
        gm1_search_verify(g);
        break;
    case GM1_STATE_SLEEPING:
        g->timer = g->now + g->config.active_sleep;
        break;
    case GM1_NSTATES:
        break;
    }
}

bool gm1_fire(struct gm1 *g, enum gm1_event event)
{
    enum gm1_state from = g->state, to = gm1_next_state(from, event);

    if (to == GM1_NSTATES)
        return false;
    gm1_hush(g);
    gm1_search_stop(g);
    g->timer = GM1_NEVER;
    g->state = to;
    if (g->ops.moved)
        g->ops.moved(event, from, to, g->arg);
    enter(g);
    return true;
}

/* Dormant: nothing heard of the higher mapper since the last time; ask. */
static void wake_dormant(struct gm1 *g)
{
    g->timer = g->now + g->config.dormant_wake;
    if (g->heard_higher)
        g->heard_higher = false;
    else if (g->higher == 0)
        gm1_fire(g, GM1_EVENT_WAKE_UP);
    else
        gm1_ask(g, GM1_TALK_PING, NULL, 0);
}

/* A map without a cable has nothing to verify, and its cable may be back. */
static bool must_explore(const struct gm1 *g)
{
    return g->dirty || g->config.no_verify || !g->net || g->net->ncables == 0;
}

static void timer_rings(struct gm1 *g)
{
    g->timer = GM1_NEVER;
    if (g->retired)
        return;
    if (g->state == GM1_STATE_DORMANT)
        wake_dormant(g);
    else if (g->state == GM1_STATE_SLEEPING)
        gm1_fire(g, must_explore(g) ? GM1_EVENT_EXPLORE : GM1_EVENT_VERIFY);
}

void gm1_tick(struct gm1 *g, uint64_t now)
{
    if (now > g->now)
        g->now = now;
    gm1_talk_tick(g);
    if (g->timer <= g->now)
        timer_rings(g);
    gm1_search_run(g, true);
}

uint64_t gm1_deadline(const struct gm1 *g)
{
    uint64_t t = gm1_talk_deadline(g), s = gm1_search_deadline(g);

    if (g->timer < t)
        t = g->timer;
    return s < t ? s : t;
}

/* ---- input --------------------------------------------------------------- */

static void take_reply(struct gm1 *g, const struct gm1_message *msg)
{
    struct gm1_talk *talk = gm1_talk_of(g, msg), was;

    if (!talk) {
        if (!gm1_search_reply(g, msg))
            g->counters.dropped_late++;
        return;
    }
    was = *talk;
    talk->purpose = GM1_TALK_FREE;
    gm1_talk_answered(g, &was, msg);
}

void gm1_input(struct gm1 *g, uint64_t now, const void *body, size_t len)
{
    struct gm1_message msg;

    if (now > g->now)
        g->now = now;
    g->counters.received++;
    if (gm1_decode(&msg, body, len) == 0) {
        if (msg.subtype == GM1_PROBE || msg.subtype == GM1_VERIFY)
            gm1_search_back(g, &msg);
        else if (msg.subtype == GM1_SCOUT && gm1_search_own(g, &msg))
            return;
    }
    if (hostside_input(g->host, body, len))
        take_reply(g, &msg);
    gm1_search_run(g, false);
}

/* ---- looking at it ------------------------------------------------------- */

void gm1_status(const struct gm1 *g, struct gm1_status *status)
{
    *status = (struct gm1_status){
        .state = g->state,
        .active =
            g->state == GM1_STATE_DORMANT ? g->higher : g->config.host.address,
        .version = g->version,
        .unconfigured = g->unconfigured,
        .engine =
            g->routes ? net_routes_engine(g->routes) : g->config.routes.engine,
        .unproved = g->unproved.text,
        .beyond = g->beyond.text,
        .counters = g->counters,
    };
    if (!g->net)
        return;
    status->nhosts = g->net->nhosts;
    status->nmembers =
        g->nrows > g->net->nhosts ? g->nrows - g->net->nhosts : 0;
}

const struct hostside *gm1_host_side(const struct gm1 *g)
{
    return g->host;
}

const struct net *gm1_map(const struct gm1 *g)
{
    return g->net;
}
