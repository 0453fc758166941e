/* SPDX-License-Identifier: BSD-3-Clause
 * Datatypes of targets.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "rma_bed.h"

static void a_type_travels_once(void **state)
{
    struct impi_typemap *t = every_second(48);
    int64_t v[6] = {1, 2, 3, 4, 5, 6};
    struct impi_rma_args a = {.kind = IMPI_RMA_PUT,
                              .target = 2,
                              .disp = 8,
                              .type = t,
                              .count = 2,
                              .len = 48,
                              .data = v};

    (void)state;
    begin(7);
    impi_rma_start(w.win[0], &a, NULL);
    assert_int_equal(w.sent, 2);
    impi_rma_start(w.win[0], &a, NULL);
    assert_int_equal(w.sent, 3);
    flush(0, 2);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(w.mem[2][1 + 2 * i], i + 1);
        assert_int_equal(w.mem[2][2 * i], 0);
    }
    /* its own accumulate, and one too many */
    a.kind = IMPI_RMA_ACC;
    a.target = 0;
    a.op = IMPI_RMA_SUM;
    a.elem = IMPI_RMA_INT64;
    impi_rma_start(w.win[0], &a, NULL);
    impi_rma_start(w.win[0], &a, NULL);
    assert_int_equal(w.mem[0][11], 12);
    a.disp = 48;
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    free(t);
    /* many more than are kept: the oldest give way, none is confused */
    for (int i = 0; i < 2 * SF_IMPI_RMA_TYPES_MAX; i++) {
        t = every_second(48 + i);
        a = (struct impi_rma_args){.kind = IMPI_RMA_PUT,
                                   .target = 1,
                                   .type = t,
                                   .count = 1,
                                   .len = 24,
                                   .data = v};
        impi_rma_start(w.win[3], &a, NULL);
        free(t);
    }
    flush(3, 1);
    assert_int_equal(w.mem[1][4], 3);
    end();
}

/* The type may have another number's place when its turn comes. */
static void a_type_is_kept_with_what_it_is_for(void **state)
{
    static const uint32_t world[2] = {2, 1};
    struct impi_typemap *t = every_second(48);
    int64_t v[3] = {1, 2, 3}, other[2] = {0};
    struct impi_rma_args a = {.kind = IMPI_RMA_PUT,
                              .target = 1,
                              .type = t,
                              .count = 1,
                              .len = 24,
                              .data = v};
    struct impi_rma_win *here, *there;

    (void)state;
    begin_early(45);
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    put(0, 1, 1, 9);
    flush(0, 1);
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    impi_rma_start(w.win[2], &a, NULL);
    free(t);
    run();
    /* so many others, in another window, that the first has given way */
    here = impi_rma_win_create(w.rma[2], 9, world, 2, 0);
    there = impi_rma_win_create(w.rma[1], 9, world, 2, 1);
    impi_rma_win_memory(there, other, sizeof(other));
    for (int i = 0; i < SF_IMPI_RMA_TYPES_MAX; i++) {
        const struct impi_run one = {8, 8, 1, 8};

        t = impi_typemap_make(16 + i, &one, 1);
        a.type = t;
        a.len = 8;
        impi_rma_start(here, &a, NULL);
        run();
        free(t);
    }
    assert_int_equal(other[1], 1);
    unlock(0, 1);
    unlock(2, 1);
    assert_true(w.mem[1][0] == 1 && w.mem[1][2] == 2 && w.mem[1][4] == 3);
    assert_int_equal(w.mem[1][1], 9);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_travels_once),
        cmocka_unit_test(a_type_is_kept_with_what_it_is_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
