/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A packet moves link by link.  It takes a link when its head enters it and
 * lets go when its tail has left it, which is `duration` of movement later;
 * a head that stands still holds all links that its body lies on.  A body that
 * is no longer than a hop fits the slack buffer of the port where it waits and
 * holds none.  Links are given to those who wait in the order they came.
 */
#include "swfab/timed_priv.h"

void swfab_flight_schedule(struct swfab_timed *t, struct flight *f,
                           uint64_t time, enum swfab_what what)
{
    f->pending++;
    swfab_heap_push(
        &t->heap, (struct swfab_item){.time = time, .flight = f, .what = what});
}

/* The link is given back at `when`; the first who waits is to take it then.
 * One whose time is over by then waits for its deadline only. */
static void give_back(struct swfab_timed *t, uint32_t port, uint64_t when)
{
    struct link *link = &t->links[port];
    struct flight *f;

    link->holder = NULL;
    link->free_at = when > t->now ? when : t->now;
    while (!link->holder && (f = link->first)) {
        link->first = f->next;
        link->nwaiting--;
        if (!link->first)
            link->last = NULL;
        if (f->taken && link->free_at - f->waits_since > t->timing.blocked_ns) {
            f->out = NET_NONE;
            continue;
        }
        f->waits = false;
        link->holder = f;
        swfab_flight_schedule(t, f, link->free_at, WHAT_TAKE);
    }
}

/* When the tail has left the i-th link that was taken, if the head is the
 * length of n links beyond its beginning at `time`. */
static uint64_t tail_leaves(const struct swfab_timed *t, const struct flight *f,
                            unsigned i, unsigned n, uint64_t time)
{
    uint64_t soonest = t->links[f->held[i]].since + f->duration;
    uint64_t moved = n * t->timing.hop_ns;
    uint64_t when = time + f->duration;

    when = when > moved ? when - moved : 0;
    return when > soonest ? when : soonest;
}

/* Give back what the tail has left when the head, which enters the link taken
 * last at `start`, is at that link's end: no crossbar can stop it before. */
static void pull_tail(struct swfab_timed *t, struct flight *f, uint64_t start)
{
    for (; f->let_go < f->taken; f->let_go++) {
        unsigned n = (unsigned)(f->taken - f->let_go);

        if (n * t->timing.hop_ns < f->duration)
            return;
        give_back(t, f->held[f->let_go],
                  tail_leaves(t, f, f->let_go, n - 1, start));
    }
}

/* The end of the way: the rest of the body follows and is gone. */
void swfab_flight_pull_all(struct swfab_timed *t, struct flight *f)
{
    for (; f->let_go < f->taken; f->let_go++)
        give_back(t, f->held[f->let_go],
                  tail_leaves(t, f, f->let_go, (unsigned)(f->taken - f->let_go),
                              t->now));
}

void swfab_flight_take(struct swfab_timed *t, struct flight *f, uint64_t start)
{
    struct link *link = &t->links[f->out];

    link->holder = f;
    link->since = start;
    f->held[f->taken++] = f->out;
    pull_tail(t, f, start);
    swfab_flight_schedule(t, f, start + t->timing.hop_ns, WHAT_HEAD);
}

static void wait_for(struct swfab_timed *t, struct flight *f)
{
    struct link *link = &t->links[f->out];

    f->waits = true;
    f->waits_since = t->now;
    f->walk.port = f->out;
    f->next = NULL;
    if (link->last)
        link->last->next = f;
    else
        link->first = f;
    link->last = f;
    link->nwaiting++;
    if (f->taken && !f->watched) {
        f->watched = true;
        swfab_flight_schedule(t, f, t->now + t->timing.blocked_ns,
                              WHAT_DEADLINE);
    }
}

void swfab_flight_want(struct swfab_timed *t, struct flight *f)
{
    struct link *link = &t->links[f->out];

    if (link->holder || link->first)
        wait_for(t, f);
    else
        swfab_flight_take(t, f,
                          link->free_at > t->now ? link->free_at : t->now);
}

static void stop_waiting(struct swfab_timed *t, struct flight *f)
{
    struct link *link = &t->links[f->out];
    struct flight **at = &link->first, *before = NULL;

    while (*at != f) {
        before = *at;
        at = &(*at)->next;
    }
    *at = f->next;
    link->nwaiting--;
    if (link->last == f)
        link->last = before;
}

void swfab_flight_reset(struct swfab_timed *t, struct flight *f)
{
    if (f->out != NET_NONE)
        stop_waiting(t, f);
    f->waits = false;
    for (; f->let_go < f->taken; f->let_go++)
        give_back(t, f->held[f->let_go], t->now);
}
