/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model: its items, what reporters count, reports that come in.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

static void model_alarm(struct model *m, int64_t now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void model_counters_drop(struct model *m, struct model_reporter *r);

void model_conf_defaults(struct model_conf *c)
{
    *c = (struct model_conf){
        .stale = {15000, 15000, 60000, 15000},
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
        .nic_uncabled = TALLY_DEGRADE,
        .nic_slow = TALLY_DEGRADE,
    };
}

struct model *model_new(const struct model_conf *conf,
                        const struct model_ops *ops)
{
    struct model *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    TAILQ_INIT(&m->awake);
    TAILQ_INIT(&m->at_rest);
    TAILQ_INIT(&m->turned);
    if (ops)
        m->ops = *ops;
    model_set_conf(m, conf);
    return m;
}

void model_set_conf(struct model *m, const struct model_conf *conf)
{
    m->changes++;
    model_rest_end_all(m, NULL);
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
    model_nic_free(m);
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
    m->changes++;
    m->counts[kind][HEALTH_UNKNOWN]++;
    if (kind == REPORT_HOST && rail >= m->nrails)
        m->nrails = (uint8_t)(rail + 1);
    model_rest_make(m, it);
    return it;
}

void model_item_drop(struct model *m, struct model_item *it)
{
    m->changes++;
    m->counts[it->pub.kind][it->pub.state]--;
    model_unhang(m, it);
    model_rest_drop(m, it);
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

/* A node has an hsnd and a mapper for each of its NICs. */
static uint8_t rail_of(const struct report *rep)
{
    if (rep->from == REPORT_MAPPERD)
        return rep->map.rail;
    if (rep->from != REPORT_HSND)
        return 0;
    if (rep->nrecords)
        return rep->records[0].rail;
    if (rep->ncounters)
        return rep->counters[0].rail;
    return rep->npeers ? rep->peers[0].rail : 0;
}

static struct model_reporter *model_reporter_get(struct model *m,
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

static void model_alarm(struct model *m, int64_t now, const char *fmt, ...)
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

uint64_t model_judged(const struct model *m)
{
    return m->judged;
}

bool model_node(const struct model *m, const char *node,
                struct health_node *out)
{
    *out = (struct health_node){.at_rest = true};
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
        out->at_rest &= ((const struct model_item *)i)->rests != NULL;
        if (!out->worst || i->state > out->worst->state)
            out->worst = i;
    }
    if (!out->worst)
        return false;
    out->state = out->worst->state;
    out->since = out->worst->since;
    return true;
}

const struct health_map *model_map_of(const struct model *m, uint8_t rail)
{
    return &m->maps[rail].pub;
}

const struct health_map *model_map(const struct model *m)
{
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        if (m->maps[rail].pub.known)
            return &m->maps[rail].pub;
    return &m->maps[0].pub;
}

const struct health_reporter *
model_next_reporter(const struct model *m, const struct health_reporter *r)
{
    const struct model_reporter *next =
        r ? ((const struct model_reporter *)r)->hh.next : m->reporters;

    return next ? &next->pub : NULL;
}

/* ---- model counters ---------------------------------------------------- */

/* What reporters count. Thousands of them count the same things: the names
 * are kept once, a reporter has its values. */

struct model_names {
    struct model_names *next;
    size_t reporters; /* that use it */
    size_t n;
    struct health_counter at[];
};

static bool fits(const struct health_counter *at, size_t n,
                 const struct report *rep)
{
    if (n != rep->ncounters)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (at[i].rail != rep->counters[i].rail ||
            strcmp(at[i].name, rep->counters[i].name) != 0)
            return false;
    }
    return true;
}

static struct model_names *find(struct model *m, const struct report *rep)
{
    struct model_names *s = m->names;

    while (s && !fits(s->at, s->n, rep))
        s = s->next;
    return s;
}

static struct model_names *make(struct model *m, const struct report *rep)
{
    struct model_names *s =
        calloc(1, sizeof(*s) + rep->ncounters * sizeof(s->at[0]));

    if (!s)
        return NULL;
    s->n = rep->ncounters;
    for (size_t i = 0; i < s->n; i++) {
        s->at[i].rail = rep->counters[i].rail;
        strcpy(s->at[i].name, rep->counters[i].name);
    }
    s->next = m->names;
    m->names = s;
    return s;
}

static void model_counters_drop(struct model *m, struct model_reporter *r)
{
    struct model_names *s = r->names, **at = &m->names;

    free(r->pub.values);
    r->pub.values = NULL;
    r->pub.counters = NULL;
    r->pub.ncounters = 0;
    r->names = NULL;
    if (!s || --s->reporters > 0)
        return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s);
}

