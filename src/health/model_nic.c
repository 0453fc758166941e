/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What nicd tells of the ports of a node's NICs: which rail a port is, what it
 * was like before nicd began, and what the same port of other nodes is like.
 * nicd remembers nothing over a restart or a reboot; the model does.
 *
 *   no link since nicd began: down, if it ever had one; never cabled, if
 *   most others of its kind have one; else of no use, and well
 *
 *   slower than most others of its kind
 *
 *   not told of any more while nicd speaks: degraded, until it is forgotten
 *   (what vanishes while nicd looks on, nicd says itself)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

#define SPEEDS 4       /* different ones that are counted */
#define OTHERS_LEAST 2 /* others of a kind, fewer are no measure */

struct tally_of_kind {
    uint32_t all, up;
    struct {
        uint32_t mbps, n;
    } speed[SPEEDS];
};

/* The ports that say the same of what they are: "MT4123 mlx5_0/1". */
struct model_nics {
    char nic[SF_REPORT_NIC_MAX];
    struct tally_of_kind now;  /* as the last tick found them */
    struct tally_of_kind rest; /* those among them that are at rest */
    uint32_t most;             /* how fast most of them are; 0: they differ */
    UT_hash_handle hh;
};

static const struct health_evidence *word_of(const struct model_item *it)
{
    return &it->pub.evidence[REPORT_NICD];
}

/* ---- which rail ---------------------------------------------------------- */

/* Nothing speaks against it that this is the port of the record. */
static bool may_be(const struct model_item *it, const struct report_record *r)
{
    return !it || (!word_of(it)->known &&
                   (!it->pub.board || !r->board || it->pub.board == r->board));
}

static bool same_board(const struct model_item *it, enum report_from from,
                       const struct report_record *r)
{
    return r->board && it->pub.board == r->board &&
           (from == REPORT_NICD || word_of(it)->known);
}

/* -1: none of the node's rails. */
static int known_rail(struct model *m, enum report_from from,
                      const struct report_record *r)
{
    int by_nic = -1;

    for (uint8_t rail = 0; rail < m->nrails; rail++) {
        const struct model_item *it =
            model_item_get(m, REPORT_HOST, rail, r->name, "");

        if (it && same_board(it, from, r))
            return rail;
        if (it && from == REPORT_NICD && it->nic[0] &&
            strcmp(it->nic, r->nic) == 0)
            by_nic = rail;
    }
    return by_nic;
}

uint8_t model_nic_rail(struct model *m, enum report_from from,
                       const struct report_record *r)
{
    int known = -1;

    if (from == REPORT_NICD || from == REPORT_MAPPERD)
        known = known_rail(m, from, r);
    if (known >= 0)
        return (uint8_t)known;
    if (from != REPORT_NICD ||
        may_be(model_item_get(m, REPORT_HOST, r->rail, r->name, ""), r))
        return r->rail;
    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        if (may_be(model_item_get(m, REPORT_HOST, rail, r->name, ""), r))
            return rail;
    return r->rail;
}

/* ---- what is told -------------------------------------------------------- */

void model_nic_take(struct model_item *it, const struct report *rep,
                    const struct report_record *r, int64_t now)
{
    bool anew = it->nic_instance != rep->instance;

    if (!anew && r->count > it->nic_flaps)
        model_gaps_add(it, r->count - it->nic_flaps, now);
    it->nic_instance = rep->instance;
    it->nic_flaps = r->count;
    memcpy(it->nic, r->nic, sizeof(it->nic));
    it->nic_mbps = r->mbps;
    it->nic_never = r->never;
    it->nic_was_up |= !r->never && r->seen != SEEN_UNKNOWN;
}

void model_nic_leave_out(struct model *m, const struct report_record *r)
{
    int rail = known_rail(m, REPORT_NICD, r);
    struct model_item *it =
        rail < 0 ? NULL
                 : model_item_get(m, REPORT_HOST, (uint8_t)rail, r->name, "");

    if (!it || !word_of(it)->known)
        return;
    model_rest_end(m, it);
    memset(&it->pub.evidence[REPORT_NICD], 0, sizeof(struct health_evidence));
    it->nic[0] = '\0';
    it->nic_was_up = it->nic_never = false;
    for (int from = 0; from < REPORT_FROMS; from++)
        if (it->pub.evidence[from].known)
            return;
    model_item_drop(m, it);
}

/* ---- others of its kind -------------------------------------------------- */

static bool has_link(const struct model_item *it)
{
    enum report_seen seen = word_of(it)->seen;

    return !it->nic_never && (seen == SEEN_UP || seen == SEEN_DEGRADED);
}

static struct model_nics *kind_of(struct model *m, const struct model_item *it)
{
    struct model_nics *g;

    HASH_FIND_STR(m->nics, it->nic, g);
    if (g || !(g = calloc(1, sizeof(*g))))
        return g;
    memcpy(g->nic, it->nic, sizeof(g->nic));
    HASH_ADD_STR(m->nics, nic, g);
    return g;
}

/* Where ports of this speed are counted; SPEEDS: nowhere. */
static int place_of(const struct tally_of_kind *t, uint32_t mbps)
{
    int unused = SPEEDS;

    for (int i = SPEEDS - 1; i >= 0; i--) {
        if (t->speed[i].n && t->speed[i].mbps == mbps)
            return i;
        if (!t->speed[i].n)
            unused = i;
    }
    return unused;
}

