/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In trees a client is a vertex, numbered by its master; for Bcast and Reduce
 * relative to the root's client, whose vertex is the root itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "impi/constants.h"
#include "impi/schedule.h"

/* What the steps of one process are made from. */
struct plan {
    struct impi_schedule *s;
    const struct impi_group *g;
    uint32_t rank; /* own */
    uint32_t root;
    int32_t tag;
    bool failed;
};

static void add(struct plan *p, struct impi_step step)
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

static void add_send(struct plan *p, uint32_t to, enum impi_step_buf buf)
{
    add(p, (struct impi_step){.kind = IMPI_STEP_SEND,
                              .buf = buf,
                              .local = impi_group_are_local(p->g, p->rank, to),
                              .tag = p->tag,
                              .rank = to});
}

static void add_recv(struct plan *p, uint32_t from, enum impi_step_buf buf)
{
    add(p,
        (struct impi_step){.kind = IMPI_STEP_RECV,
                           .buf = buf,
                           .local = impi_group_are_local(p->g, p->rank, from),
                           .tag = p->tag,
                           .rank = from});
}

static void add_local(struct plan *p, enum impi_step_kind kind, uint32_t rank,
                      enum impi_step_buf buf)
{
    add(p, (struct impi_step){
               .kind = kind, .buf = buf, .local = true, .rank = rank});
}

static void add_combine(struct plan *p, enum impi_step_buf buf)
{
    add(p, (struct impi_step){.kind = IMPI_STEP_COMBINE, .buf = buf});
}

static int finish(struct plan *p)
{
    if (!p->failed)
        return 0;
    p->s->count = 0;
    errno = ENOMEM;
    return -1;
}

bool impi_coll_is_linear(const struct impi_group *g,
                         const struct impi_coll_rules *rules)
{
    if (rules->linear_below)
        return g->nmasters < rules->maxlinear;
    return g->nmasters <= rules->maxlinear;
}

void impi_schedule_free(struct impi_schedule *s)
{
    free(s->steps);
    *s = (struct impi_schedule){0};
}

/* ---- who speaks for a client ---- */

/* The root in its own client, the master elsewhere. */
static uint32_t speaker(const struct plan *p, uint32_t num)
{
    if (num == p->g->num_of[p->root])
        return p->root;
    return p->g->masters[num];
}

static bool is_speaker(const struct plan *p)
{
    return speaker(p, p->g->num_of[p->rank]) == p->rank;
}

/* Own vertex relative to the root's, and back. */
static uint32_t vertex(const struct plan *p)
{
    uint32_t n = p->g->nmasters;

    return (p->g->num_of[p->rank] + n - p->g->num_of[p->root]) % n;
}

static uint32_t vertex_rank(const struct plan *p, uint32_t v)
{
    return speaker(p, (v + p->g->num_of[p->root]) % p->g->nmasters);
}

/* ---- Barrier ---- */

static void barrier_linear(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (p->rank != 0) {
        add_send(p, 0, IMPI_BUF_NONE);
        add_recv(p, 0, IMPI_BUF_NONE);
        return;
    }
    for (uint32_t n = 1; n < g->nmasters; n++)
        add_recv(p, g->masters[n], IMPI_BUF_NONE);
    for (uint32_t n = 1; n < g->nmasters; n++)
        add_send(p, g->masters[n], IMPI_BUF_NONE);
}

static void barrier_tree(struct plan *p)
{
    uint32_t me = vertex(p), n = p->g->nmasters;
    int dim = impi_cubedim(n);
    int high = impi_hibit(me, dim);

    for (int i = dim - 1; i > high; i--) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            add_recv(p, vertex_rank(p, child), IMPI_BUF_NONE);
    }
    if (me > 0) {
        uint32_t parent = vertex_rank(p, me & ~(UINT32_C(1) << high));

        add_send(p, parent, IMPI_BUF_NONE);
        add_recv(p, parent, IMPI_BUF_NONE);
    }
    for (int i = high + 1; i < dim; i++) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            add_send(p, vertex_rank(p, child), IMPI_BUF_NONE);
    }
}

int impi_schedule_barrier(struct impi_schedule *s, const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t rank)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .tag = IMPI_BARRIER_TAG};
    uint32_t master = impi_group_local_master_rank(g, rank);

    s->count = 0;
    add_local(&p, IMPI_STEP_LOCAL_FANIN, master, IMPI_BUF_NONE);
    if (rank == master) {
        if (impi_coll_is_linear(g, rules))
            barrier_linear(&p);
        else
            barrier_tree(&p);
    }
    add_local(&p, IMPI_STEP_LOCAL_FANOUT, master, IMPI_BUF_NONE);
    return finish(&p);
}

