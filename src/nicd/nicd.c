/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nicd: looks at this node's NICs each second, and when the kernel says that an
 * interface or a device has changed; reports to switchmgrd, every
 * HealthInterval and when something has changed.  munged, which seals reports,
 * is asked beside the loop: while it hangs, looking goes on.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <ev.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/clock.h"
#include "base/daemon_args.h"
#include "base/host_names.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/notify.h"
#include "base/repeat.h"
#include "base/sitedir.h"
#include "health/pace.h"
#include "health/sender.h"
#include "nicd/nicd.h"
#include "nicd/sysfs.h"
#include "nicd/verbs.h"

#define SOON_SECONDS 0.05 /* what changes together is one look */
#define EXTRA_LOOKS 5     /* out of turn, in a row; then one in a second */
#define SECOND_NS 1000000000ULL

/* Drivers that take their contexts back (disassociate_ucontext): a process that
 * has one does not keep them from being unloaded. */
#define DRIVERS "mlx4_core,mlx5_core,ice"

struct nicd {
    struct nicd_conf conf;
    char node[SF_REPORT_NAME_MAX];
    struct ev_loop *loop;
    ev_timer timer, soon;
    ev_io links;
    ev_signal sigterm, sigint;
    struct sysfs *source;
    struct verbs *verbs; /* NULL: of another Root */
    struct nics *nics;
    struct nic_port ports[SF_NIC_PORTS_MAX];
    struct report_record records[NIC_RECORDS_MAX];
    struct report report;
    struct clerk *clerk;
    struct sender *sender;
    struct pace pace;
    uint64_t extra; /* when all looks out of turn are worked off */
    bool hears_links;
    uint64_t sent; /* reports, when we last looked */
    bool told_untold;
};

static struct repeat trouble;

static void lost(const char *why)
{
    uint64_t n = repeat_count(&trouble, why);

    if (n > 0)
        log_warn("SF-E871 report to switchmgrd: %s (%llu times)", why,
                 (unsigned long long)n);
}

/* ---- looking and telling ------------------------------------------------- */

static void log_records(const struct nicd *d)
{
    for (size_t i = 0; i < d->report.nrecords; i++) {
        const struct report_record *r = &d->records[i];

        log_debug("rail %u: %s: %s%s%s", r->rail, r->nic,
                  r->out ? "left out" : report_seen_name(r->seen),
                  r->why[0] ? ": " : "", r->why);
    }
}

static void tell(struct nicd *d, uint64_t now)
{
    struct sender_stats stats;
    struct errbuf err;

    sender_stats(d->sender, &stats);
    if (stats.sent > d->sent)
        repeat_over(&trouble);
    d->sent = stats.sent;
    d->report.seq++;
    if (sender_put(d->sender, &d->report, &err) < 0)
        lost(err.text);
    pace_done(&d->pace, now);
}

static void look(struct nicd *d)
{
    uint64_t now = clock_ns();
    int64_t ms = (int64_t)(now / 1000000);
    size_t n = sysfs_look(d->source, d->ports), nrdma;
    bool room = nics_look(d->nics, d->ports, n, ms), changed;
    const struct sysfs_rdma *rdma = sysfs_rdma(d->source, &nrdma);

    d->report.nrecords = nics_records(d->nics, d->node, (unsigned)d->conf.rail,
                                      d->records, &changed, ms);
    if ((!room || nics_untold(d->nics)) && !d->told_untold) {
        log_warn("SF-E872 this node has more ports than rails: %u are left "
                 "out",
                 nics_untold(d->nics));
        d->told_untold = true;
    }
    if (changed) {
        d->pace.wanted = true;
        log_records(d);
    }
    if (pace_due(&d->pace) <= now)
        tell(d, now);
    if (rdma && d->verbs)
        verbs_devices(d->verbs, rdma, nrdma);
}

static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    (void)loop;
    (void)events;
    look(t->data);
}

/* ---- the kernel's word that an interface has changed (rtnetlink) ---- */

#define AT_A_TIME 64 /* messages */

/* A socket that can be read when something has changed; what, sysfs tells.  -1
 * with text. */
