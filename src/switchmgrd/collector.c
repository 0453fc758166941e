/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/file.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/service.h"
#include "base/sitedir.h"
#include "switchmgrd/linksrc.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/jobs.h"
#include "switchmgrd/topology.h"

#define PATIENCE_MS                                                            \
    5000             /* how long reports wait for slurmctld's first word       \
                      */
#define SAVE_MS 2000 /* between two writes of the state file */
#define WRITES_MAX 4 /* that wait for the disk */
#define READS_MAX 8  /* days and years of links that are asked for */
#define TICK 0.5     /* seconds between looks at the time */
#define SOON 0.02    /* changes that come together are judged together */
#define GATHER 0.005 /* thousands of reporters: wake up for many at once */

static const char *resolve(uint64_t board, uint8_t *rail, void *arg)
{
    struct collector *n = arg;
    uint32_t r;
    const struct elan_host *h =
        n->hosts ? elanhosts_find_board(n->hosts, board, &r) : NULL;

    if (!h)
        return NULL;
    *rail = (uint8_t)r;
    return h->name;
}

static void report_line(const char *text, void *arg)
{
    log_error("SF-E700: %s", text);
}

/* The identity table; without a file boards have no names.  -1: it is there
 * and cannot be used. */
static int read_hosts(const struct mgrconf *conf, struct elanhosts **hosts,
                      struct errbuf *err)
{
    struct sitedir sitedir;
    const char *path =
        conf->elanhosts ? conf->elanhosts : sitedir_conf(&sitedir, "elanhosts");
    size_t len;
    char *text = file_read(path, SF_ELAN_HOSTS_SIZE_MAX, 0, &len, err);

    *hosts = NULL;
    if (!text)
        return errno == ENOENT ? 0 : -1;
    *hosts = elanhosts_parse(path, text, len, report_line, NULL);
    free(text);
    return *hosts ? 0 : errprintf(err, "%s: it has errors", path);
}

static void take_hosts(struct collector *n, struct elanhosts *hosts)
{
    if (!hosts) /* the file is gone: the names that are known stay */
        return;
    if (n->hosts)
        elanhosts_destroy(n->hosts);
    n->hosts = hosts;
}

/* Intervals of a configuration that was read again; 0 stops a timer. */
static void set_timer(struct collector *n, ev_timer *t, long seconds)
{
    if (t->repeat == (double)seconds)
        return;
    t->repeat = (double)seconds;
    ev_timer_again(n->loop, t);
}

/* For topology.conf, or for the page. */
static bool needs_map(const struct collector *n)
{
    return n->page || (n->conf.topology_conf && *n->conf.topology_conf);
}

static void set_timers(struct collector *n)
{
    set_timer(n, &n->table_timer, n->conf.table_interval);
    set_timer(n, &n->state_timer, n->conf.state_interval);
    set_timer(n, &n->topology_timer,
              needs_map(n) ? n->conf.topology_interval : 0);
    set_timer(n, &n->link_timer, n->links ? n->conf.link_interval : 0);
}

int collector_reload(struct collector *n, struct errbuf *err)
{
    struct elanhosts *hosts;
    struct mgrconf fresh;
    struct model_conf mc;

    if (mgrconf_read(&fresh, n->conf_path, true, report_line, NULL) < 0)
        return errprintf(err, "%s is wrong; all stays as it was", n->conf_path);
    if (collector_check(&fresh, n->conf_path, err) < 0 ||
        read_hosts(&fresh, &hosts, err) < 0) {
        mgrconf_free(&fresh);
        return -1;
    }
    mgrconf_free(&n->conf);
    n->conf = fresh;
    mgrconf_model(&n->conf, &mc);
    model_set_conf(n->model, &mc);
    mgrconf_policy(&n->conf, &n->policy);
    take_hosts(n, hosts);
    set_timers(n);
    n->reloaded = true;
    collector_nodes_send(n);
    return collector_nodes_configure(n, err);
}

/* With thousands of nodes this takes longer than the next tick is away: it
 * rests, so that reports are heard besides, and time goes on meanwhile. */
static void look_at_the_time(struct collector *n)
{
    int64_t began = steady_now();

    model_listens(n->model, began);
    if (!throttle_may(&n->ticked, began))
        return;
    model_tick(n->model, began);
    collector_nodes_judge(n);
    throttle_done(&n->ticked, began, steady_now());
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
    struct collector *n = w->data;

    look_at_the_time(n);
    collector_events_tell(n, steady_now());
    collector_history_tick(n, steady_now());
    if (steady_now() - n->started >= PATIENCE_MS)
        collector_reports_start(n);
    /* Who is killed must not come back with yesterday's faults. */
    if (n->unsaved && steady_now() - n->saved >= SAVE_MS &&
        throttle_wait(&n->written, steady_now(), 0) == 0)
        collector_state_save(n);
}

