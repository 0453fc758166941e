/* SPDX-License-Identifier: BSD-3-Clause
 * Frames between an agent and impi-server.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/agent_wire.h"

static void decode(struct agent_msg *m, const struct bytebuf *b)
{
    struct errbuf err;
    size_t len = bytebuf_len(b);

    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(agent_msg_decode(m, bytebuf_data(b), cut, &err), 0);
    assert_int_equal(agent_msg_decode(m, bytebuf_data(b), len, &err), len);
}

static void round_trip(struct agent_msg *out, const struct agent_msg *in,
                       struct bytebuf *b)
{
    bytebuf_init(b, SF_AGENT_FRAME_MAX);
    assert_int_equal(agent_msg_encode(b, in), 0);
    decode(out, b);
    assert_int_equal(out->type, in->type);
}

static void put_frame_has_the_documented_bytes(void **state)
{
    static const uint8_t want[] = {0, 0, 0, 2, 0, 0, 0, 17, 0, 1, 'k', 0,  0,
                                   0, 3, 0, 0, 0, 4, 0, 0,  0, 2, 'h', 'i'};
    struct agent_msg m = {.type = AGENT_PUT,
                          .put = {.key = "k",
                                  .index = 3,
                                  .expected = 4,
                                  .blob = {(const uint8_t *)"hi", 2}}};
    struct agent_msg got;
    struct bytebuf b;

    round_trip(&got, &m, &b);
    assert_int_equal(bytebuf_len(&b), sizeof(want));
    assert_memory_equal(bytebuf_data(&b), want, sizeof(want));
    assert_int_equal(got.put.index, 3);
    assert_int_equal(got.put.expected, 4);
    assert_memory_equal(got.put.blob.data, "hi", 2);
    bytebuf_free(&b);
}

static void job_abort_kill_world_and_text_round_trip(void **state)
{
    struct agent_msg m = {.type = AGENT_JOB, .job = {1, 4, 2, "node-7"}};
    struct agent_msg got;
    struct bytebuf b;

    round_trip(&got, &m, &b);
    assert_int_equal(got.job.component, 2);
    assert_string_equal(got.job.node, "node-7");
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_ABORT, .abort = {42, 3, -1, 1, "x"}};
    round_trip(&got, &m, &b);
    assert_int_equal(got.abort.code, 42);
    assert_int_equal(got.abort.client, -1);
    assert_int_equal(got.abort.lost, 1);
    bytebuf_free(&b);
    m.type = AGENT_KILL;
    round_trip(&got, &m, &b);
    assert_int_equal(got.abort.rank, -1);
    assert_string_equal(got.abort.text, "x");
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_WORLD_AT, .world_at = {9, 40000}};
    round_trip(&got, &m, &b);
    assert_int_equal(got.world_at.port, 40000);
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_NOTE, .text = "hello"};
    round_trip(&got, &m, &b);
    assert_string_equal(got.text, "hello");
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_HOLDS, .text = "rank 3"};
    round_trip(&got, &m, &b);
    assert_int_equal(got.type, AGENT_HOLDS);
    assert_string_equal(got.text, "rank 3");
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_BYE};
    round_trip(&got, &m, &b);
    bytebuf_free(&b);
}

static void got_carries_blobs_in_order(void **state)
{
    struct agent_msg m = {.type = AGENT_GOT, .got = {.key = "a", .count = 3}};
    struct agent_msg got;
    struct agent_blob blob;
    struct bytebuf packed, b;
    struct be_reader r;

    bytebuf_init(&packed, 1000);
    agent_blobs_add(&packed, "one", 3);
    agent_blobs_add(&packed, NULL, 0);
    agent_blobs_add(&packed, "three", 5);
    m.got.packed.data = bytebuf_data(&packed);
    m.got.packed.len = (uint32_t)bytebuf_len(&packed);
    round_trip(&got, &m, &b);
    agent_blobs_init(&r, &got.got);
    assert_true(agent_blobs_next(&r, &blob));
    assert_memory_equal(blob.data, "one", 3);
    assert_true(agent_blobs_next(&r, &blob));
    assert_int_equal(blob.len, 0);
    assert_true(agent_blobs_next(&r, &blob));
    assert_memory_equal(blob.data, "three", 5);
    assert_false(agent_blobs_next(&r, &blob));
    bytebuf_free(&b);
    /* a count that does not fit its blobs is malformed */
    m.got.count = 4;
    bytebuf_init(&b, 1000);
    agent_msg_encode(&b, &m);
    assert_int_equal(
        agent_msg_decode(&got, bytebuf_data(&b), bytebuf_len(&b), NULL), -1);
    bytebuf_free(&b);
    bytebuf_free(&packed);
}

static void frames_of_the_tree_round_trip(void **state)
{
    struct agent_msg m = {.type = AGENT_PARENT}, got;
    struct bytebuf b;

    m.at = (struct agent_at){.agent = 7, .addr = {[15] = 9}, .port = 4000};
    round_trip(&got, &m, &b);
    assert_int_equal(got.at.agent, 7);
    assert_int_equal(got.at.addr[15], 9);
    assert_int_equal(got.at.port, 4000);
    bytebuf_free(&b);
    m = (struct agent_msg){.type = AGENT_LEAVE, .number = 3};
    round_trip(&got, &m, &b);
    assert_int_equal(got.number, 3);
    bytebuf_free(&b);
}

