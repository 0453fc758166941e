/* SPDX-License-Identifier: BSD-3-Clause
 * Soft links: opening, tags, replay, silence, and everybody who should not
 * get in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fastmac.h"
#include "base/replay.h"
#include "softlink_bed.h"

static void link_opens_and_carries_both_ways(void **state)
{
    struct bed *b = *state;
    uint64_t session;

    assert_int_equal(softlink_wrap(b->caller, 0, b->buf, "x", 1), -1);
    assert_int_equal(errno, ENOTCONN);
    connect_both(b);
    assert_true(softlink_is_up(b->caller) && softlink_is_up(b->called));
    assert_string_equal(softlink_peer(b->called)->name, "alice");
    assert_true(softlink_peer(b->called)->address == 0x60dd000001);
    assert_int_equal(softlink_peer(b->called)->uid, SERVICE);
    for (int i = 0; i < 50; i++) {
        assert_passes(b, b->caller, b->called, "to the fabric");
        assert_int_equal(softlink_look(b->buf, b->len, &session),
                         SOFTLINK_DATA);
        assert_int_equal(session & 0xffff, 9);
        assert_passes(b, b->called, b->caller, "to the host");
    }
    assert_int_equal(
        softlink_wrap(b->caller, 0, b->buf, b->buf, NET_PACKET_MAX + 1), -1);
    assert_int_equal(errno, EMSGSIZE);
}

/* Whoever asks who is there gets no half of the key. */
static void halves_of_the_key_are_forgotten(void **state)
{
    static const uint8_t nothing[SOFTLINK_KEY_HALF];
    struct bed *b = *state;

    connect_both(b);
    assert_memory_equal(softlink_peer(b->called)->key, nothing,
                        sizeof(nothing));
    assert_memory_equal(softlink_peer(b->caller)->key, nothing,
                        sizeof(nothing));
}

static void called_side_is_up_when_the_key_was_used(void **state)
{
    struct bed *b = *state;

    make_hello(b);
    answer(b);
    assert_false(softlink_is_up(b->called));
    assert_int_equal(softlink_wrap(b->called, 0, b->buf, "x", 1), -1);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    /* the first message may be data: it counts, and is not lost */
    wrap(b, b->caller, "first");
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_UP);
    assert_int_equal(b->packet_len, 5);
}

static void every_changed_bit_is_refused(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    wrap(b, b->caller, "precious");
    for (size_t bit = 0; bit < 8 * b->len; bit++) {
        b->buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
        assert_null(b->packet);
        b->buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(softlink_counters(b->called)->bad_tag > 8 * 8);
    for (size_t len = b->len - 1; len; len--) {
        size_t whole = b->len;

        b->len = len;
        assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
        b->len = whole;
    }
    assert_int_equal(give(b, b->called), SOFTLINK_PACKET);
}

static void replayed_message_is_refused(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    assert_passes(b, b->caller, b->called, "once");
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    assert_int_equal(softlink_counters(b->called)->replayed, 1);
    /* nor does the other direction believe it */
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
}

static void messages_may_overtake_within_the_window(void **state)
{
    struct bed *b = *state;
    uint8_t old[SOFTLINK_HEAD + 3], older[SOFTLINK_HEAD + 3];

    connect_both(b);
    wrap(b, b->caller, "old");
    memcpy(older, b->buf, sizeof(older));
    wrap(b, b->caller, "old");
    memcpy(old, b->buf, sizeof(old));
    for (int i = 0; i < REPLAY_WINDOW - 1; i++)
        assert_passes(b, b->caller, b->called, "new");
    memcpy(b->buf, old, b->len = sizeof(old));
    assert_int_equal(give(b, b->called), SOFTLINK_PACKET);
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    memcpy(b->buf, older, sizeof(older));
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    assert_int_equal(softlink_counters(b->called)->replayed, 2);
}

/* ---- who may not in ---- */

static void assert_hello_refused(struct bed *b, int why)
{
    struct softlink_hello hello;

    assert_int_equal(
        softlink_read_hello(&hello, &b->ops, b->buf, b->len, &b->err), -1);
    assert_int_equal(errno, why);
}

static void credential_of_a_stranger_is_refused(void **state)
{
    struct bed *b = *state;

    b->munge.uid = STRANGER;
    make_hello(b);
    assert_hello_refused(b, EPERM);
    b->munge.uid = 0; /* root may */
    b->now += SECOND;
    make_hello(b);
    answer(b);
}

static void credential_that_is_too_old_is_refused(void **state)
{
    struct bed *b = *state;

    b->munge.late = true;
    make_hello(b);
    assert_hello_refused(b, EPERM);
    b->munge.late = false;
    b->now += SECOND;
    make_hello(b);
    answer(b);
}

static void welcome_of_a_stranger_is_refused(void **state)
{
    struct bed *b = *state;

    make_hello(b);
    b->munge.uid = STRANGER;
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_false(softlink_is_up(b->caller));
}

static void recorded_hello_opens_and_closes_nothing(void **state)
{
    struct bed *b = *state;
    uint8_t copy[SOFTLINK_CONTROL_MAX];
    size_t len;

    make_hello(b);
    memcpy(copy, b->buf, len = b->len);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_UP);
    memcpy(b->buf, copy, b->len = len);
    assert_hello_refused(b, EPERM);
    /* even with a munged that forgot: a session is offered, no more */
    fake_forget(&b->munge);
    answer(b);
    assert_true(softlink_is_up(b->called));
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_passes(b, b->caller, b->called, "still here");
}

