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

/* And back to the one at place `to`. */
static void gather_up(struct plan *p, struct halves *h, uint32_t to)
{
    for (; h->n < h->even; h->n *= 2) {
        uint32_t peer = h->me ^ h->n;
        uint32_t other = h->low ^ h->n;

        if ((h->me ^ to) & h->n) {
            plan_part_of(p, IMPI_STEP_SEND, h, peer, IMPI_BUF_ACC, h->low,
                         h->n);
            return;
        }
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

/* The other one of its pair, which is not in the exchange, gets its part of
 * what there is. */
static void end_pair(struct plan *p, const struct plan_halving *how,
                     const struct halves *h, enum impi_step_kind kind)
{
    uint32_t peer = how->who(p, how->me ^ 1), other = how->me & ~UINT32_C(1);
    uint32_t own = first_part(h, h->me);

    if (how->what == PLAN_OWN_PART)
        plan_parts(p, kind, peer, IMPI_BUF_ACC, own, own + 1);
    else if (how->what == PLAN_ALL_PARTS || other == how->to)
        plan_parts(p, kind, peer, IMPI_BUF_ACC, 0, how->n);
}

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

/* What this process has, in the order of the parts, to acc.  Blocks that lie by
 * rank are in it already. */
static void put_in_order(struct plan *p)
{
    if (is_in_order(p)) {
        plan_fold_end(p);
        return;
    }
    plan_add(p, (struct impi_step){.kind = IMPI_STEP_ORDER,
                                   .buf = (uint8_t)p->part});
    p->part = IMPI_BUF_ACC;
}

void plan_halving(struct plan *p, const struct plan_halving *how)
{
    struct halves h = halves_of(how->me, how->n, how->in_order);
    bool paired = how->me < 2 * h.extra;

    h.who = how->who;
    p->s->parts.n = how->n;
    if (paired && how->me % 2 == 0) {
        plan_send(p, how->who(p, how->me + 1), p->part);
        end_pair(p, how, &h, IMPI_STEP_RECV);
        p->part = IMPI_BUF_ACC;
        return;
    }
    if (paired)
        plan_take_lower(p, how->who(p, how->me - 1));
    put_in_order(p);
    halve(p, &h);
    if (how->what == PLAN_ALL_PARTS)
        double_up(p, &h);
    else if (how->what == PLAN_TO_ONE)
        gather_up(p, &h, halves_of(how->to, how->n, how->in_order).me);
    if (paired)
        end_pair(p, how, &h, IMPI_STEP_SEND);
}

/* ---- from one to all, from all to all ---- */

/* Vertices 0 to n - 1 of a tree: v has what comes for itself and those behind
 * it, as many in all as its lowest bit says.  Or each has its own. */
struct spread {
    uint32_t me, n;
    plan_who_f *who;
    uint32_t first; /* part of vertex 0 */
    bool all;       /* from all */
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t span(const struct spread *t, uint32_t v)
{
    if (t->all)
        return 1;
    return v == 0 ? UINT32_C(1) << impi_cubedim(t->n) : v & -v;
}

static void spread_parts(struct plan *p, const struct spread *t)
{
    uint32_t size = span(t, t->me), end = least(t->me + size, t->n);

    if (t->me > 0)
        plan_parts(p, IMPI_STEP_RECV, t->who(p, t->me - size), IMPI_BUF_DATA,
                   t->first + t->me, t->first + end);
    for (uint32_t half = size / 2; half > 0; half /= 2) {
        uint32_t to = t->me + half;

        if (to < t->n)
            plan_parts(p, IMPI_STEP_SEND, t->who(p, to), IMPI_BUF_DATA,
                       t->first + to, t->first + least(to + half, t->n));
    }
}

/* m parts from `from` on, around the end, that `to` does not have. */
static void pass(struct plan *p, const struct spread *t,
                 enum impi_step_kind kind, uint32_t peer, uint32_t to,
                 uint32_t from, uint32_t m)
{
    uint32_t end = least(from + m, t->n), around = from + m - end;
    bool has = from >= to && end <= to + span(t, to);

    if (!has) {
        plan_parts(p, kind, t->who(p, peer), IMPI_BUF_DATA, t->first + from,
                   t->first + end);
        plan_with_next(p);
    }
    if (around > 0) {
        plan_parts(p, kind, t->who(p, peer), IMPI_BUF_DATA, t->first,
                   t->first + around);
        plan_with_next(p);
    }
}

/* Each has the d parts from its own on, or those of its d neighbours where n is
 * a power of two; from those d ahead come the next ones. */
static void pass_around(struct plan *p, const struct spread *t)
{
    for (uint32_t d = 1; d < t->n; d <<= 1) {
        bool even = is_power_of_two(t->n);
        uint32_t me = t->me, m = least(d, t->n - d);
        uint32_t ahead = even ? me ^ d : (me + d) % t->n;
        uint32_t behind = even ? me ^ d : (me + t->n - d) % t->n;
        uint32_t low = even ? ~(d - 1) : ~UINT32_C(0);

        pass(p, t, IMPI_STEP_SEND, behind, behind, me & low, m);
        pass(p, t, IMPI_STEP_RECV, ahead, me, ahead & low, m);
        plan_end_row(p);
    }
}

void plan_parts_down(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                     uint32_t pieces)
{
    struct spread t = {.me = me, .n = n, .who = who};

    p->s->parts.n = n * pieces;
    for (; t.first < n * pieces; t.first += n) {
        spread_parts(p, &t);
        pass_around(p, &t);
    }
}

void plan_parts_around(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who)
{
    struct spread t = {.me = me, .n = n, .who = who, .all = true};

    pass_around(p, &t);
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
