/* SPDX-License-Identifier: BSD-3-Clause
 * Views of files and plans of collective access, against what a walk byte by
 * byte says.  Failures name a seed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "base/limits.h"
#include "impi/io_plan.h"

#define SEEDS 2000
#define BYTES 4096 /* of the stream that is looked at */
#define PROCS 5

static uint64_t state;

static int64_t draw(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* A filetype of a few runs; *size: its bytes. */
static int64_t draw_type(struct impi_run *runs, uint32_t n, bool rising,
                         uint64_t *size)
{
    int64_t at = draw(10);

    *size = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct impi_run *r = &runs[i];

        if (!rising)
            at = draw(200);
        *r = (struct impi_run){at, 1 + (uint64_t)draw(20),
                               1 + (uint64_t)draw(4), 0};
        r->stride = (int64_t)r->len + (rising ? draw(10) : draw(30) - 10);
        *size += r->len * r->repeat;
        at += (int64_t)(r->repeat - 1) * r->stride + (int64_t)r->len + draw(10);
    }
    return rising ? at - runs[0].disp + draw(10) : draw(300);
}

/* Places of the stream's bytes, by the definition. */
static void walk(const struct impi_run *runs, uint32_t n, int64_t disp,
                 int64_t extent, int64_t *place, size_t bytes)
{
    size_t k = 0;

    for (int64_t tile = 0; k < bytes; tile++)
        for (uint32_t i = 0; i < n; i++)
            for (uint64_t b = 0; b < runs[i].repeat; b++)
                for (uint64_t j = 0; j < runs[i].len && k < bytes; j++)
                    place[k++] = disp + tile * extent + runs[i].disp +
                                 (int64_t)b * runs[i].stride + (int64_t)j;
}

static void places_are(const struct impi_io_list *l, const int64_t *place,
                       uint64_t bytes)
{
    struct impi_io_cursor c;
    int64_t at;
    uint64_t len, k = 0;

    assert_true(l->bytes == bytes);
    impi_io_start(&c, l);
    while (impi_io_next(&c, INT64_MAX, &at, &len))
        for (uint64_t j = 0; j < len; j++, k++)
            assert_true(k < bytes && place[k] == at + (int64_t)j);
    assert_true(k == bytes);
}

static void an_access_is_where_the_view_says(void **unused)
{
    static int64_t place[BYTES];

    for (state = 1; state < SEEDS; state++) {
        struct impi_run runs[5];
        struct impi_io_list l = {0};
        struct impi_io_view v;
        uint64_t seed = state, size, pos, len, before;
        uint32_t n = 1 + (uint32_t)draw(5);
        bool rising = draw(4) > 0;
        int64_t disp = 1000 + draw(50), extent, at;

        if (draw(3) == 0)
            n = 1;
        extent = draw_type(runs, n, rising, &size);
        assert_int_equal(impi_io_view_init(&v, disp, 1, extent, runs, n), 0);
        if (rising)
            assert_true(v.rising);
        walk(runs, n, disp, extent, place, BYTES);
        pos = (uint64_t)draw(BYTES / 2);
        len = (uint64_t)draw(BYTES / 2);
        assert_int_equal(impi_io_view_cut(&v, pos, len, &l), 0);
        places_are(&l, place + pos, len);
        assert_true(impi_io_view_at(&v, pos) == place[pos]);
        if (v.rising) {
            at = place[draw(BYTES / 2)] + draw(5);
            for (before = 0; before < BYTES && place[before] < at; before++)
                ;
            assert_true(impi_io_view_before(&v, at) == before);
        }
        impi_io_list_free(&l);
        impi_io_view_free(&v);
        state = seed;
    }
    (void)unused;
}

