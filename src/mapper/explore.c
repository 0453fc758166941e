/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer: its first questions, which port it asks about next, its rounds,
 * the end check, the finished map, and its calls.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/explore_priv.h"

static bool xring_pop(struct xring *ring, struct atlas_ref *item);
static void explore_add_doubt(struct explore *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- explore root ------------------------------------------------------ */

/* The explorer's first questions: what hangs on our own cable? */

static bool root_next(struct explore *x, uint64_t now, struct probe *probe)
{
    if (x->root_test == TEST_NONE)
        x->root_test = TEST_LOOP;
    else if (x->window.inflight > 0 || x->atlas.nrecs > 0)
        return false;
    memset(probe, 0, sizeof(*probe));
    if (x->limits.absolute || x->root_test == TEST_SCOUT) {
        probe->kind = x->limits.absolute ? PROBE_TAGGED : PROBE_SCOUT;
    } else {
        probe->kind = x->limits.tagged ? PROBE_TAGGED : PROBE_LOOP;
        probe->nroute = 1;
        probe->route[0] = 0x80;
    }
    window_send(&x->window, now, probe, ROOT);
    return true;
}

static void root_silent(struct explore *x)
{
    /* All hangs on this one, and nothing is known of losses yet. */
    int tries = x->limits.fixed_timers ? 1 : 2 * x->limits.tries + 1;

    if (++x->root_tries < tries)
        return;
    x->root_tries = 0;
    if (x->root_test == TEST_LOOP && !x->limits.absolute)
        x->root_test = TEST_SCOUT;
    else
        x->done = true; /* nothing there: a map of one host */
}

static void root_answer(struct explore *x, const struct probe_answer *answer)
{
    struct atlas *a = &x->atlas;
    struct atlas_ref at = {0, 0};
    bool ok = true;

    if (answer->outcome == PROBE_NOTHING) {
        root_silent(x);
        return;
    }
    if (answer->outcome == PROBE_HOST) {
        x->opposite = answer->host;
        x->has_opposite = answer->host.address != x->me.address;
        x->done = true;
        return;
    }
    ok = atlas_add(a, (struct atlas_ref){ATLAS_NONE, 0}) == 0 &&
         atlas_host(a, &x->me) == 0 && atlas_set_host(a, at, 0);
    if (ok && answer->outcome == PROBE_ID)
        ok = atlas_set_id(a, 0, &answer->id);
    if (!ok)
        explore_fail(x, "no memory");
    else
        explore_facts(x);
}

/* ---- explore scan ------------------------------------------------------ */

/* Which port to ask about next (levels: explore_priv.h).  A crossbar is looked
 * at outward from what is known of it, a few ports at a time; where nothing
 * answers any more, the rest waits for level 3, when most of it has been
 * found from the other side. */

#define AHEAD 3     /* slots asked at a time in one direction */
#define AHEAD_NEW 8 /* of a crossbar that may be new */
#define AHEAD_FIXED 16
#define SILENCE 1 /* silent slots that are stepped over at once */
#define DEEP_AT_ONCE 1

static const uint8_t queued[LEVELS + 1] = {0, REC_QUEUED1, REC_QUEUED2,
                                           REC_QUEUED3, REC_QUEUED4};

static bool scan_queue(struct explore *x, uint32_t rec, int level, bool front)
{
    struct atlas_rec *r = &x->atlas.recs[rec];

    if (r->flags & queued[level])
        return true;
    r->flags |= queued[level];
    if (xring_push(&x->queues[level], (struct atlas_ref){rec, 0}, front))
        return true;
    explore_fail(x, "no memory");
    return false;
}

void scan_queue_all(struct explore *x, uint32_t rec, bool front)
{
    if (x->atlas.recs[rec].flags & REC_NEW) {
        if (x->atlas.recs[rec].nhosts > 0)
            scan_queue(x, rec, 1, front);
        scan_queue(x, rec, 4, front);
        return;
    }
    scan_queue(x, rec, 1, front);
    scan_queue(x, rec, 2, front);
    scan_queue(x, rec, 3, false);
}

/* Past silence only when nothing else is being asked: what is found meanwhile
 * saves probes.  With fixed timers each costs many milliseconds, and silent
 * ports one after the other would take longer than all the rest. */
static bool waits_in_silence(const struct explore *x,
                             const struct atlas_rec *rec,
                             const struct likely *l)
{
    return !x->limits.fixed_timers && l->silent > SILENCE && rec->active > 0;
}

/* Worth asking on this level, by what its neighbours are?  Smaller is
 * sooner; -1: not now. */
static int urgency(const struct explore *x, const struct atlas_rec *rec,
                   const struct likely *likely, int level)
{
    struct likely l = *likely;

    if (l.unknown > 0)
        return -1; /* nearer ones first */
    if (x->limits.tagged && rec->id)
        return level == 1 && l.busy < 2 * AHEAD ? likely_gap(&l) : -1;
    switch (level) {
    case 1:
        if (l.what != 0 || l.silent > SILENCE || l.busy >= AHEAD)
            return -1;
        break;
    case 2:
        if (l.what < 1 || l.what >= rec->rank || l.silent > SILENCE ||
            l.busy >= AHEAD)
            return -1;
        break;
    case 3:
        if (l.busy >= (x->limits.fixed_timers ? AHEAD_FIXED : AHEAD) ||
            waits_in_silence(x, rec, &l))
            return -1;
        break;
    default:
        if (l.busy >= AHEAD_NEW)
            return -1;
        break;
    }
    return likely_gap(&l);
}

/* The slot to ask about next; false: none now. */
static bool choose_unknown(struct explore *x, uint32_t rec, int level,
                           struct atlas_ref *best)
{
    struct likely likely[2 * PROBE_PORTS_MAX];
    bool looked = false;
    int first, last, least = -1;

    atlas_window(&x->atlas, &x->atlas.recs[rec], &first, &last);
    for (int s = first; s <= last; s++) {
        struct atlas_ref at = {rec, s};
        const struct atlas_slot *slot = atlas_slot(&x->atlas, at);
        int u;

        if (!slot || slot->state != SLOT_UNKNOWN || (slot->flags & SLOT_BUSY))
            continue;
        if (slot->flags & SLOT_AGAIN) {
            u = level == 3 ? 0 : -1;
        } else if (x->limits.absolute) {
            u = level == 1 ? 0 : -1;
        } else {
            if (!looked)
                slots_likely(x, rec, first, last, likely);
            looked = true;
            u = urgency(x, &x->atlas.recs[rec], &likely[s - first], level);
        }
        if (u >= 0 && (least < 0 || u < least)) {
            least = u;
            *best = at;
        }
    }
    return least >= 0;
}

/* A crossbar not named yet. */
static bool choose_unnamed(struct explore *x, uint32_t rec, int level,
                           struct atlas_ref *best)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];

    for (int s = r->lo; s <= r->hi; s++) {
        struct atlas_ref at = {rec, s};
        const struct atlas_slot *slot = atlas_slot(&x->atlas, at);

        if (slot->state != SLOT_XBAR ||
            (slot->flags & (SLOT_BUSY | SLOT_STUCK)))
            continue;
        if (level == 2) {
            struct likely l = slot_likely(x, at);

            if (l.what < 1 || l.what >= r->rank || (slot->flags & SLOT_GUESSED))
                continue;
        }
        *best = at;
        return true;
    }
    return false;
}

