/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: contributions that agents send for those below them.
 */
#include "impi_server_process.h"

/* Fan-out 2: 2 and 3 are below 0, 4 and 5 below 1. */
#define AGENTS 6

static void start_tree(struct program *s, struct player *a)
{
    struct agent_msg m;

    start_with(s, AGENTS, "IMPI_AUTH_KEY=5678", "ports=0-0 fanout=2");
    for (uint32_t i = 0; i < AGENTS; i++) {
        join(s, &a[i], i, AGENTS);
        assert_true(hear(&a[i], &m));
        assert_int_equal(m.type, AGENT_TREE);
        assert_int_equal(m.number, 2);
    }
}

static void stop_all(struct program *s, struct player *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        leave(&a[i]);
    stop(s);
}

/* A part of each of them, as large as its number; its index is the same. */
static void merged(struct player *p, const uint32_t *agents, uint32_t n)
{
    struct agent_msg m = {
        .type = AGENT_MERGED,
        .merged = {.key = "k", .expected = AGENTS, .last = true, .count = n}};
    struct bytebuf packed;

    bytebuf_init(&packed, 1000);
    for (uint32_t i = 0; i < n; i++) {
        struct agent_part part = {
            agents[i], agents[i], {(const uint8_t *)"12345", agents[i]}};

        agent_parts_add(&packed, &part);
    }
    m.merged.packed = (struct agent_blob){bytebuf_data(&packed),
                                          (uint32_t)bytebuf_len(&packed)};
    say(p, &m);
    bytebuf_free(&packed);
}

static void parts_count_as_if_each_had_sent_its_own(void **state)
{
    struct player a[AGENTS];
    struct program s;

    start_tree(&s, a);
    merged(&a[0], (const uint32_t[]){3, 0, 2}, 3);
    put(&a[5], "k", 5, AGENTS, "12345", 5);
    merged(&a[1], (const uint32_t[]){4, 1}, 2);
    for (uint32_t i = 0; i < AGENTS; i++) {
        struct agent_blob blob;
        struct agent_msg m;
        struct be_reader r;

        assert_true(hear(&a[i], &m));
        assert_int_equal(m.type, AGENT_GOT);
        assert_int_equal(m.got.count, AGENTS);
        agent_blobs_init(&r, &m.got);
        for (uint32_t k = 0; k < AGENTS; k++) {
            assert_true(agent_blobs_next(&r, &blob));
            assert_int_equal(blob.len, k);
        }
    }
    stop_all(&s, a, AGENTS);
}

static void expect_abort(struct program *s, const char *node, const char *why)
{
    char line[1024];

    read_line(s, line, sizeof(line));
    if (!strstr(line, node) || !strstr(line, why))
        print_error("%s\n", line);
    assert_non_null(strstr(line, node));
    assert_non_null(strstr(line, why));
}

static void nobody_speaks_for_those_who_are_not_below(void **state)
{
    struct player a[AGENTS];
    struct program s;

    start_tree(&s, a);
    merged(&a[1], (const uint32_t[]){1, 2}, 2);
    expect_abort(&s, "SF-E221: lost impid on node node1: ",
                 "a contribution of agent 2, which is not below it");
    stop_all(&s, a, AGENTS);
}

static void who_has_made_a_wrong_part_is_named(void **state)
{
    struct player a[AGENTS];
    struct program s;

    start_tree(&s, a);
    merged(&a[0], (const uint32_t[]){2, 2}, 2);
    expect_abort(&s, "SF-E221: lost impid on node node0: ",
                 "from node node2: key \"k\": index 2 twice");
    stop_all(&s, a, AGENTS);
}

static void without_a_tree_all_speak_for_themselves(void **state)
{
    struct player a[2];
    struct program s;

    start_joined(&s, a, 2);
    merged(&a[0], (const uint32_t[]){0}, 1);
    expect_abort(&s, "node0: ", "MERGED, and there is no tree");
    stop_all(&s, a, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_count_as_if_each_had_sent_its_own),
        cmocka_unit_test(nobody_speaks_for_those_who_are_not_below),
        cmocka_unit_test(who_has_made_a_wrong_part_is_named),
        cmocka_unit_test(without_a_tree_all_speak_for_themselves),
    };

    return cmocka_run_group_tests_name("impi_server_tree", tests, NULL, NULL);
}
