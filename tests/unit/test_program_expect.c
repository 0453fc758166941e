/* SPDX-License-Identifier: BSD-3-Clause
 * The holder keeps the way into its program open until a task is in.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elan/program_expect.h"

/* A tree with a group "here": what is written to its cgroup.procs comes out
 * of `out`, which ends when nobody can write any more. */
struct tree {
    char path[32], file[64];
    int out;
    struct program_cgroup group;
};

static void plant(struct tree *t)
{
    char dir[48];

    *t = (struct tree){.path = "/tmp/expect.XXXXXX"};
    assert_non_null(mkdtemp(t->path));
    snprintf(dir, sizeof(dir), "%s/here", t->path);
    snprintf(t->file, sizeof(t->file), "%s/cgroup.procs", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(mkfifo(t->file, 0600), 0);
    t->out = open(t->file, O_RDONLY | O_NONBLOCK);
    assert_true(t->out >= 0);
    t->group = (struct program_cgroup){
        .tree = open(t->path, O_PATH), .dir = -1, .own = true};
    strcpy(t->group.path, "/here/elan-prg-7.1");
}

static void fell(struct tree *t)
{
    close(t->out);
    close(t->group.tree);
    unlink(t->file);
    *strrchr(t->file, '/') = '\0';
    rmdir(t->file);
    assert_int_equal(rmdir(t->path), 0);
}

/* Moves until the end: "0" is the writer itself. */
static int count_moves(const struct tree *t)
{
    int n = 0;
    char c;

    fcntl(t->out, F_SETFL, 0);
    while (read(t->out, &c, 1) == 1)
        n += c == '0';
    return n;
}

static void way_is_kept_open_until_a_task_is_in(void **state)
{
    struct program_expect x;
    struct tree t;

    plant(&t);
    program_expect_init(&x);
    program_expect_begin(&x, &t.group);
    assert_true(program_expect_move(&x) > 0);
    assert_true(program_expect_move(&x) > 0);
    program_expect_end(&x);
    assert_int_equal(program_expect_move(&x), -1);
    program_expect_end(&x);
    assert_int_equal(count_moves(&t), 2);
    fell(&t);
}

static void way_is_not_kept_open_for_ever(void **state)
{
    struct program_expect x;
    struct tree t;
    int n = 0;

    plant(&t);
    program_expect_init(&x);
    program_expect_begin(&x, &t.group);
    while (program_expect_move(&x) > 0)
        assert_true(++n < 100);
    assert_int_equal(program_expect_move(&x), -1);
    assert_int_equal(n, 12);
    assert_int_equal(count_moves(&t), 12);
    fell(&t);
}

/* Slurm's own group: nobody is moved. */
static void group_that_is_not_ours_is_left_alone(void **state)
{
    struct program_expect x;
    struct tree t;

    plant(&t);
    t.group.own = false;
    program_expect_init(&x);
    program_expect_begin(&x, &t.group);
    assert_int_equal(program_expect_move(&x), -1);
    assert_int_equal(count_moves(&t), 0);
    fell(&t);
}

/* By a descriptor that the caller has, and keeps. */
static void holder_that_waits_moves_by_what_it_kept(void **state)
{
    struct program_expect x;
    struct tree t;
    int way;

    plant(&t);
    way = open(t.file, O_WRONLY);
    assert_true(way >= 0);
    program_expect_init(&x);
    program_expect_begin_by(&x, way);
    assert_true(program_expect_move(&x) > 0);
    program_expect_begin_by(&x, -1);
    assert_int_equal(program_expect_move(&x), -1);
    assert_int_equal(write(way, "x", 1), 1);
    close(way);
    assert_int_equal(count_moves(&t), 1);
    fell(&t);
}

static void nobody_is_expected_at_first(void **state)
{
    struct program_expect x;

    program_expect_init(&x);
    assert_int_equal(program_expect_move(&x), -1);
    program_expect_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(way_is_kept_open_until_a_task_is_in),
        cmocka_unit_test(way_is_not_kept_open_for_ever),
        cmocka_unit_test(group_that_is_not_ours_is_left_alone),
        cmocka_unit_test(holder_that_waits_moves_by_what_it_kept),
        cmocka_unit_test(nobody_is_expected_at_first),
    };

    return cmocka_run_group_tests_name("program_expect", tests, NULL, NULL);
}
