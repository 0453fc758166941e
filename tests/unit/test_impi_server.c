/* SPDX-License-Identifier: BSD-3-Clause
 * The IMPI server engine against scripted clients: the specification's own
 * dialogues byte for byte, and clients that stall or lie.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/server.h"
#include "impi/wire.h"

struct bench {
    struct impi_server *s;
    struct impi_auth_method methods[4];
    int nevents;
    struct {
        enum impi_server_event_type type;
        int client;
        char text[SF_ERRBUF_SIZE];
    } events[128];
};

static void on_event(void *arg, const struct impi_server_event *e)
{
    struct bench *b = arg;

    assert_in_range(b->nevents, 0, 127);
    b->events[b->nevents].type = e->type;
    b->events[b->nevents].client = e->client;
    strcpy(b->events[b->nevents++].text, e->text);
}

static void start_with(struct bench *b, struct impi_server_options o)
{
    o.event = on_event;
    o.arg = b;
    b->nevents = 0;
    b->s = impi_server_create(&o, NULL);
    assert_non_null(b->s);
}

static void start(struct bench *b, uint32_t nclients)
{
    b->methods[0] = impi_auth_none();
    start_with(b, (struct impi_server_options){.nclients = nclients,
                                               .methods = b->methods,
                                               .nmethods = 1});
}

static void stop(struct bench *b)
{
    impi_server_destroy(b->s);
}

static int dial(struct bench *b)
{
    static uint8_t nonce[IMPI_AUTH_NONCE_SIZE];
    int c;

    nonce[0]++;
    c = impi_server_connect(b->s, "12.34.56.78:9000", nonce);
    assert_true(c >= 0);
    return c;
}

static void say(struct bench *b, int c, const void *bytes, size_t len)
{
    impi_server_input(b->s, c, bytes, len);
}

#define SAY(b, c, literal) say(b, c, literal, sizeof(literal) - 1)

/* Exactly these bytes wait for the client; they are taken. */
static void hear(struct bench *b, int c, const void *want, size_t len)
{
    const uint8_t *data = NULL;
    size_t have = impi_server_output(b->s, c, &data);

    assert_int_equal(have, len);
    if (len)
        assert_memory_equal(data, want, len);
    impi_server_sent(b->s, c, have);
}

#define HEAR(b, c, literal) hear(b, c, literal, sizeof(literal) - 1)

static void drain(struct bench *b, int c)
{
    const uint8_t *data;

    impi_server_sent(b->s, c, impi_server_output(b->s, c, &data));
}

static const char *last(const struct bench *b, enum impi_server_event_type t)
{
    for (int i = b->nevents; i-- > 0;)
        if (b->events[i].type == t)
            return b->events[i].text;
    return "";
}

static int count(const struct bench *b, enum impi_server_event_type t)
{
    int n = 0;

    for (int i = 0; i < b->nevents; i++)
        n += b->events[i].type == t;
    return n;
}

#define AUTH_NONE_BYTES "AUTH\0\0\0\4\0\0\0\1"

static void say_impi(struct bench *b, int c, uint8_t rank)
{
    uint8_t m[12] = "IMPI\0\0\0\4\0\0\0";

    m[11] = rank;
    say(b, c, m, 12);
}

/* Authenticated by NONE and joined as rank; output taken. */
static int join(struct bench *b, uint8_t rank)
{
    int c = dial(b);

    SAY(b, c, AUTH_NONE_BYTES);
    HEAR(b, c, "\0\0\0\0\0\0\0\0");
    say_impi(b, c, rank);
    return c;
}

static void join_all(struct bench *b, int *c, uint32_t n)
{
    start(b, n);
    for (uint32_t i = 0; i < n; i++)
        c[i] = join(b, (uint8_t)i);
    for (uint32_t i = 0; i < n; i++)
        drain(b, c[i]);
}

static void say_label(struct bench *b, int c, uint32_t label, const void *data,
                      uint32_t len)
{
    struct bytebuf o;

    bytebuf_init(&o, 1 << 26);
    impi_coll_encode(&o, (int32_t)label, len);
    bytebuf_add(&o, data, len);
    say(b, c, bytebuf_data(&o), bytebuf_len(&o));
    bytebuf_free(&o);
}

/* ---- AUTH ---- */

static void im_52_none_dialogue_of_the_specification(void **state)
{
    struct bench b;
    int c;

    start(&b, 2);
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\4\0\0\0\1");
    HEAR(&b, c, "\0\0\0\0\0\0\0\0");
    assert_true(impi_server_open(b.s, c));
    stop(&b);
}

