/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of the history of links: what is put comes back, a crash costs a
 * minute, and what is damaged is told of and never believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "switchmgrd/history.h"

/* The first minute is the first of a day and has the first block. */
#define T0 (1440LL * 20000)

struct bed {
    char dir[64], names[80], ring[80], said[600];
    int told;
    size_t max;
};

static void told(const char *text, void *arg)
{
    struct bed *b = arg;

    b->told++;
    snprintf(b->said, sizeof(b->said), "%s", text);
}

static int up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    const char *tmp = getenv("TMPDIR");

    snprintf(b->dir, sizeof(b->dir), "%.40s/history.XXXXXX",
             tmp ? tmp : "/tmp");
    if (!mkdtemp(b->dir))
        return -1;
    snprintf(b->names, sizeof(b->names), "%s/names", b->dir);
    snprintf(b->ring, sizeof(b->ring), "%s/ring", b->dir);
    b->max = 1000;
    *state = b;
    return 0;
}

static void clean(const struct bed *b)
{
    char path[96];

    unlink(b->names);
    unlink(b->ring);
    snprintf(path, sizeof(path), "%s.bad", b->names);
    unlink(path);
    snprintf(path, sizeof(path), "%s.bad", b->ring);
    unlink(path);
}

static int down(void **state)
{
    struct bed *b = *state;

    clean(b);
    rmdir(b->dir);
    free(b);
    return 0;
}

static struct history *opened(struct bed *b, int64_t now)
{
    struct history_options o = {b->dir, b->max, told, b};
    struct errbuf err = {""};
    struct history *h = history_open(&o, now, &err);

    assert_non_null(h);
    return h;
}

static void put(struct history *h, const char *name, int64_t now, uint64_t in)
{
    struct history_sample s = {
        .in = in, .out = in + 1, .errors = 2, .known = 1, .state = 1};

    assert_int_equal(history_set(h, name, now, &s), 0);
}

static void minute(struct history *h, int64_t now, uint64_t in)
{
    struct errbuf err = {""};

    put(h, "n0", now, in);
    put(h, "x1:2", now, in * 2);
    assert_int_equal(history_write(h, now, &err), 0);
}

/* The `in` of a link at a time; -1: not known. */
static int64_t in_of(struct history *h, const char *name, enum history_by by,
                     int64_t time)
{
    struct history_sample s;

    assert_true(history_read(h, name, by, time, &s, 1));
    return s.state ? (int64_t)s.in : -1;
}

static void codes_keep_eleven_bits_and_the_order(void **state)
{
    uint16_t before = 0;

    for (uint64_t v = 0; v < 4096; v++)
        assert_int_equal(history_value(history_code(v)), v);
    for (uint64_t v = 1; v < 1ULL << 41; v += v / 97 + 1) {
        uint64_t got = history_value(history_code(v));

        assert_true(got <= v && v - got <= v / 2048);
        assert_true(history_code(v) >= before);
        before = history_code(v);
    }
    assert_int_equal(history_code(UINT64_MAX), UINT16_MAX);
    assert_int_equal(history_value(UINT16_MAX), 4095ULL << 30);
}

static void what_is_put_comes_back_in_its_minute(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);
    struct history_sample day[HISTORY_MINUTES];
    struct errbuf err;
    char name[16];

    for (int i = 0; i < 200; i++) { /* four groups */
        snprintf(name, sizeof(name), "n%d/1", i);
        put(h, name, T0, (uint64_t)i * 10);
    }
    assert_int_equal(history_write(h, T0, &err), 0);
    assert_int_equal(history_write(h, T0 + 1, &err), 0); /* nobody watched */
    history_close(h);
    h = opened(b, T0 + 2);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "n%d/1", i);
        assert_int_equal(in_of(h, name, HISTORY_BY_MINUTE, T0), i * 10);
        assert_int_equal(in_of(h, name, HISTORY_BY_MINUTE, T0 + 1), -1);
    }
    assert_true(history_read(h, "n7/1", HISTORY_BY_MINUTE, T0 + 1, day, 1440));
    assert_int_equal(day[1438].out, 71);
    assert_int_equal(day[1438].errors, 2);
    assert_int_equal(day[1437].state, 0);
    assert_false(history_read(h, "n7", HISTORY_BY_MINUTE, T0, day, 1));
    history_close(h);
    assert_int_equal(b->told, 0);
}

