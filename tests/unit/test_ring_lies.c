/* SPDX-License-Identifier: BSD-3-Clause
 * The packet ring: a peer that lies breaks its ring, and nothing else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "ring_pair.h"

static void quickened_ring_checks_lengths(void **state)
{
    struct pair *p = *state;
    uint32_t lie = MAX + 1;
    uint8_t *at = ring_reserve(&p->in, 10);
    size_t len;

    ring_commit(&p->in, 10);
    memcpy(at - 8, &lie, 4);
    assert_null(ring_peek(&p->out, &len));
    assert_int_equal(errno, EPROTO);
    assert_true(p->out.broken);
}

static void ring_of_foreign_make_is_refused(void **state)
{
    struct ring r;
    struct errbuf err;
    int fd = memfd_create("unsealed", MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_int_equal(ring_attach(&r, fd, RING_CONSUMER, MAX, &err), -1);
    assert_int_equal(errno, EINVAL);
    /* of a size that we do not make, though sealed */
    assert_int_equal(ftruncate(fd, 4096 + 5000), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    assert_int_equal(ring_attach(&r, fd, RING_CONSUMER, MAX, &err), -1);
    close(fd);
    assert_int_equal(ring_create(5000, &err), -1);
    assert_int_equal(ring_create(0, &err), -1);
    fd = ring_create(4096, &err);
    assert_int_equal(ftruncate(fd, 0), -1); /* no SIGBUS for us */
    assert_int_equal(ring_attach(&r, fd, RING_CONSUMER, 4096, &err), -1);
    close(fd);
    fd = open("/dev/null", O_RDWR);
    assert_int_equal(ring_attach(&r, fd, RING_CONSUMER, MAX, &err), -1);
    close(fd);
    ring_detach(&r);
}

static void assert_consumer_broken(struct pair *p)
{
    size_t len;

    assert_null(ring_peek(&p->out, &len));
    assert_int_equal(errno, EPROTO);
    assert_true(p->out.broken);
    assert_null(ring_peek(&p->out, &len));
    assert_false(ring_sleep(&p->out));
}

static void producer_that_lies_about_a_length_breaks_the_ring(void **state)
{
    const uint32_t lies[] = {MAX + 1, 4096, 0x7fffffff, 0xffffffff, 500};
    struct pair *p = *state;

    for (size_t i = 0; i < 5; i++) {
        uint8_t *at = ring_reserve(&p->in, 10);

        ring_commit(&p->in, 10);
        memcpy(at - 8, &lies[i], 4);
        assert_consumer_broken(p);
        begin_anew(state);
    }
}

static void producer_that_lies_about_its_index_breaks_the_ring(void **state)
{
    const uint64_t lies[] = {SIZE + 16, 8, UINT64_MAX, 1ull << 63};
    struct pair *p = *state;

    for (size_t i = 0; i < 4; i++) {
        *tail_of(p) = lies[i];
        assert_consumer_broken(p);
        begin_anew(state);
    }
    put(&p->in, 1, 100);
    put(&p->in, 2, 100);
    assert_non_null(ring_peek(&p->out, &(size_t){0}));
    ring_consume(&p->out);
    ring_consume(&p->out);
    *tail_of(p) = 0; /* back again */
    assert_non_null(ring_peek(&p->out, &(size_t){0}));
    ring_consume(&p->out);
    assert_consumer_broken(p);
}

/* Each lie by itself: nothing else about the index is wrong. */
static void producer_that_lies_a_little_breaks_the_ring(void **state)
{
    struct pair *p = *state;

    put(&p->in, 1, 100);
    *tail_of(p) += 1; /* not where a record ends */
    assert_consumer_broken(p);
    begin_anew(state);
    put(&p->in, 1, 100);
    put(&p->in, 2, 100);
    assert_non_null(ring_peek(&p->out, &(size_t){0}));
    ring_consume(&p->out);
    *tail_of(p) = *head_of(p); /* back, to what it has passed before */
    ring_peek(&p->out, &(size_t){0});
    ring_consume(&p->out);
    assert_consumer_broken(p);
    begin_anew(state);
    *tail_of(p) = SIZE; /* full: that may be */
    assert_non_null(ring_peek(&p->out, &(size_t){0}));
    begin_anew(state);
    *tail_of(p) = SIZE + 16; /* more than fits */
    assert_consumer_broken(p);
}

