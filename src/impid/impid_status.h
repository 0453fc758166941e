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

struct impid_proc;

/* Ask for the status of a process that is itself a task.  False: it is none,
 * or nobody is there to be asked. */
bool impid_status_ask(const struct impid_proc *p);
/* An answer that has come: 1, 0 (none) or -1 (slurmstepd is gone). */
int impid_status_take(struct impi_status_reply *r);
/* What the kernel still knows of an ended process; -1: nothing. */
int impid_status_of_kernel(int pidfd, pid_t pid);

#endif
