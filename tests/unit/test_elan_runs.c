/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of numbers as runs.
 */
#include "elan_util.h"
#include "elan/runs.h"

static size_t round_trip(const uint32_t *values, size_t n)
{
    size_t size = elan_runs_size(n), got_n = 0;
    uint8_t *buf = malloc(size);
    struct be_writer w;
    struct be_reader r;
    uint32_t *got;

    be_writer_init(&w, buf, size);
    elan_runs_put(&w, values, n);
    assert_false(w.bad);
    be_reader_init(&r, buf, w.len);
    assert_int_equal(elan_runs_get(&r, &got, &got_n, n), 0);
    assert_true(be_reader_done(&r));
    assert_int_equal(got_n, n);
    if (n > 0)
        assert_memory_equal(got, values, n * sizeof(*values));
    free(got);
    free(buf);
    return w.len;
}

static void runs_keep_any_list(void **state)
{
    const uint32_t regular[] = {5, 6, 7, 8};
    const uint32_t stepped[] = {0, 8, 16, 1, 9, 17};
    const uint32_t odd[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 0xffffffff, 0};
    const uint32_t one[] = {42};
    const uint32_t down[] = {3, 2, 1, 0};

    round_trip(NULL, 0);
    round_trip(one, 1);
    assert_int_equal(round_trip(regular, 4), 16);
    assert_int_equal(round_trip(stepped, 6), 28);
    assert_int_equal(round_trip(down, 4), 16);
    round_trip(odd, N_OF(odd));
}

static void runs_keep_random_lists(void **state)
{
    uint32_t seed = 7, list[64];

    for (int round = 0; round < 2000; round++) {
        size_t n = next_random(&seed) % 65;

        for (size_t i = 0; i < n; i++)
            list[i] = next_random(&seed) % 4;
        round_trip(list, n);
    }
}

static int get(const void *buf, size_t len, size_t max)
{
    struct be_reader r;
    uint32_t *values = NULL;
    size_t n = 0;
    int rc;

    be_reader_init(&r, buf, len);
    rc = elan_runs_get(&r, &values, &n, max);
    free(values);
    return rc;
}

static void runs_refuse_more_than_asked_and_cuts(void **state)
{
    const uint8_t five[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1};
    const uint8_t huge[] = {0,    0,    0,    2,    0, 0, 0, 0, 0xff, 0xff,
                            0xff, 0xff, 0,    0,    0, 1, 0, 0, 0,    0,
                            0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1};
    const uint8_t many[] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};

    assert_int_equal(get(five, sizeof(five), 5), 0);
    errno = 0;
    assert_int_equal(get(five, sizeof(five), 4), -1);
    assert_int_equal(errno, EPROTO);
    for (size_t len = 0; len < sizeof(five); len++)
        assert_int_equal(get(five, len, 5), -1);
    assert_int_equal(get(huge, sizeof(huge), 1000), -1);
    assert_int_equal(get(many, sizeof(many), 1000), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_keep_any_list),
        cmocka_unit_test(runs_keep_random_lists),
        cmocka_unit_test(runs_refuse_more_than_asked_and_cuts),
    };

    return cmocka_run_group_tests_name("elan_runs", tests, NULL, NULL);
}
