/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "switchmgrd/throttle.h"

#define LEAST 20

static void a_change_after_a_quiet_time_waits_no_longer_than_asked(void **state)
{
    struct throttle p = {0};

    assert_int_equal(throttle_wait(&p, 1000, LEAST), LEAST);
    throttle_done(&p, 1020, 1120);
    assert_int_equal(throttle_wait(&p, 2000, LEAST), LEAST);
}

static void short_work_does_not_rest_longer_than_asked(void **state)
{
    struct throttle p = {0};

    throttle_done(&p, 1000, 1000 + LEAST / THROTTLE_REST);
    assert_int_equal(throttle_wait(&p, 1000 + LEAST / THROTTLE_REST, LEAST),
                     LEAST);
}

/* Changes all the time: what one takes grows with the nodes, the share of the
 * time does not. */
static void long_work_leaves_four_fifths_of_the_time(void **state)
{
    for (int64_t takes = 10; takes <= 10000; takes *= 10) {
        struct throttle p = {0};
        int64_t now = 0, worked = 0;

        while (now < 1000 * takes) {
            now += throttle_wait(&p, now, LEAST);
            throttle_done(&p, now, now + takes);
            now += takes;
            worked += takes;
        }
        assert_true(worked * (1 + THROTTLE_REST) <=
                    now + (1 + THROTTLE_REST) * takes);
    }
}

/* A look at the time is due twice a second, and with 65 536 nodes takes about
 * as long: reports have their turns between. */
static void looks_at_the_time_leave_four_fifths_of_it(void **state)
{
    for (int64_t takes = 1; takes <= 1000; takes *= 10) {
        struct throttle p = {0};
        int64_t looks = 0;

        for (int64_t now = 0; now < 1000000;) {
            if (throttle_may(&p, now)) {
                throttle_done(&p, now, now + takes);
                looks++;
                now += takes;
            }
            now = (now / 500 + 1) * 500;
        }
        assert_in_range(looks, 1, 1000000 / ((1 + THROTTLE_REST) * takes) + 1);
        assert_true(takes > 100 || looks == 2000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_change_after_a_quiet_time_waits_no_longer_than_asked),
        cmocka_unit_test(short_work_does_not_rest_longer_than_asked),
        cmocka_unit_test(long_work_leaves_four_fifths_of_the_time),
        cmocka_unit_test(looks_at_the_time_leave_four_fifths_of_it),
    };

    return cmocka_run_group_tests_name("throttle", tests, NULL, NULL);
}
