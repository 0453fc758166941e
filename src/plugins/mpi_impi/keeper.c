/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "impi/status_wire.h"
#include "plugins/mpi_impi/keeper.h"
#include "slurmabi/stepd.h"

#define REAP_MS 1000  /* from the end of a task until Slurm has reaped it */
#define KILL_MS 2000  /* from SIGKILL on */
#define CLOSED_MS 100 /* from impid's end of its socket until it has ended */
#define RIGHTS_MS 100 /* between looks at our user id, if no signal comes */

enum phase { KEEPING, ENDING, KILLING, ENDED };

/* One step per slurmstepd.  The thread's as soon as it is there, but for
 * `thread` and stop[0]. */
static struct keeper {
    struct impi_keeper_options o;
    pthread_t thread;
    bool waiting; /* for a task, to start the thread */
    bool running;
    uid_t user; /* as whom we work: root */
    int stop[2];
    int wake;   /* epoll of the presence; -1: not looked at */
    int status; /* our end of impid's socket */
    int pidfd;
    pid_t pid;
    enum phase phase;
    bool asked; /* somebody waits for the answer */
    int64_t deadline;
} keeper = {.stop = {-1, -1}, .wake = -1, .status = -1, .pidfd = -1};

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- start ---------------------------------------------------------------*/

/* With nobody to hear them, processes that connected learn it. */
static void stop_waiting(struct keeper *k)
{
    shut(&k->o.listener);
    shut(&k->wake);
}

static void start(struct keeper *k)
{
    k->deadline = 0;
    if (k->o.start(k->o.arg, &k->status, &k->pid, &k->pidfd) < 0) {
        k->status = -1;
        k->pid = 0;
    }
    if (k->pid > 0)
        k->pidfd = (int)syscall(SYS_pidfd_open, k->pid, 0);
    stop_waiting(k);
}

/* Edge-triggered: a socket that is not connected would always be ready.  That
 * it is so now is the first event. */
static void watch_presence(struct keeper *k)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};

    if (k->o.presence < 0)
        return;
    k->wake = epoll_create1(EPOLL_CLOEXEC);
    if (k->wake >= 0 &&
        epoll_ctl(k->wake, EPOLL_CTL_ADD, k->o.presence, &ev) < 0)
        shut(&k->wake);
    if (k->wake >= 0)
        epoll_wait(k->wake, &ev, 1, 0);
}

/* True after a byte: another node calls MPI.  The end of the line may mean
 * that, too.  But usually it means that srun has heard of the end of all tasks
 * before we have heard of the step's, and then an impid would only be in the
 * way. */
