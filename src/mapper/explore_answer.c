/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an answer to a question about a port, or none, says of the fabric.
 */
#include "mapper/explore_priv.h"

/* A scout sent down a way was answered: every crossbar on it follows from
 * the last one backwards; what is still unknown gets a record. */
static bool host_beyond(struct explore *x, struct xcase *c, uint32_t host)
{
    struct atlas *a = &x->atlas;
    const struct atlas_host *h = &a->hosts[host];
    struct atlas_ref at = c->at, chain;
    int i = c->way.n;
    uint32_t rec;

    /* From the known host up: `chain` is where the packet entered. */
    if (h->rec != ATLAS_NONE) {
        chain = atlas_at(a, h->rec, h->slot);
        for (;;) {
            struct atlas_slot *slot;

            chain.slot -= c->way.delta[--i];
            slot = atlas_slot(a, chain);
            if (i == 0)
                return atlas_set_link(a, at, chain);
            if (!slot || slot->state != SLOT_LINK)
                break;
            chain = atlas_at(a, slot->far, slot->far_slot);
        }
    } else {
        chain.rec = ATLAS_NONE;
    }
    for (int j = 0; j < c->way.n; j++) {
        struct atlas_ref next;

        if (chain.rec != ATLAS_NONE && j == i)
            return atlas_set_link(a, at, chain);
        rec = atlas_add(a, atlas_at(a, at.rec, at.slot));
        next = (struct atlas_ref){rec, 0};
        if (rec == ATLAS_NONE || !atlas_set_link(a, at, next))
            return false;
        at = (struct atlas_ref){rec, c->way.delta[j]};
    }
    return atlas_set_host(a, at, host);
}

static bool learn_id(struct explore *x, struct xcase *c,
                     const struct probe_id *id)
{
    struct atlas *a = &x->atlas;
    uint32_t known = idmap_get(&a->by_id, id->id);
    uint32_t rec;

    if (known != IDMAP_NONE) {
        struct atlas_ref there = atlas_at(a, known, 0);

        atlas_name(a, known, id->name);
        there.slot = id->entry - a->recs[there.rec].entry;
        return atlas_set_link(a, c->at, there);
    }
    rec = atlas_add(a, c->at);
    return rec != ATLAS_NONE && atlas_set_id(a, rec, id) &&
           atlas_set_link(a, c->at, (struct atlas_ref){rec, 0});
}

void explore_name(struct explore *x, uint64_t id, const char *name)
{
    uint32_t known = idmap_get(&x->atlas.by_id, id);

    if (known != IDMAP_NONE)
        atlas_name(&x->atlas, known, name);
}

static void count_kind(struct explore *x, struct atlas_ref at, int kind)
{
    const struct atlas_rec *rec = &x->atlas.recs[at.rec];

    if (rec->entry >= 0) {
        uint8_t *n = &x->kinds[(rec->entry + at.slot) & 255][kind];

        if (++*n == 255) {
            n[kind ? -1 : 1] /= 2;
            *n /= 2;
        }
    }
}

bool case_take_answer(struct explore *x, struct xcase *c,
                      const struct probe_answer *answer)
{
    uint32_t host;

    c->at = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    switch (answer->outcome) {
    case PROBE_HOST:
        host = atlas_host(&x->atlas, &answer->host);
        if (host == ATLAS_NONE)
            return false;
        count_kind(x, c->at, 0);
        if (c->test == TEST_GUESS)
            return host_beyond(x, c, host);
        return atlas_set_host(&x->atlas, c->at, host);
    case PROBE_ID:
        count_kind(x, c->at, 1);
        return learn_id(x, c, &answer->id);
    case PROBE_BACK:
        count_kind(x, c->at, 1);
        return atlas_set_xbar(&x->atlas, c->at);
    case PROBE_NOTHING:
        break;
    }
    return true;
}

void case_mark_unanswered(struct explore *x, struct xcase *c, bool sure)
{
    struct atlas_slot *slot;

    c->at = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    slot = atlas_slot(&x->atlas, c->at);
    if (!slot || slot->state >= SLOT_XBAR)
        return;
    if (sure && x->limits.absolute)
        slot->flags |= SLOT_SURE;
    if (c->test == TEST_LOOP)
        slot->flags |= SLOT_NO_XBAR;
    else if (c->test == TEST_SCOUT)
        slot->flags |= SLOT_NO_HOST;
}

/* Did it answer the first time it was asked? */
void case_count_answer(struct explore *x, struct atlas_ref at)
{
    const struct atlas_slot *slot = atlas_slot(&x->atlas, at);

    if (slot && (slot->flags & SLOT_AGAIN)) {
        x->retry_found = true;
        x->late++;
    } else {
        x->prompt++;
    }
}
