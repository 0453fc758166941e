/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GM-2 mapper: one engine per board.  Packets and time go in, packets and
 * a few notices come out; no clock, no I/O, no randomness but the seed.
 *
 *     gm2_input(m, now, body, len)   a message arrived (from its type on)
 *     gm2_tick(m, now)               at gm2_deadline(m), or earlier
 *
 * The states and every way from one to another stand in one table
 * (gm2.c); each move is told through ops->moved().  doc/mapping-gm2.md
 * says how the mappers of a fabric come to one map.
 *
 * Times are nanoseconds of any monotonic clock.
 */
#ifndef SF_MAPPER_GM2_H
#define SF_MAPPER_GM2_H

#include "mapper/gm2_map.h"
#include "mapper/prober.h"
#include "net/route.h"

struct gm2;

enum gm2_state {
    GM2_STATE_SLEEPING,  /* start delay; scouts are answered */
    GM2_STATE_LISTENING, /* level 0: never maps, waits for a parent */
    GM2_STATE_MAPPING,   /* explores */
    GM2_STATE_PASSIVE,   /* met a higher mapper: pings it, waits for a map */
    GM2_STATE_FETCHING,  /* pulls a map from its parent, piece by piece */
    GM2_STATE_VERIFYING, /* has a valid map and routes */
    GM2_STATE_PAUSED,    /* somebody asked for quiet */
    GM2_STATE_ENDED,     /* fatal error, or --map-once and all is done */
    GM2_NSTATES
};

enum gm2_event {
    GM2_EVENT_WAKE,
    GM2_EVENT_MET_HIGHER,
    GM2_EVENT_EXPLORED,
    GM2_EVENT_EXPLORE_FAILED,
    GM2_EVENT_TOLD_PARENT, /* LX_TREE with a map to fetch */
    GM2_EVENT_NEW_MAP,     /* the parent has another map */
    GM2_EVENT_FETCHED,
    GM2_EVENT_FETCH_FAILED,
    GM2_EVENT_PARENT_LOST,
    GM2_EVENT_CHANGED, /* the map is not true any more */
    GM2_EVENT_PAUSE,
    GM2_EVENT_RESUME,
    GM2_EVENT_FATAL,
    GM2_EVENT_FINISHED, /* --map-once: everybody has the map */
    GM2_NEVENTS
};

const char *gm2_state_name(enum gm2_state state);
const char *gm2_event_name(enum gm2_event event);

struct gm2_config {
    uint64_t address;
    uint32_t level; /* 0: never map */
    uint8_t host_type;
    uint64_t seed;               /* counters, sessions, order of searches */
    struct prober_limits limits; /* of probes */
    struct net_route_params routes;

    uint64_t start_delay;
    uint64_t ping_interval; /* passive mapper to its parent: 1 s */
    uint64_t verify_pause;  /* between rounds: 1 s */
    uint64_t scout_wait;    /* for one answer of a mapper: 10 ms */
    uint64_t piece_wait;    /* for one piece: 20 ms */
    uint16_t parent_tries;  /* LX_QUERYING_MAP_VERSION, LX_VERIFYING: 30 */
    uint16_t tree_tries;    /* LX_TREE: 10 */
    uint16_t piece_tries;   /* 30 */
    uint16_t verify_tries;  /* probes of verify mode: 15 */
    uint64_t pause_time;    /* what --pause asks for, renewed: 10 s */

    bool thrash;
    bool map_once;
    bool map_incrementally;
    bool map_deltas;    /* ask for, and give, what is different in a map */
    bool no_xbar_check; /* do not verify links between crossbars */
    bool pause;
    uint32_t extra_hosts;
};

/* Fill in the defaults; address, level 1 and seed are the caller's. */
void gm2_config_default(struct gm2_config *config);

