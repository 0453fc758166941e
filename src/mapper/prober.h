/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an explorer asks of a fabric and what it is told.
 *
 * An explorer (explore.h, verify.h) is a pure engine: it hands out struct
 * probe, the driver turns it into a packet (GM-1, GM-2, software crossbars,
 * InfiniBand) and hands back a struct probe_answer.  Retries, timers and the
 * number of probes in flight are the explorer's business; a driver that hears
 * nothing says nothing.  Time is in nanoseconds of any monotonic clock.
 *
 *     while (explore_next(x, now, &probe))
 *         send it;
 *     on arrival:                 explore_answer(x, now, &answer);
 *     at explore_deadline(x):     explore_tick(x, now);
 *     then explore_next() again, until explore_done(x).
 *
 * The five calls of verify.h are the same, with verify_ in front.
 *
 * A route byte here is what stands on the wire: 0x80 | 6-bit delta (on an
 * absolute fabric, see the limits: the number of the port to leave by).
 */
#ifndef SF_MAPPER_PROBER_H
#define SF_MAPPER_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/packet.h"

/* Longest route of one probe, there and back. */
#define PROBE_ROUTE_MAX 128
#define PROBE_NAME_MAX 64
/* Ports of the widest crossbar whose ports a 6-bit delta can reach. */
#define PROBE_PORTS_MAX 32

enum probe_kind {
    /* The route is there and back: the packet returns to its sender if every
     * crossbar is where the route supposes it.  LOOP turns round (delta 0)
     * at the last crossbar; COMPARE closes a ring through two known routes;
     * TOUR visits many links.  For the driver they are one and the same
     * (GM-1: Probe for LOOP and COMPARE, Verify for TOUR). */
    PROBE_LOOP,
    PROBE_COMPARE,
    PROBE_TOUR,
    /* A host at the end of the route replies with a struct probe_host, by
     * the same route backwards (negated and reversed).  The sender's own
     * port may lie there: then the driver answers for its own host.  The
     * route may be empty: two hosts on one cable. */
    PROBE_SCOUT,
    /* As LOOP, and a crossbar with an id adds it where the packet turns.
     * Without an id it comes back as a LOOP does.  Absolute fabrics: the
     * route is one way, whatever stands at its end answers with a
     * probe_host or a probe_id. */
    PROBE_TAGGED,
};

struct probe {
    uint64_t tag; /* comes back in the answer; low half: port, high: phase */
    enum probe_kind kind;
    uint8_t nroute;
    bool again; /* a retry of a probe with the same tag */
    uint8_t route[PROBE_ROUTE_MAX];
};

/* What a host says of itself.  The explorer looks at the address alone and
 * keeps the rest for whoever asks (explore_host()). */
struct probe_host {
    uint64_t address;    /* 48-bit board address, port GUID; never 0 */
    uint64_t map_leader; /* address of the mapper that configured it */
    uint32_t map_version;
    uint32_t level;            /* of its mapper; 0: none, or never maps */
    uint16_t gm_id;            /* GM-1 */
    uint16_t type;             /* node type, host type */
    uint16_t option;           /* GM-1: 1 cloud, 2 no routes wanted */
    uint8_t port;              /* absolute fabrics: its port that was met */
    char name[PROBE_NAME_MAX]; /* may be "" */
};

struct probe_id {
    uint64_t id;   /* never 0 */
    uint8_t entry; /* absolute number of the port it was entered by */
    uint8_t nports;
    char name[PROBE_NAME_MAX]; /* may be "" */
};

enum probe_outcome {
    PROBE_BACK,    /* the probe itself came back: LOOP, COMPARE, TOUR, TAGGED */
    PROBE_HOST,    /* a host replied: .host */
    PROBE_ID,      /* a tagged probe came back with .id */
    PROBE_NOTHING, /* the driver knows that nothing will come: no waiting */
};

struct probe_answer {
    uint64_t tag;
    enum probe_outcome outcome;
    union {
        struct probe_host host;
        struct probe_id id;
    };
};

/* How late answers have proved to come: an answer that came when nobody waited
 * any more makes all later searches wait longer, until for a long time none has
 * taken nearly as long.  Zeroed at first. */
struct prober_pace {
    double times;     /* the caps of the limits; 0: once */
    uint64_t longest; /* trip since then, ns */
    uint64_t since;
};
/* An answer took that long at least; loop_wait: of the limits. */
void prober_pace_late(struct prober_pace *pace, uint64_t now, uint64_t trip,
                      uint64_t loop_wait);

/* What a fabric and its driver bear; how long to wait. */
struct prober_limits {
    uint8_t max_route; /* bytes before a packet, there and back */
    uint8_t max_hops;  /* crossbars on the way to a host (GM-2: 11) */
    uint8_t max_ports; /* widest crossbar; 2..PROBE_PORTS_MAX, absolute 255 */
    bool tagged;       /* ask crossbars for ids */
    bool absolute;     /* routes of absolute ports, PROBE_TAGGED only */
    bool no_check;     /* do not confirm the links at the end */
    uint32_t window;   /* probes in flight at first */
    uint32_t window_max;
    uint8_t tries;       /* sends of one probe, the first one counted */
    bool fixed_timers;   /* else waits are learnt, these are their caps */
    uint64_t scout_wait; /* ns */
    uint64_t loop_wait;
    uint64_t min_wait;        /* learnt waits are never shorter */
    struct prober_pace *pace; /* of all searches; NULL: the caps are fixed */
};

/* 10 ms and 5 ms, 3 tries, learnt; 64 in flight, 4096 at most; 32 ports;
 * routes as long as a packet can carry. */
#define PROBER_LIMITS_DEFAULT                                                  \
    {                                                                          \
        .max_route = NET_WIRE_ROUTE_MAX, .max_hops = 63,                       \
        .max_ports = PROBE_PORTS_MAX, .window = 64, .window_max = 4096,        \
        .tries = 3, .scout_wait = 10000000, .loop_wait = 5000000,              \
        .min_wait = 100000                                                     \
    }

#endif
