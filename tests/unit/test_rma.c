/* SPDX-License-Identifier: BSD-3-Clause
 * One-sided communication among several engines in one process.  Messages of
 * a pair stay in order; which pair goes on is chosen by a seed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "base/limits.h"
#include "impi/rma.h"
#include "nomem.h"

#define N 4
#define CELLS 16

struct msg {
    struct msg *next;
    size_t len;
    uint8_t bytes[];
};

static struct {
    struct impi_rma *rma[N];
    struct impi_rma_win *win[N];
    int64_t mem[N][CELLS];
    struct msg *from[N + 1][N]; /* [to][from], oldest first */
    uint64_t random;
    int sent;
    const void *data;     /* of the last message, */
    bool lasts;           /* and what was said of them */
    int copies, may_copy; /* so many of them work */
    bool may_move, hidden, refuses;
    struct moving {
        struct impi_rma_place there;
        void *own, *token;
        bool write;
    } moving[8]; /* by the network, the oldest first */
    size_t nmoving;
    _Alignas(64) uint8_t words[N][256];
} w;

static uint32_t draw(uint32_t n)
{
    w.random = w.random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(w.random >> 33) % n;
}

static void send_msg(void *arg, uint32_t peer, const uint8_t *head,
                     const void *data, size_t len, bool lasts)
{
    size_t own = (size_t)(uintptr_t)arg;
    struct msg **p = &w.from[peer][own];
    struct msg *m = malloc(sizeof(*m) + IMPI_RMA_HEAD + len);

    assert_non_null(m);
    m->next = NULL;
    m->len = IMPI_RMA_HEAD + len;
    memcpy(m->bytes, head, IMPI_RMA_HEAD);
    if (len > 0)
        memcpy(m->bytes + IMPI_RMA_HEAD, data, len);
    while (*p)
        p = &(*p)->next;
    *p = m;
    w.sent++;
    w.data = data;
    w.lasts = lasts;
}

static void pause_change(void *arg, const struct impi_rma_win *win,
                         uint32_t target, uint32_t who, unsigned round)
{
    (void)arg;
    (void)win;
    (void)target;
    (void)who;
    (void)round;
    sched_yield();
}

static int copy_far(void *arg, const struct impi_rma_win *win, uint32_t target,
                    uint64_t address, void *own, size_t len, bool write)
{
    void *there = (void *)(uintptr_t)address;

    (void)arg;
    (void)win;
    (void)target;
    w.copies++;
    if (w.copies > w.may_copy)
        return -1;
    memcpy(write ? there : own, write ? own : there, len);
    return 0;
}

static bool may_move(void *arg, uint32_t peer, size_t len, bool write)
{
    (void)arg;
    (void)write;
    assert_true(peer < N && len > 0);
    return w.may_move;
}

static bool begin_move(void *arg, uint32_t peer,
                       const struct impi_rma_place *there, void *own,
                       size_t len, bool write, void *token)
{
    (void)arg;
    assert_int_equal(there->key, 40 + peer);
    assert_int_equal(there->size, len);
    if (w.refuses)
        return false;
    w.moving[w.nmoving++] = (struct moving){*there, own, token, write};
    return true;
}

static bool expose(void *arg, const struct impi_rma_win *win,
                   struct impi_rma_place *own)
{
    size_t i = (size_t)(uintptr_t)arg;

    assert_ptr_equal(win, w.win[i]);
    *own =
        (struct impi_rma_place){(uintptr_t)w.mem[i], sizeof(w.mem[i]), 40 + i};
    return !w.hidden;
}

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

static struct impi_rma_ops ops = {.send = send_msg,
                                  .copy = copy_far,
                                  .may_move = may_move,
                                  .move = begin_move,
                                  .expose = expose,
                                  .pause = pause_change};

static void begin(uint64_t seed)
{
    static const uint32_t world[N] = {0, 1, 2, 3};

    memset(&w, 0, sizeof(w));
    ops.early = false;
    w.random = seed;
    for (uint32_t i = 0; i < N; i++) {
        w.rma[i] = impi_rma_create(i, N, &ops, (void *)(uintptr_t)i);
        w.win[i] = impi_rma_win_create(w.rma[i], 8, world, N, i);
        assert_int_equal(
            impi_rma_win_memory(w.win[i], w.mem[i], sizeof(w.mem[i])), 0);
    }
}

static struct impi_rma_words *words(uint32_t target)
{
    return (struct impi_rma_words *)(void *)w.words[target];
}

/* Some have the memory of others mapped, or only its words. */
static void begin_mapped(uint64_t seed)
{
    begin(seed);
    assert_true(impi_rma_words_size(N) <= sizeof(w.words[0]));
    for (uint32_t i = 0; i < N; i++)
        impi_rma_win_words(w.win[i], words(i));
    for (uint32_t i = 0; i < N * N; i++) {
        uint32_t how = draw(3);

        if (how > 0)
            impi_rma_win_reach(w.win[i / N], i % N, words(i % N),
                               how == 1 ? w.mem[i % N] : NULL,
                               sizeof(w.mem[0]));
    }
}

