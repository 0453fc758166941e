/* SPDX-License-Identifier: BSD-3-Clause
 * Layouts: external32 straight from and into memory with gaps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/layout.h"
#include "impi/swap.h"

struct thing {
    char c;
    double d;
    int32_t i[3];
};

/* { c, d, i[3] } */
static struct impi_layout *thing_layout(void)
{
    struct impi_layout *l = impi_layout_list(3);

    impi_layout_add(l, 0, 1, 1, impi_layout_leaf(IMPI_X32_BYTE, 1));
    impi_layout_add(l, offsetof(struct thing, d), 1, 8,
                    impi_layout_leaf(IMPI_X32_INT64, 1));
    impi_layout_add(l, offsetof(struct thing, i), 3, 4,
                    impi_layout_leaf(IMPI_X32_INT32, 1));
    return l;
}

/* What the wire must be, one element after the other. */
static void thing_wire(uint8_t *wire, const struct thing *t)
{
    wire[0] = (uint8_t)t->c;
    impi_swap_one64(wire + 1, (const uint8_t *)&t->d);
    for (int i = 0; i < 3; i++)
        impi_swap_one32(wire + 9 + 4 * i, (const uint8_t *)&t->i[i]);
}
#define THING_WIRE 21
#define THINGS 1000 /* more than are done member by member at once */

static void layout_of_structures(void **state)
{
    static struct thing a[THINGS], b[THINGS];
    static uint8_t wire[THINGS * THING_WIRE], want[THING_WIRE];
    struct impi_layout *l = thing_layout();

    assert_int_equal(impi_layout_wire(l), THING_WIRE);
    assert_int_equal(impi_layout_native(l), 21);
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    for (int k = 0; k < THINGS; k++)
        a[k] = (struct thing){(char)k, 1.5 * k, {k, -k, 7}};
    assert_int_equal(
        impi_layout_pack(l, wire, (intptr_t)a, sizeof(a[0]), THINGS), 0);
    for (size_t k = 0; k < THINGS; k++) {
        thing_wire(want, &a[k]);
        assert_memory_equal(wire + k * THING_WIRE, want, THING_WIRE);
    }
    assert_int_equal(impi_layout_unpack(l, (intptr_t)b, wire, sizeof(wire),
                                        sizeof(b[0]), THINGS),
                     THINGS * 21);
    assert_memory_equal(a, b, sizeof(a));
    impi_layout_free(l);
}

/* A layout of one run inside another is made one, gaps and all. */
static void layout_of_a_column_keeps_its_gaps(void **state)
{
    static const int64_t m[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    static const uint8_t want[4 * 8] = {[7] = 2, [15] = 4, [23] = 6, [31] = 8};
    struct impi_layout *column = impi_layout_list(1);
    struct impi_layout *l = impi_layout_list(1);
    int64_t back[4][2] = {{0}};
    uint8_t wire[sizeof(want)];

    impi_layout_add(column, 0, 4, sizeof(m[0]),
                    impi_layout_leaf(IMPI_X32_INT64, 1));
    impi_layout_add(l, sizeof(m[0][0]), 1, 0, column);
    assert_int_equal(impi_layout_wire(l), sizeof(wire));
    assert_int_equal(impi_layout_pack(l, wire, (intptr_t)m, 0, 1), 0);
    assert_memory_equal(wire, want, sizeof(want));
    assert_int_equal(
        impi_layout_unpack(l, (intptr_t)back, wire, sizeof(wire), 0, 1), 32);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(back[i][0], 0);
        assert_int_equal(back[i][1], m[i][1]);
    }
    impi_layout_free(l);
}

/* Any number of bytes: whole basic elements are there, nothing after them. */
static void layout_of_a_short_message(void **state)
{
    static const size_t ends[] = {0, 1, 9, 13, 17, 21};
    struct thing a[3], b[3], want[3];
    uint8_t wire[3 * THING_WIRE];
    struct impi_layout *l = thing_layout();

    memset(a, 0x5a, sizeof(a));
    impi_layout_pack(l, wire, (intptr_t)a, sizeof(a[0]), 3);
    for (size_t len = 0; len <= sizeof(wire); len++) {
        size_t whole = len / THING_WIRE, part = 0;

        for (size_t i = 0; i < 6; i++)
            part = ends[i] <= len % THING_WIRE ? ends[i] : part;
        memset(b, 0, sizeof(b));
        memset(want, 0, sizeof(want));
        for (size_t k = 0; k < 3; k++) {
            size_t end = k < whole ? 21 : k == whole ? part : 0;

            want[k].c = end >= 1 ? a[k].c : 0;
            want[k].d = end >= 9 ? a[k].d : 0;
            for (size_t i = 0; i < 3; i++)
                want[k].i[i] = end >= 13 + 4 * i ? a[k].i[i] : 0;
        }
        assert_int_equal(
            impi_layout_unpack(l, (intptr_t)b, wire, len, sizeof(b[0]), 3),
            whole * 21 + part);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(b[k].c, want[k].c);
            assert_memory_equal(&b[k].d, &want[k].d, 20);
        }
    }
    impi_layout_free(l);
}

