/* SPDX-License-Identifier: BSD-3-Clause
 * What an agent holds of contributions on their way up the tree, and when it
 * lets go.
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
#include "impi/agent_merge.h"
#include "impi/agent_tree.h"

/* 20 agents, fan-out 2: 2 is a child of 0, and 6 and 7 are its own. */
#define AGENTS 20
#define FANOUT 2
#define SELF 2

static struct agent_merge *merge;
static struct errbuf err;

/* the frames that went, the last one taken apart */
static unsigned frames, by_parent;
static char key[SF_AGENT_KEY_MAX];
static uint32_t count, set_len, agents[64];
static bool last;

static void sent(void *arg, bool to_parent, const void *frame, size_t len)
{
    struct agent_part part;
    struct agent_msg m;
    struct be_reader r;

    frames++;
    by_parent += to_parent;
    assert_int_equal(agent_msg_decode(&m, frame, len, &err), len);
    assert_int_equal(m.type, AGENT_MERGED);
    strcpy(key, m.merged.key);
    last = m.merged.last;
    count = 0;
    set_len = m.merged.set.len;
    agent_parts_init(&r, &m.merged);
    while (agent_parts_next(&r, &part))
        if (count < 64)
            agents[count++] = part.agent;
    assert_int_equal(count, m.merged.count);
}

static int setup(void **state)
{
    frames = by_parent = 0;
    merge = agent_merge_create(SELF, AGENTS, FANOUT, sent, NULL);
    return merge ? 0 : -1;
}

static int teardown(void **state)
{
    agent_merge_destroy(merge);
    return 0;
}

static void all_attached(void)
{
    agent_merge_attached(merge, 6);
    agent_merge_attached(merge, 7);
    assert_int_equal(agent_merge_parent(merge, true), 0);
}

static void own(const char *name, const uint8_t *set, uint64_t now)
{
    struct agent_put p = {.index = SELF, .expected = AGENTS};

    strcpy(p.key, name);
    p.blob = (struct agent_blob){(const uint8_t *)"own", 3};
    assert_int_equal(agent_merge_put(merge, &p, false, set, now), 0);
}

/* len bytes of `agent`, by the child `from` */
static int child_gives(uint32_t from, const char *name, uint32_t agent,
                       uint32_t len, bool is_last, uint64_t now)
{
    struct agent_merged m = {.expected = AGENTS, .last = is_last, .count = 1};
    struct agent_part part = {agent, agent, {calloc(1, len + 1), len}};
    struct bytebuf packed;
    int rc;

    strcpy(m.key, name);
    bytebuf_init(&packed, SF_AGENT_FRAME_MAX);
    agent_parts_add(&packed, &part);
    m.packed = (struct agent_blob){bytebuf_data(&packed),
                                   (uint32_t)bytebuf_len(&packed)};
    rc = agent_merge_child(merge, from, &m, now, &err);
    bytebuf_free(&packed);
    free((void *)part.blob.data);
    return rc;
}

static void child(uint32_t from, const char *name, uint64_t now)
{
    assert_int_equal(child_gives(from, name, from, 4, true, now), 0);
}

static void went(unsigned n, const char *name, uint32_t parts, bool is_last)
{
    assert_int_equal(frames, n);
    assert_string_equal(key, name);
    assert_int_equal(count, parts);
    assert_int_equal(last, is_last);
}

static void one_frame_goes_when_all_below_have_given(void **state)
{
    all_attached();
    own("k", NULL, 0);
    child(7, "k", 1);
    assert_int_equal(frames, 0);
    child(6, "k", 2);
    went(1, "k", 3, true);
    assert_int_equal(by_parent, 1);
    assert_int_equal(agent_merge_open(merge), 0);
    assert_true(agent_merge_due(merge) == UINT64_MAX);
}

static void only_contributors_are_waited_for(void **state)
{
    uint8_t set[AGENT_SET_SIZE(AGENTS)] = {0};

    all_attached();
    agent_set_add(set, SELF);
    agent_set_add(set, 16); /* a child of 7 */
    own("k", set, 0);
    assert_int_equal(frames, 0);
    assert_int_equal(child_gives(7, "k", 16, 4, true, 0), 0);
    went(1, "k", 2, true);
    assert_int_equal(set_len, sizeof(set));
}

static void who_is_not_attached_is_not_waited_for(void **state)
{
    agent_merge_attached(merge, 6);
    own("k", NULL, 0);
    child(6, "k", 0);
    went(1, "k", 2, true);
    assert_int_equal(by_parent, 0); /* nor has it a parent */
    assert_int_equal(set_len, 0);
}

static void slow_leaf_holds_nothing_back_for_long(void **state)
{
    all_attached();
    own("k", NULL, 100);
    assert_int_equal(agent_merge_due(merge), 100 + SF_AGENT_HOLD_MS);
    assert_int_equal(agent_merge_tick(merge, 100 + SF_AGENT_HOLD_MS - 1), 0);
    assert_int_equal(frames, 0);
    assert_int_equal(agent_merge_tick(merge, 100 + SF_AGENT_HOLD_MS), 0);
    went(1, "k", 1, false);
    assert_true(agent_merge_due(merge) == UINT64_MAX);
    child(6, "k", 1000);
    assert_int_equal(agent_merge_due(merge), 1000 + 2 * SF_AGENT_HOLD_MS);
    child(7, "k", 1001);
    went(2, "k", 2, true);
}

