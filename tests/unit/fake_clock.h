/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clocks of the test's own, in the place of the C library's, in milliseconds.
 */
#ifndef SF_TESTS_FAKE_CLOCK_H
#define SF_TESTS_FAKE_CLOCK_H

#include <stdint.h>
#include <time.h>

static int64_t wall = 1700000000000, steady = 5000;

int clock_gettime(clockid_t which, struct timespec *t)
{
    int64_t ms = which == CLOCK_REALTIME ? wall : steady;

    t->tv_sec = ms / 1000;
    t->tv_nsec = ms % 1000 * 1000000;
    return 0;
}

#endif
