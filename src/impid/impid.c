/* SPDX-License-Identifier: BSD-3-Clause
 * Start, event loop and orderly end.  Descriptors given by the plugin:
 * 3 configuration, 4 the listening unix socket of the step directory, 5 a
 * socket whose other end is slurmstepd's, 6 where its tasks register.
 */
#define _GNU_SOURCE
#include "impid/impid.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/daemon_args.h"
#include "base/log.h"
#include "impi/presence.h"
#include "impid/impid_addr.h"
#include "impid/impid_status.h"

#define CONF_FD 3
#define LISTEN_FD 4
#define RELISTEN 0.2 /* s, when there are no descriptors left */
#define PATIENCE 5.0 /* s, when we leave: for a new link, or for the tree */
#define DOUBT 0.5    /* s, in which another cause of the end may show */

static void on_listen(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid *a = ev_userdata(loop);
    int fd = accept4(LISTEN_FD, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        impid_proc_accept(a, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        /* It stays readable: do not spin. */
        ev_io_stop(loop, io);
        ev_timer_set(&a->relisten, RELISTEN, 0);
        ev_timer_start(loop, &a->relisten);
    }
}

static void on_relisten(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    ev_io_start(loop, &a->listen);
}

static void leave(struct impid *a)
{
    impid_tree_goodbye(a);
    a->stopping = true;
    impid_link_stop(&a->link);
    ev_break(a->loop, EVBREAK_ALL);
}

/* What is pending (ends of processes above all) is handled before.  A link
 * that is just being made is waited for: without a goodbye the server would
 * take us for lost. */
static void on_stop(struct ev_loop *loop, ev_idle *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    ev_idle_stop(loop, w);
    if (a->nasked > 0)
        return; /* impid_maybe_leave() follows the last answer */
    if (a->doubted)
        return; /* it follows when that is told */
    if (a->told && impid_task_any_running(a))
        return; /* a signal for the tasks: impid_maybe_leave() follows */
    if (impid_link_pending(&a->link) && !a->leaving) {
        a->leaving = true;
        ev_timer_start(loop, &a->patience);
        return;
    }
    if (impid_tree_holds_back(a)) {
        a->leaving = true; /* on_stop() follows */
        ev_timer_start(loop, &a->patience);
    } else if (!impid_link_pending(&a->link))
        leave(a);
}

static void on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    if (!impid_tree_give_up(a)) {
        leave(a);
        return;
    }
    ev_timer_set(w, PATIENCE, 0.);
    ev_timer_start(loop, w);
}

void impid_link_settled(struct impid *a)
{
    if (a->leaving)
        ev_idle_start(a->loop, &a->stop);
}

/* From job_fini when the tasks are over; but a signal that Slurm sends to the
 * step's container comes here, too, and its tasks may go on after it. */
static void on_sigterm(struct ev_loop *loop, ev_signal *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    a->told = true;
    ev_idle_start(loop, &a->stop);
}

/* slurmstepd is gone: as usual after the last task, or killed.  When we were
 * kept from our turn, the tasks' ends are news, too, and may come after this.
 */
static void stepd_gone(struct impid *a)
{
    ev_io_stop(a->loop, &a->alive);
    a->orphan = true;
    impid_task_records(a);
    impid_task_look(a);
    if (impid_task_any_running(a)) {
        impid_fail(a, 316, 1, NULL, IMPI_LOST_NODE, a->node_name);
        impid_task_kill_all(a);
    }
    ev_idle_start(a->loop, &a->stop);
}

static void on_alive(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid *a = ev_userdata(loop);
    struct impi_status_reply r;
    int rc = impid_status_take(&r);

    if (rc < 0)
        stepd_gone(a);
    if (rc <= 0)
        return;
    impid_proc_status(a, r.pid, r.status);
    impid_family_status(a, r.pid, r.status);
}

void impid_maybe_leave(struct impid *a)
{
    if (a->orphan || (a->conf.watch && a->nended == a->ntasks) ||
        (a->told && !impid_task_any_running(a)))
        ev_idle_start(a->loop, &a->stop);
}

