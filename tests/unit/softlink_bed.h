/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both ends of a soft link, and the wire between them, for tests.
 */
#ifndef SF_TESTS_SOFTLINK_BED_H
#define SF_TESTS_SOFTLINK_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "softlink_fake.h"

#define SECOND 1000000000ULL

enum { SERVICE = 500, STRANGER = 1000 };

struct bed {
    struct fake_munge munge;
    struct softlink_ops ops;
    struct softlink *caller, *called;
    uint64_t now;
    struct errbuf err;
    uint8_t buf[SOFTLINK_DATAGRAM_MAX];
    size_t len;
    const uint8_t *packet;
    size_t packet_len;
};

static inline int open_bed(void **state)
{
    static struct bed b;

    memset(&b, 0, sizeof(b));
    b.munge = (struct fake_munge){.uid = SERVICE, .rng = 3};
    b.ops = fake_ops(&b.munge, SERVICE);
    b.now = 100 * SECOND;
    b.caller = softlink_new_caller("alice", 0x60dd000001, SOFTLINK_DATAGRAMS, 7,
                                   &b.ops);
    b.called = softlink_new_called(9, &b.ops);
    *state = &b;
    return b.caller && b.called ? 0 : -1;
}

static inline int close_bed(void **state)
{
    struct bed *b = *state;

    softlink_free(b->caller);
    softlink_free(b->called);
    fake_forget(&b->munge);
    return 0;
}

static inline void take_output(struct bed *b, struct softlink *from)
{
    b->len = softlink_output(from, b->buf, sizeof(b->buf));
    assert_true(b->len > 0);
}

static inline enum softlink_event give(struct bed *b, struct softlink *to)
{
    return softlink_input(to, b->now, b->buf, b->len, &b->packet,
                          &b->packet_len, &b->err);
}

/* A HELLO of the caller is in b->buf. */
static inline void make_hello(struct bed *b)
{
    softlink_tick(b->caller, b->now, &b->err);
    take_output(b, b->caller);
}

static inline void answer(struct bed *b)
{
    struct softlink_hello hello;

    assert_int_equal(
        softlink_read_hello(&hello, &b->ops, b->buf, b->len, &b->err), 0);
    assert_int_equal(softlink_answer(b->called, b->now, &hello, &b->err), 0);
    take_output(b, b->called);
}

static inline void connect_both(struct bed *b)
{
    make_hello(b);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_UP);
}

/* b->buf holds a DATA message with this text. */
static inline void wrap(struct bed *b, struct softlink *from, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(softlink_wrap(from, b->now, b->buf, text, len), 0);
    memcpy(b->buf + SOFTLINK_HEAD, text, len);
    b->len = SOFTLINK_HEAD + len;
}

static inline void assert_passes(struct bed *b, struct softlink *from,
                                 struct softlink *to, const char *text)
{
    wrap(b, from, text);
    assert_int_equal(give(b, to), SOFTLINK_PACKET);
    assert_int_equal(b->packet_len, strlen(text));
    assert_memory_equal(b->packet, text, b->packet_len);
}

#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

#endif
