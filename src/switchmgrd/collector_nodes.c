/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nodes: what is wanted of each, sent to the updater when it changes, and
 * the health table.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host_names.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sitedir.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/jobs.h"

struct collector_node *collector_node_find(struct collector *n,
                                           const char *name)
{
    struct collector_node *p;

    HASH_FIND_STR(n->nodes, name, p);
    return p;
}

struct collector_node *collector_node_make(struct collector *n,
                                           const char *name)
{
    struct collector_node *p = collector_node_find(n, name);

    if (p || strlen(name) >= sizeof(p->name) ||
        HASH_COUNT(n->nodes) >= SF_SWITCHMGR_NODES_MAX)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    strcpy(p->name, name);
    HASH_ADD_STR(n->nodes, name, p);
    return p;
}

struct in_addr collector_node_addr(const struct collector_node *p)
{
    return p->configured.s_addr ? p->configured : p->in_table;
}

/* Reporters=NAME=ADDRESS,...: hosts that are no nodes of Slurm, or whose
 * munged uses another address.  Without n only read. */
static int take_reporters(struct collector *n, const char *list,
                          struct errbuf *err)
{
    char *copy = strdup(list), *rest = copy, *word;
    int rc = copy ? 0 : errprintf(err, "no memory");

    while (rc == 0 && (word = strsep(&rest, ","))) {
        char *eq = strchr(word, '=');
        struct in_addr addr;
        struct collector_node *p;

        if (*word == '\0')
            continue;
        if (!eq || inet_pton(AF_INET, eq + 1, &addr) != 1) {
            errno = EINVAL;
            rc = errprintf(err, "Reporters: not NAME=ADDRESS: %.100s", word);
            break;
        }
        *eq = '\0';
        p = n ? collector_node_make(n, word) : NULL;
        if (p)
            p->configured = addr;
    }
    free(copy);
    return rc;
}

/* Maintenance=HOSTLIST.  Without n only read. */
static int take_maintenance(struct collector *n, const char *list,
                            struct errbuf *err)
{
    struct host_names names = {NULL, 0, 0};
    struct errbuf why;
    struct collector_node *p;

    if (host_names_expand(&names, list, SF_ELAN_NODES_MAX, &why) < 0)
        return errprintf(err, "Maintenance: %s", why.text);
    for (uint32_t i = 0; n && i < names.n; i++) {
        if ((p = collector_node_make(n, names.name[i])))
            p->maintenance = true;
    }
    host_names_free(&names);
    return 0;
}

static int take_lists(struct collector *n, const struct mgrconf *conf,
                      struct errbuf *err)
{
    if (conf->reporters && take_reporters(n, conf->reporters, err) < 0)
        return -1;
    if (conf->maintenance && *conf->maintenance)
        return take_maintenance(n, conf->maintenance, err);
    return 0;
}

int collector_nodes_check(const struct mgrconf *conf, struct errbuf *err)
{
    return take_lists(NULL, conf, err);
}

int collector_nodes_configure(struct collector *n, struct errbuf *err)
{
    struct collector_node *p, *next;

    HASH_ITER(hh, n->nodes, p, next)
    {
        p->maintenance = p->at_rest = false;
        p->configured.s_addr = 0; /* who is listed no more */
    }
    return take_lists(n, &n->conf, err);
}

/* What is wanted of a node now; false: nothing is known of it.  *at_rest: that
 * stays so until collector_nodes_stir(), or the configuration changes. */
static bool want_of(const struct collector *n, const struct collector_node *p,
                    int64_t now, struct plan_want *w, uint8_t *refuse,
                    bool *at_rest)
{
    struct policy_want pw;
    struct health_node h;

    if (!model_node(n->model, p->name, &h))
        return false;
    pw = policy_decide(&n->policy, &h, p->maintenance, now, n->started);
    plan_want_make(w, p->name, &h, &pw);
    *refuse = pw.refuse;
    *at_rest = h.at_rest && h.state == HEALTH_HEALTHY && pw.resume;
    return true;
}

/* The evidence of a state may be worded anew all the time: not worth an
 * update of Slurm while the state stays. */
static bool same_want(const struct plan_want *a, const struct plan_want *b)
{
    struct plan_want x = *a;

    memcpy(x.why, b->why, sizeof(x.why));
    return memcmp(&x, b, sizeof(x)) == 0;
}

