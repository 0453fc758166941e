/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is at the other end of a socket, and is it a member of a program?
 * Nothing that the peer says is believed: its pid comes from the kernel, a
 * pidfd shows that the pid still is the same process, and membership is the
 * inode of its cgroup's directory.
 */
#ifndef SF_ELAN_PROGRAM_MEMBER_H
#define SF_ELAN_PROGRAM_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/limits.h"
#include "elan/program.h"
#include "elan/program_cgroup.h"

struct program_peer {
    uid_t uid;
    bool member;
    struct program_process chain[SF_PROGRAM_CHAIN_MAX]; /* itself, parent.. */
    size_t nchain;
};

/* Fill *peer for the connected unix socket fd; without a group only its uid. 0,
 * or -1 with errno (ESRCH: the process that connected is gone). */
int program_peer_find(struct program_peer *peer, int fd,
                      const struct program_cgroup *g);

/* Does the process still live? */
bool program_process_lives(const struct program_process *process);

/* Is pid the step's agent: this file, started by that parent? */
struct program_agent {
    pid_t parent;
    dev_t dev;
    ino_t ino; /* 0: there is none */
};
void program_agent_init(struct program_agent *a, pid_t parent,
                        const char *path);
/* A program_skip_f. */
bool program_agent_is(pid_t pid, void *agent);

#endif
