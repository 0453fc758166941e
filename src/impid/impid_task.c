/* SPDX-License-Identifier: BSD-3-Clause
 * The tasks of this node.  Each registers before exec, by a record that waits
 * for us (Slurm) or by a connection (impirun); a pidfd tells when it ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/local.h"
#include "base/log.h"
#include "impid/impid.h"

static int pidfd_open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int impid_peer_pidfd(int fd, pid_t *pid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    *pid = cred.pid;
    return local_peer_pidfd(fd, cred.pid);
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

void impid_task_look(struct impid *a)
{
    for (uint32_t i = 0; i < a->ntasks; i++) {
        struct impid_task *t = &a->tasks[i];
        struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

        if (t->registered && !t->ended && poll(&p, 1, 0) == 1) {
            ev_io_stop(a->loop, &t->watch);
            task_ended(a, t);
        }
    }
}

/* Takes pidfd, -1: the task has ended. */
static void registered(struct impid *a, uint32_t rank, pid_t pid, int pidfd)
{
    struct impid_task *t = impid_task_find(a, rank);

    if (!t || t->registered) {
        log_warn("task %u registered %s", rank, t ? "twice" : "elsewhere");
        if (pidfd >= 0)
            close(pidfd);
        return;
    }
    t->registered = true;
    t->pid = pid;
    t->pidfd = pidfd;
    if (t->pidfd < 0) {
        task_ended(a, t);
        return;
    }
    ev_io_init(&t->watch, on_pidfd, t->pidfd, EV_READ);
    t->watch.data = t;
    ev_io_start(a->loop, &t->watch);
    log_debug("task %u is process %d", rank, (int)t->pid);
}

void impid_task_register(struct impid *a, uint32_t rank, int fd)
{
    pid_t pid = 0;
    int pidfd = impid_peer_pidfd(fd, &pid);

    registered(a, rank, pid, pidfd);
}

/* ---- from slurmstepd's tasks: a record each ---- */

/* What came along with a record. */
struct sender {
    pid_t pid;
    int pidfd;
};

static void take_sender(struct sender *s, struct msghdr *msg)
{
    struct ucred cred;

    *s = (struct sender){.pidfd = -1};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS && s->pidfd < 0)
            memcpy(&s->pidfd, CMSG_DATA(c), sizeof(int));
        if (c->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&cred, CMSG_DATA(c), sizeof(cred));
            s->pid = cred.pid;
        }
    }
    if (s->pidfd < 0) /* it could not send its own */
        s->pidfd = pidfd_open_pid(s->pid);
}

/* False: nothing more for now. */
static bool take_record(struct impid *a)
{
    char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    uint8_t buf[64];
    struct iovec iov = {buf, sizeof(buf)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = space,
                         .msg_controllen = sizeof(space)};
    ssize_t n = recvmsg(IMPID_TASKS_FD, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct task_frame f;
    struct task_register r;
    struct sender sender;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        ev_io_stop(a->loop, &a->records);
        return false;
    }
    take_sender(&sender, &msg);
    if (task_frame_parse(&f, buf, (size_t)n, sizeof(buf)) == n &&
        f.type == TASK_REGISTER &&
        task_register_decode(&r, f.payload, f.len) == 0)
        registered(a, r.rank, sender.pid, sender.pidfd);
    else if (sender.pidfd >= 0)
        close(sender.pidfd);
    return true;
}

void impid_task_records(struct impid *a)
{
    while (take_record(a))
        ;
}

static void on_record(struct ev_loop *loop, ev_io *io, int revents)
{
    impid_task_records(ev_userdata(loop));
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
            a->tasks[a->ntasks++] =
                (struct impid_task){.rank = r, .pidfd = -1, .status = -1};
    ev_io_init(&a->records, on_record, IMPID_TASKS_FD, EV_READ);
    ev_set_priority(&a->records, EV_MAXPRI); /* before what these tasks say */
    if (fcntl(IMPID_TASKS_FD, F_GETFD) >= 0)
        ev_io_start(a->loop, &a->records);
    return 0;
}
