/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See run_ib.h.  A sweep asks each port of the map how it is; it explores the
 * fabric anew only when the answers do not fit the map.  That is done in a
 * thread of its own (base/clerk.h), so that reports and signals do not wait
 * for what does not answer; the loop and the thread never use the same things
 * at once.
 */
#define _GNU_SOURCE
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "mapperd/run_ib.h"

#include "base/log.h"
#include "base/log_pace.h"

#ifdef HAVE_UMAD

#include <errno.h>
#include <ev.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/clerk.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/host_names.h"
#include "base/notify.h"
#include "base/sitedir.h"
#include "mapperd/ib_sweep.h"
#include "mapperd/ib_watch.h"
#include "mapperd/map_sender.h"
#include "mapperd/names.h"
#include "mapperd/netfile.h"
#include "mapperd/prober_ib.h"

#define EXPLORE_NS 60000000000ULL /* the same doubt, again */

/* A port of an adapter, as it describes itself. */
struct host {
    uint64_t guid;
    uint8_t port;
    char node[SF_REPORT_NAME_MAX], device[SF_REPORT_NAME_MAX];
    UT_hash_handle hh;
};

struct ib_daemon {
    struct clerk_job sweep; /* first */
    const struct settings *settings;
    char node[SF_REPORT_NAME_MAX];
    struct ev_loop *loop;
    ev_timer timer;
    ev_signal sigterm, sigint;
    struct clerk *sweeper;
    struct map_sender reports;
    struct names *names;
    struct log_pace hurts;
    struct ib_watch *watch;
    uint64_t told;         /* version that switchmgrd has; 0: none */
    uint64_t version_base; /* versions of another life are others */

    /* The sweep's. */
    struct ib_port io;
    struct host *hosts;
    struct net *map; /* named; NULL: none */
    struct ib_sweep asked;
    uint64_t doubt, explored; /* what did not fit; when */
    bool fresh;               /* the map is new since the loop looked */
    bool blind;               /* our own port has no link */
    unsigned lost;            /* ports behind which something is unknown */
    uint64_t explorations, mads, took;
    struct errbuf why; /* "": the sweep is good */
};

/* ---- in the thread ------------------------------------------------------- */

static void keep_host(uint64_t guid, const char *node, const char *device,
                      unsigned port, void *arg)
{
    struct ib_daemon *d = arg;
    struct host *h;

    HASH_FIND(hh, d->hosts, &guid, sizeof(guid), h);
    if (!h) {
        if (!(h = calloc(1, sizeof(*h))))
            return;
        h->guid = guid;
        HASH_ADD(hh, d->hosts, guid, sizeof(h->guid), h);
    }
    h->port = (uint8_t)port;
    snprintf(h->node, sizeof(h->node), "%.63s", node);
    snprintf(h->device, sizeof(h->device), "%.63s", device);
}

static void count_lost(const char *text, void *arg)
{
    struct ib_daemon *d = arg;

    d->lost++;
    log_debug("not reached: %s", text);
}

static const struct host *host_at(const struct ib_daemon *d, uint32_t node)
{
    struct host *h;
    uint64_t guid = d->map->nodes[node].id;

    HASH_FIND(hh, d->hosts, &guid, sizeof(guid), h);
    return h;
}

static uint8_t port_of(uint32_t node, void *arg)
{
    const struct host *h = host_at(arg, node);

    return h ? h->port : 1;
}

static int explore(struct ib_daemon *d)
{
    struct prober_ib_stats s;
    struct prober_ib ib = {.io = &d->io,
                           .window = (unsigned)d->settings->ib_window,
                           .missing = count_lost,
                           .host = keep_host,
                           .arg = d};
    struct net *map;

    d->lost = 0;
    map = prober_ib_map(&ib, &s, &d->why);
    if (!map)
        return -1;
    d->mads += s.mads;
    d->explorations++;
    d->explored = clock_ns();
    net_free(d->map);
    d->map = names_give(d->names, map);
    net_free(map);
    /* The explorer's own host is the first. */
    if (!d->map || ib_sweep_map(&d->asked, d->map, 0, port_of, d) < 0)
        return errprintf(&d->why, "no memory");
    d->map->first_port = 1;
    d->fresh = true;
    return 0;
}

static bool has_cable(const struct ib_daemon *d, const struct ib_ask *a)
{
    unsigned port = net_is_host(d->map, a->node) ? 0 : a->port - 1u;

    return net_peer_node(d->map, a->node, port) != NET_NONE;
}

