/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fabric with a clock of its own: packets take time, links carry one
 * packet at a time, and a packet holds every link of its way until its tail
 * has passed (cut-through).  A head that waits for a link longer than the
 * time-out is discarded (SWFAB_BLOCKED) and lets go what it held; so
 * deadlocks happen, and are broken, as in hardware.
 *
 * It is also the queue of a simulation: timers stand in it beside the
 * packets, and swfab_timed_next() gives what happens in the order of
 * time (of equal times, in the order in which they were put in).  Times are
 * nanoseconds from the beginning of the simulation; nothing here reads a
 * clock.
 */
#ifndef SF_TIMED_FABRIC_H
#define SF_TIMED_FABRIC_H

#include "swfab/swfab.h"

struct swfab_timing {
    uint64_t hop_ns;     /* head: through a crossbar and a cable */
    uint64_t byte_ps;    /* a byte on a link, picoseconds */
    uint64_t blocked_ns; /* longest wait of a head inside the fabric */
};

/* 300 ns, 4 ns per byte (2 Gbit/s), 50 ms. */
extern const struct swfab_timing swfab_timing_default;

enum swfab_event_kind { SWFAB_ARRIVAL, SWFAB_TIMER };

struct swfab_event {
    uint64_t time;
    enum swfab_event_kind kind;
    uint32_t node;         /* arrival: the host; timer: as given */
    uint64_t cookie;       /* timer: as given */
    const uint8_t *packet; /* arrival: as it arrives; lives until the next */
    size_t len;            /* call of swfab_timed_next() or _free() */
};

struct swfab_timed;

/* fab stays the caller's and must live longer.  NULL: ENOMEM. */
struct swfab_timed *swfab_timed_new(struct swfab *fab,
                                    const struct swfab_timing *timing);
void swfab_timed_free(struct swfab_timed *timed);

/* Hand a packet to a host's interface at a time (not before now; an earlier
 * one means now).  The packet is copied; packets of one host leave in the order
 * of their times.  0, or -1 ENOMEM.  What is lost is only counted. */
int swfab_timed_send(struct swfab_timed *timed, uint64_t time, uint32_t host,
                     const void *packet, size_t len);

/* Give an event back at a time.  0, or -1 ENOMEM.  The caller knows what the
 * numbers mean. */
int swfab_timed_timer(struct swfab_timed *timed, uint64_t time, uint32_t node,
                      uint64_t cookie);

/* The next thing that happens, if it happens not after `until`; time moves
 * there.  False: nothing up to then; time is `until` now. */
bool swfab_timed_next(struct swfab_timed *timed, uint64_t until,
                      struct swfab_event *event);

uint64_t swfab_timed_now(const struct swfab_timed *timed);
/* Packets that wait in a host's interface for its cable. */
uint32_t swfab_timed_queued(const struct swfab_timed *timed, uint32_t host);
/* Packets on their way. */
size_t swfab_timed_in_flight(const struct swfab_timed *timed);

#endif
