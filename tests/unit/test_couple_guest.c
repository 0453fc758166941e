/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Callers at a port, side by side: bytes go between the acceptor's guests and
 * simulated callers as the test wants.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/couple_guest.h"

static const uint8_t key[IMPI_CHAN_SECRET_SIZE] = {1, 2, 3};
static uint8_t say[IMPI_COUPLE_HEADER_SIZE + 9000];

struct caller {
    struct impi_chan_open open;
    struct impi_couple_guest guest;
    size_t heard; /* of the acceptor's SIDE */
};

static void begin(struct caller *c, uint8_t number, bool knows_key)
{
    const struct impi_chan_id id = {.role = IMPI_CHAN_PORT};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE] = {number};
    uint8_t secret[IMPI_CHAN_SECRET_SIZE];

    memcpy(secret, key, sizeof(secret));
    secret[31] ^= !knows_key;
    impi_chan_open_connect(&c->open, &id, secret, nonce);
    nonce[1] = 1;
    impi_couple_guest_init(&c->guest, key, nonce, NULL, NULL, say, sizeof(say));
    c->heard = 0;
}

/* To the guest what the caller says, in pieces of `piece`. */
static int tell(struct caller *c, const void *data, size_t len, size_t piece,
                struct errbuf *err)
{
    const uint8_t *at = data;

    while (len > 0) {
        size_t n = impi_couple_guest_want(&c->guest);

        n = n < piece ? n : piece;
        n = n < len ? n : len;
        assert_true(n > 0);
        if (impi_couple_guest_input(&c->guest, at, n, err) < 0)
            return -1;
        at += n;
        len -= n;
    }
    return 0;
}

static void hear(struct caller *c)
{
    const uint8_t *out;
    size_t n;

    while ((n = impi_couple_guest_output(&c->guest, &out)) > 0) {
        struct errbuf err;

        if (impi_couple_guest_proved(&c->guest)) {
            assert_memory_equal(out, say + c->heard, n);
            c->heard += n;
        } else {
            size_t want = impi_chan_open_want(&c->open);

            n = n < want ? n : want;
            assert_int_equal(impi_chan_open_input(&c->open, out, n, &err), 0);
        }
        impi_couple_guest_sent(&c->guest, n);
    }
}

/* Both prove that they know the key.  -1: the guest is sent away. */
static int open_both(struct caller *c, size_t piece)
{
    for (int i = 0; i < 3; i++) {
        const uint8_t *out;
        struct errbuf err;
        size_t n = impi_chan_open_output(&c->open, &out);

        if (n > 0 && tell(c, out, n, piece, &err) < 0)
            return -1;
        impi_chan_open_sent(&c->open, n);
        if (impi_couple_guest_proved(&c->guest))
            break;
        hear(c);
    }
    return 0;
}

static int say_frame(struct caller *c, uint32_t type, const void *data,
                     size_t len, size_t piece, struct errbuf *err)
{
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];

    impi_couple_header_put(head, type, (uint32_t)len);
    return tell(c, head, sizeof(head), piece, err) < 0
               ? -1
               : tell(c, data, len, piece, err);
}

/* All that is due. */
static void come_in(struct caller *c, size_t piece)
{
    static uint8_t side[5000] = {7};
    struct errbuf err;

    assert_int_equal(open_both(c, piece), 0);
    hear(c);
    assert_int_equal(c->heard, sizeof(say));
    assert_int_equal(
        say_frame(c, IMPI_COUPLE_SIDE, side, sizeof(side), piece, &err), 0);
    assert_false(impi_couple_guest_ready(&c->guest));
    assert_int_equal(say_frame(c, IMPI_COUPLE_PROOF, "MUNGE:x", 7, piece, &err),
                     0);
    assert_true(impi_couple_guest_ready(&c->guest));
    assert_int_equal(impi_couple_guest_want(&c->guest), 0);
    assert_int_equal(c->guest.side_len, sizeof(side));
    assert_memory_equal(c->guest.side, side, sizeof(side));
    assert_string_equal(c->guest.credential, "MUNGE:x");
}

