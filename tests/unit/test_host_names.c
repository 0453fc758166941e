/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of host names.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "net/rng.h"

static void expect_names(const char *text, const char *want)
{
    struct host_names names;
    struct errbuf err = {""};
    char got[4096] = "";

    if (host_names_expand(&names, text, SF_ELAN_NODES_MAX, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    for (uint32_t i = 0; i < names.n; i++) {
        strcat(got, names.name[i]);
        strcat(got, i + 1 < names.n ? " " : "");
    }
    assert_string_equal(got, want);
    host_names_free(&names);
}

static void names_expand_as_slurm_expands_them(void **state)
{
    expect_names("n0", "n0");
    expect_names("n[0-3,8],login", "n0 n1 n2 n3 n8 login");
    expect_names("n[08-11]", "n08 n09 n10 n11");
    expect_names("n[8-11]", "n8 n9 n10 n11");
    expect_names("n[098-101]", "n098 n099 n100 n101");
    expect_names("r[1-2]n[0-1]", "r1n0 r1n1 r2n0 r2n1");
    expect_names("n[3,1,2]-ib.example.org",
                 "n3-ib.example.org n1-ib.example.org n2-ib.example.org");
    expect_names("n[000001-2]", "n000001 n000002");
    expect_names("a,a", "a a");
}

static void one_name_is_cut_out_of_a_list(void **state)
{
    char name[8];

    assert_true(host_names_nth("n[0-3,8],login", 4, name, sizeof(name)));
    assert_string_equal(name, "n8");
    assert_true(host_names_nth("n0,n1,login", 2, name, 4));
    assert_string_equal(name, "log");
    assert_false(host_names_nth("n[0-3,8],login", 6, name, sizeof(name)));
    assert_false(host_names_nth("n[0", 0, name, sizeof(name)));
    assert_false(host_names_nth("", 0, name, sizeof(name)));
}

static void expect_list_refused(const char *text, int code, const char *error)
{
    struct host_names names;
    struct errbuf err = {""};

    errno = 0;
    assert_int_equal(host_names_expand(&names, text, SF_ELAN_NODES_MAX, &err),
                     -1);
    assert_int_equal(errno, code);
    assert_string_equal(err.text, error);
    assert_int_equal(names.n, 0);
    assert_null(names.name);
}

static void errors_say_where(void **state)
{
    expect_list_refused("", EINVAL, "a name is missing at \"\"");
    expect_list_refused("n1,,n2", EINVAL, "a name is missing at \",n2\"");
    expect_list_refused("n1,", EINVAL, "a name is missing at \"\"");
    expect_list_refused("n[0-3", EINVAL, "] is missing at \"0-3\"");
    expect_list_refused("n]", EINVAL, "a character that no name has at \"]\"");
    expect_list_refused("n[]", EINVAL,
                        "a number is missing or too long at \"]\"");
    expect_list_refused("n[1-]", EINVAL,
                        "a number is missing or too long at \"1-]\"");
    expect_list_refused("n[3-1]", EINVAL, "a range runs backwards at \"3-1]\"");
    expect_list_refused("n[1[2]]", EINVAL,
                        "neither , nor ] after a number at \"1[2]]\"");
    expect_list_refused("n[1234567890]", EINVAL,
                        "a number is missing or too long at \"1234567890]\"");
    expect_list_refused("n m", EINVAL,
                        "a character that no node name has at \" m\"");
    expect_list_refused("n[1][1][1][1][1]", EINVAL,
                        "too many brackets in one name at \"1]\"");
}

static void lists_are_bounded(void **state)
{
    struct host_names names;
    char longer[SF_HOST_NAME_MAX + 1];

    expect_list_refused("n[0-262144]", EINVAL,
                        "a range is too long at \"0-262144]\"");
    expect_list_refused("n[0-65536]", E2BIG, "more than 65536 names");
    expect_list_refused("n[0-999][0-999][0-999][0-999]", E2BIG,
                        "more than 65536 names");
    assert_int_equal(
        host_names_expand(&names, "n[0-65535]", SF_ELAN_NODES_MAX, NULL), 0);
    assert_int_equal(names.n, 65536);
    host_names_free(&names);
    memset(longer, 'n', sizeof(longer));
    longer[SF_HOST_NAME_MAX] = '\0';
    assert_int_equal(host_names_expand(&names, longer, SF_ELAN_NODES_MAX, NULL),
                     -1);
    longer[SF_HOST_NAME_MAX - 1] = '\0';
    assert_int_equal(host_names_expand(&names, longer, SF_ELAN_NODES_MAX, NULL),
                     0);
    host_names_free(&names);
}

static bool collect(void *arg, const char *name)
{
    strcat(arg, name);
    strcat(arg, " ");
    return true;
}

/* Names of switches, which InfiniBand lets people choose. */
static void names_of_anything_expand(void **state)
{
    char got[100] = "";

    assert_int_equal(host_names_each("a b;c/U[1-2],n1", collect, got, NULL), 0);
    assert_string_equal(got, "a b;c/U1 a b;c/U2 n1 ");
    assert_int_equal(host_names_each("a\001", collect, got, NULL), -1);
}

static bool count(void *arg, const char *name)
{
    ++*(uint32_t *)arg;
    return true;
}

static void endless_lists_end(void **state)
{
    struct errbuf err;
    uint32_t n = 0;

    assert_int_equal(host_names_each("n[0-999999999]", count, &n, &err), -1);
    assert_int_equal(n, 0);
    assert_int_equal(
        host_names_each("n[0-9999]m[0-9999]k[0-9999]", count, &n, &err), -1);
    assert_int_equal(n, SF_HOST_NAMES_MAX);
}

static void lists_compress(void **state)
{
    const char *names[] = {"n10",  "n9", "n1",   "login", "n2", "n3", "m007",
                           "m008", "m6", "a-p1", "a-p2",  "x",  "7",  "8"};
    struct bytebuf b;

    bytebuf_init(&b, 1000);
    assert_true(host_names_compress(names, 14, &b));
    bytebuf_add(&b, "", 1);
    assert_string_equal((const char *)bytebuf_data(&b),
                        "[7-8],a-p[1-2],login,m6,m[007-008],n[1-3,9-10],x");
    bytebuf_free(&b);
}

static void compressed_lists_expand_to_the_same(void **state)
{
    struct net_rng rng = {5};

    for (int round = 0; round < 200; round++) {
        char text[40][16], got[2000] = "", want[2000] = "";
        const char *names[40];
        unsigned n = 1 + net_rng_below(&rng, 39);
        struct bytebuf b;
        struct errbuf err;

        for (unsigned i = 0; i < n; i++) {
            switch (net_rng_below(&rng, 3)) {
            case 0:
                snprintf(text[i], sizeof(text[i]), "n%u", i);
                break;
            case 1:
                snprintf(text[i], sizeof(text[i]), "n%03u", i);
                break;
            default:
                snprintf(text[i], sizeof(text[i]), "a%ub%u", i, i * 7 % 5);
            }
            names[i] = text[i];
        }
        bytebuf_init(&b, 2000);
        assert_true(host_names_compress(names, n, &b));
        bytebuf_add(&b, "", 1);
        for (unsigned i = 0; i < n; i++)
            collect(want, names[i]);
        if (host_names_each((const char *)bytebuf_data(&b), collect, got,
                            &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(got, want);
        bytebuf_free(&b);
    }
}

static void own_name_is_as_set_or_without_domain(void **state)
{
    char host[256] = "", name[256], small[4];
    struct errbuf err;

    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    assert_int_equal(host_names_own(name, sizeof(name), NULL, &err), 0);
    assert_string_equal(name, host);
    assert_int_equal(host_names_own(small, sizeof(small), "n.7", &err), 0);
    assert_string_equal(small, "n.7");
    assert_int_equal(host_names_own(small, sizeof(small), "node", &err), -1);
    assert_string_equal(err.text, "NodeName: missing or longer than 3 bytes");
    assert_int_equal(host_names_own(small, sizeof(small), "", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_expand_as_slurm_expands_them),
        cmocka_unit_test(one_name_is_cut_out_of_a_list),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(names_of_anything_expand),
        cmocka_unit_test(endless_lists_end),
        cmocka_unit_test(lists_compress),
        cmocka_unit_test(own_name_is_as_set_or_without_domain),
        cmocka_unit_test(compressed_lists_expand_to_the_same),
    };

    return cmocka_run_group_tests_name("host names", tests, NULL, NULL);
}
