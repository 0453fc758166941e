/* SPDX-License-Identifier: BSD-3-Clause
 * Connections to the agent's socket: REGISTER from tasks before exec, and
 * the dialogue of task_wire with MPI processes.
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/local.h"
#include "base/log.h"
#include "impi/spawn.h"
#include "impid/impid.h"
#include "impid/impid_status.h"

#define LINGER 5.0 /* s from a lost connection to the end of its process */

static int take(struct impid_proc *p, const struct task_frame *f);
static int impid_peer_pidfd(int fd, pid_t *pid);
static struct impid_task *impid_task_find(struct impid *a, uint32_t rank);
static void impid_task_register(struct impid *a, uint32_t rank, int fd);

void impid_proc_error(struct impid_proc *p, const char *text)
{
    uint8_t buf[TASK_HEADER_SIZE + SF_TASK_TEXT_MAX + 2];
    ssize_t n = task_error_encode(buf, sizeof(buf), text);

    if (n > 0 && !p->lost)
        impid_stream_write(&p->stream, buf, (size_t)n);
}

/* It would wait for ever.  One that is gone is reported when that shows. */
static void not_sent(struct impid_proc *p, int id, const char *what)
{
    if (errno != EPIPE && errno != ECONNRESET)
        impid_fail(p->impid, id, 1, p, "cannot be sent %s: %s", what,
                   strerror(errno));
}

/* Whole or not at all: what waits in front of it would lose the descriptor,
 * so only for what finds the socket empty. */
static int send_with_fd(struct impid_proc *p, const void *buf, size_t size,
                        int pass_fd)
{
    ssize_t n = fd_pass_send(p->stream.fd, buf, size, &pass_fd, pass_fd >= 0,
                             MSG_DONTWAIT);

    if (n >= 0 && n != (ssize_t)size)
        errno = EMSGSIZE;
    return n == (ssize_t)size ? 0 : -1;
}

/* ENV is the first thing that is sent, so it fits into the socket. */
void impid_proc_send_env(struct impid_proc *p, const struct task_env *env,
                         int pass_fd)
{
    size_t size = task_env_size(env);
    uint8_t *buf = malloc(size);

    if (!buf || task_env_encode(buf, size, env) < 0 ||
        send_with_fd(p, buf, size, pass_fd) < 0)
        not_sent(p, 314, "its environment");
    free(buf);
}

void impid_proc_send_relay(struct impid_proc *p, int fd)
{
    uint8_t frame[TASK_HEADER_SIZE];
    ssize_t n = task_frame_encode(frame, sizeof(frame), TASK_RELAY, NULL, 0);

    if (!p->lost && (n < 0 || send_with_fd(p, frame, (size_t)n, fd) < 0))
        not_sent(p, 322, "the socket for its packets");
}

void impid_proc_send_world(struct impid_proc *p, const struct impi_world *world,
                           int table)
{
    uint8_t head[IMPI_WORLD_HEAD_SIZE];
    uint8_t frame[TASK_HEADER_SIZE + sizeof(head)];
    ssize_t n;

    impi_world_encode_head(world, head);
    n = task_frame_encode(frame, sizeof(frame), TASK_WORLD, head, sizeof(head));
    if (!p->lost && (n < 0 || send_with_fd(p, frame, (size_t)n, table) < 0))
        not_sent(p, 324, "the table of the world");
    explicit_bzero(head, sizeof(head));
    explicit_bzero(frame, sizeof(frame));
}

/* A process that breaks the rules inside a round ends the job. */
static int refuse(struct impid_proc *p, const char *text)
{
    impid_proc_error(p, text);
    if (repeat_count(&p->impid->refused, "a process") > 0)
        log_warn("process %d: %s", (int)p->pid, text);
    if (p->task)
        impid_fail(p->impid, 313, 1, p, "%s", text);
    impid_proc_free(p);
    return -1;
}