static void a_regular_view_is_one_run(void **unused)
{
    struct impi_run block = {0, 4096, 1, 0};
    struct impi_io_view v;
    struct impi_io_list l = {0};

    assert_int_equal(impi_io_view_init(&v, 4096, 1, 4 * 4096, &block, 1), 0);
    assert_int_equal(impi_io_view_cut(&v, 0, 4096 * 1000, &l), 0);
    assert_int_equal(l.n, 1);
    impi_io_list_free(&l);
    assert_int_equal(impi_io_view_cut(&v, 100, 4096 * 1000, &l), 0);
    assert_int_equal(l.n, 3);
    impi_io_list_free(&l);
    impi_io_view_free(&v);
    (void)unused;
}

static void what_no_file_has_is_refused(void **unused)
{
    struct impi_run far = {INT64_MAX / 2, 8, 1, 0}, one = {0, 8, 1, 0},
                    low = {-16, 8, 1, 0};
    struct impi_io_view v;
    struct impi_io_list l = {0};

    assert_int_equal(impi_io_view_init(&v, 0, 1, 8, &far, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(impi_io_view_init(&v, 0, 3, 8, &one, 1), -1);
    assert_int_equal(impi_io_view_init(&v, -1, 1, 8, &one, 1), -1);
    assert_int_equal(impi_io_view_init(&v, 0, 1, 8, &low, 1), 0);
    assert_int_equal(impi_io_view_cut(&v, 0, 8, &l), -1);
    assert_int_equal(errno, EINVAL);
    impi_io_view_free(&v);
    assert_int_equal(impi_io_view_init(&v, 0, 1, 1 << 20, &one, 1), 0);
    assert_int_equal(impi_io_view_cut(&v, UINT64_C(1) << 60, 8, &l), -1);
    impi_io_view_free(&v);
    (void)unused;
}

/* ---- plans ---- */

struct proc {
    struct impi_io_part part;
    struct impi_io_list own;
};

static void draw_procs(struct proc *p, int n, bool interleaved)
{
    for (int i = 0; i < n; i++) {
        struct impi_run runs[8];
        struct impi_io_view v;
        uint64_t size;
        uint32_t nruns = 1 + (uint32_t)draw(8);
        int64_t extent = draw_type(runs, nruns, true, &size);

        memset(&p[i], 0, sizeof(p[i]));
        if (draw(5) == 0)
            continue;
        assert_int_equal(
            impi_io_view_init(&v, interleaved ? draw(100000) : i * 1000000 + 5,
                              1, extent, runs, nruns),
            0);
        assert_int_equal(impi_io_view_cut(&v, (uint64_t)draw(100),
                                          1 + (uint64_t)draw(50000), &p[i].own),
                         0);
        p[i].part.bytes = p[i].own.bytes;
        p[i].part.nruns = p[i].own.n;
        p[i].part.first = impi_io_list_first(&p[i].own);
        p[i].part.end = impi_io_list_end(&p[i].own);
        p[i].part.list = p[i].own;
        impi_io_view_free(&v);
    }
}

/* Through records and lists, as they travel. */
static void send_parts(const struct proc *p, struct impi_io_part *to, int n)
{
    uint8_t record[IMPI_IO_RECORD_SIZE];
    struct errbuf err = {""};

    for (int i = 0; i < n; i++) {
        impi_io_record_encode(&p[i].part, record);
        assert_int_equal(impi_io_record_decode(&to[i], record, &err), 0);
        if (!impi_io_has_list(&to[i])) {
            uint8_t *list = malloc(p[i].own.n * 32);

            impi_io_list_encode(&p[i].own, list);
            assert_int_equal(
                impi_io_list_decode(&to[i], list, p[i].own.n * 32, &err), 0);
            free(list);
        }
        assert_true(to[i].list.bytes == p[i].own.bytes);
    }
}

/* Every byte of every process is in one window of one aggregator, in its
 * place. */
static void a_plan_moves_each_byte_once(void **unused)
{
    for (state = 1; state < SEEDS / 4; state++) {
        struct proc p[PROCS];
        struct impi_io_part parts[PROCS];
        struct impi_io_plan plan;
        const struct impi_io_list *lists[PROCS];
        uint64_t seed = state, got[PROCS] = {0};

        draw_procs(p, PROCS, true);
        send_parts(p, parts, PROCS);
        impi_io_plan_make(&plan, parts, PROCS, 1 + (uint32_t)draw(PROCS + 2),
                          4096 + draw(100000));
        for (int i = 0; i < PROCS; i++)
            lists[i] = &parts[i].list;
        for (uint32_t k = 0; k < plan.naggs; k++) {
            assert_int_equal(
                impi_io_plan_number(&plan, impi_io_plan_rank(&plan, k)), k);
            for (uint32_t round = 0; round < plan.rounds; round++) {
                struct impi_io_merge m;
                int64_t first, end, at, last = 0;
                uint64_t len, mem;
                uint32_t who;

                if (!impi_io_plan_window(&plan, k, round, &first, &end))
                    continue;
                assert_int_equal(
                    impi_io_merge_start(&m, lists, PROCS, first, end), 0);
                while (impi_io_merge_next(&m, &who, &at, &len, &mem)) {
                    assert_true(at >= first && at + (int64_t)len <= end);
                    assert_true(at >= last);
                    assert_true(impi_io_plan_meets(&plan, k, &parts[who]));
                    assert_true(mem == got[who]);
                    assert_true(impi_io_list_before(lists[who], at) == mem);
                    got[who] += len;
                    last = at;
                }
                impi_io_merge_end(&m);
            }
        }
        for (int i = 0; i < PROCS; i++) {
            assert_true(plan.naggs == 0 || got[i] == p[i].own.bytes);
            impi_io_list_free(&p[i].own);
            impi_io_list_free(&parts[i].list);
        }
        state = seed;
    }
    (void)unused;
}

static void parts_behind_each_other_need_no_plan(void **unused)
{
    struct proc p[PROCS];
    struct impi_io_part parts[PROCS];
    struct impi_io_plan plan;

    state = 7;
    draw_procs(p, PROCS, false);
    send_parts(p, parts, PROCS);
    impi_io_plan_make(&plan, parts, PROCS, PROCS, 65536);
    assert_int_equal(plan.naggs, 0);
    for (int i = 0; i < PROCS; i++) {
        impi_io_list_free(&p[i].own);
        impi_io_list_free(&parts[i].list);
    }
    (void)unused;
}

static int wrong(size_t at, uint64_t value)
{
    struct impi_run run = {100, 10, 3, 20};
    struct impi_io_part p = {.bytes = 30, .nruns = 1, .first = 100, .end = 150};
    uint8_t record[IMPI_IO_RECORD_SIZE];
    struct errbuf err = {""};
    struct impi_io_part to;
    int rc;

    p.list = (struct impi_io_list){&run, 1, 1, 30};
    impi_io_record_encode(&p, record);
    if (at < sizeof(record))
        be_store64(record + at, value);
    rc = impi_io_record_decode(&to, record, &err);
    impi_io_list_free(&to.list);
    return rc;
}

static void records_that_lie_are_refused(void **unused)
{
    assert_int_equal(wrong(SIZE_MAX, 0), 0);
    assert_int_equal(wrong(0, UINT64_C(1) << 40), -1);
    assert_int_equal(wrong(16, 31), -1);
    assert_int_equal(wrong(24, SF_IMPI_IO_RUNS_MAX + 1), -1);
    assert_int_equal(wrong(32, 99), -1);
    assert_int_equal(wrong(40, 151), -1);
    assert_int_equal(wrong(48, 50), -1);
    assert_int_equal(wrong(56, 0), -1);
    assert_int_equal(wrong(56, UINT64_MAX), -1);
    assert_int_equal(wrong(64, UINT64_MAX / 2), -1);
    assert_int_equal(wrong(72, 9), -1);
    assert_int_equal(wrong(72, (uint64_t)-20), -1);
    (void)unused;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_is_where_the_view_says),
        cmocka_unit_test(a_regular_view_is_one_run),
        cmocka_unit_test(what_no_file_has_is_refused),
        cmocka_unit_test(a_plan_moves_each_byte_once),
        cmocka_unit_test(parts_behind_each_other_need_no_plan),
        cmocka_unit_test(records_that_lie_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