static void welcome_for_another_call_is_refused(void **state)
{
    struct bed *b = *state;
    uint8_t stale[SOFTLINK_CONTROL_MAX];
    size_t len;

    make_hello(b);
    answer(b);
    memcpy(stale, b->buf, len = b->len);
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    memcpy(stale + 4, b->buf + 4, 8); /* under the new session's name */
    memcpy(b->buf, stale, b->len = len);
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_false(softlink_is_up(b->caller));
}

static void hello_is_not_taken_for_a_welcome(void **state)
{
    struct bed *b = *state;

    make_hello(b);
    b->buf[3] = SOFTLINK_WELCOME;
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_false(softlink_is_up(b->caller));
    b->buf[3] = SOFTLINK_HELLO;
    fake_forget(&b->munge);
    b->buf[11] ^= 1; /* a session that the credential does not name */
    assert_hello_refused(b, EBADMSG);
}

static void malformed_messages_are_refused(void **state)
{
    struct bed *b = *state;
    uint64_t session;

    b->len = 0;
    assert_hello_refused(b, EBADMSG);
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
    make_hello(b);
    b->buf[2] = 2; /* version */
    assert_int_equal(softlink_look(b->buf, b->len, &session), 0);
    assert_hello_refused(b, EBADMSG);
    b->buf[2] = 1;
    b->len = 12;
    assert_hello_refused(b, EBADMSG);
    b->buf[12] = 'z';
    b->len = 13;
    assert_hello_refused(b, EBADMSG);
    b->len = sizeof(b->buf);
    assert_hello_refused(b, EBADMSG);
    assert_true(softlink_counters(b->called)->malformed > 0);
}

static void refusal_is_shown_and_not_obeyed(void **state)
{
    struct bed *b = *state;
    uint64_t session;

    make_hello(b);
    softlink_look(b->buf, b->len, &session);
    b->len =
        softlink_make_refusal(b->buf, sizeof(b->buf), session, "no such\nlink");
    assert_int_equal(give(b, b->caller), SOFTLINK_WAS_REFUSED);
    assert_string_equal(b->err.text, "refused: no such?link");
    b->now += SOFTLINK_HELLO_NS;
    connect_both(b);
    b->len = softlink_make_refusal(b->buf, sizeof(b->buf), session, "no");
    assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    assert_true(softlink_is_up(b->caller));
}

