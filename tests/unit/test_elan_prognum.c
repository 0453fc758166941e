/* SPDX-License-Identifier: BSD-3-Clause
 * Program numbers and the state that is saved.
 */
#include "elan/prognum.h"
#include "elan/state.h"
#include "elan_util.h"

static void numbers_rise_and_are_never_zero(void **state)
{
    struct elan_prognum p;
    uint32_t last = 0;

    assert_int_equal(elan_prognum_init_saved(&p, 1), 0);
    for (int i = 0; i < 1000; i++) {
        uint32_t n = elan_prognum_take(&p, NULL, NULL);

        assert_int_equal(n, last + 1);
        last = n;
    }
}

static void random_start_is_in_the_range(void **state)
{
    const uint32_t randoms[] = {0, 1, INT32_MAX - 1, INT32_MAX, 0xffffffff};
    struct elan_prognum p;

    for (uint32_t i = 0; i < N_OF(randoms); i++) {
        elan_prognum_init_random(&p, randoms[i]);
        assert_in_range(elan_prognum_take(&p, NULL, NULL), 1, INT32_MAX);
    }
    elan_prognum_init_random(&p, 41);
    assert_int_equal(elan_prognum_take(&p, NULL, NULL), 42);
}

static bool low_ones_live(uint32_t prognum, void *arg)
{
    return prognum <= 3 || prognum == INT32_MAX;
}

static void wraps_and_skips_live_ones(void **state)
{
    struct elan_prognum p;

    assert_int_equal(elan_prognum_init_saved(&p, INT32_MAX - 1), 0);
    assert_int_equal(elan_prognum_take(&p, low_ones_live, NULL), INT32_MAX - 1);
    assert_int_equal(elan_prognum_take(&p, low_ones_live, NULL), 4);
    assert_int_equal(elan_prognum_take(&p, low_ones_live, NULL), 5);
}

static void highest_number_is_used(void **state)
{
    struct elan_prognum p;

    assert_int_equal(elan_prognum_init_saved(&p, INT32_MAX), 0);
    assert_int_equal(elan_prognum_take(&p, NULL, NULL), INT32_MAX);
    assert_int_equal(elan_prognum_take(&p, NULL, NULL), 1);
}

static void saved_number_out_of_range_is_refused(void **state)
{
    struct elan_prognum p = {.next = 7};

    assert_int_equal(elan_prognum_init_saved(&p, 0), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(elan_prognum_init_saved(&p, 0x80000000), -1);
    assert_int_equal(p.next, 7);
}

/* What a controller gave out before it was killed is not given out by the
 * next one, wherever it was killed. */
static void crash_never_repeats_a_number(void **state)
{
    struct elan_prognum p, after;

    for (int given = 0; given < 3 * ELAN_PROGNUM_RESERVE; given++) {
        uint32_t disk = 100, last = 0;

        assert_int_equal(elan_prognum_init_saved(&p, disk), 0);
        for (int i = 0; i < given; i++) {
            last = elan_prognum_take(&p, NULL, NULL);
            if (elan_prognum_wants_save(&p)) {
                disk = elan_prognum_to_save(&p, false);
                elan_prognum_saved(&p);
            }
        }
        assert_int_equal(elan_prognum_init_saved(&after, disk), 0);
        assert_true(elan_prognum_take(&after, NULL, NULL) > last);
    }
}

static void orderly_end_skips_nothing(void **state)
{
    struct elan_prognum p;

    assert_int_equal(elan_prognum_init_saved(&p, 9), 0);
    elan_prognum_take(&p, NULL, NULL);
    assert_int_equal(elan_prognum_to_save(&p, true), 10);
    assert_int_equal(elan_prognum_to_save(&p, false),
                     10 + ELAN_PROGNUM_RESERVE);
    assert_int_equal(elan_prognum_init_saved(&p, INT32_MAX), 0);
    assert_int_equal(elan_prognum_to_save(&p, false), ELAN_PROGNUM_RESERVE);
}

static void save_is_wanted_once_per_reserve(void **state)
{
    struct elan_prognum p;
    int saves = 0;

    elan_prognum_init_random(&p, 0);
    for (int i = 0; i < 10 * ELAN_PROGNUM_RESERVE; i++) {
        elan_prognum_take(&p, NULL, NULL);
        if (elan_prognum_wants_save(&p)) {
            elan_prognum_saved(&p);
            saves++;
        }
    }
    assert_int_equal(saves, 10);
}

static void state_round_trip(void **state)
{
    struct elan_state s = {INT32_MAX, 1040}, got;
    char buf[ELAN_STATE_SIZE_MAX];

    elan_state_print(buf, &s);
    assert_int_equal(elan_state_parse(&got, "elan_state", buf, NULL), 0);
    assert_int_equal(got.next_prognum, INT32_MAX);
    assert_int_equal(got.next_context, 1040);
}

static void state_refuses_what_it_does_not_know(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *error;
    } cases[] = {
        {"", EINVAL, "f: Version: 0, this is 1"},
        {"Version=2\nNextProgram=1\nNextContext=0\n", EPROTONOSUPPORT,
         "f: Version: 2, this is 1"},
        {"Version=1\nNextContext=0\n", EINVAL, "f: NextProgram: missing"},
        {"Version=1\nNextProgram=5\n", EINVAL, "f: NextContext: missing"},
        {"Version=1\nNextProgram=0\nNextContext=0\n", EINVAL,
         "f:2: NextProgram: 0 is not between 1 and 2147483647"},
        {"Version=1\nNextProgram=x\nNextContext=y\n", EINVAL,
         "f:2: NextProgram: not a whole number"},
        {"\x01\x02", EINVAL, NULL},
    };
    struct elan_state got = {3, 4};
    struct errbuf err;

    for (uint32_t i = 0; i < N_OF(cases); i++) {
        errno = 0;
        assert_int_equal(elan_state_parse(&got, "f", cases[i].text, &err), -1);
        assert_int_equal(errno, cases[i].code);
        if (cases[i].error)
            assert_string_equal(err.text, cases[i].error);
    }
    assert_int_equal(got.next_prognum, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_rise_and_are_never_zero),
        cmocka_unit_test(random_start_is_in_the_range),
        cmocka_unit_test(wraps_and_skips_live_ones),
        cmocka_unit_test(highest_number_is_used),
        cmocka_unit_test(saved_number_out_of_range_is_refused),
        cmocka_unit_test(crash_never_repeats_a_number),
        cmocka_unit_test(orderly_end_skips_nothing),
        cmocka_unit_test(save_is_wanted_once_per_reserve),
        cmocka_unit_test(state_round_trip),
        cmocka_unit_test(state_refuses_what_it_does_not_know),
    };

    return cmocka_run_group_tests_name("elan_prognum", tests, NULL, NULL);
}