static void end(struct caller *c)
{
    impi_couple_guest_free(&c->guest);
    impi_chan_open_wipe(&c->open);
}

static void a_caller_comes_in_by_pieces_of_any_size(void **state)
{
    static const size_t pieces[] = {1, 3, 64, 1000, 100000};

    for (int i = 0; i < 5; i++) {
        struct caller c;

        begin(&c, (uint8_t)i, true);
        come_in(&c, pieces[i]);
        end(&c);
    }
}

static void callers_that_stand_still_hold_up_nobody(void **state)
{
    struct caller silent, proved, half, good;
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];
    struct errbuf err;

    begin(&silent, 1, true);
    begin(&proved, 2, true);
    begin(&half, 3, true);
    begin(&good, 4, true);
    assert_int_equal(open_both(&proved, 100), 0);
    assert_int_equal(open_both(&half, 100), 0);
    impi_couple_header_put(head, IMPI_COUPLE_SIDE, 5000);
    assert_int_equal(tell(&half, head, sizeof(head), 100, &err), 0);
    assert_int_equal(tell(&half, head, sizeof(head), 100, &err), 0);
    come_in(&good, 100);
    assert_false(impi_couple_guest_ready(&silent.guest));
    assert_false(impi_couple_guest_ready(&proved.guest));
    assert_false(impi_couple_guest_ready(&half.guest));
    /* What is announced costs nothing before it comes. */
    assert_true(half.guest.size <= IMPI_COUPLE_GUEST_READ);
    end(&silent);
    end(&proved);
    end(&half);
    end(&good);
}

static void who_does_not_know_the_key_is_sent_away(void **state)
{
    struct caller c;
    const uint8_t *out;
    struct errbuf err;
    size_t n;

    begin(&c, 1, false);
    n = impi_chan_open_output(&c.open, &out);
    assert_int_equal(tell(&c, out, n, 100, &err), 0);
    impi_chan_open_sent(&c.open, n);
    n = impi_couple_guest_output(&c.guest, &out);
    assert_int_equal(n, IMPI_CHAN_REPLY_SIZE);
    assert_int_equal(impi_chan_open_input(&c.open, out, n, &err), -1);
    impi_couple_guest_sent(&c.guest, n);
    assert_int_equal(tell(&c, say, MAC_SIZE, 100, &err), -1);
    assert_false(impi_couple_guest_proved(&c.guest));
    end(&c);
}

static void nonsense_is_sent_away(void **state)
{
    static const struct {
        uint32_t type;
        uint32_t len;
    } wrong[] = {
        {IMPI_COUPLE_GO, 0},
        {IMPI_COUPLE_PROOF, 3},
        {IMPI_COUPLE_SIDE, 0},
        {IMPI_COUPLE_REFUSE, 5},
        {0, 0},
        {9, 1},
        {IMPI_COUPLE_SIDE, UINT32_MAX},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t bytes[IMPI_COUPLE_HEADER_SIZE + 8] = {0};
        struct errbuf err = {""};
        struct caller c;
        size_t len = wrong[i].len < 8 ? wrong[i].len : 0;

        begin(&c, 1, true);
        assert_int_equal(open_both(&c, 100), 0);
        impi_couple_header_put(bytes, wrong[i].type, wrong[i].len);
        memset(bytes + IMPI_COUPLE_HEADER_SIZE, 'x', 8);
        assert_int_equal(
            tell(&c, bytes, IMPI_COUPLE_HEADER_SIZE + len, 100, &err), -1);
        assert_true(err.text[0]);
        end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_comes_in_by_pieces_of_any_size),
        cmocka_unit_test(callers_that_stand_still_hold_up_nobody),
        cmocka_unit_test(who_does_not_know_the_key_is_sent_away),
        cmocka_unit_test(nonsense_is_sent_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
