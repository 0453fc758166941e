/* SPDX-License-Identifier: BSD-3-Clause
 * Locks: their order, and those that operations bring along.
 */
#include <string.h>

#include "base/limits.h"
#include "rma_bed.h"

static void locks_are_given_in_the_order_of_asking(void **state)
{
    (void)state;
    begin(3);
    impi_rma_lock(w.win[0], 3, IMPI_RMA_SHARED, false);
    run();
    assert_true(impi_rma_is_locked(w.win[0], 3));
    impi_rma_lock(w.win[1], 3, IMPI_RMA_EXCLUSIVE, false);
    run();
    /* shared, but behind one that waits */
    impi_rma_lock(w.win[2], 3, IMPI_RMA_SHARED, false);
    impi_rma_lock(w.win[3], 3, IMPI_RMA_SHARED, false);
    run();
    assert_false(impi_rma_is_locked(w.win[1], 3));
    assert_false(impi_rma_is_locked(w.win[2], 3));
    impi_rma_unlock(w.win[0], 3);
    run();
    assert_true(impi_rma_is_flushed(w.win[0], 3));
    assert_true(impi_rma_is_locked(w.win[1], 3));
    assert_false(impi_rma_is_locked(w.win[2], 3));
    impi_rma_unlock(w.win[1], 3);
    run();
    assert_true(impi_rma_is_locked(w.win[2], 3));
    assert_true(impi_rma_is_locked(w.win[3], 3));
    impi_rma_unlock(w.win[2], 3);
    impi_rma_unlock(w.win[3], 3);
    end();
}

/* One asks by a message, two by the words: each has its turn. */
static void turns_are_one_line_for_both_ways(void **state)
{
    (void)state;
    begin(21);
    impi_rma_win_words(w.win[3], words(3));
    for (uint32_t i = 1; i < 3; i++)
        impi_rma_win_reach(w.win[i], 3, words(3), w.mem[3], sizeof(w.mem[3]));
    impi_rma_lock(w.win[1], 3, IMPI_RMA_EXCLUSIVE, false);
    assert_true(impi_rma_is_locked(w.win[1], 3));
    impi_rma_lock(w.win[0], 3, IMPI_RMA_SHARED, false);
    run();
    impi_rma_lock(w.win[2], 3, IMPI_RMA_EXCLUSIVE, false);
    assert_false(impi_rma_is_locked(w.win[0], 3));
    assert_false(impi_rma_is_locked(w.win[2], 3));
    impi_rma_unlock(w.win[1], 3);
    assert_true(impi_rma_is_flushed(w.win[1], 3));
    assert_false(impi_rma_is_locked(w.win[2], 3));
    run();
    assert_true(impi_rma_is_locked(w.win[0], 3));
    assert_false(impi_rma_is_locked(w.win[2], 3));
    impi_rma_unlock(w.win[0], 3);
    run();
    assert_true(impi_rma_is_locked(w.win[2], 3));
    impi_rma_unlock(w.win[2], 3);
    assert_true(impi_rma_is_flushed(w.win[2], 3));
    end();
}

static void a_window_with_others_asks_for_its_locks_first(void **state)
{
    (void)state;
    begin_early(1);
    impi_rma_win_ask_first(w.win[0]);
    assert_true(impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, true));
    run();
    assert_true(impi_rma_is_locked(w.win[0], 1));
    assert_false(impi_rma_lock(w.win[2], 3, IMPI_RMA_EXCLUSIVE, true));
    end();
}

/* ---- locks that operations bring along ---- */

static void one_operation_takes_its_lock_and_gives_it_back(void **state)
{
    struct impi_rma_op o = {0};
    int64_t got = 0;

    (void)state;
    begin_early(40);
    w.mem[1][2] = 9;
    assert_false(lock(0, 1, IMPI_RMA_SHARED));
    get(0, 1, 2, &got, &o, false);
    assert_int_equal(w.sent, 0);
    unlock(0, 1);
    assert_true(o.done && got == 9);
    assert_int_equal(w.sent, 2);
    for (int i = 0; i < 3; i++) {
        assert_false(lock(0, 1, IMPI_RMA_EXCLUSIVE));
        put(0, 1, 3, 70 + i);
        unlock(0, 1);
        assert_int_equal(w.mem[1][3], 70 + i);
        assert_int_equal(w.sent, 4 + 2 * i);
    }
    assert_true(impi_rma_is_quiet(w.win[0]));
    /* nobody has it any more */
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    put(2, 1, 3, 1);
    unlock(2, 1);
    assert_int_equal(w.mem[1][3], 1);
    end();
}

