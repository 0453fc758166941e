/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See window.h.
 */
#include "mapper/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define SOUNDING (UINT32_MAX - 1) /* owner; engines have none so high */
#define PATIENCE_MAX 64.0
#define SILENCE 1024 /* probes that nobody answers, until waits double */
#define SILENT_MAX 10

static void put_last(struct window *w, unsigned which, uint32_t i)
{
    struct flight_list *list = &w->lists[which];
    struct flight *f = &w->flights[i];

    f->list = (uint8_t)which;
    f->next = NONE;
    f->prev = list->tail;
    if (list->tail == NONE)
        list->head = i;
    else
        w->flights[list->tail].next = i;
    list->tail = i;
}

static void take(struct window *w, uint32_t i)
{
    struct flight *f = &w->flights[i];
    struct flight_list *list = &w->lists[f->list];

    if (f->prev == NONE)
        list->head = f->next;
    else
        w->flights[f->prev].next = f->next;
    if (f->next == NONE)
        list->tail = f->prev;
    else
        w->flights[f->next].prev = f->prev;
}

bool window_init(struct window *w, const struct prober_limits *limits)
{
    memset(w, 0, sizeof(*w));
    w->limits = *limits;
    if (w->limits.window_max == 0)
        w->limits.window_max = 1;
    if (w->limits.tries == 0)
        w->limits.tries = 1;
    for (int i = 0; i < FLIGHT_LISTS; i++)
        w->lists[i] = (struct flight_list){NONE, NONE};
    w->size = limits->window ? limits->window : 1;
    if (w->size > w->limits.window_max)
        w->size = w->limits.window_max;
    w->first = w->size;
    w->patience = 1;
    w->flights = calloc(w->limits.window_max, sizeof(*w->flights));
    return w->flights != NULL;
}

void window_clear(struct window *w)
{
    free(w->flights);
    w->flights = NULL;
}

size_t window_bytes(const struct window *w)
{
    return w->nflights * sizeof(*w->flights);
}

bool window_open(const struct window *w)
{
    return w->inflight < w->size && w->inflight < w->limits.window_max &&
           (w->lists[FLIGHT_SPARE].head != NONE ||
            w->nflights < w->limits.window_max);
}

/* ---- waits --------------------------------------------------------------- */

#define PACE_MAX 64.0
#define CALM UINT64_C(60000000000) /* until waits are halved */
#define SUPPOSED 4                 /* times what was measured */

void prober_pace_late(struct prober_pace *p, uint64_t now, uint64_t trip,
                      uint64_t loop_wait)
{
    double times = 2 * (double)trip / (double)loop_wait;

    if (times > PACE_MAX)
        times = PACE_MAX;
    if (times < 1 || times < p->times)
        return;
    *p = (struct prober_pace){.times = times, .since = now};
}

/* An answer came in time. */
static void pace_kept(struct prober_pace *p, uint64_t now, uint64_t trip,
                      uint64_t loop_wait)
{
    if (trip > p->longest)
        p->longest = trip;
    if (now - p->since < CALM)
        return;
    if (4 * (double)p->longest < (double)loop_wait * p->times)
        p->times /= 2;
    p->longest = 0;
    p->since = now;
}

/* The cap, as answers that came late have lengthened it. */
static uint64_t longest(const struct window *w, uint64_t cap)
{
    const struct prober_pace *p = w->limits.pace;

    return p && p->times > 1 ? (uint64_t)((double)cap * p->times) : cap;
}

/* Beyond the cap it is some round trips long at the most, however little is
 * answered: it would cost too much where nothing is. */
uint64_t window_wait(const struct window *w, enum probe_kind kind)
{
    uint64_t cap =
        kind == PROBE_SCOUT ? w->limits.scout_wait : w->limits.loop_wait;
    uint64_t most = longest(w, cap);
    unsigned silent = w->silence / (SILENCE + 2 * (unsigned)w->size);
    double learnt = w->mean + 4 * w->deviation;
    double wait = learnt * w->patience *
                  (double)(1 << (silent < SILENT_MAX ? silent : SILENT_MAX));
    double supposed;

    if (w->limits.fixed_timers)
        return cap;
    if (w->mean == 0)
        return most;
    supposed =
        SUPPOSED * learnt > (double)cap ? SUPPOSED * learnt : (double)cap;
    if (wait > supposed)
        wait = supposed;
    if (wait > (double)most)
        return most;
    if (wait < (double)w->limits.min_wait)
        return w->limits.min_wait < cap ? w->limits.min_wait : cap;
    return (uint64_t)wait;
}

static void launch(struct window *w, uint64_t now, uint32_t i)
{
    struct flight *f = &w->flights[i];

    f->sent = now;
    f->deadline = now + window_wait(w, f->probe.kind);
    f->sends++;
    w->sent++;
    w->by_kind[f->probe.kind]++;
    put_last(w, f->probe.kind == PROBE_SCOUT ? FLIGHT_SCOUTS : FLIGHT_LOOPS, i);
}

