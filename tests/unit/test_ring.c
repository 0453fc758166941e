/* SPDX-License-Identifier: BSD-3-Clause
 * The packet ring: order, room, sleeping, and a peer that lies.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ring.h"

enum { SIZE = 4096, MAX = 1000, MANY = 20000 };

struct pair {
    int fd;
    struct ring in, out; /* producer's side, consumer's side */
};

/* What a peer can reach: the indexes stand at these places. */
static uint64_t *tail_of(struct pair *p)
{
    return (uint64_t *)(void *)p->in.shared;
}

static uint64_t *head_of(struct pair *p)
{
    return tail_of(p) + 8;
}

static int open_pair(void **state)
{
    static struct pair pair;
    struct errbuf err;

    *state = &pair;
    pair.fd = ring_create(SIZE, &err);
    if (pair.fd < 0)
        return -1;
    return ring_attach(&pair.in, pair.fd, RING_PRODUCER, MAX, &err) ||
           ring_attach(&pair.out, pair.fd, RING_CONSUMER, MAX, &err);
}

static int open_quick(void **state)
{
    struct pair *p;

    if (open_pair(state) < 0)
        return -1;
    p = *state;
    ring_quicken(&p->in, 12345);
    ring_quicken(&p->out, 12345);
    return 0;
}

static int close_pair(void **state)
{
    struct pair *p = *state;

    ring_detach(&p->in);
    ring_detach(&p->out);
    close(p->fd);
    return 0;
}

static void begin_anew(void **state)
{
    close_pair(state);
    assert_int_equal(open_pair(state), 0);
}

static bool put(struct ring *r, uint32_t value, size_t len)
{
    uint8_t *at = ring_reserve(r, len);

    if (!at)
        return false;
    memset(at, (uint8_t)value, len);
    memcpy(at, &value, sizeof(value));
    ring_commit(r, len);
    return true;
}

static size_t length_of(uint32_t value)
{
    return 4 + value * 37 % (MAX - 3);
}

static void check_record(const uint8_t *p, size_t len, uint32_t value)
{
    uint32_t got;

    memcpy(&got, p, sizeof(got));
    assert_int_equal(got, value);
    assert_int_equal(len, length_of(value));
    if (len > 4) {
        assert_int_equal(p[4], (uint8_t)value);
        assert_int_equal(p[len - 1], (uint8_t)value);
    }
}

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

static void who_sleeps_is_woken_once(void **state)
{
    struct pair *p = *state;
    size_t len;

    put(&p->in, 1, 10);
    assert_false(ring_must_wake(&p->in));
    assert_false(ring_sleep(&p->out)); /* there is something */
    assert_non_null(ring_peek(&p->out, &len));
    ring_consume(&p->out);
    assert_true(ring_sleep(&p->out));
    put(&p->in, 2, 10);
    assert_true(ring_must_wake(&p->in));
    put(&p->in, 3, 10);
    assert_false(ring_must_wake(&p->in));
    while (put(&p->in, 4, 900))
        ;
    assert_true(ring_sleep_full(&p->in, 900));
    assert_non_null(ring_peek(&p->out, &len));
    ring_consume(&p->out);
    assert_true(ring_must_wake_full(&p->out));
    assert_false(ring_must_wake_full(&p->out));
}

static void bell_never_blocks_and_tells_when_the_peer_is_gone(void **state)
{
    int bell[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bell), 0);
    for (int i = 0; i < 5000; i++)
        ring_bell(bell[0]);
    assert_int_equal(ring_bell_clear(bell[1]), 0);
    close(bell[0]);
    for (int i = 0; i < 5000 && ring_bell_clear(bell[1]) == 0; i++)
        ;
    assert_int_equal(ring_bell_clear(bell[1]), -1);
    assert_int_equal(errno, ECONNRESET);
    ring_bell(bell[1]); /* no SIGPIPE */
    close(bell[1]);
}

/* ---- threads and processes ---- */

struct worker {
    struct ring ring;
    int bell;
};

