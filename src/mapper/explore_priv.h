/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's inside.
 *
 * explore.c       the calls of explore.h; which port next, on four levels
 *                 (below), rounds, crossbars that no guess could name,
 *                 addresses that answer in several places, the end check,
 *                 the map
 * explore_port.c  one port: what to expect of it, which question next, the
 *                 probe, what the answer says
 * explore_after.c beginning with what is verified of an old map
 *
 * Levels: a level works only while those before it are idle.
 *   1  ports of crossbars with hosts that are likely to have hosts too
 *      (crossbars that tell ids: all ports)
 *   2  ports of other crossbars that are likely to lead down to hosts
 *   3  all other ports, crossbar by crossbar
 *   4  a crossbar that may be new
 */
#ifndef SF_MAPPER_EXPLORE_PRIV_H
#define SF_MAPPER_EXPLORE_PRIV_H

#include "mapper/atlas.h"
#include "mapper/explore.h"
#include "mapper/guess.h"
#include "mapper/window.h"

#define LEVELS 4
#define ROOT UINT32_MAX /* owner of probes before there is a crossbar */

enum test {
    TEST_NONE,
    TEST_LOOP,    /* is there a crossbar? (a tagged probe: which?) */
    TEST_SCOUT,   /* is there a host? */
    TEST_GUESS,   /* a host beyond? */
    TEST_COMPARE, /* is this crossbar that one? */
    TEST_TWIN,    /* is this port with a host that one? */
    TEST_CHECK,   /* is this link there, port by port? */
};

/* One question being worked at. */
struct xcase {
    struct atlas_ref at;
    struct atlas_ref other; /* compare, twin: the same port there */
    uint8_t level;
    uint8_t test; /* in flight */
    uint8_t tests;
    uint8_t tries; /* of the same test */
    bool deep;     /* may guess */
    struct guess_way way;
    struct guess_tried tried;
    uint32_t next;
};

struct xring {
    struct atlas_ref *items;
    uint32_t head, n, cap; /* cap: power of two */
};

struct xcompare {
    uint32_t rec; /* ATLAS_NONE: none */
    uint32_t other;
    int shift;
    uint32_t asked;
    bool open; /* not all candidates asked */
};

/* The end check: links that no way home uses, one by one. */
struct xcheck {
    uint32_t rec;
    int slot;
    bool begun, open, failed;
};

/* Two places of one address. */
struct xtwins {
    struct atlas_ref at, other;
};

struct explore {
    struct prober_limits limits;
    struct probe_host me;
    struct window window;
    struct atlas atlas;
    struct guess guess;
    struct xcase *cases;
    uint32_t ncases, cap_cases, spare_case;
    struct xring ready;              /* cases whose next test is to go */
    struct xring queues[LEVELS + 1]; /* records with work, by level */
    struct xring stuck, unknown;     /* slots, new records looked at */
    uint32_t active[LEVELS + 1], active_all;
    uint32_t closing; /* records with level 2 in work */
    uint32_t courage; /* how much of that at a time */
    uint32_t credit;
    struct xcompare compare;
    uint32_t known_hosts;
    uint16_t round; /* of retries; 0: first */
    int quiet;      /* rounds that found nothing */
    enum test root_test;
    int root_tries;
    struct probe_host opposite; /* a host on our own cable */
    bool has_opposite;
    bool retry_found; /* this round found something */
    bool lossy;
    uint64_t prompt, late; /* slots that answered at once, in later rounds */
    struct xcheck check;
    struct xtwins twins;
    bool wary;     /* hosts' addresses are not trusted */
    bool supposed; /* began with what was verified (explore_after.c) */
    bool done, failed;
    uint32_t restarts;
    uint8_t kinds[256][2]; /* by absolute port: hosts, crossbars met */
    struct errbuf why;
    char **doubts;
    uint32_t ndoubts;
};

/* explore.c */
bool xring_push(struct xring *ring, struct atlas_ref item, bool front);
void explore_fail(struct explore *x, const char *why);
void scan_queue_all(struct explore *x, uint32_t rec, bool front);

/* explore_port.c */
uint32_t case_new(struct explore *x, struct atlas_ref at, int level, bool deep);
bool case_send(struct explore *x, uint32_t c, struct probe *probe);
/* answer NULL: none came. */
void case_result(struct explore *x, uint32_t c,
                 const struct probe_answer *answer);
bool explore_facts(struct explore *x);
/* What is likely behind a slot: 0 host, n crossbar of that rank, -1 some
 * crossbar, -2 nothing to go by; how many silent and busy slots lie between
 * it and what that is told from. */
struct likely {
    int what;
    int silent, busy, unknown;
};

static inline int likely_gap(const struct likely *l)
{
    return l->silent + l->busy + l->unknown;
}

struct likely slot_likely(struct explore *x, struct atlas_ref at);
/* The same of all slots of a record from first to last, in one go. */
void slots_likely(struct explore *x, uint32_t rec, int first, int last,
                  struct likely *likely);

/* explore.c: what a case came to. */
void check_result(struct explore *x, const struct xcase *c, bool good);

void twins_result(struct explore *x, const struct xcase *c, bool same);

void new_compared(struct explore *x, const struct xcase *c, bool same);

#endif
