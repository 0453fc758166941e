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

/* A look at no more than n records. */
static bool look_at(struct pair *p, struct ring_crowd *crowd, uint32_t n)
{
    bool full = ring_was_full(&p->out, crowd, MAX);
    size_t len;

    while (n-- > 0 && ring_peek(&p->out, &len))
        ring_skip(&p->out);
    ring_release(&p->out);
    return full;
}

/* Asked before each look: when something had no room it says so, and not of a
 * ring in which there was room for much more. */
static void a_ring_that_was_full_is_known(void **state)
{
    struct pair *p = *state;
    struct ring_crowd crowd = {0};
    uint32_t seed = 1, whole = 0;

    for (int i = 0; i < 2000; i++) {
        uint32_t most = i % 2 ? 6 : 2;
        bool missed = false, full = false;

        for (int round = 0; round < 5; round++) {
            seed = seed * 1664525 + 1013904223;
            for (uint32_t k = (seed >> 16) % most + 1; k > 0; k--)
                missed |= !put(&p->in, k, i % 2 ? MAX : 100);
            full |= look_at(p, &crowd, i % 2 ? seed >> 8 & 3 : 4);
            full &= i % 2 || round > 1; /* of before */
        }
        full |= look_at(p, &crowd, 1000);
        full |= look_at(p, &crowd, 1000);
        whole += missed;
        assert_true(!missed || full);
        assert_true(i % 2 || !full);
    }
    assert_true(whole > 100);
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
        RING_TEST(a_ring_that_was_full_is_known),
        RING_TEST(empty_records_and_short_commits_are_fine),
        RING_TEST(consumer_reads_in_place),
        QUICK_TEST(records_come_out_in_order_and_whole),
        QUICK_TEST(empty_records_and_short_commits_are_fine),
        QUICK_TEST(quickened_ring_knows_old_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
