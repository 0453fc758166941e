/* SPDX-License-Identifier: BSD-3-Clause
 * Channels by libfabric, what both ends say of it and the frames: without
 * libfabric.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "impi/chan_open.h"
#include "impi/frames.h"

static struct impi_fabric_end make_end(const char *name, uint32_t number)
{
    struct impi_fabric_end end = {
        .protocol = 7,
        .version = 1,
        .addr_format = 3,
        .frame = SF_FABRIC_FRAME,
        .lends = SF_FABRIC_LENDS,
        .credits = 8,
        .number = number,
        .addr_len = 16,
    };

    strcpy(end.name, name);
    memset(end.addr, (int)number, end.addr_len);
    return end;
}

/* ---- agreeing ---- */

struct talk {
    struct impi_chan_fabric a, b; /* initiator, acceptor */
    size_t piece;                 /* bytes at a time */
    int rc;
    struct errbuf err;
};

static bool move(struct talk *t, struct impi_chan_fabric *from,
                 struct impi_chan_fabric *to)
{
    const uint8_t *data;
    size_t n = impi_chan_fabric_output(from, &data);
    size_t want = impi_chan_fabric_want(to);

    n = n < want ? n : want;
    n = n < t->piece ? n : t->piece;
    if (n == 0 || t->rc < 0)
        return false;
    t->rc = impi_chan_fabric_input(to, data, n, &t->err);
    impi_chan_fabric_sent(from, n);
    return true;
}

static void run(struct talk *t)
{
    while (move(t, &t->a, &t->b) || move(t, &t->b, &t->a))
        ;
}

static void offer(struct talk *t, const struct impi_fabric_end *own,
                  size_t piece)
{
    *t = (struct talk){.piece = piece};
    impi_chan_fabric_offer(&t->a, own);
    impi_chan_fabric_await(&t->b);
    run(t);
}

static const size_t pieces[] = {1, 7, 1000};

static void test_both_have_it_and_frames_get_through(void **state)
{
    struct impi_fabric_end a = make_end("tcp;ofi_rxm", 4);
    struct impi_fabric_end b = make_end("tcp;ofi_rxm", 9);
    struct talk t;

    for (size_t i = 0; i < 3; i++) {
        offer(&t, &a, pieces[i]);
        assert_true(impi_chan_fabric_asked(&t.b));
        assert_memory_equal(&t.b.peer, &a, sizeof(a));
        impi_chan_fabric_answer(&t.b, &b);
        run(&t);
        assert_memory_equal(&t.a.peer, &b, sizeof(b));
        assert_true(impi_chan_fabric_proving(&t.a));
        assert_true(impi_chan_fabric_proving(&t.b));
        impi_chan_fabric_prove(&t.b, true);
        run(&t);
        assert_false(impi_chan_fabric_done(&t.b));
        assert_true(impi_chan_fabric_proving(&t.a));
        impi_chan_fabric_prove(&t.a, true);
        run(&t);
        assert_true(impi_chan_fabric_done(&t.a) && t.a.agreed);
        assert_true(impi_chan_fabric_done(&t.b) && t.b.agreed);
    }
}

static void test_without_an_offer_nobody_waits(void **state)
{
    struct talk t;

    t = (struct talk){.piece = 1000};
    impi_chan_fabric_offer(&t.a, NULL);
    assert_int_equal(impi_chan_fabric_want(&t.a), 0);
    impi_chan_fabric_await(&t.b);
    run(&t);
    assert_true(impi_chan_fabric_done(&t.a) && !t.a.agreed);
    assert_true(impi_chan_fabric_done(&t.b) && !t.b.agreed);
}

static void test_an_acceptor_may_have_none(void **state)
{
    struct impi_fabric_end a = make_end("verbs;ofi_rxm", 4);
    struct talk t;

    offer(&t, &a, 3);
    impi_chan_fabric_answer(&t.b, NULL);
    run(&t);
    assert_true(impi_chan_fabric_done(&t.a) && !t.a.agreed);
    assert_true(impi_chan_fabric_done(&t.b) && !t.b.agreed);
}

