/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model in a file: what is published, and the evidence with its age.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "health/model_priv.h"

#define STATE_VERSION 1

/* One item's text, the longest that there can be: six bytes for each of its
 * texts' characters, and numbers. */
#define ITEM_SIZE                                                              \
    (6 * (2 * SF_REPORT_NAME_MAX + SF_REPORT_NIC_MAX +                         \
          REPORT_FROMS * SF_REPORT_WHY_MAX) +                                  \
     32 * 2 * MODEL_FLAPS_MAX + 2048)

/* An item as JSON.  All are written at once, with reports waiting meanwhile:
 * no printf() and no json-c here. */
struct text {
    size_t len;
    char at[ITEM_SIZE];
};

static const char hex_digits[] = "0123456789abcdef";

static void put(struct text *t, const char *s)
{
    size_t len = strlen(s);

    memcpy(t->at + t->len, s, len);
    t->len += len;
}

static void put_int(struct text *t, int64_t value)
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[20];
    int n = 0;

    if (value < 0)
        t->at[t->len++] = '-';
    do
        digits[n++] = (char)('0' + left % 10);
    while (left /= 10);
    while (n > 0)
        t->at[t->len++] = digits[--n];
}

/* Nearly all names are without what has to be written otherwise. */
static void put_str(struct text *t, const char *s)
{
    t->at[t->len++] = '"';
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c >= 32 && c != '"' && c != '\\') {
            t->at[t->len++] = *s;
            continue;
        }
        put(t, "\\u00");
        t->at[t->len++] = hex_digits[c >> 4];
        t->at[t->len++] = hex_digits[c & 15];
    }
    t->at[t->len++] = '"';
}

static void add_int(struct text *t, const char *key, int64_t value)
{
    put(t, key);
    put_int(t, value);
}

static void add_str(struct text *t, const char *key, const char *value)
{
    put(t, key);
    put_str(t, value);
}

static void add_bool(struct text *t, const char *key, bool value)
{
    put(t, key);
    put(t, value ? "true" : "false");
}

static void put_evidence(struct text *t, const struct health_evidence *e,
                         enum report_from from, int64_t at)
{
    add_str(t, "{\"from\":", report_from_name(from));
    add_str(t, ",\"seen\":", report_seen_name(e->seen));
    add_str(t, ",\"why\":", e->why);
    add_int(t, ",\"at\":", at);
    if (e->answered != ANSWERED_NOT_SAID)
        add_bool(t, ",\"answered\":", e->answered == ANSWERED_YES);
    if (e->turned != ANSWERED_NOT_SAID)
        add_bool(t, ",\"turned\":", e->turned == ANSWERED_YES);
    if (e->asked)
        add_int(t, ",\"asked\":", e->asked);
    put(t, "}");
}

static void put_times(struct text *t, const char *key, const int64_t *at,
                      uint32_t n)
{
    put(t, key);
    for (uint32_t i = 0; i < n && i < MODEL_FLAPS_MAX; i++) {
        if (i > 0)
            put(t, ",");
        put_int(t, at[i]);
    }
    put(t, "]");
}

static void put_nic(struct text *t, const struct model_item *it)
{
    if (!it->nic[0])
        return;
    add_str(t, ",\"nic\":", it->nic);
    add_bool(t, ",\"was_up\":", it->nic_was_up);
    add_bool(t, ",\"never\":", it->nic_never);
    add_int(t, ",\"mbps\":", it->nic_mbps);
}

static void add_hex(struct text *t, const char *key, uint64_t value)
{
    put(t, key);
    t->at[t->len++] = '"';
    for (int shift = 60; shift >= 0; shift -= 4)
        t->at[t->len++] = hex_digits[value >> shift & 15];
    t->at[t->len++] = '"';
}

static void put_all_evidence(struct text *t, const struct model *m,
                             const struct model_item *it)
{
    const char *comma = "";

    put(t, ",\"evidence\":[");
    for (int from = 0; from < REPORT_FROMS; from++) {
        const struct health_evidence *e = &it->pub.evidence[from];

        if (!e->known)
            continue;
        put(t, comma);
        put_evidence(t, e, (enum report_from)from,
                     model_vouched(m, it, (enum report_from)from));
        comma = ",";
    }
    put(t, "]");
}