/* Is something being asked that tells how such crossbars look?  Guesses are
 * the better for it. */
static bool still_asking(struct explore *x, uint32_t rec)
{
    int first, last;

    atlas_window(&x->atlas, &x->atlas.recs[rec], &first, &last);
    for (int s = first; s <= last; s++) {
        const struct atlas_slot *slot =
            atlas_slot(&x->atlas, (struct atlas_ref){rec, s});

        if (slot && slot->state == SLOT_UNKNOWN && (slot->flags & SLOT_BUSY))
            return true;
    }
    return false;
}

static bool start(struct explore *x, struct atlas_ref at, int level, bool deep)
{
    uint32_t c = case_new(x, at, level, deep);

    if (c == ATLAS_NONE ||
        !xring_push(&x->ready, (struct atlas_ref){c, 0}, false)) {
        explore_fail(x, "no memory");
        return false;
    }
    atlas_slot(&x->atlas, at)->flags |= SLOT_BUSY;
    if (level == 2 && x->atlas.recs[at.rec].active == 0)
        x->closing++;
    x->atlas.recs[at.rec].active++;
    return true;
}

enum found { FOUND, NOTHING, WAIT };

/* One more slot of a record at a level. */
static enum found scan_record(struct explore *x, uint32_t rec, int level)
{
    struct atlas_rec *r = &x->atlas.recs[rec];
    struct atlas_ref at;

    if (x->active[2] == 0)
        x->closing = 0;
    if (level == 2 && r->active == 0 && x->closing >= x->courage)
        return WAIT;
    if (choose_unknown(x, rec, level, &at))
        return start(x, at, level, level == 2) ? FOUND : NOTHING;
    if (level == 2 && r->rank > 1 && choose_unnamed(x, rec, 2, &at)) {
        atlas_slot(&x->atlas, at)->flags |= SLOT_GUESSED;
        return start(x, at, level, true) ? FOUND : NOTHING;
    }
    if (level != 3)
        return NOTHING;
    if (r->active > 0 && still_asking(x, rec))
        return WAIT;
    if (choose_unnamed(x, rec, 3, &at)) {
        if (x->active[3] >= x->courage * DEEP_AT_ONCE)
            return WAIT;
        return start(x, at, level, true) ? FOUND : NOTHING;
    }
    /* Until this crossbar is done the next ones may wait. */
    return r->active > 0 && x->round == 0 && x->courage < 8 ? WAIT : NOTHING;
}

/* False: nothing to start now on this level. */
static bool scan_level(struct explore *x, int level)
{
    struct xring *queue = &x->queues[level];
    struct atlas_ref item;

    while (queue->n > 0 && !x->failed) {
        uint32_t rec = queue->items[queue->head].rec;
        enum found found = NOTHING;

        if (atlas_lives(&x->atlas, rec))
            found = scan_record(x, rec, level);
        if (found == FOUND)
            return true;
        if (found == WAIT)
            return false;
        x->atlas.recs[rec].flags &= (uint8_t)~queued[level];
        xring_pop(queue, &item);
    }
    return false;
}

static bool scan_more(struct explore *x)
{
    for (int level = 1; level <= LEVELS; level++) {
        if (scan_level(x, level))
            return true;
        if (x->active[level] > 0 || x->queues[level].n > 0)
            return false;
    }
    return false;
}

