/* SPDX-License-Identifier: BSD-3-Clause
 * Every call that moves data, and every predefined operation on every
 * predefined type of C that it is defined for.  What must come out is what
 * MPI_Reduce_local makes of the same operands.  Then what many processes do to
 * one place at once: no update is lost, and each sees its own in order. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "rma.h"

#define N 5                 /* elements of a call */
#define WIDEST 32           /* bytes of one */
#define REGION (N * WIDEST) /* of the window, one for each call */
#define LARGE (1 << 20)

static unsigned char *mem;
static MPI_Win win;
static int next, prev;

static void open_window(size_t bytes)
{
    win = window_over(&mem, bytes, 1, want_allocated());
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    free_over(&win, mem, want_allocated());
}

/* ---- types and operations ---- */

enum kind {
    INTEGER = 1,
    FLOATING = 2,
    COMPLEX = 4,
    LOGICAL = 8,
    BYTE = 16,
    PAIR = 32,
    SHARED_INTEGER = 64, /* of several languages: MPI_AINT and such */
    OTHER = 128
};

struct type {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    size_t size;
    void (*set)(void *p, int i, int v);
    int (*equal)(const void *a, const void *b, int i);
};

static struct type types[64];
static int ntypes;

#define PLAIN(id, T)                                                           \
    static void set_##id(void *p, int i, int v)                                \
    {                                                                          \
        ((T *)p)[i] = (T)v;                                                    \
    }                                                                          \
    static int equal_##id(const void *a, const void *b, int i)                 \
    {                                                                          \
        return ((const T *)a)[i] == ((const T *)b)[i];                         \
    }
#define PAIRED(id, T)                                                          \
    struct pair_##id {                                                         \
        T v;                                                                   \
        int at;                                                                \
    };                                                                         \
    static void set_##id(void *p, int i, int v)                                \
    {                                                                          \
        struct pair_##id *pair = (struct pair_##id *)p + i;                    \
                                                                               \
        pair->v = (T)(v % 3);                                                  \
        pair->at = v;                                                          \
    }                                                                          \
    static int equal_##id(const void *a, const void *b, int i)                 \
    {                                                                          \
        const struct pair_##id *x = (const struct pair_##id *)a + i;           \
        const struct pair_##id *y = (const struct pair_##id *)b + i;           \
                                                                               \
        return x->v == y->v && x->at == y->at;                                 \
    }

PLAIN(schar, signed char)
PLAIN(uchar, unsigned char)
PLAIN(char, char)
PLAIN(wchar, wchar_t)
PLAIN(short, short)
PLAIN(ushort, unsigned short)
PLAIN(int, int)
PLAIN(uint, unsigned)
PLAIN(long, long)
PLAIN(ulong, unsigned long)
PLAIN(llong, long long)
PLAIN(ullong, unsigned long long)
PLAIN(float, float)
PLAIN(double, double)
PLAIN(ldouble, long double)
PLAIN(bool, bool)
PLAIN(cfloat, float complex)
PLAIN(cdouble, double complex)
PLAIN(cldouble, long double complex)
PLAIN(aint, MPI_Aint)
PLAIN(offset, MPI_Offset)
PLAIN(count, MPI_Count)
PAIRED(floatint, float)
PAIRED(doubleint, double)
PAIRED(longint, long)
PAIRED(shortint, short)
PAIRED(ldoubleint, long double)
PAIRED(twoint, int)

#define ADD(mpi, id, T, kind)                                                  \
    types[ntypes++] = (struct type)                                            \
    {                                                                          \
#mpi, mpi, kind, sizeof(T), set_##id, equal_##id                       \
    }

static void make_integers(void)
{
    ADD(MPI_SIGNED_CHAR, schar, signed char, INTEGER);
    ADD(MPI_UNSIGNED_CHAR, uchar, unsigned char, INTEGER);
    ADD(MPI_SHORT, short, short, INTEGER);
    ADD(MPI_UNSIGNED_SHORT, ushort, unsigned short, INTEGER);
    ADD(MPI_INT, int, int, INTEGER);
    ADD(MPI_UNSIGNED, uint, unsigned, INTEGER);
    ADD(MPI_LONG, long, long, INTEGER);
    ADD(MPI_UNSIGNED_LONG, ulong, unsigned long, INTEGER);
    ADD(MPI_LONG_LONG, llong, long long, INTEGER);
    ADD(MPI_UNSIGNED_LONG_LONG, ullong, unsigned long long, INTEGER);
    ADD(MPI_INT8_T, schar, int8_t, INTEGER);
    ADD(MPI_UINT8_T, uchar, uint8_t, INTEGER);
    ADD(MPI_INT16_T, short, int16_t, INTEGER);
    ADD(MPI_UINT16_T, ushort, uint16_t, INTEGER);
    ADD(MPI_INT32_T, int, int32_t, INTEGER);
    ADD(MPI_UINT32_T, uint, uint32_t, INTEGER);
    ADD(MPI_INT64_T, long, int64_t, INTEGER);
    ADD(MPI_UINT64_T, ulong, uint64_t, INTEGER);
    ADD(MPI_AINT, aint, MPI_Aint, SHARED_INTEGER);
    ADD(MPI_OFFSET, offset, MPI_Offset, SHARED_INTEGER);
    ADD(MPI_COUNT, count, MPI_Count, SHARED_INTEGER);
}