static void who_goes_is_not_waited_for(void **state)
{
    all_attached();
    own("k", NULL, 0);
    child(6, "k", 0);
    assert_int_equal(agent_merge_gone(merge, 7), 0);
    went(1, "k", 2, true);
    own("next", NULL, 0);
    child(6, "next", 0);
    went(2, "next", 2, true);
}

static void much_goes_in_pieces(void **state)
{
    all_attached();
    assert_int_equal(child_gives(6, "k", 6, SF_AGENT_HELD_MAX, true, 0), 0);
    went(1, "k", 1, false);
    own("k", NULL, 0);
    child(7, "k", 0);
    went(2, "k", 2, true);
}

/* It gave its part before it was attached: the parent need not wait for it. */
static void parent_hears_of_what_went_straight(void **state)
{
    own("k", NULL, 0);
    went(1, "k", 1, true);
    own("done", NULL, 0);
    agent_merge_forget(merge, "done");
    assert_int_equal(by_parent, 0);
    assert_int_equal(agent_merge_parent(merge, true), 0);
    went(3, "k", 0, true);
    assert_int_equal(by_parent, 1);
}

static void parts_given_before_the_tree_are_not_waited_for(void **state)
{
    assert_int_equal(agent_merge_given(merge, "k"), 0);
    all_attached();
    child(6, "k", 0);
    child(7, "k", 0);
    went(1, "k", 2, true);
}

static void who_leaves_holds_nothing(void **state)
{
    all_attached();
    own("k", NULL, 0);
    assert_int_equal(agent_merge_leave(merge), 0);
    went(1, "k", 1, false);
    child(7, "k", 0);
    went(2, "k", 1, false);
    assert_int_equal(agent_merge_open(merge), 0);
}

static void without_a_parent_it_goes_straight(void **state)
{
    all_attached();
    assert_int_equal(agent_merge_parent(merge, false), 0);
    own("k", NULL, 0);
    child(6, "k", 0);
    child(7, "k", 0);
    went(1, "k", 3, true);
    assert_int_equal(by_parent, 0);
    assert_int_equal(agent_merge_parent(merge, true), 0); /* never again */
    own("k2", NULL, 0);
    child(6, "k2", 0);
    child(7, "k2", 0);
    assert_int_equal(by_parent, 0);
}

/* Which of them is wrong impi-server says. */
static void those_who_disagree_are_passed_on(void **state)
{
    struct agent_put p = {.key = "k", .index = 1, .expected = 2};

    all_attached();
    child(6, "k", 0);
    assert_int_equal(agent_merge_put(merge, &p, false, NULL, 0), 0);
    went(1, "k", 1, false);
    assert_int_equal(agents[0], SELF);
    assert_int_equal(agent_merge_tick(merge, SF_AGENT_HOLD_MS), 0);
    went(2, "k", 1, false);
    assert_int_equal(agents[0], 6);
}

static void child_speaks_for_those_below_it_alone(void **state)
{
    struct agent_merged m = {.key = "k", .set = {(const uint8_t *)"x", 1}};

    all_attached();
    assert_int_equal(child_gives(7, "k", 6, 1, true, 0), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, "key \"k\": a contribution of agent 6, which "
                                  "is not below it");
    assert_int_equal(child_gives(7, "k", AGENTS, 1, true, 0), -1);
    assert_int_equal(agent_merge_child(merge, 7, &m, 0, &err), -1);
    assert_string_equal(err.text, "MERGED with a set of another size");
    assert_int_equal(frames, 0);
    assert_int_equal(agent_merge_open(merge), 0);
}

static void keys_that_wait_are_bounded(void **state)
{
    char name[32];

    all_attached();
    for (unsigned i = 0; i <= SF_AGENT_KEYS_OPEN_MAX; i++) {
        snprintf(name, sizeof(name), "k%u", i);
        child(6, name, 0);
    }
    assert_int_equal(agent_merge_open(merge), SF_AGENT_KEYS_OPEN_MAX);
    went(1, "k0", 1, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_frame_goes_when_all_below_have_given),
        TEST(only_contributors_are_waited_for),
        TEST(who_is_not_attached_is_not_waited_for),
        TEST(slow_leaf_holds_nothing_back_for_long),
        TEST(who_goes_is_not_waited_for),
        TEST(much_goes_in_pieces),
        TEST(parent_hears_of_what_went_straight),
        TEST(parts_given_before_the_tree_are_not_waited_for),
        TEST(who_leaves_holds_nothing),
        TEST(without_a_parent_it_goes_straight),
        TEST(those_who_disagree_are_passed_on),
        TEST(child_speaks_for_those_below_it_alone),
        TEST(keys_that_wait_are_bounded),
    };

    return cmocka_run_group_tests_name("impi_agent_merge", tests, NULL, NULL);
}
