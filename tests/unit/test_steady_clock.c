/* SPDX-License-Identifier: BSD-3-Clause
 * switchmgrd's time when somebody sets the clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_clock.h"
#include "switchmgrd/steady_clock.h"

#define HOUR 3600000

static void pass(int64_t ms)
{
    wall += ms;
    steady += ms;
}

static void ages_do_not_notice_a_set_clock(void **state)
{
    int64_t then = steady_now();

    (void)state;
    assert_int_equal(then, wall);
    pass(3000);
    wall += HOUR;
    assert_int_equal(steady_now() - then, 3000);
    wall -= 2 * HOUR;
    pass(1000);
    assert_int_equal(steady_now() - then, 4000);
    wall += HOUR;
}

/* What the table says must not be an hour old for slurmctld, nor sfabric tell
 * of an event of an hour ago. */
static void what_leaves_is_of_the_wall_clock(void **state)
{
    int64_t then = steady_now();

    (void)state;
    assert_int_equal(steady_wall(then), wall);
    wall += HOUR;
    pass(2000);
    assert_int_equal(steady_wall(steady_now()), wall);
    assert_int_equal(steady_wall(then), wall - 2000);
    wall -= 3 * HOUR;
    assert_int_equal(steady_wall(steady_now()), wall);
    wall += 2 * HOUR;
}

static void slewing_changes_no_time(void **state)
{
    int64_t then = steady_now();

    (void)state;
    wall += 99;
    assert_int_equal(steady_wall(then), then);
    wall -= 198;
    assert_int_equal(steady_wall(then), then);
    wall += 99;
}

static void never_stays_never(void **state)
{
    (void)state;
    wall += HOUR;
    assert_int_equal(steady_wall(0), 0);
    wall -= HOUR;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_do_not_notice_a_set_clock),
        cmocka_unit_test(what_leaves_is_of_the_wall_clock),
        cmocka_unit_test(slewing_changes_no_time),
        cmocka_unit_test(never_stays_never),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
