/* SPDX-License-Identifier: BSD-3-Clause
 * Soft links: a peer with a good credential that says what it should not, and
 * what the keys of a session are made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "net/softlink_session.h"
#include "softlink_bed.h"

/* Where a pledge has its fields (doc/swfab-link.md). */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_CARRIER = 6,
    AT_SESSION = 8,
    PLEDGE_SIZE_MAX = 160
};

/* ---- pledges ---- */

/* What the credential of the message in b->buf holds. */
static size_t pledge_of(struct bed *b, uint8_t plain[PLEDGE_SIZE_MAX])
{
    struct softlink_origin origin;
    char *cred = strndup((char *)b->buf + SOFTLINK_ID, b->len - SOFTLINK_ID);
    void *payload;
    size_t len;

    assert_non_null(cred);
    assert_int_equal(
        b->ops.open(b->ops.arg, &payload, &len, &origin, cred, &b->err), 0);
    assert_true(len <= PLEDGE_SIZE_MAX);
    memcpy(plain, payload, len);
    free(payload);
    free(cred);
    fake_forget(&b->munge);
    return len;
}

/* A message of this type and session with a fresh credential over `plain`. */
static void pledge(struct bed *b, enum softlink_type type, uint64_t session,
                   const void *plain, size_t len)
{
    char *cred;

    assert_int_equal(b->ops.seal(b->ops.arg, &cred, plain, len, 0, &b->err), 0);
    softlink_put_id(b->buf, type, session);
    memcpy(b->buf + SOFTLINK_ID, cred, strlen(cred));
    b->len = SOFTLINK_ID + strlen(cred);
    free(cred);
}

static uint64_t session_in(const struct bed *b)
{
    uint64_t session;

    softlink_look(b->buf, b->len, &session);
    return session;
}

static int read_hello(struct bed *b)
{
    struct softlink_hello hello;

    return softlink_read_hello(&hello, &b->ops, b->buf, b->len, &b->err);
}

/* A HELLO with one byte of its pledge set to something else. */
static int hello_with(struct bed *b, size_t at, uint8_t value)
{
    uint8_t plain[PLEDGE_SIZE_MAX];
    uint64_t session;
    size_t len;

    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    session = session_in(b);
    len = pledge_of(b, plain);
    plain[at] = value;
    pledge(b, SOFTLINK_HELLO, session, plain, len);
    return read_hello(b);
}