static void make_others(void)
{
    ADD(MPI_FLOAT, float, float, FLOATING);
    ADD(MPI_DOUBLE, double, double, FLOATING);
    ADD(MPI_LONG_DOUBLE, ldouble, long double, FLOATING);
    ADD(MPI_C_BOOL, bool, bool, LOGICAL);
    ADD(MPI_C_FLOAT_COMPLEX, cfloat, float complex, COMPLEX);
    ADD(MPI_C_DOUBLE_COMPLEX, cdouble, double complex, COMPLEX);
    ADD(MPI_C_LONG_DOUBLE_COMPLEX, cldouble, long double complex, COMPLEX);
    ADD(MPI_BYTE, uchar, unsigned char, BYTE);
    ADD(MPI_CHAR, char, char, OTHER);
    ADD(MPI_WCHAR, wchar, wchar_t, OTHER);
    ADD(MPI_FLOAT_INT, floatint, struct pair_floatint, PAIR);
    ADD(MPI_DOUBLE_INT, doubleint, struct pair_doubleint, PAIR);
    ADD(MPI_LONG_INT, longint, struct pair_longint, PAIR);
    ADD(MPI_SHORT_INT, shortint, struct pair_shortint, PAIR);
    ADD(MPI_LONG_DOUBLE_INT, ldoubleint, struct pair_ldoubleint, PAIR);
    ADD(MPI_2INT, twoint, struct pair_twoint, PAIR);
}

#define ALL_KINDS 255
static const struct op {
    const char *name;
    int kinds; /* that it is defined for */
} ops[] = {{"MPI_MAX", INTEGER | FLOATING | SHARED_INTEGER},
           {"MPI_MIN", INTEGER | FLOATING | SHARED_INTEGER},
           {"MPI_SUM", INTEGER | FLOATING | COMPLEX | SHARED_INTEGER},
           {"MPI_PROD", INTEGER | FLOATING | COMPLEX | SHARED_INTEGER},
           {"MPI_LAND", INTEGER | LOGICAL},
           {"MPI_LOR", INTEGER | LOGICAL},
           {"MPI_LXOR", INTEGER | LOGICAL},
           {"MPI_BAND", INTEGER | BYTE | SHARED_INTEGER},
           {"MPI_BOR", INTEGER | BYTE | SHARED_INTEGER},
           {"MPI_BXOR", INTEGER | BYTE | SHARED_INTEGER},
           {"MPI_MAXLOC", PAIR},
           {"MPI_MINLOC", PAIR},
           {"MPI_REPLACE", ALL_KINDS},
           {"MPI_NO_OP", ALL_KINDS}};
#define NOPS (int)(sizeof(ops) / sizeof(ops[0]))

static MPI_Op op_of(int o)
{
    const MPI_Op all[] = {MPI_MAX,     MPI_MIN,  MPI_SUM,    MPI_PROD,
                          MPI_LAND,    MPI_LOR,  MPI_LXOR,   MPI_BAND,
                          MPI_BOR,     MPI_BXOR, MPI_MAXLOC, MPI_MINLOC,
                          MPI_REPLACE, MPI_NO_OP};

    return all[o];
}

/* ---- one operation on one type, by every call that can ---- */

enum call { ACC, RACC, GET_ACC, RGET_ACC, FETCH, NCALLS };

static unsigned char origin[REGION], before[REGION], wanted[REGION],
    result[NCALLS][REGION], after[NCALLS][REGION];

static void start_values(const struct type *t, int salt)
{
    memset(origin, 0, sizeof(origin));
    memset(before, 0, sizeof(before));
    for (int i = 0; i < N; i++) {
        t->set(origin, i, (i * 5 + salt + rank) % 7);
        t->set(before, i, (i * 3 + salt) % 6);
    }
}

