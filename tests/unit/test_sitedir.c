/* SPDX-License-Identifier: BSD-3-Clause
 * Where configuration and run-time files are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sitedir.h"

static int no_variables(void **state)
{
    (void)state;
    unsetenv("SLURM_FABRIC_CONFDIR");
    unsetenv("SLURM_FABRIC_RUNDIR");
    unsetenv("RUNTIME_DIRECTORY");
    unsetenv("STATE_DIRECTORY");
    return 0;
}

static void without_variables_it_is_what_configure_was_told(void **state)
{
    (void)state;
    assert_string_equal(SITEDIR_CONF("a.conf"), SF_SYSCONFDIR "/a.conf");
    assert_string_equal(SITEDIR_RUN("a.sock"), SF_RUNSTATEDIR "/a.sock");
    assert_string_equal(SITEDIR_RUN(""), SF_RUNSTATEDIR);
}

static void each_variable_moves_its_own_directory(void **state)
{
    (void)state;
    setenv("SLURM_FABRIC_CONFDIR", "/c", 1);
    assert_string_equal(SITEDIR_CONF("a.conf"), "/c/a.conf");
    assert_string_equal(SITEDIR_RUN("a.sock"), SF_RUNSTATEDIR "/a.sock");
    setenv("SLURM_FABRIC_RUNDIR", "/r", 1);
    assert_string_equal(SITEDIR_RUN("a/b"), "/r/a/b");
    assert_string_equal(SITEDIR_RUN(""), "/r");
}

static void what_is_no_absolute_path_is_not_looked_at(void **state)
{
    static const char *const wrong[] = {"", "run", "./run", "../run"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("SLURM_FABRIC_RUNDIR", wrong[i], 1);
        assert_string_equal(SITEDIR_RUN("x"), SF_RUNSTATEDIR "/x");
    }
}

static void a_path_that_is_too_long_names_no_other_file(void **state)
{
    char dir[SF_SITEDIR_PATH_MAX];

    (void)state;
    memset(dir, 'd', sizeof(dir));
    dir[0] = '/';
    dir[sizeof(dir) - 3] = '\0'; /* "/x" and the end of it just fit */
    setenv("SLURM_FABRIC_RUNDIR", dir, 1);
    assert_int_equal(strlen(SITEDIR_RUN("x")), sizeof(dir) - 1);
    assert_string_equal(SITEDIR_RUN("xy"), "");
}

/* Its own sockets are where systemd lets it make them, not those of others. */
static void what_a_service_makes_is_in_its_own_directories(void **state)
{
    (void)state;
    assert_string_equal(SITEDIR_OWN_RUN("a"), SF_RUNSTATEDIR "/a");
    assert_string_equal(SITEDIR_OWN_STATE("a"), SF_STATEDIR "/a");
    setenv("RUNTIME_DIRECTORY", "/run/x/y:/run/z", 1);
    setenv("STATE_DIRECTORY", "/lib/x", 1);
    assert_string_equal(SITEDIR_OWN_RUN("a"), "/run/x/y/a");
    assert_string_equal(SITEDIR_RUN("a"), SF_RUNSTATEDIR "/a");
    assert_string_equal(SITEDIR_OWN_STATE(""), "/lib/x");
    /* systemd has sorted them */
    setenv("RUNTIME_DIRECTORY", "/a:" SF_RUNSTATEDIR "x/y:" SF_RUNSTATEDIR "/z",
           1);
    assert_string_equal(SITEDIR_OWN_RUN("a"), SF_RUNSTATEDIR "/z/a");
    setenv("SLURM_FABRIC_RUNDIR", "/r", 1);
    assert_string_equal(SITEDIR_OWN_RUN("a"), "/r/a");
    setenv("STATE_DIRECTORY", "lib", 1);
    assert_string_equal(SITEDIR_OWN_STATE("a"), SF_STATEDIR "/a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_variables_it_is_what_configure_was_told,
                               no_variables),
        cmocka_unit_test_setup(each_variable_moves_its_own_directory,
                               no_variables),
        cmocka_unit_test_setup(what_is_no_absolute_path_is_not_looked_at,
                               no_variables),
        cmocka_unit_test_setup(what_a_service_makes_is_in_its_own_directories,
                               no_variables),
        cmocka_unit_test_setup(a_path_that_is_too_long_names_no_other_file,
                               no_variables),
    };

    return cmocka_run_group_tests_name("sitedir", tests, NULL, NULL);
}
