/* SPDX-License-Identifier: BSD-3-Clause
 * The IMPI server engine against scripted clients: the specification's own
 * dialogues byte for byte, the end of a job, and clients that stall.
 */
#include "impi_server_bench.h"

/* ---- IMPI ---- */

static void all_are_answered_after_the_last_joined(void **state)
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

static void bad_ranks_are_refused_and_the_job_goes_on(void **state)
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

static void rank_of_a_client_that_left_early_is_free_again(void **state)
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

static void thirty_one_join_past_a_silent_one(void **state)
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

static void nhosts_exchange_of_the_specification(void **state)
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

static void port_exchange_of_the_specification(void **state)
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

static void missing_client_of_the_specification(void **state)
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

/* Each client is a label ahead of the other in turn. */
static void only_payloads_of_one_label_are_joined(void **state)
{
    struct bench b;
    int c[3];

    join_all(&b, c, 3);
    say_label(&b, c[0], 0x1300, "a", 1);
    say_label(&b, c[1], 0x1200, "b", 1);
    say_label(&b, c[1], 0x1400, "c", 1);
    say_label(&b, c[2], 0x1300, "d", 1);
    HEAR(&b, c[2],
         "COLL\0\0\0\11\0\0\x12\0\0\0\0\2b"
         "COLL\0\0\0\12\0\0\x13\0\0\0\0\5ad");
    SAY(&b, c[0], "DONE\0\0\0\0");
    SAY(&b, c[2], "DONE\0\0\0\0");
    HEAR(&b, c[2], "COLL\0\0\0\11\0\0\x14\0\0\0\0\2c");
    stop(&b);
}

static void done_passes_all_labels(void **state)
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

static void unknown_labels_are_relayed_byte_for_byte(void **state)
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

static void empty_payload_is_allowed(void **state)
{
    struct bench b;
    int c[2];

    join_all(&b, c, 2);
    say_label(&b, c[0], 0x1000, NULL, 0);
    say_label(&b, c[1], 0x1000, "x", 1);
    HEAR(&b, c[1], "COLL\0\0\0\11\0\0\x10\0\0\0\0\3x");
    stop(&b);
}

static void unknown_labels_can_be_withheld(void **state)
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

/* ---- DONE, FINI, and loss ---- */

static void fini_from_all_finishes(void **state)
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

static void loss_before_fini_names_the_client(void **state)
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

/* ---- time ---- */

#define AUTH_TIMEOUT_MS 5000

static void start_timed(struct bench *b)
{
    b->methods[0] = impi_auth_none();
    start_with(b,
               (struct impi_server_options){.nclients = 2,
                                            .methods = b->methods,
                                            .nmethods = 1,
                                            .auth_timeout_ms = AUTH_TIMEOUT_MS,
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
        assert_int_equal(impi_server_open(b.s, silent),
                         t * 1000 <= AUTH_TIMEOUT_MS);
    }
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
        cmocka_unit_test(all_are_answered_after_the_last_joined),
        cmocka_unit_test(bad_ranks_are_refused_and_the_job_goes_on),
        cmocka_unit_test(rank_of_a_client_that_left_early_is_free_again),
        cmocka_unit_test(thirty_one_join_past_a_silent_one),
        cmocka_unit_test(nhosts_exchange_of_the_specification),
        cmocka_unit_test(port_exchange_of_the_specification),
        cmocka_unit_test(missing_client_of_the_specification),
        cmocka_unit_test(only_payloads_of_one_label_are_joined),
        cmocka_unit_test(done_passes_all_labels),
        cmocka_unit_test(unknown_labels_are_relayed_byte_for_byte),
        cmocka_unit_test(empty_payload_is_allowed),
        cmocka_unit_test(unknown_labels_can_be_withheld),
        cmocka_unit_test(fini_from_all_finishes),
        cmocka_unit_test(loss_before_fini_names_the_client),
        cmocka_unit_test(late_authentication_ends_while_others_move),
        cmocka_unit_test(a_job_that_is_suspended_loses_nobody),
        cmocka_unit_test(missing_clients_are_named_once),
    };

    return cmocka_run_group_tests_name("impi_server", tests, NULL, NULL);
}