/* Whoever says no, and whether the other one has said yes by then. */
static void test_one_who_saw_no_frame_decides_for_both(void **state)
{
    struct impi_fabric_end a = make_end("x", 4), b = make_end("x", 5);
    struct talk t;

    for (int late = 0; late < 2; late++) {
        offer(&t, &a, 1000);
        impi_chan_fabric_answer(&t.b, &b);
        run(&t);
        if (late)
            impi_chan_fabric_prove(&t.a, true);
        impi_chan_fabric_prove(&t.b, false);
        run(&t);
        assert_int_equal(t.rc, 0);
        assert_true(impi_chan_fabric_done(&t.a) && !t.a.agreed);
        assert_true(impi_chan_fabric_done(&t.b) && !t.b.agreed);
    }
}

static void test_ends_that_do_not_fit(void **state)
{
    struct impi_fabric_end a = make_end("x", 4), b = a;

    assert_true(impi_fabric_fits(&a, &b));
    strcpy(b.name, "y");
    assert_false(impi_fabric_fits(&a, &b));
    b = a;
    b.protocol++;
    assert_false(impi_fabric_fits(&a, &b));
    b = a;
    b.version++;
    assert_false(impi_fabric_fits(&a, &b));
    b = a;
    b.addr_format++;
    assert_false(impi_fabric_fits(&a, &b));
    a.name[0] = b.name[0] = '\0';
    assert_false(impi_fabric_fits(&a, &a));
}

/* What an acceptor says to these bytes in place of the initiator's own at
 * `at`. */
static const char *say(size_t at, const void *bytes, size_t n)
{
    static struct talk t;
    struct impi_fabric_end a = make_end("x", 4);
    uint8_t all[IMPI_FABRIC_END_MAX];
    const uint8_t *data;
    size_t len;

    t = (struct talk){.piece = 1000};
    impi_chan_fabric_offer(&t.a, &a);
    len = impi_chan_fabric_output(&t.a, &data);
    memcpy(all, data, len);
    memcpy(all + at, bytes, n);
    impi_chan_fabric_await(&t.b);
    for (size_t done = 0; done < len;) {
        size_t want = impi_chan_fabric_want(&t.b);

        if (want > len - done)
            want = len - done;
        if (want == 0)
            break;
        if (impi_chan_fabric_input(&t.b, all + done, want, &t.err) < 0) {
            assert_int_equal(errno, EPROTO);
            assert_int_equal(impi_chan_fabric_want(&t.b), 0);
            assert_false(impi_chan_fabric_done(&t.b));
            return t.err.text;
        }
        done += want;
    }
    return "";
}

static const char *say32(size_t at, uint32_t v)
{
    uint8_t bytes[4];

    be_store32(bytes, v);
    return say(at, bytes, 4);
}

static void test_what_is_no_end_of_a_fabric(void **state)
{
    assert_string_equal(say(0, "SFFB", 4), "");
    assert_string_equal(say(0, "SFSH", 4),
                        "does not say whether it has a fabric");
    assert_string_equal(say(4, "\x00\x41", 2),
                        "names a fabric at too great length");
    assert_string_equal(say(6, "\x01\x01", 2),
                        "names a fabric at too great length");
    assert_string_equal(say(4, "\x00\x00", 2),
                        "has a fabric without a name or an address");
    assert_string_equal(say(6, "\x00\x00", 2),
                        "has a fabric without a name or an address");
    assert_string_equal(say(32, "", 1), "names a fabric with a zero inside");
    assert_string_equal(say32(20, SF_FABRIC_FRAME_MIN - 1),
                        "has a fabric with impossible frames");
    assert_string_equal(say32(20, SF_FABRIC_FRAME_MAX + 1),
                        "has a fabric with impossible frames");
    assert_string_equal(say32(24, SF_FABRIC_CREDITS_MIN - 1),
                        "has a fabric with impossible frames");
    assert_string_equal(say32(24, SF_FABRIC_LENDS_MAX << 16 | 8), "");
    assert_string_equal(say32(24, (SF_FABRIC_LENDS_MAX + 1) << 16 | 8),
                        "has a fabric with impossible frames");
    assert_string_equal(say32(24, UINT32_MAX),
                        "has a fabric with impossible frames");
}