/* Ask all silent slots once more; false: there are none. */
static bool scan_again(struct explore *x)
{
    bool any = false;

    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++) {
        bool here = false;
        int first, last;

        if (!atlas_lives(&x->atlas, rec))
            continue;
        atlas_window(&x->atlas, &x->atlas.recs[rec], &first, &last);
        for (int s = first; s <= last; s++) {
            struct atlas_slot *slot =
                atlas_slot(&x->atlas, (struct atlas_ref){rec, s});

            if (!slot || slot->state != SLOT_SILENT ||
                (slot->flags & (SLOT_FAR | SLOT_SURE)))
                continue;
            slot->state = SLOT_UNKNOWN;
            slot->flags &= (uint8_t) ~(SLOT_NO_HOST | SLOT_NO_XBAR);
            slot->flags |= SLOT_AGAIN;
            here = true;
        }
        if (here)
            scan_queue(x, rec, 3, false);
        any |= here;
    }
    return any;
}

/* ---- explore rounds ---------------------------------------------------- */

/* The explorer's rounds: silent ports are asked again, as often as the losses
 * seen so far ask for. */

#define ROUNDS_MAX 60
#define MISSED 1e-7
#define LOSS_MIN 0.005
#define ANSWERS_FEW 12 /* where there are fewer: twelve looks, not sixty */

/* Ports whose first answer was lost, by what was learnt otherwise later. */
static uint64_t lost_answers(struct explore *x)
{
    uint64_t lost = x->late;

    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++) {
        const struct atlas_rec *r = &x->atlas.recs[rec];

        for (int s = r->lo; r->up == rec && s <= r->hi; s++) {
            const struct atlas_slot *slot =
                atlas_slot(&x->atlas, (struct atlas_ref){rec, s});

            lost += slot->state == SLOT_HOST && (slot->flags & SLOT_NO_HOST);
            lost += slot_wired(slot) && slot->state != SLOT_HOST &&
                    (slot->flags & SLOT_NO_XBAR);
        }
    }
    return lost;
}

/* How many looks at a port with something behind it are all lost with a
 * probability of MISSED only.  How often one is lost is known by the answers
 * so far alone, and a few that all came say little about a port that is far
 * away: each look that is lost in thought counts as seen (a Beta distribution
 * with the prior of Jeffreys). */
static int looks_enough(uint64_t lost, uint64_t prompt)
{
    double missed = 1;
    int looks = 0;

    if (lost == 0 && prompt < ANSWERS_FEW)
        prompt = ANSWERS_FEW;
    for (; missed > MISSED && looks <= ROUNDS_MAX; looks++) {
        double share = ((double)lost + 0.5 + looks) /
                       ((double)(lost + prompt) + 1 + looks);

        missed *= share > LOSS_MIN ? share : LOSS_MIN;
    }
    return looks;
}

/* How many rounds that find nothing are enough: the first look is none. */
static int quiet_rounds(struct explore *x)
{
    uint64_t lost = lost_answers(x);
    int looks = looks_enough(lost, x->prompt);

    x->lossy = lost > 0;
    return (looks > x->limits.tries ? looks : x->limits.tries) - 1;
}

/* All levels are idle: what was silent is asked again, together. */
static void round_ends(struct explore *x)
{
    int quiet = quiet_rounds(x);

    if (x->round > 0 && !x->retry_found)
        x->quiet++;
    if (x->retry_found)
        x->quiet = 0;
    x->retry_found = false;
    if (x->limits.fixed_timers || x->quiet >= quiet || x->round >= ROUNDS_MAX ||
        !scan_again(x)) {
        x->check.open = !x->limits.no_check && !x->limits.absolute;
        x->check.begun = true;
    } else {
        x->round++;
    }
}

/* ---- explore new ------------------------------------------------------- */

/* Crossbars that no guess could name: no host hangs on them or near them.
 * Each is looked at port by port as if it were new. If a host turns up, the
 * atlas knows what to do. If not, it is compared with the other crossbars
 * without hosts that have cables in the same pattern of ports; a compare
 * probe returns only if both are one. If none does, it is new. */

#define LOOKED_MAX 8
#define COMPARES_MAX 32
#define DIFFERENCES 3 /* of two patterns, where packets were lost */

static bool still_new(const struct explore *x, uint32_t rec)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];

    return atlas_lives(&x->atlas, rec) && (r->flags & REC_NEW) &&
           (r->nhosts == 0 || x->wary);
}

/* Could y be the record o, its slots shifted? */
static bool alike(struct explore *x, uint32_t y, uint32_t o, int shift)
{
    struct atlas *a = &x->atlas;
    int differences = 0;

    for (int s = -(a->ports - 1); s < a->ports; s++) {
        struct atlas_slot *mine = atlas_slot(a, (struct atlas_ref){y, s});
        struct atlas_slot *other =
            atlas_slot(a, (struct atlas_ref){o, s + shift});
        bool wired = mine && slot_wired(mine);
        bool host = wired && mine->state == SLOT_HOST;

        if (host && other && other->state == SLOT_HOST &&
            other->far != mine->far)
            return false;
        if (wired != (other && slot_wired(other)) &&
            ++differences > (x->lossy ? DIFFERENCES : 0))
            return false;
    }
    return true;
}

