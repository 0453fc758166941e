/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From evidence to a published state.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

/* What the evidence says, and whose. */
struct verdict {
    enum report_seen seen;
    int source;
    char why[SF_REPORT_WHY_MAX];
};

/* Order of what was seen: up, unknown, degraded, down. */
static int badness(enum report_seen seen)
{
    static const int rank[] = {[SEEN_UP] = 0,
                               [SEEN_UNKNOWN] = 1,
                               [SEEN_DEGRADED] = 2,
                               [SEEN_DOWN] = 3};

    return rank[seen];
}

static void worsen(struct verdict *v, enum report_seen seen, int source,
                   const char *why)
{
    if (v->source != -2 && badness(seen) <= badness(v->seen))
        return;
    v->seen = seen;
    v->source = source;
    snprintf(v->why, sizeof(v->why), "%s", why);
}

/* When did this source last vouch for what it said?  A host's own hsnd speaks
 * for one item; the mapper and link sources speak for all at once. */
static int64_t vouched(const struct model *m, const struct model_item *it,
                       enum report_from from)
{
    int64_t at = it->pub.evidence[from].at;

    if (from != REPORT_HSND && m->source_at[from] > at)
        return m->source_at[from];
    return at;
}

static void weigh_source(const struct model *m, const struct model_item *it,
                         enum report_from from, int64_t now, struct verdict *v)
{
    const struct health_evidence *e = &it->pub.evidence[from];
    char why[SF_REPORT_WHY_MAX];

    if (!e->known)
        return;
    if (now - vouched(m, it, from) <= m->conf.stale[from]) {
        worsen(v, e->seen, (int)from, e->why);
        return;
    }
    snprintf(why, sizeof(why), "%s is silent", report_from_name(from));
    worsen(v, SEEN_UNKNOWN, (int)from, why);
}

/* hsnd tells of echoes only when there were enough, not in each report. */
static int64_t echo_lasts(const struct model *m)
{
    return 2 * m->conf.stale[REPORT_HSND];
}

/* It loses echoes to most of those that it asks. */
static void weigh_own_echoes(const struct model *m, const struct model_item *it,
                             int64_t now, struct verdict *v)
{
    if (it->deaf_at && now - it->deaf_at <= echo_lasts(m))
        worsen(v, SEEN_DEGRADED, REPORT_HSND, "echo losses to most hosts");
}

/* Several hosts lose echoes to this one. */
static void weigh_echoes(const struct model *m, const struct model_item *it,
                         int64_t now, struct verdict *v)
{
    char why[SF_REPORT_WHY_MAX];
    unsigned n = 0;

    for (int i = 0; i < MODEL_ECHOES_MAX; i++) {
        const struct model_echo *e = &it->echoes[i];

        n += e->at && now - e->at <= echo_lasts(m);
    }
    if (n == 0 || n < m->conf.echo_reporters)
        return;
    snprintf(why, sizeof(why), "echo losses seen by %u hosts", n);
    worsen(v, SEEN_DEGRADED, -1, why);
}

static bool few_uplinks(const struct model *m, const struct model_item *xbar)
{
    return xbar && xbar->links && xbar->links_up < xbar->links &&
           xbar->links_up * 100 < xbar->links * m->conf.uplink_percent;
}

static void weigh_uplinks(const struct model *m, const struct model_item *it,
                          struct verdict *v)
{
    const struct model_item *x = it->pub.kind == REPORT_XBAR ? it : it->leaf;
    char why[SF_REPORT_WHY_MAX];

    if (!few_uplinks(m, x))
        return;
    snprintf(why, sizeof(why), "%u of %u links of %.20s up", x->links_up,
             x->links, x->pub.name);
    worsen(v, SEEN_DEGRADED, -1, why);
}

static void weigh(const struct model *m, const struct model_item *it,
                  int64_t now, struct verdict *v)
{
    *v = (struct verdict){.seen = SEEN_UNKNOWN, .source = -2};
    for (int from = 0; from < REPORT_FROMS; from++)
        weigh_source(m, it, (enum report_from)from, now, v);
    if (v->source == -2)
        worsen(v, SEEN_UNKNOWN, -1, "no report");
    weigh_own_echoes(m, it, now, v);
    weigh_echoes(m, it, now, v);
    weigh_uplinks(m, it, v);
}

/* How often it went down within the window that ends now. */
static uint32_t recent_downs(const struct model *m, const struct model_item *it,
                             int64_t now, int64_t window)
{
    uint32_t n = 0, have = it->ndowns;

    if (have > MODEL_FLAPS_MAX)
        have = MODEL_FLAPS_MAX;
    for (uint32_t i = 0; i < have; i++)
        n += now - it->downs[i] <= window;
    return n;
}

static bool flaps(const struct model *m, const struct model_item *it,
                  int64_t now)
{
    return m->conf.flap_count &&
           recent_downs(m, it, now, m->conf.flap_window) >= m->conf.flap_count;
}