static void im_53_none_is_warned_of_with_the_address(void **state)
{
    struct bench b;
    int c;

    start(&b, 2);
    c = dial(&b);
    SAY(&b, c, AUTH_NONE_BYTES);
    assert_int_equal(count(&b, IMPI_SERVER_WARNING), 1);
    assert_string_equal(last(&b, IMPI_SERVER_WARNING),
                        "SF-E200: warning: 12.34.56.78:9000 has authenticated "
                        "with IMPI_AUTH_NONE");
    stop(&b);
}

static void start_keyed(struct bench *b, uint32_t n)
{
    b->methods[0] = impi_auth_key(5678);
    b->methods[1] = impi_auth_none();
    start_with(b, (struct impi_server_options){
                      .nclients = n, .methods = b->methods, .nmethods = 2});
}

static void im_55_key_dialogues_of_the_specification(void **state)
{
    struct bench b;
    int good, bad;

    start_keyed(&b, 2);
    good = dial(&b);
    SAY(&b, good, "AUTH\0\0\0\4\0\0\0\2");
    HEAR(&b, good, "\0\0\0\1\0\0\0\0");
    SAY(&b, good, "\0\0\0\0\0\0\x16\x2e"); /* 5678 */
    HEAR(&b, good, "");
    assert_true(impi_server_open(b.s, good));
    bad = dial(&b);
    SAY(&b, bad, "AUTH\0\0\0\4\0\0\0\2");
    HEAR(&b, bad, "\0\0\0\1\0\0\0\0");
    SAY(&b, bad, "\0\0\0\0\0\0\x04\xd2"); /* 1234 */
    HEAR(&b, bad, "");
    assert_false(impi_server_open(b.s, bad));
    assert_string_equal(last(&b, IMPI_SERVER_REFUSED),
                        "SF-E203: connection from 12.34.56.78:9000: "
                        "IMPI_AUTH_KEY: wrong key");
    stop(&b);
}

static void im_44_best_common_method_is_taken(void **state)
{
    struct bench b;
    int c;

    start_keyed(&b, 2);
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\4\0\0\0\3");
    HEAR(&b, c, "\0\0\0\1\0\0\0\0");
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\4\0\0\0\1");
    HEAR(&b, c, "\0\0\0\0\0\0\0\0");
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\4\0\0\0\4");
    assert_false(impi_server_open(b.s, c));
    assert_string_equal(last(&b, IMPI_SERVER_REFUSED),
                        "SF-E202: connection from 12.34.56.78:9000: no common "
                        "authentication method (it offers 0x4)");
    stop(&b);
}

/* A method made here: number 33, three bytes of follow-on, echoed back. */
static int echo_verify(const struct impi_auth_method *m,
                       const uint8_t *challenge, const uint8_t *answer,
                       size_t len, struct errbuf *err)
{
    if (len == 3 && memcmp(challenge, answer, 3) == 0)
        return 0;
    return errprintf(err, "no echo");
}

static void im_11_a_method_can_be_added(void **state)
{
    struct bench b;
    const uint8_t *data;
    uint8_t echo[7] = {0, 0, 0, 3};
    int c;

    b.methods[0] = (struct impi_auth_method){.number = 33,
                                             .name = "ECHO",
                                             .answer_max = 16,
                                             .challenge = 3,
                                             .verify = echo_verify};
    b.methods[1] = impi_auth_none();
    start_with(&b, (struct impi_server_options){
                       .nclients = 1, .methods = b.methods, .nmethods = 2});
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\10\0\0\0\1\0\0\0\2"); /* 0 and 33 */
    assert_int_equal(impi_server_output(b.s, c, &data), 11);
    assert_memory_equal(data, "\0\0\0\x21\0\0\0\3", 8);
    memcpy(echo + 4, data + 8, 3);
    impi_server_sent(b.s, c, 11);
    say(&b, c, echo, 7);
    assert_true(impi_server_open(b.s, c));
    say_impi(&b, c, 0);
    HEAR(&b, c, "IMPI\0\0\0\4\0\0\0\1");
    stop(&b);
}

/* What the method thinks of an answer: 1, not yet. */
static int slow_opinion;

static int slow_verify(const struct impi_auth_method *m,
                       const uint8_t *challenge, const uint8_t *answer,
                       size_t len, struct errbuf *err)
{
    assert_int_equal(len, 3);
    assert_memory_equal(answer, "abc", 3);
    return slow_opinion < 0 ? errprintf(err, "no") : slow_opinion;
}

/* Starts with a client whose answer is not verified yet. */
static int start_slow(struct bench *b)
{
    int c;

    b->methods[0] = (struct impi_auth_method){
        .number = 2, .name = "SLOW", .answer_max = 16, .verify = slow_verify};
    b->methods[1] = impi_auth_none();
    start_with(b, (struct impi_server_options){
                      .nclients = 1, .methods = b->methods, .nmethods = 2});
    slow_opinion = 1;
    c = dial(b);
    SAY(b, c, "AUTH\0\0\0\4\0\0\0\4");
    HEAR(b, c, "\0\0\0\2\0\0\0\0");
    SAY(b, c, "\0\0\0\3");
    assert_false(impi_server_waits(b->s, c));
    SAY(b, c, "abc");
    assert_true(impi_server_waits(b->s, c));
    return c;
}

