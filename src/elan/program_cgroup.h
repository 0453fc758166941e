/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program's group of processes, as a directory of the cgroup2 tree.  Two
 * arrangements:
 *
 *  own      a directory of ours below slurmstepd's own group, made and removed
 *           by us; tasks enter through a descriptor of its cgroup.procs that
 *           root opened.  For proctrack/linuxproc, pgid, and cgroup on
 *           cgroup/v1.
 *  adopted  Slurm's own ".../step_S/user" under its cgroup/v2; nothing is made
 *           or moved.  Slurm puts the step's agent there as well, so a pid can
 *           be left out of signalling.
 *
 * A third one has no cgroup: program_descent.h.
 *
 * This is glue: it opens files, waits, and needs root for most.  Functions
 * return 0, or -1 with errno and text.
 */
#ifndef SF_ELAN_PROGRAM_CGROUP_H
#define SF_ELAN_PROGRAM_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

struct program_descent;
struct program_process;

struct program_cgroup {
    int tree; /* root of the cgroup2 tree, O_PATH */
    int dir;  /* the group's directory */
    bool own; /* made by us: to be removed by us */
    dev_t dev;
    ino_t ino;
    char path[4096];                 /* below the root of the tree */
    struct program_descent *descent; /* not NULL: there is no cgroup */
};

#define PROGRAM_CGROUP_NONE ((struct program_cgroup){.tree = -1, .dir = -1})

/* Is this process one that the group holds but that is no member (the step's
 * agent)? */
typedef bool program_skip_f(pid_t pid, void *arg);

/* A descriptor of the cgroup2 tree's root: where it is mounted, else (no such
 * mount on this host) a mount of our own that has no place in the file
 * system.  -1 with ENOTSUP: this kernel has no cgroup2. */
int program_cgroup_tree(struct errbuf *err);

/* Choose the arrangement for that slurmstepd, and make or open the group.
 * tree is taken over; -1: it is looked for.  name is the directory's (own
 * arrangement). */
int program_cgroup_make(struct program_cgroup *g, int tree, const char *name,
                        pid_t starter, struct errbuf *err);
/* Those that descend from that slurmstepd, without a cgroup.  dev and ino are
 * 0 and its start time. */
int program_cgroup_descend(struct program_cgroup *g,
                           const struct program_process *root,
                           struct errbuf *err);
/* Another descriptor of the same group, for a process that inherited none. */
int program_cgroup_reopen(struct program_cgroup *g, const char *path, bool own,
                          struct errbuf *err);
/* The group whose descriptors are these, which become *g's, or are closed. */
int program_cgroup_take(struct program_cgroup *g, int tree, int dir,
                        const char *path, bool own, struct errbuf *err);
void program_cgroup_close(struct program_cgroup *g);

/* cgroup.procs opened for writing, close-on-exec; a process that inherits it
 * enters the program by writing "0".  -1 with errno in the adopted arrangement:
 * EXDEV. */
int program_cgroup_open_procs(const struct program_cgroup *g,
                              struct errbuf *err);

/* The members: distinct pids of the group and those below it, without the
 * skipped.  At most max are stored.  Returns their number (which may be
 * larger), or -1. */
int program_cgroup_pids(const struct program_cgroup *g, pid_t *pids, int max,
                        program_skip_f *skip, void *arg, struct errbuf *err);

/* Is the process in the group or below it?  Compares directories by inode.
 * 1, 0, or -1 with errno (ESRCH: gone). */
int program_cgroup_has(const struct program_cgroup *g, pid_t pid);

/* Signal every member; again, while new ones appear.  Returns how many were
 * signalled, or -1. */
int program_cgroup_signal(const struct program_cgroup *g, int signo,
                          program_skip_f *skip, void *arg, struct errbuf *err);

/* Stop or continue the whole group.  Own: the kernel's freezer.  Adopted: by
 * SIGSTOP and SIGCONT, so that the skipped go on. */
int program_cgroup_freeze(const struct program_cgroup *g, bool stop,
                          program_skip_f *skip, void *arg, struct errbuf *err);

/* Is there any process in it, skipped or not?  Yes when that cannot be
 * known. */
bool program_cgroup_lives(const struct program_cgroup *g);

/* SIGKILL to all there is, skipped or not, and wait until the group is empty,
 * at most timeout_ms.  -1 with ETIME when something still lives. */
int program_cgroup_empty(const struct program_cgroup *g, int timeout_ms,
                         struct errbuf *err);

/* Remove an own group and what is below it (directories only); nothing to do
 * for an adopted one. */
int program_cgroup_remove(struct program_cgroup *g, struct errbuf *err);

/* CPU time of all members that ever were, microseconds. */
int program_cgroup_cpu(const struct program_cgroup *g, uint64_t *user_us,
                       uint64_t *system_us);
/* Largest memory the kernel ever counted for the group, bytes; 0 where it
 * does not count (no memory controller there, or older than Linux 5.19). */
uint64_t program_cgroup_memory_peak(const struct program_cgroup *g);

/* Label a group: readable and writable by root only (trusted.*). */
int program_cgroup_set_label(const struct program_cgroup *g, const char *label,
                             struct errbuf *err);
/* Length of the label, or -1. */
ssize_t program_cgroup_get_label(int dir, char *label, size_t size);

/* The calling process leaves every cgroup of a Slurm job, for the root of
 * that hierarchy, so that Slurm can remove the job's directories.  Best
 * effort. */
void program_cgroup_leave_job(void);

#endif
