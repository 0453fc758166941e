/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Becoming a daemon, its pid file, and the event loop: packets of hsnd's raw
 * port and time into the engine, its packets out.  When hsnd ends, the mapper
 * waits for it to come again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/notify.h"
#include "mapperd/mapperd.h"
#include "net/packet.h"

/* ---- pidfile ----------------------------------------------------------- */

/* Becoming a daemon, and the pid file: where --daemon-pid-file says, else
 * pid.UNIT in PidDir. */

static int choose_path(struct mapperd *d)
{
    const struct settings *s = &d->settings;

    if (s->pid_file) {
        d->pid_path = strdup(s->pid_file);
        return d->pid_path ? 0 : -1;
    }
    mkdir(s->pid_dir, 0755);
    return asprintf(&d->pid_path, "%s/pid.%ld", s->pid_dir, s->unit) < 0 ? -1
                                                                         : 0;
}

/* A new file takes the old one's place: a stale one is no obstacle. */
static int write_pid(const char *path, struct errbuf *err)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    return file_replace(path, text, (size_t)len, 0644, 0, err);
}

static int mapperd_pid_file(struct mapperd *d, struct errbuf *err)
{
    /* stderr stays: --verbose-file, or where the starter put it. */
    if (d->settings.pid_file && daemon(1, 1) < 0)
        return errprintf(err, "cannot become a daemon: %s", strerror(errno));
    if (choose_path(d) < 0)
        return errprintf(err, "no memory");
    if (write_pid(d->pid_path, err) == 0)
        return 0;
    if (d->settings.pid_file)
        return -1;
    log_debug("no pid file: %s", err->text);
    free(d->pid_path);
    d->pid_path = NULL;
    return 0;
}

static void mapperd_pid_remove(struct mapperd *d)
{
    if (d->pid_path)
        unlink(d->pid_path);
    free(d->pid_path);
    d->pid_path = NULL;
}

#define REOPEN_SECONDS 1.0
#define LINK_LOOK_SECONDS 0.05
/* Packets taken before timers get their turn. */
#define BATCH 256
#define BATCHES 16 /* as many packets as there can be probes in the air */

/* The timer stands at the engine's next deadline. */
static void set_timer(struct mapperd *d)
{
    uint64_t now = clock_ns(), t = d->engine->deadline(d);

    if (t == UINT64_MAX) {
        ev_timer_stop(d->loop, &d->timer);
        return;
    }
    ev_now_update(d->loop);
    d->timer.repeat = t > now ? (double)(t - now) / 1e9 : 1e-6;
    ev_timer_again(d->loop, &d->timer);
}

/* ---- hsnd ---------------------------------------------------------------- */

static void close_hsnd(struct mapperd *d)
{
    if (ev_is_active(&d->raw_io))
        ev_io_stop(d->loop, &d->raw_io);
    hsn_close(d->raw);
    hsn_close(d->board);
    d->raw = d->board = NULL;
}

/* 0, or -1 with text and errno. */
static int open_hsnd(struct mapperd *d, struct errbuf *err)
{
    const char *path = d->settings.hsnd;
    struct hsn_board_info info;
    int e;

    d->raw = hsn_raw_open(path, HSN_TYPE_MAPPER);
    if (!d->raw) {
        e = errno;
        errprintf(err, "no board %ld: hsnd at %s: %s%s", d->settings.unit, path,
                  strerror(e),
                  e == EBUSY ? " (another mapper has the board)" : "");
        errno = e;
        return -1;
    }
    d->board = hsn_open(path);
    if (!d->board || hsn_board(d->board, &info) < 0) {
        e = errno;
        errprintf(err, "hsnd at %s: %s", path, strerror(e));
        close_hsnd(d);
        errno = e;
        return -1;
    }
    if (settings_hops(&d->settings, info.simulated, err) < 0) {
        d->misled = true;
        close_hsnd(d);
        errno = EINVAL;
        return -1;
    }
    if (d->address != 0 && d->address != info.address)
        log_warn("SF-E851 the board is another one now");
    d->address = info.address;
    memcpy(d->node, info.node, sizeof(d->node));
    return 0;
}

/* Packets go to the engine from now on. */
static void hear_hsnd(struct mapperd *d)
{
    ev_io_set(&d->raw_io, hsn_fd(d->raw), EV_READ);
    ev_io_start(d->loop, &d->raw_io);
    /* The descriptor wakes us only after we have found the ring empty: look
     * once. */
    ev_feed_event(d->loop, &d->raw_io, EV_READ);
}

static void lost_hsnd(struct mapperd *d)
{
    log_warn("SF-E851 hsnd is gone; waiting for it");
    d->loaded = false;
    close_hsnd(d);
    mapperd_report_now(d);
    ev_timer_again(d->loop, &d->reopen);
}

