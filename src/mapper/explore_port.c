/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One port of one crossbar: a host, a crossbar, nothing?  And which crossbar?
 * A case asks one question after the other until the slot is settled.
 */
#include <stdlib.h>
#include <string.h>

#include "mapper/explore_priv.h"

/* ---- explore probe ----------------------------------------------------- */

/* Routes of the explorer's probes. */

/* Deltas to a slot and beyond it, as route bytes; number of them or -1. */
static int route_to(struct explore *x, struct atlas_ref at,
                    const struct guess_way *way, int16_t *deltas)
{
    unsigned n;

    if (!atlas_way(&x->atlas, at.rec, deltas, PROBE_ROUTE_MAX / 2, &n))
        return -1;
    if (n + 1u + (way ? way->n : 0u) > PROBE_ROUTE_MAX / 2)
        return -1;
    deltas[n++] = (int16_t)at.slot;
    for (int i = 0; way && i < way->n; i++)
        deltas[n++] = way->delta[i];
    return (int)n;
}

static uint8_t route_byte(int delta)
{
    return (uint8_t)(0x80 | (delta & 0x3f));
}

/* Absolute fabrics: a delta becomes the port to leave by. */
static bool make_absolute(struct explore *x, struct atlas_ref at,
                          struct probe *probe, int n)
{
    uint32_t rec = at.rec;

    for (int i = n - 1; i >= 0; i--) {
        const struct atlas_rec *r = &x->atlas.recs[rec];
        struct atlas_ref before;

        probe->route[i] = (uint8_t)(r->entry + at.slot);
        if (r->from == ATLAS_NONE)
            return i == 0;
        before = atlas_at(&x->atlas, r->from, r->from_slot);
        at = before;
        rec = before.rec;
    }
    return false;
}

/* False: out of reach. */
static bool case_fill_route(struct explore *x, struct xcase *c,
                            struct probe *probe)
{
    int16_t deltas[PROBE_ROUTE_MAX];
    const struct guess_way *way = c->test == TEST_GUESS ? &c->way : NULL;
    int n = route_to(x, c->at, way, deltas);
    int all;

    if (n < 0 || n > x->limits.max_hops + (c->test != TEST_LOOP ? 0 : 1))
        return false;
    if (x->limits.absolute) {
        probe->kind = PROBE_TAGGED;
        probe->nroute = (uint8_t)n;
        return n <= x->limits.max_route && make_absolute(x, c->at, probe, n);
    }
    all = c->test == TEST_LOOP ? 2 * n + 1 : n;
    if (all > x->limits.max_route)
        return false;
    for (int i = 0; i < n; i++)
        probe->route[i] = route_byte(deltas[i]);
    if (c->test == TEST_LOOP) {
        probe->kind = x->limits.tagged ? PROBE_TAGGED : PROBE_LOOP;
        probe->route[n] = route_byte(0);
        for (int i = 0; i < n; i++)
            probe->route[n + 1 + i] = route_byte(-deltas[n - 1 - i]);
    } else {
        probe->kind = PROBE_SCOUT;
    }
    probe->nroute = (uint8_t)all;
    return true;
}

/* There by the one way, over to the other's port of entry, back by the
 * other's way: comes back only if both are one crossbar (a check: only if the
 * link leads from `at` to `other`). */
static bool case_fill_compare(struct explore *x, struct xcase *c,
                              struct probe *probe)
{
    int16_t there[PROBE_ROUTE_MAX], back[PROBE_ROUTE_MAX];
    unsigned n, m;
    struct atlas_ref a = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    struct atlas_ref b = atlas_at(&x->atlas, c->other.rec, c->other.slot);
    int over;

    if (!atlas_way(&x->atlas, a.rec, there, PROBE_ROUTE_MAX / 2, &n) ||
        !atlas_way(&x->atlas, b.rec, back, PROBE_ROUTE_MAX / 2, &m))
        return false;
    /* Entered at a's 0, and b's 0 is a's slot a.slot - b.slot; or entered
     * at b's slot over the link. */
    over = a.slot - b.slot;
    if (c->test == TEST_CHECK) {
        there[n++] = (int16_t)a.slot;
        over = -b.slot;
    }
    if (n + 1 + m > x->limits.max_route || over <= -x->atlas.ports ||
        over >= x->atlas.ports)
        return false;
    probe->kind = PROBE_COMPARE;
    probe->nroute = (uint8_t)(n + 1 + m);
    for (unsigned i = 0; i < n; i++)
        probe->route[i] = route_byte(there[i]);
    probe->route[n] = route_byte(over);
    for (unsigned i = 0; i < m; i++)
        probe->route[n + 1 + i] = route_byte(-back[m - 1 - i]);
    return true;
}

