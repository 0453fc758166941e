/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's inside.
 *
 * explore.c       the calls of explore.h, rounds, the end
 * explore_slot.c  one port: which question next
 * explore_likely.c, explore_probe.c, explore_answer.c
 *                 what to expect of it, the probe, what the answer says
 * explore_scan.c  which port next, on four levels (below)
 * explore_new.c   crossbars that no guess could name: looked at port by
 *                 port and compared with those known
 * explore_twins.c addresses that answer in several places
 * explore_check.c every link closed to a ring, at the end
 * explore_after.c beginning with what is verified of an old map
 * explore_map.c   the finished map
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

bool xring_push(struct xring *ring, struct atlas_ref item, bool front);
bool xring_pop(struct xring *ring, struct atlas_ref *item);
void explore_fail(struct explore *x, const char *why);
void explore_add_doubt(struct explore *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* explore_map.c: say what could not be told. */
void explore_doubts(struct explore *x);

/* explore_slot.c */
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

/* explore_likely.c: the best guess not tried yet goes into c->way; how likely
 * it is (0: none left). */
double case_best_guess(struct explore *x, struct xcase *c, int likely_rank);

/* explore_probe.c; false: out of reach. */
bool case_fill_route(struct explore *x, struct xcase *c, struct probe *probe);
/* There by the one way, over to the other's port of entry, back by the
 * other's way: comes back only if both are one crossbar (a check: only if the
 * link leads from `at` to `other`). */
bool case_fill_compare(struct explore *x, struct xcase *c, struct probe *probe);

/* explore_answer.c; false: no memory. */
bool case_take_answer(struct explore *x, struct xcase *c,
                      const struct probe_answer *answer);
void case_mark_unanswered(struct explore *x, struct xcase *c, bool sure);
/* Did it answer the first time it was asked? */
void case_count_answer(struct explore *x, struct atlas_ref at);

/* explore_root.c: before there is a crossbar. */
#define ROOT UINT32_MAX /* owner of these probes */
bool root_next(struct explore *x, uint64_t now, struct probe *probe);
void root_answer(struct explore *x, const struct probe_answer *answer);
void root_silent(struct explore *x);

/* explore_rounds.c: all levels are idle. */
void round_ends(struct explore *x);

/* explore_scan.c */
bool scan_more(struct explore *x);
bool scan_queue(struct explore *x, uint32_t rec, int level, bool front);
void scan_queue_all(struct explore *x, uint32_t rec, bool front);
bool scan_again(struct explore *x);

/* explore_new.c */
bool new_more(struct explore *x);
/* explore_check.c */
bool check_more(struct explore *x);
void check_result(struct explore *x, const struct xcase *c, bool good);

/* explore_twins.c */
bool twins_more(struct explore *x);
void twins_result(struct explore *x, const struct xcase *c, bool same);

/* explore_new.c */
void new_compared(struct explore *x, const struct xcase *c, bool same);

#endif
