/* SPDX-License-Identifier: BSD-3-Clause
 * The IMPI server engine against clients that break the rules.
 */
#include "impi_server_bench.h"

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

static void labels_must_ascend(void **state)
{
    LIAR("COLL\0\0\0\4\0\0\x11\0COLL\0\0\0\4\0\0\x10\0",
         "IMPI_C_VERSION after IMPI_C_NHOSTS");
    LIAR("COLL\0\0\0\4\0\0\x11\0COLL\0\0\0\4\0\0\x11\0",
         "IMPI_C_NHOSTS sent twice");
}

static void label_zero_and_negative_are_refused(void **state)
{
    LIAR("COLL\0\0\0\4\0\0\0\0", "label 0x0 is reserved");
    LIAR("COLL\0\0\0\4\xff\0\0\0", "label 0xff000000 is reserved");
}

/* 0 alone is reserved: the highest number is a label like others. */
static void highest_label_is_a_label(void **state)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    SAY(&b, c[1], "COLL\0\0\0\5\x7f\xff\xff\xffx");
    assert_true(impi_server_open(b.s, c[1]));
    SAY(&b, c[0], "DONE\0\0\0\0");
    HEAR(&b, c[0], "COLL\0\0\0\11\x7f\xff\xff\xff\0\0\0\2x");
    HEAR(&b, c[1], "COLL\0\0\0\11\x7f\xff\xff\xff\0\0\0\2x");
    assert_int_equal(count(&b, IMPI_SERVER_READY), 0);
    SAY(&b, c[1], "DONE\0\0\0\0");
    HEAR(&b, c[1], "DONE\0\0\0\0");
    stop(&b);
}

/* Who comes in the place of one that left before the start begins anew. */
static void quotas_of_one_that_left_early_are_given_back(void **state)
{
    enum { MB = 1 << 20 };
    uint8_t *big = calloc(1, 2 * MB);
    struct bench b;
    int first, again;

    assert_non_null(big);
    start(&b, 2);
    first = join(&b, 1);
    for (uint32_t i = 0; i < 8; i++)
        say_label(&b, first, 0x5000 + i, big, 2 * MB);
    for (uint32_t i = 8; i < SF_IMPI_CLIENT_LABELS_MAX; i++)
        say_label(&b, first, 0x5000 + i, "", 0);
    assert_true(impi_server_open(b.s, first));
    impi_server_close(b.s, first);
    again = join(&b, 1);
    for (uint32_t i = 0; i < 8; i++)
        say_label(&b, again, 0x1000 + i, big, 2 * MB);
    for (uint32_t i = 8; i < SF_IMPI_CLIENT_LABELS_MAX; i++)
        say_label(&b, again, 0x1000 + i, "", 0);
    assert_true(impi_server_open(b.s, again));
    join(&b, 0);
    assert_int_equal(count(&b, IMPI_SERVER_STARTED), 1);
    free(big);
    stop(&b);
}

static void absurd_lengths_close_that_client_only(void **state)
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

static void unknown_commands_are_skipped_by_length(void **state)
{
    uint8_t *big = malloc(70000);
    struct bench b;
    int c[2];

    assert_non_null(big);
    memset(big, 'D', 70000); /* as a header it would be absurd */
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

static void a_stranger_makes_room_and_hurts_nobody(void **state)
{
    struct bench b;
    int c[2], idle;

    start(&b, 2);
    c[0] = join(&b, 0);
    idle = dial(&b);
    impi_server_crowded(b.s, idle);
    assert_false(impi_server_open(b.s, idle));
    assert_non_null(strstr(last(&b, IMPI_SERVER_REFUSED), "SF-E206"));
    impi_server_close(b.s, idle);
    assert_true(impi_server_open(b.s, c[0]));
    c[1] = join(&b, 1);
    assert_true(impi_server_started(b.s));
    HEAR(&b, c[0], "IMPI\0\0\0\4\0\0\0\2");
    stop(&b);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_must_ascend),
        cmocka_unit_test(label_zero_and_negative_are_refused),
        cmocka_unit_test(highest_label_is_a_label),
        cmocka_unit_test(quotas_of_one_that_left_early_are_given_back),
        cmocka_unit_test(absurd_lengths_close_that_client_only),
        cmocka_unit_test(commands_out_of_turn_are_refused),
        cmocka_unit_test(auth_of_odd_lengths_is_refused),
        cmocka_unit_test(unknown_commands_are_skipped_by_length),
        cmocka_unit_test(payloads_of_one_client_are_bounded),
        cmocka_unit_test(a_stranger_makes_room_and_hurts_nobody),
        cmocka_unit_test(any_cut_of_the_bytes_gives_the_same_answer),
        cmocka_unit_test(random_bytes_never_break_the_good_clients),
    };

    return cmocka_run_group_tests_name("impi_server_rules", tests, NULL, NULL);
}
