/* SPDX-License-Identifier: BSD-3-Clause
 * Derived types of the origin, of the result and of the target, all different:
 * what must come out is what MPI_Pack, MPI_Unpack and MPI_Reduce_local make of
 * the same memory in one process.  Types are freed as soon as the call is back,
 * and their handles used again for others. */
#include <stdint.h>

#include "rma.h"

#define CELLS 600 /* ints of the window */
#define SPAN 400  /* of them a drawn type may reach */
#define ROUNDS 60

static int *mem; /* the window: touched by one origin only, prev */
static int model[CELLS];
static MPI_Win win;
static int next, prev;
static uint64_t state;

static int draw(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 11) % (uint64_t)n);
}

static void open_window(void)
{
    win = window_over(&mem, sizeof(model), sizeof(int), want_allocated());
    for (int i = 0; i < CELLS; i++)
        model[i] = mem[i] = 10000 * i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
}

/* The target's memory is what the model says. */
static void look(const char *what)
{
    int seen[CELLS];

    MPI_Get(seen, CELLS, MPI_INT, next, 0, CELLS, MPI_INT, win);
    MPI_Win_flush(next, win);
    for (int i = 0; i < CELLS; i++)
        if (seen[i] != model[i])
            fprintf(stderr, "%s: cell %d is %d, not %d\n", what, i, seen[i],
                    model[i]);
    CHECK(memcmp(seen, model, sizeof(model)) == 0);
}

static void close_window(void)
{
    MPI_Win_unlock_all(win);
    free_over(&win, mem, want_allocated());
}

/* ---- types of some ints each ---- */

static MPI_Datatype vector(int n)
{
    MPI_Datatype t;

    MPI_Type_vector(n, 1, 3, MPI_INT, &t);
    return t;
}

static MPI_Datatype blocks(int n)
{
    int length[3] = {1, n - 2, 1}, at[3] = {n + 20, 3, 0};
    MPI_Datatype t;

    MPI_Type_indexed(3, length, at, MPI_INT, &t);
    return t;
}

static MPI_Datatype structure(int n)
{
    int length[2] = {n - 2, 1};
    MPI_Aint at[2] = {8 * sizeof(int), 2 * sizeof(int)};
    MPI_Datatype two, t, types[2];

    MPI_Type_contiguous(2, MPI_INT, &two);
    types[0] = MPI_INT;
    types[1] = two;
    MPI_Type_create_struct(2, length, at, types, &t);
    MPI_Type_free(&two);
    return t;
}

static MPI_Datatype patch(int n)
{
    int sizes[2] = {n + 3, 7}, part[2] = {n, 1}, from[2] = {2, 3};
    MPI_Datatype t;

    MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &t);
    return t;
}

static MPI_Datatype spread(int n)
{
    MPI_Aint at[64];
    MPI_Datatype t;

    for (int i = 0; i < n; i++)
        at[i] = (MPI_Aint)sizeof(int) * ((i * 7) % n * 2);
    MPI_Type_create_hindexed_block(n, 1, at, MPI_INT, &t);
    return t;
}

static MPI_Datatype nested(int n)
{
    MPI_Datatype a, b, t;

    MPI_Type_vector(1, 1, 1, MPI_INT, &a);
    MPI_Type_create_resized(a, 0, 4 * sizeof(int), &b);
    MPI_Type_contiguous(n, b, &t);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
    return t;
}

static MPI_Datatype plain(int n)
{
    MPI_Datatype t;

    MPI_Type_contiguous(n, MPI_INT, &t);
    return t;
}

static MPI_Datatype (*const makers[])(int n) = {
    vector, blocks, structure, patch, spread, nested, plain};
#define NMAKERS (int)(sizeof(makers) / sizeof(makers[0]))

static MPI_Datatype make(int kind, int n)
{
    MPI_Datatype t = makers[kind % NMAKERS](n);

    MPI_Type_commit(&t);
    return t;
}

/* ---- the model ---- */

static void take_out(const int *from, MPI_Datatype t, int *list, int n)
{
    int at = 0;

    MPI_Pack(from, 1, t, list, n * (int)sizeof(int), &at, MPI_COMM_SELF);
    CHECK(at == n * (int)sizeof(int));
}

static void put_in(const int *list, int n, int *to, MPI_Datatype t)
{
    int at = 0;

    MPI_Unpack(list, n * (int)sizeof(int), &at, to, 1, t, MPI_COMM_SELF);
}

static void apply(const int *out, MPI_Datatype from, int at, MPI_Datatype to,
                  int n, MPI_Op op)
{
    int list[64], old[64];

    take_out(out, from, list, n);
    take_out(model + at, to, old, n);
    if (op == MPI_REPLACE)
        memcpy(old, list, sizeof(old));
    else if (op != MPI_NO_OP)
        MPI_Reduce_local(list, old, n, MPI_INT, op);
    put_in(old, n, model + at, to);
}