/* ---- time ---- */

static void caller_repeats_with_a_new_credential(void **state)
{
    struct bed *b = *state;
    uint8_t first[SOFTLINK_CONTROL_MAX];
    size_t len;

    make_hello(b);
    memcpy(first, b->buf, len = b->len);
    softlink_tick(b->caller, b->now + SOFTLINK_HELLO_NS - 1, &b->err);
    assert_int_equal(softlink_output(b->caller, b->buf, sizeof(b->buf)), 0);
    assert_true(softlink_next(b->caller) == b->now + SOFTLINK_HELLO_NS);
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    assert_int_not_equal(memcmp(first, b->buf, len), 0);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
}

/* As whom the other end runs shows when it calls; who is called may be root or
 * the service user, and each opens only what is for it. */
static void a_credential_is_for_who_is_there(void **state)
{
    struct bed *b = *state;

    make_hello(b);
    assert_int_equal(b->munge.reader, SERVICE);
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    assert_int_equal(b->munge.reader, 0);
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    assert_int_equal(b->munge.reader, SERVICE);
    answer(b);
    assert_int_equal(b->munge.reader, SERVICE);
    b->munge.uid = 0;
    b->now += SOFTLINK_HELLO_NS;
    make_hello(b);
    answer(b);
    assert_int_equal(b->munge.reader, 0);
}

static void idle_link_lives_by_signs_of_life(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    for (int i = 0; i < 20; i++) {
        b->now += SOFTLINK_KEEP_NS;
        assert_int_equal(softlink_tick(b->caller, b->now, &b->err),
                         SOFTLINK_NOTHING);
        take_output(b, b->caller);
        assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
        assert_int_equal(softlink_tick(b->called, b->now, &b->err),
                         SOFTLINK_NOTHING);
        take_output(b, b->called);
        assert_int_equal(give(b, b->caller), SOFTLINK_NOTHING);
    }
    assert_true(softlink_is_up(b->caller) && softlink_is_up(b->called));
}

static void silence_takes_the_link_down_and_it_comes_again(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    b->now += SOFTLINK_SILENCE_NS - 1;
    assert_int_equal(softlink_tick(b->called, b->now, &b->err),
                     SOFTLINK_NOTHING);
    b->now++;
    assert_int_equal(softlink_tick(b->called, b->now, &b->err),
                     SOFTLINK_WENT_DOWN);
    assert_false(softlink_is_up(b->called));
    assert_int_equal(softlink_tick(b->caller, b->now, &b->err),
                     SOFTLINK_WENT_DOWN);
    assert_true(softlink_next(b->caller) <= b->now); /* calls again at once */
    assert_int_equal(softlink_tick(b->caller, b->now, &b->err),
                     SOFTLINK_NOTHING);
    take_output(b, b->caller);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_UP);
    assert_passes(b, b->caller, b->called, "again");
}

static void goodbye_ends_it_at_once(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    softlink_close(b->caller);
    assert_false(softlink_is_up(b->caller));
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_DOWN);
    assert_int_equal(give(b, b->called), SOFTLINK_NOTHING);
}

static void restarted_caller_takes_its_place(void **state)
{
    struct bed *b = *state;

    connect_both(b);
    softlink_free(b->caller);
    b->caller = softlink_new_caller("alice", 1, SOFTLINK_DATAGRAMS, 7, &b->ops);
    make_hello(b);
    answer(b);
    assert_int_equal(give(b, b->caller), SOFTLINK_WENT_UP);
    take_output(b, b->caller);
    assert_int_equal(give(b, b->called), SOFTLINK_WENT_UP);
    assert_true(softlink_peer(b->called)->address == 1);
    assert_passes(b, b->called, b->caller, "hello again");
}

