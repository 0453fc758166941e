/* SPDX-License-Identifier: BSD-3-Clause
 * AuthInfo of slurm.conf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/auth_info.h"

static void expect(const char *auth_info, const char *path)
{
    char buf[16];
    const char *got = auth_info_munge_socket(auth_info, buf, sizeof(buf));

    if (!path)
        assert_null(got);
    else
        assert_ptr_equal(got, buf);
    assert_string_equal(buf, path ? path : "");
}

static void the_socket_is_found(void **state)
{
    expect("socket=/run/m", "/run/m");
    expect("cred_expire=60,socket=/run/m,ttl=60", "/run/m");
    expect("AuthInfo=socket=/run/m ; ttl=60\n", "/run/m");
    expect("AuthInfo                = socket=/m\n", "/m");
}

static void nothing_else_is_a_socket(void **state)
{
    expect(NULL, NULL);
    expect("", NULL);
    expect("ttl=60", NULL);
    expect("socket=", NULL);
    expect("socket=,ttl=60", NULL);
    expect("socket=/run/munge/15.", "/run/munge/15.");
    expect("socket=/run/munge/16.16", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_socket_is_found),
        cmocka_unit_test(nothing_else_is_a_socket),
    };

    return cmocka_run_group_tests_name("auth info", tests, NULL, NULL);
}
