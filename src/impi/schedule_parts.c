/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors by parts.
 */
#include "impi/schedule_plan.h"

#include <stdlib.h>

/* ---- halves ---- */

/* Vertices of the exchange, at their places: each has [low, low + n) of the
 * parts of all places.  The first `extra` vertices stand for two.  A place is
 * its vertex, or, where nearest neighbours come first, its `bits` bits read
 * backwards: what is folded stays in order. */
struct halves {
    uint32_t me, even, extra;
    int bits; /* 0: places are vertices */
    uint32_t low, n;
    plan_who_f *who;
};

static uint32_t reversed(uint32_t v, int bits)
{
    uint32_t r = 0;

    for (int i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

static uint32_t vertex_at(const struct halves *h, uint32_t place)
{
    return h->bits ? reversed(place, h->bits) : place;
}

/* Vertices that stand for two, at places below this one: where bit i of it is
 * set, those at places that are the same above, and 0 there. */
static uint32_t doubles_below(const struct halves *h, uint32_t place)
{
    uint32_t n = 0;

    if (!h->bits)
        return place < h->extra ? place : h->extra;
    if (place == h->even)
        return h->extra;
    for (int i = 0; i < h->bits; i++) {
        uint32_t step = UINT32_C(1) << (h->bits - i);
        uint32_t least = reversed((place >> i ^ 1) << i, h->bits);

        if (place >> i & 1 && least < h->extra)
            n += (h->extra - least + step - 1) / step;
    }
    return n;
}

static uint32_t first_part(const struct halves *h, uint32_t place)
{
    return place + doubles_below(h, place);
}

static void plan_parts(struct plan *p, enum impi_step_kind kind, uint32_t peer,
                       enum impi_step_buf buf, uint32_t from, uint32_t to)
{
    struct impi_step step = plan_message(p, kind, peer, buf);

    step.part = from;
    step.nparts = to - from;
    plan_add(p, step);
}

static void plan_part_of(struct plan *p, enum impi_step_kind kind,
                         const struct halves *h, uint32_t peer,
                         enum impi_step_buf buf, uint32_t low, uint32_t n)
{
    plan_parts(p, kind,
               h->who(p, plan_in_exchange(vertex_at(h, peer), h->extra)), buf,
               first_part(h, low), first_part(h, low + n));
}

/* With the one on the other side each keeps one half. */
static void halve(struct plan *p, struct halves *h)
{
    while (h->n > 1) {
        uint32_t half = h->n / 2, peer = h->me ^ half;
        uint32_t other = h->low + (h->me & half ? 0 : half);
        bool under = h->bits && !(h->me & half); /* the peer is higher */
        struct impi_step combine = {.kind = under ? IMPI_STEP_COMBINE_UNDER
                                                  : IMPI_STEP_COMBINE,
                                    .buf = IMPI_BUF_TMP};

        h->low += h->me & half;
        h->n = half;
        plan_part_of(p, IMPI_STEP_SEND, h, peer, IMPI_BUF_ACC, other, half);
        plan_with_next(p);
        plan_part_of(p, IMPI_STEP_RECV, h, peer, IMPI_BUF_TMP, h->low, half);
        combine.part = first_part(h, h->low);
        combine.nparts = first_part(h, h->low + half) - combine.part;
        plan_add(p, combine);
    }
}

/* And back: all get the other halves. */
static void double_up(struct plan *p, struct halves *h)
{
    for (; h->n < h->even; h->n *= 2) {
        uint32_t peer = h->me ^ h->n;
        uint32_t other = h->low ^ h->n;

        plan_part_of(p, IMPI_STEP_SEND, h, peer, IMPI_BUF_ACC, h->low, h->n);
        plan_with_next(p);
        plan_part_of(p, IMPI_STEP_RECV, h, peer, IMPI_BUF_ACC, other, h->n);
        if (other < h->low)
            h->low = other;
    }
}

static struct halves halves_of(uint32_t v, uint32_t n, bool in_order)
{
    int bits = impi_hibit(n, 32);
    uint32_t even = UINT32_C(1) << bits, extra = n - even;
    struct halves h = {.me = v < 2 * extra ? v / 2 : v - extra,
                       .even = even,
                       .extra = extra,
                       .bits = in_order ? bits : 0,
                       .n = even};

    h.me = vertex_at(&h, h.me);
    return h;
}

/* What the pair's other one gets in the end. */
static void part_of_pair(const struct halves *h, bool all, uint32_t *from,
                         uint32_t *to)
{
    *from = all ? 0 : first_part(h, h->me);
    *to = all ? h->even + h->extra : *from + 1;
}

void plan_halving(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                  bool in_order, enum plan_halves what)
{
    struct halves h = halves_of(me, n, in_order);
    bool paired = me < 2 * h.extra, all = what == PLAN_ALL_PARTS;
    uint32_t from, to;

    h.who = who;
    p->s->parts.n = n;
    part_of_pair(&h, all, &from, &to);
    if (paired && me % 2 == 0) {
        plan_send(p, who(p, me + 1), p->part);
        plan_parts(p, IMPI_STEP_RECV, who(p, me + 1), IMPI_BUF_ACC, from, to);
        return;
    }
    if (paired)
        plan_take_lower(p, who(p, me - 1));
    plan_put_in_order(p);
    halve(p, &h);
    if (all)
        double_up(p, &h);
    if (paired)
        plan_parts(p, IMPI_STEP_SEND, who(p, me - 1), IMPI_BUF_ACC, from, to);
}

/* ---- parts of blocks ---- */

void plan_parts_of_clients(struct plan *p)
{
    p->s->parts.n = p->g->nmasters;
    p->s->parts.first = p->g->first;
    p->s->parts.ranks = p->g->locals;
}

/* One run behind what there is. */
static void add_run(const struct plan *p, uint32_t run,
                    struct impi_parts *parts, uint32_t *first, uint32_t *ranks)
{
    uint32_t at = first[parts->n];

    for (uint32_t r = p->runs.first[run]; r < p->runs.first[run + 1]; r++)
        ranks[at++] = r;
    first[++parts->n] = at;
}

void plan_parts_of_runs(struct plan *p)
{
    struct halves h = halves_of(0, p->runs.n, true);
    struct impi_parts *parts = &p->s->parts;
    size_t room = (size_t)p->runs.n + 1 + p->g->size;
    uint32_t *first = malloc(room * sizeof(*first)), *ranks;

    if (!first) {
        p->failed = true;
        return;
    }
    ranks = first + p->runs.n + 1;
    first[0] = 0;
    *parts = (struct impi_parts){.first = first, .ranks = ranks, .made = first};
    for (uint32_t place = 0; place < h.even; place++) {
        uint32_t v = plan_in_exchange(vertex_at(&h, place), h.extra);

        if (v < 2 * h.extra)
            add_run(p, v - 1, parts, first, ranks);
        add_run(p, v, parts, first, ranks);
    }
}

/* Blocks that lie by rank are in it already. */
static bool is_in_order(const struct plan *p)
{
    const struct impi_parts *parts = &p->s->parts;

    if (!parts->ranks)
        return true;
    for (uint32_t i = 0; i < p->g->size; i++) {
        if (parts->ranks[i] != i)
            return false;
    }
    return true;
}

void plan_put_in_order(struct plan *p)
{
    if (is_in_order(p)) {
        plan_fold_end(p);
        return;
    }
    plan_add(p, (struct impi_step){.kind = IMPI_STEP_ORDER,
                                   .buf = (uint8_t)p->part});
    p->part = IMPI_BUF_ACC;
}

/* ---- where they lie ---- */

void impi_parts_cut(const struct impi_parts *parts, const int *lens,
                    int64_t all, int64_t *cuts)
{
    cuts[0] = 0;
    for (uint32_t i = 0; i < parts->n; i++) {
        cuts[i + 1] = parts->first ? cuts[i] : all * (i + 1) / parts->n;
        if (!parts->first)
            continue;
        for (uint32_t k = parts->first[i]; k < parts->first[i + 1]; k++)
            cuts[i + 1] += lens[parts->ranks[k]];
    }
}

void impi_parts_places(const struct impi_parts *parts, const int *lens,
                       uint32_t n, int *by_rank, int *places)
{
    int at = 0, in_order = 0;

    for (uint32_t r = 0; r < n; r++) {
        uint32_t i = parts->ranks ? parts->ranks[r] : r;

        by_rank[r] = at;
        places[i] = in_order;
        at += lens[r];
        in_order += lens[i];
    }
}
