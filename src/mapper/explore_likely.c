/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is likely to be behind a port, and the best guess how to find out.
 */
#include "mapper/explore_priv.h"

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