static int take_hello(struct impid_proc *p, const struct task_frame *f)
{
    struct impid *a = p->impid;
    struct impid_task *t;
    struct task_hello h;

    if (p->task || task_hello_decode(&h, f->payload, f->len) < 0)
        return refuse(p, "malformed HELLO");
    if (h.version != TASK_WIRE_VERSION)
        return refuse(p, "libimpi and impid are of different versions");
    if (h.family != TASK_FAMILY_MPICH && h.family != TASK_FAMILY_OPENMPI &&
        h.family != TASK_FAMILY_MPICH_PMIX)
        return refuse(p, "unknown MPI library family");
    if (a->link.state == LINK_DOWN)
        return refuse(p, a->link.error);
    t = impid_task_find(a, h.rank);
    if (!t)
        return refuse(p, "SLURM_PROCID is not of this node's tasks");
    if (t->proc)
        return refuse(p, "another MPI program of this task is running");
    log_debug("rank %u is process %d with %s", h.rank, (int)p->pid, h.library);
    t->proc = p;
    p->task = t;
    p->family = h.family;
    p->build = h.build;
    memcpy(p->dir, h.dir, sizeof(p->dir));
    p->memory = h.memory;
    p->users = h.users;
    p->said_pid = h.pid;
    p->round = impid_round_get(a, t->generation);
    if (!p->round)
        return refuse(p, "out of memory");
    impid_family_hello(p->round, p);
    return 0;
}

static int take_join(struct impid_proc *p, const struct task_frame *f)
{
    struct task_join j;

    if (!p->client || p->joined || task_join_decode(&j, f->payload, f->len) < 0)
        return refuse(p, "unexpected JOIN");
    p->joined = true;
    impid_join_add(p, &j);
    return 0;
}

static int take_stage(struct impid_proc *p, const struct task_frame *f)
{
    struct task_stage s;

    if (!p->client || task_stage_decode(&s, f->payload, f->len) < 0)
        return refuse(p, "unexpected STAGE");
    p->stage = s.stage;
    return 0;
}

static int take_abort(struct impid_proc *p, const struct task_frame *f)
{
    struct task_abort abort;

    if (!p->task || task_abort_decode(&abort, f->payload, f->len) < 0)
        return refuse(p, "unexpected ABORT");
    if (abort.text[0])
        impid_fail(p->impid, 310, abort.code, p, "ended the job: %s",
                   abort.text);
    else
        impid_fail(p->impid, 310, abort.code, p, "called MPI_Abort(%d)",
                   abort.code);
    return 0;
}

static void send_finished(struct impid_proc *p)
{
    uint8_t frame[TASK_HEADER_SIZE];
    ssize_t n = task_frame_encode(frame, sizeof(frame), TASK_FINISHED, NULL, 0);

    if (n > 0 && !p->lost)
        impid_stream_write(&p->stream, frame, (size_t)n);
}

static int take_finish(struct impid_proc *p, const struct task_frame *f)
{
    if (!p->client || p->finished || f->len != 0)
        return refuse(p, "unexpected FINISH");
    p->finished = true;
    send_finished(p);
    impid_round_finished(p->round, p);
    return 0;
}

static int take_exiting(struct impid_proc *p, const struct task_frame *f)
{
    struct task_exiting x;

    if (task_exiting_decode(&x, f->payload, f->len) < 0)
        return refuse(p, "malformed EXITING");
    p->exiting = x.code;
    p->said_exiting = true;
    return 0;
}

static int take_register(struct impid_proc *p, const struct task_frame *f)
{
    struct task_register r;

    if (p->task || task_register_decode(&r, f->payload, f->len) < 0)
        return refuse(p, "malformed REGISTER");
    impid_task_register(p->impid, r.rank, p->stream.fd);
    impid_proc_free(p);
    return -1;
}

static int take_question(struct impid_proc *p, const struct task_frame *f)
{
    if (!p->client || impid_proof_ask(p, f) < 0)
        return refuse(p, "unexpected PROVE or CHECK");
    return 0;
}

static int take_claim(struct impid_proc *p, const struct task_frame *f)
{
    if (!p->client || impid_memory_claim(p, f) < 0)
        return refuse(p, "unexpected CLAIM");
    return 0;
}

/* The server starts the step, for it is beside srun. */
static int take_spawn(struct impid_proc *p, const struct task_frame *f)
{
    struct agent_msg msg = {.type = AGENT_SPAWN};
    struct impi_spawn request;
    struct errbuf err;

    if (!p->client || impi_spawn_decode(&request, f->payload, f->len, &err) < 0)
        return refuse(p, "unexpected SPAWN");
    impi_spawn_free(&request);
    msg.spawn.rank = p->task->rank;
    msg.spawn.blob.data = f->payload;
    msg.spawn.blob.len = f->len;
    impid_link_send(&p->impid->link, &msg);
    return 0;
}

