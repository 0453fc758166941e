/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host whose echoes nobody answers: is the host cut off, or are those that
 * it asked dead?  It is cut off when one of them is alive.  A host is alive
 * when its hsnd has spoken since, and others answer it.  Also when it is on a
 * map that the lonely host is not on: of two hosts that do not hear each other
 * one may see crossbars and the other nothing.
 *
 * A host knows by its routes whom to ask.  Routes may be old, so by counting:
 * if `asked` of the others did not answer and more of them are alive than were
 * not asked, then one that was asked is alive.
 *
 * That still may come of a dead daemon: a host whose own mapper is dead falls
 * out of the map, and out of the routes by which others would answer it.  So
 * it is proven when its own mapper speaks, too, both for so long that
 * everything that only stood still has had the time to find together again.
 */
#include "health/model_priv.h"

static bool on_map(const struct model *m, const struct model_item *it,
                   int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_MAPPERD];

    return e->known && e->seen == SEEN_UP &&
           model_is_fresh(m, it, REPORT_MAPPERD, now);
}

static bool is_alive(const struct model *m, const struct model_item *it,
                     int64_t since, bool by_map, int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];

    return e->known && e->at > since &&
           model_is_fresh(m, it, REPORT_HSND, now) &&
           (e->answered == ANSWERED_YES || (by_map && on_map(m, it, now)));
}

static bool look(const struct model *m, const struct model_item *x, bool by_map,
                 int64_t now)
{
    const struct health_evidence *e = &x->pub.evidence[REPORT_HSND];
    const struct model_item *it, *next;
    size_t others = 0, alive = 0;

    HASH_ITER(hh, m->items, it, next)
    {
        if (it == x || it->pub.kind != REPORT_HOST ||
            it->pub.rail != x->pub.rail)
            continue;
        others++;
        alive += is_alive(m, it, e->alone_since, by_map, now);
    }
    return alive + e->asked > others && alive > 0;
}

bool model_others_live(struct model *m, struct model_item *it, int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];
    bool by_map = !on_map(m, it, now);

    if (!by_map && m->answered_at[it->pub.rail] <= e->alone_since) {
        it->others_live = false;
    } else if (it->others_at != now && m->looks > 0) {
        m->looks--;
        it->others_at = now;
        it->others_live = look(m, it, by_map, now);
    }
    return it->others_live;
}

void model_note_word(const struct model *m, struct model_reporter *r,
                     const struct report *rep, int64_t now)
{
    if (r->spoke == 0 || (r->seen && r->pub.instance != rep->instance) ||
        now - r->spoke > m->conf.stale[rep->from])
        r->steady = now;
    r->spoke = now;
}

/* It speaks, also then or later, and has done so for a while. */
static bool is_steady(const struct model *m, enum report_from from,
                      const char *node, uint8_t rail, int64_t then, int64_t now)
{
    const struct model_reporter *r = model_reporter_find(m, from, node, rail);

    return r && r->spoke >= then && now - r->spoke <= m->conf.stale[from] &&
           r->spoke - r->steady >= m->conf.stale[REPORT_HSND];
}

/* A daemon that stood still for less than `stale` is not noticed: so twice. */
bool model_alone_is_proven(const struct model *m, const struct model_item *it,
                           int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];
    int64_t then = e->alone_since + 2 * m->conf.stale[REPORT_HSND];

    if (!is_steady(m, REPORT_HSND, it->pub.name, it->pub.rail, then, now))
        return false;
    if (!m->map.known && !it->pub.evidence[REPORT_MAPPERD].known)
        return true; /* nobody maps this fabric */
    return is_steady(m, REPORT_MAPPERD, it->pub.name, 0, then, now);
}
