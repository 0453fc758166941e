/* SPDX-License-Identifier: BSD-3-Clause
 * The memory that a window has: pieces that come and go.
 */
#include <errno.h>

#include "rma_bed.h"

static void attached_pieces_are_addresses(void **state)
{
    static const uint32_t world[2] = {1, 0};
    struct impi_rma_win *a, *b;
    int64_t piece[4] = {5, 6, 7, 8}, got = 0;
    struct impi_rma_args args = {.kind = IMPI_RMA_GET, .len = 8};
    struct impi_rma_op o = {0};

    (void)state;
    begin(6);
    a = impi_rma_win_create(w.rma[0], 9, world, 2, 1);
    b = impi_rma_win_create(w.rma[1], 9, world, 2, 0);
    impi_rma_win_dynamic(a);
    impi_rma_win_dynamic(b);
    assert_int_equal(impi_rma_win_attach(b, piece, sizeof(piece)), 0);
    assert_int_equal(impi_rma_win_attach(b, &piece[3], 8), -1);
    assert_int_equal(errno, EEXIST);
    args.disp = (int64_t)(intptr_t)&piece[2];
    args.result = &got;
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(got, 7);
    assert_int_equal(impi_rma_win_detach(b, &piece[1]), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(impi_rma_win_detach(b, piece), 0);
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE);
    end();
}

static void neighbouring_pieces_are_as_one(void **state)
{
    static const uint32_t world[2] = {1, 0};
    struct impi_rma_win *a, *b;
    int64_t mem[6] = {5, 6, 7, 8, 9, 10}, got[6] = {0};
    struct impi_rma_args args = {.kind = IMPI_RMA_GET, .len = 40};
    struct impi_rma_op o = {0};

    (void)state;
    begin(9);
    a = impi_rma_win_create(w.rma[0], 9, world, 2, 1);
    b = impi_rma_win_create(w.rma[1], 9, world, 2, 0);
    impi_rma_win_dynamic(a);
    impi_rma_win_dynamic(b);
    assert_int_equal(impi_rma_win_attach(b, &mem[4], 16), 0);
    assert_int_equal(impi_rma_win_attach(b, &mem[0], 16), 0);
    args.disp = (int64_t)(intptr_t)&mem[1];
    args.result = got;
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE); /* a gap */
    assert_int_equal(impi_rma_win_attach(b, &mem[2], 16), 0);
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(o.error, IMPI_RMA_OK);
    assert_memory_equal(got, mem + 1, 40);
    args.len = 48; /* one more than there is */
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE);
    args.len = 40;
    assert_int_equal(impi_rma_win_detach(b, &mem[2]), 0);
    impi_rma_start(a, &args, &o);
    run();
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attached_pieces_are_addresses),
        cmocka_unit_test(neighbouring_pieces_are_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