/* What follows from a change (hosts, from the links of their crossbar) does not
 * wait for the next tick.  The table is written at once, so that no step is
 * built meanwhile.  Only what has changed is looked at, but the table has all
 * that is unwell: if many changes follow each other they wait for the throttle.
 */
static void on_soon(struct ev_loop *loop, ev_timer *w, int events)
{
    struct collector *n = w->data;
    int64_t began = steady_now(), rest = throttle_wait(&n->judged, began, 0);

    w->repeat = rest > 0 ? (double)rest / 1e3 : SOON;
    if (rest > 0) {
        ev_timer_again(loop, w);
        return;
    }
    n->unsaved = true;
    model_follow(n->model, began);
    ev_timer_stop(loop, w);
    collector_nodes_follow(n);
    collector_nodes_table(n);
    collector_events_tell(n, steady_now());
    throttle_done(&n->judged, began, steady_now());
}

static void on_table(struct ev_loop *loop, ev_timer *w, int events)
{
    collector_nodes_table(w->data);
}

/* Answers with lists of thousands of nodes leave much memory free. */
static void on_state(struct ev_loop *loop, ev_timer *w, int events)
{
    collector_state_save(w->data);
    malloc_trim(0);
}

static void on_topology(struct ev_loop *loop, ev_timer *w, int events)
{
    collector_topology_look(w->data);
}

static void on_links(struct ev_loop *loop, ev_timer *w, int events)
{
    struct collector *n = w->data;
    struct report r;
    struct errbuf err = {"no memory"};

    if (linksrc_report(n->links, &r, &err) < 0) {
        collector_events_alarm(err.text, steady_now(), n);
        return;
    }
    snprintf(r.node, sizeof(r.node), "switchmgrd");
    r.seq = ++n->link_seq;
    r.instance = (uint64_t)n->started;
    if (model_input(n->model, &r, steady_now(), &err) < 0)
        collector_events_alarm(err.text, steady_now(), n);
    report_free(&r);
}

static void on_end(struct ev_loop *loop, ev_signal *w, int events)
{
    ev_break(loop, EVBREAK_ALL);
}

static void on_hup(struct ev_loop *loop, ev_signal *w, int events)
{
    struct collector *n = w->data;
    struct errbuf err = {""};

    if (collector_reload(n, &err) < 0)
        log_error("SF-E700: %s", err.text);
    else
        log_info("switchmgr.conf read again");
}

static void start_timer(struct collector *n, ev_timer *t,
                        void (*call)(struct ev_loop *, ev_timer *, int),
                        double first, double interval)
{
    ev_timer_init(t, call, first, interval);
    t->data = n;
    if (interval > 0)
        ev_timer_start(n->loop, t);
}

static void start_signal(struct collector *n, ev_signal *s, int number,
                         void (*call)(struct ev_loop *, ev_signal *, int))
{
    ev_signal_init(s, call, number);
    s->data = n;
    ev_signal_start(n->loop, s);
}

static void start(struct collector *n)
{
    ev_init(&n->soon, on_soon);
    n->soon.data = n;
    n->soon.repeat = SOON;
    start_timer(n, &n->tick, on_tick, TICK, TICK);
    start_timer(n, &n->table_timer, on_table, 0.1,
                (double)n->conf.table_interval);
    start_timer(n, &n->state_timer, on_state, (double)n->conf.state_interval,
                (double)n->conf.state_interval);
    start_timer(n, &n->topology_timer, on_topology, 2.0,
                needs_map(n) ? (double)n->conf.topology_interval : 0.);
    start_timer(n, &n->link_timer, on_links, 0.01,
                n->links ? (double)n->conf.link_interval : 0.);
    start_signal(n, &n->sigterm, SIGTERM, on_end);
    start_signal(n, &n->sigint, SIGINT, on_end);
    start_signal(n, &n->sighup, SIGHUP, on_hup);
    collector_nodes_judge(n); /* what was read from the state file */
    collector_nodes_start(n);
}

static int find_service_user(struct collector *n, struct errbuf *err)
{
    const char *name =
        n->conf.service_user ? n->conf.service_user : n->conf.user;
    struct passwd *pw;

    n->service_uid = 0;
    n->mapper_uid = service_uid(SERVICE_MAPPER);
    if (!name || !*name)
        return 0;
    pw = getpwnam(name);
    if (!pw) {
        errno = EINVAL;
        return errprintf(err, "there is no user %s", name);
    }
    n->service_uid = pw->pw_uid;
    return 0;
}