static void test_an_answer_that_does_not_fit(void **state)
{
    struct impi_fabric_end a = make_end("x", 4), other = make_end("y", 5);
    struct impi_chan_fabric b;
    const uint8_t *data;
    struct talk t;

    offer(&t, &a, 1000);
    impi_chan_fabric_offer(&b, &other);
    assert_true(impi_chan_fabric_output(&b, &data) > 0);
    move(&t, &b, &t.a);
    move(&t, &b, &t.a);
    assert_int_equal(t.rc, -1);
    assert_string_equal(t.err.text, "answers with a fabric that does not fit");
}

static void test_an_unknown_proof(void **state)
{
    struct impi_fabric_end a = make_end("x", 4), b = make_end("x", 5);
    struct talk t;

    offer(&t, &a, 1000);
    impi_chan_fabric_answer(&t.b, &b);
    run(&t);
    assert_int_equal(
        impi_chan_fabric_input(&t.a, "\x00\x00\x00\x02", 4, &t.err), -1);
    assert_string_equal(t.err.text, "does not say whether its fabric works");
}

/* ---- keys ---- */

static void open_channel(struct impi_chan_open *a, struct impi_chan_open *b,
                         uint8_t nonce)
{
    static const struct impi_chan_id id = {IMPI_CHAN_PROC_PROC, 1, 3, 5};
    uint8_t secret[32] = {1}, na[32] = {2}, nb[32] = {nonce};
    struct impi_chan_open *end[2] = {a, b};
    struct errbuf err;
    const uint8_t *out;

    impi_chan_open_connect(a, &id, secret, na);
    impi_chan_open_accept(b, secret, nb, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        size_t n = impi_chan_open_output(end[i % 2], &out);

        assert_int_equal(impi_chan_open_input(end[(i + 1) % 2], out, n, &err),
                         0);
        impi_chan_open_sent(end[i % 2], n);
    }
}

static void test_keys_are_of_a_connection_and_a_direction(void **state)
{
    struct impi_chan_open a, b;
    uint64_t to, back;

    open_channel(&a, &b, 4);
    to = impi_chan_open_key(&a, true);
    back = impi_chan_open_key(&a, false);
    assert_true(to == impi_chan_open_key(&b, true));
    assert_true(back == impi_chan_open_key(&b, false));
    assert_true(to != back);
    open_channel(&a, &b, 5);
    assert_true(to != impi_chan_open_key(&a, true));
    assert_true(back != impi_chan_open_key(&a, false));
}

/* ---- frames ---- */

struct two {
    struct impi_frames a, b;
    struct errbuf err;
};

/* One frame from one to the other. */
static int send_one(struct two *t, struct impi_frames *from,
                    struct impi_frames *to, enum impi_frame_kind kind,
                    size_t len)
{
    uint8_t bytes[128] = {0};
    struct impi_frame frame;

    impi_frames_put(from, bytes, kind, len);
    assert_true(impi_frame_decode(&frame, bytes, IMPI_FRAME_SIZE + len));
    assert_true(frame.key == to->key_in);
    assert_int_equal(frame.kind, kind);
    return impi_frames_take(to, &frame, &t->err);
}

static void meet(struct two *t)
{
    struct impi_fabric_end a = make_end("x", 4), b = make_end("x", 5);

    memset(t, 0, sizeof(*t));
    b.credits = 5;
    impi_frames_init(&t->a, &a, &b, 100, 200);
    impi_frames_init(&t->b, &b, &a, 200, 100);
    assert_int_equal(send_one(t, &t->a, &t->b, IMPI_FRAME_HELLO, 0), 0);
    assert_int_equal(send_one(t, &t->b, &t->a, IMPI_FRAME_HELLO, 0), 0);
    assert_true(t->a.met && t->b.met);
}