static void others_go_on_while_an_answer_is_verified(void **state)
{
    struct bench b;
    int c = start_slow(&b), other = dial(&b);

    SAY(&b, other, "AUTH\0\0\0\4\0\0\0\1");
    HEAR(&b, other, "\0\0\0\0\0\0\0\0");
    say_impi(&b, c, 0); /* is kept */
    impi_server_retry(b.s, c);
    assert_true(impi_server_waits(b.s, c));
    HEAR(&b, c, "");
    slow_opinion = 0;
    impi_server_retry(b.s, c);
    assert_false(impi_server_waits(b.s, c));
    HEAR(&b, c, "IMPI\0\0\0\4\0\0\0\1");
    impi_server_retry(b.s, c); /* once is enough */
    assert_true(impi_server_open(b.s, c));
    stop(&b);
}

static void answer_may_be_refused_late(void **state)
{
    static const uint8_t much[200 * 1024];
    struct bench b;
    int c = start_slow(&b);

    slow_opinion = -1;
    impi_server_retry(b.s, c);
    assert_false(impi_server_open(b.s, c));
    assert_string_equal(last(&b, IMPI_SERVER_REFUSED),
                        "SF-E203: connection from 12.34.56.78:9000: SLOW: no");
    stop(&b);
    c = start_slow(&b);
    say(&b, c, much, sizeof(much));
    assert_false(impi_server_open(b.s, c));
    impi_server_retry(b.s, c);
    stop(&b);
    c = start_slow(&b);
    impi_server_close(b.s, c);
    impi_server_retry(b.s, c);
    stop(&b);
}

static void answer_of_absurd_length_is_refused(void **state)
{
    static const struct impi_auth_munge_arg arg;
    struct bench b;
    int c;

    b.methods[0] = impi_auth_munge(&arg);
    start_with(&b, (struct impi_server_options){
                       .nclients = 1, .methods = b.methods, .nmethods = 1});
    c = dial(&b);
    SAY(&b, c, "AUTH\0\0\0\4\x40\0\0\0");
    SAY(&b, c, "\xff\xff\xff\xff");
    assert_false(impi_server_open(b.s, c));
    stop(&b);
}

static void im_39_auth_must_come_first(void **state)
{
    static const char *const first[] = {
        "IMPI\0\0\0\4\0\0\0\0", "COLL\0\0\0\4\0\0\x10\0",
        "DONE\0\0\0\0\0\0\0\0", "FINI\0\0\0\0\0\0\0\0", "XXXX\0\0\0\0\0\0\0\0"};

    for (int i = 0; i < 5; i++) {
        struct bench b;
        int c;

        start(&b, 1);
        c = dial(&b);
        say(&b, c, first[i], 12);
        assert_false(impi_server_open(b.s, c));
        HEAR(&b, c, "");
        assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "before AUTH"));
        stop(&b);
    }
}

static void im_43_server_without_methods_does_not_start(void **state)
{
    struct impi_server_options o = {.nclients = 2};
    struct errbuf err;

    assert_null(impi_server_create(&o, &err));
    assert_string_equal(err.text, "SF-E201: No authentication methods "
                                  "available for negotiation");
}

static void im_66_thirty_three_clients_are_refused(void **state)
{
    struct impi_auth_method none = impi_auth_none();
    struct impi_server_options o = {
        .nclients = 33, .methods = &none, .nmethods = 1};
    struct errbuf err;

    assert_null(impi_server_create(&o, &err));
    assert_string_equal(err.text, "SF-E207: 33 clients: IMPI allows 1 to 32");
    o.nclients = 0;
    assert_null(impi_server_create(&o, &err));
}

/* ---- IMPI ---- */

static void im_61_all_are_answered_after_the_last_joined(void **state)
{
    struct bench b;
    int c[3];

    start(&b, 3);
    c[2] = join(&b, 2);
    c[0] = join(&b, 0);
    HEAR(&b, c[0], "");
    HEAR(&b, c[2], "");
    assert_false(impi_server_started(b.s));
    c[1] = join(&b, 1);
    for (int i = 0; i < 3; i++)
        HEAR(&b, c[i], "IMPI\0\0\0\4\0\0\0\3");
    assert_int_equal(count(&b, IMPI_SERVER_STARTED), 1);
    stop(&b);
}

