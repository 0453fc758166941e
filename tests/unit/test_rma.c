/* SPDX-License-Identifier: BSD-3-Clause
 * Operations among several engines, whatever the order of messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "nomem.h"
#include "rma_bed.h"

static void what_is_put_is_there_after_a_flush(void **state)
{
    (void)state;
    begin(1);
    put(0, 1, 3, 77);
    assert_int_equal(w.mem[1][3], 0);
    flush(0, 1);
    assert_int_equal(w.mem[1][3], 77);
    /* nothing to confirm: no message */
    int sent = w.sent;

    flush(0, 1);
    assert_int_equal(w.sent, sent);
    /* its own memory without any */
    put(2, 2, 0, 5);
    assert_int_equal(w.mem[2][0], 5);
    assert_int_equal(w.sent, sent);
    end();
}

/* Messages of n puts and a flush of them, with the answers. */
static int messages_of_puts(int n)
{
    int sent = w.sent;

    for (int i = 0; i < n; i++)
        put(0, 1, i, n + i);
    flush(0, 1);
    for (int i = 0; i < n; i++)
        assert_int_equal(w.mem[1][i], n + i);
    return w.sent - sent;
}

static void one_operation_before_each_flush_is_answered_by_itself(void **state)
{
    (void)state;
    begin(11);
    assert_int_equal(messages_of_puts(1), 2);
    assert_int_equal(messages_of_puts(1), 2);
    assert_int_equal(messages_of_puts(2), 5); /* that was not foreseen */
    assert_int_equal(messages_of_puts(2), 4);
    assert_int_equal(messages_of_puts(1), 3); /* neither was that */
    assert_int_equal(messages_of_puts(1), 2);
    end();
}

static void who_unlocks_waits_for_operations_only(void **state)
{
    (void)state;
    begin(12);
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    run();
    assert_int_equal(fetch(0, 1, 0, IMPI_RMA_SUM, 5), 0);
    impi_rma_unlock(w.win[0], 1);
    assert_true(impi_rma_is_flushed(w.win[0], 1));
    assert_false(impi_rma_is_quiet(w.win[0]));
    impi_rma_lock(w.win[0], 1, IMPI_RMA_EXCLUSIVE, false);
    assert_false(impi_rma_is_locked(w.win[0], 1));
    run();
    assert_true(impi_rma_is_quiet(w.win[0]));
    assert_true(impi_rma_is_locked(w.win[0], 1));
    put(0, 1, 0, 7);
    put(0, 1, 1, 8);
    impi_rma_unlock(w.win[0], 1);
    assert_false(impi_rma_is_flushed(w.win[0], 1));
    while (!impi_rma_is_flushed(w.win[0], 1))
        assert_true(step());
    assert_int_equal(w.mem[1][1], 8);
    end();
}

static void answers_bring_what_was_there(void **state)
{
    struct impi_rma_args a;
    struct impi_rma_op o = {0};
    int64_t both[2] = {9, 40}, got = 0;

    (void)state;
    begin(2);
    w.mem[3][1] = 40;
    assert_int_equal(fetch(0, 3, 1, IMPI_RMA_NO_OP, 1), 40);
    a = at(IMPI_RMA_CAS, 3, 1, 1);
    a.elem = IMPI_RMA_INT64;
    a.data = both;
    a.result = &got;
    impi_rma_start(w.win[0], &a, &o);
    run();
    assert_true(o.done);
    assert_int_equal(got, 40);
    assert_int_equal(w.mem[3][1], 9);
    impi_rma_start(w.win[1], &a, &o);
    run();
    assert_int_equal(got, 9);
    assert_int_equal(w.mem[3][1], 9);
    end();
}

static void posts_and_completes_are_counted(void **state)
{
    (void)state;
    begin(4);
    impi_rma_post(w.win[0], 1);
    assert_false(impi_rma_take_post(w.win[1], 0));
    run();
    assert_true(impi_rma_take_post(w.win[1], 0));
    assert_false(impi_rma_take_post(w.win[1], 0));
    put(1, 0, 0, 4);
    impi_rma_complete(w.win[1], 0);
    while (!impi_rma_completed(w.win[0], 1))
        assert_true(step());
    assert_int_equal(w.mem[0][0], 4);
    impi_rma_take_complete(w.win[0], 1);
    assert_false(impi_rma_completed(w.win[0], 1));
    end();
}

