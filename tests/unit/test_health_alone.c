/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model and hosts that nobody answers: who is cut off, and who
 * only asked the dead.
 */
#include "health_world.h"

static void says_turned(struct world *w, int n, enum report_answered answered,
                        uint32_t asked, enum report_answered turned)
{
    struct report_record r =
        host(n, answered == ANSWERED_NO ? SEEN_DOWN : SEEN_UP,
             answered == ANSWERED_NO ? "nobody answers" : "link up");
    struct report rep = {.from = REPORT_HSND,
                         .instance = 1,
                         .seq = ++w->seq,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    r.answered = (uint8_t)answered;
    r.asked = asked;
    r.turned = (uint8_t)turned;
    snprintf(rep.node, sizeof(rep.node), "n%d", n);
    assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
}

static void says(struct world *w, int n, enum report_answered answered,
                 uint32_t asked)
{
    says_turned(w, n, answered, asked, ANSWERED_NOT_SAID);
}

/* A map of n0 .. n(n-1) with a crossbar, by the mapper of `leader`. */
static void maps(struct world *w, const char *leader, uint64_t version,
                 const int *hosts, size_t n)
{
    struct report_record r[16];

    for (size_t i = 0; i < n; i++)
        r[i] = host(hosts[i], SEEN_UP, "");
    r[n] = (struct report_record){
        .kind = REPORT_XBAR, .seen = SEEN_UP, .name = "leaf"};
    if (mapper(w, leader, version, r, n + 1) < 0)
        fail_msg("map %d of %s is refused", (int)version, leader);
}

static int64_t proven_of(struct world *w, int n)
{
    char name[16];

    snprintf(name, sizeof(name), "n%d", n);
    return model_host(w->m, name, 0)->proven;
}

static const int both[] = {0, 1};

/* Two nodes, and hsnd of the leader's has ended. */
static void the_peer_of_a_dead_daemon_stays_healthy(void **state)
{
    struct world *w = *state;
    struct report_record self = host(1, SEEN_UP, "");

    maps(w, "n1", 1, both, 2);
    says(w, 0, ANSWERED_YES, 0);
    says(w, 1, ANSWERED_YES, 0);
    pass(w, SEC);
    assert_int_equal(mapper(w, "n1", 2, &self, 1), 0); /* what it sees then */
    for (int i = 0; i < 60; i++) {
        pass(w, SEC);
        says(w, 0, ANSWERED_NO, 1);
        maps(w, "n0", 7, both, 1);
        assert_int_equal(state_of(w, 0), HEALTH_HEALTHY);
        assert_int_not_equal(state_of(w, 1), HEALTH_DOWN);
    }
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_string_equal(model_host(w->m, "n1", 0)->why, "hsnd is silent");
}

/* Nor is it when nobody maps at all. */
static void nobody_answers_when_all_others_are_dead_is_unknown(void **state)
{
    struct world *w = *state;

    says(w, 0, ANSWERED_YES, 0);
    says(w, 1, ANSWERED_YES, 0);
    for (int i = 0; i < 60; i++) {
        pass(w, SEC);
        says(w, 0, ANSWERED_NO, 1);
        assert_int_equal(state_of(w, 0), HEALTH_UNKNOWN);
    }
}

/* Two nodes, and the other stands still; its last word was late.  The healthy
 * one was called down for HsndStale. */
static void whose_crossbar_answers_is_not_down_for_the_other(void **state)
{
    struct world *w = *state;

    for (int turned = ANSWERED_NO; turned <= ANSWERED_YES; turned++) {
        says(w, 0, ANSWERED_YES, 0);
        says(w, 1, ANSWERED_YES, 0);
        pass(w, 60 * SEC);
        says(w, 0, ANSWERED_YES, 0);
        says(w, 1, ANSWERED_YES, 0);
        pass(w, 15 * SEC);
        says_turned(w, 0, ANSWERED_NO, 1, (enum report_answered)turned);
        pass(w, SEC);
        says(w, 1, ANSWERED_YES, 0);
        for (int i = 0; i < 10; i++) {
            pass(w, SEC);
            says_turned(w, 0, ANSWERED_NO, 1, (enum report_answered)turned);
            assert_int_equal(state_of(w, 0), turned == ANSWERED_YES
                                                 ? HEALTH_HEALTHY
                                                 : HEALTH_DOWN);
        }
    }
}

/* All ways on from its crossbar are dead: told when it is proven. */
static void a_crossbar_that_leads_nowhere_is_proven(void **state)
{
    struct report_record self = host(3, SEEN_UP, "");
    static const int rest[] = {0, 1, 2};
    struct world *w = *state;
    int64_t cut = w->now + SEC;

    for (int i = 0; i < 60; i++) {
        pass(w, SEC);
        maps(w, "n0", 11, rest, 3);
        for (int n = 0; n < 3; n++)
            says(w, n, ANSWERED_YES, 0);
        says_turned(w, 3, i ? ANSWERED_NO : ANSWERED_YES, 3, ANSWERED_YES);
        assert_int_equal(mapper(w, "n3", 12, &self, 1), 0);
        if (w->now - cut < 2 * w->conf.stale[REPORT_HSND])
            assert_int_not_equal(state_of(w, 3), HEALTH_DOWN);
    }
    assert_int_equal(state_of(w, 3), HEALTH_DOWN);
    assert_true(proven_of(w, 3) > 0);
}

/* Two nodes, and a cable is pulled: both say that nobody answers, and the one
 * that still sees a crossbar is well. */
static void of_two_the_one_off_the_map_is_down(void **state)
{
    struct world *w = *state;
    int64_t cut;

    maps(w, "n1", 1, both, 2);
    says(w, 0, ANSWERED_YES, 0);
    says(w, 1, ANSWERED_YES, 0);
    pass(w, SEC);
    says(w, 0, ANSWERED_NO, 1);
    says(w, 1, ANSWERED_NO, 1);
    cut = w->now;
    pass(w, SEC);
    assert_int_equal(state_of(w, 0), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    for (int i = 0; i < 60; i++) {
        struct report_record self = host(1, SEEN_UP, "");

        assert_int_equal(mapper(w, "n1", 2, &self, 1), 0);
        maps(w, "n0", 7, both, 1);
        says(w, 0, ANSWERED_NO, 1);
        says(w, 1, ANSWERED_NO, 1);
        pass(w, SEC);
        assert_int_equal(state_of(w, 0), HEALTH_HEALTHY);
        assert_int_equal(proven_of(w, 0), 0);
        assert_int_equal(state_of(w, 1), HEALTH_DOWN);
        if (w->now - cut < 2 * w->conf.stale[REPORT_HSND])
            assert_int_equal(proven_of(w, 1), 0);
    }
    assert_int_not_equal(proven_of(w, 1), 0);
    assert_string_equal(model_host(w->m, "n1", 0)->why, "nobody answers");
}

/* Others do answer each other, which is told at once; it is proven when its
 * own mapper goes on speaking, and not when that is dead. */
static void one_of_many_is_down_at_once_and_proven_later(void **state)
{
    static const int all[] = {0, 1, 2, 3}, rest[] = {0, 1, 2};
    struct world *w = *state;
    struct report_record self = host(3, SEEN_UP, "");

    for (int dead = 0; dead < 2; dead++) {
        maps(w, "n0", 10, all, 4);
        for (int n = 0; n < 4; n++)
            says(w, n, ANSWERED_YES, 0);
        pass(w, 60 * SEC);
        maps(w, "n0", 10, all, 4);
        for (int n = 0; n < 3; n++)
            says(w, n, ANSWERED_YES, 0);
        says(w, 3, ANSWERED_NO, 3);
        for (int i = 0; i < 40; i++) {
            pass(w, SEC);
            for (int n = 0; n < 3; n++)
                says(w, n, ANSWERED_YES, 0);
            says(w, 3, ANSWERED_NO, 3);
            if (i > 2)
                maps(w, "n0", 11, rest, 3);
            if (!dead)
                assert_int_equal(mapper(w, "n3", 12, &self, 1), 0);
            assert_int_equal(state_of(w, 3), HEALTH_DOWN);
        }
        assert_true(dead ? proven_of(w, 3) == 0 : proven_of(w, 3) > 0);
    }
}

/* It has routes to the dead one only: the others were never asked. */
static void the_living_must_have_been_asked(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 60; i++) {
        for (int n = 1; n < 3; n++)
            says(w, n, ANSWERED_YES, 0);
        if (i == 0)
            says(w, 3, ANSWERED_YES, 0); /* and dies */
        says(w, 0, ANSWERED_NO, 1);
        pass(w, SEC);
        assert_int_not_equal(state_of(w, 0), HEALTH_DOWN);
    }
    for (int i = 0; i < 3; i++) {
        for (int n = 1; n < 3; n++)
            says(w, n, ANSWERED_YES, 0);
        says(w, 0, ANSWERED_NO, 2);
        pass(w, SEC);
    }
    assert_int_equal(state_of(w, 0), HEALTH_DOWN);
}

/* Its mapper has died: the map lacks it, and others answer it. */
static void off_the_map_but_answered_is_degraded(void **state)
{
    static const int all[] = {0, 1, 2}, rest[] = {0, 2};
    struct world *w = *state;

    maps(w, "n0", 1, all, 3);
    for (int i = 0; i < 30; i++) {
        for (int n = 0; n < 3; n++)
            says(w, n, ANSWERED_YES, 0);
        maps(w, "n0", i < 5 ? 1 : 2, i < 5 ? all : rest, i < 5 ? 3 : 2);
        pass(w, SEC);
        assert_int_not_equal(state_of(w, 1), HEALTH_DOWN);
    }
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_int_equal(proven_of(w, 1), 0);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "not in the map but answered");
}

