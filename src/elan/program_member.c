/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/local.h"
#include "elan/program_member.h"
#include "elan/program_read.h"

/* A pidfd is readable once its process has ended. */
static bool pidfd_lives(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, 0) == 0;
}

static void find_chain(struct program_peer *peer, pid_t pid)
{
    pid_t parent;

    peer->nchain = 0;
    while (pid > 1 && peer->nchain < SF_PROGRAM_CHAIN_MAX &&
           program_read_process(pid, &peer->chain[peer->nchain], &parent) ==
               0) {
        peer->nchain++;
        pid = parent;
    }
}

int program_peer_find(struct program_peer *peer, int fd,
                      const struct program_cgroup *g)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int pidfd;
    bool lives;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    if (!g) {
        *peer = (struct program_peer){.uid = cred.uid};
        return 0;
    }
    /* Before 6.5 the pid might be another's.  It would have to be a process of
     * the same uid inside the program: one that may ask for itself. */
    pidfd = local_peer_pidfd(fd, cred.pid);
    if (pidfd < 0)
        return -1;
    peer->uid = cred.uid;
    peer->member = program_cgroup_has(g, cred.pid) == 1;
    find_chain(peer, cred.pid);
    lives = pidfd_lives(pidfd);
    close(pidfd);
    if (lives && peer->nchain > 0)
        return 0;
    errno = ESRCH;
    return -1;
}

bool program_process_lives(const struct program_process *process)
{
    struct program_process now;
    pid_t parent;

    return program_read_process(process->pid, &now, &parent) == 0 &&
           now.start == process->start;
}

void program_agent_init(struct program_agent *a, pid_t parent, const char *path)
{
    struct stat st;

    *a = (struct program_agent){.parent = parent};
    if (path && stat(path, &st) == 0) {
        a->dev = st.st_dev;
        a->ino = st.st_ino;
    }
}

bool program_agent_is(pid_t pid, void *agent)
{
    const struct program_agent *a = agent;
    struct program_process process;
    struct stat st;
    char exe[64];
    pid_t parent;

    if (a->ino == 0)
        return false;
    snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
    return stat(exe, &st) == 0 && st.st_dev == a->dev && st.st_ino == a->ino &&
           program_read_process(pid, &process, &parent) == 0 &&
           parent == a->parent;
}
