/* SPDX-License-Identifier: BSD-3-Clause
 * The IMPI server engine: how clients authenticate, by the specification's own
 * dialogues byte for byte.
 */
#include "impi_server_bench.h"

static void none_dialogue_of_the_specification(void **state)
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

static void none_is_warned_of_with_the_address(void **state)
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

static void key_dialogues_of_the_specification(void **state)
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

static void all_64_bits_of_a_key_count(void **state)
{
    struct bench b;

    start_keyed(&b, 2);
    for (int bit = 0; bit < 64; bit++) {
        uint8_t key[8] = {0, 0, 0, 0, 0, 0, 0x16, 0x2e}; /* 5678 */
        int c = dial(&b);

        SAY(&b, c, "AUTH\0\0\0\4\0\0\0\2");
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        say(&b, c, key, sizeof(key));
        assert_false(impi_server_open(b.s, c));
    }
    stop(&b);
}

static void best_common_method_is_taken(void **state)
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

static void a_method_can_be_added(void **state)
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

/* The longest answer is taken, one byte more or none is not. */
static void answer_has_at_most_the_length_of_its_method(void **state)
{
    for (uint8_t len = 0; len <= 17; len++) {
        uint8_t answer[4 + 17] = {0, 0, 0, len};
        bool right = len > 0 && len < 17;
        struct bench b;
        int c;

        b.methods[0] = (struct impi_auth_method){.number = 2,
                                                 .name = "ECHO",
                                                 .answer_max = 16,
                                                 .challenge = 3,
                                                 .verify = echo_verify};
        start_with(&b, (struct impi_server_options){
                           .nclients = 1, .methods = b.methods, .nmethods = 1});
        c = dial(&b);
        SAY(&b, c, "AUTH\0\0\0\4\0\0\0\4");
        say(&b, c, answer, 4);
        assert_int_equal(impi_server_open(b.s, c), right);
        say(&b, c, answer + 4, len ? len - 1u : 0);
        assert_int_equal(impi_server_open(b.s, c), right);
        say(&b, c, answer + 4, 1); /* now it is here, and wrong */
        assert_false(impi_server_open(b.s, c));
        if (right)
            assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "no echo"));
        stop(&b);
    }
}

static void auth_must_come_first(void **state)
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

static void server_without_methods_does_not_start(void **state)
{
    struct impi_server_options o = {.nclients = 2};
    struct errbuf err;

    assert_null(impi_server_create(&o, &err));
    assert_string_equal(err.text, "SF-E201: No authentication methods "
                                  "available for negotiation");
}

static void thirty_three_clients_are_refused(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_dialogue_of_the_specification),
        cmocka_unit_test(none_is_warned_of_with_the_address),
        cmocka_unit_test(key_dialogues_of_the_specification),
        cmocka_unit_test(all_64_bits_of_a_key_count),
        cmocka_unit_test(best_common_method_is_taken),
        cmocka_unit_test(a_method_can_be_added),
        cmocka_unit_test(others_go_on_while_an_answer_is_verified),
        cmocka_unit_test(answer_may_be_refused_late),
        cmocka_unit_test(answer_of_absurd_length_is_refused),
        cmocka_unit_test(answer_has_at_most_the_length_of_its_method),
        cmocka_unit_test(auth_must_come_first),
        cmocka_unit_test(server_without_methods_does_not_start),
        cmocka_unit_test(thirty_three_clients_are_refused),
    };

    return cmocka_run_group_tests_name("impi_server_auth", tests, NULL, NULL);
}