/* Its head, and what many may share after it, are the frame. */
static void spread_is_its_head_and_a_frame(void **state)
{
    static const uint8_t want[] = {0, 0, 0, 22, 0, 0,   0,   9,  0,
                                   0, 0, 2, 5,  1, 'f', 'r', 'a'};
    struct agent_msg m = {.type = AGENT_SPREAD}, got;
    struct bytebuf b, head;

    m.spread.set = (struct agent_blob){(const uint8_t *)"\5\1", 2};
    m.spread.frame = (struct agent_blob){(const uint8_t *)"fra", 3};
    round_trip(&got, &m, &b);
    assert_int_equal(bytebuf_len(&b), sizeof(want));
    assert_memory_equal(bytebuf_data(&b), want, sizeof(want));
    assert_int_equal(got.spread.set.len, 2);
    assert_int_equal(got.spread.frame.len, 3);
    assert_memory_equal(got.spread.frame.data, "fra", 3);
    bytebuf_init(&head, 100);
    assert_int_equal(agent_spread_begin(&head, "\5\1", 2, 3), 0);
    assert_int_equal(bytebuf_len(&head), sizeof(want) - 3);
    assert_memory_equal(bytebuf_data(&head), want, sizeof(want) - 3);
    assert_int_equal(agent_spread_begin(&head, "", 0, SF_AGENT_FRAME_MAX), -1);
    assert_int_equal(errno, ENOBUFS);
    bytebuf_free(&head);
    bytebuf_free(&b);
}

static void merged_is_a_key_a_set_and_parts(void **state)
{
    static const uint8_t want[] = {
        0, 0, 0, 23,  0,   0, 0, 47, 0, 1, 'k', 0, 0, 0, 9, 0, 0, 0, 2,
        0, 0, 0, 2,   5,   1, 0, 0,  0, 2, 0,   0, 0, 4, 0, 0, 0, 7, 0,
        0, 0, 2, 'h', 'i', 0, 0, 0,  5, 0, 0,   0, 8, 0, 0, 0, 0};
    struct agent_msg m = {.type = AGENT_MERGED}, got;
    struct agent_part a = {4, 7, {(const uint8_t *)"hi", 2}}, b = {5, 8, {0}};
    struct bytebuf packed, frame;
    struct be_reader r;

    bytebuf_init(&packed, 100);
    agent_parts_add(&packed, &a);
    agent_parts_add(&packed, &b);
    strcpy(m.merged.key, "k");
    m.merged.expected = 9;
    m.merged.last = true;
    m.merged.set = (struct agent_blob){(const uint8_t *)"\5\1", 2};
    m.merged.count = 2;
    m.merged.packed = (struct agent_blob){bytebuf_data(&packed),
                                          (uint32_t)bytebuf_len(&packed)};
    round_trip(&got, &m, &frame);
    assert_int_equal(bytebuf_len(&frame), sizeof(want));
    assert_memory_equal(bytebuf_data(&frame), want, sizeof(want));
    assert_true(got.merged.last && !got.merged.gather);
    agent_parts_init(&r, &got.merged);
    assert_true(agent_parts_next(&r, &a) && a.agent == 4 && a.index == 7);
    assert_memory_equal(a.blob.data, "hi", 2);
    assert_true(agent_parts_next(&r, &b) && b.agent == 5 && b.blob.len == 0);
    assert_false(agent_parts_next(&r, &b));
    bytebuf_free(&packed);
    bytebuf_free(&frame);
}

static void refuse(const void *bytes, size_t len, const char *text)
{
    struct agent_msg got;
    struct errbuf err;

    assert_int_equal(agent_msg_decode(&got, bytes, len, &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, text);
}

static void bad_frames_are_refused_by_reason(void **state)
{
    static const uint8_t unknown[] = {0, 0, 0, 99, 0, 0, 0, 0};
    static const uint8_t after[] = {0, 0, 0, AGENT_MERGED + 1, 0, 0, 0, 0};
    static const uint8_t zero[] = {0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t huge[] = {0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t tail[] = {0, 0, 0, 10, 0, 0, 0, 1, 7};
    static const uint8_t blob[] = {0, 0, 0,   2,    0,    0,    0,   15,
                                   0, 1, 'k', 0,    0,    0,    0,   0,
                                   0, 0, 1,   0xff, 0xff, 0xff, 0xff};

    static const uint8_t set[] = {0, 0, 0, 22, 0, 0, 0, 4, 0, 0, 0, 5};

    static const uint8_t count[] = {0, 0, 0, 23, 0, 0, 0, 18, 0, 0, 0, 0, 0,
                                    1, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0, 1};

    refuse(set, sizeof(set), "malformed SPREAD frame");
    refuse(count, sizeof(count), "malformed MERGED frame");
    refuse(unknown, sizeof(unknown), "unknown frame type 99");
    refuse(after, sizeof(after), "unknown frame type 24");
    refuse(zero, sizeof(zero), "unknown frame type 0");
    refuse(huge, sizeof(huge), "PUT frame of 4294967295 bytes");
    refuse(tail, sizeof(tail), "malformed BYE frame");
    refuse(blob, sizeof(blob), "malformed PUT frame");
}

static void encoding_into_a_full_buffer_fails(void **state)
{
    struct agent_msg m = {.type = AGENT_NOTE, .text = "long enough"};
    struct bytebuf b;

    bytebuf_init(&b, 8);
    assert_int_equal(agent_msg_encode(&b, &m), -1);
    assert_int_equal(errno, ENOBUFS);
    bytebuf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_frame_has_the_documented_bytes),
        cmocka_unit_test(job_abort_kill_world_and_text_round_trip),
        cmocka_unit_test(got_carries_blobs_in_order),
        cmocka_unit_test(frames_of_the_tree_round_trip),
        cmocka_unit_test(spread_is_its_head_and_a_frame),
        cmocka_unit_test(merged_is_a_key_a_set_and_parts),
        cmocka_unit_test(bad_frames_are_refused_by_reason),
        cmocka_unit_test(encoding_into_a_full_buffer_fails),
    };

    return cmocka_run_group_tests_name("impi_agent_wire", tests, NULL, NULL);
}
