/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of others without messages: mapped, copied, moved by the network.
 */
#include <string.h>

#include "rma_bed.h"

static void what_is_mapped_needs_no_message(void **state)
{
    struct impi_rma_args a;
    struct impi_rma_op o = {0};
    struct impi_rma_refusal r;
    int64_t v[2] = {0}, got = 0;

    (void)state;
    begin(20);
    impi_rma_win_words(w.win[1], words(1));
    impi_rma_win_reach(w.win[0], 1, words(1), w.mem[1], sizeof(w.mem[1]));
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    assert_true(impi_rma_is_locked(w.win[0], 1));
    put(0, 1, 3, 77);
    assert_int_equal(w.mem[1][3], 77);
    assert_int_equal(fetch(0, 1, 3, IMPI_RMA_SUM, 3), 77);
    assert_int_equal(w.mem[1][3], 80);
    a = at(IMPI_RMA_CAS, 1, 3, 1);
    v[0] = 9;
    v[1] = 80;
    a.elem = IMPI_RMA_INT64;
    a.data = v;
    a.result = &got;
    impi_rma_start(w.win[0], &a, &o);
    assert_true(o.done && got == 80 && w.mem[1][3] == 9);
    a = at(IMPI_RMA_GET, 1, CELLS - 1, 2);
    impi_rma_start(w.win[0], &a, &o);
    assert_true(o.done);
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    a = at(IMPI_RMA_GET, 1, CELLS, 1);
    a.len = 1;
    impi_rma_start(w.win[0], &a, &o);
    assert_int_equal(o.error, IMPI_RMA_ERR_RANGE);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    a = at(IMPI_RMA_PUT, 1, -1, 1);
    a.data = v;
    impi_rma_start(w.win[0], &a, NULL);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    assert_int_equal(r.target, 1);
    impi_rma_flush(w.win[0], 1);
    impi_rma_unlock(w.win[0], 1);
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_int_equal(w.sent, 0);
    end();
}

static void what_can_be_copied_takes_messages_only_where_it_fails(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, 1, 2, 2);
    struct impi_rma_op o = {0};
    int64_t got[2] = {0};

    (void)state;
    begin(22);
    w.may_copy = 2;
    impi_rma_win_reach_far(w.win[0], 1, (uintptr_t)w.mem[1], sizeof(w.mem[1]));
    put(0, 1, 3, 77);
    assert_int_equal(w.mem[1][3], 77);
    a.result = got;
    impi_rma_start(w.win[0], &a, &o);
    assert_true(o.done && got[1] == 77);
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_int_equal(w.sent, 0);
    impi_rma_start(w.win[0], &a, &o);
    assert_false(o.done);
    run();
    assert_true(o.done);
    put(0, 1, 4, 5);
    flush(0, 1);
    assert_int_equal(w.mem[1][4], 5);
    assert_int_equal(w.copies, 4);
    assert_int_equal(fetch(0, 1, 4, IMPI_RMA_SUM, 1), 5);
    a = at(IMPI_RMA_GET, 1, CELLS, 1);
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    assert_int_equal(w.copies, 4);
    end();
}

/* ---- memory that the network moves ---- */

/* The oldest move ends. */
static void end_move(void)
{
    struct moving m = w.moving[0];
    void *there = (void *)(uintptr_t)m.there.address;

    memcpy(m.write ? there : m.own, m.write ? m.own : there, m.there.size);
    w.nmoving--;
    memmove(w.moving, w.moving + 1, w.nmoving * sizeof(m));
    impi_rma_moved(m.token);
}

/* One cell, in memory that stays. */
static void put_lasting(uint32_t own, uint32_t target, int cell,
                        const int64_t *v, struct impi_rma_op *o)
{
    struct impi_rma_args a = at(IMPI_RMA_PUT, target, cell, 1);

    a.data = v;
    a.lasts = true;
    assert_int_equal(impi_rma_start(w.win[own], &a, o), 0);
}

static void begin_exposed(uint64_t seed)
{
    static const int64_t zero;

    begin(seed);
    w.may_move = true;
    put_lasting(0, 1, 0, &zero, NULL);
    assert_false(impi_rma_is_quiet(w.win[0]));
    flush(0, 1);
    assert_true(impi_rma_is_quiet(w.win[0]));
}