/* ---- explore likely ---------------------------------------------------- */

/* What is likely to be behind a port, and the best guess how to find out. */

static int what_is(struct explore *x, const struct atlas_slot *slot)
{
    uint32_t far;

    if (slot->state == SLOT_HOST)
        return 0;
    if (slot->state != SLOT_LINK)
        return -1;
    far = atlas_at(&x->atlas, slot->far, 0).rec;
    return x->atlas.recs[far].rank <= GUESS_RANKS ? x->atlas.recs[far].rank
                                                  : -1;
}

/* What a slot is to one beside it that looks over it for more; a wired one
 * ends the look. */
static void look_over(struct explore *x, struct atlas_ref at, struct likely *l)
{
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];
    const struct atlas_slot *slot = atlas_slot(&x->atlas, at);

    if (slot && at.slot >= rec->lo && at.slot <= rec->hi && slot_wired(slot)) {
        *l = (struct likely){.what = what_is(x, slot)};
        return;
    }
    if (slot && (slot->flags & SLOT_BUSY))
        l->busy++;
    else if (slot &&
             (slot->state == SLOT_SILENT || (slot->flags & SLOT_NO_HOST)))
        l->silent++;
    else
        l->unknown++;
}

static struct likely better(const struct likely *up, const struct likely *down)
{
    if (up->what == -2)
        return *down;
    if (down->what == -2)
        return *up;
    if (likely_gap(up) != likely_gap(down))
        return likely_gap(up) < likely_gap(down) ? *up : *down;
    /* A host is worth asking for first. */
    return up->what == 0 ? *up : *down;
}

/* In one direction, from beyond the last slot in use inwards. */
static struct likely look(struct explore *x, struct atlas_ref at, int step)
{
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];
    struct atlas_ref from = {at.rec, step > 0 ? rec->hi : rec->lo};
    struct likely l = {.what = -2};

    for (; step > 0 ? from.slot > at.slot : from.slot < at.slot;
         from.slot -= step)
        look_over(x, from, &l);
    return l;
}

struct likely slot_likely(struct explore *x, struct atlas_ref at)
{
    struct likely up = look(x, at, 1), down = look(x, at, -1);

    return better(&up, &down);
}

void slots_likely(struct explore *x, uint32_t rec, int first, int last,
                  struct likely *likely)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];
    struct likely l = {.what = -2};

    for (int s = r->hi > last ? r->hi : last; s >= first; s--) {
        if (s <= last)
            likely[s - first] = l;
        if (s <= r->hi)
            look_over(x, (struct atlas_ref){rec, s}, &l);
    }
    l = (struct likely){.what = -2};
    for (int s = r->lo < first ? r->lo : first; s <= last; s++) {
        if (s >= first)
            likely[s - first] = better(&likely[s - first], &l);
        if (s >= r->lo)
            look_over(x, (struct atlas_ref){rec, s}, &l);
    }
}

static int own_rank(struct explore *x, struct atlas_ref at)
{
    int rank = x->atlas.recs[at.rec].rank;

    return rank > GUESS_RANKS ? GUESS_RANKS : rank;
}

/* How much a rank behind a slot is to be expected: as its neighbours have it,
 * or as such crossbars have met it; less with each guess that failed. */
static double rank_weight(const struct explore *x, const struct xcase *c,
                          int rank, int far, int likely_rank)
{
    const uint32_t *met = x->guess.far[rank];
    double all = 1, weight;

    for (int k = 1; k <= GUESS_RANKS; k++)
        all += met[k];
    weight = far == likely_rank ? 1 : 0.1 + 0.9 * met[far] / all;
    if (far == rank + 1 && weight < 0.3)
        weight = 0.3;
    for (int i = 0; i < c->tried.by_rank[far]; i++)
        weight *= 0.6;
    return weight;
}

/* The best guess for what lies behind a slot. */
static double case_best_guess(struct explore *x, struct xcase *c,
                              int likely_rank)
{
    int rank = own_rank(x, c->at);
    double best = 0, p = 0;

    for (int far = 1; far <= rank + 1 && far <= GUESS_RANKS; far++) {
        double weight = rank_weight(x, c, rank, far, likely_rank), q;
        struct guess_way way;

        if (weight <= best)
            continue;
        q = guess_best(&x->guess, rank, far, &c->tried, &way);
        if (q * weight > best) {
            best = q * weight;
            p = q;
            c->way = way;
        }
    }
    return p;
}