static void pledge_of_another_make_is_refused(void **state)
{
    struct bed *b = *state;

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(hello_with(b, AT_MAGIC + i, 'x'), -1);
    assert_int_equal(hello_with(b, AT_VERSION, SOFTLINK_VERSION + 1), -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(hello_with(b, AT_MAGIC, 'S'), 0);
}

static void pledge_of_an_unknown_carrier_is_refused(void **state)
{
    struct bed *b = *state;

    assert_int_equal(hello_with(b, AT_CARRIER, SOFTLINK_DATAGRAMS - 1), -1);
    assert_int_equal(hello_with(b, AT_CARRIER, SOFTLINK_RING + 1), -1);
    assert_int_equal(errno, EBADMSG);
    for (uint8_t c = SOFTLINK_DATAGRAMS; c <= SOFTLINK_RING; c++)
        assert_int_equal(hello_with(b, AT_CARRIER, c), 0);
}

/* Session 0 means that there is none. */
static void pledge_of_session_zero_is_refused(void **state)
{
    struct bed *b = *state;
    uint8_t plain[PLEDGE_SIZE_MAX];
    size_t len;

    make_hello(b);
    len = pledge_of(b, plain);
    be_store64(plain + AT_SESSION, 0);
    pledge(b, SOFTLINK_HELLO, 0, plain, len);
    assert_int_equal(read_hello(b), -1);
    assert_int_equal(errno, EBADMSG);
    be_store64(plain + AT_SESSION, 1);
    pledge(b, SOFTLINK_HELLO, 1, plain, len);
    assert_int_equal(read_hello(b), 0);
}

static void pledge_with_bytes_behind_it_is_refused(void **state)
{
    struct bed *b = *state;
    uint8_t plain[PLEDGE_SIZE_MAX + 1] = {0};
    uint64_t session;
    size_t len;

    make_hello(b);
    session = session_in(b);
    len = pledge_of(b, plain);
    pledge(b, SOFTLINK_HELLO, session, plain, len + 1);
    assert_int_equal(read_hello(b), -1);
    pledge(b, SOFTLINK_HELLO, session, plain, len - 1);
    assert_int_equal(read_hello(b), -1);
}

/* Whoever recorded an answer that nobody opened calls with it. */
static void welcome_is_not_taken_for_a_hello(void **state)
{
    struct bed *b = *state;
    uint8_t plain[PLEDGE_SIZE_MAX];

    make_hello(b);
    answer(b);
    pledge_of(b, plain);
    softlink_put_id(b->buf, SOFTLINK_HELLO, be_load64(plain + AT_SESSION));
    assert_int_equal(read_hello(b), -1);
    assert_int_equal(errno, EBADMSG);
}

/* ---- answers ---- */

/* An answer to the HELLO that is in b->buf, as the mutation makes it. */
static void welcome_with(struct bed *b,
                         void (*mutate)(struct softlink_pledge *p))
{
    uint64_t session = session_in(b);
    struct softlink_pledge p = {.role = SOFTLINK_CALLED,
                                .peer = session,
                                .hello = {.name = "alice",
                                          .carrier = SOFTLINK_DATAGRAMS,
                                          .session = 0x777}};

    if (mutate)
        mutate(&p);
    b->len = softlink_make_pledge(b->buf, sizeof(b->buf), SOFTLINK_WELCOME,
                                  session, &p, 0, &b->ops, &b->err);
    assert_true(b->len > 0);
}

static void assert_not_welcome(struct bed *b,
                               void (*mutate)(struct softlink_pledge *p))
{
    uint64_t before = softlink_counters(b->caller)->malformed;

    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    welcome_with(b, mutate);
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_false(softlink_is_up(b->caller));
    assert_int_equal(softlink_counters(b->caller)->malformed, before + 1);
}

static void other_name(struct softlink_pledge *p)
{
    p->hello.name[0] = 'm';
}
static void longer_name(struct softlink_pledge *p)
{
    strcat(p->hello.name, "s");
}
static void other_carrier(struct softlink_pledge *p)
{
    p->hello.carrier = SOFTLINK_RING;
}
static void other_role(struct softlink_pledge *p)
{
    p->role = SOFTLINK_CALLER;
}
static void other_peer(struct softlink_pledge *p)
{
    p->peer ^= 1;
}

static void welcome_must_agree_with_the_call(void **state)
{
    struct bed *b = *state;

    assert_not_welcome(b, other_name);
    assert_not_welcome(b, longer_name);
    assert_not_welcome(b, other_carrier);
    assert_not_welcome(b, other_role);
    assert_not_welcome(b, other_peer);
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    welcome_with(b, NULL); /* but for that it would have been good */
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
}

/* ---- an offer ---- */

/* Who was offered a session and says goodbye ends the offer, not the session
 * that is up. */
static void goodbye_to_an_offer_ends_only_the_offer(void **state)
{
    struct bed *b = *state;
    struct softlink *first = b->caller;
    uint8_t keep[SOFTLINK_HEAD];

    connect_both(b);
    b->caller = softlink_new_caller("alice", 1, SOFTLINK_DATAGRAMS, 8, &b->ops);
    make_hello(b);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    take_output(b, b->caller);
    assert_int_equal(b->len, sizeof(keep));
    memcpy(keep, b->buf, sizeof(keep));
    softlink_close(b->caller);
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    assert_true(softlink_is_up(b->called));
    memcpy(b->buf, keep, b->len = sizeof(keep)); /* comes after the goodbye */
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    assert_int_equal(softlink_counters(b->called)->foreign, 1);
    assert_true(softlink_peer(b->called)->address == 0x60dd000001);
    assert_passes(b, first, b->called, "still here");
    softlink_free(first);
}

/* ---- the keys of a session ---- */

static const struct softlink_hello a_caller = {
    .name = "alice",
    .carrier = SOFTLINK_DATAGRAMS,
    .session = 11,
    .key = {1, 2, 3},
};
static const struct softlink_hello a_called = {
    .name = "alice",
    .carrier = SOFTLINK_DATAGRAMS,
    .session = 22,
    .key = {4, 5, 6},
};

/* Does the called side that knows these believe what the caller who knows
 * a_caller and a_called signed? */
static bool believes(const struct softlink_hello *caller,
                     const struct softlink_hello *called)
{
    struct softlink_session from = {0}, to = {0};
    uint8_t head[SOFTLINK_HEAD];
    bool genuine;

    assert_int_equal(
        softlink_session_derive(&from, SOFTLINK_CALLER, &a_caller, &a_called),
        0);
    assert_int_equal(
        softlink_session_derive(&to, SOFTLINK_CALLED, caller, called), 0);
    assert_int_equal(softlink_session_sign(&from, SOFTLINK_KEEP, head, NULL, 0),
                     0);
    genuine =
        softlink_session_check(&to, head, sizeof(head)) == SOFTLINK_GENUINE;
    softlink_session_end(&from);
    softlink_session_end(&to);
    return genuine;
}

static void key_depends_on_all_of_both_pledges(void **state)
{
    struct softlink_hello caller = a_caller, called = a_called;

    (void)state;
    assert_true(believes(&caller, &called));
    caller.session++;
    assert_false(believes(&caller, &called));
    caller = a_caller;
    called.session++;
    assert_false(believes(&caller, &called));
    called = a_called;
    strcpy(caller.name, "alicf");
    assert_false(believes(&caller, &called));
    caller = a_caller;
    for (size_t i = 0; i < SOFTLINK_KEY_HALF; i++) {
        caller.key[i] ^= 1;
        assert_false(believes(&caller, &called));
        caller = a_caller;
        called.key[i] ^= 1;
        assert_false(believes(&caller, &called));
        called = a_called;
    }
}

/* Both sides count from 1, so the counters of both directions are the same:
 * one key for both would give its tags away, and echo messages back. */
static void directions_have_keys_of_their_own(void **state)
{
    struct softlink_session calls = {0}, answers = {0};
    uint8_t there[SOFTLINK_HEAD], back[SOFTLINK_HEAD];

    (void)state;
    assert_int_equal(
        softlink_session_derive(&calls, SOFTLINK_CALLER, &a_caller, &a_called),
        0);
    assert_int_equal(softlink_session_derive(&answers, SOFTLINK_CALLED,
                                             &a_caller, &a_called),
                     0);
    assert_true(calls.mine == 11 && calls.theirs == 22);
    assert_true(answers.mine == 22 && answers.theirs == 11);
    answers.theirs = calls.theirs; /* to sign the very same bytes */
    softlink_session_sign(&calls, SOFTLINK_DATA, there, "same", 4);
    softlink_session_sign(&answers, SOFTLINK_DATA, back, "same", 4);
    assert_memory_equal(there, back, SOFTLINK_SIGNED);
    assert_memory_not_equal(there, back, SOFTLINK_HEAD);
    softlink_session_end(&calls);
    softlink_session_end(&answers);
}

/* ---- length ---- */

static void hello_of(struct bed *b, struct softlink_hello *hello)
{
    uint8_t plain[PLEDGE_SIZE_MAX];
    struct be_reader r;

    be_reader_init(&r, plain, pledge_of(b, plain));
    be_get64(&r);
    memset(hello, 0, sizeof(*hello));
    hello->session = be_get64(&r);
    be_get64(&r);
    be_get64(&r);
    be_copy_bytes(&r, hello->key, sizeof(hello->key));
    be_get_str(&r, hello->name, sizeof(hello->name));
    assert_true(be_reader_done(&r));
}

/* A caller that keeps to the rules of keys, not to those of length. */
static void longest_datagram_passes_and_no_longer_one(void **state)
{
    static uint8_t buf[SOFTLINK_DATAGRAM_MAX + 1];
    struct bed *b = *state;
    struct softlink_hello caller, called;
    struct softlink_session s = {0};

    make_hello(b);
    hello_of(b, &caller);
    answer(b);
    hello_of(b, &called);
    assert_int_equal(
        softlink_session_derive(&s, SOFTLINK_CALLER, &caller, &called), 0);
    for (size_t len = SOFTLINK_DATAGRAM_MAX + 1; len >= SOFTLINK_DATAGRAM_MAX;
         len--) {
        bool fits = len == SOFTLINK_DATAGRAM_MAX;

        softlink_session_sign(&s, SOFTLINK_DATA, buf, buf + SOFTLINK_HEAD,
                              len - SOFTLINK_HEAD);
        assert_int_equal(softlink_input(b->called, b->now, buf, len, &b->packet,
                                        &b->packet_len, &b->err),
                         fits ? SOFTLINK_WENT_UP : SOFTLINK_NOTHING);
        assert_int_equal(b->packet_len, fits ? NET_PACKET_MAX : 0);
        assert_int_equal(softlink_counters(b->called)->malformed, 1);
    }
    softlink_session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(pledge_of_another_make_is_refused),
        BED_TEST(pledge_of_an_unknown_carrier_is_refused),
        BED_TEST(pledge_of_session_zero_is_refused),
        BED_TEST(pledge_with_bytes_behind_it_is_refused),
        BED_TEST(welcome_is_not_taken_for_a_hello),
        BED_TEST(welcome_must_agree_with_the_call),
        BED_TEST(goodbye_to_an_offer_ends_only_the_offer),
        cmocka_unit_test(key_depends_on_all_of_both_pledges),
        cmocka_unit_test(directions_have_keys_of_their_own),
        BED_TEST(longest_datagram_passes_and_no_longer_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
