/* SPDX-License-Identifier: BSD-3-Clause
 * The head of a message as doc/impi-rma.md has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "impi/rma_wire.h"

static const struct rma_head golden = {.version = 1,
                                       .kind = IMPI_RMA_GACC,
                                       .lock = IMPI_RMA_EXCLUSIVE,
                                       .leave = 1,
                                       .op = IMPI_RMA_BXOR,
                                       .elem = IMPI_RMA_UINT16,
                                       .type = 7,
                                       .win = UINT64_C(0x1122334455667788),
                                       .id = UINT64_C(0x8877665544332211),
                                       .disp = -2,
                                       .count = 3,
                                       .len = 0x0102};
static const uint8_t bytes[IMPI_RMA_HEAD] = {
    1,    4,
    2,    1,
    0,    IMPI_RMA_BXOR, /* version, kind, lock.. */
    0,    IMPI_RMA_UINT16,
    0,    0,
    0,    7,
    0,    0,
    0,    0,
    0x11, 0x22,
    0x33, 0x44,
    0x55, 0x66,
    0x77, 0x88, /* window */
    0x88, 0x77,
    0x66, 0x55,
    0x44, 0x33,
    0x22, 0x11, /* id */
    0xff, 0xff,
    0xff, 0xff,
    0xff, 0xff,
    0xff, 0xfe, /* displacement */
    0,    0,
    0,    0,
    0,    0,
    0,    3, /* count */
    0,    0,
    0,    0,
    0,    0,
    1,    2, /* bytes */
};

static void a_head_is_laid_out_as_documented(void **state)
{
    uint8_t out[IMPI_RMA_HEAD];

    (void)state;
    memset(out, 0xaa, sizeof(out));
    rma_head_encode(&golden, out);
    assert_memory_equal(out, bytes, sizeof(out));
}

static void a_head_comes_back(void **state)
{
    uint8_t out[IMPI_RMA_HEAD];
    struct rma_head h;

    (void)state;
    memset(&h, 0xaa, sizeof(h));
    rma_head_decode(&h, bytes);
    assert_false(h.placed);
    assert_int_equal(h.lock, IMPI_RMA_EXCLUSIVE);
    assert_int_equal(h.disp, -2);
    assert_int_equal(h.type, 7);
    rma_head_encode(&h, out);
    assert_memory_equal(out, bytes, sizeof(out));
}

static void operations_bring_their_data(void **state)
{
    struct rma_head h = {.len = 24};

    (void)state;
    h.kind = IMPI_RMA_PUT;
    assert_int_equal(rma_data_of(&h), 24);
    h.kind = IMPI_RMA_GET;
    assert_int_equal(rma_data_of(&h), 0);
    h.kind = IMPI_RMA_CAS;
    assert_int_equal(rma_data_of(&h), 48);
    h.kind = IMPI_RMA_GACC;
    h.op = IMPI_RMA_SUM;
    assert_int_equal(rma_data_of(&h), 24);
    h.op = IMPI_RMA_NO_OP;
    assert_int_equal(rma_data_of(&h), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_laid_out_as_documented),
        cmocka_unit_test(a_head_comes_back),
        cmocka_unit_test(operations_bring_their_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
