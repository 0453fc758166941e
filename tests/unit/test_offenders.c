/* SPDX-License-Identifier: BSD-3-Clause
 * Who sends bad reports, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "switchmgrd/offenders.h"

#define SEC 1000
#define LIAR 0x200000001ull
#define OTHER 0x200000002ull

static struct offenders list;
static int64_t now;

static int up(void **state)
{
    offenders_init(&list);
    now = 123456789;
    return 0;
}

static int down(void **state)
{
    offenders_free(&list);
    return 0;
}

/* As many bad ones as are taken; how often it was told. */
static int flood(uint64_t source, int most, int *told)
{
    int n = 0;

    *told = 0;
    for (; n < most && offenders_may_send(&list, source, now); n++)
        *told += offenders_count(&list, source, now);
    return n;
}

static void a_flood_is_bounded_and_told_once(void **state)
{
    int told;

    assert_int_equal(flood(LIAR, 1000000, &told), SF_SWITCHMGR_BAD_BURST);
    assert_int_equal(told, 1);
    assert_false(offenders_may_send(&list, LIAR, now));
}

static void others_do_not_notice(void **state)
{
    int told;

    flood(LIAR, 1000000, &told);
    assert_true(offenders_may_send(&list, OTHER, now));
    assert_int_equal(flood(OTHER, 10, &told), 10);
    assert_int_equal(told, 0);
}

/* For an hour it costs munged no more than the rate. */
static void an_endless_flood_gets_the_rate(void **state)
{
    int n, told, sum = 0;

    flood(LIAR, 1000000, &told);
    for (int i = 0; i < 36000; i++) {
        now += 100;
        n = flood(LIAR, 1000000, &told);
        sum += n;
    }
    assert_int_equal(sum, 3600 * SF_SWITCHMGR_BAD_RATE);
}

/* A clock that is wrong, a munged that is away: sixteen daemons of a node, one
 * report a second each, are answered for ever. */
static void honest_mistakes_are_never_too_many(void **state)
{
    for (int i = 0; i < 86400; i++, now += SEC) {
        for (int k = 0; k < 16; k++) {
            assert_true(offenders_may_send(&list, LIAR, now));
            assert_false(offenders_count(&list, LIAR, now));
        }
    }
}

static void who_rests_is_heard_again(void **state)
{
    int told;

    flood(LIAR, 1000000, &told);
    now += SF_SWITCHMGR_BAD_BURST * SEC / SF_SWITCHMGR_BAD_RATE;
    assert_int_equal(flood(LIAR, 1000000, &told), SF_SWITCHMGR_BAD_BURST);
}

/* Thousands of connections at once had each a report at munged. */
static void a_wait_has_an_end(void **state)
{
    for (int i = 0; i < 100 * SF_SWITCHMGR_BAD_BURST; i++)
        offenders_count(&list, LIAR, now);
    now += (SF_SWITCHMGR_BAD_BURST / 4 + 1) / SF_SWITCHMGR_BAD_RATE * SEC;
    assert_false(offenders_may_send(&list, LIAR, now - SEC));
    assert_true(offenders_may_send(&list, LIAR, now + SEC));
}

static void as_many_are_remembered_as_may_be(void **state)
{
    int told;

    flood(LIAR, 1000000, &told);
    for (uint64_t i = 0; i < SF_SWITCHMGR_OFFENDERS_MAX - 1; i++)
        offenders_count(&list, OTHER + i, now);
    assert_int_equal(list.n, SF_SWITCHMGR_OFFENDERS_MAX);
    assert_false(offenders_may_send(&list, LIAR, now));
    offenders_count(&list, 1, now);
    assert_int_equal(list.n, SF_SWITCHMGR_OFFENDERS_MAX);
    assert_true(offenders_may_send(&list, LIAR, now)); /* was first */
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_flood_is_bounded_and_told_once),
        T(others_do_not_notice),
        T(an_endless_flood_gets_the_rate),
        T(honest_mistakes_are_never_too_many),
        T(who_rests_is_heard_again),
        T(a_wait_has_an_end),
        T(as_many_are_remembered_as_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