static void test_credits_come_back(void **state)
{
    struct two t;

    meet(&t);
    assert_int_equal(t.a.may_send, 5);
    assert_int_equal(t.b.may_send, 8);
    for (int round = 0; round < 100; round++) {
        while (t.a.may_send > 0) {
            assert_int_equal(send_one(&t, &t.a, &t.b, IMPI_FRAME_DATA, 9), 0);
            impi_frames_freed(&t.b);
        }
        assert_true(impi_frames_owes(&t.b));
        assert_int_equal(
            send_one(&t, &t.b, &t.a,
                     round % 2 ? IMPI_FRAME_CREDITS : IMPI_FRAME_DATA,
                     round % 2 ? 0 : 1),
            0);
        assert_false(impi_frames_owes(&t.b));
        assert_int_equal(t.a.may_send, 5);
        if (round % 2 == 0)
            impi_frames_freed(&t.a);
        if (impi_frames_owes(&t.a))
            send_one(&t, &t.a, &t.b, IMPI_FRAME_CREDITS, 0);
    }
}

/* The most that one end can have on the way to the other is what the other has
 * buffers for: whatever it does, with credits and without. */
static void test_no_more_on_the_way_than_buffers(void **state)
{
    enum { BUFFERS = 5 + IMPI_FRAMES_SPARE };
    struct two t;
    unsigned seed = 1;

    meet(&t);
    for (int i = 0, way = 0; i < 20000; i++) {
        uint8_t head[BUFFERS][64];
        struct impi_frame frame;

        /* a: all that it may; b takes some of it, late. */
        while (t.a.may_send > 0 && way < BUFFERS)
            impi_frames_put(&t.a, head[way++], IMPI_FRAME_DATA, 1);
        if (impi_frames_owes(&t.a))
            impi_frames_put(&t.a, head[way++], IMPI_FRAME_CREDITS, 0);
        assert_in_range(way, 0, BUFFERS);
        for (int n = 0; n < way; n++) {
            size_t len = be_load32(head[n] + 16);

            assert_true(
                impi_frame_decode(&frame, head[n], IMPI_FRAME_SIZE + len));
            assert_int_equal(impi_frames_take(&t.b, &frame, &t.err), 0);
            if (frame.kind == IMPI_FRAME_DATA)
                impi_frames_freed(&t.b);
        }
        way = 0;
        if (rand_r(&seed) % 2 && t.b.may_send > 0) {
            assert_int_equal(send_one(&t, &t.b, &t.a, IMPI_FRAME_DATA, 1), 0);
            impi_frames_freed(&t.a);
        } else if (impi_frames_owes(&t.b)) {
            assert_int_equal(send_one(&t, &t.b, &t.a, IMPI_FRAME_CREDITS, 0),
                             0);
        }
    }
}

/* Pieces of memory that one lends and the other reads. */
static void test_no_more_is_lent_than_was_agreed(void **state)
{
    uint8_t read[IMPI_READ_SIZE];
    struct two t;

    meet(&t);
    for (int round = 0; round < 20; round++) {
        unsigned n = 0;

        for (; n < 4; n++) {
            assert_true(impi_frames_may_lend(&t.a));
            assert_int_equal(
                send_one(&t, &t.a, &t.b, IMPI_FRAME_LEND, IMPI_LEND_SIZE), 0);
            impi_frames_freed(&t.b);
        }
        assert_int_equal(t.a.lent, 4);
        impi_frames_read(&t.b, read, 3);
        assert_int_equal(
            send_one(&t, &t.b, &t.a, IMPI_FRAME_READ, IMPI_READ_SIZE), 0);
        assert_int_equal(impi_frames_returned(&t.a, read, &t.err), 3);
        impi_frames_read(&t.b, read, 1);
        send_one(&t, &t.b, &t.a, IMPI_FRAME_READ, IMPI_READ_SIZE);
        assert_int_equal(impi_frames_returned(&t.a, read, &t.err), 1);
        assert_int_equal(t.a.lent, 0);
        if (impi_frames_owes(&t.b))
            send_one(&t, &t.b, &t.a, IMPI_FRAME_CREDITS, 0);
    }
    t.a.lent = SF_FABRIC_LENDS;
    assert_false(impi_frames_may_lend(&t.a));
}

