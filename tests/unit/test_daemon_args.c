/* SPDX-License-Identifier: BSD-3-Clause
 * What the daemons' command line says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <getopt.h>

#include "base/daemon_args.h"

static const struct daemon_program program = {"somed", "Some daemon.",
                                              "/etc/some.conf"};

/* With both outputs in files, as the texts are not the test's own. */
static bool read_words(struct daemon_args *args, int *status, char **words,
                       FILE *out, FILE *err)
{
    int old[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, n = 0;
    bool go;

    while (words[n])
        n++;
    fflush(NULL);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    optind = 0; /* getopt begins anew */
    go = daemon_args_read(args, &program, n, words, status);
    fflush(NULL);
    dup2(old[0], STDOUT_FILENO);
    dup2(old[1], STDERR_FILENO);
    close(old[0]);
    close(old[1]);
    return go;
}

struct said {
    struct daemon_args args;
    int status;
    bool go;
    long out, err; /* bytes */
};

static struct said say(char **words)
{
    struct said s;
    FILE *out = tmpfile(), *err = tmpfile();

    assert_non_null(out);
    assert_non_null(err);
    s.go = read_words(&s.args, &s.status, words, out, err);
    s.out = (long)lseek(fileno(out), 0, SEEK_END);
    s.err = (long)lseek(fileno(err), 0, SEEK_END);
    fclose(out);
    fclose(err);
    return s;
}

static void nothing_said_is_the_default(void **state)
{
    struct said s = say((char *[]){"somed", NULL});

    (void)state;
    assert_true(s.go);
    assert_string_equal(s.args.conf, "/etc/some.conf");
    assert_false(s.args.conf_named || s.args.test || s.args.verbose ||
                 s.args.syslog);
    assert_int_equal(s.out + s.err, 0);
}

static void each_option_is_taken(void **state)
{
    struct said s = say((char *[]){"somed", "-tvf", "a.conf", NULL});

    (void)state;
    assert_true(s.go && s.args.conf_named && s.args.test && s.args.verbose);
    assert_false(s.args.syslog);
    assert_string_equal(s.args.conf, "a.conf");
    s = say((char *[]){"somed", "--conf", "b.conf", "--syslog", NULL});
    assert_true(s.go && s.args.conf_named && s.args.syslog);
    assert_false(s.args.test || s.args.verbose);
    assert_string_equal(s.args.conf, "b.conf");
}

static void help_and_version_end_in_order(void **state)
{
    char *const words[] = {"-h", "--help", "-V", "--version"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct said s = say((char *[]){"somed", words[i], NULL});

        assert_false(s.go);
        assert_int_equal(s.status, 0);
        assert_true(s.out > 0);
        assert_int_equal(s.err, 0);
    }
}

static void a_wrong_line_is_no_start(void **state)
{
    char *const words[] = {"--conf", "--nonsense", "-x", "more"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct said s = say((char *[]){"somed", words[i], NULL});

        assert_false(s.go);
        assert_int_equal(s.status, DAEMON_EXIT_CONF);
        assert_int_equal(s.out, 0);
        assert_true(s.err > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_the_default),
        cmocka_unit_test(each_option_is_taken),
        cmocka_unit_test(help_and_version_end_in_order),
        cmocka_unit_test(a_wrong_line_is_no_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