static void a_day_later_a_minute_is_another(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);

    minute(h, T0, 7);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0), 7);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1440), -1);
    minute(h, T0 + 1440, 8);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1440), 8);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0), -1);
    history_close(h);
}

static void an_hour_is_the_mean_of_its_minutes_also_over_a_restart(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);
    struct history_sample s;

    for (int i = 0; i < 60; i++) {
        if (i == 30) { /* without a goodbye; ten minutes away */
            struct history *again = opened(b, T0 + i);

            history_close(h);
            h = again;
        }
        if (i < 30 || i >= 40)
            minute(h, T0 + i, i < 30 ? 100 : 200);
    }
    assert_true(history_read(h, "n0", HISTORY_BY_HOUR, T0 / 60, &s, 1));
    assert_int_equal(s.in, (30 * 100 + 20 * 200) / 50);
    assert_int_equal(s.errors, 100);
    assert_int_equal(s.known, 50);
    history_close(h);
    /* Minutes of an hour that ended while nobody was there. */
    h = opened(b, T0 + 60);
    minute(h, T0 + 61, 5);
    history_close(h);
    h = opened(b, T0 + 60 * 20);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_HOUR, T0 / 60 + 1), 5);
    /* It is still there when the minutes are not. */
    for (int i = 0; i < 3000; i += 200)
        minute(h, T0 + 60 * 20 + i, 1);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_HOUR, T0 / 60), 140);
    history_close(h);
    assert_int_equal(b->told, 0);
}

static uint8_t *block_at(const struct bed *b, off_t at, uint8_t *block)
{
    int fd = open(b->ring, O_RDONLY);

    assert_int_equal(pread(fd, block, HISTORY_BLOCK, at), HISTORY_BLOCK);
    close(fd);
    return block;
}

static void change(const struct bed *b, off_t at, const void *bytes, size_t n)
{
    int fd = open(b->ring, O_WRONLY);

    assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
    close(fd);
}

#define BLOCK_OF(i) (HISTORY_HEAD + (off_t)(i)*HISTORY_BLOCK)

/* A block of the day before is written over, and the power goes at each byte
 * of it. */
static void a_power_cut_costs_the_minute_that_was_written(void **state)
{
    struct bed *b = *state;
    uint8_t old[HISTORY_BLOCK], new[HISTORY_BLOCK], torn[HISTORY_BLOCK];
    struct history *h = opened(b, T0);

    for (int i = 0; i < 4; i++)
        minute(h, T0 + i, 10);
    block_at(b, BLOCK_OF(2), old);
    for (int i = 0; i < 3; i++)
        minute(h, T0 + 1440 + i, 20);
    block_at(b, BLOCK_OF(2), new);
    history_close(h);
    for (size_t k = 0; k <= HISTORY_BLOCK; k++) {
        int64_t in;

        memcpy(torn, new, k);
        memcpy(torn + k, old + k, HISTORY_BLOCK - k);
        change(b, BLOCK_OF(2), torn, HISTORY_BLOCK);
        b->told = 0;
        h = opened(b, T0 + 1443);
        in = in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1442);
        if (memcmp(torn, new, HISTORY_BLOCK) == 0) {
            assert_int_equal(in, 20);
            assert_int_equal(b->told, 0);
        } else {
            assert_int_equal(in, -1);
            assert_int_equal(b->told, memcmp(torn, old, HISTORY_BLOCK) != 0);
        }
        assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1441), 20);
        assert_int_equal(in_of(h, "x1:2", HISTORY_BY_MINUTE, T0 + 1440), 40);
        assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 3), 10);
        minute(h, T0 + 1443, 30);
        assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1443), 30);
        history_close(h);
        change(b, BLOCK_OF(3), torn, 0);
        h = opened(b, T0);
        minute(h, T0 + 3, 10);
        history_close(h);
    }
}

static void a_changed_byte_is_seen_wherever_it_is(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);
    uint8_t block[HISTORY_BLOCK];

    for (int i = 0; i < 3; i++)
        minute(h, T0 + i, 10);
    block_at(b, BLOCK_OF(1), block);
    for (size_t k = 0; k < HISTORY_BLOCK; k++) {
        block[k] ^= 0x40;
        change(b, BLOCK_OF(1) + (off_t)k, &block[k], 1);
        assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1), -1);
        block[k] ^= 0x40;
        change(b, BLOCK_OF(1) + (off_t)k, &block[k], 1);
    }
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1), 10);
    history_close(h);
    assert_int_equal(b->told, 1); /* not once for each block */
    assert_non_null(strstr(b->said, "damaged"));
}