static void test_nothing_is_lent_to_who_reads_nothing(void **state)
{
    struct impi_fabric_end a = make_end("x", 4), b = make_end("x", 5);
    struct impi_frames f;

    b.lends = 0;
    impi_frames_init(&f, &a, &b, 1, 2);
    assert_false(impi_frames_may_lend(&f));
    assert_int_equal(f.lends_in, 0);
}

/* Bytes of the stream go in the frame that lends what is behind them. */
static void test_a_piece_comes_behind_the_bytes_of_its_frame(void **state)
{
    struct impi_lend l = {.address = 1ull << 40, .key = 7, .length = 9};
    uint8_t bytes[64 + IMPI_LEND_SIZE];
    struct two t;

    meet(&t);
    for (size_t before = 0; before <= 64; before += 32) {
        struct impi_lend out = {.length = 0};
        size_t len = before + IMPI_LEND_SIZE;

        memset(bytes, 0xff, sizeof(bytes));
        impi_lend_encode(bytes + before, &l);
        assert_int_equal(impi_lend_decode(&out, bytes, len, &t.err), before);
        assert_true(out.address == l.address && out.key == 7);
        assert_int_equal(out.length, 9);
        assert_int_equal(send_one(&t, &t.a, &t.b, IMPI_FRAME_LEND, len), 0);
    }
}

static void test_what_is_no_piece_of_memory(void **state)
{
    struct impi_lend l = {.address = 1ull << 40, .key = 7, .length = 9}, out;
    uint8_t bytes[IMPI_LEND_SIZE];
    struct errbuf err;

    l.length = 0;
    impi_lend_encode(bytes, &l);
    assert_int_equal(impi_lend_decode(&out, bytes, sizeof(bytes), &err), -1);
    assert_int_equal(errno, EPROTO);
    l.length = SF_FABRIC_LEND_MAX + 1;
    impi_lend_encode(bytes, &l);
    assert_int_equal(impi_lend_decode(&out, bytes, sizeof(bytes), &err), -1);
    assert_string_equal(err.text, "lends an impossible piece of memory");
}

static int take(struct two *t, struct impi_frame frame)
{
    int next = impi_frames_is_next(&t->b, &frame, &t->err);

    if (next <= 0)
        return next < 0 ? -1 : 1;
    return impi_frames_take(&t->b, &frame, &t->err);
}

