/* SPDX-License-Identifier: BSD-3-Clause
 * The packet ring: order, room, and what a record is.
 */
#include "ring_pair.h"

static void records_come_out_in_order_and_whole(void **state)
{
    struct pair *p = *state;
    uint32_t sent = 0, got = 0;
    size_t len;

    while (got < 3000) {
        const uint8_t *at;

        while (sent < 3000 && put(&p->in, sent, length_of(sent)))
            sent++;
        assert_true(sent == 3000 || errno == EAGAIN);
        for (int i = 0; i < 3 && (at = ring_peek(&p->out, &len)); i++) {
            check_record(at, len, got++);
            ring_consume(&p->out);
        }
    }
    assert_null(ring_peek(&p->out, &len));
    assert_int_equal(errno, EAGAIN);
}

/* Skipped records are looked at together and keep their room till the end. */
static void skipped_records_stay_until_they_are_released(void **state)
{
    struct pair *p = *state;
    const uint8_t *at[3];
    size_t len;

    for (uint32_t i = 0; i < 3; i++)
        assert_true(put(&p->in, i, MAX));
    for (uint32_t i = 0; i < 3; i++) {
        assert_non_null(at[i] = ring_peek(&p->out, &len));
        assert_int_equal(len, MAX);
        ring_skip(&p->out);
    }
    assert_null(ring_peek(&p->out, &len));
    assert_int_equal(errno, EAGAIN);
    assert_true(put(&p->in, 3, MAX));
    assert_null(ring_reserve(&p->in, MAX));
    for (uint32_t i = 0; i < 3; i++)
        assert_memory_equal(at[i], &i, sizeof(i));
    ring_release(&p->out);
    assert_non_null(ring_reserve(&p->in, MAX));
    assert_non_null(ring_peek(&p->out, &len));
    assert_true(len == MAX);
}

static void empty_records_and_short_commits_are_fine(void **state)
{
    struct pair *p = *state;
    size_t len = 7;

    assert_non_null(ring_reserve(&p->in, 0));
    ring_commit(&p->in, 0);
    memcpy(ring_reserve(&p->in, MAX), "abc", 3);
    ring_commit(&p->in, 3);
    assert_non_null(ring_peek(&p->out, &len));
    assert_int_equal(len, 0);
    ring_consume(&p->out);
    assert_memory_equal(ring_peek(&p->out, &len), "abc", 3);
    assert_int_equal(len, 3);
    assert_null(ring_reserve(&p->in, MAX + 1));
    assert_int_equal(errno, EMSGSIZE);
}

static void notes_come_with_their_records(void **state)
{
    struct pair *p = *state;
    size_t len;

    for (uint32_t i = 0; i < 500; i++) {
        assert_non_null(ring_reserve(&p->in, 20));
        if (i % 3)
            ring_commit_note(&p->in, i % 20, i);
        else
            ring_commit(&p->in, i % 20);
        assert_true(ring_has_news(&p->out));
        assert_non_null(ring_peek(&p->out, &len));
        assert_int_equal(len, i % 20);
        assert_int_equal(ring_note(&p->out), i % 3 ? i : 0);
        ring_consume(&p->out);
        assert_false(ring_has_news(&p->out));
    }
}

/* What lies in the memory from before is no record, whatever it was: here all
 * that a consumer of another salt took for records. */
static void quickened_ring_knows_old_bytes(void **state)
{
    struct pair *p = *state;
    struct ring other = p->out;
    size_t len;

    while (put(&p->in, 1, 40))
        ;
    other.salt += 2;
    assert_null(ring_peek(&other, &len));
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < SIZE / 64; i++) {
        assert_non_null(ring_peek(&p->out, &len));
        ring_consume(&p->out);
    }
    assert_null(ring_peek(&p->out, &len)); /* again at the first's place */
    assert_int_equal(errno, EAGAIN);
}

static void consumer_reads_in_place(void **state)
{
    struct pair *p = *state;
    size_t len;
    const uint8_t *seen;
    uint8_t *at = ring_reserve(&p->in, 4);

    memcpy(at, "old", 4);
    ring_commit(&p->in, 4);
    seen = ring_peek(&p->out, &len);
    memcpy(at, "new", 4);
    assert_string_equal((const char *)seen, "new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(records_come_out_in_order_and_whole),
        RING_TEST(skipped_records_stay_until_they_are_released),
        RING_TEST(empty_records_and_short_commits_are_fine),
        RING_TEST(consumer_reads_in_place),
        RING_TEST(notes_come_with_their_records),
        QUICK_TEST(notes_come_with_their_records),
        QUICK_TEST(records_come_out_in_order_and_whole),
        QUICK_TEST(empty_records_and_short_commits_are_fine),
        QUICK_TEST(quickened_ring_knows_old_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
