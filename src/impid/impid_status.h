/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a process ended, as slurmstepd or the kernel knows it.
 */
#ifndef SF_IMPID_STATUS_H
#define SF_IMPID_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

#include "impi/status_wire.h"

#define IMPID_STATUS_FD 5 /* slurmstepd's socket */

#define IMPID_ANSWER 1.5 /* s for its answer: less than job_fini leaves us */

struct impid_proc;
struct impid_task;

/* Ask for the status of a process that is itself a task.  False: it is none,
 * or nobody is there to be asked. */
bool impid_status_ask(const struct impid_proc *p);
/* Likewise for a task. */
bool impid_status_ask_task(const struct impid_task *t);
/* An answer that has come: 1, 0 (none) or -1 (slurmstepd is gone). */
int impid_status_take(struct impi_status_reply *r);
/* What the kernel still knows of an ended process; -1: nothing. */
int impid_status_of_kernel(int pidfd, pid_t pid);

#endif
