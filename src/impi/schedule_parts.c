/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors by parts.
 */
#include "impi/schedule_plan.h"

/* Vertices of the exchange that have [low, low + n) of each other's parts: the
 * first `extra` ones stand for two clients. */
struct halves {
    uint32_t me, even, extra;
    uint32_t low, n;
    plan_who_f *who;
};

static uint32_t first_part(const struct halves *h, uint32_t v)
{
    return v < h->extra ? 2 * v : v + h->extra;
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
    plan_parts(p, kind, h->who(p, plan_in_exchange(peer, h->extra)), buf,
               first_part(h, low), first_part(h, low + n));
}

/* With the one on the other side each keeps one half. */
static void halve(struct plan *p, struct halves *h)
{
    struct impi_step combine = {.kind = IMPI_STEP_COMBINE, .buf = IMPI_BUF_TMP};

    while (h->n > 1) {
        uint32_t half = h->n / 2, peer = h->me ^ half;
        uint32_t other = h->low + (h->me & half ? 0 : half);

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

/* acc of vertices 0 to n - 1, of an operation that commutes: each has its own
 * part then, or with `all` everybody everything. */
void plan_halving(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                  bool all)
{
    uint32_t even = UINT32_C(1) << impi_hibit(n, 32), extra = n - even;
    bool paired = me < 2 * extra;
    struct halves h = {.me = paired ? me / 2 : me - extra,
                       .even = even,
                       .extra = extra,
                       .n = even,
                       .who = who};
    uint32_t from = all ? 0 : me - me % 2, to = all ? n : from + 1;

    if (paired && me % 2 == 0) {
        plan_send(p, who(p, me + 1), IMPI_BUF_ACC);
        plan_parts(p, IMPI_STEP_RECV, who(p, me + 1), IMPI_BUF_ACC, from, to);
        return;
    }
    if (paired)
        plan_take_partial(p, who(p, me - 1));
    halve(p, &h);
    if (all)
        double_up(p, &h);
    if (paired)
        plan_parts(p, IMPI_STEP_SEND, who(p, me - 1), IMPI_BUF_ACC, from, to);
}

bool impi_schedule_has_parts(const struct impi_schedule *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].nparts > 0)
            return true;
    }
    return false;
}
