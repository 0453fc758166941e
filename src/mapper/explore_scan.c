/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which port to ask about next (levels: explore_priv.h).  A crossbar is
 * looked at outward from what is known of it, a few ports at a time; where
 * nothing answers any more, the rest waits for level 3, when most of it has
 * been found from the other side.
 */
#include "mapper/explore_priv.h"

#define AHEAD 3     /* slots asked at a time in one direction */
#define AHEAD_NEW 8 /* of a crossbar that may be new */
#define AHEAD_FIXED 16
#define SILENCE 1 /* silent slots that are stepped over at once */
#define DEEP_AT_ONCE 1

static const uint8_t queued[LEVELS + 1] = {0, REC_QUEUED1, REC_QUEUED2,
                                           REC_QUEUED3, REC_QUEUED4};

bool scan_queue(struct explore *x, uint32_t rec, int level, bool front)
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

bool scan_more(struct explore *x)
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
bool scan_again(struct explore *x)
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
