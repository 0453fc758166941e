/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model in virtual time.
 */
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
    char last_alarm[256];
    enum health_state last;
};

static const char *resolve(uint64_t board, uint8_t *rail, void *arg)
{
    static char name[16];

    if (board < 0x1000 || board > 0x1fff)
        return NULL;
    *rail = 0;
    snprintf(name, sizeof(name), "n%d", (int)(board - 0x1000));
    return name;
}

static void changed(const struct health_item *item, enum health_state was,
                    int64_t now, void *arg)
{
    struct world *w = arg;

    w->changes++;
    w->last = item->state;
}

static void alarmed(const char *text, int64_t now, void *arg)
{
    struct world *w = arg;

    w->alarms++;
    snprintf(w->last_alarm, sizeof(w->last_alarm), "%s", text);
}

static struct model *fresh(struct world *w)
{
    struct model_ops ops = {resolve, changed, alarmed, w};

    return model_new(&w->conf, &ops);
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    model_conf_defaults(&w->conf);
    w->now = T0;
    w->m = fresh(w);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    model_free(w->m);
    free(w);
    return 0;
}

static struct report_record host(int n, enum report_seen seen, const char *why)
{
    struct report_record r = {.kind = REPORT_HOST, .seen = seen};

    snprintf(r.name, sizeof(r.name), "n%d", n);
    snprintf(r.why, sizeof(r.why), "%s", why);
    return r;
}

static int hsnd(struct world *w, int n, enum report_seen seen, const char *why)
{
    struct report_record r = host(n, seen, why);
    struct report rep = {.from = REPORT_HSND,
                         .instance = 1,
                         .seq = ++w->seq,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "n%d", n);
    return model_input(w->m, &rep, w->now, &err);
}

/* A report of the mapper on `node`: records, or (n 0) a heartbeat. */
static int mapper(struct world *w, const char *node, uint64_t version,
                  struct report_record *records, size_t n)
{
    struct report rep = {.from = REPORT_MAPPERD,
                         .instance = 1,
                         .seq = ++w->seq,
                         .map = {.present = true,
                                 .leader = true,
                                 .version = version,
                                 .part = n ? 1 : 0,
                                 .parts = n ? 1 : 0},
                         .records = records,
                         .nrecords = n};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "%s", node);
    return model_input(w->m, &rep, w->now, &err);
}

static void pass(struct world *w, int64_t ms)
{
    w->now += ms;
    model_tick(w->m, w->now);
}

/* Time passes while hsnd of n1 says the same each second. */
static void pass_saying(struct world *w, int seconds, enum report_seen seen)
{
    for (int i = 0; i < seconds; i++) {
        pass(w, SEC);
        assert_int_equal(hsnd(w, 1, seen, "test"), 0);
    }
}

static enum health_state state_of(struct world *w, int n)
{
    char name[16];
    const struct health_item *i;

    snprintf(name, sizeof(name), "n%d", n);
    i = model_host(w->m, name, 0);
    return i ? i->state : HEALTH_UNKNOWN;
}

static void the_first_good_word_makes_healthy(void **state)
{
    struct world *w = *state;

    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_HEALTHY), 1);
}

