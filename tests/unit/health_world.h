/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A health model in virtual time, and who reports to it.
 */
#ifndef SF_TESTS_HEALTH_WORLD_H
#define SF_TESTS_HEALTH_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model.h"

#define T0 1700000000000
#define SEC 1000

struct world {
    struct model *m;
    struct model_conf conf;
    int64_t now;
    uint64_t seq;
    int changes, alarms;
    uint32_t stirred; /* a bit for each of n0 .. n31 */
    char last_alarm[256];
    enum health_state last;
};

static inline const char *resolve(uint64_t board, uint8_t *rail, void *arg)
{
    static char name[16];

    if (board < 0x1000 || board > 0x1fff)
        return NULL;
    *rail = 0;
    snprintf(name, sizeof(name), "n%d", (int)(board - 0x1000));
    return name;
}

static inline void changed(const struct health_item *item,
                           enum health_state was, int64_t now, void *arg)
{
    struct world *w = arg;

    w->changes++;
    w->last = item->state;
}

static inline void alarmed(const char *text, int64_t now, void *arg)
{
    struct world *w = arg;

    w->alarms++;
    snprintf(w->last_alarm, sizeof(w->last_alarm), "%s", text);
}

static inline void stirs(const struct health_item *item, void *arg)
{
    struct world *w = arg;

    w->stirred |= 1u << atoi(item->name + 1) % 32;
}

static inline struct model *fresh(struct world *w)
{
    struct model_ops ops = {.resolve = resolve,
                            .changed = changed,
                            .stirs = stirs,
                            .alarm = alarmed,
                            .arg = w};

    return model_new(&w->conf, &ops);
}

static inline int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    model_conf_defaults(&w->conf);
    w->now = T0;
    w->m = fresh(w);
    *state = w;
    return 0;
}

static inline int down(void **state)
{
    struct world *w = *state;

    model_free(w->m);
    free(w);
    return 0;
}

static inline struct report_record host(int n, enum report_seen seen,
                                        const char *why)
{
    struct report_record r = {.kind = REPORT_HOST, .seen = seen};

    snprintf(r.name, sizeof(r.name), "n%d", n);
    snprintf(r.why, sizeof(r.why), "%s", why);
    return r;
}

/* The hsnd of node n says how it is. */
static inline int hsnd_says(struct model *m, uint64_t seq, int n,
                            enum report_seen seen, const char *why, int64_t now)
{
    struct report_record r = host(n, seen, why);
    struct report rep = {.from = REPORT_HSND,
                         .instance = 1,
                         .seq = seq,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "n%d", n);
    return model_input(m, &rep, now, &err);
}

static inline int hsnd(struct world *w, int n, enum report_seen seen,
                       const char *why)
{
    return hsnd_says(w->m, ++w->seq, n, seen, why, w->now);
}

/* Part `part` of `parts` of the map of a rail, from its leader on `node`; or (n
 * 0) a heartbeat. */
static inline int mapper_part(struct world *w, const char *node, uint8_t rail,
                              uint64_t version, uint32_t part, uint32_t parts,
                              struct report_record *records, size_t n)
{
    struct report rep = {.from = REPORT_MAPPERD,
                         .instance = rail + 1u,
                         .seq = ++w->seq,
                         .map = {.present = true,
                                 .rail = rail,
                                 .leader = true,
                                 .version = version,
                                 .part = n ? part : 0,
                                 .parts = n ? parts : 0},
                         .records = records,
                         .nrecords = n};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "%s", node);
    return model_input(w->m, &rep, w->now, &err);
}

/* The whole map of the first rail. */
static inline int mapper(struct world *w, const char *node, uint64_t version,
                         struct report_record *records, size_t n)
{
    return mapper_part(w, node, 0, version, 1, 1, records, n);
}

static inline void pass(struct world *w, int64_t ms)
{
    w->now += ms;
    model_tick(w->m, w->now);
}

/* Time passes while hsnd of n1 says the same each second. */
static inline void pass_saying(struct world *w, int seconds,
                               enum report_seen seen)
{
    for (int i = 0; i < seconds; i++) {
        pass(w, SEC);
        assert_int_equal(hsnd(w, 1, seen, "test"), 0);
    }
}

static inline enum health_state state_of(struct world *w, int n)
{
    char name[16];
    const struct health_item *i;

    snprintf(name, sizeof(name), "n%d", n);
    i = model_host(w->m, name, 0);
    return i ? i->state : HEALTH_UNKNOWN;
}

#define HEALTH_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

#endif
