/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prometheus text and the web page over HTTP, on a local address.  A scrape
 * reads what is in memory and asks nobody; nothing is changed by HTTP.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonx.h"
#include "base/log.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/collector_history.h"
#include "switchmgrd/page.h"
#include "switchmgrd/page_host.h"

#if MHD_VERSION < 0x00097002
#define MHD_Result int
#else
#define MHD_Result enum MHD_Result
#endif

struct metrics {
    struct collector *collector;
    struct MHD_Daemon *daemon;
    char own[SF_PAGE_HOST_MAX]; /* this machine's name */
    bool host_told;
    unsigned suspended; /* requests that wait for the disk */
    ev_io io;
    ev_timer timer; /* its timeouts */
};

/* The head of a family of series. */
static void head(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f,
            "# HELP slurm_fabric_%s %s\n"
            "# TYPE slurm_fabric_%s %s\n",
            name, help, name, type);
}

static void put_one(FILE *f, const char *name, const char *type,
                    const char *help, double value)
{
    head(f, name, type, help);
    fprintf(f, "slurm_fabric_%s %.15g\n", name, value);
}

static void put_states(FILE *f, const struct collector *n, const char *name,
                       enum report_kind kind, const char *help)
{
    head(f, name, "gauge", help);
    for (int s = 0; s < HEALTH_STATES; s++)
        fprintf(f, "slurm_fabric_%s{state=\"%s\"} %zu\n", name,
                health_state_name((enum health_state)s),
                model_count(n->model, kind, (enum health_state)s));
}

/* Only those that are not healthy: a series for each of thousands of healthy
 * ones says nothing. */
static void put_hosts(FILE *f, const struct collector *n)
{
    const struct health_item *i;

    head(f, "host_state", "gauge", "Hosts that are not healthy.");
    for (i = model_next(n->model, REPORT_HOST, NULL); i;
         i = model_next(n->model, REPORT_HOST, i)) {
        if (i->state != HEALTH_HEALTHY)
            fprintf(f,
                    "slurm_fabric_host_state{node=\"%s\",rail=\"%u\","
                    "state=\"%s\"} 1\n",
                    i->name, i->rail, health_state_name(i->state));
    }
}

static double version_of(const struct health_map *m)
{
    return (double)m->version;
}

static double configured(const struct health_map *m)
{
    return m->configured;
}

static double age_of(const struct health_map *m)
{
    return (double)(steady_now() - m->at) / 1000.0;
}

static double verify_seconds(const struct health_map *m)
{
    return (double)m->verify_us / 1e6;
}

/* One series for each rail that has a map. */
static void put_by_map(FILE *f, const struct collector *n, const char *name,
                       const char *help,
                       double (*value)(const struct health_map *m))
{
    head(f, name, "gauge", help);
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        const struct health_map *m = model_map_of(n->model, rail);

        if (m->known)
            fprintf(f, "slurm_fabric_%s{rail=\"%u\"} %.15g\n", name, rail,
                    value(m));
    }
}

static void put_late(FILE *f, const struct collector *n)
{
    head(f, "mapper_late", "gauge",
         "Mappers of this host that did not say their map in time.");
    for (unsigned rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        if (n->mappers_late >> rail & 1)
            fprintf(f, "slurm_fabric_mapper_late{rail=\"%u\"} 1\n", rail);
    }
}

static void put_maps(FILE *f, const struct collector *n)
{
    if (!model_map(n->model)->known)
        return;
    put_by_map(f, n, "map_version", "Version of the leader's map.", version_of);
    put_by_map(f, n, "map_configured",
               "Whether all hosts have their routes of it.", configured);
    put_by_map(f, n, "map_report_age_seconds",
               "Since the leading mapper was heard.", age_of);
    put_by_map(f, n, "map_verify_seconds",
               "How long the last verification took.", verify_seconds);
}

