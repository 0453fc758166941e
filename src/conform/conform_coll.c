/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives.  Every one takes comm, type (basic ones for reductions), count,
 * seed, root; nonblocking=1 starts it and waits.  Rank r of the communicator
 * contributes the data of seed + r.
 *
 *   barrier bcast reduce allreduce gather scatter allgather alltoall scan
 *   exscan gatherv scatterv allgatherv alltoallv reduce_scatter
 *   reduce_scatter_block                     op=sum|max|min|band|first
 *
 * first: an operation of the script's own that does not commute.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

struct call {
    const struct instruction *l;
    const struct kind *k;
    MPI_Comm comm;
    int rank, size, root, count, seed, nonblocking;
    MPI_Op op;
    MPI_Request request;
    int *counts, *at; /* rank r has count + r elements, one after the other */
    int total;
    void *in, *out;
};

static int finish(struct call *c, int rc)
{
    if (rc == MPI_SUCCESS && c->nonblocking)
        rc = MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    return check_code(c->l, rc);
}

/* The blocking or the nonblocking form, with the same arguments. */
#define CALL(c, BLOCKING, STARTING, ...)                                       \
    finish(c, (c)->nonblocking                                                 \
                  ? STARTING(__VA_ARGS__, (c)->comm, &(c)->request)            \
                  : BLOCKING(__VA_ARGS__, (c)->comm))

static void *element(const struct call *c, void *base, int index)
{
    return (char *)base + (size_t)index * (size_t)c->k->size;
}

/* ---- reductions ---- */

static void take_first(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout; /* ints only: keep what is on the left */

    for (int i = 0; i < *len; i++)
        b[i] = a[i];
}

static long fold(const char *op, long a, long b)
{
    if (strcmp(op, "max") == 0)
        return a > b ? a : b;
    if (strcmp(op, "min") == 0)
        return a < b ? a : b;
    if (strcmp(op, "band") == 0)
        return a & b;
    return strcmp(op, "first") == 0 ? a : a + b;
}

static void choose_op(struct call *c)
{
    static MPI_Op first = MPI_OP_NULL;
    const char *op = word(c->l, "op", "sum");

    if (strcmp(op, "sum") == 0)
        c->op = MPI_SUM;
    else if (strcmp(op, "max") == 0)
        c->op = MPI_MAX;
    else if (strcmp(op, "min") == 0)
        c->op = MPI_MIN;
    else if (strcmp(op, "band") == 0)
        c->op = MPI_BAND;
    else if (strcmp(op, "first") != 0)
        bad_script(c->l, "op");
    else if (first == MPI_OP_NULL)
        MPI_Op_create(take_first, 0, &first);
    if (strcmp(op, "first") == 0)
        c->op = first;
}

/* Elements [skip, skip + n) folded over ranks 0..last. */
static void check_folded(const struct call *c, int skip, int n, int last)
{
    const char *op = word(c->l, "op", "sum");

    for (int i = 0; i < n; i++) {
        long want = data_value(c->seed, skip + i), got;

        for (int r = 1; r <= last; r++)
            want = fold(op, want, data_value(c->seed + r, skip + i));
        got = c->k->get(element(c, c->out, i), 0);
        if (c->k->size == 1)
            want = (long)(unsigned char)want, got = (long)(unsigned char)got;
        if (got != want) {
            fail(c->l, "element %d is %ld, expected %ld", i, got, want);
            return;
        }
    }
}

static void do_reduce(struct call *c)
{
    if (CALL(c, MPI_Reduce, MPI_Ireduce, c->in, c->out, c->count, c->k->type,
             c->op, c->root) == 0 &&
        c->rank == c->root)
        check_folded(c, 0, c->count, c->size - 1);
}

static void do_allreduce(struct call *c)
{
    if (CALL(c, MPI_Allreduce, MPI_Iallreduce, c->in, c->out, c->count,
             c->k->type, c->op) == 0)
        check_folded(c, 0, c->count, c->size - 1);
}