static void messages_of_longer_epochs(void **state)
{
    struct impi_rma_op o = {0}, p = {0};
    int64_t got = 0, more = 0;
    int sent;

    (void)state;
    begin_early(41);
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    put(0, 1, 0, 5);
    put(0, 1, 1, 6);
    unlock(0, 1); /* and FLUSHED */
    assert_int_equal(w.sent, 4);
    assert_true(w.mem[1][0] == 5 && w.mem[1][1] == 6);
    sent = w.sent;
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    get(0, 1, 0, &got, &o, false);
    flush(0, 1);
    assert_int_equal(got, 5);
    assert_true(impi_rma_is_locked(w.win[0], 1));
    put(0, 1, 0, got + 1);
    unlock(0, 1);
    assert_int_equal(w.mem[1][0], 6);
    run();
    assert_int_equal(w.sent - sent, 5);
    /* two gets: nobody waits for the unlock */
    sent = w.sent;
    lock(0, 1, IMPI_RMA_SHARED);
    get(0, 1, 0, &got, &o, false);
    get(0, 1, 1, &more, &p, false);
    impi_rma_unlock(w.win[0], 1);
    while (!o.done || !p.done)
        assert_true(step());
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_true(got == 6 && more == 6);
    run();
    assert_int_equal(w.sent - sent, 6);
    assert_true(impi_rma_is_quiet(w.win[0]));
    end();
}

/* A request is waited for by itself, so it is not held. */
static void what_is_waited_for_by_itself_goes_out_at_once(void **state)
{
    struct impi_rma_op o = {0};
    int64_t got = 0;

    (void)state;
    begin_early(42);
    lock(0, 1, IMPI_RMA_SHARED);
    get(0, 1, 0, &got, &o, true);
    assert_int_equal(w.sent, 1);
    run();
    assert_true(o.done && impi_rma_is_locked(w.win[0], 1));
    unlock(0, 1);
    /* and so is no operation of MPI_Win_lock_all */
    assert_false(impi_rma_lock(w.win[0], 1, IMPI_RMA_SHARED, false));
    get(0, 1, 0, &got, &o, false);
    run();
    assert_true(o.done);
    unlock(0, 1);
    run();
    end();
}

static void a_lock_without_operations_is_taken(void **state)
{
    (void)state;
    begin_early(43);
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    impi_rma_flush(w.win[0], 1);
    run();
    assert_true(impi_rma_is_locked(w.win[0], 1));
    assert_int_equal(w.sent, 2);
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    impi_rma_unlock(w.win[2], 1);
    run();
    assert_false(impi_rma_is_flushed(w.win[2], 1));
    unlock(0, 1);
    while (!impi_rma_is_flushed(w.win[2], 1))
        assert_true(step());
    assert_int_equal(w.sent, 6); /* two for each */
    /* A lock of the own memory is there at once, for what lies there is used
     * without us. */
    assert_true(lock(1, 1, IMPI_RMA_EXCLUSIVE));
    assert_true(impi_rma_is_locked(w.win[1], 1));
    unlock(1, 1);
    end();
}

static void what_comes_before_its_turn_is_kept_in_order(void **state)
{
    struct impi_rma_op o = {0};
    int64_t got = 0;

    (void)state;
    begin_early(44);
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    put(0, 1, 0, 1);
    flush(0, 1);
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    put(2, 1, 0, 2);
    put(2, 1, 1, 3);
    impi_rma_flush(w.win[2], 1);
    get(2, 1, 0, &got, &o, false);
    put(2, 1, 0, 4);
    impi_rma_unlock(w.win[2], 1);
    run();
    lock(3, 1, IMPI_RMA_SHARED);
    impi_rma_unlock(w.win[3], 1);
    run();
    lock(1, 1, IMPI_RMA_SHARED);
    run();
    assert_true(w.mem[1][0] == 1 && w.mem[1][1] == 0 && !o.done);
    assert_false(impi_rma_is_locked(w.win[1], 1));
    unlock(0, 1);
    while (!impi_rma_is_flushed(w.win[2], 1))
        assert_true(step());
    assert_true(o.done && got == 2);
    assert_true(w.mem[1][0] == 4 && w.mem[1][1] == 3);
    run();
    assert_true(impi_rma_is_flushed(w.win[3], 1));
    assert_true(impi_rma_is_locked(w.win[1], 1));
    unlock(1, 1);
    end();
}

/* What is long, what the network or the kernel moves. */
static void some_operations_need_the_lock_first(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_PUT, 1, 0, 1);
    int n = 0;

    (void)state;
    begin_early(46);
    lock(0, 1, IMPI_RMA_EXCLUSIVE);
    put(0, 1, 0, 1);
    flush(0, 1);
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    a.len = SF_IMPI_RMA_EARLY_MAX;
    assert_true(impi_rma_needs_lock(w.win[2], &a));
    a.kind = IMPI_RMA_GET; /* has no data to keep */
    assert_false(impi_rma_needs_lock(w.win[2], &a));
    w.may_move = true;
    assert_true(impi_rma_needs_lock(w.win[2], &a));
    w.may_move = false;
    a = at(IMPI_RMA_PUT, 1, 0, 1);
    while (!impi_rma_needs_lock(w.win[2], &a)) {
        put(2, 1, n % CELLS, n);
        impi_rma_flush(w.win[2], 1); /* it may send that, too */
        n++;
        run();
    }
    assert_in_range(n, 50, SF_IMPI_RMA_EARLY_MAX / IMPI_RMA_HEAD);
    assert_false(impi_rma_is_locked(w.win[2], 1));
    unlock(0, 1);
    run();
    assert_true(impi_rma_is_locked(w.win[2], 1));
    assert_false(impi_rma_needs_lock(w.win[2], &a));
    unlock(2, 1);
    impi_rma_win_reach_far(w.win[2], 1, (uintptr_t)w.mem[1], sizeof(w.mem[1]));
    lock(2, 1, IMPI_RMA_EXCLUSIVE);
    assert_true(impi_rma_needs_lock(w.win[2], &a));
    impi_rma_flush(w.win[2], 1);
    run();
    assert_false(impi_rma_needs_lock(w.win[2], &a));
    unlock(2, 1);
    end();
}

