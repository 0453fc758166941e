/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Policy, caps and the plan for one node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/plan.h"
#include "health/policy.h"

#define SEC 1000

static struct policy_want decide(enum health_state state, int64_t age,
                                 int64_t up_time)
{
    struct policy_conf conf;
    struct health_node node = {.state = state, .rails = 1};

    policy_conf_defaults(&conf);
    node.rail_state[0] = state;
    node.rail_since[0] = node.rail_proven[0] = 1000000 - age;
    return policy_decide(&conf, &node, false, 1000000, 1000000 - up_time);
}

static void drain_after_continuous_evidence(void **state)
{
    assert_false(decide(HEALTH_DOWN, 9 * SEC, 900 * SEC).drain);
    assert_true(decide(HEALTH_DOWN, 10 * SEC, 900 * SEC).drain);
    assert_true(decide(HEALTH_FLAPPING, 10 * SEC, 900 * SEC).drain);
    assert_false(decide(HEALTH_DEGRADED, 900 * SEC, 900 * SEC).drain);
    assert_false(decide(HEALTH_UNKNOWN, 900 * SEC, 900 * SEC).drain);
    assert_false(decide(HEALTH_HEALTHY, 900 * SEC, 900 * SEC).drain);
}

/* A daemon's death alone may have made it so, or it is over. */
static void what_is_not_proven_drains_nobody(void **state)
{
    struct policy_conf conf;
    struct health_node node = {.rails = 1, .silent = 1};

    policy_conf_defaults(&conf);
    conf.drain_degraded = true;
    for (int s = 0; s < HEALTH_STATES; s++) {
        node.state = node.rail_state[0] = (enum health_state)s;
        assert_false(policy_decide(&conf, &node, false, 900 * SEC, 0).drain);
    }
    node.rail_state[0] = HEALTH_DEGRADED;
    assert_int_equal(policy_decide(&conf, &node, false, 900 * SEC, 0).refuse,
                     0);
    conf.refuse_silent = true;
    assert_int_equal(policy_decide(&conf, &node, false, 900 * SEC, 0).refuse,
                     1);
    node.silent = 0;
    assert_int_equal(policy_decide(&conf, &node, false, 900 * SEC, 0).refuse,
                     0);
}

static void no_drain_within_the_grace_of_a_start(void **state)
{
    assert_false(decide(HEALTH_DOWN, 900 * SEC, 59 * SEC).drain);
    assert_true(decide(HEALTH_DOWN, 900 * SEC, 60 * SEC).drain);
}

static void steps_are_refused_at_once(void **state)
{
    assert_int_equal(decide(HEALTH_DOWN, 0, 0).refuse, 1);
    assert_int_equal(decide(HEALTH_FLAPPING, 0, 0).refuse, 0);
    assert_int_equal(decide(HEALTH_UNKNOWN, 0, 0).refuse, 0);
}

static void resume_only_after_health(void **state)
{
    assert_false(decide(HEALTH_HEALTHY, 59 * SEC, 0).resume);
    assert_true(decide(HEALTH_HEALTHY, 60 * SEC, 0).resume);
    assert_false(decide(HEALTH_UNKNOWN, 900 * SEC, 900 * SEC).resume);
    assert_false(decide(HEALTH_DEGRADED, 900 * SEC, 900 * SEC).resume);
}

static void rails_and_maintenance(void **state)
{
    struct policy_conf conf;
    struct health_node node = {.state = HEALTH_DOWN, .rails = 3};

    policy_conf_defaults(&conf);
    node.rail_state[1] = HEALTH_DOWN;
    node.rail_proven[0] = node.rail_proven[1] = 1;
    assert_true(policy_decide(&conf, &node, false, 1000 * SEC, 0).drain);
    assert_int_equal(policy_decide(&conf, &node, false, 1000 * SEC, 0).refuse,
                     2);
    conf.any_rail = false;
    assert_false(policy_decide(&conf, &node, false, 1000 * SEC, 0).drain);
    node.rail_state[0] = HEALTH_DOWN;
    assert_true(policy_decide(&conf, &node, false, 1000 * SEC, 0).drain);
    assert_false(policy_decide(&conf, &node, true, 1000 * SEC, 0).drain);
    conf.drain = false;
    assert_false(policy_decide(&conf, &node, false, 1000 * SEC, 0).drain);
}