static void im_63_bad_ranks_are_refused_and_the_job_goes_on(void **state)
{
    struct bench b;
    int c[2], bad;

    start(&b, 2);
    c[0] = join(&b, 0);
    bad = join(&b, 0);
    assert_false(impi_server_open(b.s, bad));
    assert_string_equal(last(&b, IMPI_SERVER_REFUSED),
                        "SF-E208: connection from 12.34.56.78:9000: client "
                        "rank 0 is here already");
    bad = join(&b, 2);
    assert_false(impi_server_open(b.s, bad));
    assert_non_null(
        strstr(last(&b, IMPI_SERVER_REFUSED), "rank 2 is not between 0 and 1"));
    bad = join(&b, 0);
    assert_false(impi_server_open(b.s, bad));
    bad = dial(&b);
    SAY(&b, bad, AUTH_NONE_BYTES);
    SAY(&b, bad, "IMPI\0\0\0\4\xff\xff\xff\xff");
    assert_false(impi_server_open(b.s, bad));
    c[1] = join(&b, 1);
    HEAR(&b, c[0], "IMPI\0\0\0\4\0\0\0\2");
    HEAR(&b, c[1], "IMPI\0\0\0\4\0\0\0\2");
    bad = join(&b, 1);
    assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "after the start"));
    assert_int_equal(count(&b, IMPI_SERVER_LOST), 0);
    stop(&b);
}

static void im_58_rank_of_a_client_that_left_early_is_free_again(void **state)
{
    struct bench b;
    int c[2];

    start(&b, 2);
    c[0] = join(&b, 0);
    say_label(&b, c[0], 0x1000, "old", 3);
    impi_server_close(b.s, c[0]);
    assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "client 0"));
    c[0] = join(&b, 0);
    c[1] = join(&b, 1);
    drain(&b, c[0]);
    drain(&b, c[1]);
    say_label(&b, c[0], 0x1000, "ab", 2);
    say_label(&b, c[1], 0x1000, "c", 1);
    HEAR(&b, c[1], "COLL\0\0\0\13\0\0\x10\0\0\0\0\3abc");
    assert_int_equal(count(&b, IMPI_SERVER_LOST), 0);
    stop(&b);
}

static void im_58_thirty_one_join_past_a_silent_one(void **state)
{
    struct bench b;
    int silent, half, c[31];

    start(&b, 32);
    silent = dial(&b);
    half = dial(&b);
    SAY(&b, half, "AUTH\0\0");
    for (int i = 0; i < 31; i++)
        c[i] = join(&b, (uint8_t)i);
    assert_true(impi_server_open(b.s, c[30]));
    SAY(&b, silent, AUTH_NONE_BYTES);
    HEAR(&b, silent, "\0\0\0\0\0\0\0\0");
    say_impi(&b, silent, 31);
    HEAR(&b, c[0], "IMPI\0\0\0\4\0\0\0\x20");
    HEAR(&b, silent, "IMPI\0\0\0\4\0\0\0\x20");
    for (int i = 0; i < 31; i++)
        say_label(&b, c[i], 0x1000, "x", 1);
    drain(&b, c[0]);
    say_label(&b, silent, 0x1000, "y", 1);
    HEAR(&b, c[0],
         "COLL\0\0\0\x28\0\0\x10\0\xff\xff\xff\xff"
         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy");
    stop(&b);
}

/* ---- COLL ---- */

static void im_94_nhosts_exchange_of_the_specification(void **state)
{
    struct bench b;
    int c[3];

    join_all(&b, c, 3);
    SAY(&b, c[1], "COLL\0\0\0\10\0\0\x11\0\0\0\0\2");
    SAY(&b, c[2], "COLL\0\0\0\10\0\0\x11\0\0\0\0\2");
    HEAR(&b, c[0], "");
    SAY(&b, c[0], "COLL\0\0\0\10\0\0\x11\0\0\0\0\3");
    for (int i = 0; i < 3; i++)
        HEAR(&b, c[i],
             "COLL\0\0\0\x14\0\0\x11\0\0\0\0\7"
             "\0\0\0\3\0\0\0\2\0\0\0\2");
    stop(&b);
}

static void im_88_port_exchange_of_the_specification(void **state)
{
    struct bench b;
    int c[3];

    join_all(&b, c, 3);
    SAY(&b, c[2], "COLL\0\0\0\14\0\0\x21\0\0\0\x1b\x59\0\0\x1b\x5a");
    SAY(&b, c[0],
        "COLL\0\0\0\x10\0\0\x21\0\0\0\x13\x89\0\0\x13\x8a\0\0\x13\x8b");
    SAY(&b, c[1], "COLL\0\0\0\14\0\0\x21\0\0\0\x17\x71\0\0\x17\x72");
    for (int i = 0; i < 3; i++)
        HEAR(&b, c[i],
             "COLL\0\0\0\x24\0\0\x21\0\0\0\0\7"
             "\0\0\x13\x89\0\0\x13\x8a\0\0\x13\x8b"
             "\0\0\x17\x71\0\0\x17\x72\0\0\x1b\x59\0\0\x1b\x5a");
    stop(&b);
}

static void im_73_missing_client_of_the_specification(void **state)
{
    struct bench b;
    int c[3];

    join_all(&b, c, 3);
    SAY(&b, c[0], "COLL\0\0\0\10\0\0\x13\0\0\0\x1f\x40"); /* 8000 */
    SAY(&b, c[2], "COLL\0\0\0\10\0\0\x13\0\0\0\x0f\xa0"); /* 4000 */
    HEAR(&b, c[0], "");
    SAY(&b, c[1], "COLL\0\0\0\10\0\0\x14\0\0\0\x7f\xff"); /* passes it */
    for (int i = 0; i < 3; i++)
        HEAR(&b, c[i],
             "COLL\0\0\0\x10\0\0\x13\0\0\0\0\5\0\0\x1f\x40\0\0\x0f\xa0");
    stop(&b);
}

static void im_72_done_passes_all_labels(void **state)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    say_label(&b, c[0], 0x1000, "a", 1);
    say_label(&b, c[0], 0x7777, "b", 1);
    HEAR(&b, c[0], "");
    say_label(&b, c[1], 0x1000, "c", 1);
    HEAR(&b, c[0], "COLL\0\0\0\12\0\0\x10\0\0\0\0\3ac");
    SAY(&b, c[1], "DONE\0\0\0\0");
    HEAR(&b, c[0], "COLL\0\0\0\11\0\0\x77\x77\0\0\0\1b");
    drain(&b, c[1]);
    SAY(&b, c[0], "DONE\0\0\0\0");
    HEAR(&b, c[0], "DONE\0\0\0\0");
    HEAR(&b, c[1], "DONE\0\0\0\0");
    assert_int_equal(count(&b, IMPI_SERVER_READY), 1);
    stop(&b);
}