/* What of the answers the map does not have, as a number: 0, all fits. */
static uint64_t doubts(const struct ib_daemon *d)
{
    uint64_t h = 14695981039346656037ULL;
    bool any = false;

    for (size_t i = 0; i < d->asked.ports.n; i++) {
        const struct ib_ask *a = &d->asked.ports.asks[i];
        bool link = a->answered && a->info.physical == SMP_LINK_UP;

        if (a->answered && (a->port == 0 || link == has_cable(d, a)))
            continue;
        any = true;
        h = (h ^ d->map->nodes[a->node].id) * 1099511628211ULL;
        h = (h ^ a->port ^ (link ? 512u : 256u)) * 1099511628211ULL;
    }
    return any ? h : 0;
}

/* Our own cable is gone: then nobody else's can be judged. */
static bool is_blind(const struct ib_daemon *d)
{
    for (size_t i = 0; i < d->asked.ports.n; i++) {
        const struct ib_ask *a = &d->asked.ports.asks[i];

        if (a->node == d->asked.ports.me)
            return !a->answered || a->info.physical != SMP_LINK_UP;
    }
    return true;
}

static void sweep_work(struct clerk_job *job)
{
    struct ib_daemon *d = (struct ib_daemon *)job;
    uint64_t since = clock_ns(), doubt;

    d->why.text[0] = '\0';
    d->fresh = false;
    if (!d->map && explore(d) < 0)
        return;
    if (ib_sweep_ports(&d->asked) < 0)
        goto no_memory;
    doubt = doubts(d);
    if (doubt && (doubt != d->doubt || since - d->explored > EXPLORE_NS)) {
        if (explore(d) < 0)
            return;
        if (ib_sweep_ports(&d->asked) < 0)
            goto no_memory;
        doubt = doubts(d);
    }
    d->doubt = doubt;
    d->blind = is_blind(d);
    if (!d->blind && (ib_sweep_counters(&d->asked) < 0 ||
                      ib_sweep_routes(&d->asked, clock_ns()) < 0))
        goto no_memory;
    d->took = clock_ns() - since;
    return;
no_memory:
    errprintf(&d->why, "no memory");
}

/* ---- in the loop: what is known ------------------------------------------ */

static void end_of(const struct ib_daemon *d, uint32_t node, unsigned port,
                   struct ib_end *e)
{
    const struct net_node *n = &d->map->nodes[node];
    const struct host *h = net_is_host(d->map, node) ? host_at(d, node) : NULL;
    const char *name = n->name;

    *e = (struct ib_end){.guid = n->id,
                         .host = net_is_host(d->map, node),
                         .port = (uint8_t)(h ? h->port : port + 1)};
    if (e->host) {
        name = names_of_host(d->names, n->id);
        if (!name)
            name = h ? h->node : n->name;
    }
    report_name(e->name, name);
}

/* A node's ports in the order of their devices, when they are seen first;
 * later each keeps its rail. */
static bool choose_rail(struct ib_daemon *d, struct ib_end *e)
{
    int rail = names_rail_of(d->names, e->guid);

    if (rail < 0)
        rail = ib_watch_rail(d->watch, e->guid, e->port);
    if (rail < 0)
        rail = ib_watch_free_rail(d->watch, e->name, (int)d->settings->unit);
    if (rail < 0 || rail >= SF_ELAN_RAILS_MAX)
        return false;
    e->rail = (uint8_t)rail;
    return true;
}

static int by_device(const void *va, const void *vb)
{
    const struct host *a = *(struct host *const *)va,
                      *b = *(struct host *const *)vb;
    int c = strcmp(a->node, b->node);

    if (c == 0)
        c = strverscmp(a->device, b->device);
    return c ? c : a->port - b->port;
}

static void keep_cable(struct ib_daemon *d, uint32_t node, unsigned port)
{
    struct ib_end a, b;
    uint32_t peer = net_peer_node(d->map, node, port);

    if (peer == NET_NONE)
        return;
    end_of(d, node, port, &a);
    end_of(d, peer, net_peer_port(d->map, node, port), &b);
    if ((a.host && !choose_rail(d, &a)) || (b.host && !choose_rail(d, &b)))
        log_warn("SF-E855 %s has more ports than rails: one is left out",
                 a.host ? a.name : b.name);
    else if (!ib_watch_cable(d->watch, &a, &b))
        log_warn("SF-E855 a cable is left out: no memory");
}