/* ---- Bcast ---- */

static void bcast_linear(struct plan *p, enum impi_step_buf buf)
{
    const struct impi_group *g = p->g;

    if (p->rank != p->root) {
        add_recv(p, p->root, buf);
        return;
    }
    for (uint32_t n = 0; n < g->nmasters; n++) {
        if (n != g->num_of[p->root])
            add_send(p, g->masters[n], buf);
    }
}

static void bcast_tree(struct plan *p, enum impi_step_buf buf)
{
    uint32_t me = vertex(p), n = p->g->nmasters;
    int dim = impi_cubedim(n);
    int high = impi_hibit(me, dim);

    if (me > 0)
        add_recv(p, vertex_rank(p, me & ~(UINT32_C(1) << high)), buf);
    for (int i = high + 1; i < dim; i++) {
        uint32_t child = me | UINT32_C(1) << i;

        if (child < n)
            add_send(p, vertex_rank(p, child), buf);
    }
}

static void plan_bcast(struct plan *p, const struct impi_coll_rules *rules,
                       enum impi_step_buf buf)
{
    p->tag = IMPI_BCAST_TAG;
    if (is_speaker(p)) {
        if (impi_coll_is_linear(p->g, rules))
            bcast_linear(p, buf);
        else
            bcast_tree(p, buf);
    }
    add_local(p, IMPI_STEP_LOCAL_BCAST, speaker(p, p->g->num_of[p->rank]), buf);
}

int impi_schedule_bcast(struct impi_schedule *s, const struct impi_group *g,
                        const struct impi_coll_rules *rules, uint32_t rank,
                        uint32_t root)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = root};

    s->count = 0;
    plan_bcast(&p, rules, IMPI_BUF_DATA);
    return finish(&p);
}

/* ---- Reduce ---- */

static void take_partial(struct plan *p, uint32_t from)
{
    add_recv(p, from, IMPI_BUF_TMP);
    add_combine(p, IMPI_BUF_TMP);
}

static void reduce_linear(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (p->rank != p->root) {
        add_send(p, p->root, IMPI_BUF_ACC);
        return;
    }
    for (uint32_t n = 0; n < g->nmasters; n++) {
        if (n != g->num_of[p->root])
            take_partial(p, g->masters[n]);
    }
}

static void reduce_tree(struct plan *p)
{
    uint32_t me = vertex(p), n = p->g->nmasters;

    for (uint32_t bit = 1; bit < n; bit <<= 1) {
        if (me & bit) {
            add_send(p, vertex_rank(p, me & ~bit), IMPI_BUF_ACC);
            return;
        }
        if ((me | bit) < n)
            take_partial(p, vertex_rank(p, me | bit));
    }
}

/* Everybody's vector goes straight to the root, which folds from the highest
 * rank down: v0 op (v1 op (v2 ...)). */
static void reduce_in_order(struct plan *p)
{
    uint32_t last = p->g->size - 1;

    if (p->rank != p->root) {
        add_send(p, p->root, IMPI_BUF_OWN);
        return;
    }
    for (uint32_t i = 0; i <= last; i++) {
        uint32_t r = last - i;

        if (r == p->rank && i == 0) {
            add(p, (struct impi_step){.kind = IMPI_STEP_COPY,
                                      .buf = IMPI_BUF_OWN});
        } else if (r == p->rank) {
            add_combine(p, IMPI_BUF_OWN);
        } else if (i == 0) {
            add_recv(p, r, IMPI_BUF_ACC);
        } else {
            take_partial(p, r);
        }
    }
}

static void plan_reduce(struct plan *p, const struct impi_coll_rules *rules,
                        bool commutes)
{
    p->tag = IMPI_REDUCE_TAG;
    if (!commutes) {
        reduce_in_order(p);
        return;
    }
    add_local(p, IMPI_STEP_LOCAL_REDUCE, speaker(p, p->g->num_of[p->rank]),
              IMPI_BUF_OWN);
    if (!is_speaker(p))
        return;
    if (impi_coll_is_linear(p->g, rules))
        reduce_linear(p);
    else
        reduce_tree(p);
}

int impi_schedule_reduce(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool commutes)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = root};

    s->count = 0;
    plan_reduce(&p, rules, commutes);
    return finish(&p);
}

int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = 0};

    s->count = 0;
    plan_reduce(&p, rules, commutes);
    plan_bcast(&p, rules, IMPI_BUF_ACC);
    return finish(&p);
}
