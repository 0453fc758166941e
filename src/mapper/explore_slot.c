/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One port of one crossbar: a host, a crossbar, nothing?  And which crossbar?
 * A case asks one question after the other until the slot is settled.
 */
#include "mapper/explore_priv.h"

#include <stdlib.h>
#include <string.h>

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