/* Columns of a matrix, backwards, two at a time. */
static void layout_of_vectors(void **state)
{
    enum { ROWS = 40, COLS = 30 };
    static int16_t m[ROWS][COLS], back[ROWS][COLS];
    static uint8_t wire[ROWS * COLS * 2];
    struct impi_layout *leaf = impi_layout_leaf(IMPI_X32_INT16, 1);
    struct impi_layout *block = impi_layout_list(1), *l = impi_layout_list(1);

    impi_layout_add(block, 0, 2, sizeof(m[0][0]), leaf);
    impi_layout_add(l, 0, ROWS, -(ptrdiff_t)sizeof(m[0]), block);
    for (int i = 0; i < ROWS * COLS; i++)
        m[i / COLS][i % COLS] = (int16_t)(i * 31);
    assert_int_equal(impi_layout_pack(l, wire, (intptr_t)m[ROWS - 1],
                                      2 * sizeof(m[0][0]), COLS / 2),
                     0);
    for (int k = 0, at = 0; k < COLS; k += 2)
        for (int r = ROWS - 1; r >= 0; r--)
            for (int c = k; c < k + 2; c++, at += 2) {
                assert_int_equal(wire[at], (uint16_t)m[r][c] >> 8);
                assert_int_equal(wire[at + 1], m[r][c] & 0xff);
            }
    impi_layout_unpack(l, (intptr_t)back[ROWS - 1], wire, sizeof(wire),
                       2 * sizeof(m[0][0]), COLS / 2);
    assert_memory_equal(m, back, sizeof(m));
    impi_layout_free(l);
}

static void layout_says_what_does_not_fit(void **state)
{
    long v[4] = {1, 2, 3, 4};
    uint8_t wire[16], want[16] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3};
    struct impi_layout *l = impi_layout_list(2);
    struct impi_layout *leaf = impi_layout_leaf(IMPI_X32_LONG, 1);

    impi_layout_add(l, 0, 1, 0, impi_layout_hold(leaf));
    impi_layout_add(l, 8, 1, 0, leaf);
    assert_int_equal(impi_layout_wire(l), 8);
    assert_int_equal(impi_layout_native(l), 16);
    assert_int_equal(impi_layout_pack(l, wire, (intptr_t)v, 16, 2), 0);
    v[1] = 1L << 32;
    v[3] = -(1L << 32);
    assert_int_equal(impi_layout_pack(l, wire, (intptr_t)v, 16, 2), -1);
    assert_memory_equal(wire, want, 16);
    impi_layout_free(l);
}

static void layout_of_nothing(void **state)
{
    struct impi_layout *l = impi_layout_list(1);

    impi_layout_add(l, 0, 0, 8, impi_layout_leaf(IMPI_X32_INT64, 1));
    assert_int_equal(impi_layout_pack(l, NULL, 0, 0, 5), 0);
    assert_int_equal(impi_layout_unpack(l, 0, NULL, 0, 0, 5), 0);
    impi_layout_free(l);
    impi_layout_free(NULL);
}

/* Lengths around those that the processor takes at once. */
static void swap_of_any_length_and_alignment(void **state)
{
    uint8_t from[700], to[700];

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7);
    for (size_t bytes = 0; bytes + 8 <= 650; bytes += 2) {
        size_t off = bytes % 13;

        memset(to, 0, sizeof(to));
        impi_swap16(to + off, from + 3, bytes / 2);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(to[off + i], from[3 + (i ^ 1)]);
        impi_swap32(to + off, from + 3, bytes / 4);
        for (size_t i = 0; i < bytes / 4 * 4; i++)
            assert_int_equal(to[off + i], from[3 + (i ^ 3)]);
        impi_swap64(to + off, from + 3, bytes / 8);
        for (size_t i = 0; i < bytes / 8 * 8; i++)
            assert_int_equal(to[off + i], from[3 + (i ^ 7)]);
        assert_int_equal(to[off + bytes], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_of_structures),
        cmocka_unit_test(layout_of_a_column_keeps_its_gaps),
        cmocka_unit_test(layout_of_a_short_message),
        cmocka_unit_test(layout_of_vectors),
        cmocka_unit_test(layout_says_what_does_not_fit),
        cmocka_unit_test(layout_of_nothing),
        cmocka_unit_test(swap_of_any_length_and_alignment),
    };

    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