/* False: no memory, nothing has changed. */
static bool use(struct model *m, struct model_reporter *r,
                const struct report *rep)
{
    uint64_t *values = calloc(rep->ncounters, sizeof(*values));
    struct model_names *s = values ? find(m, rep) : NULL;

    if (values && !s)
        s = make(m, rep);
    if (!s) {
        free(values);
        return false;
    }
    s->reporters++;
    model_counters_drop(m, r);
    r->names = s;
    r->pub.values = values;
    r->pub.counters = s->at;
    r->pub.ncounters = s->n;
    return true;
}

/* Take over what a reporter counted. */
static void model_counters_take(struct model *m, struct model_reporter *r,
                                const struct report *rep)
{
    if (rep->ncounters == 0 || rep->from != REPORT_HSND) /* a NIC's only */
        return;
    if (!fits(r->pub.counters, r->pub.ncounters, rep) && !use(m, r, rep))
        return;
    for (size_t i = 0; i < rep->ncounters; i++)
        r->pub.values[i] = rep->counters[i].value;
}

/* ---- model check ------------------------------------------------------- */

/* What could be wrong with a report, before anything of it is taken in. */

/* -1, with errno `code` and "who: what". */
static int model_refuse(struct errbuf *err, int code, const char *what,
                        const char *who)
{
    errprintf(err, "%s: %s", who, what);
    errno = code;
    return -1;
}

/* Order within one life of the sender. */
static int check_order(const struct model_reporter *r, const struct report *rep,
                       struct errbuf *err)
{
    if (r->seen && r->pub.instance == rep->instance && rep->seq <= r->pub.seq)
        return model_refuse(err, EALREADY, "older than its last report",
                            rep->node);
    return 0;
}

/* hsnd and nicd speak about their own node. */
static int check_own(const struct report *rep, struct errbuf *err)
{
    bool nicd = rep->from == REPORT_NICD;

    for (size_t i = 0; i < rep->nrecords; i++) {
        const struct report_record *r = &rep->records[i];

        if (r->kind != REPORT_HOST || strcmp(r->name, rep->node) != 0)
            return model_refuse(err, EPERM,
                                nicd ? "nicd reports about its own node only"
                                     : "hsnd reports about its own node only",
                                rep->node);
    }
    if (rep->map.present)
        return model_refuse(err, EPERM,
                            nicd ? "nicd has no map" : "hsnd has no map",
                            rep->node);
    if (nicd && (rep->npeers || rep->nrecords > 2 * SF_ELAN_RAILS_MAX))
        return model_refuse(err, EPERM, "nicd reports ports of NICs only",
                            rep->node);
    return 0;
}

/* Hosts of a report that is a map or a part of one. */
static size_t hosts_told(const struct report *rep)
{
    size_t n = 0;

    for (size_t i = 0; i < rep->nrecords; i++)
        n += rep->records[i].kind == REPORT_HOST;
    return n;
}

/* Hosts of a rail, or of its map, that this source saw up at `since` or
 * later. */
static size_t hosts_up(const struct model *m, enum report_from from,
                       uint8_t rail, int64_t since)
{
    const struct model_item *it, *next;
    size_t n = 0;

    HASH_ITER(hh, m->items, it, next)
    {
        const struct health_evidence *e = &it->pub.evidence[from];

        n += it->pub.kind == REPORT_HOST && e->known && e->seen == SEEN_UP &&
             e->at >= since &&
             rail == (from == REPORT_MAPPERD ? it->map : it->pub.rail);
    }
    return n;
}

static size_t hosts_on_the_map(const struct model *m, uint8_t rail)
{
    return hosts_up(m, REPORT_MAPPERD, rail, INT64_MIN);
}

/* A mapper that is cut off from the rest leads itself, and its map would show
 * all others as down.  So a map with less than half of the hosts is not
 * believed, whichever mapper sent it.  The number of hosts is taken from the
 * last map while that is fresh, then from the hosts' own hsnd. */