/* InfiniBand: nobody speaks for a host but the map. */
static void without_any_hsnd_the_map_is_proof(void **state)
{
    struct world *w = *state;

    maps(w, "n0", 1, both, 2);
    maps(w, "n0", 2, both, 1);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    assert_int_equal(proven_of(w, 1), 0); /* one may still report */
    for (int i = 0; i < 30; i++) {
        pass(w, SEC);
        assert_int_equal(mapper(w, "n0", 2, NULL, 0), 0);
    }
    assert_int_not_equal(proven_of(w, 1), 0);
}

/* It saw a cable that was gone for a moment, and died: no word follows, and
 * one alone proves nothing for long. */
static void the_last_word_of_a_dead_mapper_is_no_proof(void **state)
{
    struct world *w = *state;
    struct report_record r[3] = {host(0, SEEN_UP, ""),
                                 host(1, SEEN_DOWN, "no link")};
    int64_t longest[2] = {0, 0};

    r[2] = (struct report_record){
        .kind = REPORT_XBAR, .seen = SEEN_UP, .name = "leaf"};
    for (int lives = 0; lives < 2; lives++) {
        maps(w, "n0", 1, both, 2);
        pass(w, 60 * SEC);
        assert_int_equal(mapper(w, "n0", 2, r, 3), 0);
        for (int i = 0; i < 20; i++) {
            pass(w, SEC);
            if (lives)
                assert_int_equal(mapper(w, "n0", 2, NULL, 0), 0);
            if (proven_of(w, 1) && w->now - proven_of(w, 1) > longest[lives])
                longest[lives] = w->now - proven_of(w, 1);
        }
    }
    assert_true(longest[0] <= SEC);
    assert_true(longest[1] >= 15 * SEC);
}

