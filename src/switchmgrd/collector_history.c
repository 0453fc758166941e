/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes into the history (history.h) at each turn of a minute, and comes
 * out of it: of a host's cable what its NIC counts, as "NODE" (or "NODE/RAIL"
 * but for rail 0); of all links the worst state.  A crossbar that has no name
 * of its own has no history: the next map may call another one so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clerk.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/collector_history.h"

#define MINUTE_MS 60000

struct series {
    char name[SF_HISTORY_NAME_MAX];
    struct {
        uint64_t in, out, errors, instance;
        int64_t at; /* of the report; 0: none */
    } last;
    struct history_sample rates; /* of this minute */
    uint8_t worst; /* in this minute: 1 + state; 0: did not change */
    int64_t seen;
    UT_hash_handle hh;
};

struct collector_history {
    struct history *file;
    struct series *links;
    int64_t minute; /* that is going on */
    bool full_told;
};

/* A minute on its way to the disk. */
struct writing {
    struct clerk_job job; /* first */
    struct collector *collector;
    struct history_turn *turn;
};

static int64_t minute_of(int64_t now)
{
    return steady_wall(now) / MINUTE_MS;
}

static void tell(const char *text, void *arg)
{
    log_error("SF-E708 %s", text);
    collector_events_alarm(text, steady_now(), arg);
}

int collector_history_open(struct collector *n, struct errbuf *err)
{
    struct collector_history *c;
    char dir[SF_ELAN_PATH_MAX];
    struct history_options o = {.dir = dir,
                                .links_max = (size_t)n->conf.history_links,
                                .tell = tell,
                                .arg = n};

    if (n->conf.history_links == 0)
        return 0;
    c = calloc(1, sizeof(*c));
    if (!c)
        return errprintf(err, "no memory");
    snprintf(dir, sizeof(dir), "%s/switchmgrd/history",
             n->conf.state_dir ? n->conf.state_dir : SF_STATEDIR);
    c->minute = minute_of(steady_now());
    c->file = history_open(&o, c->minute, err);
    if (!c->file) {
        free(c);
        return -1;
    }
    n->history = c;
    return 0;
}

/* ---- in --------------------------------------------------------------------
 */

/* "" when it has none. */
static void name_of(const struct health_item *i, char *name, size_t size)
{
    *name = '\0';
    if (i->kind == REPORT_HOST && i->rail)
        snprintf(name, size, "%s/%u", i->name, i->rail);
    else if (i->kind == REPORT_HOST ||
             (i->kind == REPORT_LINK &&
              strncmp(i->name, REPORT_ANON, sizeof(REPORT_ANON) - 1) != 0))
        snprintf(name, size, "%s", i->name);
}

static struct series *link_of(struct collector_history *c, const char *name)
{
    struct series *l;

    HASH_FIND_STR(c->links, name, l);
    if (l || !*name || !(l = calloc(1, sizeof(*l))))
        return l;
    snprintf(l->name, sizeof(l->name), "%s", name);
    l->seen = c->minute;
    HASH_ADD_STR(c->links, name, l);
    return l;
}

void collector_history_changed(struct collector *n,
                               const struct health_item *item,
                               enum health_state was)
{
    enum health_state worse = item->state > was ? item->state : was;
    char name[SF_HISTORY_NAME_MAX];
    struct series *l = NULL;

    if (!n->history)
        return;
    name_of(item, name, sizeof(name));
    l = link_of(n->history, name);
    if (l && l->worst < worse + 1)
        l->worst = (uint8_t)(worse + 1);
}

/* Sum of the counters with these names; false: it does not count so. */
static bool count(const struct health_reporter *r, uint8_t rail,
                  const char *const *names, uint64_t *sum)
{
    bool any = false;

    *sum = 0;
    for (; *names; names++) {
        for (size_t i = 0; i < r->ncounters; i++) {
            if (r->counters[i].rail == rail &&
                strcmp(r->counters[i].name, *names) == 0) {
                *sum += r->values[i];
                any = true;
            }
        }
    }
    return any;
}

/* What a NIC has counted since its report of a minute ago.  A counter that
 * went back began anew: nothing is known of this minute. */
