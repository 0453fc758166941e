/* SPDX-License-Identifier: BSD-3-Clause
 * How many probes are in the air, when answers come late and where nothing
 * answers.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(answers_that_come_late_together_close_it_once),
        CASE(after_stalls_exploring_took_minutes),
        CASE(silence_everywhere_does_not_open_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