static void put_item(struct text *t, const struct model *m,
                     const struct model_item *it)
{
    add_str(t, "{\"kind\":", report_kind_name(it->pub.kind));
    add_int(t, ",\"rail\":", it->pub.rail);
    add_str(t, ",\"name\":", it->pub.name);
    add_str(t, ",\"peer\":", it->pub.peer);
    add_hex(t, ",\"board\":", it->pub.board);
    add_str(t, ",\"state\":", health_state_name(it->pub.state));
    add_int(t, ",\"since\":", it->pub.since);
    add_int(t, ",\"count\":", it->pub.count);
    add_bool(t, ",\"bad\":", it->bad_before);
    add_int(t, ",\"raw_since\":", it->raw_since);
    add_str(t, ",\"raw\":", report_seen_name(it->raw));
    if (it->errors.high)
        add_int(t, ",\"errors\":", it->errors.rate);
    put_nic(t, it);
    add_bool(t, ",\"mapped\":", model_is_mapped(m, it));
    if (it->map)
        add_int(t, ",\"map\":", it->map);
    put_all_evidence(t, m, it);
    put_times(t, ",\"downs\":[", it->downs, it->ndowns);
    put_times(t, ",\"gaps\":[", it->gaps, it->ngaps);
    put(t, "}");
}

void model_save(const struct model *m, int64_t now, model_write_f *write,
                void *arg)
{
    const struct model_item *it;
    struct text t = {0};

    add_int(&t, "\"v\":", STATE_VERSION);
    add_int(&t, ",\"saved\":", now);
    put(&t, ",\"items\":[");
    write(t.at, t.len, arg);
    for (it = m->items; it; it = it->hh.next) {
        t.len = 0;
        if (it != m->items)
            put(&t, ",");
        put_item(&t, m, it);
        write(t.at, t.len, arg);
    }
    write("]", 1, arg);
}

/* What is known of how the times of the file become today's. */
struct shift {
    int64_t by; /* added to the age of evidence */
    int64_t now;
};

static int word(struct json_object *o, const char *key, int n,
                const char *(*name)(int))
{
    const char *s = jsonx_str(o, key, 32);

    for (int i = 0; s && i < n; i++) {
        if (strcmp(name(i), s) == 0)
            return i;
    }
    return -1;
}

static const char *kind_of(int i)
{
    return report_kind_name((enum report_kind)i);
}

static const char *from_of(int i)
{
    return report_from_name((enum report_from)i);
}

static const char *seen_of(int i)
{
    return report_seen_name((enum report_seen)i);
}

/* How long nobody answers is to be seen anew. */
static bool get_answered(struct json_object *o, struct health_evidence *e,
                         int64_t now)
{
    int64_t asked = 0;
    bool yes;

    if (json_object_object_get_ex(o, "answered", NULL)) {
        if (!jsonx_bool(o, "answered", &yes))
            return false;
        e->answered = yes ? ANSWERED_YES : ANSWERED_NO;
    }
    if (json_object_object_get_ex(o, "turned", NULL)) {
        if (!jsonx_bool(o, "turned", &yes))
            return false;
        e->turned = yes ? ANSWERED_YES : ANSWERED_NO;
    }
    if (json_object_object_get_ex(o, "asked", NULL) &&
        !jsonx_int(o, "asked", 0, INT32_MAX, &asked))
        return false;
    e->asked = (uint32_t)asked;
    e->alone_since = e->answered == ANSWERED_NO ? now : 0;
    return true;
}

static bool get_evidence(struct json_object *o, struct model_item *it,
                         const struct shift *shift)
{
    int from = word(o, "from", REPORT_FROMS, from_of);
    int seen = word(o, "seen", 4, seen_of);
    const char *why = jsonx_str(o, "why", SF_REPORT_WHY_MAX);
    struct health_evidence *e;

    if (from < 0 || seen < 0 || !why)
        return false;
    e = &it->pub.evidence[from];
    if (!jsonx_int(o, "at", 0, shift->now, &e->at))
        return false;
    e->at += shift->by;
    if (!get_answered(o, e, shift->now))
        return false;
    e->known = true;
    e->seen = (enum report_seen)seen;
    strcpy(e->why, why);
    return true;
}

