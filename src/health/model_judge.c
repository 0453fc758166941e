/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From evidence to a published state.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

/* ---- cables that corrupt ----------------------------------------------- */

/* What a host's own cable does, by what its hsnd counts: how many of the
 * frames are lost or broken, and how often it was gone for a moment, of which
 * no report need tell. Where crossbars turn frames round hsnd tests its cable
 * by frames that go no further (hsn/loop_test.h): what is missing of these
 * the cable has lost or broken, both ways. Frames of others that arrive
 * broken may have been broken anywhere; they count where there is no such
 * test. */

static const struct rule {
    const char *bad, *good; /* counters of hsnd */
    bool part;              /* bad ones are among the good ones */
    const char *what;
} rules[] = {
    {"loop_lost", "loop_sent", true, "lost"},
    {"link_bad_packet", "received", false, "broken"},
};
#define NRULES ((int)(sizeof(rules) / sizeof(rules[0])))

static bool flaps(const struct model *m, const struct model_item *it,
                  int64_t now);
static int64_t proven(const struct model *m, const struct model_item *it,
                      int64_t now);

static bool find(const struct report *rep, uint8_t rail, const char *name,
                 uint64_t *value)
{
    for (size_t i = 0; i < rep->ncounters; i++) {
        const struct report_counter *c = &rep->counters[i];

        if (c->rail == rail && strcmp(c->name, name) == 0) {
            *value = c->value;
            return true;
        }
    }
    return false;
}

/* The first rule that there are figures for. */
static int choose(const struct report *rep, uint8_t rail, uint64_t *bad,
                  uint64_t *all)
{
    for (int i = 0; i < NRULES; i++) {
        if (!find(rep, rail, rules[i].bad, bad) ||
            !find(rep, rail, rules[i].good, all))
            continue;
        if (!rules[i].part)
            *all += *bad;
        if (*all > 0)
            return i + 1;
    }
    return 0;
}

void model_gaps_add(struct model_item *it, uint64_t more, int64_t now)
{
    for (uint64_t i = 0; i < more && i < MODEL_FLAPS_MAX; i++)
        it->gaps[it->ngaps++ % MODEL_FLAPS_MAX] = now;
}

/* The first value of a counter adds nothing: nobody knows when its gaps were.
 * A counter that is smaller than before began anew. */
void model_gaps_of_link(struct model_item *it, uint64_t instance,
                        uint64_t count, int64_t now)
{
    bool anew = it->gaps_instance != instance || count < it->gaps_told;

    if (it->gaps_seen)
        model_gaps_add(it, anew ? count : count - it->gaps_told, now);
    it->gaps_seen = true;
    it->gaps_told = count;
    it->gaps_instance = instance;
}

/* Times that nothing turned round any more, or that the link went down. */
static void take_gaps(struct model *m, struct model_item *it,
                      const struct report *rep, bool anew, int64_t now)
{
    uint64_t gaps = 0, flaps = 0, all, more;
    bool loops = find(rep, it->pub.rail, "loop_gaps", &gaps);
    bool links = find(rep, it->pub.rail, "link_flaps", &flaps);

    if (!loops && !links)
        return;
    all = gaps + flaps;
    more =
        it->gaps_seen && !anew && all > it->gaps_told ? all - it->gaps_told : 0;
    it->gaps_seen = true;
    it->gaps_told = all;
    model_gaps_add(it, more, now);
    if (more)
        model_judge(m, it, now);
}

static void take_rail(struct model *m, struct model_item *it,
                      const struct report *rep, bool anew, int64_t now)
{
    uint64_t bad, all;
    int by = choose(rep, it->pub.rail, &bad, &all);

    take_gaps(m, it, rep, anew, now);
    if (!by)
        return;
    anew |= by != it->errors_by;
    it->errors_by = by;
    if (rate_take(&it->errors, &m->conf.errors, bad, all, anew, now))
        model_judge(m, it, now);
}

void model_errors_take(struct model *m, const struct report *rep, bool anew,
                       int64_t now)
{
    if (rep->ncounters == 0 || rep->from != REPORT_HSND)
        return;
    for (uint8_t rail = 0; rail < m->nrails; rail++) {
        struct model_item *it =
            model_item_get(m, REPORT_HOST, rail, rep->node, "");

        if (it)
            take_rail(m, it, rep, anew, now);
    }
}