/* Is the other end of y's first cable to be o's slot at `shift`? */
static bool candidate(struct explore *x, uint32_t y, uint32_t o, int shift)
{
    struct atlas *a = &x->atlas;
    const struct atlas_slot *slot;

    slot = atlas_slot(a, (struct atlas_ref){o, shift});
    if (!slot || slot->state == SLOT_HOST || slot->state == SLOT_LINK)
        return false;
    if (!x->lossy && slot->state != SLOT_XBAR)
        return false;
    return alike(x, y, o, shift);
}

static bool ask_compare(struct explore *x, uint32_t y, uint32_t o, int shift)
{
    uint32_t c = case_new(x, (struct atlas_ref){y, 0}, 0, false);

    if (c == ATLAS_NONE ||
        !xring_push(&x->ready, (struct atlas_ref){c, 0}, false)) {
        explore_fail(x, "no memory");
        return false;
    }
    x->cases[c].test = TEST_COMPARE;
    x->cases[c].other = (struct atlas_ref){o, shift};
    x->compare.asked++;
    return true;
}

/* The next candidate asked; false: no more of them. */
static bool next_candidate(struct explore *x)
{
    struct xcompare *cmp = &x->compare;
    struct atlas *a = &x->atlas;

    for (; cmp->other < a->nrecs; cmp->other++, cmp->shift = -a->ports) {
        const struct atlas_rec *o = &a->recs[cmp->other];

        if (!atlas_lives(a, cmp->other) || cmp->other == cmp->rec ||
            (o->nhosts > 0 && !x->wary) || o->id)
            continue;
        while (++cmp->shift < a->ports)
            if (candidate(x, cmp->rec, cmp->other, cmp->shift))
                return ask_compare(x, cmp->rec, cmp->other, cmp->shift);
    }
    return false;
}

void new_compared(struct explore *x, const struct xcase *c, bool same)
{
    x->compare.asked--;
    if (!same)
        return;
    x->compare.open = false;
    if (!atlas_same(&x->atlas, c->at, c->other))
        explore_fail(x, "no memory");
    else
        explore_facts(x);
}

static void is_new(struct explore *x, uint32_t rec)
{
    x->atlas.recs[rec].flags &= (uint8_t)~REC_NEW;
    scan_queue_all(x, rec, false);
}

static bool compare_more(struct explore *x)
{
    struct xcompare *cmp = &x->compare;

    if (cmp->open && cmp->asked < COMPARES_MAX) {
        if (next_candidate(x))
            return true;
        cmp->open = false;
    }
    if (cmp->asked > 0)
        return false;
    if (still_new(x, cmp->rec))
        is_new(x, cmp->rec);
    cmp->rec = ATLAS_NONE;
    return true;
}

static bool compare_start(struct explore *x)
{
    struct atlas_ref item;

    while (xring_pop(&x->unknown, &item)) {
        if (!still_new(x, item.rec))
            continue;
        x->compare = (struct xcompare){
            .rec = item.rec, .shift = -x->atlas.ports, .open = true};
        return true;
    }
    return false;
}

/* A record for a slot whose crossbar nobody could name. */
static bool look_at(struct explore *x, struct atlas_ref at)
{
    struct atlas *a = &x->atlas;
    uint32_t rec = atlas_add(a, at);

    if (rec == ATLAS_NONE)
        return false;
    a->recs[rec].flags |= REC_NEW;
    return atlas_set_link(a, at, (struct atlas_ref){rec, 0}) &&
           xring_push(&x->unknown, (struct atlas_ref){rec, 0}, false) &&
           scan_queue(x, rec, 4, false);
}

static bool look_at_stuck(struct explore *x)
{
    uint32_t most = x->courage < LOOKED_MAX ? x->courage : LOOKED_MAX;
    struct atlas_ref at;
    uint32_t n = 0;

    while (n < most && xring_pop(&x->stuck, &at)) {
        at = atlas_at(&x->atlas, at.rec, at.slot);
        if (atlas_slot(&x->atlas, at)->state != SLOT_XBAR)
            continue;
        if (!look_at(x, at)) {
            explore_fail(x, "no memory");
            return false;
        }
        n++;
    }
    if (n > 0 && !explore_facts(x))
        return false;
    return n > 0;
}

static bool new_more(struct explore *x)
{
    if (x->compare.rec != ATLAS_NONE)
        return compare_more(x);
    return x->active_all == 0 && (compare_start(x) || look_at_stuck(x));
}

/* ---- explore twins ----------------------------------------------------- */

/* Addresses that answer in several places, where addresses are not trusted:
 * is it one port, met by several ways, or are there boards with one address?
 * Each two places are compared: the probe comes back only if they are one
 * port. So a fabric that was unfolded, because comparisons before were lost,
 * is folded again: what hangs on a port that became one becomes one with it. */

/* The next slot with a host, from `at` on (included). */
static bool next_host(struct explore *x, struct atlas_ref *at)
{
    for (; at->rec < x->atlas.nrecs; at->rec++, at->slot = -x->atlas.ports) {
        const struct atlas_rec *r = &x->atlas.recs[at->rec];

        if (!atlas_lives(&x->atlas, at->rec))
            continue;
        if (at->slot < r->lo)
            at->slot = r->lo;
        for (; at->slot <= r->hi; at->slot++)
            if (atlas_slot(&x->atlas, *at)->state == SLOT_HOST)
                return true;
    }
    return false;
}

static bool is_before(struct atlas_ref a, struct atlas_ref b)
{
    return a.rec < b.rec || (a.rec == b.rec && a.slot < b.slot);
}

