/* SPDX-License-Identifier: BSD-3-Clause
 * The opening of channels between our own parts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/chan_open.h"

struct pair {
    struct impi_chan_open a; /* initiator */
    struct impi_chan_open b; /* acceptor */
    uint8_t a_said[IMPI_CHAN_HELLO_SIZE + MAC_SIZE];
    uint8_t b_said[IMPI_CHAN_REPLY_SIZE + IMPI_CHAN_CODE_SIZE];
    size_t a_len, b_len;
    int a_errno, b_errno;
    struct errbuf a_err, b_err;
    long flip; /* byte of a's (or, negative, of b's) stream to damage */
};

static const struct impi_chan_id id_3_to_5 = {IMPI_CHAN_PROC_PROC, 7, 3, 5};

static void fill(uint8_t *p, uint8_t first)
{
    for (int i = 0; i < 32; i++)
        p[i] = (uint8_t)(first + i);
}

static void begin(struct pair *p, impi_chan_check_f *check, void *arg)
{
    uint8_t secret[32], na[32], nb[32];

    memset(p, 0, sizeof(*p));
    fill(secret, 0);
    fill(na, 0x40);
    fill(nb, 0x80);
    impi_chan_open_connect(&p->a, &id_3_to_5, secret, na);
    impi_chan_open_accept(&p->b, secret, nb, check, arg);
}

/* Move at most `max` bytes from one side to the other; returns how many. */
static size_t move(struct impi_chan_open *from, struct impi_chan_open *to,
                   size_t max, uint8_t *log, size_t *log_len, long flip,
                   int *error, struct errbuf *err)
{
    const uint8_t *data;
    uint8_t piece[IMPI_CHAN_REPLY_SIZE];
    size_t n = impi_chan_open_output(from, &data);

    n = n < max ? n : max;
    n = n < impi_chan_open_want(to) ? n : impi_chan_open_want(to);
    if (n == 0)
        return 0;
    memcpy(piece, data, n);
    if (flip >= (long)*log_len && flip < (long)(*log_len + n))
        piece[flip - (long)*log_len] ^= 0x10;
    memcpy(log + *log_len, data, n);
    *log_len += n;
    impi_chan_open_sent(from, n);
    if (impi_chan_open_input(to, piece, n, err) < 0)
        *error = errno;
    return n;
}

static void run(struct pair *p, size_t max)
{
    size_t n;

    do {
        n = move(&p->a, &p->b, max, p->a_said, &p->a_len,
                 p->flip > 0 ? p->flip - 1 : -1, &p->b_errno, &p->b_err);
        n += move(&p->b, &p->a, max, p->b_said, &p->b_len,
                  p->flip < 0 ? -p->flip - 1 : -1, &p->a_errno, &p->a_err);
    } while (n > 0);
}

static void chan_open_golden_bytes(void **state)
{
    static const uint8_t hello_head[20] = {
        'S', 'F', 'C', 'O', 0, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 5};
    /* HMAC-SHA256 computed with another library. */
    static const uint8_t mac_b[MAC_SIZE] = {
        0xcc, 0x4d, 0xf4, 0x53, 0x3e, 0xf9, 0x3a, 0xea, 0x02, 0x4b, 0x40,
        0x72, 0x8c, 0xb2, 0x10, 0xde, 0x8e, 0x0b, 0x91, 0xc9, 0xeb, 0xa9,
        0xb1, 0x5e, 0x94, 0x0d, 0x9b, 0x95, 0xc0, 0xc7, 0x30, 0x89};
    static const uint8_t mac_a[MAC_SIZE] = {
        0x18, 0xe8, 0x0f, 0x37, 0x70, 0x46, 0xb1, 0x5c, 0xdc, 0x41, 0xd9,
        0xbd, 0xac, 0xb4, 0x45, 0x23, 0x39, 0x23, 0x3a, 0x9d, 0xa1, 0x62,
        0x75, 0x8b, 0xec, 0x1b, 0x9e, 0x48, 0x86, 0x9f, 0x4b, 0x33};
    uint8_t nonce[32], code[4] = {0};
    struct pair p;

    begin(&p, NULL, NULL);
    run(&p, 1000);
    assert_int_equal(p.a_len, 52 + 32);
    assert_int_equal(p.b_len, 64 + 4);
    assert_memory_equal(p.a_said, hello_head, 20);
    fill(nonce, 0x40);
    assert_memory_equal(p.a_said + 20, nonce, 32);
    assert_memory_equal(p.a_said + 52, mac_a, 32);
    fill(nonce, 0x80);
    assert_memory_equal(p.b_said, nonce, 32);
    assert_memory_equal(p.b_said + 32, mac_b, 32);
    assert_memory_equal(p.b_said + 64, code, 4);
}

static void chan_open_works_in_pieces_of_any_size(void **state)
{
    for (size_t max = 1; max <= 64; max++) {
        struct pair p;

        begin(&p, NULL, NULL);
        run(&p, max);
        assert_true(impi_chan_open_done(&p.a));
        assert_true(impi_chan_open_done(&p.b));
        assert_int_equal(impi_chan_open_want(&p.a), 0);
        assert_int_equal(impi_chan_open_want(&p.b), 0);
        assert_int_equal(p.b.id.role, IMPI_CHAN_PROC_PROC);
        assert_int_equal(p.b.id.generation, 7);
        assert_int_equal(p.b.id.from, 3);
        assert_int_equal(p.b.id.to, 5);
    }
}

