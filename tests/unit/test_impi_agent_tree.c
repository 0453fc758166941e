/* SPDX-License-Identifier: BSD-3-Clause
 * The tree of agents: its shape, and which way results go from the root.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "impi/agent_tree.h"

static void every_agent_is_a_child_of_its_parent_alone(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 6, 17, 100, 2048, SF_AGENTS_MAX};
    static const uint32_t fanouts[] = {2, 3, 16, SF_AGENTS_MAX};

    for (size_t s = 0; s < 8; s++)
        for (size_t f = 0; f < 4; f++) {
            uint32_t below = 0, first, n;

            for (uint32_t i = 0; i < sizes[s]; i++) {
                n = agent_tree_children(i, sizes[s], fanouts[f], &first);
                assert_true(n <= fanouts[f]);
                for (uint32_t c = first; c < first + n; c++)
                    assert_int_equal(agent_tree_parent(c, fanouts[f]), i);
                below += n;
                if (i < fanouts[f])
                    assert_int_equal(agent_tree_parent(i, fanouts[f]),
                                     AGENT_TREE_ROOT);
            }
            assert_int_equal(below,
                             sizes[s] > fanouts[f] ? sizes[s] - fanouts[f] : 0);
        }
}

static void levels_are_few(void **state)
{
    uint32_t depth = 1;

    for (uint32_t i = 2047;
         agent_tree_parent(i, SF_AGENT_FANOUT) != AGENT_TREE_ROOT; depth++)
        i = agent_tree_parent(i, SF_AGENT_FANOUT);
    assert_int_equal(depth, 3);
}

/* Against climbing up from each member. */
static void set_reaches_who_is_below(void **state)
{
    enum { N = 200 };

    for (uint32_t fanout = 2; fanout < 6; fanout++)
        for (uint32_t member = 0; member < N; member++) {
            uint8_t set[AGENT_SET_SIZE(N)] = {0};

            set[member / 8] = (uint8_t)(1u << member % 8);
            for (uint32_t top = 0; top < N; top++) {
                uint32_t at = member;

                while (at != top && at != AGENT_TREE_ROOT)
                    at = agent_tree_parent(at, fanout);
                assert_int_equal(agent_set_reaches(set, top, N, fanout),
                                 at == top);
            }
        }
}

/* ---- the root ---- */

static struct agent_tree *tree;
static struct errbuf err;

/* 6 agents, fan-out 2: 0 has 2, 3; 1 has 4, 5. */
static int setup(void **state)
{
    tree = agent_tree_create(6, 2);
    return tree ? 0 : -1;
}

static int teardown(void **state)
{
    agent_tree_destroy(tree);
    return 0;
}

static void attach(uint32_t parent, uint32_t child)
{
    if (!agent_tree_passes_on(tree, parent))
        assert_int_equal(agent_tree_listens(tree, parent, &err), 0);
    assert_int_equal(agent_tree_attached(tree, child, &err), 0);
}

/* The ways of a result for all six, as "agent:set agent:- ...". */
static void ways(const char *want)
{
    static const uint32_t all[] = {0, 1, 2, 3, 4, 5};
    struct agent_plan plan;
    char text[200] = "";

    assert_int_equal(agent_tree_plan(tree, all, 6, &plan), 0);
    for (uint32_t i = 0; i < plan.n; i++) {
        char one[16];

        snprintf(one, sizeof(one), "%s%u:", i ? " " : "", plan.ways[i].agent);
        strcat(text, one);
        for (uint32_t a = 0; plan.ways[i].set && a < 6; a++)
            if (agent_set_has(plan.ways[i].set, a)) {
                snprintf(one, sizeof(one), "%u", a);
                strcat(text, one);
            }
    }
    agent_plan_free(&plan);
    assert_string_equal(text, want);
}

static void who_has_not_attached_gets_it_from_the_root(void **state)
{
    ways("0: 1: 2: 3: 4: 5:");
    attach(0, 2);
    ways("0:02 1: 3: 4: 5:");
    attach(0, 3);
    attach(1, 5);
    ways("0:023 1:15 4:");
}