static void do_scan(struct call *c)
{
    if (CALL(c, MPI_Scan, MPI_Iscan, c->in, c->out, c->count, c->k->type,
             c->op) == 0)
        check_folded(c, 0, c->count, c->rank);
}

static void do_exscan(struct call *c)
{
    if (CALL(c, MPI_Exscan, MPI_Iexscan, c->in, c->out, c->count, c->k->type,
             c->op) == 0 &&
        c->rank > 0)
        check_folded(c, 0, c->count, c->rank - 1);
}

static void do_reduce_scatter(struct call *c)
{
    data_fill(c->k, c->in, c->total, c->seed + c->rank);
    if (CALL(c, MPI_Reduce_scatter, MPI_Ireduce_scatter, c->in, c->out,
             c->counts, c->k->type, c->op) == 0)
        check_folded(c, c->at[c->rank], c->counts[c->rank], c->size - 1);
}

static void do_reduce_scatter_block(struct call *c)
{
    data_fill(c->k, c->in, c->count * c->size, c->seed + c->rank);
    if (CALL(c, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, c->in,
             c->out, c->count, c->k->type, c->op) == 0)
        check_folded(c, c->count * c->rank, c->count, c->size - 1);
}

/* ---- moving data ---- */

static void do_barrier(struct call *c)
{
    finish(c, c->nonblocking ? MPI_Ibarrier(c->comm, &c->request)
                             : MPI_Barrier(c->comm));
}

static void do_bcast(struct call *c)
{
    void *b = c->rank == c->root ? c->in : c->out;

    if (CALL(c, MPI_Bcast, MPI_Ibcast, b, c->count, c->k->type, c->root) == 0)
        data_check(c->l, c->k, b, c->count, c->seed + c->root);
}

/* out holds a block of each rank. */
static void check_blocks(const struct call *c)
{
    for (int r = 0; r < c->size; r++)
        data_check(c->l, c->k, element(c, c->out, r * c->count), c->count,
                   c->seed + r);
}

static void check_uneven_blocks(const struct call *c)
{
    for (int r = 0; r < c->size; r++)
        data_check(c->l, c->k, element(c, c->out, c->at[r]), c->counts[r],
                   c->seed + r);
}

static void do_gather(struct call *c)
{
    if (CALL(c, MPI_Gather, MPI_Igather, c->in, c->count, c->k->type, c->out,
             c->count, c->k->type, c->root) == 0 &&
        c->rank == c->root)
        check_blocks(c);
}

static void do_gatherv(struct call *c)
{
    if (CALL(c, MPI_Gatherv, MPI_Igatherv, c->in, c->counts[c->rank],
             c->k->type, c->out, c->counts, c->at, c->k->type, c->root) == 0 &&
        c->rank == c->root)
        check_uneven_blocks(c);
}

static void do_allgather(struct call *c)
{
    if (CALL(c, MPI_Allgather, MPI_Iallgather, c->in, c->count, c->k->type,
             c->out, c->count, c->k->type) == 0)
        check_blocks(c);
}

static void do_allgatherv(struct call *c)
{
    if (CALL(c, MPI_Allgatherv, MPI_Iallgatherv, c->in, c->counts[c->rank],
             c->k->type, c->out, c->counts, c->at, c->k->type) == 0)
        check_uneven_blocks(c);
}

/* in gets the block of seed + r for each rank r. */
static void fill_blocks(struct call *c, bool uneven)
{
    for (int r = 0; r < c->size; r++)
        data_fill(c->k, element(c, c->in, uneven ? c->at[r] : r * c->count),
                  uneven ? c->counts[r] : c->count, c->seed + r);
}

static void do_scatter(struct call *c)
{
    fill_blocks(c, false);
    if (CALL(c, MPI_Scatter, MPI_Iscatter, c->in, c->count, c->k->type, c->out,
             c->count, c->k->type, c->root) == 0)
        data_check(c->l, c->k, c->out, c->count, c->seed + c->rank);
}