static void im_10_unknown_labels_are_relayed_byte_for_byte(void **state)
{
    uint8_t data[3000], want[3016];
    struct bench b;
    int c[2];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 31);
    memcpy(want, "COLL\0\0\x0b\xc0\0\0\x77\x77\0\0\0\2", 16);
    memcpy(want + 16, data, sizeof(data));
    join_all(&b, c, 2);
    say_label(&b, c[1], 0x7777, data, sizeof(data));
    SAY(&b, c[0], "DONE\0\0\0\0");
    hear(&b, c[0], want, sizeof(want));
    hear(&b, c[1], want, sizeof(want));
    stop(&b);
}

static void im_64_empty_payload_is_allowed(void **state)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    say_label(&b, c[0], 0x1000, NULL, 0);
    say_label(&b, c[1], 0x1000, "x", 1);
    HEAR(&b, c[1], "COLL\0\0\0\11\0\0\x10\0\0\0\0\3x");
    stop(&b);
}

static void im_75_unknown_labels_can_be_withheld(void **state)
{
    struct bench b;
    int c[2];

    b.methods[0] = impi_auth_none();
    start_with(&b, (struct impi_server_options){.nclients = 2,
                                                .methods = b.methods,
                                                .nmethods = 1,
                                                .withhold = true});
    c[0] = join(&b, 0);
    c[1] = join(&b, 1);
    drain(&b, c[0]);
    drain(&b, c[1]);
    say_label(&b, c[0], 0x1000, "a", 1);
    say_label(&b, c[0], 0x1080, "e", 1);
    SAY(&b, c[0], "DONE\0\0\0\0");
    say_label(&b, c[1], 0x1100, "h", 1);
    SAY(&b, c[1], "DONE\0\0\0\0");
    HEAR(&b, c[0],
         "COLL\0\0\0\11\0\0\x10\0\0\0\0\1a"
         "COLL\0\0\0\11\0\0\x10\x80\0\0\0\1e"
         "COLL\0\0\0\11\0\0\x11\0\0\0\0\2h"
         "DONE\0\0\0\0");
    HEAR(&b, c[1],
         "COLL\0\0\0\11\0\0\x10\0\0\0\0\1a"
         "COLL\0\0\0\11\0\0\x11\0\0\0\0\2h"
         "DONE\0\0\0\0");
    stop(&b);
}

/* ---- breaking the rules ---- */

/* After the start client 1 says this: it is closed and named, client 0 is
 * not. */
static void liar(const void *bytes, size_t len, const char *want)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    say(&b, c[1], bytes, len);
    assert_false(impi_server_open(b.s, c[1]));
    assert_true(impi_server_open(b.s, c[0]));
    assert_int_equal(count(&b, IMPI_SERVER_LOST), 1);
    if (!strstr(last(&b, IMPI_SERVER_LOST), want))
        print_error("%s\n", last(&b, IMPI_SERVER_LOST));
    assert_non_null(strstr(last(&b, IMPI_SERVER_LOST), "client 1"));
    assert_non_null(strstr(last(&b, IMPI_SERVER_LOST), want));
    stop(&b);
}