static void down_comes_at_once_and_healthy_after_a_while(void **state)
{
    struct world *w = *state;
    const struct health_item *i;

    hsnd(w, 1, SEEN_UP, "");
    pass_saying(w, 5, SEEN_UP);
    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "no carrier"), 0);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    i = model_host(w->m, "n1", 0);
    assert_string_equal(i->why, "no carrier");
    assert_int_equal(i->count, 1);
    assert_int_equal(i->since, w->now);
    pass_saying(w, 10, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    pass_saying(w, 2, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void sl_23_silence_becomes_unknown_never_healthy(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, 14 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    pass(w, 2 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_string_equal(model_host(w->m, "n1", 0)->why, "hsnd is silent");
    hsnd(w, 1, SEEN_DOWN, "x");
    pass(w, 20 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    for (int i = 0; i < 100; i++)
        pass(w, 60 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

/* The mapper says up, hsnd of the node has died. */
static void sl_23_one_silent_source_is_enough_for_unknown(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    hsnd(w, 1, SEEN_UP, "");
    mapper(w, "n0", 1, &r, 1);
    for (int i = 0; i < 20; i++) {
        pass(w, SEC);
        assert_int_equal(mapper(w, "n0", 1, NULL, 0), 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void the_mapper_alone_is_enough(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    mapper(w, "n0", 1, &r, 1);
    for (int i = 0; i < 100; i++) {
        pass(w, SEC);
        mapper(w, "n0", 1, NULL, 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void sl_23_a_lying_hsnd_does_not_outvote_the_mapper(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_DOWN, "mute");

    hsnd(w, 1, SEEN_UP, "");
    mapper(w, "n0", 1, &r, 1);
    hsnd(w, 1, SEEN_UP, "I am well");
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    assert_int_equal(model_host(w->m, "n1", 0)->source, REPORT_MAPPERD);
}

static void sl_23_hsnd_speaks_for_its_own_node_only(void **state)
{
    struct world *w = *state;
    struct report_record r = host(2, SEEN_DOWN, "lie");
    struct report rep = {.from = REPORT_HSND,
                         .node = "n1",
                         .seq = 1,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_int_equal(errno, EPERM);
    assert_null(model_host(w->m, "n2", 0));
    r = (struct report_record){
        .kind = REPORT_XBAR, .seen = SEEN_DOWN, .name = "n1"};
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
}

static void sl_23_only_the_leading_mapper_is_heard(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n5",
                         .seq = 1,
                         .map = {.present = true, .version = 9},
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    assert_int_equal(mapper(w, "n0", 1, &r, 1), 0);
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_int_equal(mapper(w, "n5", 9, &r, 1), -1);
    assert_int_equal(errno, EPERM);
    assert_string_equal(w->last_alarm, "two mappers say they lead: n0 and n5");
    pass(w, 4 * SEC); /* the lease is over */
    assert_int_equal(mapper(w, "n5", 9, &r, 1), 0);
    assert_string_equal(model_map(w->m)->leader, "n5");
    assert_int_equal(model_map(w->m)->version, 9);
}

static void old_reports_are_refused(void **state)
{
    struct world *w = *state;

    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "a"), 0);
    w->seq--;
    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), -1);
    assert_int_equal(errno, EALREADY);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void what_is_not_in_the_new_map_is_down(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

    mapper(w, "n0", 1, all, 2);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    mapper(w, "n0", 2, all, 1);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    assert_string_equal(model_host(w->m, "n2", 0)->why, "not in the map");
}

/* Whoever is cut off leads itself and would have all others down. */
static void sl_25_a_map_of_less_than_half_is_not_believed(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    mapper(w, "n0", 1, all, 3);
    assert_int_equal(mapper(w, "n0", 2, &all[2], 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(model_map(w->m)->version, 1);
    assert_int_equal(mapper(w, "n0", 3, all, 2), 0);
    assert_int_equal(state_of(w, 3), HEALTH_DOWN);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

/* Also when no map has come for so long that the last one is stale. */
static void sl_25_nor_is_it_when_the_last_map_is_old(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    mapper(w, "n3", 1, all, 3);
    pass(w, w->conf.stale[REPORT_MAPPERD] + SEC);
    for (int n = 1; n <= 3; n++)
        hsnd(w, n, SEEN_UP, "link up");
    assert_int_equal(mapper(w, "n3", 2, &all[2], 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_int_equal(mapper(w, "n2", 3, all, 2), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    /* Who is silent does not count. */
    pass(w, w->conf.stale[REPORT_MAPPERD] + SEC);
    assert_int_equal(mapper(w, "n2", 4, &all[1], 1), 0);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void sl_25_a_mapper_without_a_link_is_not_believed(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

    mapper(w, "n2", 1, all, 2);
    hsnd(w, 2, SEEN_DOWN, "no link");
    assert_int_equal(mapper(w, "n2", 2, &all[1], 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    hsnd(w, 2, SEEN_UP, "link up");
    assert_int_equal(mapper(w, "n2", 3, all, 2), 0);
}

/* It may have spoken first. */
static void sl_25_who_knows_more_hosts_leads_at_once(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    assert_int_equal(mapper(w, "n2", 7, &all[1], 1), 0);
    assert_int_equal(mapper(w, "n3", 8, all, 3), 0);
    assert_string_equal(model_map(w->m)->leader, "n3");
    assert_int_equal(mapper(w, "n2", 7, &all[1], 1), -1);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* The next map may call another crossbar so: nothing is down by that. */
static void names_of_one_map_are_forgotten_with_it(void **state)
{
    struct world *w = *state;
    struct report_record first[] = {
        host(1, SEEN_UP, ""),
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "anon0"},
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "x00000000000000aa"},
        {.kind = REPORT_LINK,
         .seen = SEEN_UP,
         .name = "x00000000000000aa:1",
         .peer = "anon0:3"}};

    mapper(w, "n0", 1, first, 4);
    assert_non_null(model_find(w->m, REPORT_XBAR, "anon0"));
    mapper(w, "n0", 2, first, 1);
    assert_null(model_find(w->m, REPORT_XBAR, "anon0"));
    assert_null(model_find(w->m, REPORT_LINK, "x00000000000000aa:1"));
    assert_int_equal(model_find(w->m, REPORT_XBAR, "x00000000000000aa")->state,
                     HEALTH_DOWN);
}

static void a_map_in_parts_is_whole_only_with_the_last(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n0",
                         .map = {.present = true, .leader = true, .parts = 2}};
    struct errbuf err;

    mapper(w, "n0", 1, r, 2);
    rep.map.version = 2;
    rep.nrecords = 1;
    for (int part = 1; part <= 2; part++) {
        rep.seq = ++w->seq;
        rep.map.part = (uint32_t)part;
        rep.records = &r[part - 1];
        assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
        assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    }
    /* A part of the old map and one of the new are no map. */
    rep.map.version = 3;
    rep.map.part = 1;
    rep.records = &r[0];
    rep.seq = ++w->seq;
    model_input(w->m, &rep, w->now, &err);
    rep.map.version = 4;
    rep.map.part = 2;
    rep.seq = ++w->seq;
    model_input(w->m, &rep, w->now, &err);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

static void flapping_is_damped(void **state)
{
    struct world *w = *state;
    int before;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 10; i++) {
        pass(w, SEC);
        hsnd(w, 1, SEEN_DOWN, "flap");
        pass(w, SEC);
        hsnd(w, 1, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_int_equal(model_host(w->m, "n1", 0)->count, 10);
    before = w->changes;
    for (int i = 0; i < 200; i++) {
        pass(w, SEC);
        hsnd(w, 1, i % 2 ? SEEN_DOWN : SEEN_UP, "flap");
    }
    assert_int_equal(w->changes, before); /* nobody hears of each flap */
    pass_saying(w, 250, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 60, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void flapping_that_ends_down_is_down(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 6; i++) {
        pass(w, SEC);
        hsnd(w, 1, SEEN_DOWN, "flap");
        pass(w, SEC);
        hsnd(w, 1, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 10, SEEN_DOWN);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 3, SEEN_DOWN);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void degraded_needs_a_moment(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, SEC);
    hsnd(w, 1, SEEN_DEGRADED, "crc errors");
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    pass_saying(w, 3, SEEN_DEGRADED);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    pass_saying(w, 12, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void lose_echoes(struct world *w, int from, const uint64_t *boards,
                        const uint32_t *lost, size_t n)
{
    struct report_peer peers[16];
    struct report rep = {.from = REPORT_HSND,
                         .instance = 1,
                         .seq = ++w->seq,
                         .peers = peers,
                         .npeers = n};
    struct errbuf err;

    for (size_t i = 0; i < n; i++)
        peers[i] = (struct report_peer){0, boards[i], 100, lost[i]};
    snprintf(rep.node, sizeof(rep.node), "n%d", from);
    assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
}

static void several_hosts_that_lose_echoes_degrade_a_peer(void **state)
{
    static const uint64_t boards[] = {0x1009, 0x1001, 0x1002, 0x1003, 0x1004};
    static const uint32_t lost[] = {60, 5, 5, 5, 5};
    struct world *w = *state;

    for (int n = 1; n <= 9; n++)
        hsnd(w, n, SEEN_UP, "");
    for (int from = 1; from <= 2; from++)
        lose_echoes(w, from, boards, lost, 5);
    pass(w, SEC);
    assert_int_equal(state_of(w, 9), HEALTH_HEALTHY); /* two may be wrong */
    lose_echoes(w, 3, boards, lost, 5);
    pass(w, SEC);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 9), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n9", 0)->why,
                        "echo losses seen by 3 hosts");
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY); /* 5 % is nothing */
}

/* The neighbour was dead, and who asked it was called degraded, for one of two
 * is half of all. */
static void one_dead_neighbour_of_two_is_no_fault_of_ones_own(void **state)
{
    static const uint64_t boards[] = {0x1002, 0x1003, 0x1004};
    static const uint32_t one[] = {100, 0, 0}, two[] = {100, 100, 0};
    struct world *w = *state;

    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    lose_echoes(w, 1, boards, one, 2);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    lose_echoes(w, 1, boards, two, 3);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    /* Those two are down: the third is fine. */
    hsnd(w, 2, SEEN_DOWN, "no link");
    hsnd(w, 3, SEEN_DOWN, "no link");
    lose_echoes(w, 1, boards, two, 3);
    pass_saying(w, (int)(w->conf.up_after / SEC) + 1, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* Each report says that the link is up; that is no reason to begin anew. */
static void echo_losses_last_between_the_reports_of_them(void **state)
{
    static const uint64_t boards[] = {0x1002, 0x1003, 0x1004};
    static const uint32_t all[] = {80, 90, 100}, none[] = {0, 0, 0};
    struct world *w = *state;

    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    lose_echoes(w, 1, boards, all, 3);
    pass_saying(w, 3, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    pass_saying(w, 20, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    lose_echoes(w, 1, boards, none, 3);
    pass_saying(w, (int)(w->conf.up_after / SEC) + 1, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void who_loses_to_all_has_the_fault_itself(void **state)
{
    static const uint64_t boards[] = {0x1002, 0x1003, 0x1004};
    static const uint32_t lost[] = {80, 90, 100};
    struct world *w = *state;

    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    lose_echoes(w, 1, boards, lost, 3);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

static struct report_record item(enum report_kind kind, const char *name,
                                 const char *peer, enum report_seen seen)
{
    struct report_record r = {.kind = kind, .seen = seen};

    snprintf(r.name, sizeof(r.name), "%s", name);
    snprintf(r.peer, sizeof(r.peer), "%s", peer);
    return r;
}

static void a_leaf_that_lost_its_uplinks_degrades_its_hosts(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {
        item(REPORT_XBAR, "leaf", "", SEEN_UP),
        item(REPORT_XBAR, "top", "", SEEN_UP),
        item(REPORT_HOST, "n1", "leaf:0", SEEN_UP),
        item(REPORT_LINK, "leaf:4", "top:0", SEEN_UP),
        item(REPORT_LINK, "leaf:5", "top:1", SEEN_UP),
        item(REPORT_LINK, "top:2", "leaf:6", SEEN_DOWN),
        item(REPORT_LINK, "leaf:0", "n1:0", SEEN_UP),
    };

    mapper(w, "n0", 1, r, 7);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY); /* two of three */
    r[4].seen = SEEN_DOWN;
    mapper(w, "n0", 1, r, 7);
    pass(w, SEC);
    mapper(w, "n0", 1, NULL, 0);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "1 of 3 links of leaf up");
    assert_int_equal(model_count(w->m, REPORT_LINK, HEALTH_DOWN), 2);
}

static void names_and_boards_that_disagree_are_an_alarm_no_fault(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    r.board = 0x1002;
    mapper(w, "n0", 1, &r, 1);
    assert_int_equal(w->alarms, 1);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY); /* the table's word */
    assert_null(model_host(w->m, "n1", 0));
    r.board = 0x99;
    r.name[0] = '\0';
    mapper(w, "n0", 1, &r, 1);
    assert_non_null(model_host(w->m, "000000000099", 0));
}

static void a_node_is_as_its_worst_rail(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {host(1, SEEN_UP, ""), host(1, SEEN_DOWN, "x")};
    struct health_node node;

    r[1].rail = 1;
    mapper(w, "n0", 1, r, 2);
    assert_true(model_node(w->m, "n1", &node));
    assert_int_equal(node.state, HEALTH_DOWN);
    assert_int_equal(node.rails, 3);
    assert_int_equal(node.rail_state[0], HEALTH_HEALTHY);
    assert_int_equal(node.worst->rail, 1);
    assert_false(model_node(w->m, "n7", &node));
}

static void restart(struct world *w, int64_t away)
{
    struct json_object *saved = model_save(w->m, w->now);
    struct errbuf err;

    assert_non_null(saved);
    model_free(w->m);
    w->m = fresh(w);
    w->now += away;
    assert_int_equal(model_load(w->m, saved, w->now, 600 * SEC, &err), 0);
    json_object_put(saved);
}

static void the_model_survives_a_restart(void **state)
{
    struct world *w = *state;
    int64_t since;

    hsnd(w, 1, SEEN_UP, "");
    hsnd(w, 2, SEEN_UP, "");
    pass(w, SEC);
    hsnd(w, 2, SEEN_DOWN, "mute");
    since = w->now;
    restart(w, 30 * SEC);
    model_tick(w->m, w->now);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    assert_int_equal(model_host(w->m, "n2", 0)->since, since);
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_DOWN), 1);
    /* What does not speak again ages as ever. */
    pass(w, 16 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    /* Flaps are not forgotten either. */
    for (int i = 0; i < 4; i++) {
        hsnd(w, 2, SEEN_UP, "");
        hsnd(w, 2, SEEN_DOWN, "mute");
    }
    hsnd(w, 2, SEEN_UP, "");
    assert_int_equal(state_of(w, 2), HEALTH_FLAPPING);
}

static void a_restart_after_long_trusts_nothing(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    restart(w, 3600 * SEC);
    model_tick(w->m, w->now);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void a_spoiled_state_file_is_refused_whole(void **state)
{
    struct world *w = *state;
    struct json_object *saved, *items;
    struct errbuf err;

    hsnd(w, 1, SEEN_UP, "");
    hsnd(w, 2, SEEN_UP, "");
    saved = model_save(w->m, w->now);
    items = json_object_object_get(saved, "items");
    json_object_object_del(json_object_array_get_idx(items, 1), "state");
    model_free(w->m);
    w->m = fresh(w);
    assert_int_equal(model_load(w->m, saved, w->now, SEC, &err), -1);
    assert_int_equal(errno, EBADMSG);
    assert_null(model_next(w->m, REPORT_HOST, NULL));
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_HEALTHY), 0);
    json_object_put(saved);
}

static void what_nobody_speaks_of_is_forgotten(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, w->conf.forget_after - SEC);
    assert_non_null(model_host(w->m, "n1", 0));
    pass(w, 2 * SEC);
    assert_null(model_host(w->m, "n1", 0));
}

/* 5 % of the reports get lost, for an hour: nothing happens. */
static void sl_25_lost_reports_drain_nobody(void **state)
{
    struct world *w = *state;
    uint32_t random = 1;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 3600; i++) {
        pass(w, SEC);
        random = random * 1664525 + 1013904223;
        if (random >> 16 > 65536 / 20)
            hsnd(w, 1, SEEN_UP, "");
        assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_good_word_makes_healthy),
        T(down_comes_at_once_and_healthy_after_a_while),
        T(sl_23_silence_becomes_unknown_never_healthy),
        T(sl_23_one_silent_source_is_enough_for_unknown),
        T(the_mapper_alone_is_enough),
        T(sl_23_a_lying_hsnd_does_not_outvote_the_mapper),
        T(sl_23_hsnd_speaks_for_its_own_node_only),
        T(sl_23_only_the_leading_mapper_is_heard),
        T(old_reports_are_refused),
        T(what_is_not_in_the_new_map_is_down),
        T(names_of_one_map_are_forgotten_with_it),
        T(sl_25_a_map_of_less_than_half_is_not_believed),
        T(sl_25_nor_is_it_when_the_last_map_is_old),
        T(sl_25_a_mapper_without_a_link_is_not_believed),
        T(sl_25_who_knows_more_hosts_leads_at_once),
        T(a_map_in_parts_is_whole_only_with_the_last),
        T(flapping_is_damped),
        T(flapping_that_ends_down_is_down),
        T(degraded_needs_a_moment),
        T(several_hosts_that_lose_echoes_degrade_a_peer),
        T(one_dead_neighbour_of_two_is_no_fault_of_ones_own),
        T(echo_losses_last_between_the_reports_of_them),
        T(who_loses_to_all_has_the_fault_itself),
        T(a_leaf_that_lost_its_uplinks_degrades_its_hosts),
        T(names_and_boards_that_disagree_are_an_alarm_no_fault),
        T(a_node_is_as_its_worst_rail),
        T(the_model_survives_a_restart),
        T(a_restart_after_long_trusts_nothing),
        T(a_spoiled_state_file_is_refused_whole),
        T(what_nobody_speaks_of_is_forgotten),
        T(sl_25_lost_reports_drain_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