static void
leaving_agent_is_passed_by_and_told_how_much_went_by_it(void **state)
{
    uint32_t n;

    attach(0, 2);
    attach(0, 3);
    ways("0:023 1: 4: 5:");
    ways("0:023 1: 4: 5:");
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), 0);
    assert_int_equal(n, 2);
    ways("0: 1: 2: 3: 4: 5:");
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), -1);
    assert_int_equal(errno, EPROTO);
}

static void who_leaves_with_results_on_the_way_is_found_out(void **state)
{
    uint32_t n;

    attach(0, 2);
    ways("0:02 1: 3: 4: 5:");
    ways("0:02 1: 3: 4: 5:");
    assert_int_equal(agent_tree_left(tree, 0, 2, &err), -1);
    assert_string_equal(err.text,
                        "LEAVE of an agent that has not said LEAVING");
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), 0);
    assert_int_equal(agent_tree_left(tree, 0, 1, &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, "it left before 1 results came that it was "
                                  "to pass on to other nodes");
    assert_int_equal(agent_tree_left(tree, 0, 2, &err), 0);
}

static void agent_that_is_gone_passes_nothing_on(void **state)
{
    attach(1, 4);
    agent_tree_gone(tree, 1);
    ways("0: 1: 2: 3: 4: 5:");
    attach(0, 2);
    agent_tree_gone(tree, 2);
    ways("0: 1: 2: 3: 4: 5:");
}

static void
result_that_the_inner_agent_does_not_get_goes_by_it_all_the_same(void **state)
{
    const uint32_t some[] = {3};
    struct agent_plan plan;
    uint32_t n;

    attach(0, 3);
    assert_int_equal(agent_tree_plan(tree, some, 1, &plan), 0);
    assert_int_equal(plan.n, 1);
    assert_int_equal(plan.ways[0].agent, 0);
    assert_true(agent_set_has(plan.ways[0].set, 3));
    assert_false(agent_set_has(plan.ways[0].set, 0));
    agent_plan_free(&plan);
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), 0);
    assert_int_equal(n, 1);
}

static void attaching_late_to_one_that_left_is_no_fault(void **state)
{
    uint32_t n;

    assert_int_equal(agent_tree_listens(tree, 0, &err), 0);
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(agent_tree_attached(tree, 2, &err), 0);
    ways("0: 1: 2: 3: 4: 5:");
}

static void agents_that_break_the_rules_are_refused(void **state)
{
    uint32_t n;

    assert_int_equal(agent_tree_listens(tree, 4, &err), -1);
    assert_string_equal(err.text, "LISTENS of an agent without children");
    assert_int_equal(agent_tree_attached(tree, 2, &err), -1);
    assert_string_equal(err.text, "ATTACHED to a parent that does not listen");
    assert_int_equal(agent_tree_attached(tree, 0, &err), -1);
    assert_int_equal(agent_tree_leaves(tree, 0, &n, &err), -1);
    attach(0, 2);
    assert_int_equal(agent_tree_listens(tree, 0, &err), -1);
    assert_string_equal(err.text, "LISTENS twice");
    assert_int_equal(agent_tree_attached(tree, 2, &err), -1);
    assert_string_equal(err.text, "ATTACHED twice");
}

#define ROOT(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_agent_is_a_child_of_its_parent_alone),
        cmocka_unit_test(levels_are_few),
        cmocka_unit_test(set_reaches_who_is_below),
        ROOT(who_has_not_attached_gets_it_from_the_root),
        ROOT(leaving_agent_is_passed_by_and_told_how_much_went_by_it),
        ROOT(who_leaves_with_results_on_the_way_is_found_out),
        ROOT(agent_that_is_gone_passes_nothing_on),
        ROOT(result_that_the_inner_agent_does_not_get_goes_by_it_all_the_same),
        ROOT(attaching_late_to_one_that_left_is_no_fault),
        ROOT(agents_that_break_the_rules_are_refused),
    };

    return cmocka_run_group_tests_name("impi_agent_tree", tests, NULL, NULL);
}
