/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the GM-1 mapper, shared by gm1.c, which talks and configures,
 * and gm1_search.c, which explores and verifies.
 */
#ifndef SF_MAPPER_GM1_PRIV_H
#define SF_MAPPER_GM1_PRIV_H

#include <uthash.h>

#include "mapper/explore.h"
#include "mapper/gm1.h"
#include "mapper/verify.h"
#include "net/packet.h"
#include "net/rng.h"

#define GM1_NEVER UINT64_MAX
#define GM1_TALKS 32
#define GM1_FLIGHT 1024
#define GM1_RINGS 512 /* links closed to rings by one verification */
/* Room between the phases of two searches: an explorer's own phases. */
#define GM1_PHASES 0x10000

/* A host or cloud member, known since it was first met; keeps its gmID. */
struct gm1_known {
    uint64_t address;
    uint16_t gmid; /* 0 none yet */
    UT_hash_handle hh;
};

/* What a host of the present map said last. */
struct gm1_heard {
    uint64_t address;
    struct gm1_reply reply;
    struct gm1_route route;  /* that it was met by */
    struct gm1_route route2; /* and the last one that it answered along */
    uint32_t node;           /* of the map; NET_NONE: not in it */
    bool reset;              /* its gmID belongs to somebody else */
    bool outdated;
    bool failed; /* left alone until the next mapping */
    uint32_t next_message, acked, nmessages;
    struct gm1_member *members; /* of its cloud */
    uint32_t nmembers, asked;   /* members had, rows asked for */
    uint32_t rows;              /* announced, and ... */
    uint64_t print;             /* ... its members when hosts were told */
    UT_hash_handle hh;
};

enum gm1_purpose {
    GM1_TALK_FREE,
    GM1_TALK_QUERY,
    GM1_TALK_RESET,
    GM1_TALK_CONFIG,
    GM1_TALK_PING, /* dormant: is the active mapper there? */
};

struct gm1_talk {
    enum gm1_purpose purpose;
    struct gm1_heard *host; /* NULL: the active mapper */
    uint32_t port;
    uint32_t first; /* query: row; config: serial */
    uint64_t next;
    uint8_t left;
};

/* One entry of every configuration. */
struct gm1_row {
    uint64_t address;
    const struct gm1_heard *host; /* itself, or its gateway */
    uint16_t gmid;
    uint16_t control;
    bool member;
};

/* A number that differs when any of the values does; begins at GM1_PRINT. */
#define GM1_PRINT UINT64_C(0xcbf29ce484222325)

static inline void gm1_mix(uint64_t *print, uint64_t value)
{
    *print = (*print ^ value) * UINT64_C(0x100000001b3);
    *print ^= *print >> 29;
}

struct gm1_flight {
    uint64_t tag;
    struct gm1_route route;
};

struct gm1 {
    struct gm1_options config;
    struct gm1_ops ops;
    void *arg;
    struct net_rng rng;
    uint64_t now;
    enum gm1_state state;
    uint64_t timer;
    struct hostside *host;
    bool local;                   /* the own host side is being spoken to */
    struct gm1_message own_reply; /* what it answered */
    bool has_peers;               /* routes to others were last told */

    uint64_t higher; /* the mapper that is followed */
    uint32_t higher_level;
    struct gm1_route to_higher;
    bool heard_higher; /* since the last wake-up */
    bool retired;      /* another board has our id: never active again */
    uint8_t twins;     /* searches in a row that met our id elsewhere */

    struct explore *x;
    struct verify *v;
    struct net *supposed; /* of before, not yet verified; or NULL */
    uint32_t phase;       /* base of the present search */
    struct gm1_flight *flight;

    struct gm1_known *known;
    uint16_t last_gmid;
    struct gm1_heard *heard;

    struct net *net; /* the map; hosts' nodes are in `heard` */
    struct net_routes *routes;
    struct errbuf unproved; /* why these are not those asked for; "" */
    struct errbuf beyond;   /* who has no route for the hop limit; "" */
    uint32_t version, highest;
    struct gm1_row *rows; /* hosts and members, as they are distributed */
    uint32_t nrows;
    bool fresh;     /* the net differs from the one before */
    uint64_t print; /* of the rows of this version */
    bool dirty;     /* not to be verified but explored */
    uint32_t unconfigured;

    struct gm1_talk talk[GM1_TALKS];
    uint32_t talk_phase, talk_port;
    struct gm1_counters counters;
};

/* gm1.c */
bool gm1_fire(struct gm1 *g, enum gm1_event event);
void gm1_notice(struct gm1 *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A mapper of this rank is there; the route leads to it. */
void gm1_meet(struct gm1 *g, uint64_t mapper, uint32_t level,
              const struct gm1_route *route);

/* gm1_search.c */
void gm1_search_explore(struct gm1 *g);
void gm1_search_verify(struct gm1 *g);
void gm1_search_stop(struct gm1 *g);
void gm1_search_back(struct gm1 *g, const struct gm1_message *msg);
bool gm1_search_reply(struct gm1 *g, const struct gm1_message *msg);
bool gm1_search_own(struct gm1 *g, const struct gm1_message *msg);
void gm1_search_run(struct gm1 *g, bool tick);
uint64_t gm1_search_deadline(const struct gm1 *g);

void gm1_take_members(struct gm1_heard *host, const struct gm1_message *msg);
/* Its cloud is what hosts are told of it now; is it that still? */
void gm1_cloud_told(struct gm1_heard *host);
void gm1_assign_gmids(struct gm1 *g);
void gm1_free_hosts(struct gm1 *g);

#endif