static void what_is_beyond_the_window_is_refused(void **state)
{
    int64_t v[4] = {0};
    struct impi_rma_args a;
    struct impi_rma_refusal r;

    (void)state;
    begin(5);
    a = at(IMPI_RMA_PUT, 1, CELLS, 1);
    a.data = v;
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    a = at(IMPI_RMA_PUT, 1, CELLS - 1, 2);
    a.data = v;
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    a = at(IMPI_RMA_PUT, 1, -1, 1);
    a.data = v;
    refused(0, &a, IMPI_RMA_ERR_RANGE);
    a.disp = INT64_MAX;
    refused(1, &a, IMPI_RMA_ERR_RANGE);
    /* without an answer it is told with the next flush */
    put(0, 2, CELLS, 1);
    flush(0, 2);
    assert_true(impi_rma_win_refused(w.win[0], &r));
    assert_int_equal(r.target, 2);
    a = at(IMPI_RMA_ACC, 1, 0, 1);
    a.data = v;
    a.op = IMPI_RMA_BAND;
    a.elem = IMPI_RMA_DOUBLE;
    refused(0, &a, IMPI_RMA_ERR_OP);
    end();
}

/* ---- memory of the target ---- */

/* Who gets unlocks right behind the get, and the next one may write there
 * before the answer has left. */
static void a_get_is_answered_by_what_is_there_when_it_comes(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, 1, 2, 4);
    struct impi_rma_op o = {0};
    int64_t got[4] = {0};

    (void)state;
    begin(10);
    w.mem[1][3] = 9;
    a.result = got;
    impi_rma_start(w.win[0], &a, &o);
    step();
    assert_ptr_equal(w.data, &w.mem[1][2]);
    assert_false(w.lasts);
    run();
    assert_int_equal(got[1], 9);
    end();
}

static void what_is_to_be_copied_is_said(void **state)
{
    struct impi_rma_args a = at(IMPI_RMA_PUT, 1, 2, 4);
    int64_t mine[4] = {1, 2, 3, 4};

    (void)state;
    begin(11);
    a.data = mine;
    a.lasts = true;
    impi_rma_start(w.win[0], &a, NULL);
    assert_ptr_equal(w.data, mine);
    assert_true(w.lasts);
    a.lasts = false;
    impi_rma_start(w.win[0], &a, NULL);
    assert_false(w.lasts);
    /* What was there is in memory of the target's engine. */
    assert_int_equal(fetch(0, 1, 2, IMPI_RMA_SUM, 1), 1);
    assert_false(w.lasts);
    end();
}

static void no_memory_at_the_target_is_told_to_the_origin(void **state)
{
    static const struct impi_run run_of_two = {0, 8, 2, 16};
    struct impi_typemap *t = impi_typemap_make(32, &run_of_two, 1);
    struct impi_rma_args a = {.target = 1,
                              .type = t,
                              .count = 1,
                              .len = 16,
                              .op = IMPI_RMA_SUM,
                              .elem = IMPI_RMA_INT64};
    static const enum impi_rma_kind kinds[] = {IMPI_RMA_GET, IMPI_RMA_ACC,
                                               IMPI_RMA_GACC};
    int64_t v[2] = {1, 1}, got[2] = {0};

    (void)state;
    begin(11);
    a.data = v;
    a.result = got;
    a.kind = IMPI_RMA_PUT;
    impi_rma_start(w.win[0], &a, NULL); /* the type is there */
    run();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct impi_rma_op o = {0};
        struct impi_rma_refusal r;
        struct msg *m;
        struct errbuf err = {""};

        a.kind = kinds[i];
        impi_rma_start(w.win[0], &a, &o);
        m = w.from[1][0];
        w.from[1][0] = m->next;
        left = 0;
        once = true;
        /* the answer wants some, too, but that is the test's own */
        assert_int_equal(impi_rma_input(w.rma[1], 0, m->bytes, m->len, &err),
                         0);
        left = -1;
        free(m);
        run();
        assert_true(o.done);
        assert_int_equal(o.error, IMPI_RMA_ERR_NO_MEM);
        assert_true(impi_rma_win_refused(w.win[0], &r));
        assert_int_equal(w.mem[1][0], 1);
    }
    free(t);
    end();
}

/* ---- peers that lie ---- */

