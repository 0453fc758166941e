/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Birth and death of a GM-2 mapper, its moves from state to state, time.
 */
#include "mapper/gm2.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mapper/gm2_priv.h"

#define MS UINT64_C(1000000)

void gm2_config_default(struct gm2_config *config)
{
    *config = (struct gm2_config){
        .level = 1,
        .limits = PROBER_LIMITS_DEFAULT,
        .ping_interval = 1000 * MS,
        .verify_pause = 1000 * MS,
        .scout_wait = 10 * MS,
        .piece_wait = 20 * MS,
        .parent_tries = 30,
        .tree_tries = 10,
        .piece_tries = 30,
        .verify_tries = 15,
        .pause_time = 10000 * MS,
        .map_deltas = true,
    };
    config->limits.max_route = GM2_ROUTE_MAX;
    config->limits.tagged = true;
}

struct gm2 *gm2_new(const struct gm2_config *config, const struct gm2_ops *ops,
                    void *arg, uint64_t now)
{
    struct gm2 *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->flight = calloc(GM2_FLIGHT, sizeof(*m->flight));
    if (!m->flight) {
        free(m);
        return NULL;
    }
    m->config = *config;
    if (m->config.limits.window_max > GM2_FLIGHT)
        m->config.limits.window_max = GM2_FLIGHT;
    m->ops = *ops;
    m->arg = arg;
    m->rng.state = config->seed ^ config->address;
    m->counter = (uint32_t)net_rng_next(&m->rng);
    m->talk_session = (uint32_t)net_rng_next(&m->rng);
    m->tries = config->limits.tries;
    m->now = m->since = now;
    m->state = GM2_STATE_SLEEPING;
    m->timer = now + config->start_delay;
    return m;
}

void gm2_free(struct gm2 *m)
{
    if (!m)
        return;
    gm2_search_stop(m);
    gm2_fetch_free(m->fetch);
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    gm2_map_free(m->supposed);
    gm2_past_free(m);
    free(m->flight);
    free(m);
}

void gm2_notice(struct gm2 *m, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (m->ops.notice)
        m->ops.notice(text, m->arg);
}

bool gm2_is_leader(const struct gm2 *m)
{
    return m->map && m->map->version.leader == m->config.address;
}

void gm2_adopt(struct gm2 *m, uint64_t address, const struct gm2_route *route)
{
    m->parent = (struct gm2_partner){.address = address, .route = *route};
}

static void invalidate(struct gm2 *m)
{
    if (m->valid && m->ops.invalid)
        m->ops.invalid(m->arg);
    m->valid = m->complete = false;
}

static void enter_mapping(struct gm2 *m, enum gm2_event event)
{
    bool young = m->map && m->now - m->map_since < m->config.verify_pause / 2;

    m->parent.address = 0;
    /* Not in a circle without a breath. */
    if (event == GM2_EVENT_EXPLORE_FAILED || young)
        m->timer = m->now + m->config.verify_pause / 2;
    else
        gm2_search_start(m);
}

/* A map that could not be had is not asked for again without a breath. */
static void enter_fetching(struct gm2 *m)
{
    if (m->now < m->fetch_again && gm2_version_equal(&m->want, &m->unfetched))
        m->timer = m->fetch_again;
    else
        gm2_fetch_start(m);
}

/* All hosts have a map at about the same time.  Were all their rounds to begin
 * together, what breaks after them would be seen a whole pause later; so hosts
 * have first rests of different length, half a pause at least: a link that
 * flaps is not to be mapped for ever.  Neighbours in the order of ids, who
 * mostly share a crossbar and its cables, lie far apart: their numbers count
 * with the bits reversed. */
static uint64_t first_rest(const struct gm2 *m)
{
    uint32_t slot = 0;

    for (unsigned i = 0; i < GM2_REST_BITS; i++)
        slot = slot << 1 | (m->me >> i & 1);
    return m->config.verify_pause -
           (m->config.verify_pause / 2 * slot >> GM2_REST_BITS);
}

static void enter_verifying(struct gm2 *m)
{
    m->map_since = m->now;
    m->round = 0;
    m->phase = GM2_PHASE_REST;
    m->lingering = false;
    m->timer = m->now + first_rest(m);
    gm2_tree_start(m);
}

static void enter(struct gm2 *m, enum gm2_event event)
{
    switch (m->state) {
    case GM2_STATE_MAPPING:
        enter_mapping(m, event);
        break;
    case GM2_STATE_PASSIVE:
        gm2_ping(m);
        break;
    case GM2_STATE_FETCHING:
        enter_fetching(m);
        break;
    case GM2_STATE_VERIFYING:
        enter_verifying(m);
        break;
    case GM2_STATE_PAUSED:
        m->timer = m->pause_until;
        break;
    default:
        break;
    }
}

