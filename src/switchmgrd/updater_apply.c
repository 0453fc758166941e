/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <poll.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/net_clock.h"
#include "switchmgrd/updater_apply.h"

/* How long what Slurm said last is built upon.  With thousands of nodes asking
 * again is dearer than the update itself. */
#define PASS_MS 500

/* A node with its plan; those with equal texts are sent together. */
struct job {
    struct upd_node *node;
    struct plan plan;
};

/* For people, by the clock on the wall of this machine. */
static void put_date(int64_t ms, char *text, size_t size)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    if (!localtime_r(&t, &tm) ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        snprintf(text, size, "%" PRId64, ms / 1000);
}

static struct plan_node as_plan_node(const struct upd_node *n)
{
    return (struct plan_node){
        .features = n->features,
        .features_act = n->features_act,
        .extra = n->extra,
        .comment = n->comment,
        .reason = n->reason,
        .drain = n->drain,
        .unusable = n->unusable,
        .undone = n->undone,
    };
}

static void make_plan(const struct updater *u, const struct upd_node *n,
                      struct plan *p)
{
    struct plan_node is = as_plan_node(n);
    char date[32];

    put_date(net_wall(n->want.since), date, sizeof(date));
    is.since = date;
    if (!plan_make(&n->want, &is, p))
        memset(p, 0, sizeof(*p));
    p->set_features &= u->conf->features;
    p->set_extra &= u->conf->extra;
    p->set_comment &= u->conf->comment;
}

static bool has_texts(const struct plan *p)
{
    return p->set_features || p->set_extra || p->set_comment;
}

static int compare_text(bool a_set, const char *a, bool b_set, const char *b)
{
    if (a_set != b_set)
        return a_set ? 1 : -1;
    return a_set ? strcmp(a, b) : 0;
}

static int by_texts(const void *x, const void *y)
{
    const struct plan *a = &((const struct job *)x)->plan;
    const struct plan *b = &((const struct job *)y)->plan;
    int c = compare_text(a->set_features, a->features_act, b->set_features,
                         b->features_act);

    if (c == 0)
        c = compare_text(a->set_extra, a->extra, b->set_extra, b->extra);
    if (c == 0)
        c = compare_text(a->set_comment, a->comment, b->set_comment,
                         b->comment);
    return c;
}

/* At most SlurmRate RPCs a second.  True: one may go now.  Waits for its turn
 * while what was loaded may be built upon. */
static bool take_turn(struct updater *u, int64_t until)
{
    int64_t now = net_now();

    if (u->next_rpc > until)
        return false;
    if (now < u->next_rpc)
        poll(NULL, 0, (int)(u->next_rpc - now));
    u->next_rpc = net_now() + 1000 / u->conf->slurm_rate;
    return true;
}

/* slurmabi_free() it. */
static char *names_of(const struct job *jobs, size_t n)
{
    struct hostlist *hl = slurm_hostlist_create(NULL);
    char *text;

    for (size_t i = 0; i < n; i++)
        slurm_hostlist_push_host(hl, jobs[i].node->name);
    text = slurm_hostlist_ranged_string_xmalloc(hl);
    slurm_hostlist_destroy(hl);
    return text;
}

static void done(struct updater *u, struct upd_node *n)
{
    int64_t took = net_now() - n->wanted_at;

    n->dirty = false;
    if (took > 0 && (uint64_t)took > u->status.max_ms)
        u->status.max_ms = (uint64_t)took;
}

static void send_texts(struct updater *u, struct job *jobs, size_t n)
{
    const struct plan *p = &jobs[0].plan;
    char *names = names_of(jobs, n);

    if (!names)
        return;
    if (u->conf->dry_run)
        upd_dry_texts(names, p);
    else if (upd_slurm_set(u, names, p->set_features ? p->features_act : NULL,
                           p->set_extra ? p->extra : NULL,
                           p->set_comment ? p->comment : NULL) < 0)
        log_warn("SF-E702: %s: %s", names, u->status.error);
    else
        log_debug("%s: %s", names, p->extra);
    slurmabi_free(names);
    /* A failed one is seen by the next load, which makes all dirty. */
    for (size_t i = 0; i < n; i++) {
        if (u->conf->dry_run)
            upd_dry_texts_told(jobs[i].node, p);
        if (jobs[i].plan.state == PLAN_LEAVE)
            done(u, jobs[i].node);
    }
    if (!u->conf->dry_run)
        u->last_update = 0;
}

/* One that slurmctld lost has been counted before. */
static bool is_counted(const struct upd_node *n)
{
    return n->lost && n->lost == n->want.since;
}