/* ---- calls ---- */

static void values(int *out)
{
    for (int i = 0; i < SPAN; i++)
        out[i] = draw(1000) + 1000 * rank;
}

static void put_of_every_kind_into_every_kind(void)
{
    int out[SPAN];

    open_window();
    for (int i = 0; i < NMAKERS * NMAKERS; i++) {
        int n = 4 + i % 20, at = i % 50;
        MPI_Datatype from = make(i / NMAKERS, n), to = make(i, n);

        values(out);
        apply(out, from, at, to, n, MPI_REPLACE);
        MPI_Put(out, 1, from, next, at, 1, to, win);
        MPI_Type_free(&from);
        MPI_Type_free(&to);
        MPI_Win_flush(next, win);
        look("put");
    }
    close_window();
}

static void get_of_every_kind_from_every_kind(void)
{
    int in[SPAN], wanted[SPAN], list[64];

    open_window();
    for (int i = 0; i < NMAKERS * NMAKERS; i++) {
        int n = 4 + i % 20, at = i % 50;
        MPI_Datatype into = make(i / NMAKERS, n), from = make(i, n);

        memset(in, 0, sizeof(in));
        memset(wanted, 0, sizeof(wanted));
        take_out(model + at, from, list, n);
        put_in(list, n, wanted, into);
        MPI_Get(in, 1, into, next, at, 1, from, win);
        MPI_Type_free(&into);
        MPI_Type_free(&from);
        MPI_Win_flush(next, win);
        CHECK(memcmp(in, wanted, sizeof(in)) == 0);
    }
    close_window();
}

static void accumulate_of_every_kind_into_every_kind(void)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE};
    int out[SPAN];

    open_window();
    for (int i = 0; i < NMAKERS * NMAKERS; i++) {
        int n = 4 + i % 20, at = i % 50;
        MPI_Datatype from = make(i / NMAKERS, n), to = make(i, n);

        values(out);
        apply(out, from, at, to, n, ops[i % 4]);
        MPI_Accumulate(out, 1, from, next, at, 1, to, ops[i % 4], win);
        MPI_Type_free(&from);
        MPI_Type_free(&to);
        MPI_Win_flush(next, win);
        look("accumulate");
    }
    close_window();
}

static void three_kinds_in_get_accumulate(void)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_MIN, MPI_NO_OP, MPI_REPLACE};
    int out[SPAN], in[SPAN], wanted[SPAN], list[64];

    open_window();
    for (int i = 0; i < NMAKERS * NMAKERS; i++) {
        int n = 4 + i % 20, at = i % 50;
        MPI_Datatype from = make(i / NMAKERS, n), to = make(i, n);
        MPI_Datatype result = make(i + i / NMAKERS, n);

        values(out);
        memset(in, 0, sizeof(in));
        memset(wanted, 0, sizeof(wanted));
        take_out(model + at, to, list, n);
        put_in(list, n, wanted, result);
        apply(out, from, at, to, n, ops[i % 4]);
        MPI_Get_accumulate(out, 1, from, in, 1, result, next, at, 1, to,
                           ops[i % 4], win);
        MPI_Type_free(&from);
        MPI_Type_free(&to);
        MPI_Type_free(&result);
        MPI_Win_flush(next, win);
        CHECK(memcmp(in, wanted, sizeof(in)) == 0);
        look("get_accumulate");
    }
    close_window();
}

/* One type in many calls, several of it in each: the target knows it already.
 * Then its handle is another type's. */
static void one_type_many_times(void)
{
    int out[SPAN];

    open_window();
    values(out);
    for (int kind = 0; kind < NMAKERS; kind++) {
        MPI_Datatype t = make(kind, 5);
        MPI_Aint low, extent;
        int step;

        MPI_Type_get_extent(t, &low, &extent);
        step = (int)(extent / (MPI_Aint)sizeof(int));
        for (int i = 0; i < 20; i++) {
            int at = i * 2;

            for (int k = 0; k < 3; k++)
                apply(out + k * step, t, at + k * step, t, 5, MPI_SUM);
            MPI_Accumulate(out, 3, t, next, at, 3, t, MPI_SUM, win);
        }
        MPI_Type_free(&t);
        MPI_Win_flush(next, win);
        look("one type");
    }
    close_window();
}

