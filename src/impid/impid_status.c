/* SPDX-License-Identifier: BSD-3-Clause
 * How a process ended.  slurmstepd reaps the tasks, and mostly before we can
 * look at the zombie; so it is asked for their status over the socket that
 * also tells of its end.  For what a task has forked, and where nobody answers,
 * there is the kernel: /proc/PID/stat of a zombie, and from Linux 6.15 on the
 * pidfd itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "impid/impid.h"
#include "impid/impid_status.h"

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

int impid_status_of_kernel(int pidfd, pid_t pid)
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

bool impid_status_ask_task(const struct impid_task *t)
{
    struct impi_status_request r = {.pid = t->pid};

    return t->registered &&
           send(IMPID_STATUS_FD, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT) ==
               (ssize_t)sizeof(r);
}

bool impid_status_ask(const struct impid_proc *p)
{
    return p->task && p->task->pid == p->pid && impid_status_ask_task(p->task);
}

int impid_status_take(struct impi_status_reply *r)
{
    ssize_t n = recv(IMPID_STATUS_FD, r, sizeof(*r), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n != (ssize_t)sizeof(*r))
        return -1;
    log_debug("process %d ended with status %d, says slurmstepd", (int)r->pid,
              (int)r->status);
    return 1;
}
