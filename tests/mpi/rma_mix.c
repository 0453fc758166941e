/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   rma_mix SEED [ROUNDS [EPOCHS]]
 *
 * All ranks draw the same operations from SEED, of every kind, by epochs of
 * every kind (EPOCHS: how many of the list below, from its head), on two
 * windows, and keep a model of all memory.  In one epoch no two operations meet
 * but accumulates with one operation.  After each epoch each process compares
 * its memory, and what it got, with the model.  Each draws for itself when it
 * rests, and in what order it looks.
 *
 * DIES_AFTER=MICROSECONDS: so long after the windows were made rank SEED % size
 * is killed, wherever it is.
 */
#include <signal.h>
#include <unistd.h>

#include "mix.h"
#include "rma.h"

#define SLOTS 12
#define SLOT 64 /* ints, all of which an operation may touch */
#define CELLS (SLOTS * SLOT)
#define MOST 16 /* ranks */
#define OPS 40
#define NWINS 2

static int kinds;

/* ---- windows and their model ---- */

static MPI_Win wins[NWINS], win;
static int *mem[NWINS], *local;
static int model[NWINS][MOST][CELLS], (*now)[CELLS];

static void open_windows(void)
{
    CHECK(size <= MOST);
    apart();
    for (int w = 0; w < NWINS; w++)
        wins[w] = window_over(&mem[w], sizeof(model[0][0]), sizeof(int), w % 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Not from a handler: the kernel does it in the middle of anything. */
static void die_later(const char *microseconds)
{
    struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL,
                            .sigev_signo = SIGKILL};
    long us = atol(microseconds);
    struct itimerspec when = {.it_value = {us / 1000000, us % 1000000 * 1000}};
    timer_t timer;

    CHECK(us > 0);
    if ((int)(seed % (uint64_t)size) == rank)
        CHECK(timer_create(CLOCK_MONOTONIC, &kill, &timer) == 0 &&
              timer_settime(timer, 0, &when, NULL) == 0);
}

static void close_windows(void)
{
    for (int w = 0; w < NWINS; w++)
        free_over(&wins[w], mem[w], w % 2);
}

/* ---- operations ---- */

enum call { PUT, GET, ACC, GET_ACC, FETCH, CAS, NCALLS };

static struct op {
    enum call call;
    int origin, target, slot, count, stride, salt;
    int out[SLOT], in[SLOT], wanted[SLOT], compare;
} ops[OPS];
static int nops;

static int sums[MOST]
               [SLOTS]; /* the operation of a slot where many meet, or 0 */
static int used[MOST][SLOTS];

static MPI_Op op_numbered(int n)
{
    return n == 1 ? MPI_SUM : n == 2 ? MPI_MAX : n == 3 ? MPI_BXOR : MPI_MIN;
}

static int combined(int n, int a, int b)
{
    if (n == 1)
        return a + b;
    if (n == 2)
        return a > b ? a : b;
    return n == 3 ? a ^ b : a < b ? a : b;
}

static void draw_op(struct op *o)
{
    o->call = (enum call)pick(NCALLS);
    o->origin = pick(size);
    o->target = pick(size);
    o->slot = pick(SLOTS);
    o->stride = 1 + pick(3);
    o->count = 1 + pick(SLOT / 3);
    o->salt = pick(10000);
    if (o->call == FETCH || o->call == CAS)
        o->count = o->stride = 1;
    for (int i = 0; i < o->count; i++)
        o->out[i] = o->salt + i;
}

/* May it be in the epoch?  Where many meet, only accumulates whose result is
 * not looked at. */
static int fits(const struct op *o)
{
    int *taken = &used[o->target][o->slot], *sum = &sums[o->target][o->slot];

    if (o->call == ACC && o->slot % 3 == 0 && (!*taken || *sum)) {
        if (!*sum)
            *sum = 1 + o->salt % 4;
        *taken = 1;
        return 1;
    }
    if (*taken)
        return 0;
    *taken = 1;
    return 1;
}

static void apply(struct op *o)
{
    int *cell = &now[o->target][o->slot * SLOT];
    int n = sums[o->target][o->slot];

    for (int i = 0; i < o->count; i++, cell += o->stride) {
        o->wanted[i] = *cell;
        switch (o->call) {
        case GET:
            break;
        case PUT:
            *cell = o->out[i];
            break;
        case ACC:
            *cell = combined(n ? n : 1, *cell, o->out[i]);
            break;
        case GET_ACC:
        case FETCH:
            *cell = combined(1 + o->salt % 4, *cell, o->out[i]);
            break;
        default:
            o->compare = *cell + o->salt % 2;
            if (o->compare == *cell)
                *cell = o->out[i];
        }
    }
}

static void draw_ops(void)
{
    int n = 1 + pick(OPS);

    memset(sums, 0, sizeof(sums));
    memset(used, 0, sizeof(used));
    nops = 0;
    for (int i = 0; i < n; i++) {
        draw_op(&ops[nops]);
        if (fits(&ops[nops]))
            apply(&ops[nops++]);
    }
}

static void make_call(struct op *o)
{
    MPI_Aint at = o->slot * SLOT;
    int n = sums[o->target][o->slot], count = o->count;
    MPI_Op op = op_numbered(1 + o->salt % 4);
    MPI_Datatype t;

    MPI_Type_vector(count, 1, o->stride, MPI_INT, &t);
    MPI_Type_commit(&t);
    switch (o->call) {
    case PUT:
        MPI_Put(o->out, count, MPI_INT, o->target, at, 1, t, win);
        break;
    case GET:
        MPI_Get(o->in, count, MPI_INT, o->target, at, 1, t, win);
        break;
    case ACC:
        MPI_Accumulate(o->out, count, MPI_INT, o->target, at, 1, t,
                       op_numbered(n ? n : 1), win);
        break;
    case GET_ACC:
        MPI_Get_accumulate(o->out, count, MPI_INT, o->in, count, MPI_INT,
                           o->target, at, 1, t, op, win);
        break;
    case FETCH:
        MPI_Fetch_and_op(o->out, o->in, MPI_INT, o->target, at, op, win);
        break;
    default:
        MPI_Compare_and_swap(o->out, &o->compare, o->in, MPI_INT, o->target, at,
                             win);
    }
    MPI_Type_free(&t);
}

/* ---- epochs ---- */

enum epoch { FENCE, LOCKS, LOCK_ALL, FLUSHES, PSCW, NEPOCHS };

static void calls(void)
{
    for (int i = 0; i < nops; i++)
        if (ops[i].origin == rank) {
            make_call(&ops[i]);
            rest();
        }
}

static void locked(void)
{
    for (int i = 0; i < nops; i++) {
        int to = ops[i].target, exclusive = draw(&own, 3) == 0;

        if (ops[i].origin != rank)
            continue;
        MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0,
                     win);
        make_call(&ops[i]);
        for (; i + 1 < nops && ops[i + 1].origin == rank &&
               ops[i + 1].target == to;
             i++)
            make_call(&ops[i + 1]);
        rest();
        MPI_Win_unlock(to, win);
    }
}

