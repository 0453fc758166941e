/* SPDX-License-Identifier: BSD-3-Clause
 * The rendezvous of the agents.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/rendezvous.h"

static struct rendezvous *r;
static struct rendezvous_result result;
static struct errbuf err;

static int setup(void **state)
{
    r = rendezvous_create();
    return r ? 0 : -1;
}

static int teardown(void **state)
{
    rendezvous_destroy(r);
    return 0;
}

static int contribute(uint32_t agent, const char *key, uint32_t index,
                      uint32_t expected, const char *text, bool gather)
{
    struct agent_put p = {
        .index = index,
        .expected = expected,
        .blob = {(const uint8_t *)text, (uint32_t)strlen(text)}};

    strcpy(p.key, key);
    return rendezvous_put(r, agent, &p, gather, &result, &err);
}

static int put(uint32_t agent, const char *key, uint32_t index,
               uint32_t expected, const char *text)
{
    return contribute(agent, key, index, expected, text, false);
}

static void last_contribution_completes(void **state)
{
    struct agent_blob blob;
    struct agent_msg m;
    struct be_reader walk;

    assert_int_equal(put(5, "a", 2, 3, "two"), 0);
    assert_int_equal(put(6, "a", 0, 3, "zero"), 0);
    assert_int_equal(rendezvous_open(r), 1);
    assert_int_equal(put(7, "a", 1, 3, ""), 1);
    assert_int_equal(rendezvous_open(r), 0);
    assert_int_equal(result.nagents, 3);
    assert_int_equal(result.agents[0], 5);
    assert_true(agent_msg_decode(&m, bytebuf_data(&result.frame),
                                 bytebuf_len(&result.frame), &err) > 0);
    assert_int_equal(m.type, AGENT_GOT);
    assert_string_equal(m.got.key, "a");
    assert_int_equal(m.got.count, 3);
    agent_blobs_init(&walk, &m.got);
    assert_true(agent_blobs_next(&walk, &blob));
    assert_memory_equal(blob.data, "zero", 4);
    assert_true(agent_blobs_next(&walk, &blob));
    assert_int_equal(blob.len, 0);
    assert_true(agent_blobs_next(&walk, &blob));
    assert_memory_equal(blob.data, "two", 3);
    rendezvous_result_free(&result);
}

static void agent_with_two_indexes_gets_one_answer(void **state)
{
    assert_int_equal(put(1, "a", 0, 3, "x"), 0);
    assert_int_equal(put(2, "a", 1, 3, "y"), 0);
    assert_int_equal(put(1, "a", 2, 3, "z"), 1);
    assert_int_equal(result.nagents, 2);
    assert_int_equal(result.agents[0], 1);
    assert_int_equal(result.agents[1], 2);
    rendezvous_result_free(&result);
}

static void what_is_gathered_goes_to_the_first_alone(void **state)
{
    struct agent_msg m;

    assert_int_equal(contribute(7, "a", 1, 3, "one", true), 0);
    assert_int_equal(contribute(9, "a", 0, 3, "zero", true), 0);
    assert_int_equal(contribute(5, "a", 2, 3, "two", true), 1);
    assert_int_equal(result.nagents, 1);
    assert_int_equal(result.agents[0], 9);
    assert_true(agent_msg_decode(&m, bytebuf_data(&result.frame),
                                 bytebuf_len(&result.frame), &err) > 0);
    assert_int_equal(m.got.count, 3);
    rendezvous_result_free(&result);
}

static void keys_do_not_mix(void **state)
{
    assert_int_equal(put(1, "a", 0, 2, "x"), 0);
    assert_int_equal(put(1, "b", 0, 2, "x"), 0);
    assert_int_equal(put(2, "b", 1, 2, "x"), 1);
    rendezvous_result_free(&result);
    assert_int_equal(rendezvous_open(r), 1);
}

static void refuse(int rc, const char *text)
{
    assert_int_equal(rc, -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, text);
}

static void rules_are_kept_by_reason(void **state)
{
    refuse(put(1, "a", 2, 2, ""), "key \"a\": index 2 of 2");
    refuse(put(1, "a", 0, 0, ""), "key \"a\": 0 contributions expected");
    refuse(put(1, "a", 0, SF_RENDEZVOUS_PARTS_MAX + 1, ""),
           "key \"a\": 262145 contributions expected");
    assert_int_equal(put(1, "a", 0, 3, ""), 0);
    refuse(put(2, "a", 0, 3, ""), "key \"a\": index 0 twice");
    refuse(put(2, "a", 1, 4, ""), "key \"a\": 3 contributions expected, not 4");
    refuse(contribute(2, "a", 1, 3, "", true),
           "key \"a\": gathered by some only");
    assert_int_equal(put(2, "a", 1, 3, ""), 0);
}

static void open_keys_are_bounded(void **state)
{
    char key[32];

    for (int i = 0; i < SF_AGENT_KEYS_OPEN_MAX; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_int_equal(put(1, key, 0, 2, ""), 0);
    }
    refuse(put(1, "more", 0, 2, ""), "key \"more\": more than 4096 keys wait");
    assert_int_equal(put(2, "k7", 1, 2, ""), 1);
    rendezvous_result_free(&result);
    assert_int_equal(put(1, "more", 0, 2, ""), 0);
}

static void one_key_fits_one_frame(void **state)
{
    struct agent_put p = {.key = "big", .expected = 4};
    uint8_t *blob = calloc(1, SF_AGENT_BLOB_MAX);

    p.blob = (struct agent_blob){blob, SF_AGENT_BLOB_MAX};
    assert_int_equal(rendezvous_put(r, 0, &p, false, &result, &err), 0);
    p.index = 1;
    refuse(rendezvous_put(r, 0, &p, false, &result, &err),
           "key \"big\": more than one frame can carry");
    free(blob);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(last_contribution_completes),
        T(agent_with_two_indexes_gets_one_answer),
        T(what_is_gathered_goes_to_the_first_alone),
        T(keys_do_not_mix),
        T(rules_are_kept_by_reason),
        T(open_keys_are_bounded),
        T(one_key_fits_one_frame),
    };

    return cmocka_run_group_tests_name("impi_rendezvous", tests, NULL, NULL);
}
