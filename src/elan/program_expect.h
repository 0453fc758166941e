/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks are about to enter a program's group of its own.  The first move of a
 * process between cgroups after a while waits for a grace period of the
 * kernel, 5 to 15 ms; those that follow before the next one has passed take
 * microseconds.  So a thread of the holder moves the holder to where it is
 * already, while the tasks are still being made, and again every few
 * milliseconds until the first has entered.
 */
#ifndef SF_ELAN_PROGRAM_EXPECT_H
#define SF_ELAN_PROGRAM_EXPECT_H

#include <stdatomic.h>

#include "elan/program_cgroup.h"

struct program_expect {
    int procs; /* of the group the caller is in; the thread's */
    atomic_bool entered;
};

/* Best effort, waits for nothing.  The caller must be where it was when it
 * made *g; *x stays as long as the process. */
void program_expect_begin(struct program_expect *x,
                          const struct program_cgroup *g);
/* The first task is in: those that come soon find the way open. */
void program_expect_end(struct program_expect *x);

#endif