/* The host at an end of a link ("n2:0"). */
static struct model_item *host_at(struct model *m, uint8_t rail,
                                  const char *end)
{
    char name[SF_REPORT_NAME_MAX];
    size_t len = strcspn(end, ":");

    memcpy(name, end, len);
    name[len] = '\0';
    return model_item_get(m, REPORT_HOST, rail, name, "");
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

/* A large fabric has hundreds of thousands of links, each of which is judged
 * twice a second: their ends are looked up anew when items came or went. */
static void find_ends(struct model *m, const struct model_item *link,
                      struct model_item *(*item_at)(struct model *, uint8_t,
                                                    const char *),
                      struct model_ends *ends)
{
    if (ends->as_of == m->changes)
        return;
    ends->at[0] = item_at(m, link->pub.rail, link->pub.name);
    ends->at[1] = item_at(m, link->pub.rail, link->pub.peer);
    ends->as_of = m->changes;
}

static struct model_item **xbars_of(struct model *m, struct model_item *link)
{
    find_ends(m, link, xbar_of, &link->xbar_ends);
    return link->xbar_ends.at;
}

static struct model_item **hosts_of(struct model *m, struct model_item *link)
{
    find_ends(m, link, host_at, &link->host_ends);
    return link->host_ends.at;
}

/* The host whose cable loses or breaks too many frames, of this item: itself,
 * or at an end of this link; NULL: none. */
static const struct model_item *corrupting_host(struct model *m,
                                                struct model_item *it)
{
    const struct model_item *host = it;
    struct model_item **ends;

    if (it->pub.kind == REPORT_XBAR)
        return NULL;
    if (it->pub.kind == REPORT_LINK) {
        ends = hosts_of(m, it);
        host = ends[0] ? ends[0] : ends[1];
    }
    return host && host->errors.high ? host : NULL;
}

/* "down 4 times in 300 s at leaf1:0" */
static void flaps_why(const struct model *m, const struct model_item *it,
                      uint32_t times, char *why, size_t size)
{
    const char *peer = it->pub.kind == REPORT_HOST ? it->pub.peer : "";

    snprintf(why, size, "down %" PRIu32 " times in %" PRId64 " s%s%.20s", times,
             m->conf.flap_window / 1000, *peer ? " at " : "", peer);
}

/* 1234: "0.1234%"; no zeros at the end. */
static void percent(uint32_t rate, char *text, size_t size)
{
    size_t len = (size_t)snprintf(text, size, "%" PRIu32 ".%04" PRIu32,
                                  rate / 10000, rate % 10000);

    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    snprintf(text + len, size - len, "%%");
}

/* "1.25% of frames lost at leaf1:0 limit 0.01%" */
static void errors_why(const struct model *m, const struct model_item *host,
                       char *why, size_t size)
{
    const char *peer = host->pub.peer;
    char rate[16], limit[16];

    percent(host->errors.rate, rate, sizeof(rate));
    percent(m->conf.errors.limit, limit, sizeof(limit));
    if (snprintf(why, size, "%s of frames %s%s%.20s limit %s", rate,
                 host->errors_by ? rules[host->errors_by - 1].what : "lost",
                 *peer ? " at " : "", peer, limit) < 0)
        *why = '\0';
}

/* ---- who is alone ------------------------------------------------------ */

/* A host whose echoes nobody answers: is the host cut off, or are those that
 * it asked dead? It is cut off when one of them is alive. A host is alive
 * when its hsnd has spoken since, and others answer it. Also when it is on a
 * map that the lonely host is not on: of two hosts that do not hear each
 * other one may see crossbars and the other nothing. A host knows by its
 * routes whom to ask. Routes may be old, so by counting: if `asked` of the
 * others did not answer and more of them are alive than were not asked, then
 * one that was asked is alive. That still may come of a dead daemon: a host
 * whose own mapper is dead falls out of the map, and out of the routes by
 * which others would answer it. So it is proven when its own mapper speaks,
 * too, both for so long that everything that only stood still has had the
 * time to find together again. */

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

/* Is one of those alive that do not answer this host, whose hsnd is fresh? */
static bool model_others_live(struct model *m, struct model_item *it,
                              int64_t now)
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
static bool model_alone_is_proven(const struct model *m,
                                  const struct model_item *it, int64_t now)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];
    int64_t then = e->alone_since + 2 * m->conf.stale[REPORT_HSND];
    uint8_t rail = it->pub.rail;

    if (!is_steady(m, REPORT_HSND, it->pub.name, it->pub.rail, then, now))
        return false;
    if (it->pub.evidence[REPORT_MAPPERD].known)
        rail = it->map;
    else if (!m->maps[rail].pub.known)
        return true; /* nobody maps this fabric */
    return is_steady(m, REPORT_MAPPERD, it->pub.name, rail, then, now);
}

