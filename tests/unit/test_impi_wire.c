/* SPDX-License-Identifier: BSD-3-Clause
 * Bytes of the start-up structures, and the authentication methods.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/auth.h"
#include "impi/wire.h"

static struct bytebuf out;

static int setup(void **state)
{
    bytebuf_init(&out, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    bytebuf_free(&out);
    return 0;
}

static void expect_bytes(const void *want, size_t len)
{
    assert_int_equal(bytebuf_len(&out), len);
    assert_memory_equal(bytebuf_data(&out), want, len);
    bytebuf_consume(&out, len);
}

/* ---- structures ---- */

static void extremes_are_big_endian_twos_complement(void **state)
{
    impi_impi_encode(&out, INT32_MIN);
    expect_bytes("IMPI\0\0\0\4\x80\0\0\0", 12);
    impi_impi_encode(&out, -1);
    expect_bytes("IMPI\0\0\0\4\xff\xff\xff\xff", 12);
    impi_impi_encode(&out, INT32_MAX);
    expect_bytes("IMPI\0\0\0\4\x7f\xff\xff\xff", 12);
    impi_auth_key_encode(&out, 0x0102030405060708);
    expect_bytes("\1\2\3\4\5\6\7\10", 8);
    impi_auth_key_encode(&out, UINT64_MAX);
    expect_bytes("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    assert_int_equal(impi_impi_decode((const uint8_t *)"\x80\0\0\0"),
                     INT32_MIN);
    assert_true(impi_auth_key_decode((const uint8_t *)"\1\2\3\4\5\6\7\10") ==
                0x0102030405060708);
}

static void command_codes_are_their_letters(void **state)
{
    static const struct {
        int32_t cmd;
        const char *letters;
    } codes[] = {{IMPI_CMD_AUTH, "AUTH"},
                 {IMPI_CMD_IMPI, "IMPI"},
                 {IMPI_CMD_COLL, "COLL"},
                 {IMPI_CMD_DONE, "DONE"},
                 {IMPI_CMD_FINI, "FINI"}};
    char name[24];

    for (int i = 0; i < 5; i++) {
        impi_cmd_encode(&out, codes[i].cmd, 0);
        assert_memory_equal(bytebuf_data(&out), codes[i].letters, 4);
        bytebuf_consume(&out, 8);
        assert_string_equal(impi_cmd_name(codes[i].cmd, name),
                            codes[i].letters);
    }
    assert_string_equal(impi_cmd_name(0x1234, name), "command 0x1234");
}

static void command_is_code_and_length(void **state)
{
    struct impi_cmd c;

    impi_cmd_encode(&out, IMPI_CMD_COLL, 0x01020304);
    expect_bytes("COLL\1\2\3\4", 8);
    c = impi_cmd_decode((const uint8_t *)"FINI\xff\xff\xff\xff");
    assert_int_equal(c.cmd, IMPI_CMD_FINI);
    assert_int_equal(c.len, -1);
}

static void auth_carries_masks(void **state)
{
    const uint32_t mask[] = {0x3, 0x2};

    impi_auth_encode(&out, mask, 1);
    expect_bytes("AUTH\0\0\0\4\0\0\0\3", 12);
    impi_auth_encode(&out, mask, 2);
    expect_bytes("AUTH\0\0\0\10\0\0\0\3\0\0\0\2", 16);
}

static void coll_to_server(void **state)
{
    impi_coll_encode(&out, IMPI_C_NHOSTS, 4);
    bytebuf_add32(&out, 3);
    expect_bytes("COLL\0\0\0\10\0\0\x11\0\0\0\0\3", 16);
    impi_coll_encode(&out, IMPI_C_NHOSTS, 0);
    expect_bytes("COLL\0\0\0\4\0\0\x11\0", 12);
}

