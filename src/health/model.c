/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

void model_conf_defaults(struct model_conf *c)
{
    *c = (struct model_conf){
        .stale = {15000, 15000, 60000},
        .down_after = 0,
        .degrade_after = 2000,
        .up_after = 10000,
        .flap_window = 300000,
        .flap_hold = 10000,
        .flap_quiet = 300000,
        .forget_after = 86400000,
        .leader_lease = 3000,
        .rival_after = MODEL_RIVAL_MS,
        .silent_after = 300000,
        .flap_count = 4,
        .echo_loss = 20,
        .echo_reporters = 3,
        .uplink_percent = 50,
        .errors = {.limit = 100,
                   .least = 10,
                   .traffic = 1000,
                   .window = 60000,
                   .clean = 3},
    };
}

struct model *model_new(const struct model_conf *conf,
                        const struct model_ops *ops)
{
    struct model *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    if (ops)
        m->ops = *ops;
    model_set_conf(m, conf);
    return m;
}

void model_set_conf(struct model *m, const struct model_conf *conf)
{
    m->conf = *conf;
    if (m->conf.flap_count > MODEL_FLAPS_MAX)
        m->conf.flap_count = MODEL_FLAPS_MAX;
    if (m->conf.echo_reporters > MODEL_ECHOES_MAX)
        m->conf.echo_reporters = MODEL_ECHOES_MAX;
}

void model_free(struct model *m)
{
    struct model_item *it, *next;
    struct model_reporter *r, *rnext;

    if (!m)
        return;
    HASH_ITER(hh, m->items, it, next)
    model_item_drop(m, it);
    HASH_ITER(hh, m->reporters, r, rnext)
    {
        HASH_DEL(m->reporters, r);
        model_counters_drop(m, r);
        free(r);
    }
    free(m);
}

static char *put_name(char *at, const char *name)
{
    size_t len = strnlen(name, SF_REPORT_NAME_MAX - 1);

    memcpy(at, name, len);
    at[len] = '/';
    return at + len + 1;
}

/* Returns its length.  The ends of a link have no order of their own.  Every
 * node is looked up several times a second: no printf() here. */
static size_t make_key(char *key, enum report_kind kind, uint8_t rail,
                       const char *name, const char *peer)
{
    bool link = kind == REPORT_LINK;
    bool swap = link && strcmp(name, peer) > 0;
    char *at = key;

    *at++ = (char)('0' + (int)kind);
    *at++ = (char)('A' + rail);
    at = put_name(at, swap ? peer : name);
    if (link)
        at = put_name(at, swap ? name : peer);
    *at = '\0';
    return (size_t)(at - key);
}

_Static_assert(SF_ELAN_RAILS_MAX <= 'Z' - 'A', "a letter for each rail");

struct model_item *model_item_get(struct model *m, enum report_kind kind,
                                  uint8_t rail, const char *name,
                                  const char *peer)
{
    char key[MODEL_KEY_MAX];
    size_t len = make_key(key, kind, rail, name, peer);
    struct model_item *it;

    HASH_FIND(hh, m->items, key, len, it);
    return it;
}

struct model_item *model_item_make(struct model *m, enum report_kind kind,
                                   uint8_t rail, const char *name,
                                   const char *peer, int64_t now)
{
    struct model_item *it = model_item_get(m, kind, rail, name, peer);

    if (it)
        return it;
    if (HASH_COUNT(m->items) >= SF_HEALTH_ITEMS_MAX) {
        errno = ENOSPC;
        return NULL;
    }
    it = calloc(1, sizeof(*it));
    if (!it)
        return NULL;
    make_key(it->key, kind, rail, name, peer);
    it->pub.kind = kind;
    it->pub.rail = rail;
    it->pub.state = HEALTH_UNKNOWN;
    it->pub.since = now;
    it->pub.source = -1;
    snprintf(it->pub.name, sizeof(it->pub.name), "%s", name);
    snprintf(it->pub.peer, sizeof(it->pub.peer), "%s", peer);
    HASH_ADD_STR(m->items, key, it);
    m->counts[kind][HEALTH_UNKNOWN]++;
    if (kind == REPORT_HOST && rail >= m->nrails)
        m->nrails = (uint8_t)(rail + 1);
    return it;
}

