/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks are about to enter a program's group of its own.  The first move of a
 * process between cgroups after a while waits for a grace period of the kernel,
 * 5 to 15 ms; those that follow before the next one has passed take
 * microseconds.  So the holder moves itself to where it is already, while the
 * tasks are still being made, and again every few milliseconds until the first
 * has entered.  A task that moves meanwhile waits for the same grace period and
 * speaks to the holder only after it, so nobody waits for the holder.  A holder
 * that waits for its next program begins when the plugin hears of a step
 * (elan/program_spare.h): in slurmd, so that what is forked and loaded before
 * the first task takes as long as a grace period; from Slurm 24.05 on in
 * slurmstepd.
 */
#ifndef SF_ELAN_PROGRAM_EXPECT_H
#define SF_ELAN_PROGRAM_EXPECT_H

#include "elan/program_cgroup.h"

struct program_expect {
    int procs; /* of the group above; -1: nobody is expected */
    int left;  /* moves */
};

/* Nobody is expected. */
void program_expect_init(struct program_expect *x);
/* Best effort: where it cannot be done, nobody is expected. */
void program_expect_begin(struct program_expect *x,
                          const struct program_cgroup *g);
/* The same, by a cgroup.procs that the caller has open (-1: nobody is expected)
 * and keeps. */
void program_expect_begin_by(struct program_expect *x, int procs);
/* Move, if somebody is expected.  Milliseconds until the next move, -1: there
 * is none to come. */
int program_expect_move(struct program_expect *x);
/* The first task is in: those that come soon find the way open. */
void program_expect_end(struct program_expect *x);

#endif