static int links_open(struct errbuf *err)
{
    struct sockaddr_nl all = {.nl_family = AF_NETLINK,
                              .nl_groups = RTMGRP_LINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&all, sizeof(all)) == 0)
        return fd;
    errprintf(err, "no notices of links from the kernel: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Take what has come, as much as is taken at a time.  That some were lost
 * (ENOBUFS) says no more than that there were some. */
static void links_drain(int fd)
{
    char some[8192];

    for (int i = 0; i < AT_A_TIME; i++)
        if (recv(fd, some, sizeof(some), 0) < 0 && errno != ENOBUFS)
            return;
}

/* ---- out of turn --------------------------------------------------------- */

static void look_after(struct nicd *d, double seconds)
{
    if (ev_is_active(&d->soon))
        return;
    ev_timer_set(&d->soon, seconds, 0.);
    ev_timer_start(d->loop, &d->soon);
}

/* A kernel that says more and more is not listened to for a while. */
static void on_soon(struct ev_loop *loop, ev_timer *t, int events)
{
    struct nicd *d = t->data;
    uint64_t now = clock_ns();

    (void)events;
    if (d->extra > now + (EXTRA_LOOKS - 1) * SECOND_NS) {
        look_after(d, 1.);
        return;
    }
    d->extra = (d->extra > now ? d->extra : now) + SECOND_NS;
    if (d->hears_links)
        ev_io_start(loop, &d->links);
    if (d->verbs)
        verbs_listen(d->verbs);
    look(d);
}

static void on_links(struct ev_loop *loop, ev_io *io, int events)
{
    (void)events;
    links_drain(io->fd);
    ev_io_stop(loop, io);
    look_after(io->data, SOON_SECONDS);
}

static void on_event(const char *device, const char *what, void *arg)
{
    log_debug("%s: %s", device, what);
    look_after(arg, SOON_SECONDS);
}

/* ---- start and end ------------------------------------------------------- */

static void on_signal(struct ev_loop *loop, ev_signal *s, int events)
{
    (void)s;
    (void)events;
    ev_break(loop, EVBREAK_ALL);
}

static void watch_signal(struct nicd *d, ev_signal *s, int signo)
{
    ev_signal_init(s, on_signal, signo);
    ev_signal_start(d->loop, s);
}

static int open_sender(struct nicd *d, struct errbuf *err)
{
    struct sender_options o = {.to = d->conf.health,
                               .munge_socket = d->conf.munge,
                               .reader = (uid_t)-1,
                               .lost = lost};

    if (mac_random(&d->report.instance, sizeof(d->report.instance)) < 0)
        return errprintf(err, "no randomness");
    d->clerk = clerk_new(d->loop, SF_SENDER_QUEUE_MAX);
    if (!d->clerk)
        return errprintf(err, "no thread to ask munged");
    o.clerk = d->clerk;
    d->sender = sender_new(d->loop, &o, err);
    return d->sender ? 0 : -1;
}

static void watch_links(struct nicd *d)
{
    struct errbuf err;
    int fd = links_open(&err);

    if (fd < 0) {
        log_info("%s", err.text);
        return;
    }
    ev_io_init(&d->links, on_links, fd, EV_READ);
    d->links.data = d;
    d->hears_links = true;
    ev_io_start(d->loop, &d->links);
}

/* Of this machine's interfaces and devices; of a tree elsewhere the kernel
 * knows nothing. */
static int listen_to_kernel(struct nicd *d, struct errbuf *err)
{
    struct verbs_options o = {.loop = d->loop,
                              .open = verbs_open_by_program,
                              .event = on_event,
                              .arg = d};

    if (d->conf.root)
        return 0;
    ev_init(&d->soon, on_soon);
    d->soon.data = d;
    watch_links(d);
    signal(SIGCHLD, SIG_IGN); /* nobody waits for nicd-verbs */
    d->verbs = verbs_new(&o);
    return d->verbs ? 0 : errprintf(err, "no memory");
}

static int start(struct nicd *d, struct errbuf *err)
{
    const struct nicd_conf *c = &d->conf;
    struct sysfs_options o = {.root = c->root ? c->root : "/",
                              .watch = c->watch,
                              .ignore = c->ignore,
                              .behind = c->behind,
                              .drivers =
                                  c->verbs_events ? c->verbs_events : DRIVERS};

    d->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    d->nics = nics_new(&c->judge);
    if (!d->loop || !d->nics)
        return errprintf(err, "no event loop or memory");
    d->report.from = REPORT_NICD;
    d->report.records = d->records;
    if (host_names_own(d->node, sizeof(d->node), d->conf.node, err) < 0 ||
        !(d->source = sysfs_open(&o, err)) || open_sender(d, err) < 0 ||
        listen_to_kernel(d, err) < 0)
        return -1;
    memcpy(d->report.node, d->node, sizeof(d->node));
    d->pace = (struct pace){.every = (uint64_t)c->health_interval * SECOND_NS,
                            .least = SECOND_NS / 2};
    ev_timer_init(&d->timer, on_timer, 0., (double)c->look_interval);
    d->timer.data = d;
    ev_timer_start(d->loop, &d->timer);
    watch_signal(d, &d->sigterm, SIGTERM);
    watch_signal(d, &d->sigint, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

static void stop(struct nicd *d)
{
    if (clerk_free(d->clerk)) /* else munged hangs: the process just ends */
        sender_free(d->sender);
    sysfs_close(d->source);
    nics_free(d->nics);
    verbs_free(d->verbs);
    if (d->loop)
        ev_loop_destroy(d->loop);
}

static int run(struct nicd *d)
{
    struct errbuf err;
    int rc = 1;

    if (start(d, &err) == 0) {
        log_info("looks at the NICs of node %s, reports to %s", d->node,
                 d->conf.health);
        notify_manager(NOTIFY_READY);
        ev_run(d->loop, 0);
        notify_manager(NOTIFY_STOPPING);
        rc = 0;
    } else {
        log_error("SF-E870 %s", err.text);
    }
    stop(d);
    return rc;
}

static void open_log(const struct nicd_conf *c, const struct daemon_args *args)
{
    struct log_options o = {.program = "nicd",
                            .level = log_level_of(c->log_level, LOG_LEVEL_INFO),
                            .to_syslog = c->syslog || args->syslog};

    if (args->verbose)
        o.level = LOG_LEVEL_DEBUG;
    log_open(&o);
}

static void report_error(const char *text, void *arg)
{
    (void)arg;
    log_error("SF-E870 %s", text);
}

int main(int argc, char **argv)
{
    const struct daemon_program program = {
        "nicd", "Report the health of this node's NICs.",
        SITEDIR_CONF("nicd.conf")};
    struct daemon_args args;
    struct nicd *d;
    int rc = 0;

    if (!daemon_args_read(&args, &program, argc, argv, &rc))
        return rc;
    if (!(d = calloc(1, sizeof(*d)))) {
        log_error("SF-E870 no memory");
        return 1;
    }
    open_log(&d->conf, &args);
    if (nicd_conf_read(&d->conf, args.conf, args.conf_named, report_error,
                       NULL) < 0) {
        free(d);
        return DAEMON_EXIT_CONF;
    }
    open_log(&d->conf, &args);
    if (!args.test)
        rc = run(d);
    nicd_conf_free(&d->conf);
    free(d);
    return rc;
}
