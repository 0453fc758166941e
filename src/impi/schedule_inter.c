/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the two groups of an intercommunicator. The standard has none of
 * these: a group's results go up a binomial tree of its ranks to its leader
 * (its lowest rank), the leaders speak with each other or with the root, and
 * what comes goes down a tree.
 */
#include "impi/schedule_plan.h"

#include "impi/constants.h"

/* plan.root: leader of the tree's group. */
static uint32_t in_group(const struct plan *p, uint32_t v)
{
    return p->root + v;
}

static void down(struct plan *p, const struct impi_sides *sides,
                 enum impi_step_buf buf)
{
    p->root = sides->first;
    p->tag = IMPI_BCAST_TAG;
    plan_tree_down(p, p->rank - sides->first, sides->size, in_group, buf);
}

/* The leader's acc: own of its group, folded. */
static void up(struct plan *p, const struct impi_sides *sides, bool commutes)
{
    p->root = sides->first;
    p->tag = IMPI_REDUCE_TAG;
    if (!commutes) {
        plan_fold_in_order(p, sides->first, sides->size);
        return;
    }
    plan_copy_own(p);
    plan_tree_up(p, p->rank - sides->first, sides->size, in_group);
}

/* The leaders swap their acc for the other's, into tmp. */
static void swap(struct plan *p, const struct impi_sides *sides)
{
    if (p->rank != sides->first)
        return;
    p->tag = IMPI_MERGE_TAG;
    plan_recv(p, sides->peer, IMPI_BUF_TMP);
    if (p->s->count > 0)
        p->s->steps[p->s->count - 1].more = true;
    plan_send(p, sides->peer, IMPI_BUF_ACC);
}

int impi_schedule_inter_bcast(struct impi_schedule *s,
                              const struct impi_group *g, uint32_t rank,
                              const struct impi_sides *sides,
                              enum impi_role role, uint32_t root)
{
    PLAN(p, .tag = IMPI_BCAST_TAG);

    if (role == IMPI_ROLE_ROOT)
        plan_send(&p, sides->peer, IMPI_BUF_DATA);
    if (role == IMPI_ROLE_OTHER) {
        if (rank == sides->first)
            plan_recv(&p, root, IMPI_BUF_DATA);
        down(&p, sides, IMPI_BUF_DATA);
    }
    return plan_finish(&p);
}

int impi_schedule_inter_reduce(struct impi_schedule *s,
                               const struct impi_group *g, uint32_t rank,
                               const struct impi_sides *sides,
                               enum impi_role role, uint32_t root,
                               bool commutes)
{
    PLAN(p, .tag = IMPI_REDUCE_TAG);

    if (role == IMPI_ROLE_ROOT)
        plan_recv(&p, sides->peer, IMPI_BUF_DATA);
    if (role == IMPI_ROLE_OTHER) {
        up(&p, sides, commutes);
        if (rank == sides->first)
            plan_send(&p, root, IMPI_BUF_ACC);
    }
    return plan_finish(&p);
}

int impi_schedule_inter_allreduce(struct impi_schedule *s,
                                  const struct impi_group *g, uint32_t rank,
                                  const struct impi_sides *sides, bool commutes)
{
    PLAN(p, .root = 0);

    up(&p, sides, commutes);
    swap(&p, sides);
    down(&p, sides, IMPI_BUF_TMP);
    return plan_finish(&p);
}

int impi_schedule_inter_reduce_scatter(struct impi_schedule *s,
                                       const struct impi_group *g,
                                       uint32_t rank,
                                       const struct impi_sides *sides,
                                       bool commutes)
{
    PLAN(p, .root = 0);

    up(&p, sides, commutes);
    swap(&p, sides);
    p.tag = IMPI_SCATTERV_TAG;
    plan_recv_block(&p, sides->first, 0);
    for (uint32_t i = 0; rank == sides->first && i < sides->size; i++)
        plan_send_block(&p, sides->first + i, i);
    plan_end_row(&p);
    return plan_finish(&p);
}

int impi_schedule_inter_gather(struct impi_schedule *s,
                               const struct impi_group *g, uint32_t rank,
                               const struct impi_sides *sides,
                               enum impi_role role, uint32_t root)
{
    PLAN(p, .tag = IMPI_GATHER_TAG);

    for (uint32_t i = 0; role == IMPI_ROLE_ROOT && i < sides->npeers; i++)
        plan_recv_block(&p, sides->peer + i, i);
    if (role == IMPI_ROLE_OTHER)
        plan_send_block(&p, root, 0);
    plan_end_row(&p);
    return plan_finish(&p);
}

int impi_schedule_inter_scatter(struct impi_schedule *s,
                                const struct impi_group *g, uint32_t rank,
                                const struct impi_sides *sides,
                                enum impi_role role, uint32_t root)
{
    PLAN(p, .tag = IMPI_SCATTER_TAG);

    for (uint32_t i = 0; role == IMPI_ROLE_ROOT && i < sides->npeers; i++)
        plan_send_block(&p, sides->peer + i, i);
    if (role == IMPI_ROLE_OTHER)
        plan_recv_block(&p, root, 0);
    plan_end_row(&p);
    return plan_finish(&p);
}

int impi_schedule_inter_alltoall(struct impi_schedule *s,
                                 const struct impi_group *g, uint32_t rank,
                                 const struct impi_sides *sides)
{
    PLAN(p, .tag = IMPI_ALLTOALL_TAG);

    for (uint32_t i = 0; i < sides->npeers; i++)
        plan_recv_block(&p, sides->peer + i, i);
    for (uint32_t k = 0; k < sides->npeers; k++) {
        uint32_t i = (rank - sides->first + k) % sides->npeers;

        plan_send_block(&p, sides->peer + i, i);
    }
    plan_end_row(&p);
    return plan_finish(&p);
}
