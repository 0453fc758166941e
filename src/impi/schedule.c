/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of collective calls.  In trees a client is a vertex, numbered by
 * its master; for Bcast and Reduce relative to the root's client, whose vertex
 * is the root itself.
 */
#include "impi/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"

/* Ranks one behind the other that are of one client: what lies in order is
 * folded inside of it first. */
struct runs {
    const uint32_t *first; /* [n + 1] */
    uint32_t *made;        /* the same, where it is the plan's */
    uint32_t n;
    uint32_t own; /* that of the plan's rank */
};

/* Inside of the schedules: how one process's list of steps is put together.
 */
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

static void plan_reduce(struct plan *p, const struct impi_coll_rules *rules,
                        bool commutes);
static bool is_by_exchange(const struct impi_group *g,
                           const struct impi_coll_rules *rules);
static void plan_reduce_exchange(struct plan *p);
static void plan_reduce_halving(struct plan *p);
static void plan_fold_exchange(struct plan *p);

static inline bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Binomial trees over vertices 0 to n - 1, me being one of them and who()
 * their ranks.  Down: from vertex 0 to all.  Up: acc of all into that of
 * vertex 0. */
typedef uint32_t plan_who_f(const struct plan *p, uint32_t v);

/* ---- schedule plan ----------------------------------------------------- */

/* Putting steps together. */

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