#define LIAR(literal, want) liar(literal, sizeof(literal) - 1, want)

static void im_71_labels_must_ascend(void **state)
{
    LIAR("COLL\0\0\0\4\0\0\x11\0COLL\0\0\0\4\0\0\x10\0",
         "IMPI_C_VERSION after IMPI_C_NHOSTS");
    LIAR("COLL\0\0\0\4\0\0\x11\0COLL\0\0\0\4\0\0\x11\0",
         "IMPI_C_NHOSTS sent twice");
}

static void im_69_label_zero_and_negative_are_refused(void **state)
{
    LIAR("COLL\0\0\0\4\0\0\0\0", "label 0x0 is reserved");
    LIAR("COLL\0\0\0\4\xff\0\0\0", "label 0xff000000 is reserved");
    LIAR("COLL\0\0\0\4\x7f\xff\xff\xff", "label 0x7fffffff is reserved");
}

static void im_38_absurd_lengths_close_that_client_only(void **state)
{
    LIAR("COLL\xff\xff\xff\xff", "COLL of -1 bytes");
    LIAR("COLL\x7f\xff\xff\xff", "COLL of 2147483647 bytes");
    LIAR("COLL\0\0\0\3", "COLL of 3 bytes");
    LIAR("XXXX\x80\0\0\0", "command 0x58585858 of -2147483648 bytes");
    LIAR("XXXX\x7f\xff\xff\xff", "command 0x58585858 of 2147483647 bytes");
    LIAR("DONE\0\0\0\1", "DONE of 1 bytes");
}

static void commands_out_of_turn_are_refused(void **state)
{
    LIAR("AUTH\0\0\0\4", "AUTH before DONE");
    LIAR("IMPI\0\0\0\4", "IMPI before DONE");
    LIAR("FINI\0\0\0\0", "FINI before DONE");
    LIAR("DONE\0\0\0\0DONE\0\0\0\0", "DONE after DONE");
    LIAR("DONE\0\0\0\0COLL\0\0\0\4", "COLL after DONE");
}

static void auth_of_odd_lengths_is_refused(void **state)
{
    static const char *const bad[] = {"AUTH\0\0\0\0", "AUTH\0\0\0\5",
                                      "AUTH\0\0\0\x24", "AUTH\xff\0\0\0"};

    for (int i = 0; i < 4; i++) {
        struct bench b;
        int c;

        start(&b, 1);
        c = dial(&b);
        say(&b, c, bad[i], 8);
        assert_false(impi_server_open(b.s, c));
        stop(&b);
    }
}

static void im_37_unknown_commands_are_skipped_by_length(void **state)
{
    uint8_t *big = calloc(1, 70000);
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    SAY(&b, c[0], "XXXX\0\0\0\0");
    SAY(&b, c[0], "XXXX\0\0\0\5DONE\0");
    SAY(&b, c[0], "XXXX\0\1\x11\x70"); /* 70 000 */
    say(&b, c[0], big, 70000);
    say_label(&b, c[0], 0x1000, "a", 1);
    say_label(&b, c[1], 0x1000, "b", 1);
    HEAR(&b, c[1], "COLL\0\0\0\12\0\0\x10\0\0\0\0\3ab");
    free(big);
    stop(&b);
}

static void payloads_of_one_client_are_bounded(void **state)
{
    enum { MB = 1 << 20 };
    uint8_t *big = calloc(1, 2 * MB);
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    for (uint32_t i = 0; i < 8; i++)
        say_label(&b, c[1], 0x5000 + i, big, 2 * MB);
    assert_true(impi_server_open(b.s, c[1]));
    say_label(&b, c[1], 0x6000, "x", 1);
    assert_false(impi_server_open(b.s, c[1]));
    assert_non_null(strstr(last(&b, IMPI_SERVER_LOST), "in all"));
    stop(&b);
    join_all(&b, c, 2);
    for (uint32_t i = 0; i < SF_IMPI_CLIENT_LABELS_MAX; i++)
        say_label(&b, c[1], 0x5000 + i, NULL, 0);
    assert_true(impi_server_open(b.s, c[1]));
    say_label(&b, c[1], 0x6000, NULL, 0);
    assert_false(impi_server_open(b.s, c[1]));
    free(big);
    stop(&b);
}

