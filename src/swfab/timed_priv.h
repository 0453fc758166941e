/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the timed mode: packets on their way and the links they hold.
 */
#ifndef SF_SWFAB_TIMED_PRIV_H
#define SF_SWFAB_TIMED_PRIV_H

#include "swfab/heap.h"
#include "swfab/swfab_priv.h"
#include "swfab/timed.h"

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
    struct swfab_heap heap;
    struct link *links; /* by port that a packet leaves by */
    uint64_t now;
    size_t nflights; /* packets that events point to */
    size_t nmoving;  /* of these, not over */
    size_t ntimers;
    uint8_t arrived[NET_PACKET_MAX + NET_TAGS_MAX * NET_TAG_SIZE];
};

/* Put an event of a packet into the queue; there is room. */
void swfab_flight_schedule(struct swfab_timed *t, struct flight *f,
                           uint64_t time, enum swfab_what what);

/* Its head is at the beginning of link f->out: take it, or wait for it. */
void swfab_flight_want(struct swfab_timed *t, struct flight *f);
/* The link that it waited for is its own from `start` on. */
void swfab_flight_take(struct swfab_timed *t, struct flight *f, uint64_t start);
/* The end of its way: the rest of the body follows and is gone. */
void swfab_flight_pull_all(struct swfab_timed *t, struct flight *f);
/* It is discarded where it waits; its links are free now. */
void swfab_flight_reset(struct swfab_timed *t, struct flight *f);

#endif