static int check_size(struct model *m, const struct report *rep, int64_t now,
                      struct errbuf *err)
{
    const struct health_map *map = &m->maps[rep->map.rail].pub;
    size_t told = hosts_told(rep), known;

    if (!map->known || rep->map.parts != 1)
        return 0;
    known = now - map->at <= m->conf.stale[REPORT_MAPPERD]
                ? hosts_on_the_map(m, rep->map.rail)
                : hosts_up(m, REPORT_HSND, rep->map.rail,
                           now - m->conf.stale[REPORT_HSND]);
    if (told * 2 >= known)
        return 0;
    model_alarm(m, now, "map of %s has %zu hosts, there were %zu: not believed",
                rep->node, told, known);
    return model_refuse(err, EPERM, "less than half of the hosts", rep->node);
}

/* A mapper knows nothing of the others while its own board has no link.  That
 * nobody answers its hsnd is something else: a map of more than itself shows
 * that something does. */
static int check_own_link(struct model *m, const struct report *rep,
                          int64_t now, struct errbuf *err)
{
    const struct model_item *it;
    const struct health_evidence *e;

    if (rep->nrecords == 0)
        return 0;
    it = model_item_get(m, REPORT_HOST, rep->records[0].rail, rep->node, "");
    e = it ? &it->pub.evidence[REPORT_HSND] : NULL;
    if (e && e->known && e->seen == SEEN_DOWN && e->answered != ANSWERED_NO &&
        now - e->at <= m->conf.stale[REPORT_HSND])
        return model_refuse(err, EAGAIN, "a map of a mapper without a link",
                            rep->node);
    return 0;
}

/* Does a map hold anything but the mapper's own host?  Then something has
 * answered it. */
static bool holds_nothing_else(const struct model *m, const struct report *rep)
{
    for (size_t i = 0; i < rep->nrecords; i++) {
        const struct report_record *r = &rep->records[i];
        uint8_t rail = r->rail;
        const char *name = r->board && m->ops.resolve
                               ? m->ops.resolve(r->board, &rail, m->ops.arg)
                               : r->name;

        if (r->kind != REPORT_HOST || (rep->nrecords > 1 && !name) ||
            (name && name[0] && strcmp(name, rep->node) != 0))
            return false;
    }
    return true;
}

/* Of a mapper that leads: nothing but the mapper's own host? */
static bool model_map_is_alone(const struct model *m,
                               const struct model_reporter *r,
                               const struct report *rep)
{
    if (!rep->map.leader || rep->map.parts > 1)
        return false;
    if (rep->map.parts == 1)
        return holds_nothing_else(m, rep);
    return rep->nrecords == 0 && r->alone &&
           r->alone_version == rep->map.version;
}

/* Another mapper says that it leads, and both go on.  After the fabric was in
 * two that is so for a moment; the one that says it last is not taken. */
static int refuse_rival(struct model *m, const struct report *rep, int64_t now,
                        struct errbuf *err)
{
    struct model_map *map = &m->maps[rep->map.rail];

    if (map->rival_since == 0 || now - map->rival_at > m->conf.rival_after)
        map->rival_since = now;
    map->rival_at = now;
    if (now - map->rival_since < m->conf.rival_after)
        return model_refuse(err, EAGAIN, "another mapper leads", rep->node);
    model_alarm(m, now, "two mappers say they lead: %s and %s", map->pub.leader,
                rep->node);
    return model_refuse(err, EPERM, "another mapper leads", rep->node);
}

/* The mapper must lead, and no other may have led within the lease, unless it
 * knew fewer hosts. */
static int check_mapper(struct model *m, const struct model_reporter *r,
                        const struct report *rep, int64_t now,
                        struct errbuf *err)
{
    const struct health_map *map = &m->maps[rep->map.rail].pub;