/* Nor go on, with another board.  A wrong setting stays wrong: systemd is not
 * to start us again (2). */
static void cannot_start(struct mapperd *d, const struct errbuf *err)
{
    log_error("SF-E850 %s", err->text);
    d->exit_code = d->misled ? 2 : 1;
    ev_break(d->loop, EVBREAK_ALL);
}

static void on_reopen(struct ev_loop *loop, ev_timer *t, int events)
{
    struct mapperd *d = t->data;
    struct errbuf err;

    if (open_hsnd(d, &err) < 0) {
        if (d->misled)
            cannot_start(d, &err);
        return;
    }
    ev_timer_stop(loop, t);
    hear_hsnd(d);
    log_info("hsnd is there again");
    mapperd_load_again(d);
}

static void on_reload(struct ev_loop *loop, ev_timer *t, int events)
{
    ev_timer_stop(loop, t);
    mapperd_load_again(t->data);
}

/* ---- packets ------------------------------------------------------------- */

void mapperd_send(struct mapperd *d, const uint8_t *route, size_t nroute,
                  const void *body, size_t len)
{
    const uint8_t *b = body;
    const struct hsn_raw packet = {
        .route = route,
        .route_len = nroute,
        .subtype = (uint16_t)(b[2] << 8 | b[3]),
        .payload = b + NET_TYPE_SIZE,
        .len = len - NET_TYPE_SIZE,
    };

    log_debug("packet 0x%04x of %zu bytes sent over %zu hops", packet.subtype,
              packet.len, nroute);
    if (!d->raw || hsn_raw_send(d->raw, &packet) < 0)
        d->send_full++;
}

static void print_text(struct mapperd *d, const struct hsn_raw *p)
{
    char text[256];
    size_t n = p->len < sizeof(text) - 1 ? p->len : sizeof(text) - 1;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = ((const unsigned char *)p->payload)[i];

        text[i] = c >= ' ' && c < 127 ? (char)c : '?';
    }
    text[n] = '\0';
    log_paced(&d->prints, clock_ns(), log_info, "network printf: %s", text);
}

static void take(struct mapperd *d, const struct hsn_raw *p)
{
    uint8_t body[NET_TYPE_SIZE + HSN_MTU];

    if (p->len > HSN_MTU)
        return;
    log_debug("packet 0x%04x of %zu bytes received", p->subtype, p->len);
    if (p->subtype == MAPPERD_PRINTF) {
        if (d->settings.printeur)
            print_text(d, p);
        return;
    }
    net_type_put(body, p->type, p->subtype);
    memcpy(body + NET_TYPE_SIZE, p->payload, p->len);
    d->engine->input(d, clock_ns(), body, NET_TYPE_SIZE + p->len);
}

/* False: that is all there was. */
static bool take_some(struct mapperd *d)
{
    struct hsn_raw packet;
    int n = 0;

    while (d->raw && hsn_raw_recv(d->raw, &packet) == 0) {
        take(d, &packet);
        if (++n == BATCH)
            return true;
    }
    if (d->raw && errno != EAGAIN)
        lost_hsnd(d);
    return false;
}

static void on_raw(struct ev_loop *loop, ev_io *io, int events)
{
    struct mapperd *d = io->data;

    if (take_some(d))
        ev_feed_fd_event(loop, io->fd, EV_READ);
    set_timer(d);
}

/* An answer that is there is in time, however late we are: where others use the
 * processors it may have been there for long when we run again. */
static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    struct mapperd *d = t->data;

    for (int i = 0; i < BATCHES && take_some(d); i++)
        ;
    d->engine->tick(d, clock_ns());
    set_timer(d);
}

/* ---- start and end ------------------------------------------------------- */

void mapperd_notice(struct mapperd *d, const char *text)
{
    log_paced(&d->told, clock_ns(), log_info, "%s", text);
    snprintf(d->last_notice, sizeof(d->last_notice), "%s", text);
    d->nnotices++;
}

void mapperd_end(struct mapperd *d, const char *text)
{
    if (text) {
        log_error("SF-E852 %s", text);
        d->exit_code = 1;
    }
    ev_break(d->loop, EVBREAK_ALL);
}

static void on_signal(struct ev_loop *loop, ev_signal *s, int events)
{
    struct mapperd *d = s->data;

    d->stopping = true;
    ev_break(loop, EVBREAK_ALL);
}

static void watch_signal(struct mapperd *d, ev_signal *s, int signo)
{
    ev_signal_init(s, on_signal, signo);
    s->data = d;
    ev_signal_start(d->loop, s);
}