void impid_proc_spawned(struct impid *a, const struct agent_spawn *m)
{
    const struct impid_task *t = impid_task_find(a, m->rank);
    uint8_t frame[TASK_HEADER_SIZE + SF_AGENT_TEXT_MAX + 64];
    ssize_t n = task_frame_encode(frame, sizeof(frame), TASK_SPAWNED,
                                  m->blob.data, m->blob.len);

    if (n > 0 && t && t->proc && !t->proc->lost)
        impid_stream_write(&t->proc->stream, frame, (size_t)n);
}

static const struct {
    uint32_t type;
    int (*take)(struct impid_proc *p, const struct task_frame *f);
} frames[] = {
    {TASK_HELLO, take_hello},     {TASK_JOIN, take_join},
    {TASK_ABORT, take_abort},     {TASK_FINISH, take_finish},
    {TASK_EXITING, take_exiting}, {TASK_REGISTER, take_register},
    {TASK_STAGE, take_stage},     {TASK_PROVE, take_question},
    {TASK_CHECK, take_question},  {TASK_SPAWN, take_spawn},
    {TASK_CLAIM, take_claim},
};

static int take(struct impid_proc *p, const struct task_frame *f)
{
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (frames[i].type == f->type)
            return frames[i].take(p, f);
    return refuse(p, "unknown frame");
}

static int on_input(struct impid_stream *s, void *arg)
{
    struct impid_proc *p = arg;
    struct task_frame f;
    ssize_t n;

    while ((n = task_frame_parse(&f, bytebuf_data(&s->in), bytebuf_len(&s->in),
                                 SF_TASK_REQUEST_MAX)) > 0) {
        if (take(p, &f) < 0)
            return -1;
        bytebuf_consume(&s->in, (size_t)n);
    }
    return errno == EAGAIN ? 0 : refuse(p, "frame too long");
}

/* Did it leave its native world in order? */
static bool left_in_order(const struct impid_proc *p)
{
    return p->finished && (!p->in_pmi || p->out_of_pmi);
}

/* Without a status the job's code is the one that Slurm gets to know. */
static void report_death(struct impid_proc *p, bool ended, int status)
{
    if (status < 0 && p->said_exiting)
        status = W_EXITCODE(p->exiting & 0xff, 0);
    if (status >= 0 && WIFSIGNALED(status))
        impid_fail(p->impid, 311, 128 + WTERMSIG(status), p,
                   "was killed by signal %d (%s)", WTERMSIG(status),
                   strsignal(WTERMSIG(status)));
    else if (status > 0)
        impid_fail(p->impid, 311, WEXITSTATUS(status), p,
                   "exited with code %d before MPI_Finalize",
                   WEXITSTATUS(status));
    else if (status == 0 || !ended)
        impid_fail(p->impid, 311, 1, p, "%s before MPI_Finalize",
                   ended ? "ended" : "closed its connection");
    else
        impid_fail(p->impid, 311, AGENT_CODE_UNKNOWN, p,
                   "ended before MPI_Finalize");
}

static void conclude(struct impid_proc *p, bool ended, int status)
{
    if (!left_in_order(p) && !p->aborted)
        report_death(p, ended, status);
    impid_proc_free(p);
}

static void conclude_by_kernel(struct impid_proc *p)
{
    conclude(p, true, impid_status_of_kernel(p->pidfd, p->pid));
}

static void on_linger(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct impid_proc *p = timer->data;

    if (p->asked)
        conclude_by_kernel(p);
    else
        conclude(p, false, -1);
}

static void on_ended(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_proc *p = io->data;

    ev_io_stop(loop, io);
    ev_timer_stop(loop, &p->linger);
    if (left_in_order(p) || p->impid->failed || !impid_status_ask(p)) {
        conclude_by_kernel(p);
        return;
    }
    p->asked = true;
    p->impid->nasked++;
    ev_timer_set(&p->linger, IMPID_ANSWER, 0);
    ev_timer_start(loop, &p->linger);
}

void impid_proc_status(struct impid *a, pid_t pid, int status)
{
    struct impid_proc *p;

    LIST_FOREACH(p, &a->procs, link)
    if (p->asked && p->pid == pid) {
        if (status < 0)
            conclude_by_kernel(p);
        else
            conclude(p, true, status);
        return;
    }
}