/* Where there is none, the server is told. */
static void choose_address(struct impid *a)
{
    struct errbuf why;

    if (impid_addr_choose(a->host_addr, &a->conf, &why) < 0)
        impid_fail(a, 317, 1, NULL, "node %s: %s", a->node_name, why.text);
}

static int start(struct impid *a, struct errbuf *err)
{
    a->loop = ev_loop_new(EVFLAG_AUTO);
    if (!a->loop)
        return errprintf(err, "no event loop");
    ev_set_userdata(a->loop, a);
    LIST_INIT(&a->procs);
    SLIST_INIT(&a->rounds);
    LIST_INIT(&a->link.waits);
    impid_conf_node_name(&a->conf, a->conf.node, a->node_name,
                         sizeof(a->node_name));
    if (impid_task_start(a, err) < 0)
        return -1;
    ev_signal_init(&a->sigterm, on_sigterm, SIGTERM);
    ev_signal_start(a->loop, &a->sigterm);
    ev_idle_init(&a->stop, on_stop);
    ev_set_priority(&a->stop, EV_MINPRI);
    ev_timer_init(&a->patience, on_patience, PATIENCE, 0);
    ev_timer_init(&a->relisten, on_relisten, RELISTEN, 0);
    ev_io_init(&a->listen, on_listen, LISTEN_FD, EV_READ);
    ev_io_start(a->loop, &a->listen);
    ev_io_init(&a->alive, on_alive, IMPID_STATUS_FD, EV_READ);
    if (fcntl(IMPID_STATUS_FD, F_GETFD) >= 0)
        ev_io_start(a->loop, &a->alive);
    impid_link_start(&a->link, a);
    choose_address(a);
    impid_bypass_start(a);
    return 0;
}

static void finish(struct impid *a)
{
    struct impid_proc *p;

    a->failed = true;
    ev_timer_stop(a->loop, &a->doubt);
    free(a->doubted);
    while ((p = LIST_FIRST(&a->procs)))
        impid_proc_free(p);
    impid_rounds_free(a);
    impid_tree_stop(a);
    log_debug("goodbye is said");
    if (a->pmix)
        a->pmix->stop();
    log_debug("leaving");
    for (uint32_t i = 0; i < a->ntasks; i++)
        if (a->tasks[i].pidfd >= 0)
            close(a->tasks[i].pidfd);
    free(a->tasks);
    if (a->topology)
        unlink(a->topology);
    free(a->topology);
    impid_conf_free(&a->conf);
    if (!clerk_free(a->clerk))
        _exit(0); /* it is with munged: the process ends without it */
    ev_loop_destroy(a->loop);
}

/* Everything that is sent to the step is for its tasks. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGPIPE, SIGALRM,   SIGTSTP, SIGTTIN, SIGTTOU,
                                  SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
    for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
        signal(sig, SIG_IGN);
}

/* To the file that the user asked for (as the user), else to syslog.  Returns
 * 0, or errno. */
static int open_log(const struct impid_conf *conf, struct log_options *log)
{
    char path[4096], node[SF_AGENT_NODE_MAX];
    int fd = -1, error = 0;

    if (conf->log && conf->log[0]) {
        impid_conf_node_name(conf, conf->node, node, sizeof(node));
        snprintf(path, sizeof(path), "%s/impid.%s.%s", conf->log, conf->step,
                 node);
        fd = open(path,
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
                      O_NONBLOCK,
                  0600);
        error = fd < 0 ? errno : 0;
    }
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    log->to_syslog = fd < 0;
    if (fd >= 0 || conf->site.debug)
        log->level = LOG_LEVEL_DEBUG;
    log_open(log);
    return error;
}

/* One agent for all: they are many. */
static void tell_no_log(struct impid *a, int error)
{
    struct agent_msg msg = {.type = AGENT_NOTE};

    if (a->conf.node != 0)
        return;
    snprintf(msg.text, sizeof(msg.text),
             "SF-E305: no log of impid on node %s: SLURM_IMPI_LOG=%.200s: %s",
             a->node_name, a->conf.log, strerror(error));
    impid_link_send(&a->link, &msg);
}

static const struct daemon_program program = {
    .name = "impid",
    .what = "impid is started by slurmstepd for a step with mpi/impi."};

