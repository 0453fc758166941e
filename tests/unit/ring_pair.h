/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both ends of a ring in one process, and records that tell what they are.
 */
#ifndef SF_TESTS_RING_PAIR_H
#define SF_TESTS_RING_PAIR_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ring.h"

enum { SIZE = 4096, MAX = 1000 };

struct pair {
    int fd;
    struct ring in, out; /* producer's side, consumer's side */
};

/* What a peer can reach: the indexes stand at these places. */
static inline uint64_t *tail_of(struct pair *p)
{
    return (uint64_t *)(void *)p->in.shared;
}

static inline uint64_t *head_of(struct pair *p)
{
    return tail_of(p) + 8;
}

static inline int open_pair(void **state)
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

static inline int open_quick(void **state)
{
    struct pair *p;

    if (open_pair(state) < 0)
        return -1;
    p = *state;
    ring_quicken(&p->in, 12345);
    ring_quicken(&p->out, 12345);
    return 0;
}

static inline int close_pair(void **state)
{
    struct pair *p = *state;

    ring_detach(&p->in);
    ring_detach(&p->out);
    close(p->fd);
    return 0;
}

static inline void begin_anew(void **state)
{
    close_pair(state);
    assert_int_equal(open_pair(state), 0);
}

static inline bool put(struct ring *r, uint32_t value, size_t len)
{
    uint8_t *at = ring_reserve(r, len);

    if (!at)
        return false;
    memset(at, (uint8_t)value, len);
    memcpy(at, &value, sizeof(value));
    ring_commit(r, len);
    return true;
}

static inline size_t length_of(uint32_t value)
{
    return 4 + value * 37 % (MAX - 3);
}

static inline void check_record(const uint8_t *p, size_t len, uint32_t value)
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

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)
#define QUICK_TEST(f)                                                          \
    {                                                                          \
        "quickened: " #f, f, open_quick, close_pair, NULL                      \
    }

#endif