/* The connection is gone: wait for the end of the process.  After FINISH it
 * may still be in the native MPI_Finalize, however long; before, its end is at
 * hand, and its exit code belongs into the message. */
static void on_closed(struct impid_stream *s, void *arg, int error)
{
    struct impid_proc *p = arg;
    struct ev_loop *loop = p->impid->loop;

    impid_stream_close(s);
    p->lost = true;
    if (!p->task || left_in_order(p) || p->pidfd < 0) {
        conclude(p, p->pidfd < 0, -1);
        return;
    }
    ev_io_init(&p->ended, on_ended, p->pidfd, EV_READ);
    p->ended.data = p;
    ev_io_start(loop, &p->ended);
    ev_timer_init(&p->linger, on_linger, LINGER, 0);
    p->linger.data = p;
    if (!p->finished)
        ev_timer_start(loop, &p->linger);
}

static const struct impid_stream_ops stream_ops = {on_input, on_closed};

static bool same_user(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           cred.uid == getuid();
}

void impid_proc_accept(struct impid *a, int fd)
{
    struct impid_proc *p;

    if (!same_user(fd) || !(p = calloc(1, sizeof(*p)))) {
        close(fd);
        return;
    }
    p->impid = a;
    p->pmi.fd = -1;
    p->pidfd = impid_peer_pidfd(fd, &p->pid);
    LIST_INSERT_HEAD(&a->procs, p, link);
    impid_stream_open(&p->stream, a->loop, fd,
                      SF_TASK_REQUEST_MAX + TASK_HEADER_SIZE, &stream_ops, p);
    /* It says more of an end than its MPI library does by PMI afterwards. */
    impid_stream_prefer(&p->stream);
}

void impid_proc_free(struct impid_proc *p)
{
    struct ev_loop *loop = p->impid->loop;

    LIST_REMOVE(p, link);
    impid_proof_forget(p);
    if (p->round)
        impid_round_proc_gone(p->round, p);
    if (p->task && p->task->proc == p) {
        p->task->proc = NULL;
        p->task->generation++;
        if (p->task->ended)
            impid_family_task_gone(p->impid, p->task);
    }
    if (p->asked && --p->impid->nasked == 0)
        impid_maybe_leave(p->impid);
    ev_io_stop(loop, &p->ended);
    ev_timer_stop(loop, &p->linger);
    impid_stream_close(&p->stream);
    impid_stream_close(&p->pmi);
    if (p->pidfd >= 0)
        close(p->pidfd);
    free(p);
}

/* ---- the tasks of this node -------------------------------------------- */

/* The tasks of this node. Each registers before exec, by a record that waits
 * for us (Slurm) or by a connection (impirun); a pidfd tells when it ends. */

static int pidfd_open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A pidfd and pid of the peer of a unix socket; -1: gone. */
static int impid_peer_pidfd(int fd, pid_t *pid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    *pid = cred.pid;
    return local_peer_pidfd(fd, cred.pid);
}

static struct impid_task *impid_task_find(struct impid *a, uint32_t rank)
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
        if (repeat_count(&a->refused, "a task") > 0)
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

/* The task before exec, known by the peer of its connection. */
static void impid_task_register(struct impid *a, uint32_t rank, int fd)
{
    pid_t pid = 0;
    int pidfd = impid_peer_pidfd(fd, &pid);

    registered(a, rank, pid, pidfd);
}

/* ---- from slurmstepd's tasks: a record each ---- */

/* False: nothing more for now. */
static bool take_record(struct impid *a)
{
    uint8_t buf[64];
    struct task_frame f;
    struct task_register r;
    struct ucred sender;
    int pidfd;
    ssize_t n = fd_pass_receive(IMPID_TASKS_FD, buf, sizeof(buf), &pidfd, 1,
                                &sender, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        ev_io_stop(a->loop, &a->records);
        return false;
    }
    if (pidfd < 0) /* it could not send its own */
        pidfd = pidfd_open_pid(sender.pid);
    if (task_frame_parse(&f, buf, (size_t)n, sizeof(buf)) == n &&
        f.type == TASK_REGISTER &&
        task_register_decode(&r, f.payload, f.len) == 0)
        registered(a, r.rank, sender.pid, pidfd);
    else if (pidfd >= 0)
        close(pidfd);
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
