/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From wants to updates: nodes that are to get the same texts get them in one
 * RPC, drains and resumes one by one, all no faster than SlurmRate.
 */
#define _GNU_SOURCE
#include "switchmgrd/updater.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sitedir.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/steady_clock.h"
#include "switchmgrd/topology.h"

static uint32_t drained(const struct updater *u);

/* ---- what must not be forgotten ---------------------------------------- */

/* What the updater must not forget over a restart: when it drained (the caps)
 * and for which fault (so that an admin's resume is respected). Lines "cap
 * MS" and "drained NODE MS" / "undone NODE MS"; a file that cannot be read
 * counts as none. A cap's time is the wall clock's; a fault's is its name in
 * the collector's model. */

static void take_line(struct updater *u, const char *line)
{
    char name[SF_REPORT_NAME_MAX];
    int64_t at, now = steady_now();
    struct upd_node *n;

    if (sscanf(line, "cap %" SCNd64, &at) == 1) {
        /* By a clock that was set back since: as if it were now. */
        u->caps.at[u->caps.n++ % CAPS_MAX] = at < now ? at : now;
    } else if (sscanf(line, "drained %63s %" SCNd64, name, &at) == 2) {
        if ((n = upd_node_make(u, name)))
            n->drained_since = at;
    } else if (sscanf(line, "undone %63s %" SCNd64, name, &at) == 2) {
        if ((n = upd_node_make(u, name)))
            n->undone = at;
    }
}

void upd_state_load(struct updater *u)
{
    FILE *f = fopen(u->state_path, "re");
    char line[160];

    if (!f) {
        if (errno != ENOENT)
            log_warn("SF-E704: %s: %m; the caps begin anew", u->state_path);
        return;
    }
    while (fgets(line, sizeof(line), f))
        take_line(u, line);
    fclose(f);
}

static void put_all(const struct updater *u, FILE *f)
{
    uint32_t have = u->caps.n < CAPS_MAX ? u->caps.n : CAPS_MAX;
    const struct upd_node *n;

    for (uint32_t i = 0; i < have; i++)
        fprintf(f, "cap %" PRId64 "\n", steady_wall(u->caps.at[i]));
    for (n = u->nodes; n; n = n->hh.next) {
        if (n->drained_since)
            fprintf(f, "drained %s %" PRId64 "\n", n->name, n->drained_since);
        if (n->undone)
            fprintf(f, "undone %s %" PRId64 "\n", n->name, n->undone);
    }
}

void upd_state_save(const struct updater *u)
{
    struct errbuf err = {"no memory"};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    int rc = -1;

    if (f) {
        put_all(u, f);
        if (fclose(f) == 0)
            rc = file_replace(u->state_path, text, len, 0600, FILE_DURABLE,
                              &err);
    }
    free(text);
    if (rc < 0)
        log_error("SF-E704: %s; caps may be forgotten at a restart", err.text);
}

/* ---- the caps on drains ------------------------------------------------ */

/* The caps on drains: whether there is room for one more, and those nodes for
 * which there is none. They are told once a fault, many in one line, and are
 * drained as soon as there is room. A dry run has caps of its own. */

/* Nodes that we have drained; in a dry run, would have. */
static uint32_t drained(const struct updater *u)
{
    uint32_t count = 0;

    for (const struct upd_node *n = u->nodes; n; n = n->hh.next)
        count += n->own || (u->conf->dry_run && n->dry_drained);
    return count;
}

static struct caps *caps_of(struct updater *u)
{
    return u->conf->dry_run ? &u->dry_caps : &u->caps;
}

bool upd_caps_room(struct updater *u)
{
    return caps_may(caps_of(u), &u->caps_conf, steady_now(),
                    HASH_COUNT(u->nodes), drained(u));
}

bool upd_caps_take(struct updater *u)
{
    return caps_take(caps_of(u), &u->caps_conf, steady_now(),
                     HASH_COUNT(u->nodes), drained(u));
}

static bool upd_caps_holds(const struct upd_node *n)
{
    return n->wanted && n->want.drain && !n->drain &&
           n->capped == n->want.since;
}

/* The caps leave a node undrained that should be drained. */
static void upd_caps_hold(struct updater *u, struct upd_node *n)
{
    if (n->capped == n->want.since)
        return;
    n->capped = n->want.since;
    n->capped_is_news = true;
    u->status.capped++;
}