/* ---- what is wanted of them ---------------------------------------------- */

void collector_nodes_init(struct collector *n)
{
    STAILQ_INIT(&n->dirty);
    STAILQ_INIT(&n->fresh);
    LIST_INIT(&n->unwell);
}

/* A line that it had, and needs no more, or is to have (NULL: no memory). */
static struct collector_unwell *line_of(struct collector *n,
                                        struct collector_node *p, bool has)
{
    if (has && !p->unwell) {
        p->unwell = calloc(1, sizeof(*p->unwell));
        if (p->unwell)
            LIST_INSERT_HEAD(&n->unwell, p->unwell, link);
    } else if (!has && p->unwell) {
        LIST_REMOVE(p->unwell, link);
        free(p->unwell);
        p->unwell = NULL;
    }
    return p->unwell;
}

static void fill_line(struct health_table_node *e, const struct plan_want *w,
                      uint8_t refuse)
{
    *e = (struct health_table_node){.state = (enum health_state)w->state,
                                    .since = w->since,
                                    .count = w->count,
                                    .refuse = refuse};
    for (int r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        if (w->rails & 1u << r && w->rail_state[r] != HEALTH_HEALTHY)
            e->rails |= (uint8_t)(1u << r);
    }
    memcpy(e->name, w->node, sizeof(e->name));
    memcpy(e->why, w->why, sizeof(e->why));
}

/* How it stands in the health table; w NULL: it does not. */
static void list(struct collector *n, struct collector_node *p,
                 const struct plan_want *w, uint8_t refuse)
{
    bool unwell = w && w->state != HEALTH_HEALTHY;
    struct collector_unwell *u = line_of(n, p, unwell);

    n->nheard -= p->is != UNHEARD_OF;
    n->nwell -= p->is == WELL;
    n->nunwell -= p->is == UNWELL;
    p->is = !w ? UNHEARD_OF : u ? UNWELL : WELL;
    if (unwell && !u)
        p->is = UNHEARD_OF;
    n->nheard += p->is != UNHEARD_OF;
    n->nwell += p->is == WELL;
    n->nunwell += p->is == UNWELL;
    if (u)
        fill_line(&u->line, w, n->conf.dry_run ? 0 : refuse);
}

static void judge(struct collector *n, struct collector_node *p, int64_t now)
{
    struct plan_want w;
    uint8_t refuse;

    if (p->at_rest && p->has_sent)
        return;
    if (!want_of(n, p, now, &w, &refuse, &p->at_rest)) {
        list(n, p, NULL, 0);
        return;
    }
    list(n, p, &w, refuse);
    if (!p->in_slurm || (p->has_sent && same_want(&w, &p->sent)))
        return;
    p->sent = w;
    p->has_sent = true;
    if (!p->dirty)
        STAILQ_INSERT_TAIL(&n->dirty, p, next_dirty);
    p->dirty = true;
}

void collector_nodes_judge(struct collector *n)
{
    int64_t now = steady_now();
    struct collector_node *p, *next;

    HASH_ITER(hh, n->nodes, p, next)
    judge(n, p, now);
    collector_nodes_send(n);
}

void collector_nodes_changed(struct collector *n,
                             const struct health_item *host)
{
    struct collector_node *p = collector_node_find(n, host->name);

    if (!p || p->fresh)
        return;
    p->fresh = true;
    STAILQ_INSERT_TAIL(&n->fresh, p, next_fresh);
}

void collector_nodes_follow(struct collector *n)
{
    int64_t now = steady_now();
    struct collector_node *p;

    while ((p = STAILQ_FIRST(&n->fresh))) {
        STAILQ_REMOVE_HEAD(&n->fresh, next_fresh);
        p->fresh = false;
        judge(n, p, now);
    }
    collector_nodes_send(n);
}

/* ---- to the updater, and from it ----------------------------------------- */

