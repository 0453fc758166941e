/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather and Scatter of short blocks: between clients all that a client, or a
 * subtree of clients, has is one message.  Both are one exchange: Scatter is
 * Gather read backwards with sending and receiving swapped.
 */
#include "impi/constants.h"
#include "impi/schedule_priv.h"

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
    struct plan p = {.s = s, .g = g, .rank = rank, .root = root};

    p.tag = up ? IMPI_GATHER_TAG : IMPI_SCATTER_TAG;
    s->count = 0;
    packed_up(&p, rules);
    plan_end_row(&p);
    if (plan_finish(&p) < 0)
        return -1;
    if (!up)
        turn_round(s);
    return 0;
}