static void keep_cables(struct ib_daemon *d)
{
    unsigned n = HASH_COUNT(d->hosts), i = 0;
    struct host **sorted = calloc(n + 1u, sizeof(*sorted)), *h, *next;

    HASH_ITER(hh, d->hosts, h, next)
    if (sorted)
        sorted[i++] = h;
    if (sorted)
        qsort(sorted, i, sizeof(struct host *), by_device);
    for (unsigned k = 0; k < i; k++) {
        uint32_t node = net_find_host(d->map, sorted[k]->guid);

        if (node != NET_NONE)
            keep_cable(d, node, 0);
    }
    free(sorted);
    for (uint32_t node = 0; node < d->map->nnodes; node++)
        for (unsigned p = 0;
             !net_is_host(d->map, node) && p < d->map->nodes[node].nports;
             p++) {
            uint32_t peer = net_peer_node(d->map, node, p);

            if (peer != NET_NONE && peer >= node && !net_is_host(d->map, peer))
                keep_cable(d, node, p);
        }
}

static void take_answers(struct ib_daemon *d)
{
    ib_watch_begin(d->watch);
    for (size_t i = 0; i < d->asked.ports.n; i++) {
        const struct ib_ask *a = &d->asked.ports.asks[i];

        if (a->answered)
            ib_watch_port(d->watch, d->map->nodes[a->node].id, a->port,
                          &a->info);
    }
    for (size_t i = 0; i < d->asked.counters.n; i++) {
        const struct ib_ask *a = &d->asked.counters.asks[i];

        if (a->answered)
            ib_watch_counters(d->watch, d->map->nodes[a->node].id, a->port,
                              &a->counters, (int64_t)(clock_ns() / 1000000));
    }
    ib_watch_end(d->watch);
    /* After that: a subnet manager may have led them round what has broken. */
    for (size_t i = 0; i < d->asked.routes.n; i++) {
        const struct ib_ask *a = &d->asked.routes.asks[i];

        if (a->answered)
            ib_watch_routes(d->watch, d->map->nodes[a->node].id, a->of,
                            a->routes);
    }
}

static void tell_hurt(const char *link, const char *names, unsigned n,
                      void *arg)
{
    struct ib_daemon *d = arg;

    log_paced(&d->hurts, clock_ns(), log_info,
              "link %s is not well: routes to %u nodes: %s", link, n, names);
}

/* ---- reports ------------------------------------------------------------- */

static void report_now(struct ib_daemon *d, bool sees)
{
    struct report report = {.from = REPORT_MAPPERD};
    struct report_record *records = NULL;
    uint64_t version = 0;
    size_t n = 0;

    if (!map_sender_is_open(&d->reports))
        return;
    memcpy(report.node, d->node, sizeof(report.node));
    report.map.present = true;
    report.map.rail = (uint8_t)d->settings->unit;
    report.map.leader = report.map.configured = sees;
    report.map.verify_us = (uint32_t)(d->took / 1000);
    memcpy(report.map.leader_node, d->node, sizeof(d->node));
    if (map_sender_lost_any(&d->reports))
        d->told = 0;
    if (sees)
        records = ib_watch_records(d->watch, &n, &version);
    for (size_t i = 0; i < n; i++)
        if (records[i].kind != REPORT_HOST) /* a port knows its own */
            records[i].rail = report.map.rail;
    report.map.version = d->version_base + version;
    if (records && version != d->told)
        map_sender_put_parts(&d->reports, &report, records, n);
    else
        map_sender_put(&d->reports, &report);
    d->told = records ? version : 0;
    free(records);
}

/* ---- a sweep ------------------------------------------------------------- */

static void tell_sweep(struct ib_daemon *d)
{
    static bool told;

    if (d->why.text[0]) {
        if (!told)
            log_warn("SF-E851 the fabric cannot be looked at: %s", d->why.text);
        told = true;
        return;
    }
    if (told || d->fresh)
        log_info("%u hosts, %u switches, %u cables: %" PRIu64
                 " questions so far, %" PRIu64 " explorations, last sweep "
                 "%.3f s",
                 d->map->nhosts, d->map->nxbars, d->map->ncables,
                 d->mads + d->asked.mads, d->explorations,
                 (double)d->took / 1e9);
    else
        log_debug("sweep: %zu ports, %zu with counters, %" PRIu64
                  " questions, %.3f s",
                  d->asked.ports.n, d->asked.counters.n, d->asked.swept,
                  (double)d->took / 1e9);
    told = false;
    if (d->fresh && d->settings->map_file) {
        struct errbuf err;

        if (netfile_write(d->settings->map_file, d->map, &err) < 0)
            log_warn("SF-E854 cannot write the map: %s", err.text);
    }
}