/* The same of hsnd, whose NIC had no link for a moment. */
static void the_last_word_of_a_dead_hsnd_is_no_proof(void **state)
{
    struct world *w = *state;
    int64_t longest[2] = {0, 0};

    for (int lives = 0; lives < 2; lives++) {
        assert_int_equal(hsnd(w, 1, SEEN_UP, ""), 0);
        pass(w, 60 * SEC);
        for (int i = 0; i < 20; i++) {
            if (lives || i == 0)
                assert_int_equal(hsnd(w, 1, SEEN_DOWN, "no link"), 0);
            pass(w, SEC);
            if (proven_of(w, 1) && w->now - proven_of(w, 1) > longest[lives])
                longest[lives] = w->now - proven_of(w, 1);
        }
    }
    assert_true(longest[0] <= SEC);
    assert_true(longest[1] >= 15 * SEC);
}

/* Of the time between its words, in which neither it nor we ran, nothing is
 * proven. */
static void two_words_of_hsnd_far_apart_prove_nothing_between(void **state)
{
    struct world *w = *state;

    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), 0);
    pass(w, 5 * SEC);
    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "no link"), 0);
    pass(w, SEC);
    w->now += 60 * SEC; /* without a look */
    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "no link"), 0);
    assert_true(w->now - proven_of(w, 1) <= SEC);
    pass(w, SEC);
    assert_true(w->now - proven_of(w, 1) <= SEC);
}

/* A daemon that is started again and again is no flapping link. */
static void deaths_of_daemons_are_no_proven_flaps(void **state)
{
    static const int all[] = {0, 1, 2}, rest[] = {0, 2};
    struct world *w = *state;

    for (int i = 0; i < 200; i++) {
        bool gone = i % 20 >= 10;

        for (int n = 0; n < 3; n++)
            says(w, n, gone && n == 1 ? ANSWERED_NO : ANSWERED_YES, 2);
        maps(w, "n0", gone ? 2 : 1, gone ? rest : all, gone ? 2 : 3);
        pass(w, SEC);
        assert_int_equal(proven_of(w, 1), 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING); /* shown it is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(the_peer_of_a_dead_daemon_stays_healthy),
        HEALTH_TEST(nobody_answers_when_all_others_are_dead_is_unknown),
        HEALTH_TEST(whose_crossbar_answers_is_not_down_for_the_other),
        HEALTH_TEST(a_crossbar_that_leads_nowhere_is_proven),
        HEALTH_TEST(of_two_the_one_off_the_map_is_down),
        HEALTH_TEST(one_of_many_is_down_at_once_and_proven_later),
        HEALTH_TEST(the_living_must_have_been_asked),
        HEALTH_TEST(off_the_map_but_answered_is_degraded),
        HEALTH_TEST(without_any_hsnd_the_map_is_proof),
        HEALTH_TEST(the_last_word_of_a_dead_mapper_is_no_proof),
        HEALTH_TEST(the_last_word_of_a_dead_hsnd_is_no_proof),
        HEALTH_TEST(two_words_of_hsnd_far_apart_prove_nothing_between),
        HEALTH_TEST(deaths_of_daemons_are_no_proven_flaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
