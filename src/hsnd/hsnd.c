/* SPDX-License-Identifier: BSD-3-Clause
 * hsnd: start and end.
 */
#define _GNU_SOURCE
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/daemon_args.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/notify.h"
#include "base/service.h"
#include "base/sitedir.h"
#include "hsnd/hsnd.h"

static void on_signal(struct ev_loop *loop, ev_signal *s, int events)
{
    struct hsnd *d = s->data;

    (void)loop;
    (void)events;
    if (s->signum != SIGHUP) {
        d->stopping = true;
        return;
    }
    if (d->conf.routes) {
        struct errbuf err;

        if (hsnd_routes_file(d, d->conf.routes, &err) < 0)
            log_warn("SF-E801 routes are refused: %s", err.text);
    }
}

static void watch_signal(struct hsnd *d, ev_signal *s, int signo)
{
    ev_signal_init(s, on_signal, signo);
    s->data = d;
    ev_signal_start(d->loop, s);
}

/* The NIC has something: the next round looks, tick() goes on with a link
 * that is not up. */
static void on_nic(struct ev_loop *loop, ev_io *io, int events)
{
    struct hsnd *d = io->data;

    (void)loop;
    (void)events;
    d->nic->rung(d->nic->self);
    d->nic->tick(d->nic->self, clock_ns());
}

static void on_due(struct ev_loop *loop, ev_timer *t, int events)
{
    (void)loop;
    (void)t;
    (void)events;
}

/* A link that cannot be set up is tried again every few seconds. */
static void say_nic(void *arg, bool bad, const char *text)
{
    struct hsnd *d = arg;
    uint64_t n;

    if (!bad) {
        repeat_over(&d->nic_trouble);
        log_info("%s", text);
        return;
    }
    n = repeat_count(&d->nic_trouble, text);
    if (n == 1)
        log_warn("SF-E802 %s", text);
    else if (n > 1)
        log_warn("SF-E802 %s (%llu times)", text, (unsigned long long)n);
}

static int open_nic(struct hsnd *d, struct errbuf *err)
{
    struct hsn_nic_options o = {
        .kind = d->conf.nic ? d->conf.nic : "none",
        .fabric = d->conf.fabric,
        .name = d->conf.link ? d->conf.link : d->node,
        .interface = d->conf.interface,
        .mac = d->conf.peer_mac,
        .munge = d->conf.munge,
        .board = d->board,
        .trusted = d->conf.trusted,
        .clerk = d->clerk,
        .say = say_nic,
        .arg = d,
    };
    struct passwd *user;

    if (d->conf.service_user) {
        user = getpwnam(d->conf.service_user);
        if (!user)
            return errprintf(err, "ServiceUser: there is no user %s",
                             d->conf.service_user);
        o.service = user->pw_uid;
    } else {
        o.service = service_uid(SERVICE_SWFAB);
    }
    d->nic = hsn_nic_open(&o, err);
    ev_io_init(&d->nic_io, on_nic, -1, EV_READ);
    d->nic_io.data = d;
    return d->nic ? 0 : -1;
}

static int open_engine(struct hsnd *d, struct errbuf *err)
{
    struct hsn_engine_options o = {
        .board = d->board,
        .page_size = (size_t)d->conf.page_size,
        .batch = (unsigned)d->conf.batch,
        .pending_max = 1024,
        .send_slots = 128,
        .halves_max = 1024,
        .fragment_ns = (uint64_t)d->conf.fragment_ms * 1000000,
        .send_ns = (uint64_t)d->conf.send_ms * 1000000,
    };

    if (mac_random(&o.incarnation, sizeof(o.incarnation)) < 0)
        return errprintf(err, "no randomness");
    d->engine = hsn_engine_new(&o, d->nic->ops, d->nic->self);
    if (!d->engine)
        return errprintf(err, "no memory");
    hsn_engine_raw(d->engine, &port_raw_ops, d);
    if (echo_open(d) < 0 || elan_open(d) < 0)
        return errprintf(err, "no memory");
    if (d->conf.routes && hsnd_routes_file(d, d->conf.routes, err) < 0)
        return -1;
    return 0;
}

