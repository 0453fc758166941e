/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is likely to be behind a port, and the best guess how to find out.
 */
#include "mapper/explore_priv.h"

/* Nearest slot in a direction whose state tells something. */
static struct likely look(struct explore *x, struct atlas_ref at, int step)
{
    struct likely l = {.what = -2};
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];

    for (int s = at.slot + step; s >= rec->lo && s <= rec->hi; s += step) {
        const struct atlas_slot *slot =
            atlas_slot(&x->atlas, (struct atlas_ref){at.rec, s});

        if (slot_wired(slot)) {
            l.what = slot->state == SLOT_HOST ? 0 : -1;
            if (slot->state == SLOT_LINK) {
                uint32_t far = atlas_at(&x->atlas, slot->far, 0).rec;

                if (x->atlas.recs[far].rank <= GUESS_RANKS)
                    l.what = x->atlas.recs[far].rank;
            }
            return l;
        }
        if (slot->flags & SLOT_BUSY)
            l.busy++;
        else if (slot->state == SLOT_SILENT || (slot->flags & SLOT_NO_HOST))
            l.silent++;
        else
            l.unknown++;
    }
    return l;
}

/* As look(), for slots outside lo..hi too. */
static struct likely look_in(struct explore *x, struct atlas_ref at, int step)
{
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];
    struct atlas_ref edge = at;
    struct likely l = {.what = -2}, rest;

    if ((step > 0 && at.slot >= rec->hi) || (step < 0 && at.slot <= rec->lo))
        return l;
    for (edge.slot += step;
         step > 0 ? edge.slot < rec->lo : edge.slot > rec->hi;
         edge.slot += step) {
        const struct atlas_slot *slot = atlas_slot(&x->atlas, edge);

        if (slot && (slot->flags & SLOT_BUSY))
            l.busy++;
        else if (slot &&
                 (slot->state == SLOT_SILENT || (slot->flags & SLOT_NO_HOST)))
            l.silent++;
        else
            l.unknown++;
    }
    edge.slot -= step;
    rest = look(x, edge, step);
    rest.busy += l.busy;
    rest.silent += l.silent;
    rest.unknown += l.unknown;
    return rest;
}

struct likely slot_likely(struct explore *x, struct atlas_ref at)
{
    struct likely up = look_in(x, at, 1), down = look_in(x, at, -1);

    if (up.what == -2)
        return down;
    if (down.what == -2)
        return up;
    if (likely_gap(&up) != likely_gap(&down))
        return likely_gap(&up) < likely_gap(&down) ? up : down;
    /* A host is worth asking for first. */
    return up.what == 0 ? up : down;
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
double case_best_guess(struct explore *x, struct xcase *c, int likely_rank)
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
