/* SPDX-License-Identifier: BSD-3-Clause
 * Configuration files.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"

struct site {
    bool on;
    long rails;
    char *name;
};

static const struct conf_key site_keys[] = {
    {"On", CONF_BOOL, offsetof(struct site, on), 0, 0},
    {"Rails", CONF_INT, offsetof(struct site, rails), 1, 8},
    {"Name", CONF_STRING, offsetof(struct site, name), 0, 0},
};
#define N_SITE_KEYS (sizeof(site_keys) / sizeof(site_keys[0]))

struct complaints {
    int n;
    char text[8][SF_ERRBUF_SIZE];
};

static void collect(const char *text, void *arg)
{
    struct complaints *c = arg;

    assert_in_range(c->n, 0, 7);
    strcpy(c->text[c->n++], text);
}

static void conf_reads_each_type(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("f", "# site\non=yes\nRails=0x2\nName=a b\n",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     0);
    assert_true(site.on);
    assert_int_equal(site.rails, 2);
    assert_string_equal(site.name, "a b");
    conf_free(site_keys, N_SITE_KEYS, &site);
    assert_null(site.name);
}

static void conf_sets_one_key(void **state)
{
    struct site site = {.rails = 1};
    struct errbuf err;

    assert_null(conf_set(site_keys, N_SITE_KEYS, &site, "rails", "8", &err));
    assert_int_equal(site.rails, 8);
    assert_null(conf_set(site_keys, N_SITE_KEYS, &site, "Name", "n", &err));
    assert_string_equal(site.name, "n");
    assert_string_equal(
        conf_set(site_keys, N_SITE_KEYS, &site, "Rails", "9", &err),
        "9 is not between 1 and 8");
    assert_int_equal(site.rails, 8);
    assert_string_equal(
        conf_set(site_keys, N_SITE_KEYS, &site, "Colour", "1", &err),
        "no such key");
    assert_string_equal(
        conf_set(site_keys, N_SITE_KEYS, &site, "Rail", "1", &err),
        "no such key; did you mean Rails?");
    conf_free(site_keys, N_SITE_KEYS, &site);
}

static void conf_names_file_line_and_key_of_all_errors(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("site.conf",
                                "On=maybe\nRails=9\nColour=red\nRails=2\n",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(c.n, 4);
    assert_string_equal(c.text[0], "site.conf:1: On: not yes or no");
    assert_string_equal(c.text[1],
                        "site.conf:2: Rails: 9 is not between 1 and 8");
    assert_string_equal(c.text[2], "site.conf:3: Colour: no such key");
    assert_string_equal(c.text[3], "site.conf:4: Rails: given twice");
    conf_free(site_keys, N_SITE_KEYS, &site);
}

/* What KEY=1 is told. */
static const char *told(const char *key)
{
    static struct complaints c;
    struct site site = {.rails = 1};
    char line[300];

    memset(&c, 0, sizeof(c));
    snprintf(line, sizeof(line), "%s=1\n", key);
    assert_int_equal(
        conf_parse("f", line, site_keys, N_SITE_KEYS, &site, collect, &c), -1);
    assert_int_equal(c.n, 1);
    conf_free(site_keys, N_SITE_KEYS, &site);
    return c.text[0];
}

static void conf_says_which_key_was_meant(void **state)
{
    char long_one[201];

    assert_string_equal(told("Rial"), "f:1: Rial: no such key");
    assert_string_equal(told("raisl"),
                        "f:1: raisl: no such key; did you mean Rails?");
    assert_string_equal(told("Nmae"),
                        "f:1: Nmae: no such key; did you mean Name?");
    assert_string_equal(told("Nme"),
                        "f:1: Nme: no such key; did you mean Name?");
    assert_string_equal(told("o"), "f:1: o: no such key");
    memset(long_one, 'x', 180);
    long_one[180] = '\0';
    assert_non_null(strstr(told(long_one), "x: no such key"));
    assert_null(strstr(told(long_one), "mean"));
}

/* Values behind blanks, remarks behind values; inih would take the second line
 * for more of the first. */
static void conf_lines_may_be_indented_and_have_remarks(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("f",
                                "    On=yes\n    Rails=2 # both\n\t# none\n"
                                "Name=a#b\t#c",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     0);
    assert_true(site.on);
    assert_int_equal(site.rails, 2);
    assert_string_equal(site.name, "a#b");
    conf_free(site_keys, N_SITE_KEYS, &site);
}

/* The rest of such a line is none of its own, whatever it looks like. */
static void conf_names_a_line_that_is_too_long(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};
    char text[700], fits[200];

    memset(fits, 'x', sizeof(fits));
    memcpy(fits, "Name=", 5);
    fits[199] = '\0';
    snprintf(text, sizeof(text), "# %s\n%sRails=2\nOn=yes # %s\n", fits, fits,
             fits);
    assert_int_equal(
        conf_parse("f", text, site_keys, N_SITE_KEYS, &site, collect, &c), -1);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.text[0],
                        "f:2: Name: the line is longer than 199 bytes");
    assert_int_equal(site.rails, 1);
    assert_true(site.on);

    memset(&c, 0, sizeof(c));
    assert_int_equal(
        conf_parse("f", fits, site_keys, N_SITE_KEYS, &site, collect, &c), 0);
    assert_int_equal(strlen(site.name), 199 - 5);
    conf_free(site_keys, N_SITE_KEYS, &site);
}

static void conf_missing_file_is_named(void **state)
{
    struct site site = {0};
    struct complaints c = {0};

    assert_int_equal(conf_read("/nonexistent/f", false, site_keys, N_SITE_KEYS,
                               &site, collect, &c),
                     0);
    assert_int_equal(c.n, 0);
    assert_int_equal(conf_read("/nonexistent/f", true, site_keys, N_SITE_KEYS,
                               &site, collect, &c),
                     -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(c.text[0], "/nonexistent/f: No such file or directory");
}

static void conf_a_directory_is_no_good_configuration(void **state)
{
    struct site site = {0};
    struct complaints c = {0};

    assert_int_equal(
        conf_read("/tmp", true, site_keys, N_SITE_KEYS, &site, collect, &c),
        -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.text[0], "/tmp: cannot be read; is it a file?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conf_reads_each_type),
        cmocka_unit_test(conf_sets_one_key),
        cmocka_unit_test(conf_names_file_line_and_key_of_all_errors),
        cmocka_unit_test(conf_says_which_key_was_meant),
        cmocka_unit_test(conf_lines_may_be_indented_and_have_remarks),
        cmocka_unit_test(conf_names_a_line_that_is_too_long),
        cmocka_unit_test(conf_missing_file_is_named),
        cmocka_unit_test(conf_a_directory_is_no_good_configuration),
    };

    return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