/* Another place before it with the same address, from x->twins.other on. */
static bool next_other(struct explore *x)
{
    struct xtwins *t = &x->twins;
    uint32_t host = atlas_slot(&x->atlas, t->at)->far;

    for (; next_host(x, &t->other) && is_before(t->other, t->at);
         t->other.slot++)
        if (atlas_slot(&x->atlas, t->other)->far == host)
            return true;
    return false;
}

static bool ask_link(struct explore *x)
{
    uint32_t c = case_new(x, x->twins.at, 0, false);

    if (c == ATLAS_NONE ||
        !xring_push(&x->ready, (struct atlas_ref){c, 0}, false)) {
        explore_fail(x, "no memory");
        return false;
    }
    x->cases[c].test = TEST_TWIN;
    x->cases[c].other = x->twins.other;
    return true;
}

static bool is_first(struct explore *x, struct atlas_ref at)
{
    const struct atlas_host *host =
        &x->atlas.hosts[atlas_slot(&x->atlas, at)->far];
    struct atlas_ref first = atlas_at(&x->atlas, host->rec, host->slot);

    return first.rec == at.rec && first.slot == at.slot;
}

/* One after the other: the answer may make many questions needless. */
static bool twins_more(struct explore *x)
{
    struct xtwins *t = &x->twins;

    while (x->wary && next_host(x, &t->at)) {
        if (!is_first(x, t->at) && next_other(x)) {
            bool asked = ask_link(x);

            t->other.slot++;
            return asked;
        }
        t->at.slot++;
        t->other = (struct atlas_ref){0, -x->atlas.ports};
    }
    return false;
}

void twins_result(struct explore *x, const struct xcase *c, bool same)
{
    if (!same)
        return;
    if (!atlas_same(&x->atlas, c->at, c->other))
        explore_fail(x, "no memory");
    else
        explore_facts(x);
}

/* ---- explore check ----------------------------------------------------- */

/* The end check: every link that is not itself the way to a crossbar is
 * closed to a ring by one probe, over the link and home by the far end's own
 * way. It returns only if the link is where the map has it (a host that lied,
 * two boards with one address, a cable moved meanwhile would show). Links
 * that are the way to a crossbar are part of these rings. */

static bool leads_to(struct explore *x, struct atlas_ref at, uint32_t rec)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];
    struct atlas_ref from;

    if (r->from == ATLAS_NONE)
        return false;
    from = atlas_at(&x->atlas, r->from, r->from_slot);
    return from.rec == at.rec && from.slot == at.slot;
}

/* The far end of a link that is to be checked, from this end. */
static bool to_check(struct explore *x, struct atlas_ref at,
                     struct atlas_ref *far)
{
    struct atlas *a = &x->atlas;
    const struct atlas_slot *slot = atlas_slot(a, at);

    if (slot->state != SLOT_LINK)
        return false;
    *far = atlas_at(a, slot->far, slot->far_slot);
    if (far->rec < at.rec || (far->rec == at.rec && far->slot <= at.slot))
        return false;
    if (a->recs[far->rec].id && a->recs[at.rec].id)
        return false;
    return !leads_to(x, at, far->rec) && !leads_to(x, *far, at.rec);
}

static bool ask_twin(struct explore *x, struct atlas_ref at,
                     struct atlas_ref far)
{
    uint32_t c = case_new(x, at, 0, false);

    if (c == ATLAS_NONE ||
        !xring_push(&x->ready, (struct atlas_ref){c, 0}, false)) {
        explore_fail(x, "no memory");
        return false;
    }
    x->cases[c].test = TEST_CHECK;
    x->cases[c].other = far;
    return true;
}

/* False: nothing left to start. */
static bool check_more(struct explore *x)
{
    struct xcheck *check = &x->check;

    for (; check->open && check->rec < x->atlas.nrecs; check->rec++) {
        const struct atlas_rec *r = &x->atlas.recs[check->rec];

        if (!atlas_lives(&x->atlas, check->rec))
            continue;
        if (check->slot < r->lo)
            check->slot = r->lo;
        while (check->slot <= r->hi) {
            struct atlas_ref at = {check->rec, check->slot++}, far;

            if (to_check(x, at, &far))
                return ask_twin(x, at, far);
        }
        check->slot = -x->atlas.ports;
    }
    return false;
}

void check_result(struct explore *x, const struct xcase *c, bool good)
{
    (void)c;
    if (!good)
        x->check.failed = true;
}

/* ---- explore map ------------------------------------------------------- */

/* The finished map as a net, and what there is to say about it. */

struct drawing {
    struct atlas *atlas;
    struct net *net;
    uint32_t *node_of; /* record: its node */
    int *port0;        /* record: slot of its port 0 */
};

static uint32_t draw_host(struct net *net, const struct probe_host *host)
{
    char name[32];

    snprintf(name, sizeof(name), "h%012" PRIx64, host->address);
    return net_add_host(net, host->name[0] ? host->name : name, host->address);
}

static bool is_told(const struct drawing *d, uint32_t rec)
{
    return d->atlas->recs[rec].name != 0;
}

/* One that no node has told. */
static void invent_name(const struct net *net, char *name, size_t size)
{
    uint32_t number = net->nxbars;

    do
        snprintf(name, size, "x%u", number++);
    while (net_find_name(net, name) != NET_NONE);
}