/* What is cut off reads as zeros, and a block may end with some. */
static bool is_whole(const uint8_t *all, off_t cut, off_t end)
{
    for (; cut < end; cut++) {
        if (all[cut])
            return false;
    }
    return true;
}

static void a_ring_cut_off_anywhere_keeps_what_is_before(void **state)
{
    struct bed *b = *state;
    uint8_t all[BLOCK_OF(3)];
    struct history *h = opened(b, T0);
    size_t len;
    struct errbuf err;
    char *names;
    int fd;

    for (int i = 0; i < 3; i++)
        minute(h, T0 + i, 10);
    history_close(h);
    fd = open(b->ring, O_RDONLY);
    assert_int_equal(pread(fd, all, sizeof(all), 0), sizeof(all));
    close(fd);
    names = file_read(b->names, 10000, 0, &len, &err);
    for (off_t k = 0; k <= BLOCK_OF(3); k++) {
        clean(b);
        assert_int_equal(file_replace(b->ring, all, (size_t)k, 0600, 0, &err),
                         0);
        assert_int_equal(file_replace(b->names, names, len, 0600, 0, &err), 0);
        b->told = 0;
        h = opened(b, T0 + 3);
        assert_true(b->told > 0);
        if (k < HISTORY_HEAD) {
            struct history_sample s;

            assert_false(history_read(h, "n0", HISTORY_BY_MINUTE, T0, &s, 1));
        }
        for (int i = 0; i < 3 && k >= HISTORY_HEAD; i++)
            assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + i),
                             is_whole(all, k, BLOCK_OF(i + 1)) ? 10 : -1);
        minute(h, T0 + 4, 11);
        assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 4), 11);
        history_close(h);
    }
    free(names);
}

static int any(const struct history_name *n, void *arg)
{
    ++*(int *)arg;
    return 0;
}

static void names_cut_off_or_changed_are_put_aside(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);
    struct errbuf err;
    char *names, aside[96];
    size_t len;
    int n = 0;

    minute(h, T0, 10);
    history_close(h);
    names = file_read(b->names, 10000, 0, &len, &err);
    for (size_t k = 0; k < len; k++) {
        assert_true(history_names_read(names, k, any, &n, &err) < 0);
        for (int bit = 0; bit < 8; bit++) {
            names[k] ^= (char)(1 << bit);
            assert_true(history_names_read(names, len, any, &n, &err) < 0);
            names[k] ^= (char)(1 << bit);
        }
    }
    assert_int_equal(n, 0);
    assert_int_equal(history_names_read(names, len, any, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(file_replace(b->names, names, 30, 0600, 0, &err), 0);
    h = opened(b, T0 + 1);
    assert_true(b->told >= 2); /* of the names, and of the ring */
    snprintf(aside, sizeof(aside), "%s.bad", b->ring);
    assert_int_equal(access(aside, F_OK), 0);
    minute(h, T0 + 1, 3);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0 + 1), 3);
    assert_int_equal(in_of(h, "n0", HISTORY_BY_MINUTE, T0), -1);
    history_close(h);
    free(names);
}

static void what_is_no_ring_is_put_aside(void **state)
{
    struct bed *b = *state;
    struct history *h;

    assert_int_equal(symlink("/etc/passwd", b->ring), 0);
    h = opened(b, T0);
    assert_int_equal(b->told, 1);
    minute(h, T0, 1);
    history_close(h);
}

/* It has 1000 links, and all its memory. */
static void the_size_is_what_is_said(void **state)
{
    struct bed *b = *state;
    struct history *h;
    struct history_sample s = {.state = 1};
    struct errbuf err;
    struct stat st;
    char name[16];
    off_t group = (off_t)(HISTORY_MINUTES + HISTORY_HOURS) * HISTORY_BLOCK;

    b->max = 2 * HISTORY_COLUMNS;
    h = opened(b, T0);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        errno = 0;
        assert_int_equal(history_set(h, name, T0, &s), i < 126 ? 0 : -1);
        assert_true(i < 126 || errno == ENOSPC);
    }
    assert_int_equal(history_write(h, T0, &err), 0);
    assert_int_equal(stat(b->ring, &st), 0);
    assert_int_equal(st.st_size, HISTORY_HEAD + 2 * group);
    history_close(h);
}