/* What the evidence says, and whose. */
struct verdict {
    enum report_seen seen;
    int source;
    bool proven; /* no dead daemon could have made it so */
    bool silent; /* by hsnd's own silence for long */
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
                   bool proven, const char *why)
{
    int worse = badness(seen) - badness(v->seen);

    if (v->source != -2 && worse <= 0 && (worse < 0 || !proven || v->proven))
        return;
    v->seen = seen;
    v->source = source;
    v->proven = proven;
    model_text(v->why, why);
}

int64_t model_vouched(const struct model *m, const struct model_item *it,
                      enum report_from from)
{
    int64_t at = it->pub.evidence[from].at, whole = 0;

    if (from == REPORT_MAPPERD)
        whole = m->maps[it->map].pub.at;
    else if (from == REPORT_LINKS)
        whole = m->links_at;
    return whole > at ? whole : at;
}

bool model_is_fresh(const struct model *m, const struct model_item *it,
                    enum report_from from, int64_t now)
{
    return now - model_vouched(m, it, from) <= m->conf.stale[from];
}

/* For so long its own hsnd or nicd has been stale while we listened. */
static bool is_silent_for_long(const struct model *m,
                               const struct model_item *it,
                               enum report_from from, int64_t now)
{
    int64_t at = it->pub.evidence[from].at;

    if (at < m->began)
        at = m->began;
    return m->conf.silent_after > 0 &&
           now - at > m->conf.stale[from] + m->conf.silent_after;
}

static void weigh_silence(const struct model *m, const struct model_item *it,
                          enum report_from from, int64_t now, struct verdict *v)
{
    char why[SF_REPORT_WHY_MAX];

    if (from == REPORT_NICD &&
        model_nic_is_gone(m, it, now, why, sizeof(why))) {
        worsen(v, SEEN_DEGRADED, (int)from, true, why);
        return;
    }
    snprintf(why, sizeof(why), "%s is silent", report_from_name(from));
    worsen(v, SEEN_UNKNOWN, (int)from, false, why);
    if ((from != REPORT_HSND && from != REPORT_NICD) ||
        !is_silent_for_long(m, it, from, now))
        return;
    snprintf(why, sizeof(why), "%s is silent for long", report_from_name(from));
    worsen(v, SEEN_DEGRADED, (int)from, false, why);
    v->silent = true;
}

/* "Nobody answers": of whom?  While the other end of its cable does, the cable
 * is not what is dead: then only what is proven counts, for those others may
 * just have ceased to speak. */
static void weigh_alone(struct model *m, struct model_item *it, int64_t now,
                        struct verdict *v)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];
    const struct health_evidence *map = &it->pub.evidence[REPORT_MAPPERD];
    bool turns = e->turned == ANSWERED_YES;
    bool proven = model_alone_is_proven(m, it, now);

    if (model_others_live(m, it, now) && (proven || !turns))
        worsen(v, SEEN_DOWN, REPORT_HSND, proven, e->why);
    else if (turns)
        worsen(v, SEEN_UP, REPORT_HSND, false,
               "nobody but its crossbar answers");
    else if (map->known && map->seen == SEEN_UP &&
             model_is_fresh(m, it, REPORT_MAPPERD, now))
        worsen(v, SEEN_UP, REPORT_HSND, false, e->why);
    else
        worsen(v, SEEN_UNKNOWN, REPORT_HSND, false, e->why);
}

/* Have we listened for so long that any hsnd which reports at all has done so?
 */
static bool hsnds_had_time(const struct model *m, int64_t now)
{
    return now - m->began >= 2 * m->conf.stale[REPORT_HSND];
}

/* A map that does not have a host: of one whose hsnd is silent that says no
 * more than the silence does. */
