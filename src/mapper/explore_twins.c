/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses that answer in several places, where addresses are not trusted:
 * is it one port, met by several ways, or are there boards with one address?
 * Each two places are compared: the probe comes back only if they are one
 * port.  So a fabric that was unfolded, because comparisons before were lost,
 * is folded again: what hangs on a port that became one becomes one with it.
 */
#include "mapper/explore_priv.h"

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

static bool ask(struct explore *x)
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
bool twins_more(struct explore *x)
{
    struct xtwins *t = &x->twins;

    while (x->wary && next_host(x, &t->at)) {
        if (!is_first(x, t->at) && next_other(x)) {
            bool asked = ask(x);

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