static void a_link_that_is_gone_gives_way_and_leaves_nothing(void **state)
{
    struct bed *b = *state;
    struct history *h;
    struct history_sample s = {.state = 1};
    struct errbuf err;

    b->max = 2;
    h = opened(b, T0);
    minute(h, T0, 10);
    put(h, "n0", T0 + 1439, 1);
    assert_int_equal(history_set(h, "new", T0 + 1439, &s), -1);
    put(h, "n0", T0 + 1440, 1);
    assert_int_equal(history_set(h, "new", T0 + 1440, &s), 0);
    assert_int_equal(history_write(h, T0 + 1440, &err), 0);
    assert_false(history_read(h, "x1:2", HISTORY_BY_MINUTE, T0, &s, 1));
    assert_int_equal(in_of(h, "new", HISTORY_BY_MINUTE, T0), -1);
    assert_int_equal(in_of(h, "new", HISTORY_BY_HOUR, T0 / 60), -1);
    history_close(h);
    h = opened(b, T0 + 1441);
    assert_false(history_read(h, "x1:2", HISTORY_BY_MINUTE, T0, &s, 1));
    assert_int_equal(in_of(h, "new", HISTORY_BY_MINUTE, T0 + 1440), 0);
    /* Right after a start nobody has been seen, and nobody is gone. */
    assert_int_equal(history_set(h, "newer", T0 + 3 * 1440, &s), 0);
    history_close(h);
    h = opened(b, T0 + 9 * 1440);
    assert_int_equal(history_set(h, "newest", T0 + 9 * 1440, &s), -1);
    history_close(h);
}

/* Nanoseconds of this process for so many links that get no column, when all
 * columns are taken and may be had again, were they older. */
static double refusing(struct bed *b, size_t columns)
{
    const int64_t now = T0 + 1440;
    struct history_sample s = {.state = 1};
    struct timespec from, to;
    struct history *h;
    char name[16];

    b->max = columns;
    h = opened(b, T0);
    for (size_t i = 0; i < columns; i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        assert_int_equal(history_set(h, name, now, &s), 0);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < 32 * 1024; i++) {
        snprintf(name, sizeof(name), "x%d", i);
        assert_int_equal(history_set(h, name, now, &s), -1);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    history_close(h);
    clean(b);
    return (double)(to.tv_sec - from.tv_sec) * 1e9 +
           (double)(to.tv_nsec - from.tv_nsec);
}

/* Of a fabric of 65 536 hosts most links have no column; to look through all
 * columns for each of them took longer than the minute.  With each look it is
 * some hundred times that of one column, whatever the machine does besides. */
static void links_without_a_column_cost_no_look_at_all_columns(void **state)
{
    double one = refusing(*state, 1), many = refusing(*state, 16384);

    assert_true(many < 50 * one);
}

static void names_that_are_none_are_refused(void **state)
{
    struct bed *b = *state;
    struct history *h = opened(b, T0);
    struct history_sample s = {.state = 1};
    char name[2 * SF_HISTORY_NAME_MAX];

    assert_int_equal(history_set(h, "", T0, &s), -1);
    assert_int_equal(history_set(h, "n 0", T0, &s), -1);
    assert_int_equal(history_set(h, "n\n0", T0, &s), -1);
    assert_int_equal(history_set(h, "../x", T0, &s), -1);
    memset(name, 'n', sizeof(name));
    name[SF_HISTORY_NAME_MAX] = '\0';
    assert_int_equal(history_set(h, name, T0, &s), -1);
    name[SF_HISTORY_NAME_MAX - 1] = '\0';
    assert_int_equal(history_set(h, name, T0, &s), 0);
    history_close(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(codes_keep_eleven_bits_and_the_order),
        TEST(what_is_put_comes_back_in_its_minute),
        TEST(a_day_later_a_minute_is_another),
        TEST(an_hour_is_the_mean_of_its_minutes_also_over_a_restart),
        TEST(a_power_cut_costs_the_minute_that_was_written),
        TEST(a_changed_byte_is_seen_wherever_it_is),
        TEST(a_ring_cut_off_anywhere_keeps_what_is_before),
        TEST(names_cut_off_or_changed_are_put_aside),
        TEST(what_is_no_ring_is_put_aside),
        TEST(the_size_is_what_is_said),
        TEST(a_link_that_is_gone_gives_way_and_leaves_nothing),
        TEST(links_without_a_column_cost_no_look_at_all_columns),
        TEST(names_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
