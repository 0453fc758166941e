/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From Slurm 24.05 on no plugin is called when a step is suspended, but
 * slurmstepd says so when it is asked.  So a thread in it asks, once a second.
 * It stops the program when Slurm has stopped all the tasks (which it does some
 * time after the order, so that they may prepare), and continues it when Slurm
 * has been told to continue.  Knows no Slurm.
 */
#ifndef SF_SWITCH_ELAN_SUSPEND_WATCH_H
#define SF_SWITCH_ELAN_SUSPEND_WATCH_H

#include <stdbool.h>

struct suspend_watch;

/* All are called by the thread. */
struct suspend_watch_calls {
    bool (*is_suspended)(void);           /* ordered, and not taken back */
    bool (*tasks_stand)(const void *arg); /* each task that lives is stopped */
    bool (*suspend)(bool stop);           /* the program; false: try again */
    const void *arg;
};

/* NULL: no memory or no thread. */
struct suspend_watch *suspend_watch_begin(const struct suspend_watch_calls *c);
/* Returns when the thread has ended; a stopped program stays so.  NULL is
 * fine. */
void suspend_watch_end(struct suspend_watch *w);

#endif