static void weigh_absence(const struct model *m, const struct model_item *it,
                          int64_t now, struct verdict *v)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_HSND];

    if (!(m->hsnd_rails & 1u << it->pub.rail))
        worsen(v, SEEN_DOWN, REPORT_MAPPERD, hsnds_had_time(m, now),
               MODEL_NOT_IN_MAP);
    else if (e->known && model_is_fresh(m, it, REPORT_HSND, now) &&
             e->answered == ANSWERED_YES)
        worsen(v, SEEN_DEGRADED, REPORT_MAPPERD, false,
               MODEL_NOT_IN_MAP " but answered");
    else
        worsen(v, SEEN_UNKNOWN, REPORT_MAPPERD, false, MODEL_NOT_IN_MAP);
}

/* A port that was down and of which a new nicd does not know yet stays so, and
 * that proves nothing. */
static void weigh_source(struct model *m, struct model_item *it,
                         enum report_from from, int64_t now, struct verdict *v)
{
    const struct health_evidence *e = &it->pub.evidence[from];
    const struct health_evidence *own = &it->pub.evidence[REPORT_HSND];
    bool host = it->pub.kind == REPORT_HOST;
    char why[SF_REPORT_WHY_MAX];
    enum report_seen seen;

    if (!e->known)
        return;
    if (!model_is_fresh(m, it, from, now)) {
        weigh_silence(m, it, from, now, v);
    } else if (from == REPORT_HSND && e->answered == ANSWERED_NO) {
        weigh_alone(m, it, now, v);
    } else if (from == REPORT_MAPPERD && host && e->seen == SEEN_DOWN) {
        if (strcmp(e->why, MODEL_NOT_IN_MAP) == 0)
            weigh_absence(m, it, now, v);
        else if (!own->known || model_is_fresh(m, it, REPORT_HSND, now))
            worsen(v, SEEN_DOWN, (int)from, true, e->why);
    } else if (from == REPORT_NICD) {
        seen = model_nic_says(m, it, why, sizeof(why));
        if (seen == SEEN_UNKNOWN && it->pub.state == HEALTH_DOWN)
            worsen(v, SEEN_DOWN, (int)from, false, why);
        else
            worsen(v, seen, (int)from, true, why);
    } else {
        worsen(v, e->seen, (int)from, true, e->why);
    }
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
        worsen(v, SEEN_DEGRADED, REPORT_HSND, true,
               "echo losses to most hosts");
}

/* Several hosts lose echoes to this one. */
static void weigh_echoes(const struct model *m, const struct model_item *it,
                         int64_t now, struct verdict *v)
{
    char why[SF_REPORT_WHY_MAX];
    unsigned n = 0;

    for (int i = 0; i < MODEL_ECHOES_MAX; i++) {
        const struct model_echo *e = &it->echoes[i];

        /* Counted once it speaks again: a dead one loses echoes, too. */
        n += e->at && now - e->at <= echo_lasts(m) &&
             it->pub.evidence[REPORT_HSND].at > e->at;
    }
    if (n == 0 || n < m->conf.echo_reporters)
        return;
    snprintf(why, sizeof(why), "echo losses seen by %u hosts", n);
    worsen(v, SEEN_DEGRADED, -1, true, why);
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
    worsen(v, SEEN_DEGRADED, -1, true, why);
}

/* Its cable loses or breaks too many frames. */
static void weigh_errors(struct model *m, struct model_item *it, int64_t now,
                         struct verdict *v)
{
    const struct model_item *host = corrupting_host(m, it);
    char why[SF_REPORT_WHY_MAX];

    if (!host || !model_is_fresh(m, host, REPORT_HSND, now))
        return;
    errors_why(m, host, why, sizeof(why));
    worsen(v, SEEN_DEGRADED, REPORT_HSND, true, why);
}

static void weigh(struct model *m, struct model_item *it, int64_t now,
                  struct verdict *v)
{
    *v = (struct verdict){.seen = SEEN_UNKNOWN, .source = -2};
    for (int from = 0; from < REPORT_FROMS; from++)
        weigh_source(m, it, (enum report_from)from, now, v);
    if (v->source == -2)
        worsen(v, SEEN_UNKNOWN, -1, false, "no report");
    weigh_errors(m, it, now, v);
    weigh_own_echoes(m, it, now, v);
    weigh_echoes(m, it, now, v);
    weigh_uplinks(m, it, v);
}

