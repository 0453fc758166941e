/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the GM-2 mapper, shared by its gm2_*.c files only.
 */
#ifndef SF_MAPPER_GM2_PRIV_H
#define SF_MAPPER_GM2_PRIV_H

#include "base/limits.h"
#include "mapper/explore.h"
#include "mapper/gm2.h"
#include "mapper/gm2_delta.h"
#include "mapper/verify.h"
#include "net/packet.h"
#include "net/rng.h"

#define GM2_NEVER UINT64_MAX
#define GM2_WINDOW 4 /* pieces asked for at a time */
#define GM2_TALKS 16
#define GM2_FLIGHT 1024 /* scouts of a search whose route is remembered */
#define GM2_TRIES_MAX 30
#define GM2_PAUSE_MAX 60 /* seconds that a pause may ask for */
/* Rounds that a child may stay behind before the map counts as changed. */
#define GM2_ROUNDS_BEHIND 5

/* First rests of this many lengths, as a power of two. */
#define GM2_REST_BITS 4

/* An exchange: a scout that is repeated until it is answered. */
enum gm2_purpose {
    GM2_TALK_FREE,
    GM2_TALK_PING,
    GM2_TALK_TREE,
    GM2_TALK_PIECE,
    GM2_TALK_DELTA,
    GM2_TALK_PARTNER, /* LX_VERIFYING to parent or child */
};

struct gm2_talk {
    enum gm2_purpose purpose;
    enum gm2_reason reason;
    uint64_t tag;
    uint64_t address; /* who is to answer */
    uint32_t argument;
    struct gm2_route route;
    uint64_t wait, next;
    uint16_t left;  /* sends that are left */
    unsigned which; /* child 0, 1; 2 the parent */
};

struct gm2_partner {
    uint64_t address; /* 0: there is none */
    struct gm2_route route;
    uint32_t done;   /* children: below and at it, with our version */
    uint32_t behind; /* rounds that it has had another version */
    bool same;       /* its last reply had our version, valid */
};

/* Where in a verify round. */
enum gm2_phase {
    GM2_PHASE_REST,     /* pause between rounds */
    GM2_PHASE_PARTNERS, /* 1: parent and children */
    GM2_PHASE_NEAR,     /* 2: own crossbar, its hosts and links */
    GM2_PHASE_SHARE,    /* 3: own share of all links */
    GM2_PHASE_FREE,     /* 3: own share of all free ports */
};

/* A hypothesis that is being verified. */
struct gm2_guess {
    struct net *net;
    uint32_t me;
    bool stored;   /* it is the supposed map, else the one in use */
    bool greeting; /* only those above are asked so far */
    uint8_t patches;
};

/* A map of before, kept for children that have no later one, and what leads
 * from it to the map in use. */
struct gm2_past {
    struct gm2_map *map; /* NULL: none */
    bool made;           /* the delta; if it is empty there can be none */
    struct bytebuf delta;
};

struct gm2_flight {
    uint64_t tag;
    struct gm2_route route;
};

struct gm2 {
    struct gm2_config config;
    struct gm2_ops ops;
    void *arg;
    struct net_rng rng;
    uint64_t now;

    enum gm2_state state;
    uint64_t since;
    uint64_t timer; /* what for depends on the state */

    struct gm2_map *map;
    struct net_routes *routes;
    struct errbuf unproved; /* why these are not those asked for; "" */
    bool repaired;          /* they are not those of this map computed anew */
    struct errbuf beyond;   /* who has no route for the hop limit; "" */
    uint16_t ups;           /* of the routes */
    uint64_t unlike;        /* a partner whose ups are others; 0 none */
    unsigned unlike_heard;  /* messages of such, since the routes are these */
    uint32_t me;            /* node of the map */
    bool valid, complete;
    bool lingering;     /* --map-once: complete, about to end */
    uint64_t map_since; /* when the map became valid */
    uint32_t counter;   /* of the last map made here */
    uint32_t done;
    uint32_t reported; /* hosts told to ops->complete() */

    struct gm2_partner parent;
    struct gm2_partner child[2];

    struct explore *x;
    struct verify *v;
    struct net *reduced;      /* what v looks at, if not the map's net */
    struct gm2_map *supposed; /* from a disk; NULL once there is a map */
    bool refuted;             /* it was looked at, and is not true */
    struct gm2_guess guess;   /* what v stands for; no net: not for a map */
    uint8_t tries;            /* of exploring; grows when maps do not last */
    bool doubtful;            /* the map may not last, for probes are lost */
    uint8_t twins;            /* searches in a row that met our id elsewhere */
    uint32_t session;         /* of x or v */
    uint32_t former;          /* that of the search before */
    uint64_t searched;        /* when that, or the last one, ended */
    struct prober_pace pace;
    struct gm2_flight *flight;
    enum gm2_phase phase;
    uint32_t round;
    uint64_t round_start, round_time;

    struct cables *cables; /* have a map while this one leads; or NULL */
    uint32_t cables_session;

    struct gm2_past past[SF_GM_PAST_MAX]; /* the latest first */

    struct gm2_version want;
    bool offered; /* who has it gives deltas */
    struct gm2_fetch *fetch;
    struct gm2_version unfetched; /* could not be had ... */
    uint64_t fetch_again;         /* ... before this time */

    struct gm2_talk talk[GM2_TALKS];
    uint32_t talk_session;
    uint64_t talk_tag;
    uint64_t pause_until;
    struct gm2_counters counters;
};

/* gm2.c */
bool gm2_fire(struct gm2 *m, enum gm2_event event);
void gm2_notice(struct gm2 *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The map in use is not true any more. */
void gm2_changed(struct gm2 *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool gm2_is_leader(const struct gm2 *m);
void gm2_adopt(struct gm2 *m, uint64_t address, const struct gm2_route *route);
void gm2_end(struct gm2 *m, const char *text);

/* Take a map into use.  False: GM2_EVENT_FATAL was fired or there is no memory.
 * Owns the map in any case. */
bool gm2_use_map(struct gm2 *m, struct gm2_map *map);
void gm2_tree_start(struct gm2 *m);

void gm2_past_free(struct gm2 *m);

/* gm2_talk.c */
void gm2_say(struct gm2 *m, struct gm2_message *msg,
             const struct gm2_route *route);
bool gm2_ask(struct gm2 *m, const struct gm2_talk *talk);
void gm2_hush(struct gm2 *m, enum gm2_purpose purpose); /* FREE: all */
bool gm2_talking(const struct gm2 *m, enum gm2_purpose purpose);
void gm2_talk_tick(struct gm2 *m);
uint64_t gm2_talk_deadline(const struct gm2 *m);
void gm2_ping(struct gm2 *m);

void gm2_meet(struct gm2 *m, const struct gm2_message *msg,
              const struct gm2_route *route);

void gm2_fetch_start(struct gm2 *m);

void gm2_search_back(struct gm2 *m, const struct gm2_message *msg,
                     const struct probe_id *id);
bool gm2_search_reply(struct gm2 *m, const struct gm2_message *msg);
/* False: not of this search, so perhaps of another board with our id. */
bool gm2_search_own(struct gm2 *m, const struct gm2_message *msg);
void gm2_search_run(struct gm2 *m, bool tick);

void gm2_round_partners(struct gm2 *m); /* one more partner is through */
void gm2_look_out_answered(struct gm2 *m, const struct gm2_message *msg);

#endif