static void test_frames_that_break_the_rules(void **state)
{
    struct two t;
    struct impi_frame data = {
        .sequence = 1, .kind = IMPI_FRAME_DATA, .length = 1};

    meet(&t);
    /* One long ago, and further ahead than there are buffers. */
    assert_int_equal(take(&t, (struct impi_frame){.sequence = 0}), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(t.err.text, "sends frames out of order");
    data.sequence = 1 + 5 + IMPI_FRAMES_SPARE;
    assert_int_equal(take(&t, data), -1);
    data.sequence--;
    assert_int_equal(take(&t, data), 1);
    data.sequence = 1;
    data.kind = IMPI_FRAME_HELLO;
    assert_int_equal(take(&t, data), -1);
    assert_string_equal(t.err.text, "sends a frame of the wrong kind");
    data.kind = 9;
    assert_int_equal(take(&t, data), -1);
    data.kind = IMPI_FRAME_CREDITS;
    assert_int_equal(take(&t, data), -1);
    assert_string_equal(t.err.text, "sends data where none belong");
    data.kind = IMPI_FRAME_DATA;
    data.credits = 1;
    assert_int_equal(take(&t, data), -1);
    assert_string_equal(t.err.text, "gives back more credits than were used");
    data.credits = 0;
    data.length = 0;
    assert_int_equal(take(&t, data), -1);
    assert_string_equal(t.err.text, "sends a frame of data without data");
    /* A flood: the window, and one more. */
    data.length = 1;
    for (int i = 0; i < 5; i++, data.sequence++)
        assert_int_equal(take(&t, data), 0);
    assert_int_equal(take(&t, data), -1);
    assert_string_equal(t.err.text,
                        "sends more frames than it has credits for");
}

static void test_pieces_that_break_the_rules(void **state)
{
    struct two t;
    struct impi_frame lend = {
        .sequence = 1, .kind = IMPI_FRAME_LEND, .length = IMPI_LEND_SIZE};
    uint8_t read[IMPI_READ_SIZE];

    meet(&t);
    lend.length--;
    assert_int_equal(take(&t, lend), -1);
    assert_string_equal(t.err.text, "lends memory in a wrong form");
    lend.length++;
    t.b.lends_in = 2;
    for (int i = 0; i < 2; i++, lend.sequence++)
        assert_int_equal(take(&t, lend), 0);
    assert_int_equal(take(&t, lend), -1);
    assert_string_equal(t.err.text, "lends more memory than was agreed");
    lend.kind = IMPI_FRAME_READ;
    assert_int_equal(take(&t, lend), -1);
    assert_string_equal(t.err.text, "returns memory in a wrong form");
    /* More than it was lent, and none. */
    t.b.lent = 1;
    be_store32(read, 2);
    assert_int_equal(impi_frames_returned(&t.b, read, &t.err), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(t.err.text, "returns memory that it was not lent");
    be_store32(read, 0);
    assert_int_equal(impi_frames_returned(&t.b, read, &t.err), -1);
    assert_int_equal(t.b.lent, 1);
}

static void test_data_before_the_hello(void **state)
{
    struct impi_fabric_end a = make_end("x", 4);
    struct two t = {.err = {""}};

    impi_frames_init(&t.b, &a, &a, 200, 100);
    assert_int_equal(
        take(&t, (struct impi_frame){.kind = IMPI_FRAME_DATA, .length = 1}),
        -1);
    assert_string_equal(t.err.text, "sends a frame of the wrong kind");
}

static void test_what_is_no_frame(void **state)
{
    uint8_t bytes[IMPI_FRAME_SIZE + 4] = {0};
    struct impi_frame frame;
    struct two t;

    meet(&t);
    impi_frames_put(&t.a, bytes, IMPI_FRAME_DATA, 4);
    assert_true(impi_frame_decode(&frame, bytes, sizeof(bytes)));
    for (size_t n = 0; n < sizeof(bytes); n++)
        assert_false(impi_frame_decode(&frame, bytes, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_have_it_and_frames_get_through),
        cmocka_unit_test(test_without_an_offer_nobody_waits),
        cmocka_unit_test(test_an_acceptor_may_have_none),
        cmocka_unit_test(test_one_who_saw_no_frame_decides_for_both),
        cmocka_unit_test(test_ends_that_do_not_fit),
        cmocka_unit_test(test_what_is_no_end_of_a_fabric),
        cmocka_unit_test(test_an_answer_that_does_not_fit),
        cmocka_unit_test(test_an_unknown_proof),
        cmocka_unit_test(test_keys_are_of_a_connection_and_a_direction),
        cmocka_unit_test(test_credits_come_back),
        cmocka_unit_test(test_no_more_on_the_way_than_buffers),
        cmocka_unit_test(test_frames_that_break_the_rules),
        cmocka_unit_test(test_no_more_is_lent_than_was_agreed),
        cmocka_unit_test(test_nothing_is_lent_to_who_reads_nothing),
        cmocka_unit_test(test_a_piece_comes_behind_the_bytes_of_its_frame),
        cmocka_unit_test(test_what_is_no_piece_of_memory),
        cmocka_unit_test(test_pieces_that_break_the_rules),
        cmocka_unit_test(test_data_before_the_hello),
        cmocka_unit_test(test_what_is_no_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
