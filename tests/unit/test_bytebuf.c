/* SPDX-License-Identifier: BSD-3-Clause
 * A queue of bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytebuf.h"

static void printf_adds_and_cuts(void **state)
{
    static char more[BYTEBUF_PRINTF_MAX + 2];
    struct bytebuf b;

    memset(more, 'x', sizeof(more) - 1);
    bytebuf_init(&b, 2 * BYTEBUF_PRINTF_MAX);
    bytebuf_printf(&b, "%s=%d", "one", 1);
    bytebuf_printf(&b, "%s", "");
    bytebuf_printf(&b, ";");
    assert_int_equal(bytebuf_len(&b), 6);
    assert_memory_equal(bytebuf_data(&b), "one=1;", 6);
    bytebuf_consume(&b, 6);
    bytebuf_printf(&b, "%s", more + 1);
    assert_int_equal(bytebuf_len(&b), BYTEBUF_PRINTF_MAX);
    bytebuf_consume(&b, BYTEBUF_PRINTF_MAX);
    bytebuf_printf(&b, "%s", more); /* one too many */
    assert_int_equal(bytebuf_len(&b), BYTEBUF_PRINTF_MAX);
    assert_memory_equal(bytebuf_data(&b), more, BYTEBUF_PRINTF_MAX);
    bytebuf_free(&b);
}

static void what_is_over_the_limit_is_bad_for_good(void **state)
{
    struct bytebuf b;

    bytebuf_init(&b, 4);
    bytebuf_printf(&b, "12345");
    assert_true(b.bad);
    bytebuf_printf(&b, "1");
    assert_int_equal(bytebuf_len(&b), 0);
    bytebuf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printf_adds_and_cuts),
        cmocka_unit_test(what_is_over_the_limit_is_bad_for_good),
    };

    return cmocka_run_group_tests_name("bytebuf", tests, NULL, NULL);
}