static void drain(struct updater *u, struct upd_node *n, struct plan *p)
{
    if (!is_counted(n) && !upd_caps_take(u)) {
        upd_caps_hold(u, n);
        return;
    }
    n->drained_since = n->want.since;
    n->undone = n->lost = n->capped = 0;
    upd_state_save(u);
    if (upd_slurm_drain(u, n->name, p->reason) == 0) {
        log_warn("%s drained: %s", n->name, p->reason);
        u->status.drains++;
        n->own = n->drain = true;
        n->own_seen = net_wall(net_now());
        n->told = false;
    } else {
        log_warn("SF-E702: %s: %s", n->name, u->status.error);
        n->drained_since = 0;
    }
    u->last_update = 0;
}

static void resume(struct updater *u, struct upd_node *n)
{
    int64_t since = n->drained_since;

    n->drained_since = 0;
    if (upd_slurm_resume(u, n->name) == 0) {
        log_info("%s resumed: its fabric is healthy", n->name);
        u->status.resumes++;
        n->own = n->drain = n->told = false;
        upd_state_save(u);
    } else {
        n->drained_since = since;
        log_warn("SF-E702: %s: %s", n->name, u->status.error);
    }
    u->last_update = 0;
}

/* Drain or resume: by what Slurm says just now, not by what it said when the
 * nodes were loaded. */
static void change_state(struct updater *u, struct upd_node *n)
{
    struct plan p;

    if (upd_slurm_load_one(u, n) < 0)
        return;
    make_plan(u, n, &p);
    if (p.state == PLAN_LEAVE) {
        n->dirty = has_texts(&p);
        return;
    }
    if (u->conf->dry_run)
        upd_dry_state(u, n, &p);
    else if (p.state == PLAN_DRAIN)
        drain(u, n, &p);
    else
        resume(u, n);
    done(u, n);
}

/* What is to be done to a node now: not what a dry run has told already, no
 * drain that the caps have no room for. */
static void plan_now(struct updater *u, struct upd_node *n, bool room,
                     struct plan *p)
{
    make_plan(u, n, p);
    if (u->conf->dry_run)
        upd_dry_known(n, p);
    if (p->state != PLAN_DRAIN || room || is_counted(n))
        return;
    upd_caps_hold(u, n);
    p->state = PLAN_LEAVE;
}

/* Every node that is wanted otherwise than it is. */
static size_t collect(struct updater *u, struct job *jobs, size_t max)
{
    struct upd_node *n, *next;
    bool room = upd_caps_room(u);
    size_t have = 0;

    HASH_ITER(hh, u->nodes, n, next)
    {
        if (!n->wanted || !n->dirty || have == max)
            continue;
        plan_now(u, n, room, &jobs[have].plan);
        jobs[have].node = n;
        if (!has_texts(&jobs[have].plan) && jobs[have].plan.state == PLAN_LEAVE)
            done(u, n);
        else
            have++;
    }
    return have;
}

/* How many from the first on have its texts. */
static size_t run_length(const struct job *jobs, size_t n)
{
    size_t len = 1;

    while (len < n && by_texts(&jobs[0], &jobs[len]) == 0)
        len++;
    return len;
}

static bool any_dirty(const struct updater *u)
{
    for (const struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (n->wanted && n->dirty)
            return true;
    }
    return false;
}

/* Texts first, they say the most to the most; then states. */
static bool apply(struct updater *u, struct job *jobs, size_t n)
{
    int64_t until = net_now() + PASS_MS;
    size_t len;

    for (size_t i = 0; i < n; i += len) {
        len = run_length(jobs + i, n - i);
        if (!has_texts(&jobs[i].plan))
            continue;
        if (!take_turn(u, until))
            return true;
        send_texts(u, jobs + i, len);
    }
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].plan.state == PLAN_LEAVE)
            continue;
        if (!take_turn(u, until))
            return true;
        change_state(u, jobs[i].node);
    }
    return false;
}

bool upd_apply(struct updater *u)
{
    struct job *jobs;
    size_t n;
    bool more;

    if (!u->status.reachable || !any_dirty(u) || net_now() < u->next_rpc)
        return any_dirty(u);
    /* Merge into what is there now, not into what was there at the last look:
     * one small RPC when nothing changed. */
    if (upd_slurm_load(u) < 0)
        return true;
    jobs = calloc(HASH_COUNT(u->nodes) + 1, sizeof(*jobs));
    if (!jobs)
        return true;
    n = collect(u, jobs, HASH_COUNT(u->nodes));
    qsort(jobs, n, sizeof(*jobs), by_texts);
    more = apply(u, jobs, n);
    upd_caps_tell(u);
    free(jobs);
    return more;
}
