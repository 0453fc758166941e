/* SPDX-License-Identifier: BSD-3-Clause
 * Big-endian reading and writing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"

static void be_round_trip_every_width(void **state)
{
    uint8_t buf[64];
    char str[8];
    struct be_writer w;
    struct be_reader r;

    be_writer_init(&w, buf, sizeof(buf));
    be_put8(&w, 0x01);
    be_put16(&w, 0x0203);
    be_put32(&w, 0x04050607);
    be_put64(&w, 0x08090a0b0c0d0e0fULL);
    be_put_str(&w, "elan");
    assert_false(w.bad);
    for (int i = 0; i < 15; i++)
        assert_int_equal(buf[i], i + 1);
    be_reader_init(&r, buf, w.len);
    assert_int_equal(be_get8(&r), 0x01);
    assert_int_equal(be_get16(&r), 0x0203);
    assert_int_equal(be_get32(&r), 0x04050607);
    assert_true(be_get64(&r) == 0x08090a0b0c0d0e0fULL);
    be_get_str(&r, str, sizeof(str));
    assert_string_equal(str, "elan");
    assert_true(be_reader_done(&r));
}

static void be_reader_is_sticky_past_the_end(void **state)
{
    const uint8_t buf[3] = {1, 2, 3};
    struct be_reader r;

    be_reader_init(&r, buf, sizeof(buf));
    assert_int_equal(be_get32(&r), 0);
    assert_true(r.bad);
    assert_int_equal(be_get8(&r), 0);
    assert_null(be_get_bytes(&r, 1));
}

static void be_writer_never_passes_its_end(void **state)
{
    uint8_t buf[4] = {0, 0, 0, 0xee};
    struct be_writer w;

    be_writer_init(&w, buf, 3);
    be_put16(&w, 1);
    be_put16(&w, 2);
    assert_true(w.bad);
    be_put8(&w, 9);
    assert_int_equal(buf[3], 0xee);
    assert_int_equal(w.len, 2);
}

static void be_string_too_long_or_with_nul_is_bad(void **state)
{
    const uint8_t longer[] = {0, 4, 'a', 'b', 'c', 'd'};
    const uint8_t nul[] = {0, 3, 'a', 0, 'c'};
    char str[4];
    struct be_reader r;

    be_reader_init(&r, longer, sizeof(longer));
    be_get_str(&r, str, sizeof(str));
    assert_true(r.bad);
    be_reader_init(&r, nul, sizeof(nul));
    be_get_str(&r, str, sizeof(str));
    assert_true(r.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(be_round_trip_every_width),
        cmocka_unit_test(be_reader_is_sticky_past_the_end),
        cmocka_unit_test(be_writer_never_passes_its_end),
        cmocka_unit_test(be_string_too_long_or_with_nul_is_bad),
    };

    return cmocka_run_group_tests_name("be", tests, NULL, NULL);
}
