/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Readers of the kernel's texts that program descriptions need: files of
 * /proc and of a cgroup.  Pure: the text comes in, NUL terminated.
 */
#ifndef SF_ELAN_PROGRAM_PROC_H
#define SF_ELAN_PROGRAM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/stat: parent and start time.  The command name in it may hold
 * anything.  Returns 0, or -1 when it is not such a text. */
int proc_parse_stat(const char *text, pid_t *ppid, uint64_t *start);

/* /proc/PID/status: the value in kB of "VmHWM", "VmRSS" ...; 0 without. */
uint64_t proc_parse_status_kb(const char *text, const char *name);

/* /proc/PID/cgroup: the path in the cgroup2 tree (the "0::" line), copied.
 * Returns 0, or -1: none, or longer than size - 1. */
int proc_parse_cgroup2(const char *text, char *path, size_t size);

/* Go through all lines of /proc/PID/cgroup.  *text moves on.  controllers
 * is empty for the cgroup2 line.  Returns false at the end. */
bool proc_next_cgroup(const char **text, char *controllers, size_t csize,
                      char *path, size_t psize);

/* /proc/self/mountinfo: where the cgroup2 tree (controllers NULL) or the v1
 * hierarchy with these controllers ("freezer", "name=systemd") is mounted.  A
 * mount of the whole tree is preferred.  Returns 0, or -1: none. */
int proc_find_cgroup_mount(const char *mountinfo, const char *controllers,
                           char *path, size_t size);

/* Flat "key value" lines (cpu.stat, cgroup.events); 0 without the key. */
uint64_t proc_parse_flat(const char *text, const char *key);

/* Does a cgroup2 path name slurmstepd's own group under Slurm's cgroup/v2,
 * ".../job_J/step_S/slurm"?  Then copy ".../job_J/step_S/user", the group of
 * the step's tasks. */
bool proc_slurm_step_group(const char *path, char *user, size_t size);

/* Does a cgroup path run through a job's group of Slurm ("/job_<n>")? */
bool proc_in_slurm_job(const char *path);

#endif
