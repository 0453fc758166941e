/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/loop_test.h"

#include <stddef.h>

/* NULL: there was none, or nobody remembers it. */
static struct hsn_loop_look *find(struct hsn_loop *x, uint32_t number)
{
    struct hsn_loop_look *l = &x->looks[number % HSN_LOOP_KEPT];

    if (number - x->began > x->number - x->began || l->number != number)
        return NULL;
    return l->sent ? l : NULL;
}

static bool is_dead(const struct hsn_loop_look *l)
{
    return l && !l->back;
}

static bool is_alive(const struct hsn_loop_look *l)
{
    return l && l->back;
}

/* What has come back of a look, all told; those beside it say whether that is
 * a rate. */
static void judge(struct hsn_loop *x, uint32_t number, uint64_t crowded)
{
    const struct hsn_loop_look *l = find(x, number);
    const struct hsn_loop_look *before = find(x, number - 1);
    const struct hsn_loop_look *after = find(x, number + 1);

    if (!l || crowded != l->crowded)
        return;
    if (is_alive(before) && is_dead(l))
        x->gaps++;
    if (!is_alive(before) || !is_alive(l) || !is_alive(after))
        return;
    x->sent += 2u * (unsigned)__builtin_popcount(l->sent);
    x->lost += (unsigned)__builtin_popcount(l->sent & ~l->back);
}

static void watch(struct hsn_loop *x, uint32_t number)
{
    const struct hsn_loop_look *l = find(x, number);

    if (x->works && l && l->sent & ~l->back)
        x->wary = HSN_LOOP_WARY;
    else if (x->wary > 0)
        x->wary--;
}

static unsigned how_many(const struct hsn_loop *x)
{
    if (!x->works && x->number - x->began > HSN_LOOP_RARE)
        return x->number % HSN_LOOP_RARE == 0;
    return x->wary ? HSN_LOOP_MANY : HSN_LOOP_FEW;
}

void hsn_loop_look(struct hsn_loop *x, uint64_t crowded, hsn_loop_send_f *send,
                   void *arg)
{
    struct hsn_loop_look *l = &x->looks[++x->number % HSN_LOOP_KEPT];
    unsigned n;

    if (!x->began)
        x->began = x->number;
    n = how_many(x);
    *l = (struct hsn_loop_look){.number = x->number, .crowded = crowded};
    /* It may be back before send() returns. */
    for (unsigned i = 0; i < n; i++) {
        l->sent |= 1u << i;
        if (!send(arg, x->number, i))
            l->sent &= ~(1u << i);
    }
    watch(x, x->number - HSN_LOOP_SOON);
    if (x->works)
        judge(x, x->number - HSN_LOOP_WAIT, crowded);
}

int hsn_loop_answers(const struct hsn_loop *x)
{
    for (uint32_t i = 0; x->works && i <= HSN_LOOP_SOON; i++) {
        const struct hsn_loop_look *l =
            &x->looks[(x->number - i) % HSN_LOOP_KEPT];

        if (l->number == x->number - i && l->back)
            return 1;
    }
    return x->works ? -1 : 0;
}

uint64_t hsn_loop_pause(const struct hsn_loop *x)
{
    uint64_t hash = (x->number + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40;

    return HSN_LOOP_LOOK_NS * 3 / 4 + (hash * (HSN_LOOP_LOOK_NS / 2) >> 24);
}

void hsn_loop_returned(struct hsn_loop *x, uint32_t number, unsigned frame)
{
    struct hsn_loop_look *l = find(x, number);

    if (!l || frame >= HSN_LOOP_MANY || !(l->sent >> frame & 1))
        return;
    l->back |= 1u << frame;
    x->works = true;
}

void hsn_loop_unsent(struct hsn_loop *x, uint32_t number, unsigned frame)
{
    struct hsn_loop_look *l = find(x, number);

    if (l && frame < HSN_LOOP_MANY)
        l->sent &= ~(1u << frame);
}

void hsn_loop_forget(struct hsn_loop *x)
{
    x->began = 0;
    x->wary = 0;
    x->works = false;
}