/* ---- explore answer ---------------------------------------------------- */

/* What an answer to a question about a port, or none, says of the fabric. */

/* A scout sent down a way was answered: every crossbar on it follows from
 * the last one backwards; what is still unknown gets a record. */
static bool host_beyond(struct explore *x, struct xcase *c, uint32_t host)
{
    struct atlas *a = &x->atlas;
    const struct atlas_host *h = &a->hosts[host];
    struct atlas_ref at = c->at, chain;
    int i = c->way.n;
    uint32_t rec;

    /* From the known host up: `chain` is where the packet entered. */
    if (h->rec != ATLAS_NONE) {
        chain = atlas_at(a, h->rec, h->slot);
        for (;;) {
            struct atlas_slot *slot;

            chain.slot -= c->way.delta[--i];
            slot = atlas_slot(a, chain);
            if (i == 0)
                return atlas_set_link(a, at, chain);
            if (!slot || slot->state != SLOT_LINK)
                break;
            chain = atlas_at(a, slot->far, slot->far_slot);
        }
    } else {
        chain.rec = ATLAS_NONE;
    }
    for (int j = 0; j < c->way.n; j++) {
        struct atlas_ref next;

        if (chain.rec != ATLAS_NONE && j == i)
            return atlas_set_link(a, at, chain);
        rec = atlas_add(a, atlas_at(a, at.rec, at.slot));
        next = (struct atlas_ref){rec, 0};
        if (rec == ATLAS_NONE || !atlas_set_link(a, at, next))
            return false;
        at = (struct atlas_ref){rec, c->way.delta[j]};
    }
    return atlas_set_host(a, at, host);
}

static bool learn_id(struct explore *x, struct xcase *c,
                     const struct probe_id *id)
{
    struct atlas *a = &x->atlas;
    uint32_t known = idmap_get(&a->by_id, id->id);
    uint32_t rec;

    if (known != IDMAP_NONE) {
        struct atlas_ref there = atlas_at(a, known, 0);

        atlas_name(a, known, id->name);
        there.slot = id->entry - a->recs[there.rec].entry;
        return atlas_set_link(a, c->at, there);
    }
    rec = atlas_add(a, c->at);
    return rec != ATLAS_NONE && atlas_set_id(a, rec, id) &&
           atlas_set_link(a, c->at, (struct atlas_ref){rec, 0});
}

void explore_name(struct explore *x, uint64_t id, const char *name)
{
    uint32_t known = idmap_get(&x->atlas.by_id, id);

    if (known != IDMAP_NONE)
        atlas_name(&x->atlas, known, name);
}

static void count_kind(struct explore *x, struct atlas_ref at, int kind)
{
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];

    if (rec->entry >= 0) {
        uint8_t *n = &x->kinds[(rec->entry + at.slot) & 255][kind];

        if (++*n == 255) {
            n[kind ? -1 : 1] /= 2;
            *n /= 2;
        }
    }
}

/* False: no memory. */
static bool case_take_answer(struct explore *x, struct xcase *c,
                             const struct probe_answer *answer)
{
    uint32_t host;

    c->at = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    switch (answer->outcome) {
    case PROBE_HOST:
        host = atlas_host(&x->atlas, &answer->host);
        if (host == ATLAS_NONE)
            return false;
        count_kind(x, c->at, 0);
        if (c->test == TEST_GUESS)
            return host_beyond(x, c, host);
        return atlas_set_host(&x->atlas, c->at, host);
    case PROBE_ID:
        count_kind(x, c->at, 1);
        return learn_id(x, c, &answer->id);
    case PROBE_BACK:
        count_kind(x, c->at, 1);
        return atlas_set_xbar(&x->atlas, c->at);
    case PROBE_NOTHING:
        break;
    }
    return true;
}

static void case_mark_unanswered(struct explore *x, struct xcase *c, bool sure)
{
    struct atlas_slot *slot;

    c->at = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    slot = atlas_slot(&x->atlas, c->at);
    if (!slot || slot->state >= SLOT_XBAR)
        return;
    if (sure && x->limits.absolute)
        slot->flags |= SLOT_SURE;
    if (c->test == TEST_LOOP)
        slot->flags |= SLOT_NO_XBAR;
    else if (c->test == TEST_SCOUT)
        slot->flags |= SLOT_NO_HOST;
}

