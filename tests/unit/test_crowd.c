/* SPDX-License-Identifier: BSD-3-Clause
 * Who shares a machine with more processes than it has processors, and how it
 * waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/crowd.h"

/* Process i sits on machine machine[i], which has cpus[i] processors. */
static void check(const uint8_t *machine, const uint16_t *cpus, uint32_t n,
                  const char *want)
{
    struct impi_world w = {.nprocs = 0};
    uint32_t count[8];

    assert_int_equal(impi_world_alloc(&w, 1, n), 0);
    for (uint32_t i = 0; i < n; i++) {
        w.procs[i].hostid[12] = 10;
        w.procs[i].hostid[15] = machine[i];
        w.procs[i].cpus = cpus[i];
    }
    /* the other way to write an IPv4 address */
    memset(&w.procs[0].hostid[10], 0xff, 2);
    memset(count, 0x55, sizeof(count));
    assert_int_equal(impi_crowd_count(&w, count), 0);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(impi_crowd_is(count[i], cpus[i]), want[i] == 'y');
    impi_world_free(&w);
}

static void as_many_as_processors_are_not_crowded(void **state)
{
    check((uint8_t[]){1, 1}, (uint16_t[]){2, 2}, 2, "nn");
    check((uint8_t[]){1, 1, 1}, (uint16_t[]){2, 2, 2}, 3, "yyy");
}

static void each_machine_is_judged_by_itself(void **state)
{
    check((uint8_t[]){2, 1, 2, 1, 2, 3}, (uint16_t[]){2, 2, 2, 2, 2, 1}, 6,
          "ynynyn");
}

static void who_does_not_say_is_not_crowded(void **state)
{
    check((uint8_t[]){1, 1, 1}, (uint16_t[]){0, 1, 0}, 3, "nyn");
}

/* ---- waiting there ---- */

static struct impi_crowd_wait waits(uint32_t n, uint32_t processors)
{
    struct impi_crowd_wait w;

    impi_crowd_wait(&w, n, processors);
    return w;
}

/* Each slept 1 ms: 512 kept two processors from all others. */
static void sleepers_leave_the_processors(void **state)
{
    for (uint32_t cpus = 1; cpus <= 256; cpus *= 2) {
        for (uint32_t n = 1; n <= 4096; n += n / 3 + 1) {
            uint32_t most = IMPI_CROWD_WAKES * cpus;

            if (n > most)
                assert_true(n <= most * (uint32_t)waits(n, cpus).nap_ms);
            else
                assert_int_equal(waits(n, cpus).nap_ms, 1);
        }
    }
}

static void no_processor_said_is_one(void **state)
{
    assert_int_equal(waits(64, 0).nap_ms, waits(64, 1).nap_ms);
}

/* Many sleep after more offers than they are, so that all have had a turn. */
static void all_have_turns_before_one_sleeps(void **state)
{
    assert_true(waits(2, 2).rounds > waits(8, 2).rounds);
    for (uint32_t n = 1; n <= 2048; n++)
        assert_true(waits(n, 2).rounds > n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_processors_are_not_crowded),
        cmocka_unit_test(each_machine_is_judged_by_itself),
        cmocka_unit_test(who_does_not_say_is_not_crowded),
        cmocka_unit_test(sleepers_leave_the_processors),
        cmocka_unit_test(no_processor_said_is_one),
        cmocka_unit_test(all_have_turns_before_one_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
