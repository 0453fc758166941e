/* SPDX-License-Identifier: BSD-3-Clause
 * The external32 codec: sizes and bytes of the MPI standard's table.
 */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "impi/external32.h"

static uint64_t seed = 88172645463325252u;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void external32_sizes_are_those_of_the_standard(void **state)
{
    static const size_t wire[IMPI_X32_KINDS] = {1, 2, 4, 8, 4, 4, 2, 16};

    for (int k = 0; k < IMPI_X32_KINDS; k++)
        assert_int_equal(impi_x32_wire_size(k), wire[k]);
    assert_int_equal(impi_x32_native_size(IMPI_X32_LONG), sizeof(long));
    assert_int_equal(impi_x32_native_size(IMPI_X32_WCHAR), sizeof(wchar_t));
    assert_int_equal(impi_x32_native_size(IMPI_X32_LDOUBLE),
                     sizeof(long double));
}

static void check(enum impi_x32 kind, const void *native, const void *wire,
                  size_t len)
{
    uint8_t got[64], back[64];
    struct errbuf err;

    assert_int_equal(len, impi_x32_wire_size(kind));
    assert_int_equal(impi_x32_pack(kind, got, native, 1, 0, &err), 0);
    assert_memory_equal(got, wire, len);
    memset(back, 0, sizeof(back));
    impi_x32_unpack(kind, back, wire, 1);
    assert_memory_equal(back, native,
                        kind == IMPI_X32_LDOUBLE && LDBL_MANT_DIG == 64
                            ? 10
                            : impi_x32_native_size(kind));
}

static void external32_golden_bytes(void **state)
{
    int16_t i16 = -2;
    int32_t i32 = 0x01020304;
    int64_t i64 = 0x0102030405060708;
    float f = -1.5f;
    double d = 1.0 / 3;
    long l = -2;
    unsigned long ul = 0xfffefdfcul;
    wchar_t w = 0x20ac;
    char c = 'z';

    check(IMPI_X32_BYTE, &c, "z", 1);
    check(IMPI_X32_INT16, &i16, "\xff\xfe", 2);
    check(IMPI_X32_INT32, &i32, "\1\2\3\4", 4);
    check(IMPI_X32_INT64, &i64, "\1\2\3\4\5\6\7\10", 8);
    check(IMPI_X32_INT32, &f, "\xbf\xc0\0\0", 4);
    check(IMPI_X32_INT64, &d, "\x3f\xd5\x55\x55\x55\x55\x55\x55", 8);
    check(IMPI_X32_LONG, &l, "\xff\xff\xff\xfe", 4);
    check(IMPI_X32_ULONG, &ul, "\xff\xfe\xfd\xfc", 4);
    check(IMPI_X32_WCHAR, &w, "\x20\xac", 2);
}