/* All of the newest release. */
static void begin_early(uint64_t seed)
{
    begin(seed);
    ops.early = true;
}

static void begin_early_mapped(uint64_t seed)
{
    begin_mapped(seed);
    ops.early = true;
}

/* One message, or false: there is none. */
static bool step(void)
{
    uint32_t first = draw(N * N);

    for (uint32_t i = 0; i < N * N; i++) {
        uint32_t to = (first + i) / N % N, from = (first + i) % N;
        struct msg *m = w.from[to][from];
        struct errbuf err = {""};

        if (!m)
            continue;
        w.from[to][from] = m->next;
        assert_int_equal(
            impi_rma_input(w.rma[to], from, m->bytes, m->len, &err), 0);
        free(m);
        return true;
    }
    return false;
}

static void run(void)
{
    while (step())
        ;
}

static void end(void)
{
    run();
    for (int i = 0; i < N; i++)
        impi_rma_destroy(w.rma[i]);
}

static void drop_messages(void)
{
    for (int i = 0; i < N * N; i++) {
        struct msg **from = &w.from[i / N][i % N];

        while (*from) {
            struct msg *next = (*from)->next;

            free(*from);
            *from = next;
        }
    }
}

static void flush(uint32_t own, uint32_t target)
{
    impi_rma_flush(w.win[own], target);
    while (!impi_rma_is_flushed(w.win[own], target))
        assert_true(step());
}

static struct impi_rma_args at(enum impi_rma_kind kind, uint32_t target,
                               int cell, int cells)
{
    return (struct impi_rma_args){.kind = kind,
                                  .target = target,
                                  .disp = cell * 8,
                                  .len = (uint64_t)cells * 8};
}

static void put(uint32_t own, uint32_t target, int cell, int64_t v)
{
    struct impi_rma_args a = at(IMPI_RMA_PUT, target, cell, 1);

    a.data = &v;
    assert_int_equal(impi_rma_start(w.win[own], &a, NULL), 0);
}

static int64_t fetch(uint32_t own, uint32_t target, int cell, uint32_t op,
                     int64_t v)
{
    struct impi_rma_args a = at(IMPI_RMA_GACC, target, cell, 1);
    struct impi_rma_op o = {0};
    int64_t old = -1;

    a.op = op;
    a.elem = IMPI_RMA_INT64;
    a.data = &v;
    a.result = &old;
    assert_int_equal(impi_rma_start(w.win[own], &a, &o), 0);
    while (!o.done)
        assert_true(step());
    assert_int_equal(o.error, IMPI_RMA_OK);
    return old;
}

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