static void assert_producer_broken(struct pair *p)
{
    assert_null(ring_reserve(&p->in, 500));
    assert_int_equal(errno, EPROTO);
    assert_true(p->in.broken);
}

static void fill_ring(struct pair *p)
{
    while (put(&p->in, 1, 500))
        ;
    assert_int_equal(errno, EAGAIN);
}

static void consumer_that_lies_a_little_breaks_the_ring(void **state)
{
    struct pair *p = *state;
    uint64_t sent;

    fill_ring(p);
    *head_of(p) = 1; /* not where a record ends */
    assert_producer_broken(p);
    begin_anew(state);
    fill_ring(p);
    *head_of(p) = *tail_of(p) + 16; /* past what was sent */
    assert_producer_broken(p);
    begin_anew(state);
    fill_ring(p);
    sent = *tail_of(p);
    *head_of(p) = sent / 2 / 16 * 16;
    fill_ring(p);
    *head_of(p) -= 16; /* back, to what is not in the ring any more */
    assert_producer_broken(p);
}

/* What was not reserved may be the consumer's still. */
static void commit_of_more_than_was_reserved_is_cut(void **state)
{
    struct pair *p = *state;
    size_t len;

    assert_non_null(ring_reserve(&p->in, 10));
    ring_commit(&p->in, MAX);
    assert_non_null(ring_peek(&p->out, &len));
    assert_int_equal(len, 10);
    ring_consume(&p->out);
    assert_true(put(&p->in, 7, length_of(7)));
    check_record(ring_peek(&p->out, &len), length_of(7), 7);
}

static void consumer_that_lies_breaks_the_ring(void **state)
{
    struct pair *p = *state;

    while (put(&p->in, 1, 500))
        ;
    assert_int_equal(errno, EAGAIN);
    *head_of(p) = 1 << 20; /* more than was sent */
    assert_null(ring_reserve(&p->in, 500));
    assert_int_equal(errno, EPROTO);
    assert_false(ring_sleep_full(&p->in, 500));
    assert_null(ring_reserve(&p->in, 1));
}

/* A peer that writes anything anywhere in the shared memory while we read
 * can make the ring broken, and nothing worse. */
static void scribbling_peer_hurts_only_its_ring(void **state)
{
    struct pair *p = *state;
    uint8_t *page = (uint8_t *)p->in.shared;
    unsigned seed = 5;

    for (int round = 0; round < 3000; round++) {
        size_t len, at;

        for (int i = 0; i < 8; i++) {
            seed = seed * 1103515245u + 12345u;
            at = (seed >> 8) % (round % 2 ? 256 : 4096 + SIZE);
            page[at] = (uint8_t)(seed >> 24);
        }
        for (int i = 0; i < 20; i++) {
            const uint8_t *got = ring_peek(&p->out, &len);

            if (!got)
                break;
            assert_true(len <= MAX);
            assert_true(got >= p->out.data &&
                        got + len <= p->out.data + 2 * SIZE);
            ring_consume(&p->out);
        }
        put(&p->in, 1, 100);
        if (p->out.broken || p->in.broken) {
            begin_anew(state);
            page = (uint8_t *)p->in.shared;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(ring_of_foreign_make_is_refused),
        RING_TEST(producer_that_lies_about_a_length_breaks_the_ring),
        RING_TEST(producer_that_lies_about_its_index_breaks_the_ring),
        RING_TEST(producer_that_lies_a_little_breaks_the_ring),
        RING_TEST(consumer_that_lies_a_little_breaks_the_ring),
        RING_TEST(consumer_that_lies_breaks_the_ring),
        RING_TEST(commit_of_more_than_was_reserved_is_cut),
        RING_TEST(scribbling_peer_hurts_only_its_ring),
        QUICK_TEST(commit_of_more_than_was_reserved_is_cut),
        QUICK_TEST(scribbling_peer_hurts_only_its_ring),
        QUICK_TEST(quickened_ring_checks_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
