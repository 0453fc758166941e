/* SPDX-License-Identifier: BSD-3-Clause
 * The joining client against a scripted server: authentication, and servers
 * that lie.
 */
#include "join_script.h"

static void client_without_methods_does_not_start(void **state)
{
    struct script s;
    struct errbuf err;

    script_begin(&s, true);
    impi_join_destroy(s.k.join);
    s.k.o.nmethods = 0;
    assert_null(impi_join_create(&s.k.o, &err));
    assert_string_equal(err.text, "SF-E201: No authentication methods "
                                  "available for negotiation");
}

static void hang_up_after_the_key_is_explained(void **state)
{
    struct script s;

    script_begin(&s, true);
    impi_join_destroy(s.k.join);
    s.none = impi_auth_key(1234);
    s.k.join = impi_join_create(&s.k.o, NULL);
    SAID(&s, "AUTH\0\0\0\4\0\0\0\2");
    assert_int_equal(TELL(&s, "\0\0\0\1\0\0\0\0"), 0);
    SAID(&s, "\0\0\0\0\0\0\x04\xd2"
             "IMPI\0\0\0\4\0\0\0\0");
    assert_int_equal(impi_join_eof(s.k.join, &s.err), -1);
    assert_string_equal(s.err.text, "SF-E210: Server disconnected (wrong "
                                    "authentication key?)");
    /* one that has answered is not to blame the key for what comes later */
    assert_int_equal(TELL(&s, "IMPI\0\0\0\4\0\0\0\2"), 0);
    assert_int_equal(impi_join_eof(s.k.join, &s.err), -1);
    assert_string_equal(s.err.text, "SF-E210: the IMPI server hung up during "
                                    "start-up");
    impi_join_destroy(s.k.join);
}

static void follow_on_bytes_are_read_by_their_length(void **state)
{
    struct script s;

    script_begin(&s, true);
    SAID(&s, "AUTH\0\0\0\4\0\0\0\1");
    assert_int_equal(TELL(&s, "\0\0\0\0\0\0\0\14"), 0);
    SAID(&s, "");
    assert_int_equal(TELL(&s, "twelve bytes"), 0);
    SAID(&s, "IMPI\0\0\0\4\0\0\0\0");
    impi_join_destroy(s.k.join);
    script_begin(&s, true);
    assert_int_equal(TELL(&s, "\0\0\0\0\x7f\xff\xff\xff"), -1);
    impi_join_destroy(s.k.join);
}

static void strict_mask_3_never_meets_munge(void **state)
{
    struct script s;

    script_begin(&s, true);
    assert_int_equal(TELL(&s, "\0\0\0\x1e\0\0\0\x20"), -1);
    assert_string_equal(s.err.text,
                        "SF-E210: the server chose authentication method 30, "
                        "which was not offered");
    impi_join_destroy(s.k.join);
}

static void servers_that_lie_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *want;
    } lies[] = {
        {"DONE\0\0\0\0", 8, "DONE of 0 bytes out of turn"},
        {"IMPI\0\0\0\4\0\0\0\2", 12, "IMPI of 4 bytes out of turn"},
        {"COLL\0\0\0\7", 8, "COLL of 7 bytes out of turn"},
        {"COLL\xff\0\0\0", 8, "out of turn"},
        {"WHAT\xff\xff\xff\xff", 8, "of -1 bytes"},
        {"COLL\0\0\0\14\0\0\x10\0\0\0\0\7", 16, "client mask 0x7, but 2"},
        {"COLL\x7f\0\0\0\0\0\x10\0\0\0\0\3", 16, "IMPI_C_VERSION of"},
        {VERSIONS VERSIONS, 64, "sent IMPI_C_VERSION twice"},
    };

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct script s;

        script_joined(&s, false);
        assert_int_equal(tell(&s, lies[i].bytes, lies[i].len), -1);
        if (!strstr(s.err.text, lies[i].want))
            print_error("%s\n", s.err.text);
        assert_non_null(strstr(s.err.text, lies[i].want));
        impi_join_destroy(s.k.join);
    }
}

static void a_method_that_fails_ends_the_join(void **state)
{
    struct script s;

    script_joined(&s, true);
    assert_int_equal(impi_join_eof(s.k.join, &s.err), -1);
    assert_string_equal(s.err.text,
                        "SF-E210: the IMPI server hung up during start-up");
    impi_join_destroy(s.k.join);
    script_begin(&s, true);
    assert_int_equal(impi_join_eof(s.k.join, &s.err), -1);
    assert_non_null(strstr(s.err.text, "no common authentication method"));
    impi_join_destroy(s.k.join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_without_methods_does_not_start),
        cmocka_unit_test(hang_up_after_the_key_is_explained),
        cmocka_unit_test(follow_on_bytes_are_read_by_their_length),
        cmocka_unit_test(strict_mask_3_never_meets_munge),
        cmocka_unit_test(servers_that_lie_are_refused),
        cmocka_unit_test(a_method_that_fails_ends_the_join),
    };

    return cmocka_run_group_tests_name("impi_join_auth", tests, NULL, NULL);
}
