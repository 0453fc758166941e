/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting of a program's processes and memory.  CPU time is the kernel's own
 * count of the group and misses nothing.  Memory is the kernel's where a
 * memory controller watches the group; else, and for the processes always, it
 * is what was seen when one looked: a process that begins and ends between two
 * looks is not counted.
 */
#ifndef SF_ELAN_PROGRAM_ACCOUNT_H
#define SF_ELAN_PROGRAM_ACCOUNT_H

#include "elan/program_cgroup.h"
#include "elan/program_wire.h"

struct program_account {
    struct program_seen *seen; /* hash of processes */
    struct program_stats stats;
};

/* Look now, and bring a->stats up to date. */
void program_account_look(struct program_account *a,
                          const struct program_cgroup *g, program_skip_f *skip,
                          void *arg);
/* A process is known to exist. */
void program_account_note(struct program_account *a,
                          const struct program_process *process);
/* The last figures, of a group that is empty. */
void program_account_end(struct program_account *a,
                         const struct program_cgroup *g);
void program_account_free(struct program_account *a);

#endif