void model_item_drop(struct model *m, struct model_item *it)
{
    m->counts[it->pub.kind][it->pub.state]--;
    HASH_DEL(m->items, it);
    free(it);
}

const struct model_reporter *model_reporter_find(const struct model *m,
                                                 enum report_from from,
                                                 const char *node, uint8_t rail)
{
    struct model_reporter *r;
    char key[sizeof(r->key)];

    snprintf(key, sizeof(key), "%d/%u/%s", (int)from, rail, node);
    HASH_FIND_STR(m->reporters, key, r);
    return r;
}

/* A node has one hsnd for each of its NICs, and one mapper. */
static uint8_t rail_of(const struct report *rep)
{
    if (rep->from != REPORT_HSND)
        return 0;
    if (rep->nrecords)
        return rep->records[0].rail;
    if (rep->ncounters)
        return rep->counters[0].rail;
    return rep->npeers ? rep->peers[0].rail : 0;
}

struct model_reporter *model_reporter_get(struct model *m,
                                          const struct report *rep)
{
    uint8_t rail = rail_of(rep);
    struct model_reporter *r;
    char key[sizeof(r->key)];

    snprintf(key, sizeof(key), "%d/%u/%s", (int)rep->from, rail, rep->node);
    HASH_FIND_STR(m->reporters, key, r);
    if (r)
        return r;
    if (HASH_COUNT(m->reporters) >= SF_HEALTH_REPORTERS_MAX) {
        errno = ENOSPC;
        return NULL;
    }
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    memcpy(r->key, key, sizeof(key));
    r->pub.from = rep->from;
    r->pub.rail = rail;
    snprintf(r->pub.node, sizeof(r->pub.node), "%s", rep->node);
    HASH_ADD_STR(m->reporters, key, r);
    return r;
}

void model_alarm(struct model *m, int64_t now, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (!m->ops.alarm)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    m->ops.alarm(text, now, m->ops.arg);
}

const struct health_item *model_next(const struct model *m,
                                     enum report_kind kind,
                                     const struct health_item *item)
{
    const struct model_item *it =
        item ? ((const struct model_item *)item)->hh.next : m->items;

    while (it && it->pub.kind != kind)
        it = it->hh.next;
    return it ? &it->pub : NULL;
}

const struct health_item *model_host(const struct model *m, const char *node,
                                     uint8_t rail)
{
    struct model_item *it =
        model_item_get((struct model *)m, REPORT_HOST, rail, node, "");

    return it ? &it->pub : NULL;
}

const struct health_item *model_find(const struct model *m,
                                     enum report_kind kind, const char *name)
{
    for (const struct health_item *i = model_next(m, kind, NULL); i;
         i = model_next(m, kind, i)) {
        if (strcmp(i->name, name) == 0)
            return i;
    }
    return NULL;
}

size_t model_count(const struct model *m, enum report_kind kind,
                   enum health_state state)
{
    return m->counts[kind][state];
}

bool model_node(const struct model *m, const char *node,
                struct health_node *out)
{
    *out = (struct health_node){.rails = 0};
    for (uint8_t rail = 0; rail < m->nrails; rail++) {
        const struct health_item *i = model_host(m, node, rail);

        if (!i)
            continue;
        out->rails |= (uint8_t)(1u << rail);
        out->rail_state[rail] = i->state;
        out->rail_since[rail] = i->since;
        out->rail_proven[rail] = i->proven;
        out->silent |= (uint8_t)(i->silent << rail);
        out->count += i->count;
        if (!out->worst || i->state > out->worst->state)
            out->worst = i;
    }
    if (!out->worst)
        return false;
    out->state = out->worst->state;
    out->since = out->worst->since;
    return true;
}

const struct health_map *model_map(const struct model *m)
{
    return &m->map;
}

const struct health_reporter *
model_next_reporter(const struct model *m, const struct health_reporter *r)
{
    const struct model_reporter *next =
        r ? ((const struct model_reporter *)r)->hh.next : m->reporters;

    return next ? &next->pub : NULL;
}