static void put_reports(FILE *f, const struct collector *n)
{
    const struct {
        const char *result;
        uint64_t value;
    } rows[] = {{"accepted", n->count.accepted},
                {"refused_munge", n->count.refused_munge},
                {"refused_uid", n->count.refused_uid},
                {"refused_host", n->count.refused_host},
                {"refused_key", n->count.refused_key},
                {"refused_content", n->count.refused_model},
                {"malformed", n->count.malformed}};

    head(f, "reports_total", "counter", "Reports by what became of them.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        fprintf(f, "slurm_fabric_reports_total{result=\"%s\"} %llu\n",
                rows[i].result, (unsigned long long)rows[i].value);
    put_one(f, "credentials_total", "counter",
            "Credentials of reports that munged was asked for.",
            (double)n->count.credentials);
    put_one(f, "items_judged_total", "counter",
            "Hosts, links and crossbars looked at.",
            (double)model_judged(n->model));
    put_one(f, "connections_turned_away_total", "counter",
            "Connections closed: too many bad reports, or no room for "
            "another reporter.",
            (double)n->count.turned_away);
}

static void put_updater(FILE *f, const struct collector *n)
{
    const struct rec_status *u = &n->updater;

    put_one(f, "slurmctld_reachable", "gauge",
            "Whether slurmctld answered last time.", u->reachable);
    put_one(f, "drained_nodes", "gauge", "Nodes that are drained by us.",
            u->own_drains);
    put_one(f, "waiting_nodes", "gauge", "Nodes whose update is not done yet.",
            u->waiting);
    put_one(f, "slurm_updates_total", "counter",
            "RPCs to slurmctld that changed something.", (double)u->updates);
    put_one(f, "slurm_failures_total", "counter",
            "RPCs to slurmctld that failed.", (double)u->failures);
    put_one(f, "drains_total", "counter", "Drains.", (double)u->drains);
    put_one(f, "resumes_total", "counter", "Own drains that were undone.",
            (double)u->resumes);
    put_one(f, "drains_capped_total", "counter",
            "Drains that the caps held back.", (double)u->capped);
    put_one(f, "topology_looks_total", "counter",
            "Comparisons of Slurm's topology file with the map's.",
            (double)u->topology_looks);
    put_one(f, "topology_installs_total", "counter",
            "Times that Slurm's topology file was replaced.",
            (double)u->topology_installs);
}

/* A family of NIC counters: the values of one name, all in one group. */
struct family {
    const char *name;
    const struct health_counter *in; /* list that `at` is of */
    size_t at[SF_ELAN_RAILS_MAX], n;
};

/* Where the name stands in a reporter's list; most have the same list. */
static void look_up(struct family *y, const struct health_reporter *r)
{
    if (y->in == r->counters)
        return;
    y->in = r->counters;
    y->n = 0;
    for (size_t i = 0; i < r->ncounters && y->n < SF_ELAN_RAILS_MAX; i++) {
        if (strcmp(r->counters[i].name, y->name) == 0)
            y->at[y->n++] = i;
    }
}

static void put_family(FILE *f, const struct collector *n, const char *name)
{
    struct family y = {.name = name};
    char full[SF_REPORT_COUNTER_NAME_MAX + 16];
    const struct health_reporter *r;

    snprintf(full, sizeof(full), "nic_%s_total", name);
    head(f, full, "counter", "As the host's NIC counts it.");
    for (r = model_next_reporter(n->model, NULL); r;
         r = model_next_reporter(n->model, r)) {
        look_up(&y, r);
        for (size_t i = 0; i < y.n; i++)
            fprintf(f,
                    "slurm_fabric_nic_%s_total{node=\"%s\",rail=\"%u\"} "
                    "%llu\n",
                    name, r->node, r->counters[y.at[i]].rail,
                    (unsigned long long)r->values[y.at[i]]);
    }
}

/* Names that have been put. */
struct names {
    const char **at;
    size_t n, room;
};

static bool is_new(struct names *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->at[i], name) == 0)
            return false;
    }
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        const char **grown = realloc(s->at, room * sizeof(*grown));

        if (!grown)
            return false;
        s->at = grown;
        s->room = room;
    }
    s->at[s->n++] = name;
    return true;
}