static void choose_engine(struct mapperd *d)
{
    const char *protocol = d->settings.protocol;

    d->engine = &engine_gm2;
    if (protocol && strcmp(protocol, "gm1") == 0)
        d->engine = &engine_gm1;
    if (d->settings.respond_only)
        d->engine = &engine_host;
}

static void init_watchers(struct mapperd *d)
{
    ev_timer_init(&d->timer, on_timer, 0., 0.);
    ev_timer_init(&d->reopen, on_reopen, 0., REOPEN_SECONDS);
    ev_timer_init(&d->reload, on_reload, 0., 0.1);
    ev_io_init(&d->raw_io, on_raw, -1, EV_READ);
    d->timer.data = d->reopen.data = d->reload.data = d->raw_io.data = d;
    watch_signal(d, &d->sigterm, SIGTERM);
    watch_signal(d, &d->sigint, SIGINT);
    signal(SIGPIPE, SIG_IGN);
}

static void tell_ready(struct mapperd *d)
{
    if (!d->ready)
        notify_manager(NOTIFY_READY);
    d->ready = true;
}

static void on_patience(struct ev_loop *loop, ev_timer *t, int events)
{
}

static void wait_a_while(struct mapperd *d, double seconds)
{
    ev_timer patience;

    ev_timer_init(&patience, on_patience, seconds, 0.);
    ev_timer_start(d->loop, &patience);
    ev_run(d->loop, EVRUN_ONCE);
    ev_timer_stop(d->loop, &patience);
}

/* The first time hsnd may not be there yet: it comes, unless somebody waits
 * for our exit status. */
static int await_hsnd(struct mapperd *d, struct errbuf *err)
{
    bool told = false;

    while (open_hsnd(d, err) < 0) {
        if ((errno != ENOENT && errno != ECONNREFUSED) || d->settings.map_once)
            return -1;
        if (!told)
            log_warn("SF-E850 %s; waiting for it", err->text);
        told = true;
        tell_ready(d);
        wait_a_while(d, REOPEN_SECONDS);
        if (d->stopping)
            return 0;
    }
    return 0;
}

/* hsnd that has just started sets its link up.  A mapper that begins before
 * that maps its own host alone, and takes that for the fabric.  A link that
 * does not come is no reason not to begin: it is what is to be found. */
static void await_link(struct mapperd *d)
{
    uint64_t end = clock_ns() + (uint64_t)d->settings.link_wait * 1000000;
    struct hsn_board_info info;
    bool told = false;

    while (!d->stopping && hsn_board(d->board, &info) == 0 && !info.link) {
        if (clock_ns() >= end) {
            log_warn("SF-E851 hsnd has no link; beginning without");
            return;
        }
        if (!told)
            log_info("hsnd has no link yet; waiting for it");
        told = true;
        tell_ready(d);
        wait_a_while(d, LINK_LOOK_SECONDS);
    }
}

static void on_wrong_names(const char *text, void *arg)
{
    log_warn("SF-E859 no names from this file: %s", text);
}

static int start(struct mapperd *d, struct errbuf *err)
{
    choose_engine(d);
    d->names = names_new(d->settings.elanhosts, d->settings.cabling,
                         on_wrong_names, d);
    if (!d->names)
        return errprintf(err, "no memory");
    d->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!d->loop)
        return errprintf(err, "no event loop or no randomness");
    init_watchers(d);
    if (await_hsnd(d, err) < 0)
        return -1;
    await_link(d);
    if (d->stopping)
        return 0;
    if (mapperd_control(d, err) < 0 || mapperd_reports(d, err) < 0 ||
        d->engine->start(d, err) < 0)
        return -1;
    hear_hsnd(d);
    log_info("board %012" PRIx64 " of node %s: %s", d->address, d->node,
             d->engine->name);
    set_timer(d);
    return 0;
}

static void stop(struct mapperd *d)
{
    d->engine->stop(d);
    ctl_server_free(d->ctl);
    close_hsnd(d);
    mapperd_pid_remove(d);
    free(d->peers);
    names_free(d->names);
    if (!map_sender_close(&d->reports))
        return; /* munged has not answered: the process just ends */
    if (d->loop)
        ev_loop_destroy(d->loop);
}

int mapperd_run(struct mapperd *d)
{
    struct errbuf err = {""};

    choose_engine(d);
    if (mapperd_pid_file(d, &err) == 0 && start(d, &err) == 0) {
        tell_ready(d);
        if (!d->stopping)
            ev_run(d->loop, 0);
        notify_manager(NOTIFY_STOPPING);
    } else {
        cannot_start(d, &err);
    }
    stop(d);
    return d->exit_code;
}
