/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "swfab/swfab_priv.h"
#include "timed_fabric.h"

const struct swfab_timing swfab_timing_default = {
    .hop_ns = 300, .byte_ps = 4000, .blocked_ns = 50 * 1000 * 1000};

/* ---- what is to happen ------------------------------------------------- */

/* Ordered by time and, at equal times, by the order in which it was put in. */
enum what {
    WHAT_START,    /* packet: handed to the interface */
    WHAT_TAKE,     /* packet: the link that it waited for is its own */
    WHAT_HEAD,     /* packet: head came to the far end of a link */
    WHAT_DEADLINE, /* packet: has it waited too long? */
    WHAT_ARRIVE,   /* packet: tail came to the host */
    WHAT_TIMER,
};

struct item {
    uint64_t time, order;
    void *flight;    /* packet, or NULL */
    uint64_t cookie; /* of a timer */
    uint32_t node;
    enum what what;
};

struct heap {
    struct item *items;
    size_t n, size;
    uint64_t order;
};

enum { WIDTH = 4 }; /* children of an item */

static bool earlier(const struct item *a, const struct item *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool heap_reserve(struct heap *heap, size_t more)
{
    struct item *items;
    size_t size = heap->size ? heap->size : 64;

    if (heap->n + more <= heap->size)
        return true;
    while (size < heap->n + more)
        size *= 2;
    items = realloc(heap->items, size * sizeof(*items));
    if (!items)
        return false;
    heap->items = items;
    heap->size = size;
    return true;
}

static void heap_push(struct heap *heap, struct item item)
{
    size_t at = heap->n++;

    assert(heap->n <= heap->size);
    item.order = heap->order++;
    while (at && earlier(&item, &heap->items[(at - 1) / WIDTH])) {
        heap->items[at] = heap->items[(at - 1) / WIDTH];
        at = (at - 1) / WIDTH;
    }
    heap->items[at] = item;
}

/* The earliest of the children of `at`, or n when it has none. */
static size_t first_child(const struct heap *heap, size_t at)
{
    size_t first = at * WIDTH + 1, best = first;

    if (first >= heap->n)
        return heap->n;
    for (size_t c = first + 1; c < first + WIDTH && c < heap->n; c++)
        if (earlier(&heap->items[c], &heap->items[best]))
            best = c;
    return best;
}

static struct item heap_pop(struct heap *heap)
{
    struct item top = heap->items[0];
    struct item last = heap->items[--heap->n];
    size_t at = 0, child = first_child(heap, 0);

    while (child < heap->n && earlier(&heap->items[child], &last)) {
        heap->items[at] = heap->items[child];
        at = child;
        child = first_child(heap, at);
    }
    heap->items[at] = last;
    return top;
}

/* ---- packets on their way and the links they hold ---------------------- */

enum { EVENTS_OF_PACKET = 2 }; /* a move and a deadline */

struct flight {
    struct swfab_walk walk;
    struct swfab_place at;
    struct flight *next; /* who waits for the same link */
    uint64_t duration;   /* of its bytes on a link */
    uint64_t waits_since;
    uint32_t host;    /* sender */
    uint32_t out;     /* link (port) that it takes, wants or took last */
    uint16_t taken;   /* links taken so far */
    uint16_t let_go;  /* of these, given back */
    uint8_t pending;  /* events that point here */
    bool waits, over; /* for a link; nothing more happens to it */
    bool watched;     /* a deadline is among the events */
    uint32_t held[NET_WIRE_ROUTE_MAX + 1]; /* links in the order taken */
    uint8_t packet[];
};

struct link {
    struct flight *holder;
    uint64_t since;              /* when the holder took it */
    uint64_t free_at;            /* when there is no holder */
    struct flight *first, *last; /* who waits */
    uint32_t nwaiting;
};

struct swfab_timed {
    struct swfab *fab;
    struct swfab_timing timing;
    struct heap heap;
    struct link *links; /* by port that a packet leaves by */
    uint64_t now;
    size_t nflights; /* packets that events point to */
    size_t nmoving;  /* of these, not over */
    size_t ntimers;
    uint8_t arrived[NET_PACKET_MAX + NET_TAGS_MAX * NET_TAG_SIZE];
};

/* A packet moves link by link.  It takes a link when its head enters it and
 * lets go when its tail has left it, which is `duration` of movement later;
 * a head that stands still holds all links that its body lies on.  A body that
 * is no longer than a hop fits the slack buffer of the port where it waits and
 * holds none.  Links are given to those who wait in the order they came. */

static void flight_schedule(struct swfab_timed *t, struct flight *f,
                            uint64_t time, enum what what)
{
    f->pending++;
    heap_push(&t->heap, (struct item){.time = time, .flight = f, .what = what});
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
        flight_schedule(t, f, link->free_at, WHAT_TAKE);
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
static void flight_pull_all(struct swfab_timed *t, struct flight *f)
{
    for (; f->let_go < f->taken; f->let_go++)
        give_back(t, f->held[f->let_go],
                  tail_leaves(t, f, f->let_go, (unsigned)(f->taken - f->let_go),
                              t->now));
}

static void flight_take(struct swfab_timed *t, struct flight *f, uint64_t start)
{
    struct link *link = &t->links[f->out];

    link->holder = f;
    link->since = start;
    f->held[f->taken++] = f->out;
    pull_tail(t, f, start);
    flight_schedule(t, f, start + t->timing.hop_ns, WHAT_HEAD);
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
        flight_schedule(t, f, t->now + t->timing.blocked_ns, WHAT_DEADLINE);
    }
}

static void flight_want(struct swfab_timed *t, struct flight *f)
{
    struct link *link = &t->links[f->out];

    if (link->holder || link->first)
        wait_for(t, f);
    else
        flight_take(t, f, link->free_at > t->now ? link->free_at : t->now);
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

static void flight_reset(struct swfab_timed *t, struct flight *f)
{
    if (f->out != NET_NONE)
        stop_waiting(t, f);
    f->waits = false;
    for (; f->let_go < f->taken; f->let_go++)
        give_back(t, f->held[f->let_go], t->now);
}

/* ---- what becomes of a packet ------------------------------------------ */

/* One event of it is gone; nothing points to it after the last. */
static void let_go_of(struct swfab_timed *t, struct flight *f)
{
    if (--f->pending || !f->over)
        return;
    free(f);
    t->nflights--;
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
    flight_pull_all(t, f);
}

static void on_start(struct swfab_timed *t, struct flight *f)
{
    enum swfab_fate fate = swfab_leave(t->fab, f->host, &f->walk);

    f->out = t->fab->nodes[f->host].first;
    if (fate != SWFAB_DELIVERED)
        drop(t, f, fate);
    else
        flight_want(t, f);
}

static void on_host(struct swfab_timed *t, struct flight *f)
{
    enum swfab_fate fate = swfab_arrive(&f->at, &f->walk);

    if (fate != SWFAB_DELIVERED) {
        drop(t, f, fate);
        return;
    }
    flight_pull_all(t, f);
    flight_schedule(t, f, t->now + f->duration, WHAT_ARRIVE);
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
        flight_want(t, f);
}

/* Too long in one place. */
static void reset_path(struct swfab_timed *t, struct flight *f)
{
    end_of(t, f, SWFAB_BLOCKED);
    flight_reset(t, f);
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
    flight_schedule(t, f, f->waits_since + t->timing.blocked_ns, WHAT_DEADLINE);
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

/* ---- outside ----------------------------------------------------------- */

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
        struct flight *f = heap_pop(&t->heap).flight;

        if (f) {
            f->over = true;
            let_go_of(t, f);
        }
    }
    free(t->heap.items);
    free(t->links);
    free(t);
}

static bool make_room(struct swfab_timed *t, size_t nflights, size_t ntimers)
{
    size_t all =
        (t->nflights + nflights) * EVENTS_OF_PACKET + t->ntimers + ntimers;

    return all <= t->heap.n || heap_reserve(&t->heap, all - t->heap.n);
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
    flight_schedule(t, f, time > t->now ? time : t->now, WHAT_START);
    return 0;
}

int swfab_timed_timer(struct swfab_timed *t, uint64_t time, uint32_t node,
                      uint64_t cookie)
{
    if (!make_room(t, 0, 1))
        return -1;
    t->ntimers++;
    heap_push(&t->heap, (struct item){.time = time > t->now ? time : t->now,
                                      .node = node,
                                      .cookie = cookie,
                                      .what = WHAT_TIMER});
    return 0;
}

/* True when there is something to tell. */
static bool happen(struct swfab_timed *t, const struct item *item,
                   struct swfab_event *event)
{
    struct flight *f = item->flight;

    switch (item->what) {
    case WHAT_START:
        on_start(t, f);
        break;
    case WHAT_TAKE:
        flight_take(t, f, t->now);
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
        t->ntimers--;
        *event = (struct swfab_event){.time = t->now,
                                      .kind = SWFAB_TIMER,
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
        struct item item = heap_pop(&t->heap);

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