static int start(struct hsnd *d, struct errbuf *err)
{
    d->loop = ev_default_loop(0);
    d->clerk = clerk_new(d->loop, SF_HSN_ASK_MAX);
    if (!d->clerk)
        return errprintf(err, "no thread to ask munged");
    d->now = clock_ns();
    ev_timer_init(&d->timer, on_due, 0., 0.);
    watch_signal(d, &d->sigterm, SIGTERM);
    watch_signal(d, &d->sigint, SIGINT);
    watch_signal(d, &d->sighup, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0); /* capabilities are in our memory */
    /* Who finds the socket finds all the rest, too: it comes last. */
    if (open_nic(d, err) < 0 || open_engine(d, err) < 0 ||
        control_open(d, err) < 0 || health_open(d, err) < 0 ||
        hsnd_listen(d, err) < 0)
        return -1;
    log_info("board %012llx of node %s, rail %ld, interface %s",
             (unsigned long long)d->board, d->node, d->conf.rail, d->nic->kind);
    return 0;
}

static void stop(struct hsnd *d)
{
    if (d->ctl)
        ctl_server_free(d->ctl);
    hsnd_listen_stop(d);
    while (d->programs)
        program_end(d->programs);
    for (struct port *p = d->ports; p; p = p->next)
        port_end(p);
    hsn_engine_free(d->engine);
    d->dirty = NULL;
    for (struct port *p = d->ports; p; p = p->next)
        p->dirty = p->underway = false;
    port_sweep(d);
    if (clerk_free(d->clerk)) /* else munged hangs: the process just ends */
        sender_free(d->sender);
    hsn_nic_close(d->nic);
}

static void report_error(const char *text, void *arg)
{
    (void)arg;
    log_error("SF-E800 %s", text);
}

/* Where sockets are unless hsn.conf says otherwise. */
static int default_paths(struct hsnd_conf *c)
{
    if (!c->socket &&
        asprintf(&c->socket, "%s%ld", SITEDIR_RUN("hsnd-"), c->rail) < 0)
        return -1;
    if (!c->control &&
        asprintf(&c->control, "%s%ld.ctl", SITEDIR_RUN("hsnd-"), c->rail) < 0)
        return -1;
    return 0;
}

static void open_log(const struct hsnd_conf *c, const struct daemon_args *args)
{
    struct log_options o = {.program = "hsnd",
                            .level = log_level_of(c->log_level, LOG_LEVEL_INFO),
                            .to_syslog = c->syslog || args->syslog};

    if (args->verbose)
        o.level = LOG_LEVEL_DEBUG;
    log_open(&o);
}

/* Everything that can be wrong before anything is opened. */
static int prepare(struct hsnd *d, const struct daemon_args *args)
{
    struct errbuf err;

    hsnd_conf_default(&d->conf);
    d->conf_path = args->conf;
    open_log(&d->conf, args);
    if (hsnd_conf_read(&d->conf, args->conf, args->conf_named, report_error,
                       NULL) < 0 ||
        default_paths(&d->conf) < 0)
        return -1;
    open_log(&d->conf, args);
    if (hsnd_identity(d, &err) == 0)
        return 0;
    log_error("SF-E800 %s", err.text);
    return -1;
}

static int run(struct hsnd *d)
{
    struct errbuf err;
    int rc = 1;

    if (start(d, &err) == 0) {
        notify_manager(NOTIFY_READY);
        hsnd_run(d);
        notify_manager(NOTIFY_STOPPING);
        log_info("ends");
        rc = 0;
    } else {
        log_error("SF-E800 %s", err.text);
    }
    stop(d);
    return rc;
}

int main(int argc, char **argv)
{
    const struct daemon_program program = {
        "hsnd", "Own a NIC of this node and serve endpoints.",
        SITEDIR_CONF("hsn.conf")};
    struct daemon_args args;
    struct hsnd *d;
    int rc;

    if (!daemon_args_read(&args, &program, argc, argv, &rc))
        return rc;
    if (!(d = calloc(1, sizeof(*d)))) {
        log_error("SF-E800 no memory");
        return 1;
    }
    d->listener = d->nic_fd = -1;
    if (prepare(d, &args) < 0)
        rc = DAEMON_EXIT_CONF;
    else if (!args.test)
        rc = run(d);
    if (d->hosts)
        elanhosts_destroy(d->hosts);
    free(d->board_of);
    hsnd_conf_free(&d->conf);
    free(d);
    return rc;
}
