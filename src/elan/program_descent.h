/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program's processes found by descent, where no cgroup can be made (in a
 * container without privileges).  slurmstepd is their root: as a "subreaper" it
 * becomes the parent of all below it that lose their own, so a process cannot
 * get out of its tree by any double fork while slurmstepd lives.  Each task
 * says that it enters, over a socket on which the kernel names the sender.
 * What slurmstepd had for children before the first of them (its agent) is
 * outside, with all below it; all else below slurmstepd is inside.
 *
 * The holder knows all of this.  A process that only knows the root (hsnd;
 * slurmstepd when its holder was killed) takes everything below it for inside.
 *
 * Weaker than a cgroup in one thing: when slurmstepd itself is killed, what was
 * born and orphaned since the holder's last look gets away.
 *
 * This is glue: it reads /proc.
 */
#ifndef SF_ELAN_PROGRAM_DESCENT_H
#define SF_ELAN_PROGRAM_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elan/program.h"
#include "elan/program_cgroup.h"

struct program_descent;

/* NULL with errno.  free(NULL) is fine. */
struct program_descent *program_descent_new(const struct program_process *root);
void program_descent_free(struct program_descent *d);

/* Makes it the holder's.  Returns the descriptor into which a task writes a
 * byte, or -1 with errno.  Before a task goes on it must have been heard:
 * so it makes a request, which is served after that. */
int program_descent_entry(struct program_descent *d);

/* As the functions of program_cgroup.h. */
int program_descent_pids(struct program_descent *d, pid_t *pids, int max,
                         program_skip_f *skip, void *arg);
int program_descent_has(struct program_descent *d, pid_t pid);
/* CPU time of all processes below the root, and of those that ended there. */
int program_descent_cpu(struct program_descent *d, uint64_t *user_us,
                        uint64_t *system_us);

#endif