static bool woken(struct keeper *k)
{
    struct epoll_event ev;
    ssize_t n;
    char byte;

    if (epoll_wait(k->wake, &ev, 1, 0) <= 0)
        return false;
    n = recv(k->o.presence, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        k->deadline = clock_ms() + k->o.linger_ms;
    return n > 0;
}

/* ---- how a task ended ----------------------------------------------------*/

/* Slurm signals nobody when it has reaped, so look once a millisecond; the
 * end of impid, or of the step, ends it at once. */
static int await_status(struct keeper *k, pid_t pid)
{
    struct pollfd p[2] = {
        {.fd = k->status, .events = POLLRDHUP},
        {.fd = k->stop[1], .events = k->phase == KEEPING ? POLLIN : POLLRDHUP}};
    int status = slurmabi_stepd_task_status(k->o.step, pid);

    for (int i = 0; status < 0 && i < REAP_MS && poll(p, 2, 1) == 0; i++)
        status = slurmabi_stepd_task_status(k->o.step, pid);
    return status < 0 ? slurmabi_stepd_task_status(k->o.step, pid) : status;
}

/* ---- end -----------------------------------------------------------------*/

/* Not ours any more when Slurm, which waits for any child, has reaped it. */
static bool is_child(const struct keeper *k)
{
    return k->pid > 0 && waitpid(k->pid, NULL, WNOHANG) == 0;
}

static void signal_agent(const struct keeper *k, int sig)
{
    if (k->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, k->pidfd, sig, NULL, 0);
    else if (is_child(k)) /* there was no descriptor left */
        kill(k->pid, sig);
}

static void ended(struct keeper *k, char answer)
{
    if (k->pid > 0)
        waitpid(k->pid, NULL, WNOHANG);
    shut(&k->pidfd);
    if (k->asked)
        send(k->stop[1], &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    k->asked = false;
    k->phase = ENDED;
}

static char gone_how(const struct keeper *k)
{
    return k->phase == KILLING ? IMPI_KEEPER_KILLED : IMPI_KEEPER_GONE;
}

/* No task came as far as that. */
static bool is_absent(const struct keeper *k)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    return k->o.absent && k->o.listener >= 0 && k->o.presence >= 0 &&
           getpeername(k->o.presence, (void *)&peer, &len) < 0 &&
           errno == ENOTCONN;
}

static void begin_end(struct keeper *k)
{
    if (k->phase == ENDED)
        ended(k, IMPI_KEEPER_GONE);
    if (k->phase != KEEPING)
        return;
    if (is_absent(k))
        k->o.absent(k->o.arg);
    stop_waiting(k);
    k->phase = ENDING;
    k->deadline = clock_ms() + k->o.grace_ms;
    signal_agent(k, SIGTERM);
    signal_agent(k, SIGCONT);
    if (k->pidfd < 0 && !is_child(k))
        ended(k, IMPI_KEEPER_GONE);
}

static void late(struct keeper *k)
{
    if (k->phase == KEEPING) {
        start(k);
        return;
    }
    if (k->phase == KILLING || (k->pidfd < 0 && !is_child(k))) {
        ended(k, gone_how(k));
        return;
    }
    k->phase = KILLING;
    k->deadline = clock_ms() + KILL_MS;
    signal_agent(k, SIGKILL);
}

/* Returns false at the end of the step. */
static bool heard(struct keeper *k)
{
    char byte;
    ssize_t n = recv(k->stop[1], &byte, 1, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    k->asked = n > 0;
    begin_end(k);
    return n > 0;
}

/* It has closed its socket; by its pidfd we see the rest.  Where there was no
 * descriptor left for one it has a moment: it may have closed it and live. */
static void agent_gone(struct keeper *k)
{
    shut(&k->status);
    if (k->pidfd < 0 && (k->phase == ENDING || k->phase == KILLING))
        k->deadline = clock_ms() + CLOSED_MS;
}

/* A record of another length is not impid's: skip it. */
static void answer(struct keeper *k)
{
    struct impi_status_request q;
    struct impi_status_reply r = {.status = -1};
    ssize_t n = recv(k->status, &q, sizeof(q), MSG_TRUNC | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        agent_gone(k);
        return;
    }
    if (n != (ssize_t)sizeof(q))
        return;
    r.pid = q.pid;
    r.status = await_status(k, q.pid);
    send(k->status, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Milliseconds until something must be done; -1: nothing. */
static int patience(const struct keeper *k)
{
    int64_t left = k->deadline - clock_ms();

    if (k->phase == ENDED || k->deadline == 0)
        return -1;
    return left > 0 ? (int)left : 0;
}

/* Slurm forks a task as the user and is root again a moment later, and with
 * it each of its threads, by a signal. */
static void await_rights(const struct keeper *k)
{
    while (geteuid() != k->user)
        poll(NULL, 0, RIGHTS_MS);
}

/* Until the end of the step was seen and impid is gone. */
static void *keep(void *arg)
{
    struct keeper *k = arg;
    bool step = true;

    await_rights(k);
    while (step || k->phase != ENDED) {
        struct pollfd p[] = {{.fd = step ? k->stop[1] : -1, .events = POLLIN},
                             {.fd = k->o.listener, .events = POLLIN},
                             {.fd = k->wake, .events = POLLIN},
                             {.fd = k->status, .events = POLLIN},
                             {.fd = k->pidfd, .events = POLLIN}};

        poll(p, 5, patience(k));
        if (p[0].revents)
            step = heard(k);
        if (p[3].revents && k->status >= 0)
            answer(k);
        if (p[4].revents && k->pidfd >= 0 && k->phase == KEEPING)
            shut(&k->pidfd); /* it went before its time */
        else if (p[4].revents && k->pidfd >= 0)
            ended(k, gone_how(k));
        if (k->phase == KEEPING &&
            (p[1].revents || (p[2].revents && woken(k))) && k->o.listener >= 0)
            start(k);
        if (patience(k) == 0) /* whatever is said meanwhile */
            late(k);
    }
    return NULL;
}

/* ---- from slurmstepd's own thread ----------------------------------------*/

/* Until there is a thread, an answer to any question lies ready: no impid. */
static bool open_dialogue(struct keeper *k)
{
    const char gone = IMPI_KEEPER_GONE;

    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, k->stop) == 0 &&
           send(k->stop[1], &gone, 1, MSG_NOSIGNAL) == 1;
}

static bool start_thread(struct keeper *k)
{
    char answer;

    k->running = quiet_thread(&k->thread, keep, k) == 0;
    if (k->running) /* to answer is the thread's now */
        recv(k->stop[0], &answer, 1, MSG_DONTWAIT);
    return k->running;
}

/* In the parent. */
static void task_forked(void)
{
    struct keeper *k = &keeper;

    if (!k->waiting)
        return;
    k->waiting = false;
    if (start_thread(k))
        return;
    slurm_error("mpi/impi: SF-E302: no thread to wait for impid's first call: "
                "the tasks have no MPI (too many processes?)");
    stop_waiting(k);
}

/* Up to its first fork of a task slurmstepd changes its ids a dozen times, and
 * each time the C library wakes every thread to do the same and waits for it:
 * one thread more is felt. */
static bool start_thread_at_fork(struct keeper *k)
{
    static bool asked;

    if (!asked && pthread_atfork(NULL, task_forked, NULL) != 0)
        return false;
    asked = k->waiting = true;
    return true;
}

int impi_keeper_begin(const struct impi_keeper_options *options)
{
    struct keeper *k = &keeper;

    k->o = *options;
    k->phase = KEEPING;
    k->deadline = 0;
    k->user = geteuid();
    if (k->o.now)
        start(k);
    else
        watch_presence(k);
    if (open_dialogue(k) &&
        (k->o.now ? start_thread(k)
                  : start_thread_at_fork(k) || start_thread(k)))
        return k->stop[0];
    if (!k->o.now)
        start(k);
    return -1;
}

void impi_keeper_end(void)
{
    struct keeper *k = &keeper;

    k->waiting = false;
    shutdown(k->stop[0], SHUT_WR); /* also where a fork has a copy */
    if (k->running)
        pthread_join(k->thread, NULL);
    k->running = false;
    shut(&k->stop[0]);
    shut(&k->stop[1]);
    stop_waiting(k);
    shut(&k->status);
    shut(&k->pidfd);
}