static void dead_munged_is_an_error_and_no_more(void **state)
{
    struct bed *b = *state;
    struct softlink_hello hello;

    b->munge.gone = true;
    assert_int_equal(softlink_tick(b->caller, b->now, &b->err),
                     SOFTLINK_NOTHING);
    assert_string_equal(b->err.text, "munge: gone");
    assert_int_equal(softlink_output(b->caller, b->buf, sizeof(b->buf)), 0);
    b->munge.gone = false;
    b->now += SECOND;
    make_hello(b);
    assert_int_equal(
        softlink_read_hello(&hello, &b->ops, b->buf, b->len, &b->err), 0);
    b->munge.gone = true;
    assert_int_equal(softlink_answer(b->called, b->now, &hello, &b->err), -1);
    b->munge.gone = false;
    b->now += SECOND;
    connect_both(b);
}

/* ---- the window and the tag by themselves ---- */

static void replay_window_against_a_plain_list(void **state)
{
    static bool seen[20000];
    struct replay r = {0};
    uint64_t newest = 0, x = 1;

    assert_false(replay_is_new(&r, 0));
    for (int i = 0; i < 100000; i++) {
        uint64_t c;
        bool expect;

        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        c = newest + (x >> 33) % 40 - 20 - (x >> 60 == 0 ? 1500 : 0);
        if (x >> 58 == 1)
            c = newest + 2000;
        if (c == 0 || c >= 20000)
            continue;
        expect = !seen[c] && (c > newest || newest - c < REPLAY_WINDOW);
        assert_int_equal(replay_is_new(&r, c), expect);
        if (!expect)
            continue;
        seen[c] = true;
        replay_mark(&r, c);
        newest = c > newest ? c : newest;
    }
}

/* AES-128-GCM, test case 1 of its specification (no text, no data). */
static void fastmac_known_answer(void **state)
{
    const uint8_t key[16] = {0};
    uint8_t tag[16];
    struct fastmac *mac = fastmac_new(key);
    const struct mac_part a[] = {{"ab", 2}, {"", 0}, {"c", 1}};
    const struct mac_part b[] = {{"abc", 3}};

    assert_int_equal(fastmac_sign(mac, tag, 0, NULL, 0), 0);
    assert_memory_equal(
        tag, "\x58\xe2\xfc\xce\xfa\x7e\x30\x61\x36\x7f\x1d\x57\xa4\xe7\x45\x5a",
        16);
    assert_int_equal(fastmac_sign(mac, tag, 5, a, 3), 0);
    assert_true(fastmac_check(mac, tag, 5, b, 1));
    assert_false(fastmac_check(mac, tag, 6, b, 1));
    assert_false(fastmac_check(mac, tag, 5, b, 0));
    fastmac_free(mac);
    fastmac_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(link_opens_and_carries_both_ways),
        BED_TEST(halves_of_the_key_are_forgotten),
        BED_TEST(called_side_is_up_when_the_key_was_used),
        BED_TEST(every_changed_bit_is_refused),
        BED_TEST(replayed_message_is_refused),
        BED_TEST(messages_may_overtake_within_the_window),
        BED_TEST(credential_of_a_stranger_is_refused),
        BED_TEST(credential_that_is_too_old_is_refused),
        BED_TEST(welcome_of_a_stranger_is_refused),
        BED_TEST(recorded_hello_opens_and_closes_nothing),
        BED_TEST(welcome_for_another_call_is_refused),
        BED_TEST(hello_is_not_taken_for_a_welcome),
        BED_TEST(malformed_messages_are_refused),
        BED_TEST(refusal_is_shown_and_not_obeyed),
        BED_TEST(a_credential_is_for_who_is_there),
        BED_TEST(caller_repeats_with_a_new_credential),
        BED_TEST(idle_link_lives_by_signs_of_life),
        BED_TEST(silence_takes_the_link_down_and_it_comes_again),
        BED_TEST(goodbye_ends_it_at_once),
        BED_TEST(restarted_caller_takes_its_place),
        BED_TEST(dead_munged_is_an_error_and_no_more),
        cmocka_unit_test(replay_window_against_a_plain_list),
        cmocka_unit_test(fastmac_known_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
