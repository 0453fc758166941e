/* SPDX-License-Identifier: BSD-3-Clause
 * What an accumulate does to elements.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "impi/rma_op.h"

#define OPERATION(type, elem, op, x, y, want)                                  \
    do {                                                                       \
        type a = (x), b = (y), c = (want);                                     \
                                                                               \
        assert_true(impi_rma_op_fits(op, elem));                               \
        assert_int_equal(impi_rma_elem_size(elem), sizeof(type));              \
        impi_rma_op_apply(op, elem, &a, &b, 1);                                \
        assert_memory_equal(&a, &c, sizeof(a));                                \
    } while (0)

static void operations_do_what_mpi_says(void **state)
{
    (void)state;
    OPERATION(int8_t, IMPI_RMA_INT8, IMPI_RMA_MAX, -1, 1, 1);
    OPERATION(uint8_t, IMPI_RMA_UINT8, IMPI_RMA_MAX, 255, 1, 255);
    OPERATION(uint8_t, IMPI_RMA_BYTE, IMPI_RMA_BXOR, 12, 10, 6);
    OPERATION(int16_t, IMPI_RMA_INT16, IMPI_RMA_MIN, -1, 1, -1);
    OPERATION(uint16_t, IMPI_RMA_UINT16, IMPI_RMA_PROD, 65535, 65535, 1);
    OPERATION(int32_t, IMPI_RMA_INT32, IMPI_RMA_SUM, INT32_MAX, 1, INT32_MIN);
    OPERATION(uint32_t, IMPI_RMA_UINT32, IMPI_RMA_BAND, 12, 10, 8);
    OPERATION(int64_t, IMPI_RMA_INT64, IMPI_RMA_LXOR, 2, 3, 0);
    OPERATION(uint64_t, IMPI_RMA_UINT64, IMPI_RMA_BOR, 12, 10, 14);
    OPERATION(float, IMPI_RMA_FLOAT, IMPI_RMA_PROD, 1.5f, 2, 3);
    OPERATION(double, IMPI_RMA_DOUBLE, IMPI_RMA_MIN, -1.5, 2, -1.5);
    OPERATION(int32_t, IMPI_RMA_LOGICAL, IMPI_RMA_LOR, 0, 1, 1);
    OPERATION(uint8_t, IMPI_RMA_BOOL, IMPI_RMA_LAND, 1, 1, 1);
    OPERATION(int32_t, IMPI_RMA_INT32, IMPI_RMA_REPLACE, 4, 5, 5);
    OPERATION(int32_t, IMPI_RMA_INT32, IMPI_RMA_NO_OP, 4, 5, 4);
    assert_false(impi_rma_op_fits(IMPI_RMA_SUM, IMPI_RMA_BYTE));
    assert_false(impi_rma_op_fits(IMPI_RMA_MAX, IMPI_RMA_CDOUBLE));
    assert_false(impi_rma_op_fits(IMPI_RMA_LAND, IMPI_RMA_DOUBLE));
    assert_false(impi_rma_op_fits(IMPI_RMA_MINLOC, IMPI_RMA_INT32));
    assert_false(impi_rma_op_fits(0, IMPI_RMA_INT32));
    assert_false(impi_rma_op_fits(IMPI_RMA_OPS, IMPI_RMA_INT32));
    assert_false(impi_rma_op_fits(IMPI_RMA_SUM, IMPI_RMA_ELEMS));
}

static void complex_and_pairs(void **state)
{
    double z[2] = {1, 2}, y[2] = {3, -1};
    int32_t p[4] = {5, 2, 7, 7}, q[4] = {5, 1, 8, 0};
    struct __attribute__((packed)) {
        double v;
        int32_t i;
    } d = {1, 0}, e = {2, 9};

    (void)state;
    impi_rma_op_apply(IMPI_RMA_PROD, IMPI_RMA_CDOUBLE, z, y, 1);
    assert_true(z[0] == 5 && z[1] == 5);
    impi_rma_op_apply(IMPI_RMA_MINLOC, IMPI_RMA_2INT, p, q, 2);
    assert_true(p[0] == 5 && p[1] == 1 && p[2] == 7 && p[3] == 7);
    assert_int_equal(impi_rma_elem_size(IMPI_RMA_DOUBLE_INT), sizeof(d));
    impi_rma_op_apply(IMPI_RMA_MAXLOC, IMPI_RMA_DOUBLE_INT, &d, &e, 1);
    assert_true(d.v == 2 && d.i == 9);
    for (uint32_t elem = 1; elem < IMPI_RMA_ELEMS; elem++) {
        uint8_t a[32] = {0}, b[32] = {0};

        assert_in_range(impi_rma_elem_size(elem), 1, IMPI_RMA_ELEM_SIZE_MAX);
        for (uint32_t op = 1; op < IMPI_RMA_OPS; op++)
            if (impi_rma_op_fits(op, elem))
                impi_rma_op_apply(op, elem, a, b, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_do_what_mpi_says),
        cmocka_unit_test(complex_and_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