void window_send(struct window *w, uint64_t now, struct probe *probe,
                 uint32_t owner)
{
    uint32_t i = w->lists[FLIGHT_SPARE].head;
    struct flight *f;

    if (i == NONE)
        i = w->nflights++;
    else
        take(w, i);
    f = &w->flights[i];
    f->phase++;
    probe->tag = (uint64_t)f->phase << 32 | i;
    probe->again = false;
    f->probe = *probe;
    f->owner = owner;
    f->sends = 0;
    f->before = f->sent;
    f->flying = true;
    w->inflight++;
    if (probe->nroute > w->longest)
        w->longest = probe->nroute;
    launch(w, now, i);
}

bool window_again(struct window *w, uint64_t now, struct probe *probe)
{
    uint32_t i = w->lists[FLIGHT_AGAIN].head;

    if (i == NONE)
        return false;
    take(w, i);
    w->flights[i].probe.again = true;
    *probe = w->flights[i].probe;
    w->resent++;
    launch(w, now, i);
    return true;
}

static bool is_sounding(const struct window *w, uint32_t i)
{
    return w->flights[i].owner == SOUNDING;
}

bool window_sound(struct window *w, uint64_t now, struct probe *probe)
{
    if (w->limits.fixed_timers || w->sure.nroute == 0 ||
        w->silence < (w->asked + 1) * SILENCE || !window_open(w))
        return false;
    if (w->asked > 0 && is_sounding(w, w->sure_flight) &&
        w->flights[w->sure_flight].flying)
        return false;
    *probe = w->sure;
    w->asked++;
    window_send(w, now, probe, SOUNDING);
    w->sure_flight = (uint32_t)probe->tag;
    return true;
}

/* Out of the air; its place is free. */
static void land(struct window *w, uint32_t i)
{
    take(w, i);
    w->flights[i].flying = false;
    w->inflight--;
    put_last(w, FLIGHT_SPARE, i);
}

static void learn(struct window *w, double trip)
{
    if (w->mean == 0) {
        w->mean = trip;
        w->deviation = trip / 2;
        return;
    }
    w->deviation += (fabs(trip - w->mean) - w->deviation) / 4;
    w->mean += (trip - w->mean) / 8;
}

/* We did not wait long enough.  When something on the way stands still for a
 * moment all answers come late together: that is one piece of news. */
static void came_late(struct window *w, uint64_t now, uint64_t trip)
{
    if (w->limits.pace)
        prober_pace_late(w->limits.pace, now, trip, w->limits.loop_wait);
    if (w->late_at != 0 && now - w->late_at < w->limits.scout_wait)
        return;
    w->late_at = now;
    if (w->patience < PATIENCE_MAX)
        w->patience *= 2;
    w->size = w->size > 2 ? w->size / 2 : 1;
}

static void widen(struct window *w, double most)
{
    w->size += 1 / w->size;
    if (w->size > most)
        w->size = most;
}

/* Nothing answers where nothing is: as long as something answers elsewhere,
 * that is no reason to ask less at a time than at first. */
static void was_silent(struct window *w)
{
    w->unanswered++;
    if (++w->silence < SILENCE && w->size < w->first)
        widen(w, w->first);
}

bool window_answer(struct window *w, uint64_t now, uint64_t tag,
                   uint32_t *owner)
{
    uint32_t i = (uint32_t)tag;
    struct flight *f;

    if (i >= w->nflights)
        return false;
    f = &w->flights[i];
    w->silence = w->asked = 0;
    if (!f->flying || f->phase != (uint32_t)(tag >> 32)) {
        came_late(
            w, now,
            now - (f->phase == (uint32_t)(tag >> 32) ? f->sent : f->before));
        return false;
    }
    if (w->limits.pace)
        pace_kept(w->limits.pace, now, now - f->sent, w->limits.loop_wait);
    if (f->sends == 1)
        learn(w, (double)(now - f->sent));
    widen(w, w->limits.window_max);
    *owner = f->owner;
    land(w, i);
    if (is_sounding(w, i))
        return false;
    if (w->sure.nroute == 0)
        w->sure = f->probe;
    return true;
}

void window_abandon(struct window *w)
{
    for (uint32_t i = 0; i < w->nflights; i++)
        if (w->flights[i].flying)
            land(w, i);
}

static bool expired_in(struct window *w, uint64_t now, unsigned which,
                       uint32_t *owner)
{
    for (;;) {
        uint32_t i = w->lists[which].head;
        struct flight *f = &w->flights[i == NONE ? 0 : i];

        if (i == NONE || f->deadline > now)
            return false;
        if (w->limits.fixed_timers && f->sends < w->limits.tries) {
            take(w, i);
            put_last(w, FLIGHT_AGAIN, i);
            continue;
        }
        was_silent(w);
        *owner = f->owner;
        land(w, i);
        if (!is_sounding(w, i))
            return true;
    }
}

bool window_expired(struct window *w, uint64_t now, uint32_t *owner)
{
    return expired_in(w, now, FLIGHT_SCOUTS, owner) ||
           expired_in(w, now, FLIGHT_LOOPS, owner);
}

uint64_t window_deadline(const struct window *w)
{
    uint64_t first = UINT64_MAX;

    for (unsigned which = FLIGHT_SCOUTS; which <= FLIGHT_LOOPS; which++) {
        uint32_t i = w->lists[which].head;

        if (i != NONE && w->flights[i].deadline < first)
            first = w->flights[i].deadline;
    }
    return first;
}