static void a_peer_that_lies_is_found_out(void **state)
{
    enum { RESULT = 6, REFUSED, TYPE, FLUSH, FLUSHED, LOCK, GRANTED, UNLOCK };
    enum { EXPOSED = 18 };
    uint8_t m[IMPI_RMA_HEAD + 64];

    (void)state;
    begin(8);
    memset(m, 0, sizeof(m));
    breaks(m, 0);
    breaks(m, IMPI_RMA_HEAD - 1);
    breaks(m, sizeof(m));
    forge(m, 99, 0, 0, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, IMPI_RMA_PUT, 0, 0, 0, 0, 8); /* no data */
    breaks(m, IMPI_RMA_HEAD);
    forge(m, IMPI_RMA_PUT, 0, 0, 0, 0, UINT64_MAX);
    breaks(m, IMPI_RMA_HEAD + 8);
    forge(m, IMPI_RMA_GET, 0, 0, 1, 0, SF_IMPI_RMA_DATA_MAX + UINT64_C(1));
    breaks(m, IMPI_RMA_HEAD);
    forge(m, IMPI_RMA_PUT, 0, 1, 0, 1, 8); /* of a type that did not come */
    breaks(m, IMPI_RMA_HEAD + 8);
    forge(m, IMPI_RMA_PUT, 0, 60000, 0, 1, 8);
    breaks(m, IMPI_RMA_HEAD + 8);
    forge(m, TYPE, 0, 0, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD + 16);
    forge(m, TYPE, 0, SF_IMPI_RMA_TYPES_MAX + 1, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD + 16);
    forge(m, RESULT, 0, 0, 5, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, REFUSED, 1, 0, 5, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, REFUSED, 9, 0, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, FLUSHED, 0, 0, 1, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, GRANTED, 0, 0, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, LOCK, 3, 0, 0, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, EXPOSED, 1, 0, 7, 128, 0); /* nobody asked */
    breaks(m, IMPI_RMA_HEAD);
    forge(m, UNLOCK, 0, 0, 1, 0, 0);
    breaks(m, IMPI_RMA_HEAD);
    forge(m, LOCK, 1, 0, 0, 0, 0);
    assert_int_equal(impi_rma_input(w.rma[0], 1, m, IMPI_RMA_HEAD, NULL), 0);
    breaks(m, IMPI_RMA_HEAD); /* twice */
    be_store64(m + 16, 999);  /* no such window */
    breaks(m, IMPI_RMA_HEAD);
    drop_messages();
    end();
}

/* ---- many at once ---- */

/* What one process is about: under a lock it reads, adds and writes back, or
 * accumulates, or does nothing; without one it fetches and adds. */
struct actor {
    int left, passed;
    enum { IDLE, LOCKING, READING, UNLOCKING, FETCHING } state;
    bool waits, adds;
    uint32_t target;
    int64_t v, one, last;
    struct impi_rma_op op;
};

static void add(uint32_t own, struct actor *a, int cell, struct impi_rma_op *o)
{
    struct impi_rma_args args =
        at(o ? IMPI_RMA_GACC : IMPI_RMA_ACC, a->target, cell, 1);

    args.op = IMPI_RMA_SUM;
    args.elem = IMPI_RMA_INT64;
    a->one = 1;
    args.data = &a->one;
    args.result = &a->last;
    assert_int_equal(impi_rma_start(w.win[own], &args, o), 0);
}

static void read_locked(uint32_t own, struct actor *a)
{
    struct impi_rma_args args = at(IMPI_RMA_GET, a->target, 0, 1);

    args.result = &a->v;
    args.now = draw(2);
    impi_rma_start(w.win[own], &args, &a->op);
    if (!args.now)
        impi_rma_flush(w.win[own], a->target);
}

static void act(uint32_t own, struct actor *a, int64_t sums[N])
{
    switch (a->state) {
    case IDLE:
        if (a->left == 0)
            return;
        a->left--;
        a->target = draw(N);
        if (draw(3)) {
            a->waits = impi_rma_lock(w.win[own], a->target, IMPI_RMA_EXCLUSIVE,
                                     draw(2));
            a->adds = draw(2);
            a->state = LOCKING;
            return;
        }
        add(own, a, 1, &a->op);
        sums[a->target]++;
        a->state = FETCHING;
        return;
    case LOCKING:
        if (a->waits && !impi_rma_is_locked(w.win[own], a->target))
            return;
        if (!a->adds) {
            read_locked(own, a);
            a->state = READING;
            return;
        }
        if (draw(4))
            add(own, a, 0, NULL);
        else
            a->passed++;
        impi_rma_unlock(w.win[own], a->target);
        a->state = UNLOCKING;
        return;
    case READING:
        if (!a->op.done)
            return;
        put(own, a->target, 0, a->v + 1);
        impi_rma_unlock(w.win[own], a->target);
        a->state = UNLOCKING;
        return;
    case FETCHING:
        a->state = a->op.done ? IDLE : FETCHING;
        return;
    default:
        if (impi_rma_is_flushed(w.win[own], a->target))
            a->state = IDLE;
        return;
    }
}

