/* SPDX-License-Identifier: BSD-3-Clause
 * Reports to switchmgrd: state of the link, counters, echo loss of peers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mac.h"
#include "hsnd/hsnd.h"

#define SECOND_NS 1000000000ULL
#define LEAST_NS SECOND_NS
#define FIRST_NS 500000000ULL    /* after the start */
#define LINK_NS (10 * SECOND_NS) /* that a link may take to come up */

static size_t fill_counters(const struct hsnd *d, struct report_counter *c,
                            size_t max)
{
    struct json_object *all = metrics_json(d);
    size_t n = 0;

    if (!all)
        return 0;
    json_object_object_foreach(all, name, value)
    {
        if (n == max)
            break;
        c[n].rail = (uint8_t)d->conf.rail;
        snprintf(c[n].name, sizeof(c[n].name), "%s", name);
        c[n++].value = json_object_get_uint64(value);
    }
    json_object_put(all);
    return n;
}

/* Echoes since the last report that told of them. */
static size_t fill_peers(struct hsnd *d, struct report_peer *p, size_t max)
{
    const struct hsn_routes *r = hsn_engine_routes(d->engine);
    size_t n = 0;

    for (size_t i = 0; i < r->npeers && n < max; i++) {
        struct hsn_peer_state *s = &r->peers[i].state;
        uint64_t under_way = s->asked && !s->answered;
        uint64_t sent = s->echo_sent - under_way;

        if (!r->peers[i].neighbour ||
            sent < s->reported_sent + REPORT_ECHOES_LEAST)
            continue;
        p[n].rail = (uint8_t)d->conf.rail;
        p[n].board = r->peers[i].address;
        p[n].sent = (uint32_t)(sent - s->reported_sent);
        p[n].lost = (uint32_t)(p[n].sent - (s->echo_back - s->reported_back));
        s->reported_sent = sent;
        s->reported_back = s->echo_back;
        n++;
    }
    return n;
}

/* Set the timer to when the next report is due. */
static void plan(struct hsnd *d)
{
    uint64_t now = clock_ns(), due = pace_due(&d->report_pace);

    ev_timer_stop(d->loop, &d->health_timer);
    ev_timer_set(&d->health_timer, due > now ? (double)(due - now) / 1e9 : 0.,
                 0.);
    ev_timer_start(d->loop, &d->health_timer);
}

void health_soon(struct hsnd *d)
{
    if (!d->sender || d->report_pace.wanted)
        return;
    d->report_pace.wanted = true;
    plan(d);
}

void health_now(struct hsnd *d)
{
    if (!d->sender || d->report_pace.urgent)
        return;
    d->report_pace.wanted = d->report_pace.urgent = true;
    plan(d);
}

/* A link takes a moment to come up: that hsnd was started is no fault. */
static bool may_still_come(struct hsnd *d)
{
    d->had_link |= d->nic->up;
    return !d->had_link && clock_ns() - d->health_begin < LINK_NS;
}

/* How this host is, and why. */
static void look(struct hsnd *d, struct report_record *me)
{
    const char *why = "link up";
    int turns = hsn_loop_answers(&d->loop_test);
    int answers =
        hsn_alone_answers(&d->alone, hsn_engine_routes(d->engine), &me->asked);

    me->seen = SEEN_UP;
    if (may_still_come(d)) {
        me->seen = SEEN_UNKNOWN;
        why = "no link yet";
    } else if (!d->nic->up) {
        me->seen = SEEN_DOWN;
        why = "no link";
    } else if (answers < 0) {
        me->seen = SEEN_DOWN;
        why = "nobody answers";
    }
    if (d->nic->up && answers != 0)
        me->answered = answers > 0 ? ANSWERED_YES : ANSWERED_NO;
    if (me->answered != ANSWERED_NO)
        me->asked = 0;
    if (d->nic->up && turns != 0)
        me->turned = turns > 0 ? ANSWERED_YES : ANSWERED_NO;
    snprintf(me->why, sizeof(me->why), "%s", why);
}

static void lost(const char *why)
{
    log_warn("SF-E803 report to switchmgrd: %s", why);
}

static void report(struct hsnd *d)
{
    struct report_record *me = calloc(1, sizeof(*me));
    struct report_counter *counters =
        calloc(SF_REPORT_COUNTERS_MAX, sizeof(*counters));
    struct report_peer *peers = calloc(SF_REPORT_PEERS_MAX, sizeof(*peers));
    struct report r = {.from = REPORT_HSND,
                       .instance = d->instance,
                       .seq = ++d->report_seq,
                       .records = me,
                       .counters = counters,
                       .peers = peers,
                       .nrecords = 1};
    struct errbuf err;

    if (me && counters && peers) {
        snprintf(r.node, sizeof(r.node), "%s", d->node);
        me->kind = REPORT_HOST;
        look(d, me);
        me->rail = (uint8_t)d->conf.rail;
        me->board = d->board;
        me->count = d->nic->counters.flaps;
        snprintf(me->name, sizeof(me->name), "%s", d->node);
        r.ncounters = fill_counters(d, counters, SF_REPORT_COUNTERS_MAX);
        r.npeers = fill_peers(d, peers, SF_REPORT_PEERS_MAX);
        if (sender_put(d->sender, &r, &err) < 0)
            lost(err.text);
    }
    free(me);
    free(counters);
    free(peers);
}

static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;

    (void)loop;
    (void)events;
    report(d);
    pace_done(&d->report_pace, clock_ns());
    plan(d);
}

int health_open(struct hsnd *d, struct errbuf *err)
{
    struct sender_options o = {.to = d->conf.health,
                               .munge_socket = d->conf.munge,
                               .reader = (uid_t)-1,
                               .clerk = d->clerk,
                               .lost = lost};
    uint64_t now = clock_ns(), every = (uint64_t)d->conf.health_s * SECOND_NS;

    if (!d->conf.health)
        return 0;
    if (mac_random(&d->instance, sizeof(d->instance)) < 0)
        return errprintf(err, "no randomness");
    d->sender = sender_new(d->loop, &o, err);
    if (!d->sender)
        return -1;
    d->health_begin = now;
    d->report_pace = (struct pace){
        .every = every,
        .least = LEAST_NS,
        .last = now > every ? now - every + FIRST_NS : 1,
    };
    ev_init(&d->health_timer, on_timer);
    d->health_timer.data = d;
    plan(d);
    return 0;
}