    if (rep->npeers || !rep->map.present)
        return model_refuse(err, EPERM, "a mapper reports about its map",
                            rep->node);
    if (!rep->map.leader)
        return rep->nrecords
                   ? model_refuse(err, EPERM, "this mapper does not lead",
                                  rep->node)
                   : 0;
    if (model_map_is_alone(m, r, rep))
        return 0; /* it counts for nobody */
    if (check_own_link(m, rep, now, err) < 0)
        return -1;
    if (m->maps[rep->map.rail].led && strcmp(map->leader, rep->node) != 0 &&
        now - map->at <= m->conf.leader_lease &&
        (rep->map.parts == 0 ||
         hosts_told(rep) <= hosts_on_the_map(m, rep->map.rail)))
        return refuse_rival(m, rep, now, err);
    if (map->known && rep->map.parts == 0 &&
        (map->version != rep->map.version ||
         strcmp(map->leader, rep->node) != 0))
        return model_refuse(err, EAGAIN, "the map itself comes first",
                            rep->node);
    return check_size(m, rep, now, err);
}

/* What is wrong with a report: with what stands in it, or with its time, 0 or
 * -1 with errno: EALREADY older than one before, EPERM the sender may not say
 * that, EAGAIN not now. */
static int model_check(struct model *m, const struct model_reporter *r,
                       const struct report *rep, int64_t now,
                       struct errbuf *err)
{
    if (check_order(r, rep, err) < 0)
        return -1;
    switch (rep->from) {
    case REPORT_HSND:
    case REPORT_NICD:
        return check_own(rep, err);
    case REPORT_MAPPERD:
        return check_mapper(m, r, rep, now, err);
    case REPORT_LINKS:
        if (rep->npeers || rep->map.present)
            return model_refuse(err, EPERM, "a link source reports states only",
                                rep->node);
    }
    return 0;
}

/* ---- model input ------------------------------------------------------- */

/* Reports into the model: what was found right is taken in. */

/* The node that a host record is about: by its board, by its name.  NULL: not
 * known (a board that the identity table does not have). */
static const char *host_name(struct model *m, enum report_from from,
                             const struct report_record *r, uint8_t *rail,
                             int64_t now)
{
    const char *name = NULL;

    *rail = r->rail;
    if (r->board && m->ops.resolve)
        name = m->ops.resolve(r->board, rail, m->ops.arg);
    if (!name && r->name[0])
        *rail = model_nic_rail(m, from, r);
    if (!name)
        return r->name[0] ? r->name : NULL;
    if (r->name[0] && strcmp(name, r->name) != 0) {
        m->conflicts++;
        model_alarm(m, now,
                    "board %012llx says it is %s; the identity table has %s",
                    (unsigned long long)r->board, r->name, name);
    }
    return name;
}

static void note(struct model *m, struct model_item *it, enum report_from from,
                 enum report_seen seen, const char *why, int64_t now)
{
    struct health_evidence *e = &it->pub.evidence[from];

    e->known = true;
    e->seen = seen;
    e->at = now;
    model_text(e->why, why);
}

/* What hsnd says of its echoes. */
static void note_answered(struct model *m, struct model_item *it,
                          const struct report_record *r, int64_t now)
{
    struct health_evidence *e = &it->pub.evidence[REPORT_HSND];

    m->hsnd_rails |= (uint8_t)(1u << it->pub.rail);
    if (r->answered == ANSWERED_YES)
        m->answered_at[it->pub.rail] = now;
    if (r->answered != ANSWERED_NO)
        e->alone_since = 0;
    else if (!e->alone_since)
        e->alone_since = now;
    e->answered = r->answered;
    e->turned = r->turned;
    e->asked = r->asked;
}

/* A host without a name in the identity table is shown by its board. */
static struct model_item *item_of(struct model *m, enum report_from from,
                                  const struct report_record *r, int64_t now)
{
    char board[20];
    const char *name = r->name;
    uint8_t rail = r->rail;

    if (r->kind == REPORT_HOST) {
        name = host_name(m, from, r, &rail, now);
        if (!name) {
            snprintf(board, sizeof(board), "%012llx",
                     (unsigned long long)r->board);
            name = board;
        }
    }
    return model_item_make(m, r->kind, rail, name,
                           r->kind == REPORT_LINK ? r->peer : "", now);
}

