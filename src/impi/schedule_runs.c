/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds in rank order: runs of ranks of one client, trees over what lies in
 * order, and exchanges.
 */
#include "impi/schedule_plan.h"

#include <stdlib.h>

/* Where each client has one run, its ranks are listed in their order. */
bool plan_are_blocks(const struct impi_group *g)
{
    for (uint32_t i = 0; i < g->nmasters; i++) {
        if (g->masters[i] != g->first[i])
            return false;
    }
    return true;
}

static void list_runs(struct plan *p)
{
    const struct impi_group *g = p->g;
    struct runs *r = &p->runs;

    for (uint32_t i = 0; i < g->size; i++) {
        if (i == 0 || g->num_of[i] != g->num_of[i - 1])
            r->made[r->n++] = i;
        if (i == p->rank)
            r->own = r->n - 1;
    }
    r->made[r->n] = g->size;
    r->first = r->made;
}

/* False: no memory, and the plan has failed. */
bool plan_find_runs(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (plan_are_blocks(g)) {
        p->runs = (struct runs){
            .first = g->first, .n = g->nmasters, .own = g->num_of[p->rank]};
        return true;
    }
    p->runs = (struct runs){
        .made = malloc(((size_t)g->size + 1) * sizeof(*p->runs.made))};
    if (p->runs.made)
        list_runs(p);
    else
        p->failed = true;
    return !p->failed;
}

uint32_t plan_run_length(const struct plan *p, uint32_t run)
{
    return p->runs.first[run + 1] - p->runs.first[run];
}

uint32_t plan_run_head(const struct plan *p)
{
    return p->runs.first[p->runs.own];
}

/* Vertices: those of the own run, from its first or from its last; runs, by
 * their last ones. */
uint32_t plan_in_run(const struct plan *p, uint32_t v)
{
    return plan_run_head(p) + v;
}

uint32_t plan_in_run_from_last(const struct plan *p, uint32_t v)
{
    return p->runs.first[p->runs.own + 1] - 1 - v;
}

uint32_t plan_last_of_run(const struct plan *p, uint32_t run)
{
    return p->runs.first[run + 1] - 1;
}

/* ---- folds in order ---- */

/* acc = what `from` has, op it.  And it op what `from` has. */
void plan_take_lower(struct plan *p, uint32_t from)
{
    if (p->part == IMPI_BUF_OWN)
        plan_add(
            p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    p->part = IMPI_BUF_ACC;
    plan_take_partial(p, from);
}

static void take_higher(struct plan *p, uint32_t from)
{
    if (p->part == IMPI_BUF_OWN) {
        plan_recv(p, from, IMPI_BUF_ACC);
        plan_combine(p, IMPI_BUF_OWN);
    } else {
        plan_recv(p, from, IMPI_BUF_TMP);
        plan_combine_under(p, IMPI_BUF_TMP);
    }
    p->part = IMPI_BUF_ACC;
}

/* Who of [start, start + size) has what they have, folded: the one at the place
 * that `to` has in its own, so that ranks dealt out in turns stay in a client
 * for longer; where it is cut short, as in its last half that there is. */
static uint32_t holder(uint32_t start, uint32_t size, uint32_t n, uint32_t to)
{
    while (start + (to & (size - 1)) >= n) {
        size >>= 1;
        if (start + size < n)
            start += size;
    }
    return start + (to & (size - 1));
}

/* What vertices 0 to n - 1 have, folded in their order, to vertex `to`: after
 * step k it is with one of each 2^k neighbours. */
void plan_fold(struct plan *p, uint32_t me, uint32_t n, uint32_t to,
               plan_who_f *who)
{
    for (uint32_t size = 1; size < n; size <<= 1) {
        uint32_t start = me & ~(2 * size - 1), middle = start + size;
        uint32_t low, high;

        if (middle >= n)
            continue;
        low = holder(start, size, n, to);
        high = holder(middle, size, n, to);
        if (me != holder(start, 2 * size, n, to)) {
            plan_send(p, who(p, me == low ? high : low), p->part);
            return;
        }
        if (me == high)
            plan_take_lower(p, who(p, low));
        else
            take_higher(p, who(p, high));
    }
}

/* acc of one vertex, whatever it has got. */
void plan_fold_end(struct plan *p)
{
    if (p->part == IMPI_BUF_OWN)
        plan_add(
            p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    p->part = IMPI_BUF_ACC;
}

/* ---- exchanges ---- */

/* By exchanges among a power of two of the vertices: of the first 2 * extra
 * ones each even one gives its next what it has, and gets the result.  Both of
 * a pair fold in order: all have the same bits. */
uint32_t plan_in_exchange(uint32_t v, uint32_t extra)
{
    return v < extra ? 2 * v + 1 : v + extra;
}

/* Both of a pair fold alike: the lower one's part first, or the other's. */
void plan_exchange_among(struct plan *p, uint32_t me, uint32_t even,
                         uint32_t extra, plan_who_f *who, bool lower_first)
{
    for (uint32_t bit = 1; bit < even; bit <<= 1) {
        uint32_t peer = who(p, plan_in_exchange(me ^ bit, extra));

        plan_send(p, peer, IMPI_BUF_ACC);
        plan_with_next(p);
        plan_recv(p, peer, IMPI_BUF_TMP);
        if (lower_first == !!(me & bit))
            plan_combine(p, IMPI_BUF_TMP);
        else
            plan_combine_under(p, IMPI_BUF_TMP);
    }
}

void plan_exchange(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who)
{
    uint32_t even = UINT32_C(1) << impi_hibit(n, 32), extra = n - even;
    bool paired = me < 2 * extra;

    if (paired && me % 2 == 0) {
        plan_send(p, who(p, me + 1), p->part);
        plan_recv(p, who(p, me + 1), IMPI_BUF_ACC);
        return;
    }
    if (paired)
        plan_take_lower(p, who(p, me - 1));
    plan_fold_end(p);
    plan_exchange_among(p, paired ? me / 2 : me - extra, even, extra, who,
                        true);
    if (paired)
        plan_send(p, who(p, me - 1), IMPI_BUF_ACC);
}