static void strangers_push_out_the_oldest_stranger(void **state)
{
    int idle[SF_IMPI_PENDING_MAX + 1], c[2];
    struct bench b;

    start(&b, 2);
    c[0] = join(&b, 0);
    for (int i = 0; i <= SF_IMPI_PENDING_MAX; i++)
        idle[i] = dial(&b);
    assert_false(impi_server_open(b.s, idle[0]));
    assert_true(impi_server_open(b.s, idle[1]));
    assert_true(impi_server_open(b.s, c[0]));
    c[1] = join(&b, 1);
    assert_true(impi_server_started(b.s));
    HEAR(&b, c[0], "IMPI\0\0\0\4\0\0\0\2");
    stop(&b);
}

/* ---- DONE, FINI, and loss ---- */

static void im_96_fini_from_all_finishes(void **state)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    SAY(&b, c[0], "DONE\0\0\0\0");
    HEAR(&b, c[0], "");
    SAY(&b, c[1], "DONE\0\0\0\0");
    HEAR(&b, c[0], "DONE\0\0\0\0");
    HEAR(&b, c[1], "DONE\0\0\0\0");
    SAY(&b, c[1], "FINI\0\0\0\0");
    HEAR(&b, c[1], "");
    assert_false(impi_server_open(b.s, c[1]));
    impi_server_close(b.s, c[1]);
    assert_false(impi_server_finished(b.s));
    assert_true(impi_server_open(b.s, c[0])); /* IM-098: stays up */
    SAY(&b, c[0], "FINI\0\0\0\0");
    assert_true(impi_server_finished(b.s));
    assert_int_equal(count(&b, IMPI_SERVER_FINISHED), 1);
    assert_int_equal(count(&b, IMPI_SERVER_LOST), 0);
    impi_server_close(b.s, c[0]);
    assert_int_equal(count(&b, IMPI_SERVER_LOST), 0);
    stop(&b);
}

static void im_97_loss_before_fini_names_the_client(void **state)
{
    static const char *const said[] = {"", "COLL\0\0\0\4\0\0\x10\0",
                                       "DONE\0\0\0\0"};
    static const size_t len[] = {0, 12, 8};

    for (int i = 0; i < 3; i++) {
        struct bench b;
        int c[2];

        join_all(&b, c, 2);
        say(&b, c[1], said[i], len[i]);
        impi_server_close(b.s, c[1]);
        assert_int_equal(count(&b, IMPI_SERVER_LOST), 1);
        assert_string_equal(last(&b, IMPI_SERVER_LOST),
                            "SF-E205: client 1 (12.34.56.78:9000): its "
                            "connection was lost before FINI");
        stop(&b);
    }
}

/* ---- pieces ---- */

static void any_cut_of_the_bytes_gives_the_same_answer(void **state)
{
    static const char dialogue[] =
        "AUTH\0\0\0\4\0\0\0\1IMPI\0\0\0\4\0\0\0\0"
        "XXXX\0\0\0\3abcCOLL\0\0\0\10\0\0\x10\0wxyz"
        "COLL\0\0\0\4\0\0\x11\0DONE\0\0\0\0FINI\0\0\0\0";
    static const char want[] = "\0\0\0\0\0\0\0\0IMPI\0\0\0\4\0\0\0\1"
                               "COLL\0\0\0\14\0\0\x10\0\0\0\0\1wxyz"
                               "COLL\0\0\0\10\0\0\x11\0\0\0\0\1DONE\0\0\0\0";

    for (unsigned seed = 1; seed < 200; seed++) {
        size_t at = 0, len = sizeof(dialogue) - 1;
        unsigned r = seed;
        struct bench b;
        int c;

        start(&b, 1);
        c = dial(&b);
        while (at < len) {
            size_t n = seed == 1 ? 1 : 1 + (size_t)rand_r(&r) % (len - at);

            say(&b, c, dialogue + at, n);
            at += n;
        }
        HEAR(&b, c, want);
        assert_true(impi_server_finished(b.s));
        stop(&b);
    }
}

static void random_bytes_never_break_the_good_clients(void **state)
{
    unsigned r = 12345;

    for (int round = 0; round < 300; round++) {
        uint8_t junk[300];
        struct bench b;
        int c[2], bad;

        start(&b, 2);
        c[0] = join(&b, 0);
        bad = dial(&b);
        if (round % 2) {
            SAY(&b, bad, AUTH_NONE_BYTES);
        }
        for (size_t i = 0; i < sizeof(junk); i++)
            junk[i] = (uint8_t)rand_r(&r);
        say(&b, bad, junk, sizeof(junk));
        c[1] = join(&b, 1);
        assert_true(impi_server_started(b.s));
        assert_true(impi_server_open(b.s, c[0]));
        stop(&b);
    }
}

/* ---- time ---- */

static void start_timed(struct bench *b)
{
    b->methods[0] = impi_auth_none();
    start_with(b, (struct impi_server_options){.nclients = 2,
                                               .methods = b->methods,
                                               .nmethods = 1,
                                               .auth_timeout_ms = 5000,
                                               .notice_ms = 5000});
}