/* Those held since the last call go to the log. */
static void upd_caps_tell(struct updater *u)
{
    struct hostlist *hl = slurm_hostlist_create(NULL);
    uint32_t news = 0;
    char *names;

    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!n->capped_is_news)
            continue;
        n->capped_is_news = false;
        slurm_hostlist_push_host(hl, n->name);
        news++;
    }
    names = news ? slurm_hostlist_ranged_string_xmalloc(hl) : NULL;
    slurm_hostlist_destroy(hl);
    if (!names)
        return;
    log_error("SF-E701: not drained%s: %s: more than DrainMax, DrainInterval "
              "and DrainPercent allow (%u of %u nodes are drained by us); "
              "drained as soon as they allow it",
              u->conf->dry_run ? " (dry run)" : "", names, drained(u),
              HASH_COUNT(u->nodes));
    slurmabi_free(names);
}

/* Now and then: is there room for those that were held? */
static void upd_caps_look(struct updater *u)
{
    bool asked = false, room = false;

    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!upd_caps_holds(n))
            continue;
        if (!asked)
            room = upd_caps_room(u);
        asked = true;
        n->dirty |= room;
    }
}

/* ---- a dry run --------------------------------------------------------- */

/* A dry run: what would be done goes to the log, each thing once, and Slurm
 * is told nothing. */

#define DRY_TEXT_MAX (3 * SF_PLAN_TEXT_MAX + 64)

static void write_texts(const struct plan *p, char *text, size_t size)
{
    snprintf(text, size, "features %s, extra %s, comment %s",
             p->set_features ? p->features_act : "as they are",
             p->set_extra ? p->extra : "as it is",
             p->set_comment ? p->comment : "as it is");
}

/* Take out of the plan what has been told. */
static void upd_dry_known(const struct upd_node *n, struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    if (n->dry_told && strcmp(n->dry_told, text) == 0)
        p->set_features = p->set_extra = p->set_comment = false;
    if ((p->state == PLAN_DRAIN && n->dry_drained == n->want.since) ||
        (p->state == PLAN_RESUME && n->dry_resumed == n->want.since))
        p->state = PLAN_LEAVE;
}

static void upd_dry_texts(const char *names, const struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    log_info("dry run: %s would get %s", names, text);
}

static void upd_dry_texts_told(struct upd_node *n, const struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    free(n->dry_told);
    n->dry_told = strdup(text);
}

static void upd_dry_state(struct updater *u, struct upd_node *n,
                          const struct plan *p)
{
    if (p->state == PLAN_RESUME) {
        n->dry_resumed = n->want.since;
        log_info("dry run: %s would be resumed: its fabric is healthy",
                 n->name);
    } else if (n->dry_drained == n->want.since) {
        return;
    } else if (!upd_caps_take(u)) {
        upd_caps_hold(u, n);
    } else {
        n->dry_drained = n->want.since;
        log_info("dry run: %s would be drained: %s", n->name, p->reason);
    }
}

void upd_dry_forget(struct upd_node *n)
{
    free(n->dry_told);
    n->dry_told = NULL;
    n->dry_drained = n->dry_resumed = 0;
}

/* ---- from wants to updates --------------------------------------------- */

/* How long what Slurm said last is built upon, at least.  With thousands of
 * nodes asking again is dearer than the update itself. */
#define PASS_MS 500

/* A wait of so long at least, and of that part of a look at all nodes. */
static int64_t wait_of(const struct updater *u, int64_t least, int64_t part)
{
    return u->look_ms / part > least ? u->look_ms / part : least;
}

/* Look at all nodes, and remember how long that took if they were sent. */
static int look(struct updater *u)
{
    int64_t began = steady_now();
    int rc = upd_slurm_load(u);

    if (rc > 0)
        u->look_ms = steady_now() - began;
    if (rc >= 0)
        u->looked = steady_now();
    return rc;
}

/* How long a question about one node is taken to last at least. */
#define ASK_MS 2

/* Look at one node. */
static int look_at(struct updater *u, struct upd_node *n)
{
    int64_t began = steady_now();
    int rc = upd_slurm_load_one(u, n);

    u->ask_ms = steady_now() - began;
    return rc;
}

static bool is_due(const struct upd_node *n)
{
    return n->wanted && n->dirty;
}

/* Nodes that are wanted otherwise, perhaps; `most` are enough. */
static uint32_t count_due(const struct updater *u, uint32_t most)
{
    uint32_t due = 0;

    for (const struct upd_node *n = u->nodes; n && due < most; n = n->hh.next)
        due += is_due(n);
    return due;
}

/* So few nodes are due that to ask for each takes less time than a look at all.
 */
