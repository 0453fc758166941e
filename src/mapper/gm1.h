/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GM-1 mapper: explores, configures, verifies, sleeps, and again; dormant
 * while a higher mapper is active.  It holds the host side of its own board
 * (hostside.h).  One engine per board; packets and time go in, packets and
 * notices come out.  Times are nanoseconds of any monotonic clock.
 *
 * Decisions where the document is silent (doc/mapping-gm1.md has them all):
 *  - "3 times" are three sends after the first one;
 *  - a new version is the highest one that any reply showed, plus one;
 *  - a dormant mapper that wakes up and has not heard a Scout of a higher one
 *    since it last woke asks that mapper's host, and goes active when no
 *    mapper of that rank answers there;
 *  - members of clouds have gmIDs of their own;
 *  - one board id in two places is told, and the map has both; an active
 *    mapper that finds its own there is one no more.
 */
#ifndef SF_MAPPER_GM1_H
#define SF_MAPPER_GM1_H

#include "mapper/hostside.h"
#include "mapper/prober.h"
#include "net/graph.h"
#include "net/route.h"

struct gm1;

enum gm1_state {
    GM1_STATE_DORMANT,
    GM1_STATE_EXPLORING,
    GM1_STATE_QUERYING, /* the rest of large clouds */
    GM1_STATE_CONFIGURING,
    GM1_STATE_VERIFYING,
    GM1_STATE_SLEEPING, /* the interregnum */
    GM1_NSTATES
};

enum gm1_event {
    GM1_EVENT_WAKE_UP, /* dormant: nobody higher is there */
    GM1_EVENT_MET_HIGHER,
    GM1_EVENT_EXPLORED,
    GM1_EVENT_FAILED, /* no map */
    GM1_EVENT_GATHERED,
    GM1_EVENT_CONFIGURED,
    GM1_EVENT_UNCHANGED,
    GM1_EVENT_OUTDATED, /* verified, but some hosts are to be configured */
    GM1_EVENT_CHANGED,
    GM1_EVENT_VERIFY,  /* the sleep is over */
    GM1_EVENT_EXPLORE, /* the same, and the map is not to be trusted */
    GM1_NEVENTS
};

const char *gm1_state_name(enum gm1_state state);
const char *gm1_event_name(enum gm1_event event);
/* Where an event leads; GM1_NSTATES: not expected there, ignored. */
enum gm1_state gm1_next_state(enum gm1_state from, enum gm1_event event);

struct gm1_options {
    struct hostside_config host; /* address, name, level, type ... */
    uint64_t seed;
    struct prober_limits limits; /* timers of scouts and switch messages */
    struct net_route_params routes;
    uint64_t start_delay;
    uint64_t active_sleep; /* 10 s */
    uint64_t dormant_wake; /* 5 s */
    bool no_verify;        /* explore in each cycle */
    bool in_order;         /* one Config at a time */
    uint16_t window;       /* messages to hosts in flight; at most 32 */
};

/* The document's values; address and seed are the caller's. */
void gm1_options_default(struct gm1_options *config);

struct gm1_ops {
    /* Send a message along a route.  The bytes are only lent. */
    void (*send)(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg);
    /* This host's own table is gone, is complete (hostside_entries()).  Not
     * told when this mapper finds nothing, not even a crossbar, and configures
     * itself alone: by the routes of before its host learns whether anybody
     * hears it. */
    void (*cleared)(void *arg);
    void (*configured)(uint32_t version, void *arg);
    void (*moved)(enum gm1_event event, enum gm1_state from, enum gm1_state to,
                  void *arg);
    void (*notice)(const char *text, void *arg);
    /* A user error: the net is too deep ...  The mapper sleeps and tries
     * again; when another board has the id of this one, it never does. */
    void (*fatal)(const char *text, void *arg);
};

struct gm1 *gm1_new(const struct gm1_options *config, const struct gm1_ops *ops,
                    void *arg, uint64_t now);
void gm1_free(struct gm1 *g);
/* The net that was found when this mapper last ran (takes it): when it first
 * becomes active it is verified, and only what is not true any more is
 * explored. Before the first input or tick. */
void gm1_suppose(struct gm1 *g, struct net *net);
void gm1_input(struct gm1 *g, uint64_t now, const void *body, size_t len);
void gm1_tick(struct gm1 *g, uint64_t now);
uint64_t gm1_deadline(const struct gm1 *g);

struct gm1_counters {
    uint64_t scouts, switches, configs, queries; /* sent, again included */
    uint64_t received, dropped_late;
    uint64_t explorations, verifications, versions;
    uint64_t hypotheses; /* old maps that were verified instead */
    uint64_t regions; /* explorations of only what such a map had not right */
    uint64_t resets;  /* command 1 sent */
};

struct gm1_status {
    enum gm1_state state;
    uint64_t active;  /* board id of the mapper that is followed; own; 0 */
    uint32_t version; /* of the map made here; 0 none */
    uint32_t nhosts, nmembers; /* of it */
    uint32_t unconfigured;     /* given up in the last configuration */
    /* Of the routes: as in gm2_status. */
    enum net_engine engine;
    const char *unproved;
    const char *beyond; /* whom the hop limit leaves without a route; "" */
    struct gm1_counters counters;
};
void gm1_status(const struct gm1 *g, struct gm1_status *status);
const struct hostside *gm1_host_side(const struct gm1 *g);
/* The last map made here; NULL before the first. */
const struct net *gm1_map(const struct gm1 *g);
/* gmID of a host or member; 0 unknown. */
uint16_t gm1_gmid(const struct gm1 *g, uint64_t address);

#endif
