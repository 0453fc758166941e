/* SPDX-License-Identifier: BSD-3-Clause
 *
 * swfabd: start, time, orderly end.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/daemon_args.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/notify.h"
#include "base/sitedir.h"
#include "base/seal.h"
#include "swfabd/swfabd.h"

/* EX_CONFIG of sysexits: starting again does not help. */
#define CREDENTIAL_SECONDS 60
#define TICK 0.2 /* s, between looks at links */

/* ---- credentials by MUNGE ---- */

static int seal(void *arg, char **cred, const void *payload, size_t len,
                uid_t reader, struct errbuf *err)
{
    struct swfabd *d = arg;

    return seal_make(cred, payload, len, reader, CREDENTIAL_SECONDS,
                     d->conf.munge, err);
}

static int open_seal(void *arg, void **payload, size_t *len,
                     struct softlink_origin *origin, const char *cred,
                     struct errbuf *err)
{
    struct swfabd *d = arg;
    struct seal_info info;

    if (seal_open(payload, len, &info, cred, d->conf.munge, err) < 0)
        return -1;
    origin->uid = info.uid;
    origin->replayed = info.replayed;
    origin->expired = info.expired;
    return 0;
}

static int draw(void *arg, void *buf, size_t len)
{
    return mac_random(buf, len);
}

static int find_user(struct swfabd *d, struct errbuf *err)
{
    const char *name = d->conf.user;
    struct passwd *pw = name && name[0] ? getpwnam(name) : NULL;

    if (name && name[0] && !pw)
        return errprintf(err, "User=%s: no such user", name);
    d->peer_uid = pw ? pw->pw_uid : geteuid();
    d->ops = (struct softlink_ops){.seal = seal,
                                   .open = open_seal,
                                   .random = draw,
                                   .arg = d,
                                   .service = d->peer_uid,
                                   .reader = d->peer_uid};
    return 0;
}

/* ---- time ---- */

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    swfabd_wire_tick(w->data);
}

static void plan_fault(struct swfabd *d)
{
    double at;

    if (d->next_fault == d->script.n)
        return;
    at = (double)d->script.faults[d->next_fault].time / 1e9 -
         (double)(clock_ns() - d->started_ns) / 1e9;
    ev_timer_set(&d->fault_timer, at > 0 ? at : 0, 0);
    ev_timer_start(d->loop, &d->fault_timer);
}

static void on_fault(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct swfabd *d = w->data;

    if (!swfab_fault_apply(d->fab, &d->script.faults[d->next_fault++]))
        log_warn("SF-E605 %s: fault %zu has nothing to strike", d->conf.faults,
                 d->next_fault);
    plan_fault(d);
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    ev_break(loop, EVBREAK_ALL);
}

static void start_watchers(struct swfabd *d)
{
    ev_timer_init(&d->tick, on_tick, 0, TICK);
    d->tick.data = d;
    ev_timer_start(d->loop, &d->tick);
    ev_init(&d->fault_timer, on_fault);
    d->fault_timer.data = d;
    plan_fault(d);
    ev_signal_init(&d->sigterm, on_signal, SIGTERM);
    ev_signal_start(d->loop, &d->sigterm);
    ev_signal_init(&d->sigint, on_signal, SIGINT);
    ev_signal_start(d->loop, &d->sigint);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- start and end ---- */

static int start(struct swfabd *d, struct errbuf *err)
{
    d->loop = ev_default_loop(EVFLAG_AUTO);
    if (!d->loop)
        return errprintf(err, "no event loop");
    d->started_ns = clock_ns();
    d->clerk = clerk_new(d->loop, SF_SWFABD_ASK_MAX);
    if (!d->clerk)
        return errprintf(err, "no thread to ask munged");
    start_watchers(d); /* signals before anybody finds a socket */
    swfabd_rings_open(d);
    if (swfabd_wire_open(d, err) < 0 || swfabd_attach_open(d, err) < 0 ||
        swfabd_control_open(d, err) < 0)
        return -1;
    log_info("%u hosts and cables, ready", d->nseats);
    return 0;
}

static void finish(struct swfabd *d)
{
    if (d->loop) {
        ctl_server_free(d->control);
        swfabd_attach_close(d);
        swfabd_wire_close(d);
        if (!clerk_free(d->clerk))
            return; /* munged has not answered: the process just ends */
    }
    swfabd_fabric_close(d);
    swfabd_conf_free(&d->conf);
}

static void report(const char *text, void *arg)
{
    log_error("SF-E600 %s", text);
}

/* Everything that configuration can get wrong. */
static int configure(struct swfabd *d, const char *path)
{
    struct errbuf err;

    swfabd_conf_init(&d->conf);
    if (swfabd_conf_read(&d->conf, path, report, NULL) < 0)
        return -1;
    if (find_user(d, &err) < 0 || swfabd_fabric_open(d, &err) < 0) {
        report(err.text, NULL);
        return -1;
    }
    return 0;
}

static int run(struct swfabd *d, const struct daemon_args *args)
{
    struct errbuf err;
    int rc = EXIT_SUCCESS;

    d->udp.fd = d->ether.fd = d->listen_fd = -1;
    if (configure(d, args->conf) < 0) {
        rc = DAEMON_EXIT_CONF;
    } else if (!args->test) {
        if (start(d, &err) == 0) {
            notify_manager(NOTIFY_READY);
            ev_run(d->loop, 0);
            notify_manager(NOTIFY_STOPPING);
            log_info("ends");
        } else {
            log_error("SF-E601 %s", err.text);
            rc = EXIT_FAILURE;
        }
    }
    finish(d);
    return rc;
}

int main(int argc, char **argv)
{
    const struct daemon_program program = {"swfabd", "The software crossbars.",
                                           SITEDIR_CONF("swfabd.conf")};
    static struct swfabd daemon;
    struct daemon_args args;
    int status;

    if (!daemon_args_read(&args, &program, argc, argv, &status))
        return status;
    log_open(&(struct log_options){
        "swfabd", args.verbose ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, args.syslog});
    return run(&daemon, &args);
}