static void coll_to_client_and_version(void **state)
{
    struct impi_chdr h = {IMPI_C_VERSION, 0x7};
    struct impi_version v = {1, 2};

    impi_chdr_encode(&out, &h, 8);
    impi_version_encode(&out, &v);
    expect_bytes("COLL\0\0\0\x10\0\0\x10\0\0\0\0\7\0\0\0\1\0\0\0\2", 24);
    h = impi_chdr_decode((const uint8_t *)"\0\0\x11\0\x80\0\0\1");
    assert_int_equal(h.label, IMPI_C_NHOSTS);
    assert_int_equal(h.client_mask, 0x80000001);
}

static void labels_have_the_published_numbers(void **state)
{
    static const int32_t standard[] = {0x1000, 0x1100, 0x1200, 0x1300, 0x1400,
                                       0x1500, 0x1600, 0x2000, 0x2100, 0x2200,
                                       0x2300, 0x2400, 0x3000, 0x3100};
    int n = 0;

    for (int i = 0; i < IMPI_N_LABELS; i++) {
        if (i)
            assert_true(impi_labels[i].label > impi_labels[i - 1].label);
        if (impi_labels[i].mandatory)
            assert_int_equal(impi_labels[i].label, standard[n++]);
    }
    assert_int_equal(n, 14);
    assert_true(impi_label_standard(0x2400));
    assert_false(impi_label_standard(IMPI_X_EXT));
    assert_false(impi_label_standard(0x7777));
}

static void versions_compare_major_first(void **state)
{
    struct impi_version a = {0, 9}, b = {1, 0}, c = {1, 1};

    assert_true(impi_version_compare(&a, &b) < 0);
    assert_true(impi_version_compare(&c, &b) > 0);
    assert_true(impi_version_compare(&c, &c) == 0);
}

/* ---- masks and lists ---- */

static void methods_beyond_one_word(void **state)
{
    struct impi_auth_method m[2] = {{.number = 33}, {.number = 1}};
    uint32_t mask[SF_IMPI_AUTH_WORDS_MAX];

    assert_int_equal(impi_auth_masks(mask, m, 2), 2);
    assert_int_equal(mask[0], 2);
    assert_int_equal(mask[1], 2);
    assert_int_equal(impi_auth_choose(m, 2, mask, 2), 0);
    assert_int_equal(impi_auth_choose(m, 2, mask, 1), 1);
    mask[0] = 0;
    assert_int_equal(impi_auth_choose(m, 2, mask, 1), -1);
    m[1].number = 96; /* bit 0 of the fourth word */
    assert_int_equal(impi_auth_masks(mask, m, 2), 4);
    assert_int_equal(mask[0], 0);
    assert_int_equal(mask[3], 1);
}

