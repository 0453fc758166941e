/* SPDX-License-Identifier: BSD-3-Clause
 * How many lines others can bring about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log_pace.h"
#include "captured_log.h"

#define SECOND 1000000000ull
#define LATE (1000000 * SECOND) /* a machine that has run for a while */

static int open_log(void **state)
{
    static struct captured_log log;

    captured_log_open(&log);
    *state = &log;
    return 0;
}

static int close_log(void **state)
{
    captured_log_close(*state);
    return 0;
}

static void tell(struct log_pace *pace, uint64_t now, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        log_paced(pace, now, log_info, "line of %s", "a stranger");
}

static void many_come_at_once_and_then_two_a_second(void **state)
{
    struct log_pace pace = {0, 0};

    tell(&pace, LATE, 1000);
    assert_int_equal(captured_log_lines(*state, "line of a stranger"), 128);
    for (unsigned i = 1; i <= 2000; i++)
        tell(&pace, LATE + i * SECOND / 100, 10);
    assert_int_equal(captured_log_lines(*state, "line of"), 128 + 40);
    tell(&pace, LATE + 3600 * SECOND, 1000);
    assert_int_equal(captured_log_lines(*state, "line of"), 2 * 128 + 40);
}

static void what_was_left_out_is_counted(void **state)
{
    struct log_pace pace = {0, 0};

    tell(&pace, LATE, 1128);
    assert_int_equal(captured_log_lines(*state, "left out"), 0);
    tell(&pace, LATE + SECOND, 2);
    assert_int_equal(
        captured_log_lines(*state, "stranger (1000 lines before it were left"),
        1);
    assert_int_equal(captured_log_lines(*state, "left out"), 1);
}

static void levels_stay(void **state)
{
    struct log_pace pace = {0, 0};

    log_paced(&pace, LATE, log_warn, "trouble");
    log_paced(&pace, LATE, log_debug, "trifle");
    assert_int_equal(captured_log_lines(*state, "test: warning: trouble"), 1);
    assert_int_equal(captured_log_lines(*state, "trifle"), 0);
}

static void lines_that_come_together_have_room_or_wait(void **state)
{
    struct log_pace pace = {0, 0};

    (void)state;
    assert_true(log_pace_has_room(&pace, LATE, 128));
    assert_false(log_pace_has_room(&pace, LATE, 129));
    log_pace_pay(&pace, LATE, 127);
    assert_true(log_pace_has_room(&pace, LATE, 1));
    assert_false(log_pace_has_room(&pace, LATE, 2));
    assert_true(log_pace_has_room(&pace, LATE + SECOND, 3));
    assert_false(log_pace_has_room(&pace, LATE + SECOND, 4));
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, open_log, close_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(many_come_at_once_and_then_two_a_second),
        LOG_TEST(what_was_left_out_is_counted),
        LOG_TEST(levels_stay),
        cmocka_unit_test(lines_that_come_together_have_room_or_wait),
    };

    return cmocka_run_group_tests_name("log_pace", tests, NULL, NULL);
}