static bool draw_xbar(struct drawing *d, uint32_t rec)
{
    const struct atlas_rec *r = &d->atlas->recs[rec];
    unsigned ports = (unsigned)(r->hi - r->lo + 1);
    char name[32];
    const char *told = is_told(d, rec) ? d->atlas->names + r->name : name;

    d->port0[rec] = r->lo;
    if (r->entry >= 0 && r->nports) {
        ports = r->nports;
        d->port0[rec] = -r->entry;
    }
    if (!is_told(d, rec))
        invent_name(d->net, name, sizeof(name));
    d->node_of[rec] = net_add_xbar(d->net, told, ports, r->id);
    if (d->node_of[rec] == NET_NONE)
        return false;
    d->net->nodes[d->node_of[rec]].has_id = r->id != 0;
    return true;
}

/* The cable of one slot, drawn from the end that comes first. */
static bool draw_cable(struct drawing *d, uint32_t rec, int s)
{
    struct atlas *a = d->atlas;
    const struct atlas_slot *slot = atlas_slot(a, (struct atlas_ref){rec, s});
    unsigned port = (unsigned)(s - d->port0[rec]);
    struct atlas_ref far;
    uint32_t node;

    if (slot->state == SLOT_HOST) {
        const struct atlas_host *host = &a->hosts[slot->far];
        struct atlas_ref own = atlas_at(a, 0, 0);

        node = slot->far == 0 && rec == own.rec && s == own.slot
                   ? 0
                   : draw_host(d->net, &host->info);
        return node != NET_NONE &&
               net_connect(d->net, node, 0, d->node_of[rec], port);
    }
    if (slot->state != SLOT_LINK)
        return true;
    far = atlas_at(a, slot->far, slot->far_slot);
    if (far.rec < rec || (far.rec == rec && far.slot <= s))
        return true;
    return net_connect(d->net, d->node_of[rec], port, d->node_of[far.rec],
                       (unsigned)(far.slot - d->port0[far.rec]));
}

/* Those whose names were told, or the others. */
static bool draw_xbars(struct drawing *d, bool told)
{
    struct atlas *a = d->atlas;

    for (uint32_t rec = 0; rec < a->nrecs; rec++)
        if (is_told(d, rec) == told && atlas_lives(a, rec) &&
            !draw_xbar(d, rec))
            return false;
    return true;
}

static bool draw(struct drawing *d)
{
    struct atlas *a = d->atlas;

    if (!draw_xbars(d, true) || !draw_xbars(d, false))
        return false;
    for (uint32_t rec = 0; rec < a->nrecs; rec++) {
        const struct atlas_rec *r = &a->recs[rec];

        if (!atlas_lives(a, rec))
            continue;
        for (int s = r->lo; s <= r->hi; s++)
            if (!draw_cable(d, rec, s))
                return false;
    }
    return true;
}

static bool draw_opposite(const struct explore *x, struct net *net)
{
    uint32_t node;

    if (!x->has_opposite)
        return true;
    node = draw_host(net, &x->opposite);
    return node != NET_NONE && net_connect(net, 0, 0, node, 0);
}

struct net *explore_map(const struct explore *x)
{
    struct atlas *a = (struct atlas *)&x->atlas; /* shortens its signposts */
    struct drawing d = {.atlas = a, .net = net_new()};
    bool ok = false;

    d.node_of = calloc(a->nrecs + 1u, sizeof(*d.node_of));
    d.port0 = calloc(a->nrecs + 1u, sizeof(*d.port0));
    if (!x->failed && d.net && d.node_of && d.port0)
        ok = draw_host(d.net, &x->me) == 0 && draw_opposite(x, d.net) &&
             draw(&d);
    free(d.node_of);
    free(d.port0);
    if (ok)
        return d.net;
    net_free(d.net);
    return NULL;
}

const struct probe_host *explore_host(const struct explore *x, uint64_t address)
{
    uint32_t host = idmap_get(&x->atlas.by_address, address);

    if (x->has_opposite && x->opposite.address == address)
        return &x->opposite;
    if (address == x->me.address)
        return &x->me;
    return host == IDMAP_NONE ? NULL : &x->atlas.hosts[host].info;
}

const char *explore_doubt(const struct explore *x, uint32_t i)
{
    return i < x->ndoubts ? x->doubts[i] : NULL;
}

static void doubt_record(struct explore *x, uint32_t rec, unsigned number)
{
    const struct atlas_rec *r = &x->atlas.recs[rec];
    int first, last, far = 0;

    atlas_window(&x->atlas, r, &first, &last);
    for (int s = first; s <= last; s++) {
        const struct atlas_slot *slot =
            atlas_slot(&x->atlas, (struct atlas_ref){rec, s});

        if (!slot)
            continue;
        if (slot->state == SLOT_XBAR)
            explore_add_doubt(x,
                              "crossbar x%u, port %d: leads to a crossbar "
                              "that could not be told",
                              number, s - (r->entry >= 0 ? -r->entry : r->lo));
        else if (slot->state < SLOT_XBAR && (slot->flags & SLOT_FAR))
            far++;
    }
    if (far > 0)
        explore_add_doubt(x,
                          "crossbar x%u, %u crossbars away: %d ports are out "
                          "of reach of the longest probe",
                          number, r->depth, far);
}

