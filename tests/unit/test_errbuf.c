/* SPDX-License-Identifier: BSD-3-Clause
 * Texts of errors.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/errbuf.h"

static void errprintf_keeps_a_line_one_line(void **state)
{
    struct errbuf err;

    errprintf(&err, "no such word: %s", "x\n[now] error: y\033[2J");
    assert_string_equal(err.text, "no such word: x?[now] error: y?[2J");
}

static void errprintf_fills_and_keeps_errno(void **state)
{
    struct errbuf err;

    errno = ENOSPC;
    assert_int_equal(errprintf(&err, "rail %d", 3), -1);
    assert_string_equal(err.text, "rail 3");
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(errprintf(NULL, "nobody listens"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errprintf_keeps_a_line_one_line),
        cmocka_unit_test(errprintf_fills_and_keeps_errno),
    };

    return cmocka_run_group_tests_name("errbuf", tests, NULL, NULL);
}