static void put_counters(FILE *f, const struct collector *n)
{
    const struct health_counter *last = NULL;
    const struct health_reporter *r;
    struct names done = {NULL, 0, 0};

    for (r = model_next_reporter(n->model, NULL); r;
         r = model_next_reporter(n->model, r)) {
        if (r->counters == last)
            continue;
        last = r->counters;
        for (size_t i = 0; i < r->ncounters; i++) {
            if (is_new(&done, r->counters[i].name))
                put_family(f, n, r->counters[i].name);
        }
    }
    free(done.at);
}

static char *write_all(const struct collector *n, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    if (!f)
        return NULL;
    put_states(f, n, "hosts", REPORT_HOST, "Hosts (NICs of nodes) by state.");
    put_states(f, n, "links", REPORT_LINK, "Links between crossbars by state.");
    put_states(f, n, "xbars", REPORT_XBAR, "Crossbars by state.");
    put_hosts(f, n);
    put_late(f, n);
    put_maps(f, n);
    put_reports(f, n);
    put_updater(f, n);
    put_counters(f, n);
    fclose(f);
    return text;
}

static MHD_Result answer(struct MHD_Connection *c, unsigned status,
                         const char *type, char *text, size_t len)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    MHD_Result rc;

    if (!r) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return rc;
}

#define MISDIRECTED 421

/* Nothing but the page's own files is loaded, run or asked by it. */
#define POLICY                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; "                \
    "connect-src 'self'; img-src data:; base-uri 'none'; "                     \
    "form-action 'none'; frame-ancestors 'none'"

static MHD_Result answer_page(struct MHD_Connection *c, unsigned status,
                              const struct page_answer *a)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->len, (void *)a->text, MHD_RESPMEM_MUST_COPY);
    MHD_Result rc;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", a->type);
    MHD_add_response_header(r, "Content-Security-Policy", POLICY);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return rc;
}

static void run(struct metrics *m)
{
    MHD_UNSIGNED_LONG_LONG ms;

    MHD_run(m->daemon);
    ev_timer_stop(m->collector->loop, &m->timer);
    if (MHD_get_timeout(m->daemon, &ms) != MHD_YES)
        return;
    ev_timer_set(&m->timer, (double)ms / 1000.0 + 0.001, 0.);
    ev_timer_start(m->collector->loop, &m->timer);
}

/* ---- what waits for the disk ------------------------------------------------
 *
 * Its connection is suspended until the answer is there: the loop goes on.
 */

struct asked {
    struct metrics *metrics;
    struct MHD_Connection *c;
    unsigned status;
    bool suspended;
    char *text;
    size_t len;
};

static MHD_Result answer_asked(struct MHD_Connection *c, const struct asked *a)
{
    struct page_answer page = {"application/json", a->text ? a->text : "{}",
                               a->text ? a->len : 2};

    return answer_page(c, a->status, &page);
}

static void give_history(struct json_object *day, void *arg)
{
    struct asked *a = arg;
    struct metrics *m = a->metrics;
    size_t len = 0;
    const char *text = day ? jsonx_text(day, &len) : NULL;

    a->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    if (text && (a->text = malloc(len + 1))) {
        memcpy(a->text, text, len + 1);
        a->len = len;
        a->status = MHD_HTTP_OK;
    }
    if (!a->suspended)
        return;
    a->suspended = false;
    m->suspended--;
    MHD_resume_connection(a->c);
    run(m);
}

/* {} where there is none, as for all that is asked for by a name. */
static MHD_Result ask_history(struct metrics *m, struct MHD_Connection *c,
                              const char *link, enum history_by by,
                              void **state)
{
    struct asked *a = calloc(1, sizeof(*a));

    if (!a)
        return MHD_NO;
    *state = a; /* freed by on_end() */
    a->metrics = m;
    a->c = c;
    if (collector_history_ask(m->collector, link, by, give_history, a) < 0) {
        a->status =
            errno == ENOENT ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    } else if (!a->status) {
        a->suspended = true;
        m->suspended++;
        MHD_suspend_connection(c);
        return MHD_YES;
    }
    return answer_asked(c, a);
}

static void on_end(void *arg, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode why)
{
    struct asked *a = *state;

    if (a)
        free(a->text);
    free(a);
    *state = NULL;
}

