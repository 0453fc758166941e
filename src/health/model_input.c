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
    if (from == REPORT_HSND)
        note_answered(m, it, r, now);
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
        if (strcmp(it->pub.evidence[REPORT_MAPPERD].why, MODEL_NOT_IN_MAP))
            note(m, it, REPORT_MAPPERD, SEEN_DOWN, MODEL_NOT_IN_MAP, now);
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
    map->known = m->led = true;
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

/* Who loses echoes to more than half has a fault of its own; who loses them to
 * few points at these.  Peers that are known to be down or silent tell nothing
 * new. */
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

/* A mapper that leads nobody: it is alone, or says it does not lead.  If it
 * was the leader, its place is free. */
static void gives_up(struct model *m, const struct report *rep)
{
    if (m->map.known && strcmp(m->map.leader, rep->node) == 0)
        m->led = false;
}

static int take(struct model *m, struct model_reporter *r,
                const struct report *rep, int64_t now)
{
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
    struct model_reporter *r = model_reporter_get(m, rep);
    bool anew;

    if (!r)
        return model_refuse(err, errno, "no room for one more reporter",
                            rep->node);
    if (!m->began)
        m->began = now;
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
    model_counters_take(m, r, rep);
    if (take(m, r, rep, now) == 0) {
        model_errors_take(m, rep, anew, now);
        return 0;
    }
    return model_refuse(err, errno, "no room for what it reports", rep->node);
}