/* The item that it is about; NULL: no room. */
static struct model_item *take_record(struct model *m, const struct report *rep,
                                      const struct report_record *r,
                                      int64_t now)
{
    enum report_from from = rep->from;
    struct model_item *it = item_of(m, from, r, now);

    if (!it)
        return NULL;
    if (r->board && r->board != it->pub.board) {
        m->changes++; /* by it ports find their rails */
        it->pub.board = r->board;
    }
    if (r->kind == REPORT_HOST && r->peer[0] &&
        strcmp(it->pub.peer, r->peer) != 0) {
        memcpy(it->pub.peer, r->peer, sizeof(r->peer));
        it->leaf_as_of = 0;
    }
    if (from == REPORT_MAPPERD) {
        if (!it->pub.evidence[from].known || it->map != rep->map.rail)
            it->leaf_as_of = 0;
        it->map = rep->map.rail;
        it->epoch = m->maps[it->map].epoch;
    }
    if (from == REPORT_MAPPERD && r->kind == REPORT_LINK)
        model_gaps_of_link(it, rep->instance, r->count, now);
    if (from == REPORT_HSND)
        note_answered(m, it, r, now);
    if (from == REPORT_NICD)
        model_nic_take(it, rep, r, now);
    note(m, it, from, r->seen, r->why, now);
    model_judge(m, it, now);
    return it;
}

/* One more item that this report is about.  If two of its records are about one
 * item, or there are more than fit, such reports are always taken in full. */
static void remember(struct model_word *w, struct model_item *it)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->items[i] == it)
            w->seq = 0;
    if (w->n < MODEL_WORD_MAX)
        w->items[w->n++] = it;
    else
        w->seq = 0;
}

static bool is_of_one_map(const struct model_item *it)
{
    return it->pub.kind != REPORT_HOST &&
           (strncmp(it->pub.name, REPORT_ANON, strlen(REPORT_ANON)) == 0 ||
            strncmp(it->pub.peer, REPORT_ANON, strlen(REPORT_ANON)) == 0);
}

/* What the mapper once knew and what is not in its new map is not there; but
 * what had a name for one map only is forgotten with it. */
static void end_snapshot(struct model *m, uint8_t rail, int64_t now)
{
    struct model_item *it, *next;

    HASH_ITER(hh, m->items, it, next)
    {
        if (!it->pub.evidence[REPORT_MAPPERD].known || it->map != rail ||
            model_is_mapped(m, it))
            continue;
        if (is_of_one_map(it)) {
            model_item_drop(m, it);
            continue;
        }
        if (strcmp(it->pub.evidence[REPORT_MAPPERD].why, MODEL_NOT_IN_MAP))
            note(m, it, REPORT_MAPPERD, SEEN_DOWN, MODEL_NOT_IN_MAP, now);
        model_judge(m, it, now);
    }
}

/* A part of a map.  The first of a version begins a snapshot; when all have
 * come it is complete. */
static void begin_part(struct model *m, const struct report_map *told)
{
    struct model_map *map = &m->maps[told->rail];
    uint64_t *word = &map->parts[(told->part - 1) / 64];
    uint64_t bit = 1ull << (told->part - 1) % 64;

    if (told->version != map->snapshot_version || (*word & bit) ||
        !map->snapshot_parts) {
        map->epoch = ++m->epoch;
        map->snapshot_version = told->version;
        map->snapshot_parts = 0;
        memset(map->parts, 0, sizeof(map->parts));
    }
    map->snapshot_parts++;
    *word |= bit;
}

static bool is_whole(const struct model *m, const struct report_map *told)
{
    return m->maps[told->rail].snapshot_parts == told->parts;
}

static void take_map(struct model *m, const struct report *rep, int64_t now)
{
    struct model_map *of = &m->maps[rep->map.rail];
    struct health_map *map = &of->pub;

    if (!map->known || map->version != rep->map.version ||
        strcmp(map->leader, rep->node) != 0) {
        map->version = rep->map.version;
        map->since = now;
        of->snapshot_parts = 0;
    }
    snprintf(map->leader, sizeof(map->leader), "%s", rep->node);
    map->known = of->led = true;
    map->configured = rep->map.configured;
    map->verify_us = rep->map.verify_us;
    map->at = now;
    if (rep->map.parts)
        begin_part(m, &rep->map);
}

