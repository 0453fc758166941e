/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric in virtual time with a mapper (or a bare host side) on each host.
 * One seed decides everything; the same seed gives the same run.
 */
#ifndef SF_TESTS_MAPPER_WORLD_H
#define SF_TESTS_MAPPER_WORLD_H

#include "mapper/gm1.h"
#include "mapper/gm2.h"
#include "mapper/gm2_store.h"
#include "net/rng.h"
#include "timed_fabric.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

enum world_kind { WORLD_NOBODY, WORLD_GM2, WORLD_GM1, WORLD_HOST };

struct world_host {
    struct world *world;
    uint32_t node;
    enum world_kind kind;
    uint32_t level; /* of a GM-1 mapper */
    struct gm2 *gm2;
    struct gm1 *gm1;
    struct hostside *side;
    uint64_t armed;
    bool ended;
    bool stopped; /* its process stands still: it hears and says nothing */
    uint32_t me;  /* of GM-2: its own node of the map */
    uint32_t nconfigured, ncomplete;
    struct gm2_status told; /* GM-2's, when it told of its last map */
    struct bytebuf stored;  /* its last map, when the world keeps maps */
    uint64_t moves[GM2_NEVENTS];
    uint32_t nfatal;
    char last[200]; /* notice */
};

struct world {
    uint64_t seed;
    struct net *net; /* the truth; faults change it, too */
    struct swfab *fab;
    struct swfab_timed *timed;
    struct net_rng rng;
    struct world_host *hosts; /* by node */
    double loss;              /* of packets, when they are sent */
    uint64_t packets, bytes;
    bool keeps; /* mappers have disks: they begin with their last map */
    bool verbose;
    /* Hears what mappers and hosts send, and may change it; or NULL. */
    void (*tap)(struct world *w, uint32_t node, void *body, size_t len);
    void *tap_arg;
    /* Hears what a GM-1 host is to do with its routes: take those of its host
     * side, or forget all; or NULL. */
    void (*loads)(struct world *w, uint32_t node, bool whole);
};

/* Which ways of the tables of states were gone, by any mapper of any world:
 * the words of those that were not, NULL when all were. */
const char *world_gm1_untaken(void);
const char *world_gm2_untaken(void);

/* Ends the program. */
_Noreturn void world_die(const char *what);

/* NULL never: ends the program. */
struct world *world_new(const char *net, uint64_t seed);

/* What a story draws by its seed, each independently of all others and of what
 * happens in the world: 0 .. n-1. */
enum world_draw {
    DRAW_LARGE,  /* a net that is dear */
    DRAW_NET,    /* which */
    DRAW_SHAPE,  /* the seed of that net */
    DRAW_KEEPS,  /* maps are stored */
    DRAW_DELTAS, /* who knows of deltas */
    DRAW_LEADER, /* what the leader does when it begins */
    DRAW_LEVELS, /* of the mappers */
};
extern bool world_draws_rests;
uint32_t world_draw(uint64_t seed, enum world_draw what, uint32_t n);
void world_free(struct world *w);
uint64_t world_now(const struct world *w);

/* Put a mapper on a host, or take it away.  `tune` may change the
 * configuration. */
typedef void world_gm2_f(struct gm2_config *config, uint32_t node, void *arg);
typedef void world_gm1_f(struct gm1_options *config, uint32_t node, void *arg);
void world_gm2(struct world *w, uint32_t node, world_gm2_f *tune, void *arg);
void world_gm1(struct world *w, uint32_t node, world_gm1_f *tune, void *arg);
void world_host(struct world *w, uint32_t node,
                const struct hostside_config *config);
void world_kill(struct world *w, uint32_t node);
/* Its process stands still, or goes on; what came meanwhile is lost. */
void world_stop(struct world *w, uint32_t node, bool stopped);
/* The same for all hosts at once. */
void world_gm2_all(struct world *w, world_gm2_f *tune, void *arg);

/* A message that nobody sent arrives at the mapper of a host. */
void world_hear(struct world *w, uint32_t node, const void *body, size_t len);
void world_run(struct world *w, uint64_t until);
/* Run until test() says true, looking every 50 ms.  False: not by then. */
bool world_until(struct world *w, uint64_t until,
                 bool (*test)(struct world *w));

/* Faults, in the fabric and in the truth. */
void world_pull(struct world *w, uint32_t node, unsigned port);
void world_plug(struct world *w, uint32_t a, unsigned pa, uint32_t b,
                unsigned pb);

/* Is every connected part of the fabric led by its highest mapper, do all its
 * mappers hold the same valid map, and is that map the truth? */
bool world_gm2_settled(struct world *w);
/* Could the routes of all hosts of a map, repaired here and computed there,
 * deadlock together? */
bool world_gm2_routes_are_safe(struct world *w, struct errbuf *why);
/* Why not, for people. */
void world_gm2_explain(struct world *w);
/* The same of GM-1: the highest mapper is the only one that is awake, its map
 * is the truth and all hosts have its configuration. */
bool world_gm1_settled(struct world *w);
/* Is it a GM-1 mapper that is not dormant? */
bool world_gm1_is_awake(const struct world *w, uint32_t node);
/* The host of the highest GM-1 mapper in the part of the fabric that this one
 * is in; NET_NONE: there is none. */
uint32_t world_gm1_highest(struct world *w, uint32_t from);
void world_gm1_explain(struct world *w);
/* Do the routes that hosts have lead where they say? */
bool world_gm1_routes_lead(struct world *w, struct errbuf *why);
bool world_has_host(const struct world *w, uint32_t node);
/* What a mapper on this host should find: hosts without one are not there. */
struct net *world_visible(const struct world *w, uint32_t from);

#endif
