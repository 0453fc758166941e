/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers in text.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static void is(const char *text, uint32_t lo, uint32_t hi, uint32_t want)
{
    uint32_t got = want + 1;

    assert_int_equal(number_parse(&got, text, lo, hi), 0);
    assert_int_equal(got, want);
}

static void is_none(const char *text, uint32_t lo, uint32_t hi)
{
    uint32_t got = 77;

    errno = 0;
    assert_int_equal(number_parse(&got, text, lo, hi), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(got, 77);
}

static void both_ends_of_the_range_are_numbers(void **state)
{
    is("1", 1, 65535, 1);
    is("65535", 1, 65535, 65535);
    is("0", 0, 0, 0);
    is("4294967295", 0, UINT32_MAX, UINT32_MAX);
    is("007", 1, 9, 7);
}

static void what_is_beyond_the_range_is_none(void **state)
{
    is_none("0", 1, 65535);
    is_none("65536", 1, 65535);
    is_none("4294967296", 0, UINT32_MAX);
    is_none("18446744073709551616", 0, UINT32_MAX); /* 0 in 64 bits */
    is_none("99999999999999999999999999", 0, UINT32_MAX);
}

static void only_digits_are_a_number(void **state)
{
    static const char *const texts[] = {"",   " 1", "1 ", "+1",  "-1",
                                        "1x", "x",  "1.", "0x10"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        is_none(texts[i], 0, UINT32_MAX);
    is_none(NULL, 0, UINT32_MAX);
}

static void bytes_are_two_digits_each_and_no_more(void **state)
{
    static const char *const bad[] = {"",     "0",    "00",    "00f",
                                      "00fG", "00FF", "00ff ", "00ff0"};
    uint8_t out[2];

    assert_int_equal(number_hex(out, 2, "0af9"), 0);
    assert_int_equal(out[0], 0x0a);
    assert_int_equal(out[1], 0xf9);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errno = 0;
        assert_int_equal(number_hex(out, 2, bad[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_of_the_range_are_numbers),
        cmocka_unit_test(what_is_beyond_the_range_is_none),
        cmocka_unit_test(only_digits_are_a_number),
        cmocka_unit_test(bytes_are_two_digits_each_and_no_more),
    };

    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