/* Times of faults.  They may be absent. */
static bool get_faults(struct json_object *o, const char *key,
                       int64_t at[MODEL_FLAPS_MAX], uint32_t *n)
{
    size_t len = 0;
    struct json_object *a = jsonx_array(o, key, &len);

    if (!a)
        return !json_object_object_get_ex(o, key, NULL);
    if (len > MODEL_FLAPS_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        at[i] = json_object_get_int64(json_object_array_get_idx(a, i));
    *n = (uint32_t)len;
    return true;
}

static bool get_times(struct json_object *o, struct model_item *it,
                      const struct shift *shift)
{
    return get_faults(o, "downs", it->downs, &it->ndowns) &&
           get_faults(o, "gaps", it->gaps, &it->ngaps) &&
           jsonx_int(o, "since", 0, shift->now, &it->pub.since) &&
           jsonx_int(o, "raw_since", 0, shift->now, &it->raw_since) &&
           (it->back_since = it->raw_since) >= 0;
}

/* Of a cable that was bad: it is so until it is seen to be well. */
static bool get_errors(struct json_object *o, struct model_item *it)
{
    int64_t rate = 0;

    if (!json_object_object_get_ex(o, "errors", NULL))
        return true;
    it->errors.high = jsonx_int(o, "errors", 0, RATE_WHOLE, &rate);
    it->errors.rate = (uint32_t)rate;
    return it->errors.high;
}

/* What nicd told; it may be absent. */
static bool get_nic(struct json_object *o, struct model_item *it)
{
    const char *nic = jsonx_str(o, "nic", SF_REPORT_NIC_MAX);
    int64_t mbps;

    if (!nic)
        return !json_object_object_get_ex(o, "nic", NULL);
    strcpy(it->nic, nic);
    if (!jsonx_bool(o, "was_up", &it->nic_was_up) ||
        !jsonx_bool(o, "never", &it->nic_never) ||
        !jsonx_int(o, "mbps", 0, UINT32_MAX, &mbps))
        return false;
    it->nic_mbps = (uint32_t)mbps;
    return true;
}

static bool get_judgement(struct model *m, struct json_object *o,
                          struct model_item *it)
{
    int state = health_state_parse(jsonx_str(o, "state", 32));
    int raw = word(o, "raw", 4, seen_of);
    bool mapped = false;
    int64_t count, map = 0;

    if (state < 0 || raw < 0 || !jsonx_int(o, "count", 0, UINT32_MAX, &count) ||
        !jsonx_bool(o, "bad", &it->bad_before) ||
        !jsonx_hex(o, "board", &it->pub.board) ||
        !jsonx_bool(o, "mapped", &mapped) ||
        (json_object_object_get_ex(o, "map", NULL) &&
         !jsonx_int(o, "map", 0, SF_ELAN_RAILS_MAX - 1, &map)))
        return false;
    m->counts[it->pub.kind][it->pub.state]--;
    m->counts[it->pub.kind][state]++;
    it->pub.state = (enum health_state)state;
    it->raw = (enum report_seen)raw;
    it->judged = true;
    it->pub.count = (uint32_t)count;
    it->map = (uint8_t)map;
    it->epoch = mapped ? m->epoch : 0;
    return true;
}

static bool get_item(struct model *m, struct json_object *o,
                     const struct shift *shift)
{
    int kind = word(o, "kind", REPORT_KINDS, kind_of);
    const char *name = jsonx_str(o, "name", SF_REPORT_NAME_MAX);
    const char *peer = jsonx_str(o, "peer", SF_REPORT_NAME_MAX);
    struct model_item *it;
    struct json_object *a;
    int64_t rail;
    size_t n;

    if (kind < 0 || !name || !peer ||
        !jsonx_int(o, "rail", 0, SF_ELAN_RAILS_MAX - 1, &rail))
        return false;
    it = model_item_make(m, (enum report_kind)kind, (uint8_t)rail, name,
                         kind == REPORT_LINK ? peer : "", shift->now);
    a = jsonx_array(o, "evidence", &n);
    if (!it || !a || n > REPORT_FROMS)
        return false;
    strcpy(it->pub.peer, peer);
    for (size_t i = 0; i < n; i++) {
        if (!get_evidence(json_object_array_get_idx(a, i), it, shift))
            return false;
    }
    if (it->pub.evidence[REPORT_HSND].known)
        m->hsnd_rails |= (uint8_t)(1u << rail);
    return get_times(o, it, shift) && get_errors(o, it) && get_nic(o, it) &&
           get_judgement(m, o, it);
}

static void drop_all(struct model *m)
{
    struct model_item *it, *next;

    HASH_ITER(hh, m->items, it, next)
    model_item_drop(m, it);
}

int model_load(struct model *m, struct json_object *saved, int64_t now,
               int64_t gap_max, struct errbuf *err)
{
    size_t n;
    struct json_object *items = jsonx_array(saved, "items", &n);
    struct shift shift = {.now = now};
    int64_t v, at;

    errno = EBADMSG;
    if (!items || n > SF_HEALTH_ITEMS_MAX || m->items ||
        !jsonx_int(saved, "v", STATE_VERSION, STATE_VERSION, &v) ||
        !jsonx_int(saved, "saved", 0, now, &at))
        return errprintf(err, "not a saved model of this version");
    if (now - at <= gap_max)
        shift.by = now - at;
    m->epoch = 1;
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        m->maps[rail].epoch = m->epoch;
    for (size_t i = 0; i < n; i++) {
        if (get_item(m, json_object_array_get_idx(items, i), &shift))
            continue;
        drop_all(m);
        errno = EBADMSG;
        return errprintf(err, "item %zu of the saved model is malformed", i);
    }
    return 0;
}
