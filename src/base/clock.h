/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clocks, for glue; engines are told the time.  Without a word more the
 * clock is the steady one.  A program with a clock_ns() of its own (a fuzz
 * target) gets that one.
 */
#ifndef SF_BASE_CLOCK_H
#define SF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_ns(void);
/* Processor time of this process, in seconds. */
double clock_cpu_s(void);

static inline int64_t clock_ms(void)
{
    return (int64_t)(clock_ns() / 1000000u);
}

/* Since the epoch, by this machine's wall clock, which may be set. */
static inline int64_t clock_wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
