/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model: echoes that get lost, crossbars that lose their links.
 */
#include "health_world.h"

static const uint64_t neighbours[] = {0x1002, 0x1003, 0x1004};
static const uint32_t most[] = {80, 90, 100};

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
    assert_int_equal(state_of(w, 9), HEALTH_HEALTHY); /* it may be dead */
    hsnd(w, 9, SEEN_UP, "");
    pass(w, SEC);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 9), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n9", 0)->why,
                        "echo losses seen by 3 hosts");
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY); /* 5 % is nothing */
}

/* All say for a while that n1 loses echoes to them, and n1 does. */
static void lose_for_a_while(struct world *w, const uint64_t *boards,
                             const uint32_t *lost, size_t n)
{
    lose_echoes(w, 1, boards, lost, n);
    for (int64_t t = 0; t < w->conf.stale[REPORT_HSND]; t += SEC) {
        pass(w, SEC);
        for (int k = 1; k <= 4; k++)
            hsnd(w, k, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    lose_echoes(w, 1, boards, lost, n);
    pass(w, SEC);
    pass(w, 2 * SEC);
}

/* All of n1's echoes, for a while. */
static void lose_to_all(struct world *w)
{
    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    lose_for_a_while(w, neighbours, most, 3);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
}

/* They were well when they were asked, and died. */
static void dead_peers_are_no_fault_of_who_asks(void **state)
{
    struct world *w = *state;

    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    for (int i = 0; i < 60; i++) {
        if (i % 20 == 4)
            lose_echoes(w, 1, neighbours, most, 3);
        pass_saying(w, 1, SEEN_UP);
        assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    }
}

/* hsnd tells of them no more: that is over some time. */
static void echo_losses_expire(void **state)
{
    static const uint32_t five[] = {60, 5, 5};
    struct world *w = *state;
    int64_t lasts = 2 * w->conf.stale[REPORT_HSND];

    lose_to_all(w);
    for (int k = 2; k <= 4; k++) /* and three of them to n2 */
        lose_echoes(w, k == 2 ? 1 : k, neighbours, five, 3);
    pass(w, SEC);
    hsnd(w, 2, SEEN_UP, "");
    pass_saying(w, 3, SEEN_UP);
    hsnd(w, 2, SEEN_UP, "");
    assert_int_equal(state_of(w, 2), HEALTH_DEGRADED);
    for (int64_t t = 0; t <= lasts + w->conf.up_after + SEC; t += SEC) {
        pass_saying(w, 1, SEEN_UP);
        hsnd(w, 2, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

/* Nobody else tells of them, and hsnd reports, but no echoes. */
static void ones_own_echo_losses_expire(void **state)
{
    struct world *w = *state;
    int64_t lasts = 2 * w->conf.stale[REPORT_HSND];

    lose_to_all(w);
    for (int64_t t = 0; t <= lasts + w->conf.up_after + SEC; t += SEC) {
        pass(w, SEC);
        for (int n = 1; n <= 4; n++)
            hsnd(w, n, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* The neighbour was dead, and who asked it was called degraded, for one of two
 * is half of all. */
static void one_dead_neighbour_of_two_is_no_fault_of_ones_own(void **state)
{
    static const uint32_t one[] = {100, 0, 0}, two[] = {100, 100, 0};
    struct world *w = *state;

    for (int n = 1; n <= 4; n++)
        hsnd(w, n, SEEN_UP, "");
    lose_echoes(w, 1, neighbours, one, 2);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    lose_for_a_while(w, neighbours, two, 3);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    /* Those two are down: the third is fine. */
    hsnd(w, 2, SEEN_DOWN, "no link");
    hsnd(w, 3, SEEN_DOWN, "no link");
    lose_echoes(w, 1, neighbours, two, 3);
    pass_saying(w, (int)(w->conf.up_after / SEC) + 1, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* Each report says that the link is up; that is no reason to begin anew. */
static void echo_losses_last_between_the_reports_of_them(void **state)
{
    static const uint32_t none[] = {0, 0, 0};
    struct world *w = *state;

    lose_to_all(w);
    pass_saying(w, 20, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    lose_echoes(w, 1, neighbours, none, 3);
    pass_saying(w, (int)(w->conf.up_after / SEC) + 1, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void who_loses_to_all_has_the_fault_itself(void **state)
{
    struct world *w = *state;

    lose_to_all(w);
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
        item(REPORT_HOST, "n1", "leaf:1", SEEN_UP), /* of InfiniBand */
    };

    r[7].rail = 1;
    mapper(w, "n0", 1, r, 8);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY); /* two of three */
    r[4].seen = SEEN_DOWN;
    mapper(w, "n0", 1, r, 8);
    pass(w, SEC);
    mapper(w, "n0", 1, NULL, 0);
    pass(w, 3 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "1 of 3 links of leaf up");
    assert_string_equal(model_host(w->m, "n1", 1)->why,
                        "1 of 3 links of leaf up");
    assert_int_equal(model_count(w->m, REPORT_LINK, HEALTH_DOWN), 2);
}

/* ... at once, and however many other items there are: only what hangs on the
 * lost link's crossbars is judged. */
static void a_lost_uplink_is_followed_without_a_look_at_all(void **state)
{
    static struct report_record r[1006];
    struct world *w = *state;
    struct model_conf now = w->conf;
    uint64_t before;

    now.degrade_after = 0;
    model_set_conf(w->m, &now);
    r[0] = item(REPORT_XBAR, "leaf", "", SEEN_UP);
    r[1] = item(REPORT_XBAR, "top", "", SEEN_UP);
    r[2] = item(REPORT_HOST, "n1", "leaf:0", SEEN_UP);
    r[3] = item(REPORT_HOST, "n2", "leaf:1", SEEN_UP);
    r[4] = item(REPORT_LINK, "leaf:4", "top:0", SEEN_UP);
    r[5] = item(REPORT_LINK, "leaf:5", "top:1", SEEN_UP);
    for (int i = 6; i < 1006; i++) {
        r[i] = item(REPORT_HOST, "", "far:0", SEEN_UP);
        snprintf(r[i].name, sizeof(r[i].name), "n%d", i);
    }
    assert_int_equal(mapper(w, "n0", 1, r, 1006), 0);
    pass(w, SEC);
    r[4].seen = r[5].seen = SEEN_DOWN;
    before = model_judged(w->m);
    assert_int_equal(mapper_part(w, "n0", 0, 1, 0, 0, &r[4], 2), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    model_follow(w->m, w->now);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_int_equal(state_of(w, 2), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n2", 0)->why,
                        "0 of 2 links of leaf up");
    assert_in_range(model_judged(w->m) - before, 1, 6);
    before = model_judged(w->m);
    model_follow(w->m, w->now);
    assert_int_equal(model_judged(w->m), before);
    pass(w, 0);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
}

static void a_host_that_moved_hangs_on_its_new_leaf(void **state)
{
    struct world *w = *state;
    struct model_conf now = w->conf;
    struct report_record r[] = {
        item(REPORT_XBAR, "a", "", SEEN_UP),
        item(REPORT_XBAR, "b", "", SEEN_UP),
        item(REPORT_XBAR, "top", "", SEEN_UP),
        item(REPORT_HOST, "n1", "a:0", SEEN_UP),
        item(REPORT_LINK, "a:4", "top:0", SEEN_UP),
        item(REPORT_LINK, "b:4", "top:1", SEEN_DOWN),
    };

    now.degrade_after = 0;
    model_set_conf(w->m, &now);
    assert_int_equal(mapper(w, "n0", 1, r, 6), 0);
    pass(w, SEC);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    strcpy(r[3].peer, "b:0");
    assert_int_equal(mapper(w, "n0", 2, r, 6), 0);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n1", 0)->why, "0 of 1 links of b up");
}

/* The next map calls its crossbar otherwise, and no tick comes between. */
static void a_host_outlives_its_crossbar(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {
        item(REPORT_XBAR, REPORT_ANON "1", "", SEEN_UP),
        item(REPORT_HOST, "n1", REPORT_ANON "1:0", SEEN_UP),
        item(REPORT_HOST, "n0", REPORT_ANON "1:1", SEEN_UP),
    };

    assert_int_equal(mapper(w, "n0", 1, r, 3), 0);
    pass(w, SEC);
    assert_int_equal(mapper(w, "n0", 2, &r[1], 2), 0);
    assert_int_equal(model_count(w->m, REPORT_XBAR, HEALTH_HEALTHY), 0);
    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(several_hosts_that_lose_echoes_degrade_a_peer),
        HEALTH_TEST(dead_peers_are_no_fault_of_who_asks),
        HEALTH_TEST(echo_losses_expire),
        HEALTH_TEST(ones_own_echo_losses_expire),
        HEALTH_TEST(one_dead_neighbour_of_two_is_no_fault_of_ones_own),
        HEALTH_TEST(echo_losses_last_between_the_reports_of_them),
        HEALTH_TEST(who_loses_to_all_has_the_fault_itself),
        HEALTH_TEST(a_leaf_that_lost_its_uplinks_degrades_its_hosts),
        HEALTH_TEST(a_lost_uplink_is_followed_without_a_look_at_all),
        HEALTH_TEST(a_host_that_moved_hangs_on_its_new_leaf),
        HEALTH_TEST(a_host_outlives_its_crossbar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
