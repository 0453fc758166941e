/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "health/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/number.h"

static const char *const from_names[] = {"hsnd", "mapperd", "links", "nicd"};
static const char *const kind_names[] = {"host", "link", "xbar"};
static const char *const seen_names[] = {"unknown", "up", "degraded", "down"};

void report_name(char to[SF_REPORT_NAME_MAX], const char *text)
{
    snprintf(to, SF_REPORT_NAME_MAX, "%s", text);
    for (char *c = to; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
            *c = '_';
}

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
    add_text(o, "nic", r->nic);
    if (r->mbps)
        jsonx_add_int(o, "mbps", r->mbps);
    if (r->never)
        jsonx_add_bool(o, "never", true);
    if (r->out)
        jsonx_add_bool(o, "out", true);
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
    if (m->rail)
        jsonx_add_int(o, "rail", m->rail);
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

char *report_with_key(const char *text, const uint8_t key[SF_REPORT_KEY])
{
    static const char head[] = "{\"key\":\"", tail[] = "\",";
    size_t len = strlen(text);
    char *out = malloc(sizeof(head) + 2 * SF_REPORT_KEY + sizeof(tail) + len);
    char *at = out;

    if (!out)
        return NULL;
    at = stpcpy(at, head);
    for (int i = 0; i < SF_REPORT_KEY; i++)
        at += sprintf(at, "%02x", key[i]);
    at = stpcpy(at, tail);
    strcpy(at, text + 1); /* after its brace */
    return out;
}

/* Where the number seq begins.  No text of a report holds a quote. */
static const char *seq_of(const char *text)
{
    const char *at = strstr(text, "\"seq\":");

    return at ? at + strcspn(at, "0123456789") : text;
}

bool report_same_text(const char *a, const char *b)
{
    const char *x = seq_of(a), *y = seq_of(b);

    return x - a == y - b && memcmp(a, b, (size_t)(x - a)) == 0 &&
           strcmp(x + strspn(x, "0123456789"), y + strspn(y, "0123456789")) ==
               0;
}

/* ---- report decode ----------------------------------------------------- */

static int bad(struct errbuf *err, const char *what)
{
    errprintf(err, "malformed report: %s", what);
    errno = EBADMSG;
    return -1;
}

static bool clean(const char *s, const char *also)
{
    for (; *s; s++) {
        if (!isalnum((unsigned char)*s) && !strchr(also, *s))
            return false;
    }
    return true;
}

static bool has(struct json_object *o, const char *key)
{
    return json_object_object_get_ex(o, key, NULL);
}

/* An optional text: absent is "". */
static bool get_text(struct json_object *o, const char *key, char *out,
                     size_t size, const char *also)
{
    const char *s = jsonx_str(o, key, size);

    if (!s)
        return !has(o, key);
    if (!clean(s, also))
        return false;
    strcpy(out, s);
    return true;
}

static bool get_number(struct json_object *o, const char *key, int64_t max,
                       uint64_t *out)
{
    int64_t v = 0;

    if (!jsonx_int(o, key, 0, max, &v) && has(o, key))
        return false;
    *out = (uint64_t)v;
    return true;
}

static bool get_u32(struct json_object *o, const char *key, uint32_t max,
                    uint32_t *out)
{
    uint64_t v;

    if (!get_number(o, key, max, &v))
        return false;
    *out = (uint32_t)v;
    return true;
}

static bool get_rail(struct json_object *o, uint8_t *rail)
{
    uint64_t v;

    if (!get_number(o, "rail", SF_ELAN_RAILS_MAX - 1, &v))
        return false;
    *rail = (uint8_t)v;
    return true;
}

static int find_word(struct json_object *o, const char *key, int n,
                     const char *(*name)(int))
{
    const char *s = jsonx_str(o, key, 32);

    for (int i = 0; s && i < n; i++) {
        if (strcmp(s, name(i)) == 0)
            return i;
    }
    return -1;
}

static const char *from_name(int i)
{
    return report_from_name((enum report_from)i);
}

static const char *kind_name(int i)
{
    return report_kind_name((enum report_kind)i);
}

static const char *seen_name(int i)
{
    return report_seen_name((enum report_seen)i);
}

static bool identified(const struct report_record *r)
{
    switch (r->kind) {
    case REPORT_HOST:
        return r->name[0] || r->board;
    case REPORT_LINK:
        return r->name[0] && r->peer[0];
    case REPORT_XBAR:
        return r->name[0] != '\0';
    }
    return false;
}

static bool get_answered(struct json_object *o, const char *key, uint8_t *out)
{
    bool yes = false;

    if (!has(o, key))
        return true;
    *out = ANSWERED_NO;
    if (!jsonx_bool(o, key, &yes))
        return false;
    if (yes)
        *out = ANSWERED_YES;
    return true;
}

/* An optional yes: absent is no. */
static bool get_yes(struct json_object *o, const char *key, bool *out)
{
    return jsonx_bool(o, key, out) || !has(o, key);
}

static bool get_nic(struct json_object *o, struct report_record *r)
{
    return get_text(o, "nic", r->nic, sizeof(r->nic), REPORT_WHY_ALSO) &&
           get_u32(o, "mbps", INT32_MAX, &r->mbps) &&
           get_yes(o, "never", &r->never) && get_yes(o, "out", &r->out);
}

static bool get_record(struct json_object *o, void *out)
{
    struct report_record *r = out;
    int kind = find_word(o, "kind", REPORT_KINDS, kind_name);
    int seen = find_word(o, "seen", 4, seen_name);

    if (kind < 0 || seen < 0)
        return false;
    r->kind = (enum report_kind)kind;
    r->seen = (enum report_seen)seen;
    return get_rail(o, &r->rail) &&
           get_text(o, "name", r->name, sizeof(r->name), REPORT_NAME_ALSO) &&
           get_text(o, "peer", r->peer, sizeof(r->peer), REPORT_NAME_ALSO) &&
           get_text(o, "why", r->why, sizeof(r->why), REPORT_WHY_ALSO) &&
           get_number(o, "count", INT64_MAX, &r->count) &&
           get_answered(o, "answered", &r->answered) &&
           get_answered(o, "turned", &r->turned) &&
           get_u32(o, "asked", INT32_MAX, &r->asked) &&
           (jsonx_hex(o, "board", &r->board) || !has(o, "board")) &&
           get_nic(o, r) && identified(r);
}

static bool get_counter(struct json_object *o, void *out)
{
    struct report_counter *c = out;

    if (!get_rail(o, &c->rail) ||
        !get_text(o, "name", c->name, sizeof(c->name), REPORT_NAME_ALSO) ||
        !get_number(o, "value", INT64_MAX, &c->value) || !c->name[0])
        return false;
    return strcspn(c->name, ".-:") == strlen(c->name);
}

static bool get_peer(struct json_object *o, void *out)
{
    struct report_peer *p = out;

    return get_rail(o, &p->rail) && jsonx_hex(o, "board", &p->board) &&
           get_u32(o, "sent", INT32_MAX, &p->sent) &&
           get_u32(o, "lost", p->sent, &p->lost);
}

/* An optional array of objects.  Its length is looked at before anything is
 * allocated. */
static int get_array(struct json_object *o, const char *key, size_t max,
                     size_t size, bool (*get)(struct json_object *, void *),
                     void *items, size_t *n, struct errbuf *err)
{
    struct json_object *a = jsonx_array(o, key, n);
    char *mem;

    if (!a && !has(o, key))
        return 0;
    if (!a || *n > max)
        return bad(err, key);
    mem = calloc(*n ? *n : 1, size);
    memcpy(items, &mem, sizeof(mem));
    if (!mem) {
        errprintf(err, "out of memory");
        errno = ENOMEM;
        return -1;
    }
    for (size_t i = 0; i < *n; i++) {
        if (!get(json_object_array_get_idx(a, i), mem + i * size))
            return bad(err, key);
    }
    return 0;
}

static int get_map(struct json_object *o, struct report_map *m,
                   struct errbuf *err)
{
    struct json_object *map = jsonx_object(o, "map");

    if (!map)
        return has(o, "map") ? bad(err, "map") : 0;
    m->present = true;
    if (!jsonx_bool(map, "leader", &m->leader) ||
        !jsonx_bool(map, "configured", &m->configured) ||
        !get_number(map, "version", INT64_MAX, &m->version) ||
        !get_text(map, "leader_node", m->leader_node, sizeof(m->leader_node),
                  REPORT_NAME_ALSO) ||
        !get_rail(map, &m->rail) ||
        !get_u32(map, "verify_us", INT32_MAX, &m->verify_us) ||
        !get_u32(map, "parts", SF_REPORT_PARTS_MAX, &m->parts) ||
        !get_u32(map, "part", m->parts, &m->part) || (m->parts && !m->part))
        return bad(err, "map");
    return 0;
}

/* An optional key: absent is none. */
static bool get_key(struct json_object *o, struct report *r)
{
    const char *s = jsonx_str(o, "key", 2 * SF_REPORT_KEY + 1);

    if (!s)
        return !has(o, "key");
    if (number_hex(r->key, sizeof(r->key), s) < 0)
        return false;
    r->has_key = true;
    return true;
}

static int get_head(struct json_object *o, struct report *r, struct errbuf *err)
{
    int from = find_word(o, "from", REPORT_FROMS, from_name);
    int64_t v;

    if (!jsonx_int(o, "v", 0, INT32_MAX, &v))
        return bad(err, "v");
    if (v != REPORT_VERSION) {
        errprintf(err, "a report of version %ld, not %d", (long)v,
                  REPORT_VERSION);
        errno = EPROTO;
        return -1;
    }
    if (from < 0)
        return bad(err, "from");
    r->from = (enum report_from)from;
    if (!get_text(o, "node", r->node, sizeof(r->node), REPORT_NAME_ALSO) ||
        !r->node[0])
        return bad(err, "node");
    if (!get_number(o, "instance", INT64_MAX, &r->instance) ||
        !get_number(o, "seq", INT64_MAX, &r->seq))
        return bad(err, "instance or seq");
    return get_key(o, r) ? 0 : bad(err, "key");
}

/* Each value is a time series of its own: a name that occurs twice on a rail
 * would spoil the whole scrape. */
static bool counted_twice(const struct report *r)
{
    for (size_t i = 1; i < r->ncounters; i++) {
        for (size_t j = 0; j < i; j++) {
            if (r->counters[i].rail == r->counters[j].rail &&
                strcmp(r->counters[i].name, r->counters[j].name) == 0)
                return true;
        }
    }
    return false;
}

static int get_all(struct json_object *o, struct report *r, struct errbuf *err)
{
    if (get_head(o, r, err) < 0 || get_map(o, &r->map, err) < 0)
        return -1;
    if (get_array(o, "records", SF_REPORT_RECORDS_MAX, sizeof(*r->records),
                  get_record, &r->records, &r->nrecords, err) < 0)
        return -1;
    if (get_array(o, "counters", SF_REPORT_COUNTERS_MAX, sizeof(*r->counters),
                  get_counter, &r->counters, &r->ncounters, err) < 0)
        return -1;
    if (counted_twice(r))
        return bad(err, "a counter twice");
    return get_array(o, "peers", SF_REPORT_PEERS_MAX, sizeof(*r->peers),
                     get_peer, &r->peers, &r->npeers, err);
}

int report_decode(struct report *r, const char *text, size_t len,
                  struct errbuf *err)
{
    struct json_object *o;
    int rc, e;

    memset(r, 0, sizeof(*r));
    o = jsonx_parse(text, len, err);
    if (!o)
        return -1;
    rc = get_all(o, r, err);
    e = errno;
    json_object_put(o);
    if (rc < 0)
        report_free(r);
    errno = e;
    return rc;
}
