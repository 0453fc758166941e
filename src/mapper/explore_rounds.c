/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's rounds: silent ports are asked again, as often as the losses
 * seen so far ask for.
 */
#include "mapper/explore_priv.h"

#include <math.h>

#define ROUNDS_MAX 60
#define MISSED 1e-7
#define LOSS_MIN 0.005

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

/* How many rounds that find nothing are enough: so many that a port with
 * something behind it stays silent in all of them with a probability of
 * MISSED only, by the losses seen. */
static int quiet_rounds(struct explore *x)
{
    uint64_t lost = lost_answers(x);
    double share = ((double)lost + 0.5) / (double)(x->prompt + lost + 1);
    int rounds = x->limits.tries - 1;

    x->lossy = lost > 0;
    if (share < LOSS_MIN)
        share = LOSS_MIN;
    if (log(MISSED) / log(share) - 1 > rounds)
        rounds = (int)ceil(log(MISSED) / log(share)) - 1;
    return rounds;
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