/* Each bit that either side says counts: with any byte damaged at least one
 * side refuses, and never are both done. */
static void chan_open_any_damaged_byte_is_noticed(void **state)
{
    for (long flip = 1; flip <= 84; flip++) {
        struct pair p;

        begin(&p, NULL, NULL);
        p.flip = flip;
        run(&p, 1000);
        assert_false(impi_chan_open_done(&p.a) && impi_chan_open_done(&p.b));
        assert_true(p.a_errno || p.b_errno);
    }
    for (long flip = 1; flip <= 68; flip++) {
        struct pair p;

        begin(&p, NULL, NULL);
        p.flip = -flip;
        run(&p, 1000);
        assert_false(impi_chan_open_done(&p.a));
        assert_true(p.a_errno || p.b_errno);
    }
}

static void chan_open_without_the_secret_is_refused(void **state)
{
    struct pair p;

    begin(&p, NULL, NULL);
    p.a.secret[31] ^= 1;
    run(&p, 1000);
    assert_int_equal(p.a_errno, EACCES);
    assert_string_equal(p.a_err.text,
                        "the peer does not know the job's secret");
    assert_int_equal(p.b_errno, 0); /* a left before proving anything */
    assert_false(impi_chan_open_done(&p.b));
}

/* A stranger without the secret plays the acceptor's own words back. */
static void chan_open_reflected_mac_is_refused(void **state)
{
    uint8_t secret[32], nonce[32];
    struct impi_chan_open b;
    const uint8_t *reply;
    struct errbuf err;
    struct pair p;

    begin(&p, NULL, NULL);
    fill(secret, 0);
    fill(nonce, 0x80);
    impi_chan_open_accept(&b, secret, nonce, NULL, NULL);
    assert_int_equal(impi_chan_open_input(&b, p.a.out, 52, &err), 0);
    assert_int_equal(impi_chan_open_output(&b, &reply), 64);
    impi_chan_open_sent(&b, 64);
    assert_int_equal(impi_chan_open_input(&b, reply + 32, 32, &err), -1);
    assert_int_equal(errno, EACCES);
}

static uint32_t refuse_rank_3(void *arg, const struct impi_chan_id *id)
{
    ++*(int *)arg;
    return id->from == 3 ? IMPI_CHAN_REFUSE_TWICE : IMPI_CHAN_ACCEPT;
}

static void chan_open_refusal_reaches_the_initiator(void **state)
{
    struct pair p;
    int asked = 0;

    begin(&p, refuse_rank_3, &asked);
    run(&p, 1000);
    assert_int_equal(asked, 2);
    assert_int_equal(p.b_errno, EACCES);
    assert_int_equal(p.a_errno, EACCES);
    assert_string_equal(p.a_err.text,
                        "refused: that peer is connected already");
}

static uint32_t only_rank_3(void *arg, const struct impi_chan_id *id)
{
    return id->to == 3 ? IMPI_CHAN_ACCEPT : IMPI_CHAN_REFUSE_TO;
}

/* Rank 3 looks for rank 5, meets a stranger at its address, and the stranger
 * passes on all bytes to a process that knows the secret: rank 3 itself. */
static void chan_open_nobody_proves_the_part_of_another(void **state)
{
    struct pair p;

    begin(&p, only_rank_3, NULL);
    run(&p, 1000);
    assert_int_equal(p.b_len, 0);
    assert_int_equal(p.b_errno, EACCES);
    assert_string_equal(p.b_err.text, "refused: meant for somebody else");
    assert_false(impi_chan_open_done(&p.a));
}

static void chan_open_strangers_are_dropped_at_the_hello(void **state)
{
    uint8_t hello[IMPI_CHAN_HELLO_SIZE] = "GET / HTTP/1.1\r\n";
    int asked = 0;
    struct pair p;

    begin(&p, refuse_rank_3, &asked);
    assert_int_equal(impi_chan_open_input(&p.b, hello, sizeof(hello), &p.b_err),
                     -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(p.b.out_len, 0);
    begin(&p, refuse_rank_3, &asked);
    memcpy(hello, p.a.out, sizeof(hello));
    hello[5] = 2;
    assert_int_equal(impi_chan_open_input(&p.b, hello, sizeof(hello), &p.b_err),
                     -1);
    assert_int_equal(errno, EPROTONOSUPPORT);
    assert_int_equal(asked, 0);
}

static void chan_open_wipe_clears_the_secret(void **state)
{
    static const uint8_t zero[32];
    struct pair p;

    begin(&p, NULL, NULL);
    impi_chan_open_wipe(&p.a);
    assert_memory_equal(p.a.secret, zero, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chan_open_golden_bytes),
        cmocka_unit_test(chan_open_works_in_pieces_of_any_size),
        cmocka_unit_test(chan_open_any_damaged_byte_is_noticed),
        cmocka_unit_test(chan_open_without_the_secret_is_refused),
        cmocka_unit_test(chan_open_reflected_mac_is_refused),
        cmocka_unit_test(chan_open_refusal_reaches_the_initiator),
        cmocka_unit_test(chan_open_nobody_proves_the_part_of_another),
        cmocka_unit_test(chan_open_strangers_are_dropped_at_the_hello),
        cmocka_unit_test(chan_open_wipe_clears_the_secret),
    };

    return cmocka_run_group_tests_name("chan_open", tests, NULL, NULL);
}