static bool are_few(const struct updater *u)
{
    int64_t ask = u->ask_ms > ASK_MS ? u->ask_ms : ASK_MS;
    uint32_t most = (uint32_t)(u->look_ms / ask);

    return most > 0 && count_due(u, most) < most;
}

/* -1: one of them cannot be asked for. */
static int look_at_those_due(struct updater *u)
{
    struct upd_node *n, *next;
    int rc = 0;

    HASH_ITER(hh, u->nodes, n, next)
    if (rc == 0 && is_due(n))
        rc = look_at(u, n);
    return rc;
}

/* Merge into what is there now, not into what was there at the last look, for
 * somebody else may have changed it: one small RPC when nothing changed.  Where
 * a look is long, one that has just ended is as good, and of few nodes each is
 * asked for by itself. */
static int look_anew(struct updater *u)
{
    if (u->look_ms > PASS_MS && steady_now() - u->looked <= PASS_MS)
        return 0;
    if (are_few(u) && look_at_those_due(u) == 0)
        return 0;
    return look(u);
}

/* Slurm is not as it was at the last look. */
static void changed(struct updater *u)
{
    u->last_update = u->looked = 0;
}

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

    put_date(steady_wall(n->want.since), date, sizeof(date));
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
    int64_t now = steady_now();

    if (u->next_rpc > until)
        return false;
    if (now < u->next_rpc)
        poll(NULL, 0, (int)(u->next_rpc - now));
    u->next_rpc = steady_now() + 1000 / u->conf->slurm_rate;
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
    int64_t took = steady_now() - n->wanted_at;

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
        changed(u);
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
        n->own_seen = steady_wall(steady_now());
        n->told = false;
    } else {
        log_warn("SF-E702: %s: %s", n->name, u->status.error);
        n->drained_since = 0;
    }
    changed(u);
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
    changed(u);
}

/* Texts that were right a while ago do no harm, and two looks at a large
 * machine may lie between a want and its turn.  A drain is another thing. */
static bool is_late(const struct updater *u, const struct rec_want *rec)
{
    int64_t most = REC_WANT_LATE_MS;

    if (!rec->want.drain)
        most += 2 * u->look_ms;
    return clock_ms() - rec->at > most;
}

/* A want of a node that Slurm does not have is dropped: the collector
 * sends it again when it hears of the node.  One that waited for long, because
 * this process stood still, may have been followed by others that found no
 * room: nothing is done by it. */
static void take_want(struct updater *u, const struct rec_want *rec)
{
    const struct plan_want *want = &rec->want;
    struct upd_node *n;

    if (!plan_want_valid(want)) {
        log_error("SF-E703: the collector sent a want that is none");
        return;
    }
    HASH_FIND_STR(u->nodes, want->node, n);
    if (!n)
        return;
    n->again = is_late(u, rec);
    if (n->again) {
        n->told = false; /* the one before may have come too late as well */
        n->wanted = n->dirty = false;
        return;
    }
    if (!want->drain)
        n->dry_drained = n->capped = 0;
    if (!n->wanted || memcmp(&n->want, want, sizeof(*want)) != 0) {
        n->want = *want;
        n->wanted_at = steady_now();
        n->wanted = n->dirty = true;
    }
}

/* The socket holds some hundred records and the collector has one for each node
 * of a large machine: after so many the next ones are waited for, so that one
 * update of Slurm, which loads all nodes, serves them all.  On a busy machine
 * the collector may be as slow as that look is: so the longer it takes the more
 * are waited for, and no longer than it takes.  So is what was asked for again,
 * which would be too late after one more look. */
#define BURST 64
#define BURST_NEXT_MS 100 /* at least, or a part of a look: */
#define BURST_NEXT_PART 16
#define BURST_MS 1000 /* for all, or a look */

static bool more_come(const struct updater *u, unsigned have, int64_t until)
{
    struct pollfd p = {.fd = u->fd, .events = POLLIN};

    return (have >= BURST || u->asked) && steady_now() < until &&
           poll(&p, 1, (int)wait_of(u, BURST_NEXT_MS, BURST_NEXT_PART)) > 0;
}

static void take_record(struct updater *u, const struct rec_want *rec,
                        size_t len)
{
    if (len == sizeof(*rec) && rec->type == REC_WANT)
        take_want(u, rec);
    else if (len == sizeof(struct rec_reload) && rec->type == REC_RELOAD)
        u->reload = true;
    else
        log_error("SF-E703: the collector sent no record");
}

/* All records that are there; wait: and those that come after many.  u->gone:
 * the collector is not there any more. */