int main(int argc, char **argv)
{
    static struct impid agent;
    struct log_options log = {
        .program = "impid", .level = LOG_LEVEL_INFO, .to_syslog = true};
    struct errbuf err = {""};
    int error;

    if (daemon_args_asked(&program, argc, argv))
        return 0;
    if (argc > 1) {
        fprintf(stderr, "%s\n", program.what);
        return 2;
    }
    ignore_signals();
#ifndef __SANITIZE_ADDRESS__
    prctl(PR_SET_DUMPABLE, 0); /* the secret is in memory */
#endif
    log_open(&log);
    if (impid_conf_read(&agent.conf, CONF_FD, &err) < 0) {
        log_error("configuration: %s", err.text);
        return 2;
    }
    close(CONF_FD);
    error = open_log(&agent.conf, &log);
    if (start(&agent, &err) < 0) {
        log_error("%s", err.text);
        return 1;
    }
    if (error)
        tell_no_log(&agent, error);
    ev_run(agent.loop, 0);
    finish(&agent);
    return 0;
}

/* ---- what goes wrong --------------------------------------------------- */

/* The first cause is told to impi-server, which has every agent kill. */

static void describe(char *text, size_t size, int id,
                     const struct impid_proc *p)
{
    int n = snprintf(text, size, "SF-E%d: ", id);

    if (p && p->task)
        snprintf(text + n, size - (size_t)n, "rank %u on node %s (%s) ",
                 p->task->rank, p->impid->node_name,
                 task_family_name(p->family));
}

static void describe_abort(struct agent_abort *abort, int id, int32_t code,
                           const struct impid *a, const struct impid_proc *p,
                           const char *fmt, va_list ap)
{
    size_t len;

    abort->code = code;
    abort->rank = p && p->task ? (int32_t)p->task->rank : -1;
    abort->client = p && p->client ? (int32_t)p->client->number : -1;
    abort->lost = a->orphan;
    describe(abort->text, sizeof(abort->text), id, p);
    len = strlen(abort->text);
    vsnprintf(abort->text + len, sizeof(abort->text) - len, fmt, ap);
}

static void tell_abort(struct impid *a, const struct agent_msg *msg)
{
    if (a->failed)
        return;
    a->failed = true;
    log_warn("%s", msg->abort.text);
    impid_link_send(&a->link, msg);
    if (a->link.state == LINK_DOWN)
        impid_killed(a, msg->abort.text);
}

void impid_fail(struct impid *a, int id, int32_t code,
                const struct impid_proc *p, const char *fmt, ...)
{
    struct agent_msg msg = {.type = AGENT_ABORT};
    va_list ap;

    va_start(ap, fmt);
    describe_abort(&msg.abort, id, code, a, p, fmt, ap);
    va_end(ap);
    tell_abort(a, &msg);
}

static void on_doubt(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    tell_abort(a, a->doubted);
    free(a->doubted);
    a->doubted = NULL;
    impid_maybe_leave(a);
}

void impid_fail_unless(struct impid *a, int id, int32_t code,
                       struct impid_proc *p, const char *fmt, ...)
{
    struct agent_msg *msg;
    va_list ap;

    if (p)
        p->aborted = true;
    if (a->failed || a->doubted)
        return;
    msg = calloc(1, sizeof(*msg));
    if (!msg) {
        impid_fail(a, id, code, p, "ended the job");
        return;
    }
    msg->type = AGENT_ABORT;
    va_start(ap, fmt);
    describe_abort(&msg->abort, id, code, a, p, fmt, ap);
    va_end(ap);
    a->doubted = msg;
    ev_timer_init(&a->doubt, on_doubt, DOUBT, 0);
    ev_timer_start(a->loop, &a->doubt);
}

void impid_refuse_waiting(struct impid *a, const char *text)
{
    struct impid_proc *p;

    LIST_FOREACH(p, &a->procs, link)
    if (p->task && !p->client)
        impid_proc_error(p, text);
}

void impid_killed(struct impid *a, const char *text)
{
    a->failed = true;
    log_debug("killing: %s", text);
    impid_refuse_waiting(a, text);
    impid_task_kill_all(a);
    impid_link_settled(a);
}