static void take_rates(struct series *l, const struct health_reporter *r)
{
    static const char *const in_names[] = {"received_bytes", NULL};
    static const char *const out_names[] = {"sent_bytes", NULL};
    static const char *const bad[] = {"loop_lost", "link_bad_packet", NULL};
    struct history_sample *s = &l->rates;
    uint64_t in, out, errors;
    int64_t ms = r->at - l->last.at;

    if (r->at == l->last.at || !count(r, r->rail, in_names, &in) ||
        !count(r, r->rail, out_names, &out))
        return;
    count(r, r->rail, bad, &errors);
    if (l->last.at && ms > 0 && r->instance == l->last.instance &&
        in >= l->last.in && out >= l->last.out && errors >= l->last.errors) {
        s->in = (uint64_t)((double)(in - l->last.in) * 1000. / (double)ms);
        s->out = (uint64_t)((double)(out - l->last.out) * 1000. / (double)ms);
        s->errors = errors - l->last.errors;
        s->known = 1;
    }
    l->last.in = in;
    l->last.out = out;
    l->last.errors = errors;
    l->last.instance = r->instance;
    l->last.at = r->at;
}

static void take_all_rates(struct collector *n)
{
    const struct health_reporter *r = NULL;
    char name[SF_HISTORY_NAME_MAX];

    while ((r = model_next_reporter(n->model, r))) {
        const struct health_item *i =
            r->from == REPORT_HSND ? model_host(n->model, r->node, r->rail)
                                   : NULL;
        struct series *l = NULL;

        if (i) {
            name_of(i, name, sizeof(name));
            l = link_of(n->history, name);
        }
        if (l)
            take_rates(l, r);
    }
}

static void put(struct collector *n, const struct health_item *i)
{
    struct collector_history *c = n->history;
    struct history_sample s;
    char name[SF_HISTORY_NAME_MAX], text[160];
    struct series *l;

    name_of(i, name, sizeof(name));
    l = link_of(c, name);
    if (!l)
        return;
    s = l->rates;
    s.state = (uint8_t)(i->state + 1);
    if (l->worst > s.state)
        s.state = l->worst;
    memset(&l->rates, 0, sizeof(l->rates));
    l->worst = 0;
    l->seen = c->minute;
    if (history_set(c->file, name, c->minute, &s) < 0 && !c->full_told) {
        c->full_told = true;
        snprintf(text, sizeof(text), "no history of %.72s and others: %s", name,
                 errno == ENOSPC ? "there are more links than HistoryLinks"
                                 : strerror(errno));
        tell(text, n);
    }
}

static void forget_gone(struct collector_history *c)
{
    struct series *l, *next;

    HASH_ITER(hh, c->links, l, next)
    {
        if (l->seen == c->minute)
            continue;
        HASH_DEL(c->links, l);
        free(l);
    }
}

static void write_turn(struct clerk_job *job)
{
    history_turn_write(((struct writing *)job)->turn);
}

/* The last ones before the end may not have been begun. */
static void written(struct clerk_job *job, bool cancelled)
{
    struct writing *w = (struct writing *)job;
    struct errbuf err;

    if (cancelled && !history_turn_is_written(w->turn))
        history_turn_write(w->turn);
    if (history_turn_end(w->collector->history->file, w->turn, &err) < 0)
        tell(err.text, w->collector);
    free(w);
}

/* Beside the loop: a disk that stands still holds nothing up.  When as many
 * minutes wait as may, this one is lost. */
static void give_turn(struct collector *n, struct history_turn *turn)
{
    struct writing *w = calloc(1, sizeof(*w));
    struct errbuf err;

    if (w) {
        w->job = (struct clerk_job){write_turn, written, NULL};
        w->collector = n;
        w->turn = turn;
        if (clerk_give(n->writer, &w->job) == 0)
            return;
    }
    free(w);
    if (history_turn_end(n->history->file, turn, &err) < 0)
        tell(err.text, n);
}

static void write_minute(struct collector *n)
{
    struct collector_history *c = n->history;
    const struct health_item *i;
    struct history_turn *turn;

    take_all_rates(n);
    for (i = model_next(n->model, REPORT_HOST, NULL); i;
         i = model_next(n->model, REPORT_HOST, i))
        put(n, i);
    for (i = model_next(n->model, REPORT_LINK, NULL); i;
         i = model_next(n->model, REPORT_LINK, i))
        put(n, i);
    forget_gone(c);
    turn = history_turn_new(c->file, c->minute);
    if (turn)
        give_turn(n, turn);
    else
        tell("a minute of history is lost: no memory", n);
}

