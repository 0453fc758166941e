/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In trees a client is a vertex, numbered by its master; for Bcast and Reduce
 * relative to the root's client, whose vertex is the root itself.
 */

#include "impi/constants.h"
#include "impi/schedule_priv.h"

bool impi_coll_is_linear(const struct impi_group *g,
                         const struct impi_coll_rules *rules)
{
    if (rules->linear_below)
        return impi_group_num_masters(g) < rules->maxlinear;
    return impi_group_num_masters(g) <= rules->maxlinear;
}

/* ---- who speaks for a client ---- */

/* The root in its own client, the master elsewhere. */
static uint32_t speaker(const struct plan *p, uint32_t num)
{
    if (num == impi_group_local_master_num(p->g, p->root) &&
        !(p->by_master >> num & 1))
        return p->root;
    return impi_group_master_rank(p->g, num);
}

static bool is_speaker(const struct plan *p)
{
    return speaker(p, impi_group_local_master_num(p->g, p->rank)) == p->rank;
}

/* Own vertex relative to the root's, and back. */
static uint32_t vertex(const struct plan *p)
{
    uint32_t n = impi_group_num_masters(p->g);

    return (impi_group_local_master_num(p->g, p->rank) + n -
            impi_group_local_master_num(p->g, p->root)) %
           n;
}

static uint32_t vertex_rank(const struct plan *p, uint32_t v)
{
    return speaker(p, (v + impi_group_local_master_num(p->g, p->root)) %
                          impi_group_num_masters(p->g));
}

/* ---- Barrier ---- */

static void barrier_linear(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (p->rank != 0) {
        plan_send(p, 0, IMPI_BUF_NONE);
        plan_recv(p, 0, IMPI_BUF_NONE);
        return;
    }
    for (uint32_t n = 1; n < impi_group_num_masters(g); n++)
        plan_recv(p, impi_group_master_rank(g, n), IMPI_BUF_NONE);
    for (uint32_t n = 1; n < impi_group_num_masters(g); n++)
        plan_send(p, impi_group_master_rank(g, n), IMPI_BUF_NONE);
}

static void barrier_tree(struct plan *p)
{
    uint32_t me = vertex(p), n = impi_group_num_masters(p->g);
    int dim = impi_cubedim(n);
    int high = impi_hibit(me, dim);

    for (int i = dim - 1; i > high; i--) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            plan_recv(p, vertex_rank(p, child), IMPI_BUF_NONE);
    }
    if (me > 0) {
        uint32_t parent = vertex_rank(p, me & ~(UINT32_C(1) << high));

        plan_send(p, parent, IMPI_BUF_NONE);
        plan_recv(p, parent, IMPI_BUF_NONE);
    }
    for (int i = high + 1; i < dim; i++) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            plan_send(p, vertex_rank(p, child), IMPI_BUF_NONE);
    }
}

int impi_schedule_barrier(struct impi_schedule *s, const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t rank)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .tag = IMPI_BARRIER_TAG};
    uint32_t master = impi_group_local_master_rank(g, rank);

    s->count = 0;
    plan_local(&p, IMPI_STEP_LOCAL_FANIN, master, IMPI_BUF_NONE);
    if (rank == master) {
        if (impi_coll_is_linear(g, rules))
            barrier_linear(&p);
        else
            barrier_tree(&p);
    }
    plan_local(&p, IMPI_STEP_LOCAL_FANOUT, master, IMPI_BUF_NONE);
    return plan_finish(&p);
}

/* ---- Bcast ---- */

static void bcast_linear(struct plan *p, enum impi_step_buf buf)
{
    const struct impi_group *g = p->g;
    uint32_t from = speaker(p, impi_group_local_master_num(g, p->root));

    if (p->rank != from) {
        plan_recv(p, from, buf);
        return;
    }
    for (uint32_t n = 0; n < impi_group_num_masters(g); n++) {
        if (n != impi_group_local_master_num(g, p->root))
            plan_send(p, impi_group_master_rank(g, n), buf);
    }
}