static void what_is_exposed_is_moved_without_messages(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, 1, 2, 2);
    struct impi_rma_op o = {0}, p = {0};
    int64_t v = 77, got[2] = {0};
    int sent;

    (void)state;
    begin_exposed(30);
    sent = w.sent;
    put_lasting(0, 1, 3, &v, NULL);
    impi_rma_flush(w.win[0], 1);
    assert_false(impi_rma_is_flushed(w.win[0], 1));
    end_move();
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_int_equal(w.mem[1][3], 77);
    a.result = got;
    assert_int_equal(impi_rma_start(w.win[0], &a, &o), 0);
    v = 78;
    put_lasting(0, 1, 5, &v, &p);
    assert_false(o.done || p.done);
    end_move();
    assert_true(o.done && !p.done && o.error == IMPI_RMA_OK);
    assert_int_equal(got[1], 77);
    assert_false(impi_rma_is_flushed(w.win[0], 1));
    end_move();
    assert_true(p.done && impi_rma_is_flushed(w.win[0], 1));
    assert_int_equal(w.mem[1][5], 78);
    assert_int_equal(w.sent, sent);
    end();
}

/* Data that do not last, a move that cannot begin, what is beyond the window,
 * accumulates, and a target that cannot. */
static void what_cannot_be_moved_takes_messages(void **state)
{
    struct impi_rma_args a;
    int64_t v = 5;

    (void)state;
    begin_exposed(31);
    put(0, 1, 3, 77);
    flush(0, 1);
    assert_int_equal(w.mem[1][3], 77);
    w.refuses = true;
    put_lasting(0, 1, 4, &v, NULL);
    flush(0, 1);
    assert_int_equal(w.mem[1][4], 5);
    w.refuses = false;
    assert_int_equal(fetch(0, 1, 4, IMPI_RMA_SUM, 1), 5);
    a = at(IMPI_RMA_GET, 1, CELLS, 1);
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    a = at(IMPI_RMA_GET, 1, -1, 1);
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    w.hidden = true;
    for (int i = 0; i < 3; i++) {
        put_lasting(0, 2, i, &v, NULL);
        flush(0, 2);
        assert_int_equal(w.mem[2][i], 5);
    }
    assert_int_equal(w.nmoving, 0);
    end();
}

/* Whoever has the lock next, or sees the epoch's end, finds what was put. */
static void what_ends_an_epoch_waits_for_moves(void **state)
{
    int64_t v = 77, u = 78;

    (void)state;
    begin_exposed(32);
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    impi_rma_lock(w.win[2], 1, IMPI_RMA_EXCLUSIVE, false);
    run();
    if (!impi_rma_is_locked(w.win[0], 1)) { /* the other was the first */
        impi_rma_unlock(w.win[2], 1);
        run();
        impi_rma_lock(w.win[2], 1, IMPI_RMA_EXCLUSIVE, false);
        run();
    }
    assert_true(impi_rma_is_locked(w.win[0], 1));
    put_lasting(0, 1, 3, &v, NULL);
    put_lasting(0, 1, 4, &u, NULL);
    impi_rma_unlock(w.win[0], 1);
    impi_rma_flush(w.win[0], 1);
    end_move();
    run();
    assert_false(impi_rma_is_flushed(w.win[0], 1));
    assert_false(impi_rma_is_locked(w.win[2], 1));
    end_move();
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    run();
    assert_true(impi_rma_is_locked(w.win[2], 1));
    assert_int_equal(w.mem[1][4], 78);
    assert_true(impi_rma_is_quiet(w.win[0]));
    put_lasting(0, 1, 5, &v, NULL);
    impi_rma_complete(w.win[0], 1);
    run();
    assert_false(impi_rma_completed(w.win[1], 0));
    end_move();
    run();
    assert_true(impi_rma_completed(w.win[1], 0));
    impi_rma_complete(w.win[0], 1);
    run();
    impi_rma_take_complete(w.win[1], 0);
    assert_true(impi_rma_completed(w.win[1], 0));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_needs_no_message),
        cmocka_unit_test(what_can_be_copied_takes_messages_only_where_it_fails),
        cmocka_unit_test(what_is_exposed_is_moved_without_messages),
        cmocka_unit_test(what_cannot_be_moved_takes_messages),
        cmocka_unit_test(what_ends_an_epoch_waits_for_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
