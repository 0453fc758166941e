/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happened, for `sfabric events` and the log.
 *
 * A change of an item is held for the moment in which what follows from it is
 * found out.  Of a few all are told, in their order.  Of many at once, as when
 * a mapper falls silent that knows 65 536 hosts, one line tells for all that
 * changed alike: how many, and the first names.  In the long run there are two
 * lines a second: what comes while there have been more is held on, and told as
 * many.  The same goes for alarms, of which only the number is kept.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/log.h"
#include "base/log_pace.h"
#include "switchmgrd/collector.h"

#define FEW 32  /* changes that are told one by one */
#define NAMES 3 /* of those that changed alike */

#define TEXT_SIZE sizeof(((struct collector_event *)0)->text)

/* Items of a kind that went from one state to another. */
struct alike {
    uint64_t n;
    size_t names; /* in its text */
    char text[TEXT_SIZE];
};

struct collector_held {
    struct log_pace of_changes, of_alarms;
    struct alike alike[REPORT_KINDS][HEALTH_STATES][HEALTH_STATES];
    uint64_t n; /* changes; the first of them: */
    struct collector_event few[FEW];
    int64_t since; /* the first one */
    uint64_t alarms;
    char alarm[TEXT_SIZE]; /* the last of them */
};

static bool has_room(const struct log_pace *pace, int64_t now, uint64_t more)
{
    return log_pace_has_room(pace, (uint64_t)now * 1000000, more);
}

static void pay(struct log_pace *pace, int64_t now, uint64_t more)
{
    log_pace_pay(pace, (uint64_t)now * 1000000, more);
}

void collector_event(struct collector *n, int64_t now, const char *fmt, ...)
{
    struct collector_event *e =
        &n->events[n->nevents % SF_SWITCHMGR_EVENTS_MAX];
    va_list ap;

    e->id = ++n->nevents;
    e->at = now;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    log_info("%s", e->text);
}

/* ---- changes ------------------------------------------------------------- */

/* NULL: no memory. */
static struct collector_held *held(struct collector *n)
{
    if (!n->held)
        n->held = calloc(1, sizeof(*n->held));
    return n->held;
}

static void name_of(const struct health_item *i, char *name, size_t size)
{
    bool link = i->kind == REPORT_LINK;

    snprintf(name, size, "%s%s%s rail %u", i->name, link ? " - " : "",
             link ? i->peer : "", i->rail);
}

static void describe(const struct health_item *i, enum health_state was,
                     char *text, size_t size)
{
    char name[2 * SF_REPORT_NAME_MAX + 16];

    name_of(i, name, sizeof(name));
    snprintf(text, size, "%s %s: %s -> %s (%s%s%s)", report_kind_name(i->kind),
             name, health_state_name(was), health_state_name(i->state),
             i->source >= 0 ? report_from_name((enum report_from)i->source)
                            : "derived",
             i->why[0] ? ": " : "", i->why);
}

/* Its text is that of the first one, and after it the names of some more. */
static void add_alike(struct alike *a, const struct health_item *i,
                      enum health_state was)
{
    char name[2 * SF_REPORT_NAME_MAX + 16];
    size_t len;

    if (a->n++ == 0) {
        describe(i, was, a->text, sizeof(a->text));
        a->names = 1;
        return;
    }
    len = strlen(a->text);
    name_of(i, name, sizeof(name));
    if (a->names == NAMES || len + strlen(name) + 32 > sizeof(a->text))
        return;
    snprintf(a->text + len, sizeof(a->text) - len, ", %s", name);
    a->names++;
}

void collector_events_changed(struct collector *n,
                              const struct health_item *item,
                              enum health_state was, int64_t now)
{
    struct collector_held *h = held(n);
    struct collector_event *e = h && h->n < FEW ? &h->few[h->n] : NULL;