/* Hosts whose address answers in more than one place. */
static void doubt_addresses(struct explore *x)
{
    for (uint32_t rec = 0; x->wary && rec < x->atlas.nrecs; rec++) {
        const struct atlas_rec *r = &x->atlas.recs[rec];

        for (int s = r->lo; r->up == rec && s <= r->hi; s++) {
            struct atlas_ref at = {rec, s}, first;
            const struct atlas_slot *slot = atlas_slot(&x->atlas, at);
            const struct atlas_host *host;

            if (slot->state != SLOT_HOST)
                continue;
            host = &x->atlas.hosts[slot->far];
            first = atlas_at(&x->atlas, host->rec, host->slot);
            if (first.rec != rec || first.slot != s)
                explore_add_doubt(
                    x, "address %012" PRIx64 " answers in several places",
                    host->info.address);
        }
    }
}

/* Say what could not be told. */
static void explore_doubts(struct explore *x)
{
    unsigned number = 0;

    doubt_addresses(x);
    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++)
        if (atlas_lives(&x->atlas, rec))
            doubt_record(x, rec, number++);
}

static void count_ports(const struct explore *x, struct explore_stats *stats)
{
    for (uint32_t rec = 0; rec < x->atlas.nrecs; rec++) {
        const struct atlas_rec *r = &x->atlas.recs[rec];

        if (r->up != rec)
            continue;
        stats->hosts += r->nhosts;
        stats->links += r->nlinks;
    }
    stats->links = stats->links / 2 + stats->hosts;
}

void explore_stats(const struct explore *x, struct explore_stats *stats)
{
    const struct window *w = &x->window;

    *stats = (struct explore_stats){
        .probes = w->sent,
        .retries = w->resent,
        .unanswered = w->unanswered,
        .crossbars = x->atlas.nlive,
        .merges = x->atlas.merges,
        .restarts = x->restarts,
        .rounds = x->round,
        .window = (uint32_t)w->size,
        .longest = w->longest,
        .wait = window_wait(w, PROBE_SCOUT),
        .bytes = x->atlas.bytes + window_bytes(w) +
                 x->cap_cases * sizeof(struct xcase),
    };
    memcpy(stats->by_kind, w->by_kind, sizeof(stats->by_kind));
    count_ports(x, stats);
}

#define RESTARTS_MAX 8

bool xring_push(struct xring *ring, struct atlas_ref item, bool front)
{
    if (ring->n == ring->cap) {
        uint32_t cap = ring->cap ? ring->cap * 2 : 64;
        struct atlas_ref *items = malloc(cap * sizeof(*items));

        if (!items)
            return false;
        for (uint32_t i = 0; i < ring->n; i++)
            items[i] = ring->items[(ring->head + i) & (ring->cap - 1)];
        free(ring->items);
        *ring = (struct xring){items, 0, ring->n, cap};
    }
    if (front) {
        ring->head = (ring->head - 1) & (ring->cap - 1);
        ring->items[ring->head] = item;
    } else {
        ring->items[(ring->head + ring->n) & (ring->cap - 1)] = item;
    }
    ring->n++;
    return true;
}

static bool xring_pop(struct xring *ring, struct atlas_ref *item)
{
    if (ring->n == 0)
        return false;
    *item = ring->items[ring->head];
    ring->head = (ring->head + 1) & (ring->cap - 1);
    ring->n--;
    return true;
}

void explore_fail(struct explore *x, const char *why)
{
    if (!x->failed)
        errprintf(&x->why, "%s", why);
    x->failed = true;
    x->done = true;
}

static void explore_add_doubt(struct explore *x, const char *fmt, ...)
{
    char text[160], **more;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    more = realloc(x->doubts, (x->ndoubts + 1) * sizeof(*more));
    if (!more)
        return;
    x->doubts = more;
    x->doubts[x->ndoubts] = strdup(text);
    if (x->doubts[x->ndoubts])
        x->ndoubts++;
}

static void forget(struct explore *x)
{
    atlas_clear(&x->atlas);
    guess_clear(&x->guess);
    free(x->cases);
    free(x->ready.items);
    for (int i = 0; i <= LEVELS; i++)
        free(x->queues[i].items);
    free(x->stuck.items);
    free(x->unknown.items);
}

/* Ready to explore from nothing. */
static bool begin(struct explore *x)
{
    x->cases = NULL;
    x->ncases = x->cap_cases = 0;
    x->spare_case = ATLAS_NONE;
    memset(&x->ready, 0, sizeof(x->ready));
    memset(x->queues, 0, sizeof(x->queues));
    memset(&x->stuck, 0, sizeof(x->stuck));
    memset(&x->unknown, 0, sizeof(x->unknown));
    memset(x->active, 0, sizeof(x->active));
    memset(x->kinds, 0, sizeof(x->kinds));
    x->active_all = x->closing = 0;
    x->courage = 1;
    x->credit = 0;
    x->compare = (struct xcompare){.rec = ATLAS_NONE};
    x->known_hosts = 0;
    x->round = x->quiet = 0;
    x->late = x->prompt = 0;
    x->retry_found = false;
    x->root_test = TEST_NONE;
    x->root_tries = 0;
    x->check = (struct xcheck){.open = false};
    x->twins =
        (struct xtwins){{0, -x->limits.max_ports}, {0, -x->limits.max_ports}};
    return atlas_init(&x->atlas, x->limits.max_ports, x->wary) &&
           guess_init(&x->guess, x->limits.max_ports);
}

