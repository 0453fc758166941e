/* SPDX-License-Identifier: BSD-3-Clause
 * Type maps: what is refused, and moving by pieces.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "base/limits.h"
#include "impi/typemap.h"

#define MEMORY 65536
#define RUNS 4

static void types_that_are_nowhere_are_refused(void **state)
{
    static const struct impi_run bad[] = {
        {0, 0, 1, 0},
        {0, 1, 0, 0},
        {INT64_MIN, 1, 1, 0},
        {0, UINT64_MAX, 1, 0},
        {0, 8, UINT64_MAX, 8},
        {0, 8, 1u << 30, INT64_MAX / 2},
        {(INT64_C(1) << 47) - 1, 8, 2, 8},
    };
    static const struct impi_run second = {0, 8, 3, 16};
    uint8_t wire[64];
    struct impi_typemap *t;
    struct errbuf err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(impi_typemap_make(8, &bad[i], 1));
        assert_int_equal(errno, EINVAL);
    }
    assert_null(impi_typemap_make(INT64_MAX, NULL, 0));
    t = impi_typemap_make(-8, &second, 1);
    assert_int_equal(impi_typemap_wire(t), 48);
    impi_typemap_encode(t, wire);
    assert_false(impi_typemap_fits(t, 2, 0, 100));
    assert_true(impi_typemap_fits(t, 2, 8, 48));
    assert_false(impi_typemap_fits(t, 2, 8, 47));
    assert_false(impi_typemap_fits(t, UINT64_MAX, 8, 48));
    free(t);
    t = impi_typemap_decode(wire, 48, &err);
    assert_non_null(t);
    assert_int_equal(t->lb, 0);
    assert_int_equal(t->ub, 40);
    free(t);
    for (size_t len = 0; len < 64; len++) {
        if (len != 48)
            assert_null(impi_typemap_decode(wire, len, &err));
    }
    be_store64(wire + 8, SF_IMPI_RUNS_MAX + UINT64_C(1));
    assert_null(impi_typemap_decode(wire, 48, &err));
    assert_int_equal(errno, EPROTO);
}

static uint64_t random_state;

static uint64_t below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* Its runs lie one behind the other, some of them backwards. */
static struct impi_typemap *any_map(void)
{
    struct impi_run run[RUNS];
    uint32_t n = 1 + (uint32_t)below(RUNS);
    int64_t end = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = 1 + below(40), repeat = 1 + below(9);
        int64_t stride = (int64_t)(len + below(30));
        int64_t all = (int64_t)(repeat - 1) * stride;
        int back = below(3) == 0;

        end += (int64_t)below(20);
        run[i] = (struct impi_run){back ? end + all : end, len, repeat,
                                   back ? -stride : stride};
        end += all + (int64_t)len;
    }
    return impi_typemap_make(end + (int64_t)below(50), run, n);
}

/* A piece of what is left, most of them short. */
static size_t next_piece(size_t left)
{
    size_t n = 1 + below(below(4) == 0 ? 5000 : 50);

    return n < left ? n : left;
}

static void pieces_are_what_the_whole_is(void **state)
{
    static uint8_t from[MEMORY], to[MEMORY], wanted[MEMORY], all[MEMORY];
    static uint8_t pieces[MEMORY];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct impi_typemap_cursor c;
        struct impi_typemap *t;
        uint64_t count;
        size_t len;

        random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        t = any_map();
        assert_non_null(t);
        count = 1 + below((uint64_t)(MEMORY / t->extent));
        len = count * t->size;
        impi_typemap_gather(t, count, from, all);
        impi_typemap_begin(&c, t, from);
        for (size_t off = 0, n; off < len; off += n) {
            n = next_piece(len - off);
            impi_typemap_take(&c, pieces + off, n);
        }
        assert_memory_equal(pieces, all, len);
        memset(to, 0, sizeof(to));
        memset(wanted, 0, sizeof(wanted));
        impi_typemap_scatter(t, count, wanted, all);
        impi_typemap_begin(&c, t, to);
        for (size_t off = 0, n; off < len; off += n) {
            n = next_piece(len - off);
            impi_typemap_put(&c, all + off, n);
        }
        assert_memory_equal(to, wanted, MEMORY);
        free(t);
    }
}

/* The bytes of its places, a few at a time. */
static void by_places(const struct impi_typemap *t, uint8_t *from, size_t len,
                      uint8_t *to)
{
    struct impi_typemap_cursor c;
    struct iovec at[5];

    impi_typemap_begin(&c, t, from);
    for (size_t off = 0, n; off < len; off += n) {
        size_t some = next_piece(len - off), listed = 0;
        int k = impi_typemap_places(&c, at, 1 + (int)below(5), some);

        assert_true(k > 0);
        for (int i = 0; i < k; i++) {
            memcpy(to + off + listed, at[i].iov_base, at[i].iov_len);
            listed += at[i].iov_len;
        }
        assert_true(listed <= some);
        n = below(3) ? listed : 1 + below(listed);
        impi_typemap_pass(&c, n);
    }
}

/* Also where elements are moved by many bytes that are passed at once. */
static void places_are_those_of_the_pieces(void **state)
{
    static uint8_t from[MEMORY], all[MEMORY], got[MEMORY];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct impi_typemap_cursor c;
        struct impi_typemap *t;
        uint64_t count;
        size_t len, cut;

        random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        t = any_map();
        count = 1 + below((uint64_t)(MEMORY / t->extent));
        len = count * t->size;
        impi_typemap_gather(t, count, from, all);
        memset(got, 0, len);
        by_places(t, from, len, got);
        assert_memory_equal(got, all, len);
        cut = below(len);
        impi_typemap_begin(&c, t, from);
        impi_typemap_pass(&c, cut);
        impi_typemap_take(&c, got, len - cut);
        assert_memory_equal(got, all + cut, len - cut);
        free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_that_are_nowhere_are_refused),
        cmocka_unit_test(pieces_are_what_the_whole_is),
        cmocka_unit_test(places_are_those_of_the_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
