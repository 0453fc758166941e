/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the schedules: how one process's list of steps is put together.
 */
#ifndef SF_IMPI_SCHEDULE_PLAN_H
#define SF_IMPI_SCHEDULE_PLAN_H

#include "impi/schedule.h"

/* Ranks one behind the other that are of one client: what lies in order is
 * folded inside of it first. */
struct runs {
    const uint32_t *first; /* [n + 1] */
    uint32_t *made;        /* the same, where it is the plan's */
    uint32_t n;
    uint32_t own; /* that of the plan's rank */
};

struct plan {
    struct impi_schedule *s;
    const struct impi_group *g;
    uint32_t rank; /* own */
    uint32_t root;
    int32_t tag;
    uint32_t by_master; /* of the rules, while a Bcast is planned */
    struct runs runs;
    enum impi_step_buf part; /* what a fold in order has got here */
    bool failed;             /* no memory: nothing is added any more */
};

/* p, for process `rank`; *s is empty then. */
#define PLAN(p, ...)                                                           \
    struct plan p = {.s = s, .g = g, .rank = rank, __VA_ARGS__};               \
    plan_begin(&p)
void plan_begin(struct plan *p);
/* 0, or -1 with errno ENOMEM and no steps. */
int plan_finish(struct plan *p);

static inline bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* ---- steps ---- */

struct impi_step plan_message(const struct plan *p, enum impi_step_kind kind,
                              uint32_t peer, enum impi_step_buf buf);
/* Each adds one step: any; a message; a local operation; acc = buf op acc, acc
 * op buf, into = buf op into. */
void plan_add(struct plan *p, struct impi_step step);
void plan_send(struct plan *p, uint32_t to, enum impi_step_buf buf);
void plan_recv(struct plan *p, uint32_t from, enum impi_step_buf buf);
void plan_local(struct plan *p, enum impi_step_kind kind, uint32_t rank,
                enum impi_step_buf buf);
void plan_combine(struct plan *p, enum impi_step_buf buf);
void plan_combine_under(struct plan *p, enum impi_step_buf buf);
void plan_combine_into(struct plan *p, enum impi_step_buf buf,
                       enum impi_step_buf into);
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

/* ---- trees, and all to one ---- */

/* Binomial trees over vertices 0 to n - 1, me being one of them and who()
 * their ranks.  Down: from vertex 0 to all.  Up: acc of all into that of
 * vertex 0. */
typedef uint32_t plan_who_f(const struct plan *p, uint32_t v);
uint32_t plan_master_of(const struct plan *p, uint32_t v);
void plan_tree_down(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                    enum impi_step_buf buf);
void plan_tree_up(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who);
/* own of ranks [first, first + n) goes straight to p->root, which folds into
 * acc from the highest rank down: v0 op (v1 op (v2 ...)). */
void plan_fold_in_order(struct plan *p, uint32_t first, uint32_t n);

/* ---- schedule_runs.c ---- */

/* Where each client has one run, its ranks are listed in their order. */
bool plan_are_blocks(const struct impi_group *g);
/* False: no memory, and the plan has failed. */
bool plan_find_runs(struct plan *p);
uint32_t plan_run_length(const struct plan *p, uint32_t run);
uint32_t plan_run_head(const struct plan *p);
/* Vertices: those of the own run, from its first or from its last; runs, by
 * their last ones. */
uint32_t plan_in_run(const struct plan *p, uint32_t v);
uint32_t plan_in_run_from_last(const struct plan *p, uint32_t v);
uint32_t plan_last_of_run(const struct plan *p, uint32_t run);

/* What vertices 0 to n - 1 have, folded in their order, to vertex `to`. */
void plan_fold(struct plan *p, uint32_t me, uint32_t n, uint32_t to,
               plan_who_f *who);
/* acc = what `from` has, op it. */
void plan_take_lower(struct plan *p, uint32_t from);
/* acc of one vertex, whatever it has got. */
void plan_fold_end(struct plan *p);

/* Exchanges are among a power of two of the vertices: where each stands, of the
 * first 2 * extra ones the odd ones. */
uint32_t plan_in_exchange(uint32_t v, uint32_t extra);
/* acc of `even` vertices, a power of two, to all of them.  Both of a pair fold
 * alike: the lower one's part first, or the other's. */
void plan_exchange_among(struct plan *p, uint32_t me, uint32_t even,
                         uint32_t extra, plan_who_f *who, bool lower_first);
/* What vertices 0 to n - 1 have, folded in their order, to acc of all of them,
 * with the same bits. */
void plan_exchange(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who);

/* ---- schedule_parts.c ---- */

/* acc of vertices 0 to n - 1, by halves: each has its own part then, or
 * everybody everything, or vertex `to`. */
enum plan_halves { PLAN_OWN_PART, PLAN_ALL_PARTS, PLAN_TO_ONE };
struct plan_halving {
    plan_who_f *who;
    uint32_t me, n, to;
    bool in_order; /* the operation does not commute */
    enum plan_halves what;
};
void plan_halving(struct plan *p, const struct plan_halving *how);
/* data of vertex 0 to all, by `pieces` times n parts. */
void plan_parts_down(struct plan *p, uint32_t me, uint32_t n, plan_who_f *who,
                     uint32_t pieces);
/* Of each vertex its part to all. */
void plan_parts_around(struct plan *p, uint32_t me, uint32_t n,
                       plan_who_f *who);
/* For a Reduce_scatter: parts are the blocks of clients, or of runs, in the
 * order in which they are halved. */
void plan_parts_of_clients(struct plan *p);
void plan_parts_of_runs(struct plan *p);

#endif