struct explore *explore_new(const struct prober_limits *limits,
                            const struct probe_host *me)
{
    struct explore *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->limits = *limits;
    x->me = *me;
    if (x->limits.max_ports < 2)
        x->limits.max_ports = 2;
    if (!x->limits.absolute && x->limits.max_ports > PROBE_PORTS_MAX)
        x->limits.max_ports = PROBE_PORTS_MAX;
    if (x->limits.max_route > PROBE_ROUTE_MAX)
        x->limits.max_route = PROBE_ROUTE_MAX;
    if (!window_init(&x->window, limits) || !begin(x)) {
        explore_free(x);
        return NULL;
    }
    return x;
}

void explore_free(struct explore *x)
{
    if (!x)
        return;
    forget(x);
    window_clear(&x->window);
    for (uint32_t i = 0; i < x->ndoubts; i++)
        free(x->doubts[i]);
    free(x->doubts);
    free(x);
}

/* Two facts contradict each other, or the map does not hold: the fabric
 * changed meanwhile, or two hosts share an address.  The second time hosts'
 * addresses are no longer trusted. */
static bool start_over(struct explore *x)
{
    if (++x->restarts > RESTARTS_MAX) {
        explore_fail(x, "the fabric changes while it is explored");
        return false;
    }
    if (x->restarts > 1)
        x->wary = true;
    x->supposed = false;
    window_abandon(&x->window);
    forget(x);
    if (!begin(x))
        explore_fail(x, "no memory");
    return false;
}

/* A record came nearer to a host: so may its neighbours. */
static void nearer(struct explore *x, uint32_t rec, uint8_t rank)
{
    struct atlas *a = &x->atlas;
    struct atlas_rec *r = &a->recs[rec];

    if (rank >= r->rank)
        return;
    r->rank = rank;
    for (int s = r->lo; s <= r->hi; s++) {
        struct atlas_ref at = {rec, s};
        const struct atlas_slot *slot = atlas_slot(a, at);

        guess_learn(&x->guess, a, at);
        if (slot->state == SLOT_LINK)
            nearer(x, atlas_at(a, slot->far, 0).rec, (uint8_t)(rank + 1));
    }
}

static void take_news(struct explore *x, struct atlas_ref at)
{
    struct atlas *a = &x->atlas;
    const struct atlas_slot *slot = atlas_slot(a, at);
    struct atlas_rec *rec = &a->recs[at.rec];

    if (slot && slot->state == SLOT_HOST) {
        if (!x->wary)
            rec->flags &= (uint8_t)~REC_NEW;
        nearer(x, at.rec, 1);
    }
    if (slot && slot->state == SLOT_LINK) {
        uint32_t far = atlas_at(a, slot->far, 0).rec;
        uint8_t mine = rec->rank, its = a->recs[far].rank;

        if (mine < ATLAS_RANK_NONE - 1)
            nearer(x, far, (uint8_t)(mine + 1));
        if (its < ATLAS_RANK_NONE - 1)
            nearer(x, at.rec, (uint8_t)(its + 1));
    }
    guess_learn(&x->guess, a, at);
    scan_queue_all(x, at.rec, false);
}

bool explore_facts(struct explore *x)
{
    struct atlas *a = &x->atlas;

    if (a->torn)
        return start_over(x);
    for (size_t i = 0; i < a->nnews; i++)
        take_news(x, atlas_at(a, a->news[i].rec, a->news[i].slot));
    a->nnews = 0;
    return !x->failed;
}

static void ends(struct explore *x)
{
    if (x->check.failed) {
        /* Nobody lied if it is the old map that does not hold. */
        if (!x->supposed && x->restarts == 0)
            x->restarts = 1;
        start_over(x);
        return;
    }
    x->done = true;
    explore_doubts(x);
}

bool explore_next(struct explore *x, uint64_t now, struct probe *probe)
{
    struct atlas_ref item;

    while (!x->done) {
        if (window_again(&x->window, now, probe))
            return true;
        if (window_sound(&x->window, now, probe))
            return true;
        if (!window_open(&x->window))
            return false;
        if (x->atlas.nrecs == 0)
            return root_next(x, now, probe);
        if (xring_pop(&x->ready, &item)) {
            memset(probe, 0, sizeof(*probe));
            if (case_send(x, item.rec, probe)) {
                window_send(&x->window, now, probe, item.rec);
                return true;
            }
        } else if (!scan_more(x) && !new_more(x)) {
            if (x->active_all > 0)
                return false;
            if (!x->check.begun)
                round_ends(x);
            else if (!twins_more(x) && !check_more(x))
                ends(x);
        }
    }
    return false;
}

void explore_answer(struct explore *x, uint64_t now,
                    const struct probe_answer *answer)
{
    uint32_t owner;

    if (x->done || !window_answer(&x->window, now, answer->tag, &owner))
        return;
    if (owner == ROOT)
        root_answer(x, answer);
    else
        case_result(x, owner, answer);
}

uint64_t explore_deadline(const struct explore *x)
{
    return x->done ? UINT64_MAX : window_deadline(&x->window);
}

void explore_tick(struct explore *x, uint64_t now)
{
    uint32_t owner;

    while (!x->done && window_expired(&x->window, now, &owner)) {
        if (owner == ROOT)
            root_silent(x);
        else
            case_result(x, owner, NULL);
    }
}

bool explore_done(const struct explore *x)
{
    return x->done;
}

bool explore_failed(const struct explore *x, struct errbuf *err)
{
    if (x->failed)
        errprintf(err, "%s", x->why.text);
    return x->failed;
}
