/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's rounds: silent ports are asked again, as often as the losses
 * seen so far ask for.
 */
#include "mapper/explore_priv.h"

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
void round_ends(struct explore *x)
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