static void combine(const struct type *t, MPI_Op op)
{
    memcpy(wanted, before, sizeof(wanted));
    if (op == MPI_REPLACE)
        memcpy(wanted, origin, sizeof(wanted));
    else if (op != MPI_NO_OP)
        MPI_Reduce_local(origin, wanted, N, t->type, op);
}

static void make_call(enum call c, const struct type *t, MPI_Op op)
{
    MPI_Aint at = c * REGION;
    MPI_Request r;

    switch (c) {
    case ACC:
        MPI_Accumulate(origin, N, t->type, next, at, N, t->type, op, win);
        return;
    case RACC:
        MPI_Raccumulate(origin, N, t->type, next, at, N, t->type, op, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        return;
    case GET_ACC:
        MPI_Get_accumulate(origin, N, t->type, result[c], N, t->type, next, at,
                           N, t->type, op, win);
        return;
    case RGET_ACC:
        MPI_Rget_accumulate(origin, N, t->type, result[c], N, t->type, next, at,
                            N, t->type, op, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        return;
    default:
        MPI_Fetch_and_op(origin, result[c], t->type, next, at, op, win);
    }
}

static void verify(enum call c, const struct type *t, const struct op *op)
{
    for (int i = 0; i < N; i++) {
        int changed = c != FETCH || i == 0;
        int ok = t->equal(after[c], changed ? wanted : before, i) &&
                 (c < GET_ACC || !changed || t->equal(result[c], before, i));

        if (!ok)
            fprintf(stderr, "%s of %s by call %d, element %d\n", op->name,
                    t->name, c, i);
        CHECK(ok);
    }
}

/* What the calls of one family do with every type. */
static void each_operation(enum call first, enum call last)
{
    open_window((size_t)NCALLS * REGION);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ntypes * NOPS; i++) {
        const struct type *t = &types[i / NOPS];
        const struct op *op = &ops[i % NOPS];
        MPI_Op o = op_of(i % NOPS);

        if (!(op->kinds & (int)t->kind))
            continue;
        start_values(t, i);
        combine(t, o);
        for (enum call c = first; c <= last; c++)
            MPI_Put(before, REGION, MPI_BYTE, next, c * REGION, REGION,
                    MPI_BYTE, win);
        MPI_Win_flush(next, win);
        for (enum call c = first; c <= last; c++)
            if (c >= GET_ACC || o != MPI_NO_OP)
                make_call(c, t, o);
        MPI_Win_flush(next, win);
        for (enum call c = first; c <= last; c++)
            MPI_Get(after[c], REGION, MPI_BYTE, next, c * REGION, REGION,
                    MPI_BYTE, win);
        MPI_Win_flush(next, win);
        for (enum call c = first; c <= last; c++)
            if (c >= GET_ACC || o != MPI_NO_OP)
                verify(c, t, op);
    }
    MPI_Win_unlock_all(win);
    close_window();
}

static void accumulate_has_every_operation(void)
{
    each_operation(ACC, ACC);
}

static void get_accumulate_has_every_operation(void)
{
    each_operation(GET_ACC, GET_ACC);
}

static void fetch_and_op_has_every_operation(void)
{
    each_operation(FETCH, FETCH);
}

static void request_forms_have_every_operation(void)
{
    each_operation(RACC, RGET_ACC);
}

static void compare_and_swap_of(const struct type *t)
{
    unsigned char compare[WIDEST] = {0}, in[WIDEST] = {0}, now[WIDEST] = {0};
    unsigned char old[WIDEST] = {0}, put[WIDEST] = {0};

    for (int same = 0; same < 2; same++) {
        t->set(old, 0, 1);
        t->set(put, 0, same);
        t->set(compare, 0, same ? 1 : 0);
        MPI_Put(old, 1, t->type, next, 0, 1, t->type, win);
        MPI_Win_flush(next, win);
        MPI_Compare_and_swap(put, compare, in, t->type, next, 0, win);
        MPI_Win_flush(next, win);
        MPI_Get(now, 1, t->type, next, 0, 1, t->type, win);
        MPI_Win_flush(next, win);
        CHECK(t->equal(in, old, 0));
        CHECK(t->equal(now, same ? put : old, 0));
    }
}

static void compare_and_swap_compares(void)
{
    open_window(WIDEST);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ntypes; i++)
        if (types[i].kind & (INTEGER | SHARED_INTEGER | LOGICAL | BYTE))
            compare_and_swap_of(&types[i]);
    MPI_Win_unlock_all(win);
    close_window();
}

/* ---- plain moves ---- */

static const int lengths[] = {0,     1,      7,      8,      63,        64,
                              65,    4095,   4096,   4097,   65535,     65536,
                              65537, 262143, 262144, 262145, LARGE - 1, LARGE};