static void read_records(struct updater *u, bool wait)
{
    int64_t until = steady_now() + wait_of(u, BURST_MS, 1);
    struct rec_want rec;

    for (unsigned have = 0; !u->gone; have++) {
        ssize_t n = recv(u->fd, &rec, sizeof(rec), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && errno == EAGAIN && wait && more_come(u, have, until))
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0)
            u->gone = true;
        else
            take_record(u, &rec, (size_t)n);
    }
    u->asked &= !wait;
}

/* Drain or resume: by what Slurm says just now, not by what it said when the
 * nodes were loaded; and by what is wanted now, not before they were. */
static void change_state(struct updater *u, struct upd_node *n)
{
    struct plan p;

    if (look_at(u, n) < 0)
        return;
    read_records(u, false);
    if (!n->wanted || u->gone)
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
        if (!is_due(n) || have == max)
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
    return count_due(u, 1) > 0;
}

/* Texts first, they say the most to the most; then states. */
static bool apply(struct updater *u, struct job *jobs, size_t n)
{
    int64_t until = steady_now() + wait_of(u, PASS_MS, 1);
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

/* Do what can be done now.  True when something is left for later. */
static bool upd_apply(struct updater *u)
{
    struct job *jobs;
    size_t n;
    bool more;

    if (!u->status.reachable || !any_dirty(u) || steady_now() < u->next_rpc)
        return any_dirty(u);
    if (look_anew(u) < 0)
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

/* ---- the loop ---------------------------------------------------------- */

struct upd_node *upd_node_make(struct updater *u, const char *name)
{
    struct upd_node *n;

    if (strlen(name) >= sizeof(n->name))
        return NULL;
    HASH_FIND_STR(u->nodes, name, n);
    if (n)
        return n;
    if (HASH_COUNT(u->nodes) >= SF_SWITCHMGR_NODES_MAX)
        return NULL;
    n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    strcpy(n->name, name);
    HASH_ADD_STR(u->nodes, name, n);
    return n;
}

static uint32_t flags_of(const struct upd_node *n)
{
    bool undone = n->undone && n->want.drain && n->undone == n->want.since;

    return (n->own ? REC_NODE_OWN_DRAIN : 0u) |
           (n->drain ? REC_NODE_DRAIN : 0u) |
           (upd_caps_holds(n) ? REC_NODE_CAPPED : 0u) |
           (n->again ? REC_NODE_AGAIN : 0u) | (undone ? REC_NODE_UNDONE : 0u);
}

/* That the collector may take to read some records, at least; or a part of a
 * look. */
#define ROOM_MS 100
#define ROOM_PART 16

bool upd_send(const struct updater *u, const void *rec, size_t len)
{
    struct pollfd p = {.fd = u->fd, .events = POLLOUT};

    while (send(u->fd, rec, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno != EAGAIN ||
            poll(&p, 1, (int)wait_of(u, ROOM_MS, ROOM_PART)) <= 0)
            return false;
    }
    return true;
}

/* Tell the collector what it does not know; what it does not take now is told
 * the next time.  It hears reports when it has the first status, so that comes
 * after all nodes: a reporter whose address is not known yet would be refused.
 */
static void tell(struct updater *u)
{
    struct upd_node *n, *next;
    bool all = true;

    u->status.type = REC_STATUS;
    u->status.nodes = u->status.own_drains = u->status.waiting = 0;
    HASH_ITER(hh, u->nodes, n, next)
    {
        struct rec_node rec = {
            .type = REC_NODE, .flags = flags_of(n), .addr = n->addr};

        u->status.nodes++;
        u->status.own_drains += n->own;
        u->status.waiting += is_due(n);
        if (n->told && n->told_flags == rec.flags)
            continue;
        n->told = false;
        n->told_flags = rec.flags;
        memcpy(rec.name, n->name, sizeof(rec.name));
        all = all && upd_send(u, &rec, sizeof(rec));
        n->told = all;
        u->asked |= all && n->again;
    }
    if (all)
        upd_send(u, &u->status, sizeof(u->status));
}

static bool all_told(const struct updater *u)
{
    for (const struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!n->told)
            return false;
    }
    return true;
}

/* Look at Slurm when it is time, half of the time at most.  Errors come at
 * growing distances. */
static void poll_slurm(struct updater *u, int64_t *distance)
{
    int64_t now = steady_now(), wait;
    uint32_t was = u->status.reachable;

    if (now < u->next_poll)
        return;
    if (look(u) < 0) {
        if (was || *distance == 0)
            log_warn("SF-E702: slurmctld does not answer: %s", u->status.error);
        *distance = *distance ? *distance * 2 : 500;
        if (*distance > u->conf->slurm_poll * 2000)
            *distance = u->conf->slurm_poll * 2000;
        wait = *distance;
    } else {
        if (!was)
            log_info("slurmctld answers, %u nodes", HASH_COUNT(u->nodes));
        *distance = u->conf->slurm_poll * 1000;
        wait = wait_of(u, *distance, 1);
        upd_caps_look(u);
    }
    u->next_poll = steady_now() + wait;
}

/* A new topology.conf: in place, then known to slurmctld; not done until both
 * are. */
static void look_at_topology(struct updater *u)
{
    int64_t now = steady_now();
    struct errbuf err;
    int rc;

    if (!u->conf->topology_conf || !*u->conf->topology_conf ||
        u->conf->dry_run || now < u->next_topology)
        return;
    u->next_topology = now + (u->reconfigure ? 5000 : 1000);
    if (!u->reconfigure) {
        rc = topology_install(SITEDIR_RUN(TOPOLOGY_CANDIDATE),
                              u->conf->topology_conf, &err);
        u->status.topology_looks++;
        if (rc < 0)
            log_error("SF-E707: %s; the old file stays", err.text);
        if (rc != 0)
            u->next_topology = now + u->conf->topology_interval * 1000;
        if (rc <= 0)
            return;
        u->status.topology_installs++;
        log_info("%s is new", u->conf->topology_conf);
        u->reconfigure = u->conf->topology_reconfigure;
    }
    if (u->reconfigure && u->status.reachable &&
        upd_slurm_reconfigure(u) == 0) {
        u->reconfigure = false;
        u->next_topology = now + u->conf->topology_interval * 1000;
    }
}

static int time_to_wait(const struct updater *u, bool more)
{
    int64_t now = steady_now(), until = u->next_poll;

    /* While slurmctld is away nothing can be done before the next look. */
    if (more && u->status.reachable && u->next_rpc < until)
        until = u->next_rpc;
    if ((!all_told(u) || u->jobs.untold) && now + 100 < until)
        until = now + 100;
    if (until <= now)
        return 0;
    return until - now > 1000 ? 1000 : (int)(until - now);
}

static void report_line(const char *text, void *arg)
{
    log_error("SF-E700: %s", text);
}

/* The collector, which has its own look at the file, found it good. */
static void reload(struct updater *u)
{
    struct mgrconf fresh;

    u->reload = false;
    if (mgrconf_read(&fresh, u->conf_path, true, report_line, NULL) < 0)
        return;
    mgrconf_free(u->conf);
    *u->conf = fresh;
    mgrconf_caps(u->conf, &u->caps_conf);
    memset(&u->dry_caps, 0, sizeof(u->dry_caps));
    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        upd_dry_forget(n);
        n->capped = 0;
        n->told = false;
        n->dirty = n->wanted;
    }
    u->next_poll = u->jobs.next = 0;
}