/* Absolute addresses of the origin. */
static void origin_from_the_bottom(void)
{
    int a[4] = {11, 12, 13, 14}, b[3] = {21, 22, 23}, length[2] = {4, 3};
    MPI_Aint at[2];
    MPI_Datatype t;

    open_window();
    MPI_Get_address(a, &at[0]);
    MPI_Get_address(b, &at[1]);
    MPI_Type_create_hindexed(2, length, at, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Put(MPI_BOTTOM, 1, t, next, 100, 7, MPI_INT, win);
    MPI_Win_flush(next, win);
    memcpy(model + 100, a, sizeof(a));
    memcpy(model + 104, b, sizeof(b));
    look("bottom");
    for (int i = 0; i < 7; i++)
        model[200 + i] = i;
    MPI_Put(model + 200, 7, MPI_INT, next, 200, 7, MPI_INT, win);
    MPI_Win_flush(next, win);
    MPI_Get(MPI_BOTTOM, 1, t, next, 200, 7, MPI_INT, win);
    MPI_Win_flush(next, win);
    CHECK(a[0] == 0 && a[3] == 3 && b[0] == 4 && b[2] == 6);
    MPI_Type_free(&t);
    close_window();
}

/* A structure of members of different sizes, with gaps, as one element. */
static void mixed_structures(void)
{
    struct mixed {
        char c;
        double d;
        short s[3];
        int i;
    } out[5], in[5], *m;
    int length[4] = {1, 1, 3, 1};
    MPI_Aint at[4] = {offsetof(struct mixed, c), offsetof(struct mixed, d),
                      offsetof(struct mixed, s), offsetof(struct mixed, i)};
    MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT}, raw, t;
    MPI_Win w;

    MPI_Type_create_struct(4, length, at, types, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct mixed), &t);
    MPI_Type_free(&raw);
    MPI_Type_commit(&t);
    m = malloc(5 * sizeof(*m));
    w = window(m, 5 * sizeof(*m), sizeof(*m));
    memset(out, 0, sizeof(out));
    memset(in, 0, sizeof(in));
    for (int i = 0; i < 5; i++)
        out[i] = (struct mixed){(char)i, i + 0.25, {1, 2, (short)i}, -i};
    MPI_Win_fence(0, w);
    MPI_Put(out, 5, t, next, 0, 5, t, w);
    MPI_Win_fence(0, w);
    MPI_Get(in, 4, t, next, 1, 4, t, w);
    MPI_Win_fence(0, w);
    for (int i = 0; i < 5; i++)
        CHECK(m[i].c == i && m[i].d == i + 0.25 && m[i].s[2] == i &&
              m[i].i == -i);
    for (int i = 0; i < 4; i++)
        CHECK(in[i].d == i + 1.25 && in[i].s[1] == 2 && in[i].i == -i - 1);
    MPI_Type_free(&t);
    MPI_Win_free(&w);
    free(m);
}

/* Each process counts displacements in a unit of its own. */
static void units_of_displacement(void)
{
    int unit = 1 << rank % 4, theirs = 1 << next % 4, v = 7 + rank;
    char *cells = calloc(64, 1);
    MPI_Win w = window(cells, 64, unit);

    MPI_Win_fence(0, w);
    MPI_Put(&v, 1, MPI_INT, next, 16 / theirs, 1, MPI_INT, w);
    MPI_Win_fence(0, w);
    memcpy(&v, cells + 16, sizeof(v));
    CHECK(v == 7 + prev);
    MPI_Win_free(&w);
    free(cells);
}

/* By lot, several calls before they are ended, each in cells of its own. */
static void drawn_puts_under_way_together(void)
{
    enum { CALLS = 6, ROOM = CELLS / CALLS };
    int *out = malloc(CALLS * SPAN * sizeof(int));

    open_window();
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CALLS; c++) {
            int n = 3 + draw(9), at = c * ROOM;
            MPI_Datatype from = make(draw(NMAKERS), n);
            MPI_Datatype to = make(draw(NMAKERS), n);

            values(out + c * SPAN);
            apply(out + c * SPAN, from, at, to, n, MPI_REPLACE);
            MPI_Put(out + c * SPAN, 1, from, next, at, 1, to, win);
            MPI_Type_free(&from);
            MPI_Type_free(&to);
        }
        MPI_Win_flush(next, win);
        look("drawn");
    }
    close_window();
    free(out);
}

static const struct part parts[] = {
    {"put", put_of_every_kind_into_every_kind},
    {"get", get_of_every_kind_from_every_kind},
    {"acc", accumulate_of_every_kind_into_every_kind},
    {"same", one_type_many_times},
    {"bottom", origin_from_the_bottom},
    {"mixed", mixed_structures},
    {"units", units_of_displacement},
    {"drawn", drawn_puts_under_way_together},
    {"get_acc", three_kinds_in_get_accumulate}};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    state = 0x9e3779b97f4a7c15ULL + (uint64_t)rank;
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("rma_types");
}
