/* SPDX-License-Identifier: BSD-3-Clause
 * The collective schedules: whom each master asks and tells, in the order of
 * the standard's algorithms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "impi/schedule.h"

#define RANKS 6

/* "s3 r0": global sends and receives of a process that is alone in its
 * client, as the standard's algorithm orders them. */
static void check_trace(const struct impi_schedule *s, int32_t tag,
                        const char *want)
{
    char got[200] = "", one[20];

    for (size_t i = 0; i < s->count; i++) {
        const struct impi_step *step = &s->steps[i];

        if (step->kind != IMPI_STEP_SEND && step->kind != IMPI_STEP_RECV)
            continue;
        assert_int_equal(step->tag, tag);
        snprintf(one, sizeof(one), "%s%c%u", got[0] ? " " : "",
                 step->kind == IMPI_STEP_SEND ? 's' : 'r', step->rank);
        strcat(got, one);
    }
    assert_string_equal(got, want);
}

static void one_each(struct impi_group *g, uint32_t n)
{
    uint32_t client[RANKS];

    for (uint32_t r = 0; r < n; r++)
        client[r] = n - r; /* numbers of clients do not matter */
    assert_int_equal(impi_group_init(g, client, n), 0);
}

static const struct impi_coll_rules four = {.maxlinear = 4};

static void barrier_linear_trace(void **state)
{
    static const char *const want[] = {"r1 r2 r3 s1 s2 s3", "s0 r0", "s0 r0",
                                       "s0 r0"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_barrier(&s, &g, &four, r), 0);
        check_trace(&s, 110, want[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void barrier_tree_trace(void **state)
{
    static const char *const want[] = {"r4 r2 r1 s1 s2 s4",
                                       "r5 r3 s0 r0 s3 s5",
                                       "s0 r0",
                                       "s1 r1",
                                       "s0 r0",
                                       "s1 r1"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_barrier(&s, &g, &four, r), 0);
        check_trace(&s, 110, want[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void bcast_traces(void **state)
{
    static const char *const linear[] = {"r2", "r2", "s0 s1 s3", "r2"};
    /* root 4 of 6: vertices 4 5 0 1 2 3 */
    static const char *const tree[] = {"r4", "r5",       "r4",
                                       "r5", "s5 s0 s2", "r4 s1 s3"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_bcast(&s, &g, &four, r, 2), 0);
        check_trace(&s, 120, linear[r]);
    }
    impi_group_free(&g);
    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_bcast(&s, &g, &four, r, 4), 0);
        check_trace(&s, 120, tree[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void reduce_traces(void **state)
{
    static const char *const linear[] = {"s2", "s2", "r0 r1 r3", "s2"};
    static const char *const tree[] = {"r1 s4", "s0",       "r3 s4",
                                       "s2",    "r5 r0 r2", "s4"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_reduce(&s, &g, &four, r, 2, true), 0);
        check_trace(&s, 190, linear[r]);
    }
    impi_group_free(&g);
    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_reduce(&s, &g, &four, r, 4, true), 0);
        check_trace(&s, 190, tree[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void exactly_maxlinear_masters_switch(void **state)
{
    struct impi_coll_rules below = {.maxlinear = 4, .linear_below = true};
    struct impi_group g;

    one_each(&g, 4);
    assert_true(impi_coll_is_linear(&g, &four));
    assert_false(impi_coll_is_linear(&g, &below));
    impi_group_free(&g);
    one_each(&g, 5);
    assert_false(impi_coll_is_linear(&g, &four));
    impi_group_free(&g);
    one_each(&g, 3);
    assert_true(impi_coll_is_linear(&g, &below));
    impi_group_free(&g);
}

/* The root stands in for its client's master. */
static void root_that_is_no_master(void **state)
{
    static const uint32_t client[4] = {0, 0, 1, 1};
    struct impi_schedule s = {0};
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, client, 4), 0);
    impi_schedule_bcast(&s, &g, &four, 1, 1);
    check_trace(&s, 120, "s2");
    impi_schedule_bcast(&s, &g, &four, 0, 1);
    check_trace(&s, 120, "");
    impi_schedule_reduce(&s, &g, &four, 2, 1, true);
    check_trace(&s, 190, "s1");
    impi_schedule_reduce(&s, &g, &four, 0, 1, true);
    check_trace(&s, 190, "");
    impi_schedule_free(&s);
    impi_group_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_linear_trace),
        cmocka_unit_test(barrier_tree_trace),
        cmocka_unit_test(bcast_traces),
        cmocka_unit_test(reduce_traces),
        cmocka_unit_test(exactly_maxlinear_masters_switch),
        cmocka_unit_test(root_that_is_no_master),
    };

    return cmocka_run_group_tests_name("schedule_traces", tests, NULL, NULL);
}
