/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See guess.h.
 */
#include "mapper/guess.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CHOICES 8
#define LAST_CHOICES 3

bool guess_init(struct guess *g, int ports)
{
    size_t n = (size_t)(2 * ports - 1);
    size_t tables = GUESS_SIDES * (GUESS_RANKS + 1);
    char *at;

    memset(g, 0, sizeof(*g));
    g->ports = ports;
    g->memory = calloc(tables * n, sizeof(uint32_t));
    if (!g->memory)
        return false;
    at = g->memory;
    for (size_t i = 0; i < tables; i++) {
        struct guess_table *t = &g->tables[0][0] + i;

        t->good = (uint32_t *)(void *)at;
        at += n * sizeof(uint32_t);
    }
    return true;
}

void guess_clear(struct guess *g)
{
    free(g->memory);
    g->memory = NULL;
}

static enum guess_side side_of(int from, int rank)
{
    return from < rank ? GUESS_BELOW : from > rank ? GUESS_ABOVE : GUESS_BESIDE;
}

/* Crossbars from a slot down to the nearest host; 0: a host; -1: unknown. */
static int far_rank(struct atlas *a, const struct atlas_slot *slot)
{
    int rank;

    if (slot->state == SLOT_HOST)
        return 0;
    if (slot->state != SLOT_LINK)
        return -1;
    rank = a->recs[atlas_at(a, slot->far, 0).rec].rank;
    return rank > GUESS_RANKS ? -1 : rank;
}

static struct guess_table *entered(struct guess *g, int rank, int from)
{
    return &g->tables[from < 0 ? GUESS_ABOVE : side_of(from, rank)][rank];
}

void guess_learn(struct guess *g, struct atlas *a, struct atlas_ref at)
{
    const struct atlas_rec *rec = &a->recs[at.rec];
    const struct atlas_slot *slot = atlas_slot(a, at);
    int rank = rec->rank, far = slot ? far_rank(a, slot) : -1;
    bool down, in;

    if (!slot || rank > GUESS_RANKS || !slot_wired(slot))
        return;
    down = far == rank - 1;
    in = slot->state != SLOT_HOST;
    if (far > 0)
        g->far[rank][far]++;
    if (in)
        entered(g, rank, far)->entries++;
    for (int s = rec->lo; s <= rec->hi; s++) {
        const struct atlas_slot *other =
            atlas_slot(a, (struct atlas_ref){at.rec, s});
        int there;

        if (s == at.slot || !slot_wired(other))
            continue;
        there = far_rank(a, other);
        if (down && other->state != SLOT_HOST)
            entered(g, rank, there)->good[at.slot - s + g->ports - 1]++;
        if (in && there == rank - 1)
            entered(g, rank, far)->good[s - at.slot + g->ports - 1]++;
    }
}

/* How likely a delta leads down; a little for neighbours when nothing is
 * known yet. */
static double likely(const struct guess *g, const struct guess_table *t,
                     int delta, bool known)
{
    int i = delta + g->ports - 1;
    double p;

    if (delta == 0)
        return 0;
    if (known)
        p = (double)t->good[i] / (t->entries ? t->entries : 1);
    else
        p = 0.4 / (abs(delta) + (delta < 0 ? 0.5 : 0));
    if (p > 1)
        p = 1;
    return p;
}

struct choice {
    int16_t delta;
    double p;
};

/* The n best deltas, best first. */
static int choices(const struct guess *g, int from, int rank,
                   struct choice *best, int n)
{
    const struct guess_table *t = &g->tables[side_of(from, rank)][rank];
    bool known = false;
    int have = 0;

    for (int i = 0; i < 2 * g->ports - 1 && !known; i++)
        known = t->good[i] > 0;
    if (!known && side_of(from, rank) != GUESS_ABOVE) {
        const struct guess_table *above = &g->tables[GUESS_ABOVE][rank];

        for (int i = 0; i < 2 * g->ports - 1 && !known; i++)
            known = above->good[i] > 0;
        t = known ? above : t;
    }
    for (int d = -(g->ports - 1); d < g->ports; d++) {
        double p = likely(g, t, d, known);
        int at = have;

        if (p <= 0 || (have == n && p <= best[n - 1].p))
            continue;
        if (have < n)
            have++;
        else
            at = n - 1;
        for (; at > 0 && best[at - 1].p < p; at--)
            best[at] = best[at - 1];
        best[at] = (struct choice){(int16_t)d, p};
    }
    return have;
}

static uint32_t hash_way(const struct guess_way *way)
{
    uint32_t hash = 2166136261u ^ way->n;

    for (int i = 0; i < way->n; i++)
        hash = (hash ^ (uint16_t)way->delta[i]) * 16777619u;
    return hash;
}

static bool was_tried(const struct guess_tried *tried,
                      const struct guess_way *way)
{
    uint32_t hash = hash_way(way);

    for (int i = 0; i < tried->n; i++)
        if (tried->hash[i] == hash)
            return true;
    return false;
}

void guess_note(struct guess_tried *tried, const struct guess_way *way)
{
    if (tried->n == GUESS_TRIED)
        return;
    tried->hash[tried->n++] = hash_way(way);
    tried->by_rank[way->n]++;
}

double guess_best(const struct guess *g, int rank, int far,
                  const struct guess_tried *tried, struct guess_way *way)
{
    struct choice first[FIRST_CHOICES], last[LAST_CHOICES], one;
    struct guess_way try = {.n = (uint8_t)far};
    int nfirst, nlast = 1;
    double best = 0, middle = 1;

    if (far < 1 || far > GUESS_RANKS || tried->n == GUESS_TRIED)
        return 0;
    nfirst = choices(g, rank, far, first, FIRST_CHOICES);
    for (int k = far - 1; k > 1; k--) {
        if (choices(g, k + 1, k, &one, 1) == 0)
            return 0;
        try.delta[far - k] = one.delta;
        middle *= one.p;
    }
    if (far > 1)
        nlast = choices(g, 2, 1, last, LAST_CHOICES);
    for (int i = 0; i < nfirst; i++) {
        for (int j = 0; j < nlast; j++) {
            double p = first[i].p * middle * (far > 1 ? last[j].p : 1);

            try.delta[0] = first[i].delta;
            if (far > 1)
                try.delta[far - 1] = last[j].delta;
            if (p > best && !was_tried(tried, &try)) {
                best = p;
                *way = try;
            }
        }
    }
    return best;
}
