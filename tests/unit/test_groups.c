/* SPDX-License-Identifier: BSD-3-Clause
 * Groups of section 4.2, and the constants of chapter 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/groups.h"

/* The example of section 4.2: clients A, B, C. */
static const uint32_t example[8] = {0, 0, 1, 1, 0, 1, 2, 2};

static void masters_of_the_example(void **state)
{
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, example, 8), 0);
    assert_int_equal(impi_group_num_masters(&g), 3);
    assert_int_equal(impi_group_master_rank(&g, 0), 0);
    assert_int_equal(impi_group_master_rank(&g, 1), 2);
    assert_int_equal(impi_group_master_rank(&g, 2), 6);
    impi_group_free(&g);
}

static void helpers_over_the_example(void **state)
{
    static const bool is_master[8] = {true,  false, true, false,
                                      false, false, true, false};
    static const uint32_t num[8] = {0, 0, 1, 1, 0, 1, 2, 2};
    static const uint32_t count[3] = {3, 3, 2};
    static const uint32_t locals[3][3] = {{0, 1, 4}, {2, 3, 5}, {6, 7}};
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, example, 8), 0);
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(impi_group_is_master(&g, r), is_master[r]);
        assert_int_equal(impi_group_local_master_num(&g, r), num[r]);
        assert_int_equal(impi_group_local_master_rank(&g, r),
                         locals[num[r]][0]);
        assert_int_equal(impi_group_num_local_to_rank(&g, r), count[num[r]]);
        for (uint32_t k = 0; k < 8; k++)
            assert_int_equal(impi_group_are_local(&g, r, k), num[r] == num[k]);
    }
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(impi_group_num_local_to_master(&g, n), count[n]);
        assert_memory_equal(impi_group_locals_to_master(&g, n), locals[n],
                            4 * count[n]);
    }
    impi_group_free(&g);
}

static void cubedim_and_hibit(void **state)
{
    for (uint32_t n = 1; n <= 33; n++) {
        int i = impi_cubedim(n);

        assert_true(n <= UINT32_C(1) << i);
        assert_true(i == 0 || n > UINT32_C(1) << (i - 1));
    }
    assert_int_equal(impi_cubedim(0), -1);
    assert_int_equal(impi_hibit(0, 5), -1);
    assert_int_equal(impi_hibit(1, 5), 0);
    assert_int_equal(impi_hibit(0x14, 5), 4);
    assert_int_equal(impi_hibit(0x14, 4), 2);
    assert_int_equal(impi_hibit(0x14, 2), -1);
    assert_int_equal(impi_hibit(0xffffffff, 32), 31);
}

static void constants_of_chapter_4(void **state)
{
    static const int tags[] = {
        IMPI_BARRIER_TAG,  IMPI_BCAST_TAG,     IMPI_GATHER_TAG,
        IMPI_GATHERV_TAG,  IMPI_SCATTER_TAG,   IMPI_SCATTERV_TAG,
        IMPI_ALLTOALL_TAG, IMPI_ALLTOALLV_TAG, IMPI_REDUCE_TAG,
        IMPI_SCAN_TAG,     IMPI_DUP_TAG,       IMPI_MERGE_TAG,
        IMPI_COMM_FREE_TAG};

    for (int i = 0; i < 13; i++)
        assert_int_equal(tags[i], 110 + 10 * i);
    assert_true(IMPI_MAX_CID == UINT64_MAX - 15);
    assert_int_equal(IMPI_COLL_XSIZE_DEFAULT, 1024);
    assert_int_equal(IMPI_COLL_MAXLINEAR_DEFAULT, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masters_of_the_example),
        cmocka_unit_test(helpers_over_the_example),
        cmocka_unit_test(cubedim_and_hibit),
        cmocka_unit_test(constants_of_chapter_4),
    };

    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
