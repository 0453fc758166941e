/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Crossbars that no guess could name: no host hangs on them or near them.
 * Each is looked at port by port as if it were new.  If a host turns up, the
 * atlas knows what to do.  If not, it is compared with the other crossbars
 * without hosts that have cables in the same pattern of ports; a compare
 * probe returns only if both are one.  If none does, it is new.
 */
#include "mapper/explore_priv.h"

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

static bool ask(struct explore *x, uint32_t y, uint32_t o, int shift)
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
                return ask(x, cmp->rec, cmp->other, cmp->shift);
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

bool new_more(struct explore *x)
{
    if (x->compare.rec != ATLAS_NONE)
        return compare_more(x);
    return x->active_all == 0 && (compare_start(x) || look_at_stuck(x));
}