struct gm2_ops {
    /* Send a message along a route.  The bytes are only lent. */
    void (*send)(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg);
    /* There are a map and routes of this host: load them.  Both stay valid
     * until the next call. */
    void (*configured)(const struct gm2_map *map, uint32_t me,
                       const struct net_routes *routes, void *arg);
    /* The map is not valid any more (routes stay loaded). */
    void (*invalid)(void *arg);
    /* Every mapper of the map has it (told by its leader only). */
    void (*complete)(uint32_t nhosts, void *arg);
    void (*moved)(enum gm2_event event, enum gm2_state from, enum gm2_state to,
                  void *arg);
    /* This parent or child has routes that turn in other ways. */
    void (*unlike)(uint64_t address, void *arg);
    /* A cable between crossbars loses frames, or does so no more:
     * gm2_cable_lost() (told by the leader only). */
    void (*cables)(void *arg);
    /* What was noticed in verify mode, or is doubtful, in words. */
    void (*notice)(const char *text, void *arg);
    /* The end: a user error, in words; or finished after --map-once (text
     * NULL). */
    void (*ended)(const char *text, void *arg);
};

/* ops is copied; any callback but send may be NULL.  NULL: no memory. */
struct gm2 *gm2_new(const struct gm2_config *config, const struct gm2_ops *ops,
                    void *arg, uint64_t now);
void gm2_free(struct gm2 *m);

/* A map that was true when this mapper last ran (gm2_store.h; takes it): it is
 * verified instead of exploring anew.  Before the first input or tick. */
void gm2_suppose(struct gm2 *m, struct gm2_map *map);

void gm2_input(struct gm2 *m, uint64_t now, const void *body, size_t len);
void gm2_tick(struct gm2 *m, uint64_t now);
uint64_t gm2_deadline(const struct gm2 *m);

/* ---- looking at it ------------------------------------------------------- */
struct gm2_counters {
    uint64_t sent, sent_bytes;
    uint64_t probes; /* of the sent: exploring and verifying */
    uint64_t received;
    uint64_t dropped_foreign; /* GM-1's, other versions, unknown reasons */
    uint64_t dropped_broken;
    uint64_t dropped_late; /* answers that nobody waits for */
    uint64_t pieces_sent, pieces_received;
    uint64_t deltas_sent, deltas_received;
    uint64_t pulled;  /* bytes of messages with pieces and deltas */
    uint64_t repairs; /* maps for which the routes were repaired */
    uint64_t explorations, rounds; /* verify rounds finished */
    uint64_t hypotheses;           /* old maps that were verified instead */
    uint64_t regions; /* explorations of only what such a map had not right */
    uint64_t maps;    /* made here */
    uint64_t lost_parents;
};

struct gm2_status {
    enum gm2_state state;
    bool leader;                /* the map is its own */
    struct gm2_version version; /* counter 0: none */
    bool valid;
    bool complete;   /* everybody has it, as far as known */
    uint64_t parent; /* 0 none */
    uint32_t level;
    uint32_t nhosts, nxbars, ncables; /* of the map */
    uint32_t done;       /* mappers at and below this one with this version */
    uint64_t since;      /* in this state */
    uint64_t round_time; /* of the last verify round */
    /* What the routes in use are, and why they are not those asked for: a
     * cycle that was found in these; "" when they are. */
    enum net_engine engine;
    const char *unproved;
    const char *beyond; /* whom the hop limit leaves without a route; "" */
    uint64_t unlike;    /* whose routes could deadlock with these; 0 nobody's */
    struct gm2_counters counters;
};
void gm2_status(const struct gm2 *m, struct gm2_status *status);

/* The map and routes in use, NULL before the first. */
const struct gm2_map *gm2_current_map(const struct gm2 *m);
const struct net_routes *gm2_current_routes(const struct gm2 *m);

/* Of the cable at a global port of the map in use: crossings lost of a million;
 * 0: it is well, or between no crossbars, or this is not the leader. */
uint32_t gm2_cable_lost(const struct gm2 *m, uint32_t port);
/* How often that cable was gone for a moment while this mapper led. */
uint32_t gm2_cable_falls(const struct gm2 *m, uint32_t port);

/* The table: where an event leads from a state, GM2_NSTATES if it is not
 * expected there (and then ignored).  Two rows for one pair: a mapper that
 * may map goes to the first, one of level 0 to `never`. */
enum gm2_state gm2_next_state(enum gm2_state from, enum gm2_event event,
                              bool may_map, bool leader);

#endif
