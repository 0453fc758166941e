/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steady clock, for glue; engines are told the time.  A program with a
 * clock_ns() of its own (a fuzz target) gets that one.
 */
#ifndef SF_BASE_CLOCK_H
#define SF_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);
/* Processor time of this process, in seconds. */
double clock_cpu_s(void);

static inline int64_t clock_ms(void)
{
    return (int64_t)(clock_ns() / 1000000u);
}

#endif
