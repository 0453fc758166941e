/* SPDX-License-Identifier: BSD-3-Clause
 * Peers that go.
 */
#include <stdlib.h>

#include "rma_bed.h"

/* What the two still have under way is lost, too. */
static void lose(uint32_t own, uint32_t peer)
{
    struct msg **lists[] = {&w.from[own][peer], &w.from[peer][own]};

    for (int i = 0; i < 2; i++) {
        while (*lists[i]) {
            struct msg *m = *lists[i];

            *lists[i] = m->next;
            free(m);
        }
    }
    impi_rma_lose(w.rma[own], peer);
}

static void what_waits_for_a_lost_peer_ends(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, 1, 0, 1);
    struct impi_rma_op o = {0}, later = {0};
    struct impi_rma_refusal r;
    int64_t got = -1;
    int sent;

    (void)state;
    begin(1);
    a.result = &got;
    assert_int_equal(impi_rma_start(w.win[0], &a, &o), 0);
    put(0, 1, 0, 1);
    put(0, 1, 1, 1);
    put(0, 2, 1, 1);
    impi_rma_flush(w.win[0], 1);
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    assert_false(impi_rma_is_flushed(w.win[0], 1));
    assert_false(impi_rma_take_post(w.win[0], 1));
    lose(0, 1);
    assert_true(o.done && o.error == IMPI_RMA_ERR_LOST);
    assert_true(impi_rma_is_lost(w.win[0], 1));
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_true(impi_rma_is_locked(w.win[0], 1));
    assert_true(impi_rma_take_post(w.win[0], 1));
    assert_true(impi_rma_completed(w.win[0], 1));
    impi_rma_take_complete(w.win[0], 1);
    assert_true(impi_rma_completed(w.win[0], 1));
    assert_true(impi_rma_win_refused(w.win[0], &r));
    assert_int_equal(r.target, 1);
    assert_int_equal(r.error, IMPI_RMA_ERR_LOST);
    sent = w.sent;
    impi_rma_unlock(w.win[0], 1);
    assert_int_equal(impi_rma_start(w.win[0], &a, &later), 0);
    assert_true(later.done && later.error == IMPI_RMA_ERR_LOST);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    assert_true(impi_rma_is_quiet(w.win[0]));
    assert_int_equal(w.sent, sent);
    flush(0, 2); /* the others are there */
    assert_int_equal(w.mem[2][1], 1);
    assert_false(impi_rma_is_lost(w.win[0], 2));
    assert_false(impi_rma_win_refused(w.win[0], &r));
    end();
}

static void locks_of_a_lost_peer_are_given_back(void **state)
{
    struct impi_rma_refusal r;

    (void)state;
    begin(1);
    for (uint32_t i = 1; i < N; i++) {
        impi_rma_lock(w.win[i], 0, IMPI_RMA_EXCLUSIVE, false);
        run();
    }
    impi_rma_lock(w.win[0], 0, IMPI_RMA_EXCLUSIVE, false);
    assert_true(impi_rma_is_locked(w.win[1], 0));
    assert_false(impi_rma_is_locked(w.win[2], 0));
    lose(0, 2); /* while it waits, */
    assert_false(impi_rma_is_locked(w.win[3], 0));
    lose(0, 1); /* and while it has it */
    run();
    assert_true(impi_rma_is_locked(w.win[3], 0));
    assert_false(impi_rma_is_locked(w.win[0], 0));
    assert_false(impi_rma_win_refused(w.win[0], &r)); /* it asked for nothing */
    impi_rma_unlock(w.win[3], 0);
    run();
    assert_true(impi_rma_is_locked(w.win[0], 0));
    end();
}

/* The answer to an unlock that stands behind confirmed operations is wanted by
 * nobody. */
static void what_was_confirmed_is_not_lost(void **state)
{
    struct impi_rma_refusal r;

    (void)state;
    begin(1);
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    run();
    put(0, 1, 0, 1);
    flush(0, 1);
    impi_rma_unlock(w.win[0], 1);
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    lose(0, 1);
    assert_false(impi_rma_win_refused(w.win[0], &r));
    assert_true(impi_rma_is_quiet(w.win[0]));
    end();
}

/* An operation that is held for it, and one of it that waits for its turn. */
static void what_came_before_a_lock_goes_with_a_lost_peer(void **state)
{
    struct impi_rma_refusal r;
    int sent;

    (void)state;
    begin_early(1);
    sent = w.sent;
    assert_false(impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, true));
    put(0, 1, 3, 77);
    assert_int_equal(w.sent, sent);
    lose(0, 1);
    impi_rma_unlock(w.win[0], 1);
    assert_true(impi_rma_is_quiet(w.win[0]));
    assert_int_equal(w.sent, sent);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    assert_int_equal(r.error, IMPI_RMA_ERR_LOST);

    impi_rma_lock(w.win[0], 3, IMPI_RMA_EXCLUSIVE, false);
    put(0, 3, 0, 1);
    flush(0, 3);
    impi_rma_lock(w.win[2], 3, IMPI_RMA_EXCLUSIVE, false);
    put(2, 3, 0, 5);
    impi_rma_flush(w.win[2], 3);
    run();
    lose(3, 2);
    impi_rma_unlock(w.win[0], 3);
    run();
    assert_int_equal(w.mem[3][0], 1);
    impi_rma_lock(w.win[0], 3, IMPI_RMA_EXCLUSIVE, false);
    put(0, 3, 0, 2);
    flush(0, 3);
    assert_int_equal(w.mem[3][0], 2);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_for_a_lost_peer_ends),
        cmocka_unit_test(locks_of_a_lost_peer_are_given_back),
        cmocka_unit_test(what_was_confirmed_is_not_lost),
        cmocka_unit_test(what_came_before_a_lock_goes_with_a_lost_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