static void do_scatterv(struct call *c)
{
    fill_blocks(c, true);
    if (CALL(c, MPI_Scatterv, MPI_Iscatterv, c->in, c->counts, c->at,
             c->k->type, c->out, c->counts[c->rank], c->k->type, c->root) == 0)
        data_check(c->l, c->k, c->out, c->counts[c->rank], c->seed + c->rank);
}

/* Rank s sends to r the data of seed + s * size + r. */
static void do_alltoall(struct call *c)
{
    for (int r = 0; r < c->size; r++)
        data_fill(c->k, element(c, c->in, r * c->count), c->count,
                  c->seed + c->rank * c->size + r);
    if (CALL(c, MPI_Alltoall, MPI_Ialltoall, c->in, c->count, c->k->type,
             c->out, c->count, c->k->type) != 0)
        return;
    for (int r = 0; r < c->size; r++)
        data_check(c->l, c->k, element(c, c->out, r * c->count), c->count,
                   c->seed + r * c->size + c->rank);
}

/* To rank r go count + r elements; from each come count + own rank. */
static void do_alltoallv(struct call *c)
{
    int mine = c->counts[c->rank];
    int *counts = calloc((size_t)c->size * 2, sizeof(int));
    int *at;

    if (!counts)
        MPI_Abort(MPI_COMM_WORLD, 99);
    at = counts + c->size;
    for (int r = 0; r < c->size; r++) {
        counts[r] = mine;
        at[r] = r * mine;
        data_fill(c->k, element(c, c->in, c->at[r]), c->counts[r],
                  c->seed + c->rank * c->size + r);
    }
    if (CALL(c, MPI_Alltoallv, MPI_Ialltoallv, c->in, c->counts, c->at,
             c->k->type, c->out, counts, at, c->k->type) == 0)
        for (int r = 0; r < c->size; r++)
            data_check(c->l, c->k, element(c, c->out, at[r]), mine,
                       c->seed + r * c->size + c->rank);
    free(counts);
}

/* ---- */

static const struct {
    const char *op;
    void (*run)(struct call *c);
} table[] = {
    {"barrier", do_barrier},
    {"bcast", do_bcast},
    {"reduce", do_reduce},
    {"allreduce", do_allreduce},
    {"scan", do_scan},
    {"exscan", do_exscan},
    {"reduce_scatter", do_reduce_scatter},
    {"reduce_scatter_block", do_reduce_scatter_block},
    {"gather", do_gather},
    {"gatherv", do_gatherv},
    {"scatter", do_scatter},
    {"scatterv", do_scatterv},
    {"allgather", do_allgather},
    {"allgatherv", do_allgatherv},
    {"alltoall", do_alltoall},
    {"alltoallv", do_alltoallv},
};

static void make_counts(struct call *c)
{
    c->counts = calloc((size_t)c->size * 2, sizeof(int));
    if (!c->counts)
        MPI_Abort(MPI_COMM_WORLD, 99);
    c->at = c->counts + c->size;
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = c->count + r;
        c->at[r] = c->total;
        c->total += c->counts[r];
    }
}

static void run_call(const struct instruction *l, void (*run)(struct call *c))
{
    struct call c = {.l = l,
                     .k = kind_of(l),
                     .comm = comm_of(l),
                     .root = number(l, "root", 0),
                     .count = number(l, "count", 1),
                     .seed = number(l, "seed", 0),
                     .nonblocking = number(l, "nonblocking", 0)};
    int room;

    if (c.comm == MPI_COMM_NULL)
        return; /* this rank is not in it */
    MPI_Comm_rank(c.comm, &c.rank);
    MPI_Comm_size(c.comm, &c.size);
    choose_op(&c);
    make_counts(&c);
    room = (c.count + c.size) * c.size;
    c.in = data_alloc(c.k, room);
    c.out = data_alloc(c.k, room);
    data_fill(c.k, c.in, room, c.seed + c.rank);
    run(&c);
    free(c.in);
    free(c.out);
    free(c.counts);
}

int run_coll(const struct instruction *l)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->op) == 0) {
            run_call(l, table[i].run);
            return 1;
        }
    return 0;
}