/* A name that is not ours leads here only when somebody has made it do so. */
static bool for_us(struct metrics *m, struct MHD_Connection *c)
{
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

    if (page_host_ok(host, m->own, m->collector->conf.metrics_hosts))
        return true;
    if (!m->host_told)
        log_warn("SF-E709 a request for another host was refused; if it is a "
                 "name of this one, put it into MetricsHosts");
    m->host_told = true;
    return false;
}

static MHD_Result on_request(void *arg, struct MHD_Connection *c,
                             const char *url, const char *method,
                             const char *version, const char *data,
                             size_t *size, void **state)
{
    struct metrics *m = arg;
    const char *path = m->collector->conf.metrics_path
                           ? m->collector->conf.metrics_path
                           : "/metrics";
    struct page_answer page;
    enum history_by by;
    const char *link;
    size_t len = 0;
    char *text;

    if (*state)
        return answer_asked(c, *state);
    if (strcmp(method, "GET") != 0 || *size)
        return MHD_NO;
    if (!for_us(m, c))
        return answer(c, MISDIRECTED, "text/plain",
                      strdup("not a name of this host: MetricsHosts= has "
                             "those that are\n"),
                      58);
    if (strcmp(url, path) != 0 && page_is_history(url, &link, &by))
        return ask_history(m, c, link, by, state);
    if (strcmp(url, path) != 0 &&
        page_get(m->collector->page, m->collector, url, &page))
        return answer_page(c, MHD_HTTP_OK, &page);
    if (strcmp(url, path) != 0)
        return answer(c, MHD_HTTP_NOT_FOUND, "text/plain", strdup("not here\n"),
                      9);
    text = write_all(m->collector, &len);
    if (!text)
        return MHD_NO;
    return answer(c, MHD_HTTP_OK, "text/plain; version=0.0.4", text, len);
}

static void on_io(struct ev_loop *loop, ev_io *w, int events)
{
    run(w->data);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
    run(w->data);
}

/* With port 0 the kernel chooses one. */
static void tell_address(struct MHD_Daemon *daemon,
                         const struct sockaddr_in *sa)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);

    log_info("the page at http://%s:%u/", inet_ntoa(sa->sin_addr),
             info ? info->port : ntohs(sa->sin_port));
    log_info("metrics at %s:%u", inet_ntoa(sa->sin_addr),
             info ? info->port : ntohs(sa->sin_port));
}

struct metrics *metrics_open(struct collector *n, struct errbuf *err)
{
    struct metrics *m = calloc(1, sizeof(*m));
    const union MHD_DaemonInfo *info;
    struct sockaddr_in sa;

    if (!m || collector_address("MetricsListen", n->conf.metrics_listen, 0, &sa,
                                err) < 0) {
        free(m);
        return NULL;
    }
    m->collector = n;
    gethostname(m->own, sizeof(m->own) - 1);
    n->page = page_new();
    if (!n->page) {
        errprintf(err, "out of memory");
        metrics_close(m);
        return NULL;
    }
    m->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, m,
        MHD_OPTION_SOCK_ADDR, &sa, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
        MHD_OPTION_CONNECTION_LIMIT, 32u, MHD_OPTION_CONNECTION_TIMEOUT, 10u,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, 16u, MHD_OPTION_END);
    info = m->daemon ? MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                     : NULL;
    if (!info) {
        errprintf(err, "MetricsListen: %s: %s", n->conf.metrics_listen,
                  strerror(errno));
        metrics_close(m);
        return NULL;
    }
    ev_io_init(&m->io, on_io, info->epoll_fd, EV_READ);
    ev_init(&m->timer, on_timer);
    m->io.data = m->timer.data = m;
    tell_address(m->daemon, &sa);
    ev_io_start(n->loop, &m->io);
    return m;
}

void metrics_close(struct metrics *m)
{
    if (!m)
        return;
    if (m->suspended) /* by a disk that stands still; the process ends */
        return;
    if (m->daemon)
        MHD_stop_daemon(m->daemon);
    page_free(m->collector->page);
    m->collector->page = NULL;
    free(m);
}
