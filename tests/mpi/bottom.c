/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_BOTTOM and a type of absolute addresses in calls that copy or fold what
 * the program has there, with operations of its own.  (The result of most
 * reductions went elsewhere, and what was to be sent was not copied.) */
#include <stdint.h>

#include "check.h"

#define MAX_RANKS 64

/* x -> a x + b: each process's is another one, and their order matters. */
struct map {
    int a, b;
};

static struct map mine, data[MAX_RANKS];
static MPI_Datatype type; /* data[0], and so on by its extent */
static MPI_Op op;
static int commutes;

static struct map own_of(int who)
{
    return (struct map){who % 3 + 1, who + 10};
}

static struct map fold(struct map x, struct map y)
{
    if (commutes)
        return (struct map){x.a + y.a, x.b + y.b};
    return (struct map){x.a * y.a % 1009, (x.a * y.b + x.b) % 1009};
}

static void fold_all(void *in, void *inout, int *n, MPI_Datatype *t)
{
    MPI_Aint lb, extent, first, length;

    MPI_Type_get_extent(*t, &lb, &extent);
    MPI_Type_get_true_extent(*t, &first, &length);
    for (int i = 0; i < *n; i++) {
        uintptr_t at = (uintptr_t)first + (uintptr_t)i * (uintptr_t)extent;
        struct map *y = (struct map *)((uintptr_t)inout + at);

        *y = fold(*(struct map *)((uintptr_t)in + at), *y);
    }
}

/* Of the ranks from..to, both included. */
static int is_fold(struct map got, int from, int to)
{
    struct map sum = own_of(from);

    for (int i = from + 1; i <= to; i++)
        sum = fold(sum, own_of(i));
    return got.a == sum.a && got.b == sum.b;
}

/* A buffer for the same type whose data are those of `mine`. */
static void *shifted(void)
{
    return (void *)((uintptr_t)&mine - (uintptr_t)data);
}

static void begin_again(void)
{
    mine = own_of(rank);
    for (int i = 0; i < MAX_RANKS; i++)
        data[i] = mine;
}

static void done(int rc, MPI_Request *request)
{
    CHECK(rc == MPI_SUCCESS);
    if (request)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

#define ONE MPI_BOTTOM, 1, type, op
/* The result is `data[0]`, what is added `own`: in both forms of the call. */
#define BOTH(name, iname, own, right, ...)                                     \
    do {                                                                       \
        MPI_Request r;                                                         \
                                                                               \
        begin_again();                                                         \
        done(MPI_##name(own, __VA_ARGS__), NULL);                              \
        CHECK(right);                                                          \
        begin_again();                                                         \
        done(MPI_##iname(own, __VA_ARGS__, &r), &r);                           \
        CHECK(right);                                                          \
    } while (0)

static void results_at_bottom(void *own)
{
    MPI_Comm w = MPI_COMM_WORLD;

    BOTH(Allreduce, Iallreduce, own, is_fold(data[0], 0, size - 1), ONE, w);
    BOTH(Scan, Iscan, own, is_fold(data[0], 0, rank), ONE, w);
    BOTH(Exscan, Iexscan, own, rank == 0 || is_fold(data[0], 0, rank - 1), ONE,
         w);
}

static void reductions_to_a_root(void)
{
    for (int root = 0; root<size; root += size> 1 ? size - 1 : 1)
        BOTH(Reduce, Ireduce, rank == root ? MPI_IN_PLACE : MPI_BOTTOM,
             rank != root || is_fold(data[0], 0, size - 1), ONE, root,
             MPI_COMM_WORLD);
}

static void own_at_bottom(void)
{
    begin_again();
    done(MPI_Allreduce(MPI_BOTTOM, shifted(), 1, type, op, MPI_COMM_WORLD),
         NULL);
    CHECK(is_fold(mine, 0, size - 1) && is_fold(data[0], rank, rank));
    begin_again();
    done(MPI_Exscan(MPI_BOTTOM, shifted(), 1, type, op, MPI_COMM_WORLD), NULL);
    CHECK(rank == 0 || is_fold(mine, 0, rank - 1));
}

static void scattered(void)
{
    int counts[MAX_RANKS];

    for (int i = 0; i < size; i++)
        counts[i] = 1;
    BOTH(Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE,
         is_fold(data[0], 0, size - 1), MPI_BOTTOM, counts, type, op,
         MPI_COMM_WORLD);
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE,
         is_fold(data[0], 0, size - 1), ONE, MPI_COMM_WORLD);
}

/* Each half gets what the other one adds. */
static void between_groups(void)
{
    int upper = rank >= size / 2, half = size / 2;
    int from = upper ? 0 : half, to = upper ? half - 1 : size - 1;
    int root = !upper ? 0 : rank == half ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm group, inter;

    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, upper ? 0 : half, 3, &inter);
    begin_again();
    done(MPI_Allreduce(shifted(), ONE, inter), NULL);
    CHECK(is_fold(data[0], from, to));
    begin_again();
    done(MPI_Reduce(shifted(), ONE, root, inter), NULL);
    CHECK(rank != half || is_fold(data[0], from, to));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&group);
}

/* What goes out is copied before the other's comes in. */
static void replaced(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    begin_again();
    done(MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, to, 1, from, 1,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE),
         NULL);
    CHECK(is_fold(data[0], from, from));
    begin_again();
    done(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, MPI_BOTTOM, 1, type,
                      MPI_COMM_WORLD),
         NULL);
    for (int i = 0; i < size; i++)
        CHECK(is_fold(data[i], i, i));
}

static void make_type(void)
{
    int two = 2;
    MPI_Aint at;

    MPI_Get_address(data, &at);
    MPI_Type_create_hindexed(1, &two, &at, MPI_INT, &type);
    MPI_Type_commit(&type);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(size <= MAX_RANKS);
    make_type();
    for (commutes = 0; commutes < 2; commutes++) {
        MPI_Op_create(fold_all, commutes, &op);
        results_at_bottom(MPI_IN_PLACE);
        results_at_bottom(shifted());
        own_at_bottom();
        reductions_to_a_root();
        scattered();
        between_groups();
        MPI_Op_free(&op);
    }
    replaced();
    MPI_Type_free(&type);
    return end("bottom");
}