/* A mapper that says all is down. */
static void a_mistake_never_drains_a_cluster(void **state)
{
    struct caps *caps = calloc(1, sizeof(*caps));
    struct caps_conf conf;
    uint32_t drained = 0;

    caps_conf_defaults(&conf);
    for (int i = 0; i < 1000; i++)
        drained += caps_take(caps, &conf, 5000 + i, 1000, drained);
    assert_int_equal(drained, conf.max);
    assert_false(caps_take(caps, &conf, 5000 + conf.interval - 1, 1000, 8));
    assert_true(caps_take(caps, &conf, 5000 + conf.interval, 1000, 8));
    /* An interval later more, but never above the percentage. */
    for (int64_t t = 0; t < 100; t++) {
        for (int i = 0; i < 50; i++)
            drained += caps_take(caps, &conf, 5000 + t * conf.interval * 2,
                                 1000, drained);
    }
    assert_int_equal(drained, 100);
    free(caps);
}

static void a_small_cluster_may_drain_one_node(void **state)
{
    struct caps *caps = calloc(1, sizeof(*caps));
    struct caps_conf conf;

    caps_conf_defaults(&conf);
    assert_true(caps_take(caps, &conf, 0, 4, 0));
    assert_false(caps_take(caps, &conf, 1, 4, 1));
    conf.max_percent = 0;
    assert_false(caps_take(caps, &conf, 2, 4, 0));
    free(caps);
}

static struct plan_want want(enum health_state state)
{
    struct plan_want w = {.node = "n1",
                          .state = (uint8_t)state,
                          .rails = 1,
                          .since = 1700000000000,
                          .count = 3,
                          .why = "no carrier"};

    w.rail_state[0] = (uint8_t)state;
    return w;
}

static void features_are_merged(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.features =
                              "gpu,fabric_up,fabric_degraded,fabric_down,big",
                          .features_act = "gpu,fabric_up,big"};
    struct plan p;

    assert_true(plan_make(&w, &n, &p));
    assert_true(p.set_features);
    assert_string_equal(p.features_act, "gpu,big,fabric_down");
    n.features_act = "fabric_down,big,gpu"; /* nothing to do */
    assert_true(plan_make(&w, &n, &p));
    assert_false(p.set_features);
    w = want(HEALTH_UNKNOWN);
    assert_true(plan_make(&w, &n, &p));
    assert_string_equal(p.features_act, "big,gpu");
    w = want(HEALTH_FLAPPING);
    plan_make(&w, &n, &p);
    assert_string_equal(p.features_act, "big,gpu,fabric_degraded");
}

static void features_only_where_declared(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.features = "gpu,fabric_up", .features_act = "gpu"};
    struct plan p;

    assert_true(plan_make(&w, &n, &p));
    assert_false(p.set_features);
    n.features = NULL;
    n.features_act = NULL;
    assert_true(plan_make(&w, &n, &p));
    assert_false(p.set_features);
}

static void features_of_rails(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.features = "fabric_down,fabric_rail0_up,"
                                      "fabric_rail0_down,fabric_rail1_down",
                          .features_act = "fabric_rail0_down"};
    struct plan p;

    w.rails = 3;
    w.rail_state[0] = HEALTH_HEALTHY;
    w.rail_state[1] = HEALTH_DOWN;
    assert_true(plan_make(&w, &n, &p));
    assert_string_equal(p.features_act,
                        "fabric_down,fabric_rail0_up,fabric_rail1_down");
    assert_string_equal(
        p.extra, "fabric=down:rail0=up:rail1=down:since=1700000000:count=3:"
                 "why=no_carrier");
}

static void extra_and_comment_leave_what_is_anothers(void **state)
{
    struct plan_want w = want(HEALTH_HEALTHY);
    struct plan_node n = {.extra = "rack=7 fabric=down:since=1 slot=2",
                          .comment = "do not touch"};
    struct plan p;

    assert_true(plan_make(&w, &n, &p));
    assert_string_equal(p.extra, "rack=7 slot=2 fabric=up:rail0=up");
    assert_true(p.set_extra);
    assert_false(p.set_comment);
    n.extra = "rack=7 slot=2 fabric=up:rail0=up";
    n.comment = "fabric=down";
    assert_true(plan_make(&w, &n, &p));
    assert_false(p.set_extra);
    assert_true(p.set_comment);
}

static void drain_says_what_where_since_and_how_often(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.since = "2023-11-14T22:13:20"};
    struct plan p;

    w.drain = 1;
    assert_true(plan_make(&w, &n, &p));
    assert_int_equal(p.state, PLAN_DRAIN);
    assert_string_equal(p.reason, "switchmgrd: fabric rail 0 down (no carrier) "
                                  "since 2023-11-14T22:13:20, 3 times");
    assert_true(plan_is_own(p.reason));
    w.count = 1;
    assert_true(plan_make(&w, &n, &p));
    assert_string_equal(p.reason, "switchmgrd: fabric rail 0 down (no carrier) "
                                  "since 2023-11-14T22:13:20");
}

