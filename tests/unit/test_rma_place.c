/* SPDX-License-Identifier: BSD-3-Clause
 * Data that go straight to their place as they arrive.
 */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "rma_bed.h"

#define MANY (int)(SF_IMPI_RMA_PLACE_MIN / 8)

static struct {
    struct impi_rma_win *win[2];
    int64_t mem[2 * MANY], buf[MANY];
} big;

static void begin_big(uint64_t seed)
{
    static const uint32_t world[2] = {0, 1};

    begin(seed);
    for (uint32_t i = 0; i < 2; i++)
        big.win[i] = impi_rma_win_create(w.rma[i], 9, world, 2, i);
    impi_rma_win_memory(big.win[1], big.mem, sizeof(big.mem));
    for (int i = 0; i < MANY; i++) {
        big.mem[MANY + i] = 3 * i;
        big.buf[i] = 5 * i;
    }
}

static struct impi_rma_args big_args(enum impi_rma_kind kind)
{
    return (struct impi_rma_args){.kind = kind,
                                  .target = 1,
                                  .disp = sizeof(big.buf),
                                  .len = sizeof(big.buf),
                                  .data = big.buf,
                                  .result = big.buf};
}

static void *place(uint32_t to, uint32_t from, const struct msg *m)
{
    return impi_rma_place(w.rma[to], from, m->bytes, m->len - IMPI_RMA_HEAD);
}

static int whole(uint32_t to, uint32_t from, const struct msg *m, void *at,
                 struct errbuf *err)
{
    memcpy(at, m->bytes + IMPI_RMA_HEAD, m->len - IMPI_RMA_HEAD);
    return impi_rma_input_placed(w.rma[to], from, m->bytes, at,
                                 m->len - IMPI_RMA_HEAD, err);
}

static void long_data_go_straight_to_their_place(void **state)
{
    struct impi_rma_args put = big_args(IMPI_RMA_PUT),
                         get = big_args(IMPI_RMA_GET);
    struct impi_rma_op o = {0};
    struct errbuf err = {""};
    struct msg *m;

    (void)state;
    begin_big(50);
    impi_rma_start(big.win[0], &put, &o);
    m = next_msg(1, 0);
    assert_ptr_equal(place(1, 0, m), &big.mem[MANY]);
    assert_false(o.done);
    assert_int_equal(whole(1, 0, m, &big.mem[MANY], &err), 0);
    free(m);
    run();
    assert_true(o.done);
    assert_int_equal(big.mem[MANY + 7], 35);
    memset(big.buf, 0, sizeof(big.buf));
    impi_rma_start(big.win[0], &get, &o);
    m = next_msg(1, 0);
    assert_null(place(1, 0, m)); /* it has no data */
    impi_rma_input(w.rma[1], 0, m->bytes, m->len, &err);
    free(m);
    m = next_msg(0, 1);
    assert_ptr_equal(place(0, 1, m), big.buf);
    assert_int_equal(whole(0, 1, m, big.buf, &err), 0);
    assert_true(o.done && big.buf[7] == 35);
    free(m);
    end();
}

/* What is beyond the window, short, for a datatype, of no window; memory that
 * may go. */
static void what_has_no_place_is_kept_apart(void **state)
{
    struct impi_rma_args put = big_args(IMPI_RMA_PUT);
    struct msg *m;

    (void)state;
    begin_big(51);
    put.disp += 8;
    impi_rma_start(big.win[0], &put, NULL);
    put.disp = 0;
    put.len -= 8;
    impi_rma_start(big.win[0], &put, NULL);
    for (int i = 0; i < 2; i++) {
        m = next_msg(1, 0);
        assert_null(place(1, 0, m));
        free(m);
    }
    put.len += 8;
    impi_rma_start(big.win[0], &put, NULL);
    m = next_msg(1, 0);
    be_store64(m->bytes + 48, put.len - 1); /* another length than it has */
    assert_null(place(1, 0, m));
    be_store64(m->bytes + 48, put.len);
    assert_ptr_equal(place(1, 0, m), big.mem);
    be_store32(m->bytes + 8, 1);
    assert_null(place(1, 0, m));
    be_store32(m->bytes + 8, 0);
    be_store64(m->bytes + 16, 77);
    assert_null(place(1, 0, m));
    be_store64(m->bytes + 16, 9);
    assert_null(impi_rma_place(w.rma[1], 2, m->bytes, put.len));
    assert_null(impi_rma_place(w.rma[1], N, m->bytes, put.len));
    impi_rma_win_dynamic(big.win[1]);
    assert_null(place(1, 0, m));
    free(m);
    end();
}

/* Its memory is the program's again when an operation is done: no other answer
 * may end it, none may be written there twice. */
static void an_answer_has_its_place_to_itself(void **state)
{
    enum { RESULT = 6, REFUSED };
    struct impi_rma_args get = big_args(IMPI_RMA_GET);
    struct impi_rma_op o = {0};
    struct errbuf err = {""};
    uint8_t m[IMPI_RMA_HEAD];
    struct msg *r;

    (void)state;
    begin_big(52);
    impi_rma_start(big.win[0], &get, &o);
    while (!w.from[0][1])
        step();
    r = next_msg(0, 1);
    be_store64(r->bytes + 24, o.id + 1);
    assert_null(place(0, 1, r));
    be_store64(r->bytes + 24, o.id);
    assert_ptr_equal(place(0, 1, r), big.buf);
    assert_null(place(0, 1, r));
    assert_int_equal(impi_rma_input(w.rma[0], 1, r->bytes, r->len, &err), -1);
    forge(m, REFUSED, 1, 0, o.id, 0, 0);
    be_store64(m + 16, 9);
    breaks(m, sizeof(m));
    assert_false(o.done);
    assert_int_equal(whole(0, 1, r, big.buf, &err), 0);
    assert_true(o.done && big.buf[3] == 9);
    assert_int_equal(whole(0, 1, r, big.buf, &err), -1);
    free(r);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_data_go_straight_to_their_place),
        cmocka_unit_test(what_has_no_place_is_kept_apart),
        cmocka_unit_test(an_answer_has_its_place_to_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