static void *produce(void *arg)
{
    struct worker *w = arg;

    for (uint32_t i = 0; i < MANY;) {
        if (put(&w->ring, i, length_of(i))) {
            i++;
            if (ring_must_wake(&w->ring))
                ring_bell(w->bell);
        } else if (ring_sleep_full(&w->ring, length_of(i))) {
            struct pollfd p = {.fd = w->bell, .events = POLLIN};

            poll(&p, 1, -1);
            ring_bell_clear(w->bell);
            ring_awake(&w->ring);
        }
    }
    return NULL;
}

static void consume_all(struct ring *r, int bell)
{
    struct ring_spin spin = {0};

    for (uint32_t i = 0; i < MANY; i++) {
        size_t len = 0;
        const uint8_t *at;

        assert_int_equal(ring_wait(r, bell, 60000, &spin), 1);
        at = ring_peek(r, &len);
        check_record(at, len, i);
        ring_consume(r);
        if (ring_must_wake_full(r))
            ring_bell(bell);
    }
}

static void two_threads_pass_everything_in_order(void **state)
{
    struct pair *p = *state;
    struct worker w = {.bell = -1};
    int bell[2];
    pthread_t thread;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bell), 0);
    w.bell = bell[0];
    ring_attach_thread(&w.ring, &p->out, RING_PRODUCER);
    assert_int_equal(pthread_create(&thread, NULL, produce, &w), 0);
    consume_all(&p->out, bell[1]);
    pthread_join(thread, NULL);
    close(bell[0]);
    close(bell[1]);
}

static void two_processes_pass_everything_in_order(void **state)
{
    struct pair *p = *state;
    struct ring_spin spin = {0};
    int bell[2], status;
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bell), 0);
    pid = fork();
    if (pid == 0) {
        struct worker w = {.ring = p->in, .bell = bell[0]};

        close(bell[1]);
        produce(&w);
        _exit(0);
    }
    close(bell[0]);
    consume_all(&p->out, bell[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(ring_wait(&p->out, bell[1], -1, &spin), -1);
    assert_int_equal(errno, ECONNRESET);
    close(bell[1]);
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

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)
#define QUICK_TEST(f)                                                          \
    {                                                                          \
        "quickened: " #f, f, open_quick, close_pair, NULL                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(records_come_out_in_order_and_whole),
        RING_TEST(skipped_records_stay_until_they_are_released),
        RING_TEST(empty_records_and_short_commits_are_fine),
        RING_TEST(consumer_reads_in_place),
        RING_TEST(ring_of_foreign_make_is_refused),
        RING_TEST(producer_that_lies_about_a_length_breaks_the_ring),
        RING_TEST(producer_that_lies_about_its_index_breaks_the_ring),
        RING_TEST(producer_that_lies_a_little_breaks_the_ring),
        RING_TEST(consumer_that_lies_a_little_breaks_the_ring),
        RING_TEST(consumer_that_lies_breaks_the_ring),
        RING_TEST(commit_of_more_than_was_reserved_is_cut),
        RING_TEST(who_sleeps_is_woken_once),
        RING_TEST(bell_never_blocks_and_tells_when_the_peer_is_gone),
        RING_TEST(two_threads_pass_everything_in_order),
        RING_TEST(two_processes_pass_everything_in_order),
        RING_TEST(scribbling_peer_hurts_only_its_ring),
        RING_TEST(notes_come_with_their_records),
        QUICK_TEST(notes_come_with_their_records),
        QUICK_TEST(records_come_out_in_order_and_whole),
        QUICK_TEST(empty_records_and_short_commits_are_fine),
        QUICK_TEST(commit_of_more_than_was_reserved_is_cut),
        QUICK_TEST(who_sleeps_is_woken_once),
        QUICK_TEST(two_threads_pass_everything_in_order),
        QUICK_TEST(two_processes_pass_everything_in_order),
        QUICK_TEST(scribbling_peer_hurts_only_its_ring),
        QUICK_TEST(quickened_ring_knows_old_bytes),
        QUICK_TEST(quickened_ring_checks_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