static void an_admins_drain_is_untouched(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.drain = true, .reason = "bad memory"};
    struct plan p;

    w.drain = 1;
    assert_true(plan_make(&w, &n, &p));
    assert_int_equal(p.state, PLAN_LEAVE);
    w = want(HEALTH_HEALTHY);
    w.resume = 1;
    assert_true(plan_make(&w, &n, &p));
    assert_int_equal(p.state, PLAN_LEAVE);
    n.reason = NULL;
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_LEAVE);
    n.reason = "see switchmgrd: it drained before";
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_LEAVE);
    n.reason = "switchmgrd: fabric rail 0 down (mute) since 1";
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_RESUME);
}

/* An admin resumes a node that we drained: not again for the same fault. */
static void an_admins_resume_is_respected(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.undone = w.since};
    struct plan p;

    w.drain = 1;
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_LEAVE);
    w.since += 60000; /* a new fault */
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_DRAIN);
}

static void nodes_that_are_down_are_left_alone(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    struct plan_node n = {.unusable = true, .reason = "Not responding"};
    struct plan p;

    w.drain = 1;
    plan_make(&w, &n, &p);
    assert_int_equal(p.state, PLAN_LEAVE);
}

static void texts_too_long_to_merge_are_left(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);
    char *big = malloc(SF_PLAN_TEXT_MAX + 1);
    struct plan_node n = {.extra = big};
    struct plan p;

    memset(big, 'x', SF_PLAN_TEXT_MAX);
    big[SF_PLAN_TEXT_MAX] = '\0';
    assert_false(plan_make(&w, &n, &p));
    free(big);
}

static void records_of_the_network_side_are_checked(void **state)
{
    struct plan_want w = want(HEALTH_DOWN);

    assert_true(plan_want_valid(&w));
    w.state = HEALTH_STATES;
    assert_false(plan_want_valid(&w));
    w = want(HEALTH_DOWN);
    strcpy(w.why, "a\nb");
    assert_false(plan_want_valid(&w));
    strcpy(w.why, "$(reboot)");
    assert_false(plan_want_valid(&w));
    w = want(HEALTH_DOWN);
    strcpy(w.node, "n[0-9]"); /* would be a list */
    assert_false(plan_want_valid(&w));
    strcpy(w.node, "ALL,n1");
    assert_false(plan_want_valid(&w));
    memset(w.node, 'a', sizeof(w.node)); /* no end */
    assert_false(plan_want_valid(&w));
    w = want(HEALTH_DOWN);
    w.rail_state[7] = 9;
    assert_false(plan_want_valid(&w));
}

static void a_drain_that_slurmctld_forgot_is_no_admins_resume(void **state)
{
    /* started long before the drain was seen: somebody took it back */
    assert_false(plan_drain_was_lost(50000, 10000));
    assert_true(plan_drain_was_lost(50000, 60000));
    /* within the second that slurmctld tells */
    assert_true(plan_drain_was_lost(50900, 50000));
    assert_false(plan_drain_was_lost(51000, 50000));
    /* what is not known speaks for the admin */
    assert_false(plan_drain_was_lost(0, 60000));
    assert_false(plan_drain_was_lost(50000, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drain_after_continuous_evidence),
        cmocka_unit_test(what_is_not_proven_drains_nobody),
        cmocka_unit_test(no_drain_within_the_grace_of_a_start),
        cmocka_unit_test(steps_are_refused_at_once),
        cmocka_unit_test(resume_only_after_health),
        cmocka_unit_test(rails_and_maintenance),
        cmocka_unit_test(a_mistake_never_drains_a_cluster),
        cmocka_unit_test(a_small_cluster_may_drain_one_node),
        cmocka_unit_test(features_are_merged),
        cmocka_unit_test(features_only_where_declared),
        cmocka_unit_test(features_of_rails),
        cmocka_unit_test(extra_and_comment_leave_what_is_anothers),
        cmocka_unit_test(drain_says_what_where_since_and_how_often),
        cmocka_unit_test(an_admins_drain_is_untouched),
        cmocka_unit_test(an_admins_resume_is_respected),
        cmocka_unit_test(a_drain_that_slurmctld_forgot_is_no_admins_resume),
        cmocka_unit_test(nodes_that_are_down_are_left_alone),
        cmocka_unit_test(texts_too_long_to_merge_are_left),
        cmocka_unit_test(records_of_the_network_side_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