/* How often it went down within the window that ends now. */
static uint32_t recent_downs(const struct model_item *it, int64_t now,
                             int64_t window, bool proven)
{
    uint32_t n = 0, have = it->ndowns;

    if (have > MODEL_FLAPS_MAX)
        have = MODEL_FLAPS_MAX;
    for (uint32_t i = 0; i < have; i++)
        n += now - it->downs[i] <= window && (!proven || it->downs_proven[i]);
    return n;
}

/* The same by what hsnd counted, or a mapper of a link between crossbars.  The
 * crossbar at the other end did not answer: no dead daemon of a host can have
 * made it so. */
static uint32_t recent_gaps(const struct model_item *it, int64_t now,
                            int64_t window)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < it->ngaps && i < MODEL_FLAPS_MAX; i++)
        n += now - it->gaps[i] <= window;
    return n;
}

/* Both may have seen the same. */
static uint32_t recent_faults(const struct model *m,
                              const struct model_item *it, int64_t now,
                              bool proven)
{
    uint32_t downs = recent_downs(it, now, m->conf.flap_window, proven);
    uint32_t gaps = recent_gaps(it, now, m->conf.flap_window);

    return downs > gaps ? downs : gaps;
}

static bool flaps(const struct model *m, const struct model_item *it,
                  int64_t now)
{
    return m->conf.flap_count &&
           recent_faults(m, it, now, false) >= m->conf.flap_count;
}

static int64_t last_gap(const struct model_item *it)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < it->ngaps && i < MODEL_FLAPS_MAX; i++) {
        if (it->gaps[i] > last)
            last = it->gaps[i];
    }
    return last;
}

/* Since when there has been no fault.  A moment in which nothing was known does
 * not count as one. */
static int64_t quiet_since(const struct model_item *it)
{
    int64_t gap = last_gap(it);

    return gap > it->back_since ? gap : it->back_since;
}

/* hsnd goes on counting: nobody may answer, but the cable comes and goes. */
static bool gaps_go_on(const struct model *m, const struct model_item *it,
                       int64_t now)
{
    return it->ngaps > 0 && now - last_gap(it) < m->conf.flap_hold;
}

static enum health_state next_when_flapping(const struct model *m,
                                            const struct model_item *it,
                                            int64_t now)
{
    int64_t age = now - it->raw_since;

    switch (it->raw) {
    case SEEN_DOWN:
        return age >= m->conf.flap_hold && !gaps_go_on(m, it, now)
                   ? HEALTH_DOWN
                   : HEALTH_FLAPPING;
    case SEEN_UNKNOWN:
        return age >= m->conf.flap_hold ? HEALTH_UNKNOWN : HEALTH_FLAPPING;
    case SEEN_UP:
    case SEEN_DEGRADED:
        break;
    }
    if (now - quiet_since(it) < m->conf.flap_quiet)
        return HEALTH_FLAPPING;
    return it->raw == SEEN_UP ? HEALTH_HEALTHY : HEALTH_DEGRADED;
}

