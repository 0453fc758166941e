/* SPDX-License-Identifier: BSD-3-Clause
 * The tasks of this node.  Each registers before exec; from then on a pidfd
 * tells when it ends.  Slurm reaps them, so their status comes from /proc
 * while they are zombies or from the pidfd itself where the kernel keeps it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "impid/impid.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* Linux 6.13 and (exit code) 6.15; not in the headers we build with. */
struct kernel_pidfd_info {
    uint64_t mask;
    uint64_t cgroupid;
    uint32_t pid, tgid, ppid;
    uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
#define KERNEL_PIDFD_GET_INFO _IOWR(0xFF, 11, struct kernel_pidfd_info)
#define KERNEL_PIDFD_INFO_EXIT (1u << 3)

static int pidfd_open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int impid_peer_pidfd(int fd, pid_t *pid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int pidfd = -1;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    *pid = cred.pid;
    len = sizeof(pidfd);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
        return pidfd;
    if (errno == ESRCH || errno == EINVAL)
        return -1; /* it has ended: its pid may be another's */
    return pidfd_open_pid(cred.pid);
}

/* Field 52 of /proc/PID/stat, of a zombie only. */
static int zombie_status(pid_t pid)
{
    char path[64], text[2048], state;
    const char *p;
    int fd, field = 3, status = -1;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    p = strrchr(text, ')'); /* the name may hold anything */
    if (!p || sscanf(p + 1, " %c", &state) != 1 || state != 'Z')
        return -1;
    for (p += 2; *p && field < 52; p++)
        if (*p == ' ')
            field++;
    return sscanf(p, "%d", &status) == 1 ? status : -1;
}

int impid_wait_status(int pidfd, pid_t pid)
{
    struct kernel_pidfd_info info = {.mask = KERNEL_PIDFD_INFO_EXIT};
    int status = zombie_status(pid);

    if (status >= 0)
        return status;
    if (ioctl(pidfd, KERNEL_PIDFD_GET_INFO, &info) == 0 &&
        (info.mask & KERNEL_PIDFD_INFO_EXIT))
        return info.exit_code;
    return -1;
}

struct impid_task *impid_task_find(struct impid *a, uint32_t rank)
{
    for (uint32_t i = 0; i < a->ntasks; i++)
        if (a->tasks[i].rank == rank)
            return &a->tasks[i];
    return NULL;
}

static void task_ended(struct impid *a, struct impid_task *t)
{
    if (t->ended)
        return;
    t->ended = true;
    a->nended++;
    log_debug("task %u ended", t->rank);
    if (!t->proc) /* else its process reports */
        impid_family_task_gone(a, t);
    impid_maybe_leave(a);
}

static void on_pidfd(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid *a = ev_userdata(loop);

    ev_io_stop(loop, io);
    task_ended(a, io->data);
}

void impid_task_register(struct impid *a, uint32_t rank, int fd)
{
    struct impid_task *t = impid_task_find(a, rank);

    if (!t || t->registered) {
        log_warn("task %u registered %s", rank, t ? "twice" : "elsewhere");
        return;
    }
    t->registered = true;
    t->pidfd = impid_peer_pidfd(fd, &t->pid);
    if (t->pidfd < 0) {
        task_ended(a, t);
        return;
    }
    ev_io_init(&t->watch, on_pidfd, t->pidfd, EV_READ);
    t->watch.data = t;
    ev_io_start(a->loop, &t->watch);
    log_debug("task %u is process %d", rank, (int)t->pid);
}

bool impid_task_any_running(const struct impid *a)
{
    for (uint32_t i = 0; i < a->ntasks; i++)
        if (a->tasks[i].registered && !a->tasks[i].ended)
            return true;
    return false;
}

static void signal_pidfd(int pidfd, int sig)
{
    if (pidfd >= 0)
        syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

void impid_task_kill_all(struct impid *a)
{
    struct impid_proc *p;

    for (uint32_t i = 0; i < a->ntasks; i++)
        if (a->tasks[i].registered && !a->tasks[i].ended)
            signal_pidfd(a->tasks[i].pidfd, SIGKILL);
    LIST_FOREACH(p, &a->procs, link)
    signal_pidfd(p->pidfd, SIGKILL);
}

int impid_task_start(struct impid *a, struct errbuf *err)
{
    const struct taskmap *map = &a->conf.map;

    a->tasks = calloc(map->ntasks, sizeof(*a->tasks));
    if (!a->tasks)
        return errprintf(err, "%s", strerror(errno));
    for (uint32_t r = 0; r < map->ntasks; r++)
        if (map->node[r] == a->conf.node)
            a->tasks[a->ntasks++] = (struct impid_task){.rank = r, .pidfd = -1};
    return 0;
}