/* Did it answer the first time it was asked? */
static void case_count_answer(struct explore *x, struct atlas_ref at)
{
    const struct atlas_slot *slot = atlas_slot(&x->atlas, at);

    if (slot && (slot->flags & SLOT_AGAIN)) {
        x->retry_found = true;
        x->late++;
    } else {
        x->prompt++;
    }
}

#define GUESSES_2 4 /* per slot at level 2, and later */
#define GUESSES_3 24
#define SURE 0.45      /* likely enough to guess before looping */
#define CREDIT_STEP 16 /* known things met before courage doubles */
#define COURAGE_MAX 256
#define CHECK_TRIES 20

uint32_t case_new(struct explore *x, struct atlas_ref at, int level, bool deep)
{
    uint32_t c = x->spare_case;

    if (c != ATLAS_NONE) {
        x->spare_case = x->cases[c].next;
    } else {
        if (x->ncases == x->cap_cases) {
            uint32_t cap = x->cap_cases ? x->cap_cases * 2 : 64;
            struct xcase *more = realloc(x->cases, cap * sizeof(*more));

            if (!more)
                return ATLAS_NONE;
            x->cases = more;
            x->cap_cases = cap;
        }
        c = x->ncases++;
    }
    x->cases[c] =
        (struct xcase){.at = at, .level = (uint8_t)level, .deep = deep};
    x->active[level]++;
    x->active_all++;
    return c;
}

static void case_free(struct explore *x, uint32_t c)
{
    x->active[x->cases[c].level]--;
    x->active_all--;
    x->cases[c].next = x->spare_case;
    x->spare_case = c;
}

/* What to ask of a slot that nothing is known of. */
static enum test ask_unknown(struct explore *x, struct xcase *c,
                             const struct atlas_slot *slot)
{
    struct likely l;

    if (x->limits.absolute)
        return slot->flags & SLOT_NO_XBAR ? TEST_NONE : TEST_LOOP;
    if (slot->flags & SLOT_NO_XBAR)
        return slot->flags & SLOT_NO_HOST ? TEST_NONE : TEST_SCOUT;
    if (slot->flags & SLOT_NO_HOST)
        return TEST_LOOP;
    if (x->atlas.recs[c->at.rec].id) {
        const uint8_t *kind =
            x->kinds[(x->atlas.recs[c->at.rec].entry + c->at.slot) & 255];

        if (kind[0] != kind[1])
            return kind[0] > kind[1] ? TEST_SCOUT : TEST_LOOP;
    }
    l = slot_likely(x, c->at);
    if (l.what == 0)
        return TEST_SCOUT;
    /* A guess through a cable that leads back to its own crossbar can block
     * itself, and for a while that cable: the loop comes first when it counts.
     */
    if (!x->wary && !x->limits.fixed_timers && !(slot->flags & SLOT_AGAIN) &&
        c->tests == 0 && c->level >= 2 && c->level <= 3 && l.what >= 1 &&
        !x->limits.tagged && case_best_guess(x, c, l.what) >= SURE)
        return TEST_GUESS;
    return TEST_LOOP;
}

static enum test next_test(struct explore *x, struct xcase *c)
{
    struct atlas_slot *slot;

    c->at = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    slot = atlas_slot(&x->atlas, c->at);
    if (!slot || slot->state > SLOT_XBAR || slot->state == SLOT_SILENT)
        return TEST_NONE;
    if (slot->state == SLOT_UNKNOWN)
        return ask_unknown(x, c, slot);
    if (!c->deep || (slot->flags & SLOT_STUCK))
        return TEST_NONE;
    if (!x->wary && c->tried.n < (c->level == 2 ? GUESSES_2 : GUESSES_3) &&
        case_best_guess(x, c, slot_likely(x, c->at).what) > 0)
        return TEST_GUESS;
    if (c->level >= 3) {
        slot->flags |= SLOT_STUCK;
        if (!xring_push(&x->stuck, c->at, false))
            explore_fail(x, "no memory");
    }
    return TEST_NONE;
}

