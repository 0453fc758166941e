/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes in flight (internal to explorers): their tags, timers, and how many
 * there may be.  The window opens by one per windowful of answers and closes
 * by half when answers come late (AIMD); then silent probes open it, too, to
 * what it was at first.  The wait is
 * learnt from round trips (mean + 4 deviations, never over the limits'
 * caps; doubled while everything is silent, lest a fabric that is stuck be
 * filled faster than it empties), or fixed by option; with fixed timers a probe
 * is sent again at once when its timer ends, until its tries are used up.
 */
#ifndef SF_MAPPER_WINDOW_H
#define SF_MAPPER_WINDOW_H

#include <stddef.h>

#include "mapper/prober.h"

struct flight {
    struct probe probe;
    uint64_t sent, deadline;
    uint64_t before; /* when the one before it, in its place, was sent */
    uint32_t owner;  /* the engine's own number */
    uint32_t phase;
    uint32_t next, prev; /* in its list */
    uint8_t list;
    uint8_t sends;
    bool flying;
};

enum { FLIGHT_SPARE, FLIGHT_SCOUTS, FLIGHT_LOOPS, FLIGHT_AGAIN, FLIGHT_LISTS };

struct flight_list {
    uint32_t head, tail; /* UINT32_MAX: empty */
};

struct window {
    struct prober_limits limits;
    struct flight *flights; /* window_max of them */
    uint32_t nflights;      /* used so far */
    struct flight_list lists[FLIGHT_LISTS];
    uint32_t inflight;
    double size, first;
    uint64_t late_at;       /* when answers last came late; 0: never */
    double mean, deviation; /* of round trips, ns; 0: none measured */
    double patience;        /* grows when answers come late */
    uint32_t silence;       /* probes in a row that nobody answered */
    uint32_t asked;         /* how often in this silence after `sure` */
    uint32_t sure_flight;   /* its flight */
    struct probe sure;      /* was answered; nroute 0: none was */
    uint64_t sent, resent, unanswered, by_kind[PROBE_TAGGED + 1];
    uint32_t longest;
};

bool window_init(struct window *w, const struct prober_limits *limits);
void window_clear(struct window *w);
size_t window_bytes(const struct window *w);

/* Is there room for one more probe? */
bool window_open(const struct window *w);
/* Send: fills probe->tag and keeps a copy.  Needs window_open(). */
void window_send(struct window *w, uint64_t now, struct probe *probe,
                 uint32_t owner);
/* Where nothing is, nothing answers; but where nothing answers any more, the
 * fabric may be stuck.  After a long silence: a probe that was answered
 * before, to see which it is.  False: none now. */
bool window_sound(struct window *w, uint64_t now, struct probe *probe);
/* A probe that is to go out again; false: none. */
bool window_again(struct window *w, uint64_t now, struct probe *probe);
/* The owner of the probe that was answered; false: not in flight. */
bool window_answer(struct window *w, uint64_t now, uint64_t tag,
                   uint32_t *owner);
/* A probe whose last timer has ended: call until false. */
bool window_expired(struct window *w, uint64_t now, uint32_t *owner);
/* All probes in flight are forgotten. */
void window_abandon(struct window *w);
uint64_t window_deadline(const struct window *w);
/* How long the next probe of a kind will wait, ns. */
uint64_t window_wait(const struct window *w, enum probe_kind kind);

#endif
