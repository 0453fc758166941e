/* SPDX-License-Identifier: BSD-3-Clause
 * Who shares a machine with more processes than it has processors.
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
    bool crowded[8];

    assert_int_equal(impi_world_alloc(&w, 1, n), 0);
    for (uint32_t i = 0; i < n; i++) {
        w.procs[i].hostid[12] = 10;
        w.procs[i].hostid[15] = machine[i];
        w.procs[i].cpus = cpus[i];
    }
    /* the other way to write an IPv4 address */
    memset(&w.procs[0].hostid[10], 0xff, 2);
    memset(crowded, 0x55, sizeof(crowded));
    assert_int_equal(impi_crowd_find(&w, crowded), 0);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(crowded[i], want[i] == 'y');
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_processors_are_not_crowded),
        cmocka_unit_test(each_machine_is_judged_by_itself),
        cmocka_unit_test(who_does_not_say_is_not_crowded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