static struct impi_step message(const struct plan *p, enum impi_step_kind kind,
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
static void plan_send(struct plan *p, uint32_t to, enum impi_step_buf buf)
{
    add(p, message(p, IMPI_STEP_SEND, to, buf));
}

static void plan_recv(struct plan *p, uint32_t from, enum impi_step_buf buf)
{
    add(p, message(p, IMPI_STEP_RECV, from, buf));
}

static void plan_local(struct plan *p, enum impi_step_kind kind, uint32_t rank,
                       enum impi_step_buf buf)
{
    add(p, (struct impi_step){
               .kind = kind, .buf = buf, .local = true, .rank = rank});
}

static void plan_combine(struct plan *p, enum impi_step_buf buf)
{
    add(p, (struct impi_step){.kind = IMPI_STEP_COMBINE, .buf = buf});
}

static void plan_combine_under(struct plan *p, enum impi_step_buf buf)
{
    add(p, (struct impi_step){.kind = IMPI_STEP_COMBINE_UNDER, .buf = buf});
}

static void plan_combine_into(struct plan *p, enum impi_step_buf buf,
                              enum impi_step_buf into)
{
    add(p, (struct impi_step){
               .kind = IMPI_STEP_COMBINE_INTO, .buf = buf, .into = into});
}

/* The step added last does not keep the next one waiting. */
static void plan_with_next(struct plan *p)
{
    if (p->s->count > 0)
        p->s->steps[p->s->count - 1].more = true;
}

/* acc = own by a message to oneself: what the type covers, nothing between. */
static void plan_copy_own(struct plan *p)
{
    plan_recv(p, p->rank, IMPI_BUF_ACC);
    plan_with_next(p);
    plan_send(p, p->rank, IMPI_BUF_OWN);
}

/* Receive into tmp, combine. */
static void plan_take_partial(struct plan *p, uint32_t from)
{
    plan_recv(p, from, IMPI_BUF_TMP);
    plan_combine(p, IMPI_BUF_TMP);
}

/* Messages of a row: none waits for another (`more`). */
static void plan_send_block(struct plan *p, uint32_t to, uint32_t block)
{
    struct impi_step step = message(p, IMPI_STEP_SEND, to, IMPI_BUF_OUT);

    step.more = true;
    step.block = block;
    add(p, step);
}

static void plan_recv_block(struct plan *p, uint32_t from, uint32_t block)
{
    struct impi_step step = message(p, IMPI_STEP_RECV, from, IMPI_BUF_IN);

    step.more = true;
    step.block = block;
    add(p, step);
}

/* What follows waits for the row before it. */
static void plan_end_row(struct plan *p)
{
    if (p->s->count > 0)
        p->s->steps[p->s->count - 1].more = false;
}

static void plan_tree_down(struct plan *p, uint32_t me, uint32_t n,
                           plan_who_f *who, enum impi_step_buf buf)
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

static void plan_tree_up(struct plan *p, uint32_t me, uint32_t n,
                         plan_who_f *who)
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
        add(p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    else if (r == p->rank)
        plan_combine(p, IMPI_BUF_OWN);
    else if (i == 0)
        plan_recv(p, r, IMPI_BUF_ACC);
    else
        plan_take_partial(p, r);
}

/* own of ranks [first, first + n) goes straight to p->root, which folds into
 * acc from the highest rank down: v0 op (v1 op (v2 ...)). */
static void plan_fold_in_order(struct plan *p, uint32_t first, uint32_t n)
{
    if (p->rank != p->root) {
        plan_send(p, p->root, IMPI_BUF_OWN);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        fold(p, first + n - 1 - i, i);
}

/* ---- runs ---- */

/* Where each client has one run, its ranks are listed in their order. */
static bool are_blocks(const struct impi_group *g)
{
    for (uint32_t i = 0; i < g->nmasters; i++) {
        if (g->masters[i] != g->first[i])
            return false;
    }
    return true;
}

static void list_runs(struct plan *p)
{
    const struct impi_group *g = p->g;
    struct runs *r = &p->runs;

    for (uint32_t i = 0; i < g->size; i++) {
        if (i == 0 || g->num_of[i] != g->num_of[i - 1])
            r->made[r->n++] = i;
        if (i == p->rank)
            r->own = r->n - 1;
    }
    r->made[r->n] = g->size;
    r->first = r->made;
}

/* False: no memory, and the plan has failed. */
static bool plan_find_runs(struct plan *p)
{
    const struct impi_group *g = p->g;

    if (are_blocks(g)) {
        p->runs = (struct runs){
            .first = g->first, .n = g->nmasters, .own = g->num_of[p->rank]};
        return true;
    }
    p->runs = (struct runs){
        .made = malloc(((size_t)g->size + 1) * sizeof(*p->runs.made))};
    if (p->runs.made)
        list_runs(p);
    else
        p->failed = true;
    return !p->failed;
}

static uint32_t run_length(const struct plan *p, uint32_t run)
{
    return p->runs.first[run + 1] - p->runs.first[run];
}

static uint32_t run_head(const struct plan *p)
{
    return p->runs.first[p->runs.own];
}

/* Vertices: those of the own run, from its first or from its last; runs, by
 * their last ones. */
static uint32_t in_run(const struct plan *p, uint32_t v)
{
    return run_head(p) + v;
}

static uint32_t in_run_from_last(const struct plan *p, uint32_t v)
{
    return p->runs.first[p->runs.own + 1] - 1 - v;
}

static uint32_t last_of_run(const struct plan *p, uint32_t run)
{
    return p->runs.first[run + 1] - 1;
}

/* ---- folds in order ---- */

/* acc = what `from` has, op it.  And it op what `from` has. */
static void take_lower(struct plan *p, uint32_t from)
{
    if (p->part == IMPI_BUF_OWN)
        add(p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    p->part = IMPI_BUF_ACC;
    plan_take_partial(p, from);
}

static void take_higher(struct plan *p, uint32_t from)
{
    if (p->part == IMPI_BUF_OWN) {
        plan_recv(p, from, IMPI_BUF_ACC);
        plan_combine(p, IMPI_BUF_OWN);
    } else {
        plan_recv(p, from, IMPI_BUF_TMP);
        plan_combine_under(p, IMPI_BUF_TMP);
    }
    p->part = IMPI_BUF_ACC;
}

/* Who of [start, start + size) has what they have, folded: the one at the place
 * that `to` has in its own, so that ranks dealt out in turns stay in a client
 * for longer; where it is cut short, as in its last half that there is. */
static uint32_t holder(uint32_t start, uint32_t size, uint32_t n, uint32_t to)
{
    while (start + (to & (size - 1)) >= n) {
        size >>= 1;
        if (start + size < n)
            start += size;
    }
    return start + (to & (size - 1));
}

/* What vertices 0 to n - 1 have, folded in their order, to vertex `to`: after
 * step k it is with one of each 2^k neighbours. */
static void plan_fold(struct plan *p, uint32_t me, uint32_t n, uint32_t to,
                      plan_who_f *who)
{
    for (uint32_t size = 1; size < n; size <<= 1) {
        uint32_t start = me & ~(2 * size - 1), middle = start + size;
        uint32_t low, high;

        if (middle >= n)
            continue;
        low = holder(start, size, n, to);
        high = holder(middle, size, n, to);
        if (me != holder(start, 2 * size, n, to)) {
            plan_send(p, who(p, me == low ? high : low), p->part);
            return;
        }
        if (me == high)
            take_lower(p, who(p, low));
        else
            take_higher(p, who(p, high));
    }
}

/* acc of one vertex, whatever it has got. */
static void plan_fold_end(struct plan *p)
{
    if (p->part == IMPI_BUF_OWN)
        add(p, (struct impi_step){.kind = IMPI_STEP_COPY, .buf = IMPI_BUF_OWN});
    p->part = IMPI_BUF_ACC;
}

/* By exchanges among a power of two of the vertices: of the first 2 * extra
 * ones each even one gives its next what it has, and gets the result.  Both of
 * a pair fold in order: all have the same bits. */
static uint32_t in_exchange(uint32_t v, uint32_t extra)
{
    return v < extra ? 2 * v + 1 : v + extra;
}

/* Both of a pair fold alike: the lower one's part first, or the other's. */
static void exchange_among(struct plan *p, uint32_t me, uint32_t even,
                           uint32_t extra, plan_who_f *who, bool lower_first)
{
    for (uint32_t bit = 1; bit < even; bit <<= 1) {
        uint32_t peer = who(p, in_exchange(me ^ bit, extra));

        plan_send(p, peer, IMPI_BUF_ACC);
        plan_with_next(p);
        plan_recv(p, peer, IMPI_BUF_TMP);
        if (lower_first == !!(me & bit))
            plan_combine(p, IMPI_BUF_TMP);
        else
            plan_combine_under(p, IMPI_BUF_TMP);
    }
}

static void plan_exchange(struct plan *p, uint32_t me, uint32_t n,
                          plan_who_f *who)
{
    uint32_t even = UINT32_C(1) << impi_hibit(n, 32), extra = n - even;
    bool paired = me < 2 * extra;

    if (paired && me % 2 == 0) {
        plan_send(p, who(p, me + 1), p->part);
        plan_recv(p, who(p, me + 1), IMPI_BUF_ACC);
        return;
    }
    if (paired)
        take_lower(p, who(p, me - 1));
    plan_fold_end(p);
    exchange_among(p, paired ? me / 2 : me - extra, even, extra, who, true);
    if (paired)
        plan_send(p, who(p, me - 1), IMPI_BUF_ACC);
}

/* ---- parts ---- */

/* Vertices of the exchange that have [low, low + n) of each other's parts: the
 * first `extra` ones stand for two clients. */
struct halves {
    uint32_t me, even, extra;
    uint32_t low, n;
    plan_who_f *who;
};

static uint32_t first_part(const struct halves *h, uint32_t v)
{
    return v < h->extra ? 2 * v : v + h->extra;
}

static void plan_parts(struct plan *p, enum impi_step_kind kind, uint32_t peer,
                       enum impi_step_buf buf, uint32_t from, uint32_t to)
{
    struct impi_step step = message(p, kind, peer, buf);

    step.part = from;
    step.nparts = to - from;
    add(p, step);
}

static void plan_part_of(struct plan *p, enum impi_step_kind kind,
                         const struct halves *h, uint32_t peer,
                         enum impi_step_buf buf, uint32_t low, uint32_t n)
{
    plan_parts(p, kind, h->who(p, in_exchange(peer, h->extra)), buf,
               first_part(h, low), first_part(h, low + n));
}

/* With the one on the other side each keeps one half. */
static void halve(struct plan *p, struct halves *h)
{
    struct impi_step combine = {.kind = IMPI_STEP_COMBINE, .buf = IMPI_BUF_TMP};

    while (h->n > 1) {
        uint32_t half = h->n / 2, peer = h->me ^ half;
        uint32_t other = h->low + (h->me & half ? 0 : half);

        h->low += h->me & half;
        h->n = half;
        plan_part_of(p, IMPI_STEP_SEND, h, peer, IMPI_BUF_ACC, other, half);
        plan_with_next(p);
        plan_part_of(p, IMPI_STEP_RECV, h, peer, IMPI_BUF_TMP, h->low, half);
        combine.part = first_part(h, h->low);
        combine.nparts = first_part(h, h->low + half) - combine.part;
        add(p, combine);
    }
}

/* And back: all get the other halves. */
static void double_up(struct plan *p, struct halves *h)
{
    for (; h->n < h->even; h->n *= 2) {
        uint32_t peer = h->me ^ h->n;
        uint32_t other = h->low ^ h->n;

        plan_part_of(p, IMPI_STEP_SEND, h, peer, IMPI_BUF_ACC, h->low, h->n);
        plan_with_next(p);
        plan_part_of(p, IMPI_STEP_RECV, h, peer, IMPI_BUF_ACC, other, h->n);
        if (other < h->low)
            h->low = other;
    }
}

/* acc of vertices 0 to n - 1, of an operation that commutes: each has its own
 * part then, or with `all` everybody everything. */
static void plan_halving(struct plan *p, uint32_t me, uint32_t n,
                         plan_who_f *who, bool all)
{
    uint32_t even = UINT32_C(1) << impi_hibit(n, 32), extra = n - even;
    bool paired = me < 2 * extra;
    struct halves h = {.me = paired ? me / 2 : me - extra,
                       .even = even,
                       .extra = extra,
                       .n = even,
                       .who = who};
    uint32_t from = all ? 0 : me - me % 2, to = all ? n : from + 1;

    if (paired && me % 2 == 0) {
        plan_send(p, who(p, me + 1), IMPI_BUF_ACC);
        plan_parts(p, IMPI_STEP_RECV, who(p, me + 1), IMPI_BUF_ACC, from, to);
        return;
    }
    if (paired)
        plan_take_partial(p, who(p, me - 1));
    halve(p, &h);
    if (all)
        double_up(p, &h);
    if (paired)
        plan_parts(p, IMPI_STEP_SEND, who(p, me - 1), IMPI_BUF_ACC, from, to);
}

bool impi_schedule_has_parts(const struct impi_schedule *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].nparts > 0)
            return true;
    }
    return false;
}

