/* SPDX-License-Identifier: BSD-3-Clause
 * How often the same trouble is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/repeat.h"

static void the_same_is_told_at_1_10_100(void **state)
{
    struct repeat r = {.count = 0};

    for (uint64_t i = 1; i <= 1000; i++) {
        uint64_t n = repeat_count(&r, "another board");

        assert_int_equal(n, i == 1 || i == 10 || i == 100 || i == 1000 ? i : 0);
    }
}

static void what_is_other_is_told_at_once(void **state)
{
    struct repeat r = {.count = 0};

    assert_int_equal(repeat_count(&r, "a"), 1);
    assert_int_equal(repeat_count(&r, "a"), 0);
    assert_int_equal(repeat_count(&r, "b"), 1);
    assert_int_equal(repeat_count(&r, "a"), 1);
    assert_int_equal(repeat_count(&r, ""), 1);
    assert_int_equal(repeat_count(&r, ""), 0);
}

static void after_it_was_well_it_is_news(void **state)
{
    struct repeat r = {.count = 0};

    assert_int_equal(repeat_count(&r, "a"), 1);
    assert_int_equal(repeat_count(&r, "a"), 0);
    repeat_over(&r);
    assert_int_equal(repeat_count(&r, "a"), 1);
}

/* What does not fit is compared as far as it is kept. */
static void a_long_text_is_told_once(void **state)
{
    char text[2 * SF_ERRBUF_SIZE];
    struct repeat r = {.count = 0};

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(repeat_count(&r, text), 1);
    assert_int_equal(repeat_count(&r, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_told_at_1_10_100),
        cmocka_unit_test(what_is_other_is_told_at_once),
        cmocka_unit_test(after_it_was_well_it_is_news),
        cmocka_unit_test(a_long_text_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
