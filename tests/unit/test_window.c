/* SPDX-License-Identifier: BSD-3-Clause
 * How many probes are in the air, when answers come late and where nothing
 * answers; and how long they are waited for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mapper/window.h"

#define MS UINT64_C(1000000)
#define FIRST 64

struct fixture {
    struct window w;
    uint64_t now;
    uint64_t tags[FIRST];
    struct prober_pace pace;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;

    *state = f;
    f->now = 1000 * MS;
    return f && window_init(&f->w, &limits) ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    window_clear(&f->w);
    free(f);
    return 0;
}

/* As many as may be; how many. */
static uint32_t send_all(struct fixture *f)
{
    struct probe probe = {.kind = PROBE_SCOUT, .nroute = 1};
    uint32_t n = 0;

    for (; n < FIRST && window_open(&f->w); n++) {
        window_send(&f->w, f->now, &probe, n);
        f->tags[n] = probe.tag;
    }
    return n;
}

static void expire_all(struct fixture *f)
{
    uint32_t owner;

    f->now = window_deadline(&f->w);
    while (window_expired(&f->w, f->now, &owner))
        ;
}

/* Something on the way stood still: all answers come when nobody waits any
 * more. */
static void stall(struct fixture *f)
{
    uint32_t n = send_all(f), owner;

    expire_all(f);
    f->now += 300 * MS;
    for (uint32_t i = 0; i < n; i++)
        assert_false(window_answer(&f->w, f->now, f->tags[i], &owner));
}

static void answers_that_come_late_together_close_it_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(send_all(f), FIRST);
    expire_all(f);
    stall(f);
    assert_int_equal(send_all(f), FIRST / 2);
    expire_all(f);
}

/* One probe at a time, and silent ports in plenty: a fabric of four hosts took
 * more than a minute. */
static void after_stalls_exploring_took_minutes(void **state)
{
    struct fixture *f = *state;
    uint32_t rounds = 0;

    for (int i = 0; i < 12; i++)
        stall(f);
    assert_true(f->w.size < FIRST / 4);
    while (f->w.size < FIRST && rounds < 10 * FIRST) {
        uint32_t owner;

        send_all(f);
        window_answer(&f->w, f->now + 1, f->tags[0], &owner); /* one of them */
        expire_all(f);
        rounds++;
    }
    assert_true(f->w.size >= FIRST);
    assert_true(rounds <= 2 * FIRST);
    send_all(f);
    expire_all(f);
    assert_true(f->w.size < FIRST + 1); /* silence opens it no further */
}

static void silence_everywhere_does_not_open_it(void **state)
{
    struct fixture *f = *state;
    double size;

    for (int i = 0; i < 12; i++)
        stall(f);
    for (int i = 0; i < 200; i++) {
        send_all(f);
        expire_all(f);
    }
    size = f->w.size;
    assert_true(f->w.silence > 1024);
    send_all(f);
    expire_all(f);
    assert_true(f->w.size == size);
}

/* ---- waits --------------------------------------------------------------- */

/* The next search of a fabric whose searches share what they know of it. */
static void search_anew(struct fixture *f)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;

    limits.pace = &f->pace;
    window_clear(&f->w);
    assert_true(window_init(&f->w, &limits));
}

static uint64_t send_one(struct fixture *f)
{
    struct probe probe = {.kind = PROBE_LOOP, .nroute = 1};

    window_send(&f->w, f->now, &probe, 1);
    return probe.tag;
}

/* Nobody waits for it any more when its answer comes. */
static void late(struct fixture *f, uint64_t trip)
{
    uint64_t sent = f->now, tag = send_one(f);
    uint32_t owner;

    expire_all(f);
    f->now = sent + trip;
    assert_false(window_answer(&f->w, f->now, tag, &owner));
}

static void prompt(struct fixture *f, uint64_t trip)
{
    uint64_t tag = send_one(f);
    uint32_t owner;

    f->now += trip;
    assert_true(window_answer(&f->w, f->now, tag, &owner));
}

static void late_answers_lengthen_waits_of_all_searches(void **state)
{
    struct fixture *f = *state;

    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 5 * MS);
    late(f, 40 * MS);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 80 * MS);
    assert_int_equal(window_wait(&f->w, PROBE_SCOUT), 160 * MS);
    search_anew(f);
    prompt(f, 40 * MS);
    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 80 * MS);
    late(f, 3600 * 1000 * MS); /* the machine slept */
    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 64 * 5 * MS);
}

/* Its place had another probe by then. */
static void a_late_answer_is_known_after_its_place_was_used(void **state)
{
    struct fixture *f = *state;
    uint64_t tag, sent = f->now;
    uint32_t owner;

    search_anew(f);
    tag = send_one(f);
    expire_all(f);
    send_one(f);
    f->now = sent + 20 * MS;
    assert_false(window_answer(&f->w, f->now, tag, &owner));
    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 40 * MS);
}

static void waits_shorten_when_answers_are_prompt_for_long(void **state)
{
    struct fixture *f = *state;

    search_anew(f);
    late(f, 40 * MS);
    for (int i = 0; i < 600; i++) {
        prompt(f, 30 * MS); /* of no use to halve them */
        f->now += 1000 * MS;
    }
    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 80 * MS);
    for (int i = 0; i < 600; i++) {
        prompt(f, MS);
        f->now += 1000 * MS;
    }
    search_anew(f);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 5 * MS);
}

static void nobody_waits_longer_than_the_caps_alone(void **state)
{
    struct fixture *f = *state;

    late(f, 40 * MS);
    assert_int_equal(window_wait(&f->w, PROBE_LOOP), 5 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(answers_that_come_late_together_close_it_once),
        CASE(after_stalls_exploring_took_minutes),
        CASE(silence_everywhere_does_not_open_it),
        CASE(late_answers_lengthen_waits_of_all_searches),
        CASE(a_late_answer_is_known_after_its_place_was_used),
        CASE(waits_shorten_when_answers_are_prompt_for_long),
        CASE(nobody_waits_longer_than_the_caps_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