/* 0, or -1 with errno ENOMEM and no steps. */
static int plan_finish(struct plan *p)
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
    *s = (struct impi_schedule){0};
}

/* ---- schedule blocks --------------------------------------------------- */

/* Blocks between all processes, and results from rank to rank. Receives stand
 * first in a row, so that they are posted when the data come. */

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
    uint32_t n = run_length(p, p->runs.own), me = p->rank - run_head(p);
    bool last = me + 1 == n;
    enum impi_step_buf low =
        own != IMPI_BUF_NONE && me == 0 ? own : IMPI_BUF_LOW;

    plan_doubling(p, me, n, in_run, own);
    if (last)
        plan_doubling(p, p->runs.own, p->runs.n, last_of_run,
                      n == 1 ? own : low);
    if (n == 1 || p->runs.own == 0)
        return;
    plan_tree_down(p, n - 1 - me, n, in_run_from_last, low);
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

/* All masters, or speakers of runs, get all of it. */
static void reduce_scatter_few(struct plan *p, bool commutes)
{
    const struct impi_group *g = p->g;

    if (commutes) {
        uint32_t num = impi_group_local_master_num(g, p->rank);

        if (are_blocks(g))
            plan_reduce_halving(p);
        else
            plan_reduce_exchange(p);
        hand_out(p, impi_group_master_rank(g, num),
                 impi_group_locals_to_master(g, num), 0,
                 impi_group_num_local_to_master(g, num));
    } else if (plan_find_runs(p)) {
        plan_fold_exchange(p);
        hand_out(p, last_of_run(p, p->runs.own), NULL, run_head(p),
                 run_length(p, p->runs.own));
    }
}

