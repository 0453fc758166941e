/* SPDX-License-Identifier: BSD-3-Clause
 * When a loop looks again and when it sleeps, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/look.h"

#define MOST 50000u
#define STEP 100u /* a look and a rest */
#define MS 1000000u

/* Nothing for `gap`, then something.  How long of it was spent looking. */
static uint64_t wait_for(struct look *l, uint64_t *now, uint64_t gap)
{
    uint64_t begin = *now, looked = 0;

    while (*now < begin + gap && look_idle(l, *now))
        *now += STEP;
    looked = *now - begin;
    if (looked < gap)
        look_idle(l, *now); /* says sleep */
    *now = begin + gap;
    look_found(l, *now);
    return looked;
}

static void it_sleeps_until_a_pause_was_short(void **state)
{
    struct look l = {.most = MOST};
    uint64_t now = MS;

    assert_int_equal(wait_for(&l, &now, 10000), 0);
    assert_int_equal(wait_for(&l, &now, 10000), 10000);
    assert_int_equal(wait_for(&l, &now, 10000), 10000);
}

static void it_looks_no_longer_than_it_may(void **state)
{
    struct look l = {.most = MOST};
    uint64_t now = MS;

    wait_for(&l, &now, 10000);
    assert_in_range(wait_for(&l, &now, 500000), MOST, MOST + STEP);
    assert_int_equal(wait_for(&l, &now, 500000), 0); /* the last was long */
    assert_int_equal(wait_for(&l, &now, 40000), 0);
    assert_int_equal(wait_for(&l, &now, 40000), 40000);
}

static void it_never_looks_where_most_is_zero(void **state)
{
    struct look l = {0};
    uint64_t now = MS;

    for (int i = 0; i < 3; i++)
        assert_int_equal(wait_for(&l, &now, 10), 0);
}

/* Being woken for nothing does not begin the pause anew. */
static void waking_up_in_vain_is_part_of_the_pause(void **state)
{
    struct look l = {.most = MOST};
    uint64_t now = MS;

    wait_for(&l, &now, 10000);
    while (look_idle(&l, now))
        now += STEP;
    assert_false(look_idle(&l, now + 2 * MS));
    look_found(&l, now + 3 * MS);
    assert_false(look_idle(&l, now + 3 * MS));
}

/* An interrupt, or a burst of something urgent: nobody shares the processor. */
static void one_late_look_does_not_end_looking(void **state)
{
    struct look l = {.most = 50 * MS};
    uint64_t now = MS;

    wait_for(&l, &now, 10000);
    for (int i = 0; i < 5; i++) {
        assert_true(look_idle(&l, now));
        now += 4 * MS; /* late */
        assert_true(look_idle(&l, now));
        now += STEP;
    }
    look_found(&l, now);
    assert_int_equal(wait_for(&l, &now, 10000), 10000);
}

/* Late each time that it looks, also where something was found between. */
static void late_looks_in_a_row_count_across_finds(void **state)
{
    struct look l = {.most = MOST};
    uint64_t now = MS;

    wait_for(&l, &now, 10000);
    assert_true(look_idle(&l, now));
    now += 40000;
    look_found(&l, now);
    assert_true(look_idle(&l, now));
    now += 40000;
    look_found(&l, now);
    assert_false(look_idle(&l, now));
}

static void who_is_kept_waiting_sleeps_for_a_while(void **state)
{
    struct look l = {.most = 2 * MOST};
    uint64_t now = MS, begin;

    wait_for(&l, &now, 10000);
    assert_true(look_idle(&l, now));
    now += 40000;
    assert_true(look_idle(&l, now));
    now += 40000;
    assert_false(look_idle(&l, now));
    look_found(&l, now);
    for (begin = now; now - begin < 99 * MS;)
        assert_int_equal(wait_for(&l, &now, 10000), 0);
    now = begin + 101 * MS;
    assert_int_equal(wait_for(&l, &now, 10000), 10000);
}

/* Also when something was there afterwards; each time for longer, until
 * looking pays. */
static void the_while_grows_until_looking_pays(void **state)
{
    struct look l = {.most = MOST};
    uint64_t now = MS;
    static const unsigned ms[] = {100, 200, 400, 800, 1600, 1600};

    wait_for(&l, &now, 10000);
    for (unsigned i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
        assert_true(look_idle(&l, now));
        now += 40000;
        l.late = true; /* the one before was */
        look_found(&l, now);
        assert_int_equal(l.crowded - now, (uint64_t)ms[i] * MS);
        assert_false(look_idle(&l, l.crowded - 1));
        now = l.crowded;
        look_found(&l, now);
        wait_for(&l, &now, 10000);
        if (i < 5)
            l.pause = (uint64_t)ms[i] * MS; /* as if it had not paid */
    }
    assert_int_equal(l.pause, 0);
}

static void the_owner_says_what_is_long(void **state)
{
    struct look l = {.most = MOST, .kept = 45000, .least = 10 * MS};
    uint64_t now = MS;

    wait_for(&l, &now, 10000);
    assert_true(look_idle(&l, now));
    now += 45000;
    now += 45001;
    assert_false(look_idle(&l, now)); /* longer than it may look */
    assert_true(l.late);
    look_found(&l, now);
    wait_for(&l, &now, 10000);
    l.late = true;
    assert_true(look_idle(&l, now));
    now += 45001;
    assert_false(look_idle(&l, now));
    assert_int_equal(l.crowded - now, 10 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_sleeps_until_a_pause_was_short),
        cmocka_unit_test(it_looks_no_longer_than_it_may),
        cmocka_unit_test(it_never_looks_where_most_is_zero),
        cmocka_unit_test(waking_up_in_vain_is_part_of_the_pause),
        cmocka_unit_test(one_late_look_does_not_end_looking),
        cmocka_unit_test(late_looks_in_a_row_count_across_finds),
        cmocka_unit_test(who_is_kept_waiting_sleeps_for_a_while),
        cmocka_unit_test(the_while_grows_until_looking_pays),
        cmocka_unit_test(the_owner_says_what_is_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