bool gm2_fire(struct gm2 *m, enum gm2_event event)
{
    enum gm2_state from = m->state;
    enum gm2_state to =
        gm2_next_state(from, event, m->config.level != 0, gm2_is_leader(m));

    if (to == GM2_NSTATES)
        return false;
    if (event == GM2_EVENT_FETCH_FAILED) {
        m->unfetched = m->want;
        m->fetch_again = m->now + m->config.verify_pause / 2;
    }
    gm2_hush(m, GM2_TALK_FREE);
    gm2_search_stop(m);
    gm2_fetch_free(m->fetch);
    m->fetch = NULL;
    m->timer = GM2_NEVER;
    if (to != GM2_STATE_VERIFYING)
        invalidate(m);
    m->state = to;
    m->since = m->now;
    if (m->ops.moved)
        m->ops.moved(event, from, to, m->arg);
    enter(m, event);
    return true;
}

/* Maps that do not last, though nothing else was found in the end or something
 * had been missed, were made in a fabric that loses probes.  What is really
 * another fabric each time is explored as ever. */
static void judge_map(struct gm2 *m)
{
    uint64_t age = m->now - m->map_since;

    if (!gm2_is_leader(m))
        return;
    if (age > 60 * m->config.verify_pause || !m->doubtful)
        m->tries = m->config.limits.tries;
    else if (age < 5 * m->config.verify_pause && m->tries < GM2_TRIES_MAX)
        m->tries = (uint8_t)(m->tries * 2 > GM2_TRIES_MAX ? GM2_TRIES_MAX
                                                          : m->tries * 2);
}

void gm2_changed(struct gm2 *m, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (m->state != GM2_STATE_VERIFYING)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (m->ops.notice)
        m->ops.notice(text, m->arg);
    judge_map(m);
    gm2_fire(m, GM2_EVENT_CHANGED);
}

void gm2_end(struct gm2 *m, const char *text)
{
    gm2_fire(m, text ? GM2_EVENT_FATAL : GM2_EVENT_FINISHED);
    if (m->ops.ended)
        m->ops.ended(text, m->arg);
}

/* ---- time ---------------------------------------------------------------- */

static void rest_is_over(struct gm2 *m)
{
    if (m->config.map_once && m->complete && m->lingering)
        gm2_end(m, NULL);
    else if (m->config.map_once && m->complete) {
        /* No more rounds, but the children must hear that it is complete. */
        m->lingering = true;
        m->timer = m->now + 3 * m->config.verify_pause;
    } else if (m->config.thrash && m->complete && gm2_is_leader(m))
        gm2_changed(m, "mapping again, as --thrash says");
    else
        gm2_round_begin(m);
}

static void timer_rings(struct gm2 *m)
{
    m->timer = GM2_NEVER;
    switch (m->state) {
    case GM2_STATE_SLEEPING:
        gm2_fire(m, GM2_EVENT_WAKE);
        break;
    case GM2_STATE_MAPPING:
        gm2_search_start(m);
        break;
    case GM2_STATE_PASSIVE:
        gm2_ping(m);
        break;
    case GM2_STATE_FETCHING:
        gm2_fetch_start(m);
        break;
    case GM2_STATE_VERIFYING:
        rest_is_over(m);
        break;
    case GM2_STATE_PAUSED:
        gm2_fire(m, GM2_EVENT_RESUME);
        break;
    default:
        break;
    }
}

void gm2_tick(struct gm2 *m, uint64_t now)
{
    if (now > m->now)
        m->now = now;
    gm2_talk_tick(m);
    if (m->timer <= m->now)
        timer_rings(m);
    gm2_search_run(m, true);
}

uint64_t gm2_deadline(const struct gm2 *m)
{
    uint64_t t = gm2_talk_deadline(m), s = gm2_search_deadline(m);

    if (m->timer < t)
        t = m->timer;
    return s < t ? s : t;
}

/* ---- looking at it ------------------------------------------------------- */

void gm2_status(const struct gm2 *m, struct gm2_status *status)
{
    *status = (struct gm2_status){
        .state = m->state,
        .leader = m->valid && gm2_is_leader(m),
        .valid = m->valid,
        .complete = m->complete,
        .parent = m->parent.address,
        .level = m->config.level,
        .done = m->done,
        .since = m->since,
        .round_time = m->round_time,
        .engine =
            m->routes ? net_routes_engine(m->routes) : m->config.routes.engine,
        .unproved = m->unproved.text,
        .beyond = m->beyond.text,
        .unlike = m->unlike,
        .counters = m->counters,
    };
    if (!m->map)
        return;
    status->version = m->map->version;
    status->nhosts = m->map->net->nhosts;
    status->nxbars = m->map->net->nxbars;
    status->ncables = m->map->net->ncables;
}

const struct gm2_map *gm2_current_map(const struct gm2 *m)
{
    return m->map;
}

const struct net_routes *gm2_current_routes(const struct gm2 *m)
{
    return m->routes;
}