#define NLENGTHS (int)(sizeof(lengths) / sizeof(lengths[0]))

static void every_length(void)
{
    unsigned char *out = malloc(LARGE), *in = malloc(LARGE);

    open_window(LARGE + 1);
    for (int i = 0; i < NLENGTHS; i++) {
        int n = lengths[i], at = i % 2;

        fill(out, (size_t)n, rank, n);
        memset(in, 0, LARGE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(out, n, MPI_BYTE, next, at, n, MPI_BYTE, win);
        MPI_Win_flush(next, win);
        MPI_Get(in, n, MPI_BYTE, next, at, n, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        CHECK(same(in, (size_t)n, rank, n));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        CHECK(same(mem + at, (size_t)n, prev, n));
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close_window();
    free(out);
    free(in);
}

static void request_forms_of_put_and_get(void)
{
    enum { PIECES = 16, PIECE = 3000 };
    unsigned char *out = malloc(PIECES * PIECE), *in = malloc(PIECES * PIECE);
    MPI_Request req[PIECES];
    int i, n = 0;

    open_window(PIECES * PIECE);
    fill(out, PIECES * PIECE, rank, 1);
    MPI_Win_lock_all(0, win);
    for (i = 0; i < PIECES; i++)
        MPI_Rput(out + i * PIECE, PIECE, MPI_BYTE, next, i * PIECE, PIECE,
                 MPI_BYTE, win, &req[i]);
    MPI_Waitall(PIECES, req, MPI_STATUSES_IGNORE);
    memset(out, 0, PIECES * PIECE); /* it is the program's again */
    MPI_Win_flush(next, win);
    for (i = 0; i < PIECES; i++)
        MPI_Rget(in + i * PIECE, PIECE, MPI_BYTE, next, i * PIECE, PIECE,
                 MPI_BYTE, win, &req[i]);
    do {
        MPI_Waitany(PIECES, req, &i, MPI_STATUS_IGNORE);
        if (i != MPI_UNDEFINED) {
            unsigned char *whole = malloc(PIECES * PIECE);

            fill(whole, PIECES * PIECE, rank, 1);
            CHECK(memcmp(in + i * PIECE, whole + i * PIECE, PIECE) == 0);
            free(whole);
            n++;
        }
    } while (i != MPI_UNDEFINED);
    CHECK(n == PIECES);
    MPI_Win_unlock_all(win);
    close_window();
    free(out);
    free(in);
}

static void nobody_and_oneself(void)
{
    int v = 5, in = 7, back = 9;

    open_window(2 * sizeof(int));
    MPI_Win_lock_all(0, win);
    MPI_Put(&v, 1, MPI_INT, MPI_PROC_NULL, 12345, 1, MPI_INT, win);
    MPI_Get(&in, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Accumulate(&v, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    CHECK(in == 7);
    MPI_Put(&v, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    MPI_Win_flush(rank, win);
    MPI_Accumulate(&v, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(&v, &in, MPI_INT, rank, 0, MPI_SUM, win);
    MPI_Win_flush(rank, win);
    MPI_Get(&back, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    CHECK(in == 10 && back == 15);
    close_window();
}

/* ---- many origins, one place ---- */

#define TIMES 50

/* mpi4py sums no bytes up, which MPI defines for no element of them. */
static void any_operation_does_nothing_to_no_data(void)
{
    char out = 1, in = 2;

    open_window(REGION);
    mem[0] = 77;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&out, 0, MPI_BYTE, next, 0, 0, MPI_BYTE, MPI_SUM, win);
    MPI_Get_accumulate(&out, 0, MPI_BYTE, &in, 0, MPI_BYTE, next, 0, 0,
                       MPI_BYTE, MPI_SUM, win);
    MPI_Get_accumulate(&out, 0, MPI_DOUBLE, &in, 0, MPI_DOUBLE, prev, 0, 0,
                       MPI_DOUBLE, MPI_BAND, win);
    MPI_Win_fence(0, win);
    CHECK(mem[0] == 77 && in == 2);
    close_window();
}

static void counter_gives_each_number_once(void)
{
    long one = 1, *got = malloc(TIMES * sizeof(long)), *all = NULL;
    int *seen = calloc((size_t)(TIMES * size), sizeof(int));

    open_window(sizeof(long));
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        if (i % 2)
            MPI_Fetch_and_op(&one, &got[i], MPI_LONG, 0, 0, MPI_SUM, win);
        else
            MPI_Get_accumulate(&one, 1, MPI_LONG, &got[i], 1, MPI_LONG, 0, 0, 1,
                               MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(i == 0 || got[i] > got[i - 1]);
    }
    MPI_Win_unlock_all(win);
    if (rank == 0)
        all = malloc((size_t)(TIMES * size) * sizeof(long));
    MPI_Gather(got, TIMES, MPI_LONG, all, TIMES, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < TIMES * size; i++) {
        CHECK(all[i] >= 0 && all[i] < TIMES * size);
        CHECK(!seen[all[i]]++);
    }
    close_window();
    free(got);
    free(all);
    free(seen);
}

/* Each adds one by comparing and swapping until it was the first. */
static void compare_and_swap_loses_nothing(void)
{
    int old = 0, now, sum = -1;

    open_window(sizeof(int));
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        for (;;) {
            int put = old + 1;

            MPI_Compare_and_swap(&put, &old, &now, MPI_INT, 0, 0, win);
            MPI_Win_flush(0, win);
            if (now == old)
                break;
            CHECK(now > old || i == 0);
            old = now;
        }
        old++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    CHECK(sum == size * TIMES);
    close_window();
}

/* Sums by every call into the same elements, of two types. */
static void calls_are_atomic_with_each_other(void)
{
    double half[8], *d, in[8];
    int one = 1, got;

    open_window(8 * sizeof(double) + sizeof(int));
    for (int i = 0; i < 8; i++)
        half[i] = 0.5;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        if ((i + rank) % 3 == 0)
            MPI_Accumulate(half, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, MPI_SUM,
                           win);
        else if ((i + rank) % 3 == 1)
            MPI_Get_accumulate(half, 8, MPI_DOUBLE, in, 8, MPI_DOUBLE, 0, 0, 8,
                               MPI_DOUBLE, MPI_SUM, win);
        else
            for (int k = 0; k < 8; k++)
                MPI_Fetch_and_op(&half[k], &in[k], MPI_DOUBLE, 0,
                                 k * (MPI_Aint)sizeof(double), MPI_SUM, win);
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 8 * sizeof(double), MPI_SUM,
                         win);
        if (i % 5 == 0)
            MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    d = (double *)mem;
    for (int k = 0; rank == 0 && k < 8; k++)
        CHECK(d[k] == 0.5 * TIMES * size);
    CHECK(rank != 0 || *(int *)(d + 8) == TIMES * size);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* What one origin does to one place with accumulates happens in its order. */
static void accumulates_of_one_origin_keep_their_order(void)
{
    long v[TIMES], seen[TIMES];

    open_window((size_t)size * sizeof(long));
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        v[i] = 1000 * rank + i;
        MPI_Accumulate(&v[i], 1, MPI_LONG, 0, rank * (MPI_Aint)sizeof(long), 1,
                       MPI_LONG, MPI_REPLACE, win);
        MPI_Get_accumulate(NULL, 0, MPI_LONG, &seen[i], 1, MPI_LONG, 0,
                           rank * (MPI_Aint)sizeof(long), 1, MPI_LONG,
                           MPI_NO_OP, win);
    }
    MPI_Win_unlock_all(win);
    for (int i = 0; i < TIMES; i++)
        CHECK(seen[i] == v[i]);
    close_window();
}

/* Large ones, at an odd place, of everybody at once. */
static void large_accumulates_add_up(void)
{
    enum { COUNT = 100003 };
    double *out = malloc(COUNT * sizeof(double)), *d;

    open_window((COUNT + 1) * sizeof(double));
    for (int i = 0; i < COUNT; i++)
        out[i] = i + rank;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(out, COUNT, MPI_DOUBLE, 0, sizeof(double), COUNT, MPI_DOUBLE,
                   MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    d = (double *)mem + 1;
    for (int i = 0; rank == 0 && i < COUNT; i++)
        CHECK(d[i] == (double)i * size + size * (size - 1) / 2);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(out);
}

static const struct part parts[] = {
    {"lengths", every_length},
    {"nobody", nobody_and_oneself},
    {"nothing", any_operation_does_nothing_to_no_data},
    {"acc", accumulate_has_every_operation},
    {"order", accumulates_of_one_origin_keep_their_order},
    {"large", large_accumulates_add_up},
    {"get_acc", get_accumulate_has_every_operation},
    {"fetch", fetch_and_op_has_every_operation},
    {"cas", compare_and_swap_compares},
    {"counter", counter_gives_each_number_once},
    {"cas_sum", compare_and_swap_loses_nothing},
    {"atomic", calls_are_atomic_with_each_other},
    {"requests", request_forms_of_put_and_get},
    {"request_ops", request_forms_have_every_operation}};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    make_integers();
    make_others();
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("rma_ops");
}