/* One more with a link.  As which speed it counts; 0: as none. */
static uint32_t count_up(struct tally_of_kind *t, uint32_t mbps)
{
    int i = mbps ? place_of(t, mbps) : SPEEDS;

    t->up++;
    if (i == SPEEDS)
        return 0;
    t->speed[i].mbps = mbps;
    t->speed[i].n++;
    return mbps;
}

static void count_one(struct model *m, const struct model_item *it)
{
    struct model_nics *g = kind_of(m, it);

    if (!g)
        return;
    g->now.all++;
    if (has_link(it))
        count_up(&g->now, it->nic_mbps);
}

struct model_nics *model_nic_rests(struct model *m, struct model_item *it)
{
    struct model_nics *g = kind_of(m, it);

    if (!g)
        return NULL;
    g->rest.all++;
    it->rests_mbps = count_up(&g->rest, it->nic_mbps);
    return g;
}

void model_nic_rests_no_more(struct model_nics *g, uint32_t mbps)
{
    g->rest.all--;
    g->rest.up--;
    if (mbps)
        g->rest.speed[place_of(&g->rest, mbps)].n--;
}

void model_nic_free(struct model *m)
{
    struct model_nics *g, *next;

    HASH_ITER(hh, m->nics, g, next)
    {
        HASH_DEL(m->nics, g);
        free(g);
    }
}

/* There are enough of this speed to be a measure for others. */
static bool is_most(const struct tally_of_kind *t, int i)
{
    return t->speed[i].n >= OTHERS_LEAST && t->speed[i].n * 2 > t->up;
}

static uint32_t most_of(const struct tally_of_kind *t)
{
    for (int i = 0; i < SPEEDS; i++)
        if (is_most(t, i))
            return t->speed[i].mbps;
    return 0;
}

void model_nic_count(struct model *m, int64_t now)
{
    struct model_nics *g, *gnext;
    struct model_item *it;
    uint32_t was;

    HASH_ITER(hh, m->nics, g, gnext)
    g->now = g->rest;
    TAILQ_FOREACH(it, &m->awake, rest)
    {
        if (it->nic[0] && model_is_fresh(m, it, REPORT_NICD, now))
            count_one(m, it);
    }
    HASH_ITER(hh, m->nics, g, gnext)
    {
        was = g->most;
        g->most = most_of(&g->now);
        if (g->most != was)
            model_rest_end_all(m, g);
        if (g->now.all > 0)
            continue;
        HASH_DEL(m->nics, g);
        free(g);
    }
}

/* "mlx5_0/1" */
static const char *port_of(const struct model_item *it)
{
    const char *blank = strrchr(it->nic, ' ');

    return blank ? blank + 1 : it->nic;
}

static void unit(uint32_t mbps, char *text, size_t size)
{
    bool whole = mbps % 1000 == 0;

    snprintf(text, size, "%u %cb/s", whole ? mbps / 1000 : mbps,
             whole ? 'G' : 'M');
}

/* Slower than most. */
static bool is_slow(const struct model_nics *g, const struct model_item *it,
                    char *why, size_t size)
{
    char is[16], most[16];

    for (int i = 0; i < SPEEDS; i++) {
        if (!it->nic_mbps || g->now.speed[i].mbps <= it->nic_mbps ||
            !is_most(&g->now, i))
            continue;
        unit(it->nic_mbps, is, sizeof(is));
        unit(g->now.speed[i].mbps, most, sizeof(most));
        snprintf(why, size, "%.18s runs %s: %u like it %s", port_of(it), is,
                 g->now.speed[i].n, most);
        return true;
    }
    return false;
}

/* It never had a link, here or before: is that a fault? */
static enum report_seen judge_never(const struct model *m,
                                    const struct model_nics *g,
                                    const struct model_item *it, char *why,
                                    size_t size)
{
    uint32_t others = g && g->now.all > 0 ? g->now.all - 1 : 0;

    if (m->conf.nic_uncabled == TALLY_IGNORE || others < OTHERS_LEAST ||
        g->now.up * 2 <= others) {
        snprintf(why, size, "%.28s never had a link", port_of(it));
        return SEEN_UP;
    }
    snprintf(why, size, "%.20s never had a link: %u of %u like it do",
             port_of(it), g->now.up, others);
    return tally_seen(m->conf.nic_uncabled);
}

enum report_seen model_nic_says(const struct model *m,
                                const struct model_item *it, char *why,
                                size_t size)
{
    const struct health_evidence *e = word_of(it);
    struct model_nics *g;

    memcpy(why, e->why, size < sizeof(e->why) ? size : sizeof(e->why));
    why[size - 1] = '\0';
    HASH_FIND_STR(m->nics, it->nic, g);
    if (it->nic_never && !it->nic_was_up &&
        (e->seen == SEEN_DOWN || e->seen == SEEN_DEGRADED))
        return judge_never(m, g, it, why, size);
    if (e->seen == SEEN_UP && !it->nic_never && g &&
        m->conf.nic_slow != TALLY_IGNORE && is_slow(g, it, why, size))
        return tally_seen(m->conf.nic_slow);
    return e->seen;
}

bool model_nic_is_gone(const struct model *m, const struct model_item *it,
                       int64_t now, char *why, size_t size)
{
    const struct model_reporter *r =
        model_reporter_find(m, REPORT_NICD, it->pub.name, 0);

    if (!r || now - r->spoke > m->conf.stale[REPORT_NICD] ||
        r->pub.instance == it->nic_instance)
        return false;
    snprintf(why, size, "%.28s has vanished", port_of(it));
    return true;
}