/* Messages of an epoch as older releases have it, too. */
static int messages_of_an_epoch(bool early)
{
    struct impi_rma_op o = {0};
    int64_t got = 0;

    begin(47);
    rma_bed_ops.early = early;
    if (impi_rma_lock(w.win[0], 1, IMPI_RMA_SHARED, true))
        run();
    get(0, 1, 0, &got, &o, false);
    unlock(0, 1);
    run();
    end();
    return w.sent;
}

static void older_releases_get_what_they_know(void **state)
{
    (void)state;
    assert_int_equal(messages_of_an_epoch(false), 6);
    assert_int_equal(messages_of_an_epoch(true), 2);
}

static void takes(const uint8_t *m, size_t len)
{
    struct errbuf err = {""};

    assert_int_equal(impi_rma_input(w.rma[0], 1, m, len, &err), 0);
}

static void who_lies_about_locks_is_found_out(void **state)
{
    enum { FLUSH = 9, FLUSHED, LOCK, GRANTED, UNLOCK };
    uint8_t m[IMPI_RMA_HEAD + 1000];

    (void)state;
    begin(48);
    memset(m, 0, sizeof(m));
    forge(m, IMPI_RMA_GET, 0, 0, 5, 0, 8);
    m[2] = IMPI_RMA_SHARED;
    breaks(m, IMPI_RMA_HEAD); /* not agreed */
    rma_bed_ops.early = true;
    m[2] = 3;
    breaks(m, IMPI_RMA_HEAD);
    m[2] = 0;
    m[3] = 1; /* of no lock */
    breaks(m, IMPI_RMA_HEAD);
    m[2] = IMPI_RMA_SHARED;
    m[3] = 2;
    breaks(m, IMPI_RMA_HEAD);
    forge(m, IMPI_RMA_PUT, 0, 0, 0, 0, 8);
    m[2] = m[3] = 1; /* answered by nothing */
    breaks(m, IMPI_RMA_HEAD + 8);
    forge(m, FLUSH, 0, 0, 1, 0, 0);
    m[2] = 1;
    breaks(m, IMPI_RMA_HEAD);
    forge(m, LOCK, 1, 0, 1, 0, 0);
    m[2] = 1;
    breaks(m, IMPI_RMA_HEAD);
    lock(0, 0, IMPI_RMA_EXCLUSIVE);
    forge(m, IMPI_RMA_PUT, 0, 0, 0, 0, 8);
    m[2] = IMPI_RMA_SHARED;
    takes(m, IMPI_RMA_HEAD + 8);
    breaks(m, IMPI_RMA_HEAD + 8); /* twice */
    forge(m, IMPI_RMA_PUT, 0, 0, 0, 0, 1000);
    for (int i = 0; i < 15; i++)
        takes(m, IMPI_RMA_HEAD + 1000);
    breaks(m, IMPI_RMA_HEAD + 1000); /* too much */
    forge(m, UNLOCK, 0, 0, 1, 0, 0);
    takes(m, IMPI_RMA_HEAD);
    breaks(m, IMPI_RMA_HEAD); /* nothing may follow */
    forge(m, IMPI_RMA_GET, 0, 0, 1, 0, 8);
    breaks(m, IMPI_RMA_HEAD);
    drop_messages();
    end(); /* with all that is kept */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_are_given_in_the_order_of_asking),
        cmocka_unit_test(turns_are_one_line_for_both_ways),
        cmocka_unit_test(a_window_with_others_asks_for_its_locks_first),
        cmocka_unit_test(one_operation_takes_its_lock_and_gives_it_back),
        cmocka_unit_test(messages_of_longer_epochs),
        cmocka_unit_test(what_is_waited_for_by_itself_goes_out_at_once),
        cmocka_unit_test(a_lock_without_operations_is_taken),
        cmocka_unit_test(what_comes_before_its_turn_is_kept_in_order),
        cmocka_unit_test(some_operations_need_the_lock_first),
        cmocka_unit_test(older_releases_get_what_they_know),
        cmocka_unit_test(who_lies_about_locks_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
