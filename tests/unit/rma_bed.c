/* SPDX-License-Identifier: BSD-3-Clause */
#include "rma_bed.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"

struct rma_bed w;

uint32_t draw(uint32_t n)
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

struct impi_rma_ops rma_bed_ops = {.send = send_msg,
                                   .copy = copy_far,
                                   .may_move = may_move,
                                   .move = begin_move,
                                   .expose = expose,
                                   .pause = pause_change};

void begin(uint64_t seed)
{
    static const uint32_t world[N] = {0, 1, 2, 3};

    memset(&w, 0, sizeof(w));
    rma_bed_ops.early = false;
    w.random = seed;
    for (uint32_t i = 0; i < N; i++) {
        w.rma[i] = impi_rma_create(i, N, &rma_bed_ops, (void *)(uintptr_t)i);
        w.win[i] = impi_rma_win_create(w.rma[i], 8, world, N, i);
        assert_int_equal(
            impi_rma_win_memory(w.win[i], w.mem[i], sizeof(w.mem[i])), 0);
    }
}

struct impi_rma_words *words(uint32_t target)
{
    return (struct impi_rma_words *)(void *)w.words[target];
}

void begin_mapped(uint64_t seed)
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

void begin_early(uint64_t seed)
{
    begin(seed);
    rma_bed_ops.early = true;
}

void begin_early_mapped(uint64_t seed)
{
    begin_mapped(seed);
    rma_bed_ops.early = true;
}

bool step(void)
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

void run(void)
{
    while (step())
        ;
}

void end(void)
{
    run();
    for (int i = 0; i < N; i++)
        impi_rma_destroy(w.rma[i]);
}

void drop_messages(void)
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

struct msg *next_msg(uint32_t to, uint32_t from)
{
    struct msg *m = w.from[to][from];

    assert_non_null(m);
    w.from[to][from] = m->next;
    return m;
}

void flush(uint32_t own, uint32_t target)
{
    impi_rma_flush(w.win[own], target);
    while (!impi_rma_is_flushed(w.win[own], target))
        assert_true(step());
}

struct impi_rma_args at(enum impi_rma_kind kind, uint32_t target, int cell,
                        int cells)
{
    return (struct impi_rma_args){.kind = kind,
                                  .target = target,
                                  .disp = cell * 8,
                                  .len = (uint64_t)cells * 8};
}

void put(uint32_t own, uint32_t target, int cell, int64_t v)
{
    struct impi_rma_args a = at(IMPI_RMA_PUT, target, cell, 1);

    a.data = &v;
    assert_int_equal(impi_rma_start(w.win[own], &a, NULL), 0);
}

void get(uint32_t own, uint32_t target, int cell, int64_t *v,
         struct impi_rma_op *o, bool now)
{
    struct impi_rma_args a = at(IMPI_RMA_GET, target, cell, 1);

    a.result = v;
    a.now = now;
    assert_int_equal(impi_rma_start(w.win[own], &a, o), 0);
}

int64_t fetch(uint32_t own, uint32_t target, int cell, uint32_t op, int64_t v)
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

bool lock(uint32_t own, uint32_t target, enum impi_rma_lock mode)
{
    return impi_rma_lock(w.win[own], target, mode, true);
}

void unlock(uint32_t own, uint32_t target)
{
    impi_rma_unlock(w.win[own], target);
    while (!impi_rma_is_flushed(w.win[own], target))
        assert_true(step());
}

void refused(uint32_t own, const struct impi_rma_args *a, uint32_t error)
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

struct impi_typemap *every_second(int64_t extent)
{
    const struct impi_run run = {0, 8, 3, 16};

    return impi_typemap_make(extent, &run, 1);
}

void forge(uint8_t *m, uint8_t kind, uint16_t op, uint32_t type, uint64_t id,
           uint64_t count, uint64_t len)
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

void breaks(const uint8_t *m, size_t len)
{
    struct errbuf err = {""};

    assert_int_equal(impi_rma_input(w.rma[0], 1, m, len, &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_true(err.text[0] != '\0');
}