int updater_order(int fd, int number)
{
    const struct rec_order rec = {REC_ORDER, number};

    return send(fd, &rec, sizeof(rec), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1
                                                                        : 0;
}

/* The signal's handler could not: the collector had too much to read. */
static void order_reload(const struct updater *u, struct updater_orders *orders)
{
    if (!orders->reload)
        return;
    orders->reload = 0; /* first: another may come meanwhile */
    if (updater_order(u->fd, SIGHUP) < 0)
        orders->reload = 1;
}

int updater_run(struct mgrconf *conf, const char *conf_path, int fd,
                const char *state_path, struct updater_orders *orders)
{
    struct updater *u = calloc(1, sizeof(*u));
    int64_t distance = 0;
    bool more = false;

    if (!u)
        return 1;
    u->conf = conf;
    u->conf_path = conf_path;
    u->fd = fd;
    u->state_path = state_path;
    u->jobs.is_private = true;
    mgrconf_caps(conf, &u->caps_conf);
    upd_state_load(u);
    while (!orders->stop) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, time_to_wait(u, more)) < 0 && errno != EINTR)
            break;
        read_records(u, true);
        if (u->gone)
            break;
        order_reload(u, orders);
        if (u->reload)
            reload(u);
        poll_slurm(u, &distance);
        look_at_topology(u);
        more = upd_apply(u);
        upd_jobs_look(u);
        tell(u);
        upd_jobs_tell(u);
    }
    free(u); /* its nodes go with the process */
    return orders->stop ? 0 : 1;
}
