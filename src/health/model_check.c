/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What could be wrong with a report, before anything of it is taken in.
 */
#include <errno.h>
#include <string.h>

#include "health/model_priv.h"

int model_refuse(struct errbuf *err, int code, const char *what,
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

/* hsnd speaks about its own node. */
static int check_hsnd(const struct report *rep, struct errbuf *err)
{
    for (size_t i = 0; i < rep->nrecords; i++) {
        const struct report_record *r = &rep->records[i];

        if (r->kind != REPORT_HOST || strcmp(r->name, rep->node) != 0)
            return model_refuse(
                err, EPERM, "hsnd reports about its own node only", rep->node);
    }
    if (rep->map.present)
        return model_refuse(err, EPERM, "hsnd has no map", rep->node);
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

/* Hosts that this source saw up at `since` or later. */
static size_t hosts_up(const struct model *m, enum report_from from,
                       int64_t since)
{
    const struct model_item *it, *next;
    size_t n = 0;

    HASH_ITER(hh, m->items, it, next)
    {
        const struct health_evidence *e = &it->pub.evidence[from];

        n += it->pub.kind == REPORT_HOST && e->known && e->seen == SEEN_UP &&
             e->at >= since;
    }
    return n;
}

static size_t hosts_on_the_map(const struct model *m)
{
    return hosts_up(m, REPORT_MAPPERD, INT64_MIN);
}

/* A mapper that is cut off from the rest leads itself, and its map would have
 * all others down: one of less than half of the hosts is not believed, whoever
 * tells it.  How many there are the last map says while it is fresh, then the
 * hosts' own hsnd. */
static int check_size(struct model *m, const struct report *rep, int64_t now,
                      struct errbuf *err)
{
    const struct health_map *map = &m->map;
    size_t told = hosts_told(rep), known;

    if (!map->known || rep->map.parts != 1)
        return 0;
    known = now - map->at <= m->conf.stale[REPORT_MAPPERD]
                ? hosts_on_the_map(m)
                : hosts_up(m, REPORT_HSND, now - m->conf.stale[REPORT_HSND]);
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

bool model_map_is_alone(const struct model *m, const struct model_reporter *r,
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
    if (m->rival_since == 0 || now - m->rival_at > m->conf.rival_after)
        m->rival_since = now;
    m->rival_at = now;
    if (now - m->rival_since < m->conf.rival_after)
        return model_refuse(err, EAGAIN, "another mapper leads", rep->node);
    model_alarm(m, now, "two mappers say they lead: %s and %s", m->map.leader,
                rep->node);
    return model_refuse(err, EPERM, "another mapper leads", rep->node);
}

/* The mapper must lead, and no other may have led within the lease, unless it
 * knew fewer hosts. */
static int check_mapper(struct model *m, const struct model_reporter *r,
                        const struct report *rep, int64_t now,
                        struct errbuf *err)
{
    const struct health_map *map = &m->map;

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
    if (m->led && strcmp(map->leader, rep->node) != 0 &&
        now - map->at <= m->conf.leader_lease &&
        (rep->map.parts == 0 || hosts_told(rep) <= hosts_on_the_map(m)))
        return refuse_rival(m, rep, now, err);
    if (map->known && rep->map.parts == 0 &&
        (map->version != rep->map.version ||
         strcmp(map->leader, rep->node) != 0))
        return model_refuse(err, EAGAIN, "the map itself comes first",
                            rep->node);
    return check_size(m, rep, now, err);
}

int model_check(struct model *m, const struct model_reporter *r,
                const struct report *rep, int64_t now, struct errbuf *err)
{
    if (check_order(r, rep, err) < 0)
        return -1;
    switch (rep->from) {
    case REPORT_HSND:
        return check_hsnd(rep, err);
    case REPORT_MAPPERD:
        return check_mapper(m, r, rep, now, err);
    case REPORT_LINKS:
        if (rep->npeers || rep->map.present)
            return model_refuse(err, EPERM, "a link source reports states only",
                                rep->node);
    }
    return 0;
}
