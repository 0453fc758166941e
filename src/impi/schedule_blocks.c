/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks between all processes, and results from rank to rank.  Receives
 * stand first in a row, so that they are posted when the data come.
 */
#include "impi/constants.h"
#include "impi/schedule_priv.h"

#define PLAN(p, ...)                                                           \
    struct plan p = {.s = s, .g = g, .rank = rank, __VA_ARGS__};               \
    s->count = 0

int impi_schedule_gather(struct impi_schedule *s, const struct impi_group *g,
                         uint32_t rank, uint32_t root, bool self, int32_t tag)
{
    PLAN(p, .tag = tag);

    for (uint32_t i = 0; rank == root && i < g->size; i++) {
        if (i != rank || self)
            plan_recv_block(&p, i, i);
    }
    if (rank != root || self)
        plan_send_block(&p, root, root);
    plan_end_row(&p);
    return plan_finish(&p);
}

int impi_schedule_gather_masters(struct impi_schedule *s,
                                 const struct impi_group *g, uint32_t rank)
{
    PLAN(p, .tag = IMPI_GATHER_TAG);

    for (uint32_t n = 1; rank == 0 && n < impi_group_num_masters(g); n++)
        plan_recv_block(&p, impi_group_master_rank(g, n), n);
    if (rank != 0 && impi_group_is_master(g, rank))
        plan_send_block(&p, 0, 0);
    plan_end_row(&p);
    return plan_finish(&p);
}

int impi_schedule_scatter(struct impi_schedule *s, const struct impi_group *g,
                          uint32_t rank, uint32_t root, bool self, int32_t tag)
{
    PLAN(p, .tag = tag);

    if (rank != root || self)
        plan_recv_block(&p, root, root);
    for (uint32_t i = 0; rank == root && i < g->size; i++) {
        if (i != rank || self)
            plan_send_block(&p, i, i);
    }
    plan_end_row(&p);
    return plan_finish(&p);
}

/* Each begins with its own successor, so that nobody is everybody's first. */
int impi_schedule_alltoall(struct impi_schedule *s, const struct impi_group *g,
                           uint32_t rank, bool self, int32_t tag)
{
    PLAN(p, .tag = tag);

    for (uint32_t i = 0; i < g->size; i++) {
        if (i != rank || self)
            plan_recv_block(&p, i, i);
    }
    for (uint32_t k = 0; k < g->size; k++) {
        uint32_t i = (rank + k) % g->size;

        if (i != rank || self)
            plan_send_block(&p, i, i);
    }
    plan_end_row(&p);
    return plan_finish(&p);
}

uint32_t impi_rounds_ahead(uint32_t n, uint32_t rank, uint32_t d)
{
    return is_power_of_two(n) ? rank ^ d : (rank + d) % n;
}

uint32_t impi_rounds_behind(uint32_t n, uint32_t rank, uint32_t d)
{
    return is_power_of_two(n) ? rank ^ d : (rank + n - d) % n;
}

int impi_schedule_rounds(struct impi_schedule *s, const struct impi_group *g,
                         uint32_t rank, int32_t tag)
{
    uint32_t n = g->size;
    PLAN(p, .tag = tag);

    for (uint32_t k = 0, step = 1; step < n; k++, step <<= 1) {
        plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
        plan_recv_block(&p, impi_rounds_behind(n, rank, step), k);
        plan_send_block(&p, impi_rounds_ahead(n, rank, step), k);
        plan_end_row(&p);
    }
    plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
    return plan_finish(&p);
}

int impi_schedule_neighbours(struct impi_schedule *s,
                             const struct impi_group *g, uint32_t rank,
                             const struct impi_neighbour *from, size_t nfrom,
                             const struct impi_neighbour *to, size_t nto)
{
    PLAN(p, .tag = 0);

    for (size_t i = 0; i < nfrom; i++) {
        p.tag = IMPI_NEIGHBOUR_TAG + from[i].tag;
        plan_recv_block(&p, from[i].rank, from[i].block);
    }
    for (size_t i = 0; i < nto; i++) {
        p.tag = IMPI_NEIGHBOUR_TAG + to[i].tag;
        plan_send_block(&p, to[i].rank, to[i].block);
    }
    plan_end_row(&p);
    return plan_finish(&p);
}

static void chain(struct plan *p, enum impi_step_buf before)
{
    if (p->rank > 0) {
        plan_recv(p, p->rank - 1, before);
        plan_combine(p, before);
    }
    if (p->rank + 1 < p->g->size)
        plan_send(p, p->rank + 1, IMPI_BUF_ACC);
}

int impi_schedule_scan(struct impi_schedule *s, const struct impi_group *g,
                       uint32_t rank, bool copy)
{
    PLAN(p, .tag = IMPI_SCAN_TAG);

    if (copy)
        plan_copy_own(&p);
    chain(&p, IMPI_BUF_TMP);
    return plan_finish(&p);
}

int impi_schedule_exscan(struct impi_schedule *s, const struct impi_group *g,
                         uint32_t rank)
{
    PLAN(p, .tag = IMPI_SCAN_TAG);

    chain(&p, IMPI_BUF_DATA);
    return plan_finish(&p);
}

int impi_schedule_reduce_scatter(struct impi_schedule *s,
                                 const struct impi_group *g,
                                 const struct impi_coll_rules *rules,
                                 uint32_t rank, bool commutes)
{
    PLAN(p, .root = 0);

    plan_reduce(&p, rules, commutes);
    p.tag = IMPI_SCATTERV_TAG;
    plan_recv_block(&p, 0, 0);
    for (uint32_t i = 0; rank == 0 && i < g->size; i++)
        plan_send_block(&p, i, i);
    plan_end_row(&p);
    return plan_finish(&p);
}
