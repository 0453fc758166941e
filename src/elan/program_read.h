/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Read small files of /proc and of cgroups.
 */
#ifndef SF_ELAN_PROGRAM_READ_H
#define SF_ELAN_PROGRAM_READ_H

#include <stddef.h>
#include <sys/types.h>

#include "elan/program.h"

/* The file's text, at most max bytes, NUL terminated; free() it.  NULL with
 * errno.  dir may be AT_FDCWD. */
char *program_read_at(int dir, const char *name, size_t max);

/* /proc/PID/FILE. */
char *program_read_proc(pid_t pid, const char *file, size_t max);

/* Start time and parent of a process.  0, or -1: gone. */
int program_read_process(pid_t pid, struct program_process *process,
                         pid_t *ppid);

#endif
