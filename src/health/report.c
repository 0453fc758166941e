/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "health/report.h"

static const char *const from_names[] = {"hsnd", "mapperd", "links"};
static const char *const kind_names[] = {"host", "link", "xbar"};
static const char *const seen_names[] = {"unknown", "up", "degraded", "down"};

const char *report_from_name(enum report_from from)
{
    return from_names[from];
}

const char *report_kind_name(enum report_kind kind)
{
    return kind_names[kind];
}

const char *report_seen_name(enum report_seen seen)
{
    return seen_names[seen];
}

void report_free(struct report *r)
{
    free(r->records);
    free(r->counters);
    free(r->peers);
    memset(r, 0, sizeof(*r));
}

static void add_text(struct json_object *o, const char *key, const char *value)
{
    if (*value)
        jsonx_add_str(o, key, value);
}

static struct json_object *put_record(const struct report_record *r)
{
    struct json_object *o = json_object_new_object();

    if (!o)
        return NULL;
    jsonx_add_str(o, "kind", kind_names[r->kind]);
    jsonx_add_str(o, "seen", seen_names[r->seen]);
    add_text(o, "name", r->name);
    add_text(o, "peer", r->peer);
    add_text(o, "why", r->why);
    if (r->board)
        jsonx_add_hex(o, "board", r->board);
    if (r->rail)
        jsonx_add_int(o, "rail", r->rail);
    if (r->count)
        jsonx_add_int(o, "count", (int64_t)r->count);
    if (r->answered != ANSWERED_NOT_SAID)
        jsonx_add_bool(o, "answered", r->answered == ANSWERED_YES);
    if (r->turned != ANSWERED_NOT_SAID)
        jsonx_add_bool(o, "turned", r->turned == ANSWERED_YES);
    if (r->asked)
        jsonx_add_int(o, "asked", r->asked);
    return o;
}

static struct json_object *put_counter(const struct report_counter *c)
{
    struct json_object *o = json_object_new_object();

    if (!o)
        return NULL;
    jsonx_add_int(o, "rail", c->rail);
    jsonx_add_str(o, "name", c->name);
    jsonx_add_int(o, "value", (int64_t)(c->value & INT64_MAX));
    return o;
}

static struct json_object *put_peer(const struct report_peer *p)
{
    struct json_object *o = json_object_new_object();

    if (!o)
        return NULL;
    jsonx_add_int(o, "rail", p->rail);
    jsonx_add_hex(o, "board", p->board);
    jsonx_add_int(o, "sent", p->sent);
    jsonx_add_int(o, "lost", p->lost);
    return o;
}

static struct json_object *put_map(const struct report_map *m)
{
    struct json_object *o = json_object_new_object();

    if (!o)
        return NULL;
    jsonx_add_int(o, "version", (int64_t)(m->version & INT64_MAX));
    jsonx_add_bool(o, "leader", m->leader);
    jsonx_add_bool(o, "configured", m->configured);
    add_text(o, "leader_node", m->leader_node);
    jsonx_add_int(o, "verify_us", m->verify_us);
    if (m->parts) {
        jsonx_add_int(o, "part", m->part);
        jsonx_add_int(o, "parts", m->parts);
    }
    return o;
}

/* False: no memory. */
static bool put_array(struct json_object *o, const char *key,
                      struct json_object *item)
{
    struct json_object *a = NULL;

    if (!item)
        return false;
    if (!json_object_object_get_ex(o, key, &a)) {
        a = json_object_new_array();
        if (!a || json_object_object_add(o, key, a) < 0) {
            json_object_put(a);
            json_object_put(item);
            return false;
        }
    }
    if (json_object_array_add(a, item) == 0)
        return true;
    json_object_put(item);
    return false;
}

static bool put_all(struct json_object *o, const struct report *r)
{
    jsonx_add_int(o, "v", REPORT_VERSION);
    jsonx_add_str(o, "from", from_names[r->from]);
    jsonx_add_str(o, "node", r->node);
    jsonx_add_int(o, "instance", (int64_t)(r->instance & INT64_MAX));
    jsonx_add_int(o, "seq", (int64_t)(r->seq & INT64_MAX));
    if (r->map.present &&
        json_object_object_add(o, "map", put_map(&r->map)) < 0)
        return false;
    for (size_t i = 0; i < r->nrecords; i++) {
        if (!put_array(o, "records", put_record(&r->records[i])))
            return false;
    }
    for (size_t i = 0; i < r->ncounters; i++) {
        if (!put_array(o, "counters", put_counter(&r->counters[i])))
            return false;
    }
    for (size_t i = 0; i < r->npeers; i++) {
        if (!put_array(o, "peers", put_peer(&r->peers[i])))
            return false;
    }
    return true;
}

char *report_encode(const struct report *r, struct errbuf *err)
{
    struct json_object *o;
    const char *text;
    char *copy = NULL;
    size_t len;

    if (r->nrecords > SF_REPORT_RECORDS_MAX ||
        r->ncounters > SF_REPORT_COUNTERS_MAX ||
        r->npeers > SF_REPORT_PEERS_MAX) {
        errprintf(err,
                  "a report holds at most %d records, %d counters and "
                  "%d peers",
                  SF_REPORT_RECORDS_MAX, SF_REPORT_COUNTERS_MAX,
                  SF_REPORT_PEERS_MAX);
        errno = EINVAL;
        return NULL;
    }
    o = json_object_new_object();
    if (o && put_all(o, r) && (text = jsonx_text(o, &len)))
        copy = strdup(text);
    json_object_put(o);
    if (!copy) {
        errprintf(err, "out of memory");
        errno = ENOMEM;
    }
    return copy;
}