static void plan_bcast(struct plan *p, const struct impi_coll_rules *rules,
                       enum impi_step_buf buf)
{
    uint32_t own = impi_group_local_master_num(p->g, p->rank);
    bool first; /* the root tells its client before the others */

    p->tag = IMPI_BCAST_TAG;
    p->by_master = rules->by_master;
    first = own == impi_group_local_master_num(p->g, p->root) &&
            speaker(p, own) != p->root;
    if (first)
        plan_local(p, IMPI_STEP_LOCAL_BCAST, p->root, buf);
    if (is_speaker(p)) {
        if (impi_coll_is_linear(p->g, rules))
            bcast_linear(p, buf);
        else
            plan_tree_down(p, vertex(p), impi_group_num_masters(p->g),
                           vertex_rank, buf);
    }
    if (!first)
        plan_local(p, IMPI_STEP_LOCAL_BCAST, speaker(p, own), buf);
}

int impi_schedule_bcast(struct impi_schedule *s, const struct impi_group *g,
                        const struct impi_coll_rules *rules, uint32_t rank,
                        uint32_t root)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = root};

    s->count = 0;
    plan_bcast(&p, rules, IMPI_BUF_DATA);
    return plan_finish(&p);
}

/* ---- Reduce ---- */

static void reduce_linear(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (p->rank != p->root) {
        plan_send(p, p->root, IMPI_BUF_ACC);
        return;
    }
    for (uint32_t n = 0; n < impi_group_num_masters(g); n++) {
        if (n != impi_group_local_master_num(g, p->root))
            plan_take_partial(p, impi_group_master_rank(g, n));
    }
}

void plan_reduce(struct plan *p, const struct impi_coll_rules *rules,
                 bool commutes)
{
    p->tag = IMPI_REDUCE_TAG;
    if (!commutes) {
        plan_fold_in_order(p, 0, p->g->size);
        return;
    }
    plan_local(p, IMPI_STEP_LOCAL_REDUCE,
               speaker(p, impi_group_local_master_num(p->g, p->rank)),
               IMPI_BUF_OWN);
    if (!is_speaker(p))
        return;
    if (impi_coll_is_linear(p->g, rules))
        reduce_linear(p);
    else
        plan_tree_up(p, vertex(p), impi_group_num_masters(p->g), vertex_rank);
}

int impi_schedule_reduce(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool commutes)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = root};

    s->count = 0;
    plan_reduce(&p, rules, commutes);
    return plan_finish(&p);
}

/* Recursive doubling: after step k groups of 2^k masters have the same acc.
 * Both of a pair put the higher one's partial result first, so that they have
 * the same bits. */
static void exchange(struct plan *p)
{
    uint32_t me = impi_group_local_master_num(p->g, p->rank);

    for (uint32_t bit = 1; bit < impi_group_num_masters(p->g); bit <<= 1) {
        uint32_t peer = impi_group_master_rank(p->g, me ^ bit);

        plan_send(p, peer, IMPI_BUF_ACC);
        plan_with_next(p);
        plan_recv(p, peer, IMPI_BUF_TMP);
        if (me & bit)
            plan_combine_under(p, IMPI_BUF_TMP);
        else
            plan_combine(p, IMPI_BUF_TMP);
    }
}

static void allreduce_by_exchange(struct plan *p)
{
    uint32_t master = impi_group_local_master_rank(p->g, p->rank);

    p->tag = IMPI_REDUCE_TAG;
    plan_local(p, IMPI_STEP_LOCAL_REDUCE, master, IMPI_BUF_OWN);
    if (p->rank == master)
        exchange(p);
    plan_local(p, IMPI_STEP_LOCAL_BCAST, master, IMPI_BUF_ACC);
}

int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = 0};

    s->count = 0;
    if (rules->exchange && commutes &&
        is_power_of_two(impi_group_num_masters(g))) {
        allreduce_by_exchange(&p);
        return plan_finish(&p);
    }
    plan_reduce(&p, rules, commutes);
    plan_bcast(&p, rules, IMPI_BUF_ACC);
    return plan_finish(&p);
}