static enum health_state next_state(const struct model *m,
                                    const struct model_item *it, int64_t now)
{
    enum health_state is = it->pub.state;
    int64_t age = now - it->raw_since;

    if (is == HEALTH_FLAPPING ||
        (flaps(m, it, now) && (is != HEALTH_DOWN || gaps_go_on(m, it, now))))
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

/* A link of this crossbar came or went. */
static void turn(struct model *m, struct model_item *xbar, bool up)
{
    if (!xbar || (up ? xbar->links_up == xbar->links : xbar->links_up == 0))
        return; /* one that is new: the next tick counts */
    xbar->links_up += up ? 1 : -1u;
    if (!xbar->turned)
        TAILQ_INSERT_TAIL(&m->turned, xbar, turned_next);
    xbar->turned = true;
}

static void publish(struct model *m, struct model_item *it,
                    enum health_state state, int64_t now)
{
    enum health_state was = it->pub.state;

    if (state == was)
        return;
    if (it->counts && (state == HEALTH_DOWN) != (was == HEALTH_DOWN)) {
        turn(m, xbars_of(m, it)[0], was == HEALTH_DOWN);
        turn(m, xbars_of(m, it)[1], was == HEALTH_DOWN);
    }
    m->counts[it->pub.kind][was]--;
    m->counts[it->pub.kind][state]++;
    it->pub.state = state;
    it->pub.since = now;
    if (was == HEALTH_FLAPPING) {
        it->pub.count += it->untold;
        it->untold = 0;
    }
    if (state != HEALTH_UNKNOWN)
        it->bad_before = state != HEALTH_HEALTHY;
    if (m->ops.changed)
        m->ops.changed(&it->pub, was, now, m->ops.arg);
}

/* It went down.  A moment of which nothing was known is no new fault.  While
 * it flaps they are not told one by one. */
static void note_down(struct model_item *it, bool proven, int64_t now)
{
    uint32_t at = it->ndowns++ % MODEL_FLAPS_MAX;

    it->downs[at] = now;
    it->downs_proven[at] = proven;
    if (it->pub.state == HEALTH_FLAPPING)
        it->untold++;
    else
        it->pub.count++;
}

/* The last word that a verdict stands on; `now` where no one source has it. */
static int64_t word_of(const struct model *m, const struct model_item *it,
                       int source, int64_t now)
{
    return source >= 0 && it->pub.evidence[source].known
               ? model_vouched(m, it, (enum report_from)source)
               : now;
}

static void take_proof(const struct model *m, struct model_item *it,
                       const struct verdict *v, int64_t now)
{
    if (!v->proven || v->seen == SEEN_UP)
        it->proven_since = 0;
    else if (!it->proven_since)
        it->proven_since = now;
    it->word = word_of(m, it, v->source, now);
}

static void take_verdict(const struct model *m, struct model_item *it,
                         const struct verdict *v, int64_t now)
{
    if (!it->judged || v->seen != it->raw) {
        if (v->seen == SEEN_DOWN && it->definite != SEEN_DOWN)
            note_down(it, v->proven, now);
        it->raw = v->seen;
        it->raw_since = now;
        it->proven_since = 0;
        it->judged = true;
    } else if (v->seen == SEEN_DOWN && v->proven && it->ndowns > 0) {
        it->downs_proven[(it->ndowns - 1) % MODEL_FLAPS_MAX] = true;
    }
    if (it->definite == SEEN_DOWN && v->seen != SEEN_DOWN &&
        v->seen != SEEN_UNKNOWN)
        it->back_since = now;
    if (v->seen != SEEN_UNKNOWN)
        it->definite = v->seen;
    take_proof(m, it, v, now);
}

static bool lags(const struct model_item *it)
{
    static const enum health_state as[] = {[SEEN_UP] = HEALTH_HEALTHY,
                                           [SEEN_UNKNOWN] = HEALTH_UNKNOWN,
                                           [SEEN_DEGRADED] = HEALTH_DEGRADED,
                                           [SEEN_DOWN] = HEALTH_DOWN};

    return it->pub.state > as[it->raw];
}

/* A report counts for a while after it was made, but only further reports prove
 * that what it says still holds: its reporter may have died while a cable was
 * gone for a moment. */
static int64_t proven_by_words(const struct model_item *it, int64_t now)
{
    return it->proven_since ? it->proven_since + (now - it->word) : 0;
}

/* What can be acted on is what the evidence says now, not what is still shown
 * because it was so a moment ago; but flapping is made of moments. */
static int64_t proven(const struct model *m, const struct model_item *it,
                      int64_t now)
{
    if (it->pub.state != HEALTH_FLAPPING)
        return lags(it) ? 0 : proven_by_words(it, now);
    return recent_faults(m, it, now, true) >= m->conf.flap_count ? it->pub.since
                                                                 : 0;
}

/* The reason is told once, not for each flap. */
static void begin_flapping(const struct model *m, struct model_item *it,
                           const struct verdict *v, int64_t now)
{
    uint32_t downs = recent_downs(it, now, m->conf.flap_window, false);
    uint32_t times = recent_faults(m, it, now, false);

    if (it->pub.state == HEALTH_FLAPPING && it->pub.why[0])
        return;
    it->pub.source = v->source;
    if (it->pub.state != HEALTH_FLAPPING)
        it->pub.count += times - downs; /* that nobody told of */
    flaps_why(m, it, times, it->pub.why, sizeof(it->pub.why));
}

/* While a state lags behind the evidence its reason stays that of the state. */
void model_judge(struct model *m, struct model_item *it, int64_t now)
{
    enum health_state next;
    struct verdict v;

    m->judged++;
    model_rest_end(m, it);
    weigh(m, it, now, &v);
    take_verdict(m, it, &v, now);
    next = next_state(m, it, now);
    if (next == HEALTH_FLAPPING) {
        begin_flapping(m, it, &v, now);
    } else if (!(next == it->pub.state && lags(it))) {
        it->pub.source = v.source;
        memcpy(it->pub.why, v.why, sizeof(v.why));
    }
    it->pub.silent = v.silent;
    publish(m, it, next, now);
    it->pub.proven = proven(m, it, now);
}

/* A link whose ends are both crossbars counts for both. */
static void count_link(struct model *m, struct model_item *link)
{
    struct model_item *a = xbars_of(m, link)[0];
    struct model_item *b = xbars_of(m, link)[1];
    unsigned up = link->pub.state != HEALTH_DOWN;

    if (!a || !b)
        return;
    link->counts = true;
    a->links++;
    b->links++;
    a->links_up += up;
    b->links_up += up;
}

static void hang_on(struct model_item *host, struct model_item *leaf)
{
    if (host->leaf == leaf)
        return;
    if (host->leaf)
        LIST_REMOVE(host, at_leaf);
    host->leaf = leaf;
    if (leaf)
        LIST_INSERT_HEAD(&leaf->hosts, host, at_leaf);
}

/* On the crossbar that it is told to hang on.  InfiniBand has one map of all
 * rails, whose crossbars are of the first. */
static void hang(struct model *m, struct model_item *host)
{
    uint8_t rail =
        host->pub.evidence[REPORT_MAPPERD].known ? host->map : host->pub.rail;

    hang_on(host, xbar_of(m, rail, host->pub.peer));
    host->leaf_as_of = m->changes;
}

void model_unhang(struct model *m, struct model_item *it)
{
    hang_on(it, NULL);
    while (!LIST_EMPTY(&it->hosts))
        hang_on(LIST_FIRST(&it->hosts), NULL);
    if (it->turned)
        TAILQ_REMOVE(&m->turned, it, turned_next);
}

static bool forgotten(const struct model *m, const struct model_item *it,
                      int64_t now)
{
    int64_t last = model_is_mapped(m, it) ? m->maps[it->map].pub.at : 0;

    for (int from = 0; from < REPORT_FROMS; from++) {
        if (it->pub.evidence[from].at > last)
            last = it->pub.evidence[from].at;
    }
    return now - last > m->conf.forget_after;
}

/* We stood still: of the time in which we did not listen nothing is proven. */
void model_listens(struct model *m, int64_t now)
{
    int64_t gap = now - m->listened;
    struct model_item *it;

    if (m->listened && gap > MODEL_STALL_MS)
        TAILQ_FOREACH(it, &m->awake, rest)
        {
            if (it->proven_since)
                it->proven_since += gap;
        }
    m->listened = now;
}

/* Links first: hosts and crossbars are judged by how many of them are up. */
void model_tick(struct model *m, int64_t now)
{
    struct model_item *it, *next;

    if (!m->began)
        m->began = now;
    model_listens(m, now);
    m->looks = MODEL_LOOKS_MAX;
    model_rest_tick(m, now);
    model_nic_count(m, now);
    for (it = TAILQ_FIRST(&m->awake); it; it = next) {
        next = TAILQ_NEXT(it, rest);
        it->links = it->links_up = 0;
        it->counts = false;
        if (forgotten(m, it, now))
            model_item_drop(m, it);
    }
    TAILQ_FOREACH(it, &m->awake, rest)
    {
        if (it->pub.kind != REPORT_LINK)
            continue;
        model_judge(m, it, now);
        count_link(m, it);
    }
    TAILQ_FOREACH(it, &m->awake, rest)
    {
        if (it->pub.kind == REPORT_HOST && it->leaf_as_of != m->changes)
            hang(m, it);
        if (it->pub.kind != REPORT_LINK)
            model_judge(m, it, now);
    }
}

void model_follow(struct model *m, int64_t now)
{
    struct model_item *xbar, *host;

    while ((xbar = TAILQ_FIRST(&m->turned))) {
        TAILQ_REMOVE(&m->turned, xbar, turned_next);
        xbar->turned = false;
        model_judge(m, xbar, now);
        LIST_FOREACH(host, &xbar->hosts, at_leaf)
        model_judge(m, host, now);
    }
}
