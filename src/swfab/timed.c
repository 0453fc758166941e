/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of the timed mode, and what becomes of packets in it; links are in
 * timed_links.c.
 */
#include <stdlib.h>
#include <string.h>

#include "swfab/timed_priv.h"

const struct swfab_timing swfab_timing_default = {
    .hop_ns = 300, .byte_ps = 4000, .blocked_ns = 50 * 1000 * 1000};

struct swfab_timed *swfab_timed_new(struct swfab *fab,
                                    const struct swfab_timing *timing)
{
    struct swfab_timed *t = calloc(1, sizeof(*t));

    if (t)
        t->links = calloc(fab->nports + 1u, sizeof(*t->links));
    if (!t || !t->links) {
        free(t);
        return NULL;
    }
    t->fab = fab;
    t->timing = timing ? *timing : swfab_timing_default;
    return t;
}

/* One event of it is gone; nothing points to it after the last. */
static void let_go_of(struct swfab_timed *t, struct flight *f)
{
    if (--f->pending || !f->over)
        return;
    free(f);
    t->nflights--;
}

void swfab_timed_free(struct swfab_timed *t)
{
    if (!t)
        return;
    for (uint32_t p = 0; p < t->fab->nports; p++) {
        struct flight *f = t->links[p].first, *next;

        for (; f; f = next) {
            next = f->next;
            f->over = true; /* without an event: waits at its interface */
            if (!f->pending)
                free(f);
        }
    }
    while (t->heap.n) {
        struct flight *f = swfab_heap_pop(&t->heap).flight;

        if (f) {
            f->over = true;
            let_go_of(t, f);
        }
    }
    free(t->heap.items);
    free(t->links);
    free(t);
}

static void end_of(struct swfab_timed *t, struct flight *f,
                   enum swfab_fate fate)
{
    f->walk.fate = fate;
    f->over = true;
    t->nmoving--;
    swfab_count_up(t->fab, f->walk.port, fate);
}

static void drop(struct swfab_timed *t, struct flight *f, enum swfab_fate fate)
{
    end_of(t, f, fate);
    swfab_flight_pull_all(t, f);
}

static void on_start(struct swfab_timed *t, struct flight *f)
{
    enum swfab_fate fate = swfab_leave(t->fab, f->host, &f->walk);

    f->out = t->fab->nodes[f->host].first;
    if (fate != SWFAB_DELIVERED)
        drop(t, f, fate);
    else
        swfab_flight_want(t, f);
}

static void on_host(struct swfab_timed *t, struct flight *f)
{
    enum swfab_fate fate = swfab_arrive(&f->at, &f->walk);

    if (fate != SWFAB_DELIVERED) {
        drop(t, f, fate);
        return;
    }
    swfab_flight_pull_all(t, f);
    swfab_flight_schedule(t, f, t->now + f->duration, WHAT_ARRIVE);
}

static void on_head(struct swfab_timed *t, struct flight *f)
{
    enum swfab_fate fate = swfab_cross(t->fab, f->out, &f->walk, &f->at);

    if (fate == SWFAB_DELIVERED && f->at.at_host) {
        on_host(t, f);
        return;
    }
    if (fate == SWFAB_DELIVERED)
        fate = f->walk.stripped + 1 < f->walk.len
                   ? swfab_turn(t->fab, &f->at, &f->walk, &f->out)
                   : SWFAB_NO_ROUTE;
    if (fate != SWFAB_DELIVERED)
        drop(t, f, fate);
    else
        swfab_flight_want(t, f);
}

/* Too long in one place. */
static void reset_path(struct swfab_timed *t, struct flight *f)
{
    end_of(t, f, SWFAB_BLOCKED);
    swfab_flight_reset(t, f);
}

static void on_deadline(struct swfab_timed *t, struct flight *f)
{
    f->watched = false;
    if (f->over || !f->waits)
        return;
    if (t->now - f->waits_since >= t->timing.blocked_ns) {
        reset_path(t, f);
        return;
    }
    f->watched = true;
    swfab_flight_schedule(t, f, f->waits_since + t->timing.blocked_ns,
                          WHAT_DEADLINE);
}

