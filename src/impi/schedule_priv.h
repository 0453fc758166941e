/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the schedules: how one process's list of steps is put together.
 */
#ifndef SF_IMPI_SCHEDULE_PRIV_H
#define SF_IMPI_SCHEDULE_PRIV_H

#include "impi/schedule.h"

struct plan {
    struct impi_schedule *s;
    const struct impi_group *g;
    uint32_t rank; /* own */
    uint32_t root;
    int32_t tag;
    uint32_t by_master; /* of the rules, while a Bcast is planned */
    bool failed;        /* no memory: nothing is added any more */
};

/* Each adds one step: a message, a local operation, acc = buf op acc, and
 * acc op buf. */
void plan_send(struct plan *p, uint32_t to, enum impi_step_buf buf);
void plan_recv(struct plan *p, uint32_t from, enum impi_step_buf buf);
void plan_local(struct plan *p, enum impi_step_kind kind, uint32_t rank,
                enum impi_step_buf buf);
void plan_combine(struct plan *p, enum impi_step_buf buf);
void plan_combine_under(struct plan *p, enum impi_step_buf buf);
/* The step added last does not keep the next one waiting. */
void plan_with_next(struct plan *p);
/* acc = own by a message to oneself: what the type covers, nothing between. */
void plan_copy_own(struct plan *p);
/* Receive into tmp, combine. */
void plan_take_partial(struct plan *p, uint32_t from);

/* Messages of a row: none waits for another (`more`). */
void plan_send_block(struct plan *p, uint32_t to, uint32_t block);
void plan_recv_block(struct plan *p, uint32_t from, uint32_t block);
/* What follows waits for the row before it. */
void plan_end_row(struct plan *p);

static inline bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Binomial trees over vertices 0 to n - 1, me being one of them and who()
 * their ranks.  Down: from vertex 0 to all.  Up: acc of all into that of
 * vertex 0. */
typedef uint32_t plan_who_f(const struct plan *p, uint32_t v);
void plan_tree_down(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                    enum impi_step_buf buf);
void plan_tree_up(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who);

/* own of ranks [first, first + n) goes straight to p->root, which folds into
 * acc from the highest rank down: v0 op (v1 op (v2 ...)). */
void plan_fold_in_order(struct plan *p, uint32_t first, uint32_t n);

/* All own into acc of p->root. */
void plan_reduce(struct plan *p, const struct impi_coll_rules *rules,
                 bool commutes);

/* 0, or -1 with errno ENOMEM and no steps. */
int plan_finish(struct plan *p);

#endif