static void check_list(const char *text, uint32_t n, const int *want)
{
    struct impi_auth_list list;
    struct errbuf err;

    assert_int_equal(impi_auth_list_parse(&list, text, &err), 0);
    assert_int_equal(list.n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(list.number[i], want[i]);
}

static void preference_list(void **state)
{
    static const char *const bad[] = {
        "",    ",",     "1,",  "1,,2", "a",     "1-",         "-1",
        "256", "1-2-3", "1 2", "1,1",  "0-3,2", "99999999999"};
    struct impi_auth_list list;
    struct errbuf err;

    check_list("3,1-0", 3, (const int[]){3, 1, 0});
    check_list("0", 1, (const int[]){0});
    check_list("0-2,30", 4, (const int[]){0, 1, 2, 30});
    check_list("255", 1, (const int[]){255});
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(impi_auth_list_parse(&list, bad[i], &err), -1);
    impi_auth_list_parse(&list, "1,0-1", &err);
    assert_string_equal(err.text, "method 1 is given twice");
    impi_auth_list_parse(&list, "0,256", &err);
    assert_string_equal(err.text, "expected a method number 0..255 or a range "
                                  "at \"256\"");
}

static size_t three_methods(struct impi_auth_method *m)
{
    static const struct impi_auth_munge_arg arg;

    m[0] = impi_auth_none();
    m[1] = impi_auth_key(1);
    m[2] = impi_auth_munge(&arg);
    return 3;
}

static void strongest_first_without_a_list(void **state)
{
    struct impi_auth_method m[3];
    size_t n = impi_auth_order(m, three_methods(m), NULL);

    assert_int_equal(n, 3);
    assert_int_equal(m[0].number, IMPI_AUTH_MUNGE);
    assert_int_equal(m[1].number, IMPI_AUTH_KEY);
    assert_int_equal(m[2].number, IMPI_AUTH_NONE);
}

static void a_list_excludes_what_it_does_not_name(void **state)
{
    struct impi_auth_method m[3];
    struct impi_auth_list list;
    size_t n;

    impi_auth_list_parse(&list, "3,1-0", NULL);
    n = impi_auth_order(m, three_methods(m), &list);
    assert_int_equal(n, 2);
    assert_int_equal(m[0].number, IMPI_AUTH_KEY);
    assert_int_equal(m[1].number, IMPI_AUTH_NONE);
    impi_auth_list_parse(&list, "7", NULL);
    assert_int_equal(impi_auth_order(m, three_methods(m), &list), 0);
}

static void none_before_others_is_warned_of(void **state)
{
    struct impi_auth_method m[3];
    struct impi_auth_list list;
    struct errbuf text;
    size_t n;

    impi_auth_list_parse(&list, "0-1", NULL);
    n = impi_auth_order(m, three_methods(m), &list);
    assert_true(impi_auth_warning(m, n, &text));
    assert_string_equal(text.text,
                        "IMPI_AUTH_NONE is preferred to IMPI_AUTH_KEY");
    n = impi_auth_order(m, three_methods(m), NULL);
    assert_false(impi_auth_warning(m, n, &text));
}

static void key_is_decimal_64_bits(void **state)
{
    static const char *const bad[] = {"",
                                      "abc",
                                      "18446744073709551616",
                                      "99999999999999999999999",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x10"};
    uint64_t key;

    assert_int_equal(impi_auth_key_parse(&key, "0", NULL), 0);
    assert_true(key == 0);
    assert_int_equal(impi_auth_key_parse(&key, "5678", NULL), 0);
    assert_true(key == 5678);
    assert_int_equal(impi_auth_key_parse(&key, "18446744073709551615", NULL),
                     0);
    assert_true(key == UINT64_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(impi_auth_key_parse(&key, bad[i], NULL), -1);
        assert_int_equal(errno, EINVAL);
    }
}

static void the_user_enables_methods(void **state)
{
    static const struct {
        const char *none, *key;
        int n;
        uint32_t first;
    } cases[] = {
        {NULL, NULL, 0, 0},
        {"", NULL, 1, IMPI_AUTH_NONE},
        {"1", NULL, 1, IMPI_AUTH_NONE},
        {NULL, "", 0, 0},
        {NULL, "7", 1, IMPI_AUTH_KEY},
        {"", "7", 2, IMPI_AUTH_KEY},
        {NULL, "x", -1, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct impi_auth_method m[2];

        assert_int_equal(
            impi_auth_from_env(m, cases[i].none, cases[i].key, NULL),
            cases[i].n);
        if (cases[i].n > 0)
            assert_int_equal(m[0].number, cases[i].first);
    }
}

/* ---- MUNGE, with a munged of our own: the credential is the payload ---- */

static int seal(void *arg, const void *payload, size_t len,
                struct bytebuf *cred, struct errbuf *err)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = payload;

    for (size_t i = 0; i < len; i++) {
        bytebuf_add(cred, &digits[p[i] >> 4], 1);
        bytebuf_add(cred, &digits[p[i] & 15], 1);
    }
    return 0;
}

static int open_seal(void *arg, const char *cred, struct bytebuf *payload,
                     struct errbuf *err)
{
    if (arg)
        return errprintf(err, "not authentic");
    for (; cred[0] && cred[1]; cred += 2) {
        unsigned hi =
            (unsigned)(cred[0] <= '9' ? cred[0] - '0' : cred[0] - 'a' + 10);
        unsigned lo =
            (unsigned)(cred[1] <= '9' ? cred[1] - '0' : cred[1] - 'a' + 10);
        uint8_t byte = (uint8_t)(hi << 4 | lo);

        bytebuf_add(payload, &byte, 1);
    }
    return 0;
}

/* What the server says to a client's credential. */
static const char *munge_dialogue(const struct impi_auth_munge_arg *server,
                                  const struct impi_auth_munge_arg *client,
                                  const uint8_t *nonce, const uint8_t *other)
{
    static struct errbuf err;
    struct impi_auth_method s = impi_auth_munge(server);
    struct impi_auth_method c = impi_auth_munge(client);
    struct bytebuf cred;
    int rc;

    bytebuf_init(&cred, 4096);
    assert_int_equal(c.answer(&c, other, &cred, &err), 0);
    rc = s.verify(&s, nonce, bytebuf_data(&cred), bytebuf_len(&cred), &err);
    bytebuf_free(&cred);
    return rc == 0 ? "" : err.text;
}

static void munge_binds_nonce_job_step_and_generation(void **state)
{
    const struct impi_auth_munge_arg server = {
        .binding = {.job = 7, .step = 2, .generation = 1}, .open = open_seal};
    struct impi_auth_munge_arg client = server;
    uint8_t nonce[32] = {1}, other[32] = {2};

    client.seal = seal;
    client.binding.component = 4;
    assert_string_equal(munge_dialogue(&server, &client, nonce, nonce), "");
    assert_string_equal(munge_dialogue(&server, &client, nonce, other),
                        "credential: not for this connection");
    for (int i = 0; i < 32; i++) {
        memcpy(other, nonce, sizeof(other));
        other[i] ^= 0x80;
        assert_string_equal(munge_dialogue(&server, &client, nonce, other),
                            "credential: not for this connection");
    }
    client.binding.job = 8;
    assert_string_equal(munge_dialogue(&server, &client, nonce, nonce),
                        "credential: of another job");
    client.binding.job = 7;
    client.binding.step = 3;
    assert_string_equal(munge_dialogue(&server, &client, nonce, nonce),
                        "credential: of another step");
    client.binding.step = 2;
    client.binding.generation = 0;
    assert_string_equal(munge_dialogue(&server, &client, nonce, nonce),
                        "credential: of another program of the step");
}

static void munge_refuses_what_is_not_a_credential_of_ours(void **state)
{
    const struct impi_auth_munge_arg arg = {.open = open_seal};
    const struct impi_auth_munge_arg deaf = {.open = open_seal, .arg = &out};
    struct impi_auth_method m = impi_auth_munge(&arg);
    uint8_t nonce[32] = {0};
    struct errbuf err;
    char cred[129];

    assert_int_equal(m.verify(&m, nonce, (const uint8_t *)"00", 2, &err), -1);
    assert_string_equal(err.text, "credential: payload of wrong length");
    memset(cred, '0', 112);
    assert_int_equal(m.verify(&m, nonce, (const uint8_t *)cred, 112, &err), -1);
    assert_string_equal(err.text, "credential: made for something else");
    m = impi_auth_munge(&deaf);
    assert_int_equal(m.verify(&m, nonce, (const uint8_t *)cred, 112, &err), -1);
    assert_string_equal(err.text, "not authentic");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(extremes_are_big_endian_twos_complement),
        T(command_codes_are_their_letters),
        T(command_is_code_and_length),
        T(auth_carries_masks),
        T(coll_to_server),
        T(coll_to_client_and_version),
        T(labels_have_the_published_numbers),
        T(versions_compare_major_first),
        T(methods_beyond_one_word),
        T(preference_list),
        T(strongest_first_without_a_list),
        T(a_list_excludes_what_it_does_not_name),
        T(none_before_others_is_warned_of),
        T(key_is_decimal_64_bits),
        T(the_user_enables_methods),
        T(munge_binds_nonce_job_step_and_generation),
        T(munge_refuses_what_is_not_a_credential_of_ours),
    };

    return cmocka_run_group_tests_name("impi_wire", tests, NULL, NULL);
}
