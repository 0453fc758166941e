/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Explorers that cannot be had: the program's linker flag (NO_EXPLORER_WRAP)
 * sends explore_new() here.  For one file of a program.
 */
#ifndef SF_TESTS_NO_EXPLORER_H
#define SF_TESTS_NO_EXPLORER_H

#include <errno.h>

#include "mapper/explore.h"

static unsigned explorers_failing;

struct explore *__real_explore_new(const struct prober_limits *limits,
                                   const struct probe_host *me);
struct explore *__wrap_explore_new(const struct prober_limits *limits,
                                   const struct probe_host *me);

struct explore *__wrap_explore_new(const struct prober_limits *limits,
                                   const struct probe_host *me)
{
    if (explorers_failing == 0)
        return __real_explore_new(limits, me);
    explorers_failing--;
    errno = ENOMEM;
    return NULL;
}

/* The next n cannot be had.  How many of those before still had to fail. */
static unsigned explorers_fail(unsigned n)
{
    unsigned before = explorers_failing;

    explorers_failing = n;
    return before;
}

#endif