static void external32_long_double_golden_bytes(void **state)
{
    long double v = 1.0L;

    check(IMPI_X32_LDOUBLE, &v, "\x3f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    v = -2.0L;
    check(IMPI_X32_LDOUBLE, &v, "\xc0\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    v = 1.75L;
    check(IMPI_X32_LDOUBLE, &v, "\x3f\xff\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    v = 0.0L;
    check(IMPI_X32_LDOUBLE, &v, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    v = -0.0L;
    check(IMPI_X32_LDOUBLE, &v, "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    v = INFINITY;
    check(IMPI_X32_LDOUBLE, &v, "\x7f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static void external32_long_out_of_range_is_an_error(void **state)
{
    long l[4] = {INT32_MAX, INT32_MIN, (long)INT32_MAX + 1, LONG_MIN};
    unsigned long ul[2] = {UINT32_MAX, (unsigned long)UINT32_MAX + 1};
    wchar_t w[2] = {0xffff, 0x1f600};
    uint8_t wire[16];
    struct errbuf err;

    assert_int_equal(impi_x32_pack(IMPI_X32_LONG, wire, l, 2, 0, &err), 0);
    assert_int_equal(impi_x32_pack(IMPI_X32_LONG, wire, l, 4, 10, &err), -1);
    assert_int_equal(errno, ERANGE);
    assert_string_equal(err.text, "MPI_LONG has 4 bytes in external32: element"
                                  " 12 = 2147483648 does not fit");
    assert_int_equal(impi_x32_pack(IMPI_X32_ULONG, wire, ul, 2, 0, &err), -1);
    assert_string_equal(err.text,
                        "MPI_UNSIGNED_LONG has 4 bytes in external32: element"
                        " 1 = 4294967296 does not fit");
    assert_int_equal(impi_x32_pack(IMPI_X32_WCHAR, wire, w, 2, 0, &err), -1);
    assert_string_equal(err.text, "MPI_WCHAR has 2 bytes in external32: element"
                                  " 1 = 0x1f600 does not fit");
    assert_int_equal(impi_x32_pack(IMPI_X32_WCHAR, wire, w, 1, 0, &err), 0);
}

/* Any alignment, any count, every kind: back to the same values. */
static void external32_round_trip_at_any_alignment(void **state)
{
    static uint8_t native[16 * 70 + 16], wire[16 * 70 + 16], back[16 * 70 + 16];

    for (int k = 0; k < IMPI_X32_LDOUBLE; k++) {
        size_t size = impi_x32_native_size(k);

        for (size_t count = 0; count < 70; count++) {
            uint8_t *from = native + random64() % 8;
            uint8_t *to = back + random64() % 8;
            uint8_t *mid = wire + random64() % 8;

            for (size_t i = 0; i < count * size; i++)
                from[i] = i % size < impi_x32_wire_size(k) ? random64() : 0;
            if (k == IMPI_X32_LONG) {
                for (size_t i = 0; i < count; i++)
                    from[i * size + 3] &= 0x7f;
            }
            assert_int_equal(impi_x32_pack(k, mid, from, count, 0, NULL), 0);
            impi_x32_unpack(k, to, mid, count);
            if (count > 0)
                assert_memory_equal(from, to, count * size);
        }
    }
}

#ifdef __SIZEOF_FLOAT128__
/* The compiler's own conversion is the reference. */
static void quad_bytes(uint8_t wire[16], __float128 q)
{
    uint8_t raw[16];

    memcpy(raw, &q, 16);
    for (int i = 0; i < 16; i++)
        wire[i] = raw[15 - i];
}

static __float128 random_quad(void)
{
    uint64_t high = random64(), low = random64();
    uint64_t half = UINT64_C(1) << 48;
    __float128 q;

    switch (random64() % 8) {
    case 0:
        high &= ~(UINT64_C(0x7fff) << 48); /* subnormal */
        break;
    case 1:
        low = (low & ~(2 * half - 1)) | half; /* a tie */
        break;
    case 2: /* all ones below: rounding carries far */
        high |= UINT64_C(0xffffffffffff);
        low |= ~UINT64_C(0xffff);
        break;
    case 3:
        low = low & ~(2 * half - 1); /* exact */
        break;
    default:
        break;
    }
    memcpy(&q, &low, 8);
    memcpy((char *)&q + 8, &high, 8);
    return q;
}

static void external32_long_double_agrees_with_the_compiler(void **state)
{
    uint8_t want[16], got[16];

    for (int i = 0; i < 200000; i++) {
        __float128 q = random_quad();
        long double expect = (long double)q, value;

        quad_bytes(want, q);
        impi_x32_unpack(IMPI_X32_LDOUBLE, &value, want, 1);
        if (isnan(expect)) {
            assert_true(isnan(value));
            continue;
        }
        assert_true(value == expect && !signbit(value) == !signbit(expect));
        quad_bytes(want, (__float128)value);
        assert_int_equal(
            impi_x32_pack(IMPI_X32_LDOUBLE, got, &value, 1, 0, NULL), 0);
        assert_memory_equal(got, want, 16);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external32_sizes_are_those_of_the_standard),
        cmocka_unit_test(external32_golden_bytes),
        cmocka_unit_test(external32_long_double_golden_bytes),
        cmocka_unit_test(external32_long_out_of_range_is_an_error),
        cmocka_unit_test(external32_round_trip_at_any_alignment),
#ifdef __SIZEOF_FLOAT128__
        cmocka_unit_test(external32_long_double_agrees_with_the_compiler),
#endif
    };

    return cmocka_run_group_tests_name("external32", tests, NULL, NULL);
}