static void refused(uint32_t own, const struct impi_rma_args *a, uint32_t error)
{
    struct impi_rma_refusal r;
    struct impi_rma_op o = {0};

    assert_int_equal(impi_rma_start(w.win[own], a, &o), 0);
    run();
    assert_true(o.done);
    assert_int_equal(o.error, error);
    assert_true(impi_rma_win_refused(w.win[own], &r));
    assert_int_equal(r.target, a->target);
    assert_int_equal(r.error, error);
    assert_int_equal(r.disp, a->disp);
    assert_false(impi_rma_win_refused(w.win[own], &r));
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

/* ---- datatypes ---- */

static struct impi_typemap *every_second(int64_t extent)
{
    const struct impi_run run = {0, 8, 3, 16};

    return impi_typemap_make(extent, &run, 1);
}

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

/* ---- operations ---- */

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

/* ---- peers that lie ---- */

/* A header as rma.c lays it out. */
static void forge(uint8_t *m, uint8_t kind, uint16_t op, uint32_t type,
                  uint64_t id, uint64_t count, uint64_t len)
{
    memset(m, 0, IMPI_RMA_HEAD);
    m[0] = 1;
    m[1] = kind;
    be_store32(m + 4, (uint32_t)op << 16 | IMPI_RMA_INT64);
    be_store32(m + 8, type);
    be_store64(m + 16, 8);
    be_store64(m + 24, id);
    be_store64(m + 40, count);
    be_store64(m + 48, len);
}

static void breaks(const uint8_t *m, size_t len)
{
    struct errbuf err = {""};

    assert_int_equal(impi_rma_input(w.rma[0], 1, m, len, &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_true(err.text[0] != '\0');
}

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

/* ---- locks that operations bring along ---- */

static bool lock(uint32_t own, uint32_t target, enum impi_rma_lock mode)
{
    return impi_rma_lock(w.win[own], target, mode, true);
}

static void unlock(uint32_t own, uint32_t target)
{
    impi_rma_unlock(w.win[own], target);
    while (!impi_rma_is_flushed(w.win[own], target))
        assert_true(step());
}

static void get(uint32_t own, uint32_t target, int cell, int64_t *v,
                struct impi_rma_op *o, bool now)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, target, cell, 1);

    a.result = v;
    a.now = now;
    assert_int_equal(impi_rma_start(w.win[own], &a, o), 0);
}

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
    ops.early = early;
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
    ops.early = true;
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

/* ---- data that go straight to their place ---- */

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

static struct msg *next_msg(uint32_t to, uint32_t from)
{
    struct msg *m = w.from[to][from];

    assert_non_null(m);
    w.from[to][from] = m->next;
    return m;
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

/* ---- memory that is mapped ---- */

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

/* Threads in place of processes. */
enum { TIMES = 20000 };
static struct {
    _Alignas(64) uint8_t words[256];
    long locked, changed; /* under each of both */
    int readers;
} t;

static void *use_words(void *arg)
{
    struct impi_rma_words *words = (struct impi_rma_words *)(void *)t.words;
    uint32_t rank = (uint32_t)(uintptr_t)arg, who;

    for (int i = 0; i < TIMES; i++) {
        enum impi_rma_lock mode = i % 3 ? IMPI_RMA_EXCLUSIVE : IMPI_RMA_SHARED;
        uint32_t number = impi_rma_words_ask(words, mode, rank);
        bool next;

        while (!impi_rma_words_enter(words, number, mode, &next))
            sched_yield();
        if (mode == IMPI_RMA_EXCLUSIVE && t.readers == 0)
            t.locked++;
        else if (mode == IMPI_RMA_SHARED)
            __atomic_add_fetch(&t.readers, 1, __ATOMIC_SEQ_CST);
        if (mode == IMPI_RMA_SHARED)
            __atomic_sub_fetch(&t.readers, 1, __ATOMIC_SEQ_CST);
        impi_rma_words_leave(words, mode, rank);
        while (!impi_rma_words_begin(words, rank, &who))
            sched_yield();
        t.changed++;
        impi_rma_words_end(words);
    }
    return NULL;
}

static void words_hold_between_threads(void **state)
{
    pthread_t thread[3];

    (void)state;
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_words, (void *)i),
                         0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(t.changed, 3 * TIMES);
    assert_int_equal(t.locked, 3 * (TIMES - (TIMES + 2) / 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there_after_a_flush),
        cmocka_unit_test(one_operation_before_each_flush_is_answered_by_itself),
        cmocka_unit_test(who_unlocks_waits_for_operations_only),
        cmocka_unit_test(answers_bring_what_was_there),
        cmocka_unit_test(locks_are_given_in_the_order_of_asking),
        cmocka_unit_test(posts_and_completes_are_counted),
        cmocka_unit_test(what_is_beyond_the_window_is_refused),
        cmocka_unit_test(attached_pieces_are_addresses),
        cmocka_unit_test(neighbouring_pieces_are_as_one),
        cmocka_unit_test(a_get_is_answered_by_what_is_there_when_it_comes),
        cmocka_unit_test(what_is_to_be_copied_is_said),
        cmocka_unit_test(no_memory_at_the_target_is_told_to_the_origin),
        cmocka_unit_test(a_type_travels_once),
        cmocka_unit_test(operations_do_what_mpi_says),
        cmocka_unit_test(complex_and_pairs),
        cmocka_unit_test(a_peer_that_lies_is_found_out),
        cmocka_unit_test(more_peers_may_come),
        cmocka_unit_test(what_waits_for_a_lost_peer_ends),
        cmocka_unit_test(locks_of_a_lost_peer_are_given_back),
        cmocka_unit_test(what_came_before_a_lock_goes_with_a_lost_peer),
        cmocka_unit_test(a_window_with_others_asks_for_its_locks_first),
        cmocka_unit_test(nothing_is_lost_whatever_the_order),
        cmocka_unit_test(nor_where_some_need_no_messages),
        cmocka_unit_test(nor_where_operations_bring_their_locks_along),
        cmocka_unit_test(one_operation_takes_its_lock_and_gives_it_back),
        cmocka_unit_test(messages_of_longer_epochs),
        cmocka_unit_test(what_is_waited_for_by_itself_goes_out_at_once),
        cmocka_unit_test(a_lock_without_operations_is_taken),
        cmocka_unit_test(what_comes_before_its_turn_is_kept_in_order),
        cmocka_unit_test(a_type_is_kept_with_what_it_is_for),
        cmocka_unit_test(some_operations_need_the_lock_first),
        cmocka_unit_test(older_releases_get_what_they_know),
        cmocka_unit_test(who_lies_about_locks_is_found_out),
        cmocka_unit_test(long_data_go_straight_to_their_place),
        cmocka_unit_test(what_has_no_place_is_kept_apart),
        cmocka_unit_test(an_answer_has_its_place_to_itself),
        cmocka_unit_test(what_is_mapped_needs_no_message),
        cmocka_unit_test(what_can_be_copied_takes_messages_only_where_it_fails),
        cmocka_unit_test(what_is_exposed_is_moved_without_messages),
        cmocka_unit_test(what_cannot_be_moved_takes_messages),
        cmocka_unit_test(what_ends_an_epoch_waits_for_moves),
        cmocka_unit_test(turns_are_one_line_for_both_ways),
        cmocka_unit_test(words_hold_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
