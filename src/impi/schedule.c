/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of collective calls.  In trees a client is a vertex, numbered by
 * its master; for Bcast and Reduce relative to the root's client, whose vertex
 * is the root itself.
 */
#include "impi/schedule_plan.h"

#include "impi/constants.h"

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

/* After round k each has heard of 2^k masters before it. */
static void barrier_by_rounds(struct plan *p)
{
    uint32_t n = impi_group_num_masters(p->g);
    uint32_t me = impi_group_local_master_num(p->g, p->rank);

    for (uint32_t d = 1; d < n; d <<= 1) {
        plan_send(p, impi_group_master_rank(p->g, (me + d) % n), IMPI_BUF_NONE);
        plan_with_next(p);
        plan_recv(p, impi_group_master_rank(p->g, (me + n - d) % n),
                  IMPI_BUF_NONE);
    }
}

int impi_schedule_barrier(struct impi_schedule *s, const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t rank)
{
    PLAN(p, .tag = IMPI_BARRIER_TAG);
    uint32_t master = impi_group_local_master_rank(g, rank);

    plan_local(&p, IMPI_STEP_LOCAL_FANIN, master, IMPI_BUF_NONE);
    if (rank == master) {
        if (rules->few_rounds)
            barrier_by_rounds(&p);
        else if (impi_coll_is_linear(g, rules))
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

/* Two vectors at most, and not one for each round. */
static void bcast_parts(struct plan *p, const struct impi_coll_rules *rules)
{
    plan_local(p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
    plan_parts_down(p, vertex(p), impi_group_num_masters(p->g), vertex_rank,
                    rules->pieces > 0 ? rules->pieces : 1);
    plan_local(p, IMPI_STEP_LOCAL_OTHER, 0, IMPI_BUF_NONE);
}

static void plan_bcast(struct plan *p, const struct impi_coll_rules *rules,
                       enum impi_step_buf buf)
{
    bool by_parts = buf == IMPI_BUF_DATA && rules->few_bytes &&
                    rules->is_long && impi_group_num_masters(p->g) > 2;
    uint32_t own = impi_group_local_master_num(p->g, p->rank);
    bool first; /* the root tells its client before the others */

    p->tag = IMPI_BCAST_TAG;
    p->by_master = rules->by_master;
    first = own == impi_group_local_master_num(p->g, p->root) &&
            speaker(p, own) != p->root;
    if (first)
        plan_local(p, IMPI_STEP_LOCAL_BCAST, p->root, buf);
    if (is_speaker(p)) {
        if (by_parts)
            bcast_parts(p, rules);
        else if (impi_coll_is_linear(p->g, rules))
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
    PLAN(p, .root = root);

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

/* Halves and back send the vector twice and not once in each exchange; where
 * the masters are no power of two, by unlike parts, a third more than that, and
 * once more. */
static bool saves_bytes(uint32_t n)
{
    return n >= 4 && (is_power_of_two(n) || n > 8);
}

/* What was not so before all agreed on it. */
static bool spares_bytes(const struct impi_coll_rules *rules, uint32_t n)
{
    return rules->few_bytes && rules->is_long && saves_bytes(n);
}

/* Vertex 1 is the root, which no one stands in for in a pair. */
static uint32_t vertex_from_root(const struct plan *p, uint32_t v)
{
    uint32_t n = impi_group_num_masters(p->g);

    return vertex_rank(p, (v + n - 1) % n);
}

/* To the root by halves, of which it takes two vectors at most. */
static void reduce_halving(struct plan *p)
{
    uint32_t n = impi_group_num_masters(p->g);

    p->part = IMPI_BUF_ACC;
    plan_halving(p, &(struct plan_halving){.who = vertex_from_root,
                                           .me = (vertex(p) + 1) % n,
                                           .n = n,
                                           .to = 1,
                                           .what = PLAN_TO_ONE});
}

static void plan_halve_runs(struct plan *p, plan_who_f *who, uint32_t to,
                            enum plan_halves what)
{
    plan_halving(p, &(struct plan_halving){.who = who,
                                           .me = p->runs.own,
                                           .n = p->runs.n,
                                           .to = to,
                                           .in_order = true,
                                           .what = what});
}

/* The root stands in for the last one of its run. */
static uint32_t root_or_last(const struct plan *p, uint32_t run)
{
    uint32_t first = p->runs.first[run];

    return p->root >= first && p->root < p->runs.first[run + 1]
               ? p->root
               : plan_last_of_run(p, run);
}

static uint32_t run_of(const struct plan *p, uint32_t rank)
{
    uint32_t low = 0, high = p->runs.n;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (p->runs.first[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void fold_by_runs(struct plan *p, const struct impi_coll_rules *rules)
{
    uint32_t speaker = root_or_last(p, p->runs.own), head = plan_run_head(p);

    p->part = IMPI_BUF_OWN;
    plan_fold(p, p->rank - head, plan_run_length(p, p->runs.own),
              speaker - head, plan_in_run);
    if (p->rank == speaker && spares_bytes(rules, p->runs.n))
        plan_halve_runs(p, root_or_last, run_of(p, p->root), PLAN_TO_ONE);
    else if (p->rank == speaker)
        plan_fold(p, p->runs.own, p->runs.n, run_of(p, p->root), root_or_last);
    if (p->rank == p->root)
        plan_fold_end(p);
}

/* All own into acc of p->root. */
static void plan_reduce(struct plan *p, const struct impi_coll_rules *rules,
                        bool commutes)
{
    p->tag = IMPI_REDUCE_TAG;
    if (!commutes && rules->few_rounds) {
        if (plan_find_runs(p))
            fold_by_runs(p, rules);
        return;
    }
    if (!commutes) {
        plan_fold_in_order(p, 0, p->g->size);
        return;
    }
    plan_local(p, IMPI_STEP_LOCAL_REDUCE,
               speaker(p, impi_group_local_master_num(p->g, p->rank)),
               IMPI_BUF_OWN);
    if (!is_speaker(p))
        return;
    if (spares_bytes(rules, impi_group_num_masters(p->g)))
        reduce_halving(p);
    else if (impi_coll_is_linear(p->g, rules))
        reduce_linear(p);
    else
        plan_tree_up(p, vertex(p), impi_group_num_masters(p->g), vertex_rank);
}

int impi_schedule_reduce(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool commutes)
{
    PLAN(p, .root = root);

    plan_reduce(&p, rules, commutes);
    return plan_finish(&p);
}

/* Recursive doubling: after step k groups of 2^k masters have the same acc.
 * Both of a pair put the higher one's partial result first, so that they have
 * the same bits. */
static void exchange(struct plan *p)
{
    plan_exchange_among(p, impi_group_local_master_num(p->g, p->rank),
                        impi_group_num_masters(p->g), 0, plan_master_of, false);
}

/* Masters that commute: half of the rounds of Reduce and Bcast, or little more
 * than half. */
static bool is_by_exchange(const struct impi_group *g,
                           const struct impi_coll_rules *rules)
{
    return rules->exchange &&
           (is_power_of_two(impi_group_num_masters(g)) ||
            (rules->few_rounds && !impi_coll_is_linear(g, rules)));
}

/* True: to acc of the master, which is this process. */
static bool plan_reduce_locally(struct plan *p)
{
    uint32_t master = impi_group_local_master_rank(p->g, p->rank);

    p->tag = IMPI_REDUCE_TAG;
    plan_local(p, IMPI_STEP_LOCAL_REDUCE, master, IMPI_BUF_OWN);
    p->part = IMPI_BUF_ACC;
    return p->rank == master;
}

/* To acc of each master. */
static void plan_reduce_exchange(struct plan *p)
{
    uint32_t master = impi_group_local_master_rank(p->g, p->rank);
    uint32_t n = impi_group_num_masters(p->g);

    plan_reduce_locally(p);
    if (p->rank == master && is_power_of_two(n))
        exchange(p);
    else if (p->rank == master)
        plan_exchange(p, impi_group_local_master_num(p->g, master), n,
                      plan_master_of);
}

/* In order, to the last one of each run.  True: it is this process. */
static bool plan_fold_run(struct plan *p)
{
    uint32_t n = plan_run_length(p, p->runs.own);
    uint32_t me = p->rank - plan_run_head(p);

    p->tag = IMPI_REDUCE_TAG;
    p->part = IMPI_BUF_OWN;
    plan_fold(p, me, n, n - 1, plan_in_run);
    return me + 1 == n;
}

/* To acc of all of these. */
static void plan_fold_exchange(struct plan *p)
{
    if (plan_fold_run(p))
        plan_exchange(p, p->runs.own, p->runs.n, plan_last_of_run);
}

static void allreduce_by_exchange(struct plan *p,
                                  const struct impi_coll_rules *rules)
{
    uint32_t n = impi_group_num_masters(p->g);

    if (!rules->few_rounds || !rules->is_long || !saves_bytes(n))
        plan_reduce_exchange(p);
    else if (plan_reduce_locally(p))
        plan_halving(p, &(struct plan_halving){
                            .who = plan_master_of,
                            .me = impi_group_local_master_num(p->g, p->rank),
                            .n = n,
                            .what = PLAN_ALL_PARTS});
    plan_local(p, IMPI_STEP_LOCAL_BCAST,
               impi_group_local_master_rank(p->g, p->rank), IMPI_BUF_ACC);
}

/* Where each client has one run its library does the last step. */
static void allreduce_by_runs(struct plan *p,
                              const struct impi_coll_rules *rules)
{
    uint32_t n = plan_run_length(p, p->runs.own),
             last = plan_last_of_run(p, p->runs.own);

    if (!spares_bytes(rules, p->runs.n))
        plan_fold_exchange(p);
    else if (plan_fold_run(p))
        plan_halve_runs(p, plan_last_of_run, 0, PLAN_ALL_PARTS);
    if (p->runs.n == impi_group_num_masters(p->g))
        plan_local(p, IMPI_STEP_LOCAL_BCAST, last, IMPI_BUF_ACC);
    else
        plan_tree_down(p, last - p->rank, n, plan_in_run_from_last,
                       IMPI_BUF_ACC);
}

int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes)
{
    PLAN(p, .root = 0);

    if (commutes && is_by_exchange(g, rules)) {
        allreduce_by_exchange(&p, rules);
    } else if (!commutes && rules->few_rounds) {
        if (plan_find_runs(&p))
            allreduce_by_runs(&p, rules);
    } else {
        plan_reduce(&p, rules, commutes);
        plan_bcast(&p, rules, IMPI_BUF_ACC);
    }
    return plan_finish(&p);
}

/* ---- Scan, Exscan, Reduce_scatter ---- */

static void chain(struct plan *p, enum impi_step_buf before)
{
    if (p->rank > 0) {
        plan_recv(p, p->rank - 1, before);
        plan_combine(p, before);
    }
    if (p->rank + 1 < p->g->size)
        plan_send(p, p->rank + 1, IMPI_BUF_ACC);
}

/* By doubling over vertices 0 to n - 1: acc of each becomes that of all up to
 * it.  low, unless it is NONE: that of all below it; true: there are such. */
static bool plan_doubling(struct plan *p, uint32_t me, uint32_t n,
                          plan_who_f *who, enum impi_step_buf low)
{
    bool any = false;

    for (uint32_t d = 1; d < n; d <<= 1) {
        enum impi_step_buf in =
            low != IMPI_BUF_NONE && !any ? low : IMPI_BUF_TMP;

        if (me + d < n)
            plan_send(p, who(p, me + d), IMPI_BUF_ACC);
        if (me < d)
            continue;
        if (me + d < n)
            plan_with_next(p);
        plan_recv(p, who(p, me - d), in);
        if (low != IMPI_BUF_NONE && in != low)
            plan_combine_into(p, in, low);
        plan_combine(p, in);
        any = true;
    }
    return any;
}

/* Inside of each run; among the last ones of the runs; and what lies below a
 * run from its last one to the others.  own: what a process has of its run
 * below it, or NONE. */
static void scan_by_runs(struct plan *p, enum impi_step_buf own)
{
    uint32_t n = plan_run_length(p, p->runs.own),
             me = p->rank - plan_run_head(p);
    bool last = me + 1 == n;
    enum impi_step_buf low =
        own != IMPI_BUF_NONE && me == 0 ? own : IMPI_BUF_LOW;

    plan_doubling(p, me, n, plan_in_run, own);
    if (last)
        plan_doubling(p, p->runs.own, p->runs.n, plan_last_of_run,
                      n == 1 ? own : low);
    if (n == 1 || p->runs.own == 0)
        return;
    plan_tree_down(p, n - 1 - me, n, plan_in_run_from_last, low);
    if (own == IMPI_BUF_NONE && !last)
        plan_combine(p, low);
    if (own != IMPI_BUF_NONE && me > 0)
        plan_combine_into(p, low, own);
}

int impi_schedule_scan(struct impi_schedule *s, const struct impi_group *g,
                       const struct impi_coll_rules *rules, uint32_t rank,
                       bool copy)
{
    PLAN(p, .tag = IMPI_SCAN_TAG);

    if (copy)
        plan_copy_own(&p);
    if (rules->few_rounds && plan_find_runs(&p))
        scan_by_runs(&p, IMPI_BUF_NONE);
    else
        chain(&p, IMPI_BUF_TMP);
    return plan_finish(&p);
}

int impi_schedule_exscan(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank)
{
    PLAN(p, .tag = IMPI_SCAN_TAG);

    if (rules->few_rounds && plan_find_runs(&p))
        scan_by_runs(&p, IMPI_BUF_DATA);
    else
        chain(&p, IMPI_BUF_DATA);
    return plan_finish(&p);
}

/* Rank `from`, whose OUT blocks are by rank, to ranks[0] to ranks[n - 1], or to
 * `first` and those behind it. */
static void hand_out(struct plan *p, uint32_t from, const uint32_t *ranks,
                     uint32_t first, uint32_t n)
{
    p->tag = IMPI_SCATTERV_TAG;
    plan_recv_block(p, from, 0);
    for (uint32_t i = 0; p->rank == from && i < n; i++) {
        uint32_t to = ranks ? ranks[i] : first + i;

        plan_send_block(p, to, to);
    }
    plan_end_row(p);
}

/* Masters get the parts of their clients: as they lie, or, where all have
 * agreed, put in order first.  Else all of it. */
static void reduce_scatter_by_clients(struct plan *p,
                                      const struct impi_coll_rules *rules)
{
    const struct impi_group *g = p->g;
    uint32_t num = impi_group_local_master_num(g, p->rank);

    if (!rules->few_bytes && !plan_are_blocks(g)) {
        plan_reduce_exchange(p);
    } else if (plan_reduce_locally(p)) {
        plan_parts_of_clients(p);
        plan_halving(p, &(struct plan_halving){.who = plan_master_of,
                                               .me = num,
                                               .n = impi_group_num_masters(g),
                                               .what = PLAN_OWN_PART});
    }
    hand_out(p, impi_group_master_rank(g, num),
             impi_group_locals_to_master(g, num), 0,
             impi_group_num_local_to_master(g, num));
}

/* The same of those who speak for runs. */
static void reduce_scatter_by_runs(struct plan *p,
                                   const struct impi_coll_rules *rules)
{
    uint32_t last = plan_last_of_run(p, p->runs.own);

    if (!rules->few_bytes) {
        plan_fold_exchange(p);
    } else if (plan_fold_run(p)) {
        plan_parts_of_runs(p);
        plan_halve_runs(p, plan_last_of_run, 0, PLAN_OWN_PART);
    }
    hand_out(p, last, NULL, plan_run_head(p), plan_run_length(p, p->runs.own));
}

int impi_schedule_reduce_scatter(struct impi_schedule *s,
                                 const struct impi_group *g,
                                 const struct impi_coll_rules *rules,
                                 uint32_t rank, bool commutes)
{
    PLAN(p, .root = 0);

    if (rules->few_rounds && commutes &&
        (rules->few_bytes || is_by_exchange(g, rules))) {
        reduce_scatter_by_clients(&p, rules);
    } else if (rules->few_rounds && !commutes) {
        if (plan_find_runs(&p))
            reduce_scatter_by_runs(&p, rules);
    } else {
        plan_reduce(&p, rules, commutes);
        hand_out(&p, 0, NULL, 0, g->size);
    }
    return plan_finish(&p);
}