static enum health_state next_when_flapping(const struct model *m,
                                            const struct model_item *it,
                                            int64_t now)
{
    int64_t age = now - it->raw_since;

    switch (it->raw) {
    case SEEN_DOWN:
        return age >= m->conf.flap_hold ? HEALTH_DOWN : HEALTH_FLAPPING;
    case SEEN_UNKNOWN:
        return HEALTH_UNKNOWN;
    case SEEN_UP:
    case SEEN_DEGRADED:
        break;
    }
    if (age < m->conf.flap_quiet)
        return HEALTH_FLAPPING;
    return it->raw == SEEN_UP ? HEALTH_HEALTHY : HEALTH_DEGRADED;
}

static enum health_state next_state(const struct model *m,
                                    const struct model_item *it, int64_t now)
{
    enum health_state is = it->pub.state;
    int64_t age = now - it->raw_since;

    if (is == HEALTH_FLAPPING || (is != HEALTH_DOWN && flaps(m, it, now)))
        return next_when_flapping(m, it, now);
    switch (it->raw) {
    case SEEN_DOWN:
        return age >= m->conf.down_after ? HEALTH_DOWN : is;
    case SEEN_UNKNOWN:
        return HEALTH_UNKNOWN;
    case SEEN_DEGRADED:
        if (age <
            (is == HEALTH_DOWN ? m->conf.up_after : m->conf.degrade_after))
            return is;
        return HEALTH_DEGRADED;
    case SEEN_UP:
        break;
    }
    if (is == HEALTH_HEALTHY || !it->bad_before)
        return HEALTH_HEALTHY;
    if (is == HEALTH_DOWN && flaps(m, it, now))
        return HEALTH_FLAPPING;
    return age >= m->conf.up_after ? HEALTH_HEALTHY : is;
}

static void publish(struct model *m, struct model_item *it,
                    enum health_state state, int64_t now)
{
    enum health_state was = it->pub.state;

    if (state == was)
        return;
    m->counts[it->pub.kind][was]--;
    m->counts[it->pub.kind][state]++;
    it->pub.state = state;
    it->pub.since = now;
    if (state != HEALTH_UNKNOWN)
        it->bad_before = state != HEALTH_HEALTHY;
    if (m->ops.changed)
        m->ops.changed(&it->pub, was, now, m->ops.arg);
}

void model_judge(struct model *m, struct model_item *it, int64_t now)
{
    struct verdict v;

    weigh(m, it, now, &v);
    if (!it->judged || v.seen != it->raw) {
        if (v.seen == SEEN_DOWN) {
            it->downs[it->ndowns++ % MODEL_FLAPS_MAX] = now;
            it->pub.count++;
        }
        it->raw = v.seen;
        it->raw_since = now;
        it->judged = true;
    }
    it->pub.source = v.source;
    memcpy(it->pub.why, v.why, sizeof(v.why));
    publish(m, it, next_state(m, it, now), now);
}

/* The crossbar that an end of a link ("x12:3") belongs to. */
static struct model_item *xbar_of(struct model *m, uint8_t rail,
                                  const char *end)
{
    char name[SF_REPORT_NAME_MAX];
    const char *colon = strrchr(end, ':');
    size_t len = colon ? (size_t)(colon - end) : 0;

    if (len == 0)
        return NULL;
    memcpy(name, end, len);
    name[len] = '\0';
    return model_item_get(m, REPORT_XBAR, rail, name, "");
}

/* A link whose ends are both crossbars counts for both. */
static void count_link(struct model *m, struct model_item *link)
{
    struct model_item *a = xbar_of(m, link->pub.rail, link->pub.name);
    struct model_item *b = xbar_of(m, link->pub.rail, link->pub.peer);
    unsigned up = link->pub.state != HEALTH_DOWN;

    if (!a || !b)
        return;
    a->links++;
    b->links++;
    a->links_up += up;
    b->links_up += up;
}

static bool forgotten(const struct model *m, const struct model_item *it,
                      int64_t now)
{
    int64_t last = it->epoch == m->epoch && m->source_at[REPORT_MAPPERD] > 0
                       ? m->source_at[REPORT_MAPPERD]
                       : 0;

    for (int from = 0; from < REPORT_FROMS; from++) {
        if (it->pub.evidence[from].at > last)
            last = it->pub.evidence[from].at;
    }
    return now - last > m->conf.forget_after;
}

/* Links first: hosts and crossbars are judged by how many of them are up. */
void model_tick(struct model *m, int64_t now)
{
    struct model_item *it, *next;

    HASH_ITER(hh, m->items, it, next)
    {
        it->links = it->links_up = 0;
        if (forgotten(m, it, now))
            model_item_drop(m, it);
    }
    HASH_ITER(hh, m->items, it, next)
    {
        if (it->pub.kind != REPORT_LINK)
            continue;
        model_judge(m, it, now);
        count_link(m, it);
    }
    HASH_ITER(hh, m->items, it, next)
    {
        if (it->pub.kind == REPORT_HOST)
            it->leaf = xbar_of(m, it->pub.rail, it->pub.peer);
        if (it->pub.kind != REPORT_LINK)
            model_judge(m, it, now);
    }
}
