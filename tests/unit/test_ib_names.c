/* SPDX-License-Identifier: BSD-3-Clause
 * Names of InfiniBand's switches: whom to ask, and what is remembered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapperd/ib_names.h"

static void who_was_asked_rests_for_a_while(void **state)
{
    struct ib_names n = {0};

    assert_true(ib_names_must_ask(&n, 7, 0));
    assert_false(ib_names_must_ask(&n, 7, 0));
    assert_true(ib_names_must_ask(&n, 8, 1)); /* another one */
    assert_false(ib_names_must_ask(&n, 7, IB_NAME_WAIT_MS - 1));
    assert_true(ib_names_must_ask(&n, 7, IB_NAME_WAIT_MS));
    assert_false(ib_names_must_ask(&n, 7, 2 * IB_NAME_WAIT_MS - 1));
    ib_names_free(&n);
}

static void one_without_a_guid_is_always_asked(void **state)
{
    struct ib_names n = {0};

    assert_true(ib_names_must_ask(&n, 0, 5));
    assert_true(ib_names_must_ask(&n, 0, 5));
    ib_names_free(&n);
}

static void the_first_name_of_each_stays(void **state)
{
    struct ib_names n = {0};

    assert_null(ib_names_get(&n, 7));
    ib_names_put(&n, 7, "spine1");
    ib_names_put(&n, 8, "spine2");
    ib_names_put(&n, 7, "another");
    assert_string_equal(ib_names_get(&n, 7), "spine1");
    assert_string_equal(ib_names_get(&n, 8), "spine2");
    assert_null(ib_names_get(&n, 9));
    ib_names_free(&n);
    assert_null(ib_names_get(&n, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_asked_rests_for_a_while),
        cmocka_unit_test(one_without_a_guid_is_always_asked),
        cmocka_unit_test(the_first_name_of_each_stays),
    };

    return cmocka_run_group_tests_name("ib_names", tests, NULL, NULL);
}