static void case_end(struct explore *x, uint32_t c)
{
    struct xcase *it = &x->cases[c];
    struct atlas_ref at = atlas_at(&x->atlas, it->at.rec, it->at.slot);
    struct atlas_rec *rec = &x->atlas.recs[at.rec];
    struct atlas_slot *slot = atlas_slot(&x->atlas, at);
    int level = it->level;

    if (slot)
        slot->flags &= (uint8_t)~SLOT_BUSY;
    rec->active--;
    if (level == 2 && rec->active == 0 && x->closing > 0)
        x->closing--;
    case_free(x, c);
    scan_queue_all(x, at.rec, level == 2);
}

/* Nothing more to ask: silent if both questions were. */
static void settle_silent(struct explore *x, struct xcase *c)
{
    struct atlas_slot *slot = atlas_slot(&x->atlas, c->at);

    if (!slot || slot->state != SLOT_UNKNOWN)
        return;
    if ((slot->flags & SLOT_NO_XBAR) &&
        (x->limits.absolute || (slot->flags & SLOT_NO_HOST)))
        slot->state = SLOT_SILENT;
}

/* Free first: what follows may begin everything anew. */
static void compared(struct explore *x, uint32_t c, bool same)
{
    struct xcase it = x->cases[c];

    case_free(x, c);
    if (it.test == TEST_CHECK)
        check_result(x, &it, same);
    else if (it.test == TEST_TWIN)
        twins_result(x, &it, same);
    else
        new_compared(x, &it, same);
}

bool case_send(struct explore *x, uint32_t c, struct probe *probe)
{
    struct xcase *it = &x->cases[c];

    if (it->test >= TEST_COMPARE) {
        if (case_fill_compare(x, it, probe))
            return true;
        compared(x, c, it->test == TEST_CHECK); /* too far: not checked */
        return false;
    }
    for (;;) {
        struct atlas_slot *slot;

        it->test = (uint8_t)next_test(x, it);
        if (it->test == TEST_NONE || x->failed) {
            settle_silent(x, it);
            case_end(x, c);
            return false;
        }
        it->tests++;
        if (case_fill_route(x, it, probe))
            return true;
        slot = atlas_slot(&x->atlas, it->at);
        if (it->test == TEST_GUESS) {
            guess_note(&it->tried, &it->way);
        } else {
            slot->flags |= SLOT_FAR;
            slot->flags |= it->test == TEST_LOOP ? SLOT_NO_XBAR : SLOT_NO_HOST;
        }
    }
}

/* Courage: how many unknown crossbars may be worked at side by side.  Where
 * new things turn up, one at a time; where all is known, many. */
static void weigh(struct explore *x, const struct xcase *c, bool answered)
{
    if (x->atlas.nhosts > x->known_hosts) {
        x->known_hosts = x->atlas.nhosts;
        x->courage = 1;
        x->credit = 0;
    } else if (answered && c->test == TEST_GUESS &&
               ++x->credit >= CREDIT_STEP) {
        x->credit = 0;
        if (x->courage < COURAGE_MAX)
            x->courage *= 2;
    }
}

/* A comparison that fails makes a new crossbar, which the end may correct; a
 * check that fails throws the map away, and two places that fail to be one
 * stay two for good: luck may have shown no loss so far. */
static int compare_tries(const struct explore *x, const struct xcase *c)
{
    if (x->limits.fixed_timers)
        return 1;
    if (c->test != TEST_COMPARE)
        return CHECK_TRIES;
    return x->lossy || x->wary ? x->limits.tries + 2 : 1;
}

void case_result(struct explore *x, uint32_t c,
                 const struct probe_answer *answer)
{
    struct xcase *it = &x->cases[c];
    bool answered = answer && answer->outcome != PROBE_NOTHING;

    if (it->test >= TEST_COMPARE) {
        if (!answered && ++it->tries < compare_tries(x, it)) {
            if (!xring_push(&x->ready, (struct atlas_ref){c, 0}, false))
                explore_fail(x, "no memory");
            return;
        }
        compared(x, c, answered);
        return;
    }
    if (it->test == TEST_GUESS)
        guess_note(&it->tried, &it->way);
    if (answered && it->test != TEST_GUESS)
        case_count_answer(x, atlas_at(&x->atlas, it->at.rec, it->at.slot));
    if (answered ? !case_take_answer(x, it, answer)
                 : (case_mark_unanswered(x, it, answer != NULL), false)) {
        explore_fail(x, "no memory");
        return;
    }
    weigh(x, it, answered);
    if (!explore_facts(x))
        return;
    if (!xring_push(&x->ready, (struct atlas_ref){c, 0}, false))
        explore_fail(x, "no memory");
}
