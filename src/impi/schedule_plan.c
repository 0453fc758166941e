/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Putting the steps of one process together.
 */
#include "impi/schedule_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void plan_add(struct plan *p, struct impi_step step)
{
    struct impi_schedule *s = p->s;

    if (p->failed)
        return;
    if (s->count == s->size) {
        size_t size = s->size ? 2 * s->size : 16;
        struct impi_step *steps = realloc(s->steps, size * sizeof(*steps));

        if (!steps) {
            p->failed = true;
            return;
        }
        s->steps = steps;
        s->size = size;
    }
    s->steps[s->count++] = step;
}

struct impi_step plan_message(const struct plan *p, enum impi_step_kind kind,
                              uint32_t peer, enum impi_step_buf buf)
{
    return (struct impi_step){.kind = kind,
                              .buf = buf,
                              .local =
                                  impi_group_are_local(p->g, p->rank, peer),
                              .tag = p->tag,
                              .rank = peer};
}

/* Each adds one step: a message, a local operation, acc = buf op acc, and
 * acc op buf. */
void plan_send(struct plan *p, uint32_t to, enum impi_step_buf buf)
{
    plan_add(p, plan_message(p, IMPI_STEP_SEND, to, buf));
}

void plan_recv(struct plan *p, uint32_t from, enum impi_step_buf buf)
{
    plan_add(p, plan_message(p, IMPI_STEP_RECV, from, buf));
}

void plan_local(struct plan *p, enum impi_step_kind kind, uint32_t rank,
                enum impi_step_buf buf)
{
    plan_add(p, (struct impi_step){
                    .kind = kind, .buf = buf, .local = true, .rank = rank});
}

void plan_combine(struct plan *p, enum impi_step_buf buf)
{
    plan_add(p, (struct impi_step){.kind = IMPI_STEP_COMBINE, .buf = buf});
}

void plan_combine_under(struct plan *p, enum impi_step_buf buf)
{
    plan_add(p,
             (struct impi_step){.kind = IMPI_STEP_COMBINE_UNDER, .buf = buf});
}

void plan_combine_into(struct plan *p, enum impi_step_buf buf,
                       enum impi_step_buf into)
{
    plan_add(p, (struct impi_step){
                    .kind = IMPI_STEP_COMBINE_INTO, .buf = buf, .into = into});
}

/* The step added last does not keep the next one waiting. */
void plan_with_next(struct plan *p)
{
    if (p->s->count > 0)
        p->s->steps[p->s->count - 1].more = true;
}

/* acc = own by a message to oneself: what the type covers, nothing between. */
void plan_copy_own(struct plan *p)
{
    plan_recv(p, p->rank, IMPI_BUF_ACC);
    plan_with_next(p);
    plan_send(p, p->rank, IMPI_BUF_OWN);
}

/* Receive into tmp, combine. */
void plan_take_partial(struct plan *p, uint32_t from)
{
    plan_recv(p, from, IMPI_BUF_TMP);
    plan_combine(p, IMPI_BUF_TMP);
}

/* Messages of a row: none waits for another (`more`). */
void plan_send_block(struct plan *p, uint32_t to, uint32_t block)
{
    struct impi_step step = plan_message(p, IMPI_STEP_SEND, to, IMPI_BUF_OUT);

    step.more = true;
    step.block = block;
    plan_add(p, step);
}

void plan_recv_block(struct plan *p, uint32_t from, uint32_t block)
{
    struct impi_step step = plan_message(p, IMPI_STEP_RECV, from, IMPI_BUF_IN);

    step.more = true;
    step.block = block;
    plan_add(p, step);
}

/* What follows waits for the row before it. */
void plan_end_row(struct plan *p)
{
    if (p->s->count > 0)
        p->s->steps[p->s->count - 1].more = false;
}

uint32_t plan_master_of(const struct plan *p, uint32_t v)
{
    return impi_group_master_rank(p->g, v);
}

void plan_tree_down(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                    enum impi_step_buf buf)
{
    int dim = impi_cubedim(n);
    int high = impi_hibit(me, dim);

    if (me > 0)
        plan_recv(p, who(p, me & ~(UINT32_C(1) << high)), buf);
    for (int i = high + 1; i < dim; i++) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            plan_send(p, who(p, child), buf);
    }
}

void plan_tree_up(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who)
{
    for (uint32_t bit = 1; bit < n; bit <<= 1) {
        if (me & bit) {
            plan_send(p, who(p, me & ~bit), IMPI_BUF_ACC);
            return;
        }
        if ((me | bit) < n)
            plan_take_partial(p, who(p, me | bit));
    }
}

/* The root's part: i counts from the highest rank down. */
static void fold(struct plan *p, uint32_t r, uint32_t i)
{
    if (r == p->rank && i == 0)
        plan_add(
            p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    else if (r == p->rank)
        plan_combine(p, IMPI_BUF_OWN);
    else if (i == 0)
        plan_recv(p, r, IMPI_BUF_ACC);
    else
        plan_take_partial(p, r);
}

/* own of ranks [first, first + n) goes straight to p->root, which folds into
 * acc from the highest rank down: v0 op (v1 op (v2 ...)). */
void plan_fold_in_order(struct plan *p, uint32_t first, uint32_t n)
{
    if (p->rank != p->root) {
        plan_send(p, p->root, IMPI_BUF_OWN);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        fold(p, first + n - 1 - i, i);
}

static void drop_parts(struct impi_schedule *s)
{
    free(s->parts.made);
    s->parts = (struct impi_parts){.n = 0};
}

void plan_begin(struct plan *p)
{
    p->s->count = 0;
    drop_parts(p->s);
}

/* 0, or -1 with errno ENOMEM and no steps. */
int plan_finish(struct plan *p)
{
    free(p->runs.made);
    if (!p->failed)
        return 0;
    p->s->count = 0;
    errno = ENOMEM;
    return -1;
}

int impi_schedule_add_other(struct impi_schedule *s)
{
    struct plan p = {.s = s};

    plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
    if (s->count > 1) {
        struct impi_step last = s->steps[s->count - 1];

        memmove(s->steps + 1, s->steps, (s->count - 1) * sizeof(last));
        s->steps[0] = last;
    }
    return plan_finish(&p);
}

int impi_schedule_then_other(struct impi_schedule *s)
{
    struct plan p = {.s = s};

    plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
    return plan_finish(&p);
}

void impi_schedule_free(struct impi_schedule *s)
{
    free(s->steps);
    drop_parts(s);
    *s = (struct impi_schedule){0};
}
