/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end check: every link that is not itself the way to a crossbar is
 * closed to a ring by one probe, over the link and home by the far end's own
 * way.  It returns only if the link is where the map has it (a host that
 * lied, two boards with one address, a cable moved meanwhile would show).
 * Links that are the way to a crossbar are part of these rings.
 */
#include "mapper/explore_priv.h"

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

static bool ask(struct explore *x, struct atlas_ref at, struct atlas_ref far)
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
bool check_more(struct explore *x)
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
                return ask(x, at, far);
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