static bool send_record(struct collector *n, const void *rec, size_t len)
{
    if (send(n->updater_fd, rec, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return true;
    n->updater_full = true; /* on_updater_free() goes on */
    ev_io_start(n->loop, &n->updater_out);
    return false;
}

static bool tell_of_reload(struct collector *n)
{
    struct rec_reload rec = {REC_RELOAD};

    n->reloaded = !send_record(n, &rec, sizeof(rec));
    return !n->reloaded;
}

void collector_nodes_send(struct collector *n)
{
    struct collector_node *p;

    if (n->updater_full || (n->reloaded && !tell_of_reload(n)))
        return;
    while ((p = STAILQ_FIRST(&n->dirty))) {
        struct rec_want rec;

        memset(&rec, 0, sizeof(rec));
        rec.type = REC_WANT;
        rec.at = clock_ms();
        rec.want = p->sent;
        if (!send_record(n, &rec, sizeof(rec)))
            return;
        STAILQ_REMOVE_HEAD(&n->dirty, next_dirty);
        p->dirty = false;
    }
}

void collector_nodes_stir(const struct health_item *host, void *arg)
{
    struct collector_node *p = collector_node_find(arg, host->name);

    if (p)
        p->at_rest = false;
}

static void take_node(struct collector *n, const struct rec_node *rec)
{
    struct collector_node *p = collector_node_make(n, rec->name);

    if (!p)
        return;
    if (rec->addr.s_addr)
        p->in_table = rec->addr;
    if (!p->in_slurm || rec->flags & REC_NODE_AGAIN)
        p->has_sent = false;
    p->in_slurm = true;
    if ((rec->flags ^ p->flags) & REC_NODE_OWN_DRAIN)
        collector_event(n, steady_now(), "node %s: %s", p->name,
                        rec->flags & REC_NODE_OWN_DRAIN
                            ? "drained by us"
                            : "no longer drained by us");
    p->flags = rec->flags;
}

static void on_updater(struct ev_loop *loop, ev_io *w, int events)
{
    struct collector *n = w->data;
    union {
        uint32_t type;
        struct rec_node node;
        struct rec_status status;
        struct rec_job job;
        struct rec_order order;
    } rec;

    for (int i = 0; i < 1000; i++) {
        ssize_t len = recv(n->updater_fd, &rec, sizeof(rec), MSG_DONTWAIT);

        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (len <= 0) {
            log_error("SF-E705: the updater has gone");
            n->exit_code = 1;
            ev_break(loop, EVBREAK_ALL);
            return;
        }
        if (len == sizeof(rec.node) && rec.type == REC_NODE) {
            rec.node.name[sizeof(rec.node.name) - 1] = '\0';
            take_node(n, &rec.node);
        } else if (len == sizeof(rec.job) && rec.type == REC_JOB) {
            if (!jobs_take(n->jobs, &rec.job))
                log_debug("the nodes of job %u are not kept", rec.job.id);
        } else if (len == sizeof(rec.status) && rec.type == REC_STATUS) {
            n->updater = rec.status;
            if (rec.status.nodes > 0)
                collector_reports_start(n);
        } else if (len == sizeof(rec.order) && rec.type == REC_ORDER) {
            ev_feed_event(loop,
                          rec.order.number == SIGHUP ? &n->sighup : &n->sigterm,
                          EV_SIGNAL);
        }
    }
}

static void on_updater_free(struct ev_loop *loop, ev_io *w, int events)
{
    struct collector *n = w->data;

    ev_io_stop(loop, w);
    n->updater_full = false;
    collector_nodes_send(n);
}

void collector_nodes_start(struct collector *n)
{
    ev_io_init(&n->updater_in, on_updater, n->updater_fd, EV_READ);
    ev_io_init(&n->updater_out, on_updater_free, n->updater_fd, EV_WRITE);
    n->updater_in.data = n->updater_out.data = n;
    ev_io_start(n->loop, &n->updater_in);
}

/* ---- the health table ---------------------------------------------------- */

void collector_nodes_table(struct collector *n)
{
    struct sitedir sitedir;
    const char *path = n->conf.health_table
                           ? n->conf.health_table
                           : sitedir_run(&sitedir, MGRCONF_TABLE);
    int64_t now = steady_now();
    struct health_table t = {
        .written = steady_wall(now), .nodes = n->nheard, .healthy = n->nwell};
    const struct collector_unwell *u;
    struct errbuf err;

    if (!*path)
        return;
    t.list = calloc(n->nunwell + 1, sizeof(*t.list));
    if (!t.list)
        return;
    LIST_FOREACH(u, &n->unwell, link)
    {
        t.list[t.n] = u->line;
        t.list[t.n].since = steady_wall(u->line.since);
        t.n++;
    }
    if (health_table_write(path, &t, &err) < 0)
        collector_events_alarm(err.text, now, n);
    free(t.list);
}