void collector_history_tick(struct collector *n, int64_t now)
{
    int64_t minute = minute_of(now);

    if (!n->history || minute == n->history->minute)
        return;
    write_minute(n);
    n->history->minute = minute;
}

void collector_history_close(struct collector *n)
{
    struct series *l, *next;

    if (!n->history)
        return;
    write_minute(n);
    if (n->reader) /* it is in the middle of the file */
        return;
    history_close(n->history->file);
    HASH_ITER(hh, n->history->links, l, next)
    {
        HASH_DEL(n->history->links, l);
        free(l);
    }
    free(n->history);
    n->history = NULL;
}

/* ---- out -------------------------------------------------------------------
 */

static void add(struct json_object *list, bool known, uint64_t value)
{
    json_object_array_add(list, known ? json_object_new_uint64(value) : NULL);
}

static void put_samples(struct json_object *o, const struct history_sample *s,
                        size_t n)
{
    struct json_object *in = json_object_new_array();
    struct json_object *out = json_object_new_array();
    struct json_object *errors = json_object_new_array();
    struct json_object *known = json_object_new_array();
    struct json_object *state = json_object_new_array();

    for (size_t i = 0; i < n; i++) {
        bool sure = s[i].state > 0 && s[i].state <= HEALTH_STATES;

        add(in, s[i].known, s[i].in);
        add(out, s[i].known, s[i].out);
        add(errors, s[i].known, s[i].errors);
        add(known, true, s[i].known);
        json_object_array_add(state,
                              sure ? json_object_new_string(health_state_name(
                                         (enum health_state)(s[i].state - 1)))
                                   : NULL);
    }
    json_object_object_add(o, "in", in);
    json_object_object_add(o, "out", out);
    json_object_object_add(o, "errors", errors);
    json_object_object_add(o, "known", known);
    json_object_object_add(o, "state", state);
}

/* A question on its way to the disk and back. */
struct reading {
    struct clerk_job job; /* first */
    struct collector *collector;
    struct history_asked *asked;
    char name[SF_HISTORY_NAME_MAX];
    int64_t from, step; /* ms */
    size_t n;
    struct json_object *day;
    collector_history_f *give;
    void *arg;
};

static void read_day(struct clerk_job *job)
{
    struct reading *r = (struct reading *)job;

    history_asked_read(r->asked);
    r->day = json_object_new_object();
    jsonx_add_str(r->day, "name", r->name);
    jsonx_add_int(r->day, "from", r->from);
    jsonx_add_int(r->day, "step", r->step);
    put_samples(r->day, history_asked_samples(r->asked), r->n);
}

static void give_day(struct clerk_job *job, bool cancelled)
{
    struct reading *r = (struct reading *)job;

    (void)cancelled; /* there is no day then, or there is one */
    history_asked_end(r->collector->history->file, r->asked);
    r->give(r->day, r->arg);
    json_object_put(r->day);
    free(r);
}

int collector_history_ask(struct collector *n, const char *name,
                          enum history_by by, collector_history_f *give,
                          void *arg)
{
    bool day = by == HISTORY_BY_MINUTE;
    struct reading *r;
    int64_t last = minute_of(steady_now());
    int e;

    errno = ENOENT;
    if (!n->history || !(r = calloc(1, sizeof(*r))))
        return -1;
    *r = (struct reading){.job = {read_day, give_day, NULL},
                          .collector = n,
                          .step = day ? MINUTE_MS : 60 * MINUTE_MS,
                          .n = day ? HISTORY_MINUTES : HISTORY_HOURS,
                          .give = give,
                          .arg = arg};
    last = (day ? last : last / 60) - 1;
    snprintf(r->name, sizeof(r->name), "%s", name);
    r->from = (last + 1 - (int64_t)r->n) * r->step;
    r->asked = history_asked_new(n->history->file, name, by, last, r->n);
    if (r->asked && clerk_give(n->reader, &r->job) == 0)
        return 0;
    e = errno;
    if (r->asked)
        history_asked_end(n->history->file, r->asked);
    free(r);
    errno = e;
    return -1;
}
