/* SPDX-License-Identifier: BSD-3-Clause
 * The packet ring: sleeping, bells, threads and processes.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "ring_pair.h"
#include "ring_wait.h"

enum { MANY = 20000 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(who_sleeps_is_woken_once),
        RING_TEST(bell_never_blocks_and_tells_when_the_peer_is_gone),
        RING_TEST(two_threads_pass_everything_in_order),
        RING_TEST(two_processes_pass_everything_in_order),
        QUICK_TEST(who_sleeps_is_woken_once),
        QUICK_TEST(two_threads_pass_everything_in_order),
        QUICK_TEST(two_processes_pass_everything_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