static void late_authentication_ends_while_others_move(void **state)
{
    struct bench b;
    int silent, c;

    start_timed(&b);
    silent = dial(&b);
    c = join(&b, 0);
    for (uint64_t t = 0; t < 20; t++) {
        SAY(&b, c, "XXXX\0\0\0\0");
        impi_server_tick(b.s, t * 1000);
    }
    assert_false(impi_server_open(b.s, silent));
    assert_true(impi_server_open(b.s, c));
    assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "SF-E206"));
    stop(&b);
}

static void a_job_that_is_suspended_loses_nobody(void **state)
{
    struct bench b;
    int half;

    start_timed(&b);
    half = dial(&b);
    SAY(&b, half, "AUTH\0");
    impi_server_tick(b.s, 1000);
    /* nobody moves for a day, the server's clock runs */
    for (uint64_t t = 0; t < 86400; t++)
        impi_server_tick(b.s, 2000 + t * 1000);
    /* the machine sleeps for a year, then all wake */
    SAY(&b, half, "\0");
    impi_server_tick(b.s, 400ull * 86400 * 1000);
    assert_true(impi_server_open(b.s, half));
    SAY(&b, half, "\0\4\0\0\0\1");
    HEAR(&b, half, "\0\0\0\0\0\0\0\0");
    stop(&b);
}

static void missing_clients_are_named_once(void **state)
{
    struct bench b;
    int n;

    start_timed(&b);
    join(&b, 0);
    n = count(&b, IMPI_SERVER_WARNING);
    for (uint64_t t = 0; t < 30; t++)
        impi_server_tick(b.s, t * 1000);
    assert_int_equal(count(&b, IMPI_SERVER_WARNING), n + 1);
    assert_string_equal(last(&b, IMPI_SERVER_WARNING),
                        "SF-E209: still waiting for client 1 of 2 to join");
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(im_52_none_dialogue_of_the_specification),
        cmocka_unit_test(im_53_none_is_warned_of_with_the_address),
        cmocka_unit_test(im_55_key_dialogues_of_the_specification),
        cmocka_unit_test(im_44_best_common_method_is_taken),
        cmocka_unit_test(im_11_a_method_can_be_added),
        cmocka_unit_test(others_go_on_while_an_answer_is_verified),
        cmocka_unit_test(answer_may_be_refused_late),
        cmocka_unit_test(answer_of_absurd_length_is_refused),
        cmocka_unit_test(im_39_auth_must_come_first),
        cmocka_unit_test(im_43_server_without_methods_does_not_start),
        cmocka_unit_test(im_66_thirty_three_clients_are_refused),
        cmocka_unit_test(im_61_all_are_answered_after_the_last_joined),
        cmocka_unit_test(im_63_bad_ranks_are_refused_and_the_job_goes_on),
        cmocka_unit_test(im_58_rank_of_a_client_that_left_early_is_free_again),
        cmocka_unit_test(im_58_thirty_one_join_past_a_silent_one),
        cmocka_unit_test(im_94_nhosts_exchange_of_the_specification),
        cmocka_unit_test(im_88_port_exchange_of_the_specification),
        cmocka_unit_test(im_73_missing_client_of_the_specification),
        cmocka_unit_test(im_72_done_passes_all_labels),
        cmocka_unit_test(im_10_unknown_labels_are_relayed_byte_for_byte),
        cmocka_unit_test(im_64_empty_payload_is_allowed),
        cmocka_unit_test(im_75_unknown_labels_can_be_withheld),
        cmocka_unit_test(im_71_labels_must_ascend),
        cmocka_unit_test(im_69_label_zero_and_negative_are_refused),
        cmocka_unit_test(im_38_absurd_lengths_close_that_client_only),
        cmocka_unit_test(commands_out_of_turn_are_refused),
        cmocka_unit_test(auth_of_odd_lengths_is_refused),
        cmocka_unit_test(im_37_unknown_commands_are_skipped_by_length),
        cmocka_unit_test(payloads_of_one_client_are_bounded),
        cmocka_unit_test(strangers_push_out_the_oldest_stranger),
        cmocka_unit_test(im_96_fini_from_all_finishes),
        cmocka_unit_test(im_97_loss_before_fini_names_the_client),
        cmocka_unit_test(any_cut_of_the_bytes_gives_the_same_answer),
        cmocka_unit_test(random_bytes_never_break_the_good_clients),
        cmocka_unit_test(late_authentication_ends_while_others_move),
        cmocka_unit_test(a_job_that_is_suspended_loses_nobody),
        cmocka_unit_test(missing_clients_are_named_once),
    };

    return cmocka_run_group_tests_name("impi_server", tests, NULL, NULL);
}