static void nothing_is_lost(void (*start)(uint64_t seed))
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct actor actors[N] = {0};
        int64_t sums[N] = {0}, locked = 0, fetched = 0, all = 0;
        bool busy = true;

        start(seed);
        for (uint32_t i = 0; i < N; i++)
            actors[i].left = 30;
        for (int turns = 0; busy; turns++) {
            uint32_t i = draw(N);

            if (turns > 100000)
                fail_msg("seed %d stands still", (int)seed);
            act(i, &actors[i], sums);
            if (draw(3))
                step();
            busy = false;
            for (uint32_t k = 0; k < N; k++)
                busy |= actors[k].left > 0 || actors[k].state != IDLE;
        }
        run();
        for (uint32_t i = 0; i < N; i++) {
            locked += w.mem[i][0];
            fetched += w.mem[i][1];
            if (w.mem[i][1] != sums[i])
                fail_msg("seed %d: rank %u has %d", (int)seed, i,
                         (int)w.mem[i][1]);
            all += sums[i];
            locked += actors[i].passed;
            assert_true(impi_rma_is_quiet(w.win[i]));
        }
        if (locked + fetched != N * 30 || fetched != all)
            fail_msg("seed %d: %d and %d", (int)seed, (int)locked,
                     (int)fetched);
        end();
    }
}

static void nothing_is_lost_whatever_the_order(void **state)
{
    (void)state;
    nothing_is_lost(begin);
}

static void nor_where_some_need_no_messages(void **state)
{
    (void)state;
    nothing_is_lost(begin_mapped);
}

static void nor_where_operations_bring_their_locks_along(void **state)
{
    (void)state;
    nothing_is_lost(begin_early);
    nothing_is_lost(begin_early_mapped);
}

/* ---- more peers ---- */

/* The oldest message from one to another, taken as from `as`. */
static void pass(uint32_t to, uint32_t from, uint32_t own, uint32_t as)
{
    struct msg *m = w.from[to][from];
    struct errbuf err = {""};

    assert_non_null(m);
    w.from[to][from] = m->next;
    assert_int_equal(impi_rma_input(w.rma[own], as, m->bytes, m->len, &err), 0);
    free(m);
}

static void more_peers_may_come(void **state)
{
    static const uint32_t seen_by_0[] = {0, N}, seen_by_1[] = {0, 1};
    int64_t mem[2] = {0}, v = 5, u = 6;
    struct impi_rma_args a = {.kind = IMPI_RMA_PUT, .len = 8, .data = &v};
    struct impi_rma_win *here, *there;

    (void)state;
    begin(1);
    assert_int_equal(impi_rma_grow(w.rma[0], N + 1), 0);
    here = impi_rma_win_create(w.rma[0], 9, seen_by_0, 2, 0);
    there = impi_rma_win_create(w.rma[1], 9, seen_by_1, 2, 1);
    assert_true(here && there);
    assert_int_equal(impi_rma_win_memory(here, &mem[0], 8), 0);
    assert_int_equal(impi_rma_win_memory(there, &mem[1], 8), 0);
    assert_int_equal(impi_rma_start(there, &a, NULL), 0);
    pass(0, 1, 0, N);
    assert_int_equal(mem[0], 5);
    pass(N, 0, 1, 0); /* that it is done */
    a.target = 1;
    a.data = &u;
    assert_int_equal(impi_rma_start(here, &a, NULL), 0);
    pass(N, 0, 1, 0);
    assert_int_equal(mem[1], 6);
    pass(0, 1, 0, N);
    put(0, 1, 3, 77); /* the others are where they were */
    flush(0, 1);
    assert_int_equal(w.mem[1][3], 77);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there_after_a_flush),
        cmocka_unit_test(one_operation_before_each_flush_is_answered_by_itself),
        cmocka_unit_test(who_unlocks_waits_for_operations_only),
        cmocka_unit_test(answers_bring_what_was_there),
        cmocka_unit_test(posts_and_completes_are_counted),
        cmocka_unit_test(what_is_beyond_the_window_is_refused),
        cmocka_unit_test(a_get_is_answered_by_what_is_there_when_it_comes),
        cmocka_unit_test(what_is_to_be_copied_is_said),
        cmocka_unit_test(no_memory_at_the_target_is_told_to_the_origin),
        cmocka_unit_test(a_peer_that_lies_is_found_out),
        cmocka_unit_test(nothing_is_lost_whatever_the_order),
        cmocka_unit_test(nor_where_some_need_no_messages),
        cmocka_unit_test(nor_where_operations_bring_their_locks_along),
        cmocka_unit_test(more_peers_may_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