static void on_arrive(struct swfab_timed *t, struct flight *f,
                      struct swfab_event *event)
{
    end_of(t, f, SWFAB_DELIVERED);
    swfab_walk_write(t->fab, &f->walk, t->arrived, f->packet);
    *event = (struct swfab_event){
        .time = t->now,
        .kind = SWFAB_ARRIVAL,
        .node = t->fab->node_of[f->walk.port],
        .packet = t->arrived,
        .len = swfab_walk_size(t->fab, &f->walk),
    };
}

/* ---- outside ---- */

static bool make_room(struct swfab_timed *t, size_t nflights, size_t ntimers)
{
    size_t all =
        (t->nflights + nflights) * EVENTS_OF_PACKET + t->ntimers + ntimers;

    return all <= t->heap.n || swfab_heap_reserve(&t->heap, all - t->heap.n);
}

int swfab_timed_send(struct swfab_timed *t, uint64_t time, uint32_t host,
                     const void *packet, size_t len)
{
    /* A longer one is not looked at: it only counts as one. */
    size_t kept = len <= NET_PACKET_MAX ? len : NET_PACKET_MAX + 1;
    struct flight *f;

    if (!make_room(t, 1, 0))
        return -1;
    f = malloc(sizeof(*f) + kept);
    if (!f)
        return -1;
    memset(f, 0, sizeof(*f));
    memcpy(f->packet, packet, kept);
    f->walk.head = f->packet;
    f->walk.len = kept;
    f->host = host;
    f->duration = kept * t->timing.byte_ps / 1000;
    t->nflights++;
    t->nmoving++;
    swfab_flight_schedule(t, f, time > t->now ? time : t->now, WHAT_START);
    return 0;
}

static int add_event(struct swfab_timed *t, uint64_t time, uint32_t node,
                     uint64_t cookie, enum swfab_what what)
{
    if (!make_room(t, 0, 1))
        return -1;
    t->ntimers++;
    swfab_heap_push(&t->heap,
                    (struct swfab_item){.time = time > t->now ? time : t->now,
                                        .node = node,
                                        .cookie = cookie,
                                        .what = what});
    return 0;
}

int swfab_timed_timer(struct swfab_timed *t, uint64_t time, uint32_t node,
                      uint64_t cookie)
{
    return add_event(t, time, node, cookie, WHAT_TIMER);
}

int swfab_timed_fault(struct swfab_timed *t, uint64_t time, uint32_t node,
                      uint64_t cookie)
{
    return add_event(t, time, node, cookie, WHAT_FAULT);
}

/* True when there is something to tell. */
static bool happen(struct swfab_timed *t, const struct swfab_item *item,
                   struct swfab_event *event)
{
    struct flight *f = item->flight;

    switch (item->what) {
    case WHAT_START:
        on_start(t, f);
        break;
    case WHAT_TAKE:
        swfab_flight_take(t, f, t->now);
        break;
    case WHAT_HEAD:
        on_head(t, f);
        break;
    case WHAT_DEADLINE:
        on_deadline(t, f);
        break;
    case WHAT_ARRIVE:
        on_arrive(t, f, event);
        break;
    case WHAT_TIMER:
    case WHAT_FAULT:
        t->ntimers--;
        *event = (struct swfab_event){
            .time = t->now,
            .kind = item->what == WHAT_TIMER ? SWFAB_TIMER : SWFAB_FAULT,
            .node = item->node,
            .cookie = item->cookie};
        return true;
    }
    let_go_of(t, f);
    return item->what == WHAT_ARRIVE;
}

bool swfab_timed_next(struct swfab_timed *t, uint64_t until,
                      struct swfab_event *event)
{
    while (t->heap.n && t->heap.items[0].time <= until) {
        struct swfab_item item = swfab_heap_pop(&t->heap);

        t->now = item.time;
        if (happen(t, &item, event))
            return true;
    }
    if (until != UINT64_MAX && until > t->now)
        t->now = until;
    return false;
}

uint64_t swfab_timed_now(const struct swfab_timed *t)
{
    return t->now;
}

size_t swfab_timed_in_flight(const struct swfab_timed *t)
{
    return t->nmoving;
}

uint32_t swfab_timed_queued(const struct swfab_timed *t, uint32_t host)
{
    return t->links[t->fab->nodes[host].first].nwaiting;
}
