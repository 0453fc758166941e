/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of blocks between all processes.  Receives stand first in a row, so
 * that they are posted when the data come.
 */
#include "impi/schedule_plan.h"

#include "impi/constants.h"

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

int impi_schedule_allgather(struct impi_schedule *s, const struct impi_group *g,
                            uint32_t rank, int32_t tag)
{
    PLAN(p, .tag = tag);

    plan_parts_of_clients(&p);
    plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
    if (impi_group_is_master(g, rank))
        plan_parts_around(&p, impi_group_local_master_num(g, rank),
                          impi_group_num_masters(g), plan_master_of);
    plan_local(&p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
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

/* Gather and Scatter of short blocks: between clients all that a client, or a
 * subtree of clients, has is one message. Both are one exchange: Scatter is
 * Gather read backwards with sending and receiving swapped. */

uint32_t impi_packed_client(const struct impi_group *g, uint32_t root,
                            uint32_t v)
{
    return (v + impi_group_local_master_num(g, root)) %
           impi_group_num_masters(g);
}

uint32_t impi_packed_vertex(const struct impi_group *g, uint32_t root,
                            uint32_t rank)
{
    return (impi_group_local_master_num(g, rank) + impi_group_num_masters(g) -
            impi_group_local_master_num(g, root)) %
           impi_group_num_masters(g);
}

/* In the tree a vertex has so many as its lowest bit says behind it. */
uint32_t impi_packed_span(const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t v)
{
    uint32_t low = v & -v, left = impi_group_num_masters(g) - v;

    if (v == 0)
        return left;
    if (impi_coll_is_linear(g, rules))
        return 1;
    return low < left ? low : left;
}

static uint32_t speaker_of(const struct plan *p, uint32_t v)
{
    if (v == 0)
        return p->root;
    return impi_group_master_rank(p->g, impi_packed_client(p->g, p->root, v));
}

/* Blocks of the other processes of the own client. */
static void collect_locals(struct plan *p)
{
    const struct impi_group *g = p->g;
    uint32_t num = impi_group_local_master_num(g, p->rank);

    for (uint32_t i = g->first[num]; i < g->first[num + 1]; i++) {
        if (g->locals[i] != p->rank)
            plan_recv_block(p, g->locals[i], g->locals[i]);
    }
}

/* Bundle of vertex v: block g->size + v. */
static void bundles_linear(struct plan *p, uint32_t me)
{
    uint32_t n = impi_group_num_masters(p->g);

    if (me > 0)
        plan_send_block(p, p->root, p->g->size + me);
    for (uint32_t v = 1; me == 0 && v < n; v++)
        plan_recv_block(p, speaker_of(p, v), p->g->size + v);
}

static void bundles_tree(struct plan *p, uint32_t me)
{
    uint32_t n = impi_group_num_masters(p->g), bit = 1;

    for (; bit < n && !(me & bit); bit <<= 1) {
        if ((me | bit) < n)
            plan_recv_block(p, speaker_of(p, me | bit),
                            p->g->size + (me | bit));
    }
    plan_end_row(p);
    if (me > 0)
        plan_send_block(p, speaker_of(p, me & ~bit), p->g->size + me);
}

static void packed_up(struct plan *p, const struct impi_coll_rules *rules)
{
    uint32_t me = impi_packed_vertex(p->g, p->root, p->rank);
    uint32_t speaker = speaker_of(p, me);

    if (p->rank != speaker) {
        plan_send_block(p, speaker, p->rank);
        return;
    }
    collect_locals(p);
    plan_end_row(p);
    if (impi_coll_is_linear(p->g, rules))
        bundles_linear(p, me);
    else
        bundles_tree(p, me);
}

static struct impi_step turned(struct impi_step s)
{
    bool send = s.kind == IMPI_STEP_SEND;

    s.kind = send ? IMPI_STEP_RECV : IMPI_STEP_SEND;
    s.buf = send ? IMPI_BUF_IN : IMPI_BUF_OUT;
    return s;
}

/* Steps of a row stay together. */
static void turn_round(struct impi_schedule *s)
{
    for (size_t i = 0, k = s->count; i < k--; i++) {
        struct impi_step first = s->steps[i];

        s->steps[i] = turned(s->steps[k]);
        s->steps[k] = turned(first);
    }
    /* What was "with the next one" is "with the one before". */
    for (size_t i = 0; i < s->count; i++)
        s->steps[i].more = i + 1 < s->count && s->steps[i + 1].more;
}

int impi_schedule_packed(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool up)
{
    PLAN(p, .root = root);

    p.tag = up ? IMPI_GATHER_TAG : IMPI_SCATTER_TAG;
    packed_up(&p, rules);
    plan_end_row(&p);
    if (plan_finish(&p) < 0)
        return -1;
    if (!up)
        turn_round(s);
    return 0;
}