static uint32_t hash_name(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static bool is_lossy(const struct model *m, const struct report_peer *p)
{
    return p->sent >= REPORT_ECHOES_LEAST &&
           (uint64_t)p->lost * 100 >= (uint64_t)p->sent * m->conf.echo_loss;
}

/* Remember when `reporter` lost echoes to this host (0: it loses none now),
 * over the oldest. */
static void note_echo(struct model_item *it, uint32_t reporter, int64_t at)
{
    struct model_echo *slot = &it->echoes[0];

    for (int i = 0; i < MODEL_ECHOES_MAX; i++) {
        if (it->echoes[i].reporter == reporter) {
            slot = &it->echoes[i];
            break;
        }
        if (it->echoes[i].at < slot->at)
            slot = &it->echoes[i];
    }
    if (at || slot->reporter == reporter)
        *slot = (struct model_echo){reporter, at};
}

static struct model_item *host_of_peer(struct model *m,
                                       const struct report_peer *p)
{
    uint8_t rail = p->rail;
    const char *name =
        m->ops.resolve ? m->ops.resolve(p->board, &rail, m->ops.arg) : NULL;

    return name ? model_item_get(m, REPORT_HOST, rail, name, "") : NULL;
}

/* It loses echoes to most.  Some of those may just have died: by the next time
 * they are known to be silent, and do not count. */
static void note_deaf(const struct model *m, struct model_item *it, bool deaf,
                      int64_t now)
{
    if (!deaf)
        it->deaf_first = it->deaf_at = 0;
    else if (!it->deaf_first)
        it->deaf_first = now;
    if (deaf && now - it->deaf_first >= m->conf.stale[REPORT_HSND])
        it->deaf_at = now;
}

/* A peer that tells something: it answers, or is not known to be dead. */
static bool counts(const struct model *m, const struct report_peer *p,
                   const struct model_item *it, int64_t now)
{
    if (p->sent < REPORT_ECHOES_LEAST)
        return false;
    return !it || !is_lossy(m, p) ||
           (it->pub.state != HEALTH_DOWN &&
            (!it->pub.evidence[REPORT_HSND].known ||
             model_is_fresh(m, it, REPORT_HSND, now)));
}

/* A host that loses echoes to more than half has a fault of its own; one that
 * loses them to few points at these.  Peers that are known to be down or silent
 * tell nothing new. */
static void take_peers(struct model *m, const struct report *rep, int64_t now)
{
    size_t lossy = 0, told = 0;
    struct model_item *it;

    for (size_t i = 0; i < rep->npeers; i++) {
        it = host_of_peer(m, &rep->peers[i]);
        if (!counts(m, &rep->peers[i], it, now))
            continue;
        told++;
        lossy += is_lossy(m, &rep->peers[i]);
    }
    if (told == 0)
        return;
    it = model_item_get(m, REPORT_HOST, rep->peers[0].rail, rep->node, "");
    if (it && (told > 1 || lossy == 0)) {
        note_deaf(m, it, lossy * 2 > told, now);
        model_judge(m, it, now);
    }
    if (told > 1 && lossy * 2 > told)
        return;
    for (size_t i = 0; i < rep->npeers; i++) {
        it = host_of_peer(m, &rep->peers[i]);
        if (!it || rep->peers[i].sent < REPORT_ECHOES_LEAST)
            continue;
        model_rest_end(m, it);
        note_echo(it, hash_name(rep->node),
                  is_lossy(m, &rep->peers[i]) ? now : 0);
    }
}

/* hsnd's heartbeat: a report without records vouches for its own hosts. */
static void vouch_again(struct model *m, const struct report *rep, int64_t now)
{
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        struct model_item *it =
            model_item_get(m, REPORT_HOST, rail, rep->node, "");

        if (!it || !it->pub.evidence[REPORT_HSND].known)
            continue;
        it->pub.evidence[REPORT_HSND].at = now;
        model_judge(m, it, now);
    }
}

/* A mapper that leads nobody: it is alone, or says it does not lead.  If it
 * was the leader, its place is free. */
static void gives_up(struct model *m, const struct report *rep)
{
    struct model_map *map = &m->maps[rep->map.rail];

    if (map->pub.known && strcmp(map->pub.leader, rep->node) == 0)
        map->led = false;
}