    if (!h)
        return;
    if (h->n++ == 0)
        h->since = now;
    if (e) {
        e->at = now;
        describe(item, was, e->text, sizeof(e->text));
    }
    add_alike(&h->alike[item->kind][was][item->state], item, was);
}

static void tell_few(struct collector *n, const struct collector_held *h)
{
    for (uint64_t i = 0; i < h->n; i++)
        collector_event(n, h->few[i].at, "%s", h->few[i].text);
}

/* Returns how many lines. */
static uint64_t tell_alike(struct collector *n, const struct collector_held *h)
{
    const struct alike *a = &h->alike[0][0][0];
    const struct alike *end = a + sizeof(h->alike) / sizeof(*a);
    uint64_t lines = 0;

    for (; a < end; a++) {
        if (a->n == 0)
            continue;
        lines++;
        if (a->n > a->names)
            collector_event(n, h->since, "%s, and %" PRIu64 " more: %" PRIu64,
                            a->text, a->n - a->names, a->n);
        else
            collector_event(n, h->since, "%s", a->text);
    }
    return lines;
}

static void tell_changes(struct collector *n, struct collector_held *h,
                         int64_t now)
{
    uint64_t lines = h->n;

    if (h->n <= FEW && has_room(&h->of_changes, now, h->n))
        tell_few(n, h);
    else if (has_room(&h->of_changes, now, 1))
        lines = tell_alike(n, h);
    else
        return;
    pay(&h->of_changes, now, lines);
    h->n = 0;
    memset(h->alike, 0, sizeof(h->alike));
}

/* ---- alarms -------------------------------------------------------------- */

static void tell_alarms(struct collector *n, struct collector_held *h,
                        int64_t now)
{
    if (!has_room(&h->of_alarms, now, 1))
        return;
    if (h->alarms > 1)
        collector_event(n, now, "alarm: %" PRIu64 " more, the last: %s",
                        h->alarms, h->alarm);
    else
        collector_event(n, now, "alarm: %s", h->alarm);
    pay(&h->of_alarms, now, 1);
    h->alarms = 0;
}

/* The same alarm comes with each report. */
static bool is_told(const struct collector *n, const char *text, int64_t now)
{
    uint64_t last = n->nevents;

    for (int i = 0; i < 16 && last > 0; i++, last--) {
        const struct collector_event *e =
            &n->events[(last - 1) % SF_SWITCHMGR_EVENTS_MAX];

        if (now - e->at < 60000 && strcmp(e->text + 7, text) == 0)
            return true;
    }
    return false;
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    struct collector *n = arg;
    struct collector_held *h = held(n);

    if (!h || is_told(n, text, now))
        return;
    h->alarms++;
    snprintf(h->alarm, sizeof(h->alarm), "%s", text);
    tell_alarms(n, h, now);
}

void collector_events_tell(struct collector *n, int64_t now)
{
    struct collector_held *h = n->held;

    if (h && h->n > 0)
        tell_changes(n, h, now);
    if (h && h->alarms > 0)
        tell_alarms(n, h, now);
}

struct json_object *collector_events_since(const struct collector *n,
                                           uint64_t id, size_t max)
{
    struct json_object *list = json_object_new_array();
    uint64_t from = n->nevents > SF_SWITCHMGR_EVENTS_MAX
                        ? n->nevents - SF_SWITCHMGR_EVENTS_MAX
                        : 0;

    if (id > from)
        from = id;
    if (from < n->nevents && n->nevents - from > max)
        from = n->nevents - max;
    for (uint64_t i = from; i < n->nevents; i++) {
        const struct collector_event *e =
            &n->events[i % SF_SWITCHMGR_EVENTS_MAX];
        struct json_object *o = json_object_new_object();

        jsonx_add_int(o, "id", (int64_t)e->id);
        jsonx_add_int(o, "at", steady_wall(e->at));
        jsonx_add_str(o, "text", e->text);
        json_object_array_add(list, o);
    }
    return list;
}