static void flushed(void)
{
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < nops; i++) {
        if (ops[i].origin != rank)
            continue;
        make_call(&ops[i]);
        if (draw(&own, 2))
            MPI_Win_flush_local(ops[i].target, win);
        if (draw(&own, 4) == 0)
            MPI_Win_flush_all(win);
    }
    MPI_Win_unlock_all(win);
}

/* Everybody exposes to and accesses everybody. */
static void posted(void)
{
    MPI_Group all;
    int done = 0;

    MPI_Win_get_group(win, &all);
    MPI_Win_post(all, 0, win);
    rest();
    MPI_Win_start(all, 0, win);
    calls();
    MPI_Win_complete(win);
    while (draw(&own, 3) && !done)
        MPI_Win_test(win, &done);
    if (!done)
        MPI_Win_wait(win);
    MPI_Group_free(&all);
}

static void verify(void)
{
    for (int i = 0; i < nops; i++)
        if (ops[i].origin == rank && ops[i].call != PUT && ops[i].call != ACC)
            MUST(memcmp(ops[i].in, ops[i].wanted,
                        (size_t)ops[i].count * sizeof(int)) == 0);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MUST(memcmp(local, now[rank], sizeof(now[0])) == 0);
    MPI_Win_unlock(rank, win);
}

/* Stores of the owner between epochs; everybody knows of them. */
static void stores(void)
{
    int who = pick(size), at = pick(CELLS), v = pick(1000000);

    now[who][at] = v;
    if (who != rank)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    local[at] = v;
    MPI_Win_unlock(rank, win);
}

static void one_round(void)
{
    int w = pick(NWINS);
    enum epoch kind = (enum epoch)pick(kinds);

    step_now = (int)kind;
    win = wins[w];
    local = mem[w];
    now = model[w];
    stores();
    draw_ops();
    MPI_Barrier(MPI_COMM_WORLD);
    switch (kind) {
    case FENCE:
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        calls();
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        break;
    case LOCKS:
        locked();
        break;
    case LOCK_ALL:
        MPI_Win_lock_all(0, win);
        calls();
        MPI_Win_unlock_all(win);
        break;
    case FLUSHES:
        flushed();
        break;
    default:
        posted();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    verify();
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 40;

    kinds = argc > 3 ? atoi(argv[3]) : NEPOCHS;
    begin_mix(argc, argv);
    CHECK(kinds >= 1 && kinds <= NEPOCHS);
    open_windows();
    if (getenv("DIES_AFTER"))
        die_later(getenv("DIES_AFTER"));
    for (round_now = 0; round_now < rounds; round_now++)
        one_round();
    close_windows();
    return end("rma_mix");
}