static void sweep_done(struct clerk_job *job, bool cancelled)
{
    struct ib_daemon *d = (struct ib_daemon *)job;
    bool sees;

    if (cancelled)
        return;
    sees = !d->why.text[0] && !d->blind;
    tell_sweep(d);
    if (sees && d->fresh)
        keep_cables(d);
    if (sees)
        take_answers(d);
    report_now(d, sees);
    ev_timer_again(d->loop, &d->timer);
}

static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    struct ib_daemon *d = t->data;

    (void)events;
    ev_timer_stop(loop, t);
    if (clerk_give(d->sweeper, &d->sweep) < 0)
        ev_timer_again(loop, t);
}

static void on_signal(struct ev_loop *loop, ev_signal *s, int events)
{
    (void)s;
    (void)events;
    ev_break(loop, EVBREAK_ALL);
}

static void on_wrong_names(const char *text, void *arg)
{
    (void)arg;
    log_warn("SF-E859 no names from this file: %s", text);
}

static void watch_signal(struct ib_daemon *d, ev_signal *s, int signo)
{
    ev_signal_init(s, on_signal, signo);
    ev_signal_start(d->loop, s);
}

/* Rules of the site over our own; the file need not be there. */
static int read_rules(struct ib_daemon *d, struct errbuf *err)
{
    const char *path =
        d->settings->rules ? d->settings->rules : SITEDIR_CONF("ports.rules");
    struct ib_rules rules;
    size_t len;
    char *text = file_read(path, SF_PORT_RULES_MAX, 0, &len, err);
    int rc;

    if (!text)
        return errno == ENOENT && !d->settings->rules ? 0 : -1;
    ib_rules_default(&rules);
    rc = ib_rules_parse(&rules, path, text, len, err);
    if (rc == 0)
        ib_watch_rules(d->watch, &rules);
    free(text);
    return rc;
}

static int start(struct ib_daemon *d, struct errbuf *err)
{
    const struct settings *s = d->settings;

    d->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    d->watch = ib_watch_new();
    d->names = names_new(s->elanhosts, s->cabling, on_wrong_names, d);
    if (!d->loop || !d->watch || !d->names)
        return errprintf(err, "no event loop or memory");
    if (s->unit >= SF_ELAN_RAILS_MAX)
        return errprintf(err, "Unit: there are %d rails, from 0",
                         SF_ELAN_RAILS_MAX);
    d->version_base = clock_ns() >> 20 & 0xffffffff;
    d->sweeper = clerk_new(d->loop, 1);
    if (!d->sweeper)
        return errprintf(err, "no thread to sweep");
    if (host_names_own(d->node, sizeof(d->node), s->node, err) < 0 ||
        read_rules(d, err) < 0 ||
        ib_port_open(&d->io, s->ca, (int)s->ca_port, err) < 0 ||
        map_sender_open(&d->reports, d->loop, s, err) < 0)
        return -1;
    d->asked.io = &d->io;
    d->asked.window = (unsigned)s->ib_window;
    d->asked.clear_full = s->clear_full;
    ib_watch_on_hurt(d->watch, tell_hurt, d);
    d->sweep.work = sweep_work;
    d->sweep.done = sweep_done;
    ev_timer_init(&d->timer, on_timer, 0., (double)s->sweep);
    d->timer.data = d;
    ev_timer_start(d->loop, &d->timer);
    watch_signal(d, &d->sigterm, SIGTERM);
    watch_signal(d, &d->sigint, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

/* The process ends with it: libibumad's port is closed by that (ib_port.h),
 * and so is all that the thread may still use. */
int run_ib(struct settings *settings)
{
    struct ib_daemon *d = calloc(1, sizeof(*d));
    struct errbuf err = {"no memory"};

    if (!d || (d->settings = settings, start(d, &err) < 0)) {
        log_error("SF-E850 %s", err.text);
        return 1;
    }
    log_info("InfiniBand port %d of node %s, a sweep every %ld s", d->io.number,
             d->node, settings->sweep);
    notify_manager(NOTIFY_READY);
    ev_run(d->loop, 0);
    notify_manager(NOTIFY_STOPPING);
    fflush(NULL);
    _exit(0);
}

#else

int run_ib(struct settings *settings)
{
    (void)settings;
    log_error("SF-E850 built without libibumad: no InfiniBand");
    return 2;
}

#endif
