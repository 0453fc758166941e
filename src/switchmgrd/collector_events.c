/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happened, for `sfabric events` and the log.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/log.h"
#include "switchmgrd/collector.h"

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

void collector_events_changed(struct collector *n,
                              const struct health_item *item,
                              enum health_state was, int64_t now)
{
    const char *sep = item->kind == REPORT_LINK ? " - " : "";

    collector_event(
        n, now, "%s %s%s%s rail %u: %s -> %s (%s%s%s)",
        report_kind_name(item->kind), item->name, sep, *sep ? item->peer : "",
        item->rail, health_state_name(was), health_state_name(item->state),
        item->source >= 0 ? report_from_name((enum report_from)item->source)
                          : "derived",
        item->why[0] ? ": " : "", item->why);
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    struct collector *n = arg;
    uint64_t last = n->nevents;

    /* The same alarm comes with each report. */
    for (int i = 0; i < 16 && last > 0; i++, last--) {
        const struct collector_event *e =
            &n->events[(last - 1) % SF_SWITCHMGR_EVENTS_MAX];

        if (now - e->at < 60000 && strcmp(e->text + 7, text) == 0)
            return;
    }
    collector_event(n, now, "alarm: %s", text);
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