static int take(struct model *m, struct model_reporter *r,
                const struct report *rep, struct model_word *word, int64_t now)
{
    struct model_item *it;

    if (rep->from == REPORT_MAPPERD) {
        r->alone = model_map_is_alone(m, r, rep);
        r->alone_version = rep->map.version;
        if (r->alone || !rep->map.leader) {
            gives_up(m, rep);
            return 0;
        }
        take_map(m, rep, now);
    }
    if (rep->from == REPORT_LINKS)
        m->links_at = now;
    if (rep->from == REPORT_HSND && rep->nrecords == 0)
        vouch_again(m, rep, now);
    for (size_t i = 0; i < rep->nrecords; i++) {
        const struct report_record *rec = &rep->records[i];

        if (rep->from == REPORT_NICD && rec->out)
            model_nic_leave_out(m, rec);
        else if ((it = take_record(m, rep, rec, now)))
            remember(word, it);
        else
            return -1;
    }
    if (rep->map.leader && rep->map.parts && is_whole(m, &rep->map))
        end_snapshot(m, rep->map.rail, now);
    take_peers(m, rep, now);
    return 0;
}

/* Reports without a number (0) cannot be told apart from none. */
static void begin_word(const struct model *m, struct model_reporter *r,
                       const struct report *rep, struct model_word *word)
{
    *word = (struct model_word){
        .changes = m->changes,
        .seq = rep->from == REPORT_NICD && rep->ncounters == 0 ? rep->seq : 0,
        .reporter = r};
}

int model_take(struct model *m, const struct report *rep,
               struct model_word *word, int64_t now, struct errbuf *err)
{
    struct model_reporter *r = model_reporter_get(m, rep);
    uint64_t conflicts;
    bool anew;

    word->seq = 0;
    if (!r)
        return model_refuse(err, errno, "no room for one more reporter",
                            rep->node);
    if (!m->began)
        m->began = now;
    model_listens(m, now);
    model_note_word(m, r, rep, now);
    if (model_check(m, r, rep, now, err) < 0) {
        r->pub.refused++;
        return -1;
    }
    anew = !r->seen || r->pub.instance != rep->instance;
    r->seen = true;
    r->pub.instance = rep->instance;
    r->pub.seq = rep->seq;
    r->pub.at = now;
    r->pub.accepted++;
    begin_word(m, r, rep, word);
    model_counters_take(m, r, rep);
    conflicts = m->conflicts;
    if (take(m, r, rep, word, now) == 0) {
        if (conflicts != m->conflicts) /* each report is to tell of it */
            word->seq = 0;
        model_errors_take(m, rep, anew, now);
        return 0;
    }
    word->seq = 0;
    return model_refuse(err, errno, "no room for what it reports", rep->node);
}

int model_input(struct model *m, const struct report *rep, int64_t now,
                struct errbuf *err)
{
    struct model_word word;

    return model_take(m, rep, &word, now, err);
}

/* Nobody else told of the node's ports, nobody is new or gone, and nothing was
 * late: so each record would find its item as it left it. */
static bool is_next(const struct model *m, const struct report *rep,
                    const struct model_word *word, int64_t now)
{
    const struct model_reporter *r = word->reporter;

    return word->seq && word->changes == m->changes && r->seen &&
           r->pub.instance == rep->instance && r->pub.seq == word->seq &&
           rep->seq > word->seq && now - r->spoke <= m->conf.stale[rep->from];
}

/* A port that is well, and of which nicd has spoken all the time. */
static bool is_well(const struct model *m, const struct model_item *it,
                    int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_NICD];

    return it->pub.state == HEALTH_HEALTHY && it->raw == SEEN_UP &&
           e->seen == SEEN_UP && now - e->at <= m->conf.stale[REPORT_NICD];
}

bool model_again(struct model *m, const struct report *rep,
                 struct model_word *word, int64_t now)
{
    struct model_reporter *r = word->reporter;

    if (!is_next(m, rep, word, now))
        return false;
    for (size_t i = 0; i < word->n; i++)
        if (!is_well(m, word->items[i], now))
            return false;
    for (size_t i = 0; i < word->n; i++) {
        word->items[i]->pub.evidence[REPORT_NICD].at = now;
        model_rest_word(m, word->items[i]);
    }
    r->pub.seq = word->seq = rep->seq;
    r->pub.at = r->spoke = now;
    r->pub.accepted++;
    return true;
}