int impi_schedule_reduce_scatter(struct impi_schedule *s,
                                 const struct impi_group *g,
                                 const struct impi_coll_rules *rules,
                                 uint32_t rank, bool commutes)
{
    PLAN(p, .root = 0);

    if (rules->few_rounds && (!commutes || is_by_exchange(g, rules))) {
        reduce_scatter_few(&p, commutes);
    } else {
        plan_reduce(&p, rules, commutes);
        hand_out(&p, 0, NULL, 0, g->size);
    }
    return plan_finish(&p);
}

/* ---- schedule inter ---------------------------------------------------- */

/* Between the two groups of an intercommunicator. The standard has none of
 * these: a group's results go up a binomial tree of its ranks to its leader
 * (its lowest rank), the leaders speak with each other or with the root, and
 * what comes goes down a tree. */

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

/* ---- schedule ---------------------------------------------------------- */

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
    struct plan p = {.s = s, .g = g, .rank = rank, .tag = IMPI_BARRIER_TAG};
    uint32_t master = impi_group_local_master_rank(g, rank);

    s->count = 0;
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

/* The root stands in for the last one of its run. */
static uint32_t root_or_last(const struct plan *p, uint32_t run)
{
    uint32_t first = p->runs.first[run];

    return p->root >= first && p->root < p->runs.first[run + 1]
               ? p->root
               : last_of_run(p, run);
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

static void fold_by_runs(struct plan *p)
{
    uint32_t speaker = root_or_last(p, p->runs.own), head = run_head(p);

    p->part = IMPI_BUF_OWN;
    plan_fold(p, p->rank - head, run_length(p, p->runs.own), speaker - head,
              in_run);
    if (p->rank == speaker)
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
            fold_by_runs(p);
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

static uint32_t master_of(const struct plan *p, uint32_t num)
{
    return impi_group_master_rank(p->g, num);
}

/* Recursive doubling: after step k groups of 2^k masters have the same acc.
 * Both of a pair put the higher one's partial result first, so that they have
 * the same bits. */
static void exchange(struct plan *p)
{
    exchange_among(p, impi_group_local_master_num(p->g, p->rank),
                   impi_group_num_masters(p->g), 0, master_of, false);
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

/* Each master's parts to its acc. */
static void plan_reduce_halving(struct plan *p)
{
    if (plan_reduce_locally(p))
        plan_halving(p, impi_group_local_master_num(p->g, p->rank),
                     impi_group_num_masters(p->g), master_of, false);
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
                      master_of);
}

/* In order, to acc of the last one of each run. */
static void plan_fold_exchange(struct plan *p)
{
    uint32_t n = run_length(p, p->runs.own), me = p->rank - run_head(p);

    p->tag = IMPI_REDUCE_TAG;
    p->part = IMPI_BUF_OWN;
    plan_fold(p, me, n, n - 1, in_run);
    if (me + 1 == n)
        plan_exchange(p, p->runs.own, p->runs.n, last_of_run);
}

/* Halves and back send the vector twice and not once in each exchange; where
 * the masters are no power of two, by unlike parts, a third more than that, and
 * once more. */
static bool saves_bytes(uint32_t n)
{
    return n >= 4 && (is_power_of_two(n) || n > 8);
}

static void allreduce_by_exchange(struct plan *p,
                                  const struct impi_coll_rules *rules)
{
    uint32_t n = impi_group_num_masters(p->g);

    if (!rules->few_rounds || !rules->few_bytes || !saves_bytes(n))
        plan_reduce_exchange(p);
    else if (plan_reduce_locally(p))
        plan_halving(p, impi_group_local_master_num(p->g, p->rank), n,
                     master_of, true);
    plan_local(p, IMPI_STEP_LOCAL_BCAST,
               impi_group_local_master_rank(p->g, p->rank), IMPI_BUF_ACC);
}

/* Where each client has one run its library does the last step. */
static void allreduce_by_runs(struct plan *p)
{
    uint32_t n = run_length(p, p->runs.own), last = last_of_run(p, p->runs.own);

    plan_fold_exchange(p);
    if (p->runs.n == impi_group_num_masters(p->g))
        plan_local(p, IMPI_STEP_LOCAL_BCAST, last, IMPI_BUF_ACC);
    else
        plan_tree_down(p, last - p->rank, n, in_run_from_last, IMPI_BUF_ACC);
}

int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes)
{
    struct plan p = {.s = s, .g = g, .rank = rank, .root = 0};

    s->count = 0;
    if (commutes && is_by_exchange(g, rules)) {
        allreduce_by_exchange(&p, rules);
    } else if (!commutes && rules->few_rounds) {
        if (plan_find_runs(&p))
            allreduce_by_runs(&p);
    } else {
        plan_reduce(&p, rules, commutes);
        plan_bcast(&p, rules, IMPI_BUF_ACC);
    }
    return plan_finish(&p);
}

/* ---- schedule packed --------------------------------------------------- */

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