/* All that a root's hand may be needed for. */
static int open_all(struct collector *n, struct errbuf *err)
{
    struct ctl_options o = {
        .path = n->conf.control_socket ? n->conf.control_socket
                                       : SITEDIR_RUN("switchmgrd.sock"),
        .group = n->conf.control_group,
        .verbs = collector_verbs,
        .nverbs = collector_nverbs,
        .arg = n,
    };

    if (find_service_user(n, err) < 0 || collector_reports_open(n, err) < 0)
        return -1;
    n->ctl = ctl_server_new(n->loop, &o, err);
    if (!n->ctl)
        return -1;
    if (n->conf.link_status &&
        !(n->links = linksrc_open(n->conf.link_status, err)))
        return -1;
    if (n->conf.metrics_listen && *n->conf.metrics_listen &&
        !(n->metrics = metrics_open(n, err)))
        return -1;
    return 0;
}

/* From here on this process is nobody in particular. */
static int become_user(const struct collector *n, struct errbuf *err)
{
    const char *name = n->conf.user;
    struct passwd *pw;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (geteuid() != 0 || !name || !*name)
        return 0;
    pw = getpwnam(name);
    if (!pw)
        return errprintf(err, "User: there is no user %s", name);
    if (setgroups(0, NULL) < 0 || setgid(pw->pw_gid) < 0 ||
        setuid(pw->pw_uid) < 0)
        return errprintf(err, "User: %s: %m", name);
    return 0;
}

/* Of model_ops. */
static void item_changed(const struct health_item *item, enum health_state was,
                         int64_t now, void *arg)
{
    struct collector *n = arg;

    if (!ev_is_active(&n->soon))
        ev_timer_again(n->loop, &n->soon);
    if (item->kind == REPORT_HOST)
        collector_nodes_changed(n, item);
    collector_history_changed(n, item, was);
    collector_events_changed(n, item, was, now);
}

static int make(struct collector *n, struct errbuf *err)
{
    struct model_ops ops = {.resolve = resolve,
                            .changed = item_changed,
                            .stirs = collector_nodes_stir,
                            .alarm = collector_events_alarm,
                            .arg = n};
    struct model_conf mc;

    n->loop = ev_loop_new(EVFLAG_AUTO);
    if (n->loop)
        ev_set_io_collect_interval(n->loop, GATHER);
    n->events = calloc(SF_SWITCHMGR_EVENTS_MAX, sizeof(*n->events));
    mgrconf_model(&n->conf, &mc);
    mgrconf_policy(&n->conf, &n->policy);
    n->model = model_new(&mc, &ops);
    n->jobs = jobs_new();
    n->started = steady_now();
    if (!n->loop || !n->events || !n->model || !n->jobs)
        return errprintf(err, "out of memory");
    if (read_hosts(&n->conf, &n->hosts, err) < 0 ||
        collector_nodes_configure(n, err) < 0 || open_all(n, err) < 0)
        return -1;
    if (become_user(n, err) < 0)
        return -1;
    n->clerk = clerk_new(n->loop, SF_SWITCHMGR_CONNS_MAX);
    n->writer = clerk_new(n->loop, WRITES_MAX);
    n->reader = clerk_new(n->loop, READS_MAX);
    if (!n->clerk || !n->writer || !n->reader)
        return errprintf(err, "no thread: %m");
    return 0;
}

/* Nothing else is to be done now, so this waits for the disk; one that stands
 * still already is not waited for a second time. */
static void save_the_last(struct collector *n)
{
    if (clerk_free(n->reader))
        n->reader = NULL;
    if (!clerk_free(n->writer))
        return;
    n->writer = NULL;
    collector_state_save(n);
    collector_history_close(n);
}

int collector_run(struct mgrconf *conf, const char *conf_path, int updater_fd)
{
    struct collector *n = calloc(1, sizeof(*n));
    struct errbuf err = {"out of memory"};

    if (!n)
        return 1;
    collector_nodes_init(n);
    n->conf = *conf;
    n->conf_path = conf_path;
    n->updater_fd = updater_fd;
    if (make(n, &err) < 0) {
        log_error("SF-E700: %s", err.text);
        return 2;
    }
    collector_state_load(n);
    /* Health goes on without. */
    if (collector_history_open(n, &err) < 0)
        log_error("SF-E708 no history is kept: %s", err.text);
    start(n);
    log_info("ready");
    notify_manager(NOTIFY_READY);
    ev_run(n->loop, 0);
    notify_manager(NOTIFY_STOPPING);
    collector_events_tell(n, steady_now());
    save_the_last(n);
    metrics_close(n->metrics);
    ctl_server_free(n->ctl);
    linksrc_close(n->links);
    jobs_free(n->jobs);
    clerk_free(n->clerk);
    return n->exit_code; /* the rest goes with the process */
}
