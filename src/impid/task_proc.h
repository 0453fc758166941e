/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process of a job does before it becomes the user's program, under
 * Slurm as by hand.
 */
#ifndef SF_IMPID_TASK_PROC_H
#define SF_IMPID_TASK_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make this process known to the impid that listens at `path`.  The socket is
 * older than any process, so this never waits; the kernel keeps what was sent
 * until impid reads it.  0, or -1 with errno. */
int task_proc_register(const char *path, uint32_t rank, uint32_t local);

/* The first variable of env that another launcher around us left behind and
 * that would mislead the native MPI.  False: no variable does. */
bool task_proc_foreign(char *const *env, char *name, size_t size);

#endif
