/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports into the model: what model_check.c has found right is taken in.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

/* The node that a host record is about: by its board, by its name.  NULL: not
 * known (a board that the identity table does not have). */
static const char *host_name(struct model *m, const struct report_record *r,
                             uint8_t *rail, int64_t now)
{
    const char *name = NULL;

    *rail = r->rail;
    if (r->board && m->ops.resolve)
        name = m->ops.resolve(r->board, rail, m->ops.arg);
    if (!name)
        return r->name[0] ? r->name : NULL;
    if (r->name[0] && strcmp(name, r->name) != 0)
        model_alarm(m, now,
                    "board %012llx says it is %s; the identity table has %s",
                    (unsigned long long)r->board, r->name, name);
    return name;
}

static void note(struct model *m, struct model_item *it, enum report_from from,
                 enum report_seen seen, const char *why, int64_t now)
{
    struct health_evidence *e = &it->pub.evidence[from];

    e->known = true;
    e->seen = seen;
    e->at = now;
    snprintf(e->why, sizeof(e->why), "%s", why);
}

/* A host without a name in the identity table is shown by its board. */
static struct model_item *item_of(struct model *m,
                                  const struct report_record *r, int64_t now)
{
    char board[20];
    const char *name = r->name;
    uint8_t rail = r->rail;

    if (r->kind == REPORT_HOST) {
        name = host_name(m, r, &rail, now);
        if (!name) {
            snprintf(board, sizeof(board), "%012llx",
                     (unsigned long long)r->board);
            name = board;
        }
    }
    return model_item_make(m, r->kind, rail, name,
                           r->kind == REPORT_LINK ? r->peer : "", now);
}

static int take_record(struct model *m, enum report_from from,
                       const struct report_record *r, int64_t now)
{
    struct model_item *it = item_of(m, r, now);

    if (!it)
        return -1;
    if (r->board)
        it->pub.board = r->board;
    if (r->kind == REPORT_HOST && r->peer[0])
        memcpy(it->pub.peer, r->peer, sizeof(r->peer));
    if (from == REPORT_MAPPERD)
        it->epoch = m->epoch;
    note(m, it, from, r->seen, r->why, now);
    model_judge(m, it, now);
    return 0;
}

static bool is_of_one_map(const struct model_item *it)
{
    return it->pub.kind != REPORT_HOST &&
           (strncmp(it->pub.name, REPORT_ANON, strlen(REPORT_ANON)) == 0 ||
            strncmp(it->pub.peer, REPORT_ANON, strlen(REPORT_ANON)) == 0);
}

/* What the mapper once knew and what is not in its new map is not there; but
 * what had a name for one map only is forgotten with it. */
static void end_snapshot(struct model *m, int64_t now)
{
    struct model_item *it, *next;

    HASH_ITER(hh, m->items, it, next)
    {
        if (!it->pub.evidence[REPORT_MAPPERD].known || it->epoch == m->epoch)
            continue;
        if (is_of_one_map(it)) {
            model_item_drop(m, it);
            continue;
        }
        if (strcmp(it->pub.evidence[REPORT_MAPPERD].why, "not in the map"))
            note(m, it, REPORT_MAPPERD, SEEN_DOWN, "not in the map", now);
        model_judge(m, it, now);
    }
}

/* A part of a map.  The first of a version begins a snapshot; when all have
 * come it is complete. */
static void begin_part(struct model *m, const struct report_map *map)
{
    uint64_t bit = 1ull << (map->part - 1);

    if (map->version == m->snapshot_version && !(m->snapshot_parts & bit) &&
        m->snapshot_parts) {
        m->snapshot_parts |= bit;
        return;
    }
    m->epoch++;
    m->snapshot_version = map->version;
    m->snapshot_parts = bit;
}

static bool is_whole(const struct model *m, uint32_t parts)
{
    uint64_t all = parts >= 64 ? UINT64_MAX : (1ull << parts) - 1;

    return (m->snapshot_parts & all) == all;
}

static void take_map(struct model *m, const struct report *rep, int64_t now)
{
    struct health_map *map = &m->map;

    if (!map->known || map->version != rep->map.version ||
        strcmp(map->leader, rep->node) != 0) {
        map->version = rep->map.version;
        map->since = now;
        m->snapshot_parts = 0;
    }
    snprintf(map->leader, sizeof(map->leader), "%s", rep->node);
    map->known = true;
    map->configured = rep->map.configured;
    map->verify_us = rep->map.verify_us;
    map->at = now;
    m->source_at[REPORT_MAPPERD] = now;
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

/* Who loses echoes to more than half has a fault of its own; who loses them to
 * few points at these.  Peers that are known to be down tell nothing new. */
static void take_peers(struct model *m, const struct report *rep, int64_t now)
{
    size_t lossy = 0, told = 0;
    struct model_item *it;

    for (size_t i = 0; i < rep->npeers; i++) {
        it = host_of_peer(m, &rep->peers[i]);
        if (rep->peers[i].sent < REPORT_ECHOES_LEAST ||
            (it && it->pub.state == HEALTH_DOWN))
            continue;
        told++;
        lossy += is_lossy(m, &rep->peers[i]);
    }
    if (told == 0)
        return;
    it = model_item_get(m, REPORT_HOST, rep->peers[0].rail, rep->node, "");
    if (it && (told > 1 || lossy == 0)) {
        it->deaf_at = lossy * 2 > told ? now : 0;
        model_judge(m, it, now);
    }
    if (told > 1 && lossy * 2 > told)
        return;
    for (size_t i = 0; i < rep->npeers; i++) {
        it = host_of_peer(m, &rep->peers[i]);
        if (it && rep->peers[i].sent >= REPORT_ECHOES_LEAST)
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

static int take(struct model *m, const struct report *rep, int64_t now)
{
    if (rep->from == REPORT_MAPPERD && rep->map.leader)
        take_map(m, rep, now);
    if (rep->from == REPORT_LINKS)
        m->source_at[REPORT_LINKS] = now;
    if (rep->from == REPORT_HSND && rep->nrecords == 0)
        vouch_again(m, rep, now);
    for (size_t i = 0; i < rep->nrecords; i++) {
        if (take_record(m, rep->from, &rep->records[i], now) < 0)
            return -1;
    }
    if (rep->map.leader && rep->map.parts && is_whole(m, rep->map.parts))
        end_snapshot(m, now);
    take_peers(m, rep, now);
    return 0;
}

int model_input(struct model *m, const struct report *rep, int64_t now,
                struct errbuf *err)
{
    struct model_reporter *r = model_reporter_get(m, rep->from, rep->node);

    if (!r)
        return model_refuse(err, errno, "no room for one more reporter",
                            rep->node);
    if (model_check(m, r, rep, now, err) < 0) {
        r->pub.refused++;
        return -1;
    }
    r->seen = true;
    r->pub.instance = rep->instance;
    r->pub.seq = rep->seq;
    r->pub.at = now;
    r->pub.accepted++;
    model_counters_take(m, r, rep);
    if (take(m, rep, now) == 0)
        return 0;
    return model_refuse(err, errno, "no room for what it reports", rep->node);
}
