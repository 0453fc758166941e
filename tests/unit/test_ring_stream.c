/* SPDX-License-Identifier: BSD-3-Clause
 * The byte stream in memory that two processes share.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "libimpi/share.h"

enum { TOTAL = 3 * 1024 * 1024 };

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 8;
}

static void fetch(void *from, void *to, size_t n)
{
    uint8_t **at = from;

    memcpy(to, *at, n);
    *at += n;
}

/* Of three parts; the middle one is fetched. */
static size_t write_some(struct ring_stream *s, size_t from, unsigned *seed)
{
    static uint8_t bytes[70000];
    size_t n = next_number(seed) % 9 ? 1 + next_number(seed) % 300
                                     : 1 + next_number(seed) % sizeof(bytes);
    size_t cut = next_number(seed) % (n + 1);
    size_t part = next_number(seed) % 2 ? 0 : next_number(seed) % (n - cut + 1);
    struct iovec iov[3] = {
        {bytes, cut}, {NULL, part}, {bytes + cut + part, n - cut - part}};
    uint8_t *at = bytes + cut;
    size_t done;
    bool ring;

    if (n > TOTAL - from) {
        n = TOTAL - from;
        iov[0].iov_len = n;
        iov[1].iov_len = iov[2].iov_len = part = 0;
    }
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(from + i);
    done = ring_stream_write(s, iov, 3, fetch, &at, &ring);
    /* No byte is fetched that is not written. */
    if (part > 0 && done < cut + part)
        assert_int_equal(at - bytes, done < cut ? cut : done);
    return done;
}

/* Where they lie, as far as that is in one piece. */
static size_t look_at_some(struct ring_stream *s, size_t from, unsigned *seed)
{
    size_t len, n;
    const uint8_t *at = ring_stream_peek(s, &len);
    bool ring;

    if (!at)
        return 0;
    assert_true(len <= RING_STREAM_PIECE);
    n = next_number(seed) % 2 ? len : 1 + next_number(seed) % len;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(at[i], byte_at(from + i));
    ring_stream_pass(s, n, &ring);
    return n;
}

static size_t read_some(struct ring_stream *s, size_t from, unsigned *seed)
{
    static uint8_t bytes[50000];
    size_t n = 1 + next_number(seed) % sizeof(bytes), cut = n / 3;
    struct iovec iov[2] = {{bytes, cut}, {bytes + cut, n - cut}};
    bool ring;
    ssize_t got = ring_stream_read(s, iov, 2, &ring);

    assert_true(got >= 0);
    for (size_t i = 0; i < (size_t)got; i++)
        assert_int_equal(bytes[i], byte_at(from + i));
    return (size_t)got;
}

static void stream_keeps_every_byte_in_any_pieces(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    size_t sent = 0, got = 0;
    unsigned seed = 3;

    while (got < TOTAL) {
        while (sent < TOTAL && next_number(&seed) % 4)
            sent += write_some(&a->stream, sent, &seed);
        if (next_number(&seed) % 2)
            got += look_at_some(&b->stream, got, &seed);
        else
            got += read_some(&b->stream, got, &seed);
    }
    assert_int_equal(sent, TOTAL);
    share_free(a);
    share_free(b);
}

static void pass_on_read(struct share *b, const uint8_t *said, size_t len)
{
    uint8_t got[2200] = {0};
    struct iovec in = {got, sizeof(got)};
    bool ring;

    assert_int_equal(ring_stream_read(&b->stream, &in, 1, &ring), len);
    assert_memory_equal(got, said, len);
}

static void pass_on(struct share *a, struct share *b, uint8_t *said, size_t cut,
                    size_t len)
{
    struct iovec out[2] = {{said, cut}, {said + cut, len - cut}};
    bool ring;

    assert_int_equal(ring_stream_write(&a->stream, out, 2, NULL, NULL, &ring),
                     len);
    pass_on_read(b, said, len);
}

static void heads_of_short_pieces_come_back_whole(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    uint8_t said[2200];

    for (size_t i = 0; i < sizeof(said); i++)
        said[i] = byte_at(i);
    for (unsigned i = 0; i < 5000; i++) {
        said[i * 5 % 128] ^= (uint8_t)i;
        pass_on(a, b, said, i % 100, 100 + i % 2100);
    }
    share_free(a);
    share_free(b);
}

/* A header that differs in two numbers, and a byte behind it. */
static void small_message_takes_one_cache_line(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    uint8_t said[129];

    memset(said, 0x5a, sizeof(said));
    pass_on(a, b, said, 128, 129);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = a->stream.out.own;

        said[56]++;
        said[104]--;
        said[128] += 3;
        pass_on(a, b, said, 128, 129);
        assert_int_equal(a->stream.out.own - before, 64);
    }
    share_free(a);
    share_free(b);
}

/* Whole records from one end to the other, between pieces in the other form. */
static void short_records_pass_without_pieces(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    uint8_t said[RING_STREAM_SHORT];
    const uint8_t *head, *data;
    size_t len;
    bool ring;

    for (size_t i = 0; i < sizeof(said); i++)
        said[i] = byte_at(i);
    assert_null(ring_stream_look(&b->stream, &data, &len));
    assert_true(ring_stream_put(&a->stream, said, NULL, 0, &ring));
    pass_on_read(b, said, 128);
    for (unsigned i = 0; i < 2000; i++) {
        size_t behind = i * 7 % (sizeof(said) - 128);

        said[i * 5 % 128] ^= (uint8_t)i;
        assert_true(
            ring_stream_put(&a->stream, said, said + 128, behind, &ring));
        assert_false(ring);
        if (i % 3 == 0)
            pass_on_read(b, said, 128 + behind);
        else {
            head = ring_stream_look(&b->stream, &data, &len);
            assert_non_null(head);
            assert_int_equal(len, behind);
            assert_memory_equal(head, said, 128);
            assert_memory_equal(data, said + 128, len);
            assert_ptr_equal(ring_stream_look(&b->stream, &data, &len), head);
            ring_stream_drop(&b->stream, &ring);
            assert_null(ring_stream_look(&b->stream, &data, &len));
        }
        pass_on(a, b, said, i % 100, 100 + i % 1900);
    }
    share_free(a);
    share_free(b);
}

/* Nothing but a short record that is whole. */
static void other_records_are_not_looked_at(void **state)
{
    uint8_t bytes[2000] = {0};
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    unsigned n = 0;
    struct iovec in = {bytes, 1}, out = {bytes, 100};
    const uint8_t *data;
    size_t len;
    bool ring;

    assert_true(ring_stream_put(&a->stream, bytes, bytes, 5, &ring));
    assert_int_equal(ring_stream_read(&b->stream, &in, 1, &ring), 1);
    assert_null(ring_stream_look(&b->stream, &data, &len)); /* begun */
    in.iov_len = 132;
    assert_int_equal(ring_stream_read(&b->stream, &in, 1, &ring), 132);
    assert_int_equal(ring_stream_write(&a->stream, &out, 1, NULL, NULL, &ring),
                     100);
    assert_null(ring_stream_look(&b->stream, &data, &len)); /* no header */
    in.iov_len = 100;
    assert_int_equal(ring_stream_read(&b->stream, &in, 1, &ring), 100);
    while (ring_stream_put(&a->stream, bytes, bytes, 1900, &ring))
        n++;
    assert_in_range(n, 100, 200); /* full: nothing of the last was written */
    for (; ring_stream_look(&b->stream, &data, &len); n--) {
        assert_int_equal(len, 1900);
        ring_stream_drop(&b->stream, &ring);
    }
    assert_int_equal(n, 0);
    share_free(a);
    share_free(b);
}

static void *writer(void *arg)
{
    struct share *s = arg;
    unsigned seed = 9;

    for (size_t sent = 0; sent < TOTAL;) {
        size_t n = write_some(&s->stream, sent, &seed);

        if (n == 0)
            sched_yield();
        sent += n;
    }
    return NULL;
}

static void two_threads_stream_at_once(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    unsigned seed = 4;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, writer, a), 0);
    for (size_t got = 0; got < TOTAL;) {
        size_t n = read_some(&b->stream, got, &seed);

        if (n == 0)
            sched_yield();
        got += n;
    }
    pthread_join(thread, NULL);
    share_free(a);
    share_free(b);
}

static void who_sleeps_is_rung_for_data_and_for_room(void **state)
{
    static uint8_t bytes[SF_SHARE_RING];
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    struct iovec all = {bytes, sizeof(bytes)}, one = {bytes, 1};
    bool ring;

    assert_true(share_confirm(a));
    assert_true(ring_stream_sleep(&b->stream, false));
    assert_int_equal(ring_stream_write(&a->stream, &one, 1, NULL, NULL, &ring),
                     1);
    assert_true(ring);
    assert_int_equal(ring_stream_write(&a->stream, &one, 1, NULL, NULL, &ring),
                     1);
    assert_false(ring);                                 /* once is enough */
    assert_false(ring_stream_sleep(&b->stream, false)); /* news */
    ring_stream_awake(&b->stream);
    assert_true(ring_stream_write(&a->stream, &all, 1, NULL, NULL, &ring) <
                all.iov_len);
    assert_true(ring_stream_sleep(&a->stream, true));
    assert_true(ring_stream_read(&b->stream, &all, 1, &ring) > 0);
    assert_true(ring);
    assert_false(ring_stream_sleep(&a->stream, true)); /* room */
    share_free(a);
    share_free(b);
}

static void peer_that_lies_breaks_its_stream(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b = share_open(&offer);
    uint8_t bytes[16];
    struct iovec iov = {bytes, sizeof(bytes)};
    bool ring;

    /* an empty record: nobody of ours writes one, and it must not hide what
     * stands behind it for ever */
    assert_non_null(ring_reserve(&a->stream.out, 0));
    ring_commit(&a->stream.out, 0);
    assert_int_equal(ring_stream_read(&b->stream, &iov, 1, &ring), -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(ring_stream_ready(&b->stream), 0);
    assert_false(ring_stream_sleep(&b->stream, false));
    /* an index that cannot be, in the ring that it reads */
    ((uint64_t *)(void *)a->stream.out.shared)[8] = 1 << 30;
    for (int i = 0; i < 100000 && !a->stream.out.broken; i++)
        ring_stream_write(&a->stream, &iov, 1, NULL, NULL, &ring);
    assert_true(a->stream.out.broken);
    assert_int_equal(ring_stream_write(&a->stream, &iov, 1, NULL, NULL, &ring),
                     0);
    share_free(a);
    share_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_keeps_every_byte_in_any_pieces),
        cmocka_unit_test(heads_of_short_pieces_come_back_whole),
        cmocka_unit_test(small_message_takes_one_cache_line),
        cmocka_unit_test(short_records_pass_without_pieces),
        cmocka_unit_test(other_records_are_not_looked_at),
        cmocka_unit_test(two_threads_stream_at_once),
        cmocka_unit_test(who_sleeps_is_rung_for_data_and_for_room),
        cmocka_unit_test(peer_that_lies_breaks_its_stream),
    };

    return cmocka_run_group_tests_name("ring_stream", tests, NULL, NULL);
}
