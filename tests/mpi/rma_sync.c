/* SPDX-License-Identifier: BSD-3-Clause
 * Every way to begin and to end an epoch of a window, and what each promises:
 * what was put is there, who has an exclusive lock has it alone, a buffer may
 * be used again.  Counted, never timed. */
#include "rma.h"

#define ROUNDS 40

static int *mem; /* the window's memory */
static MPI_Win win;
static int next, prev;

static void open_window(int ints)
{
    win = window_over(&mem, (size_t)ints * sizeof(int), sizeof(int),
                      want_allocated());
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    free_over(&win, mem, want_allocated());
    CHECK(win == MPI_WIN_NULL);
}

/* One int of this process's own memory, as everybody may see it now. */
static int own(int at)
{
    int v;

    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    v = mem[at];
    MPI_Win_unlock(rank, win);
    return v;
}

/* ---- fences ---- */

static void fence_ends_puts_and_gets(void)
{
    int *out = malloc((size_t)size * sizeof(int)),
        *in = calloc((size_t)size, sizeof(int));

    open_window(size);
    for (int round = 0; round < ROUNDS; round++) {
        int first = round == 0 ? MPI_MODE_NOPRECEDE : 0;

        MPI_Win_fence(first, win);
        for (int to = 0; to < size; to++) {
            out[to] = 1000 * round + 10 * rank + to;
            MPI_Put(&out[to], 1, MPI_INT, to, rank, 1, MPI_INT, win);
        }
        MPI_Win_fence(0, win);
        for (int from = 0; from < size; from++)
            CHECK(mem[from] == 1000 * round + 10 * from + rank);
        for (int from = 0; from < size; from++)
            MPI_Get(&in[from], 1, MPI_INT, from, rank, 1, MPI_INT, win);
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win);
        for (int from = 0; from < size; from++)
            CHECK(in[from] == 1000 * round + 10 * rank + from);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    close_window();
    free(out);
    free(in);
}

/* What one fence has ended the next epoch finds. */
static void fences_pass_a_token(void)
{
    open_window(2);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int round = 1; round <= ROUNDS; round++) {
        int v = mem[0] + (rank == (round - 1) % size ? 1 : 0);

        if (rank == (round - 1) % size)
            MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        if (rank == round % size)
            CHECK(mem[0] == round);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    close_window();
}

static void fence_ends_accumulates(void)
{
    int one = 1;

    open_window(size);
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; to++)
        for (int i = 0; i < ROUNDS; i++)
            MPI_Accumulate(&one, 1, MPI_INT, to, i % size, 1, MPI_INT, MPI_SUM,
                           win);
    MPI_Win_fence(0, win);
    for (int i = 0, sum = 0; i < size; i++) {
        sum += mem[i];
        CHECK(i < size - 1 || sum == ROUNDS * size);
    }
    close_window();
}

/* ---- post, start, complete, wait ---- */

static MPI_Group group_of(int n, const int *ranks)
{
    MPI_Group all, some;

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, n, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

static void pscw_in_a_ring(void)
{
    MPI_Group before, after;

    open_window(1);
    before = group_of(1, &prev);
    after = group_of(1, &next);
    for (int round = 1; round <= ROUNDS; round++) {
        int v = 100 * round + rank, done = 0;

        MPI_Win_post(before, 0, win);
        MPI_Win_start(after, 0, win);
        MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        while (round % 2 && !done)
            MPI_Win_test(win, &done);
        if (!done)
            MPI_Win_wait(win);
        CHECK(mem[0] == 100 * round + prev);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    close_window();
}

/* All others put into the target's memory in turn, and read of it what it has
 * said itself. */
static void pscw_of_all_with_one(void)
{
    int *others = malloc((size_t)size * sizeof(int));

    open_window(size + 1);
    for (int target = 0; target < size; target++) {
        MPI_Group g;
        int n = 0, v = 10 * rank + target, said = -1;

        for (int r = 0; r < size; r++)
            if (r != target)
                others[n++] = r;
        if (rank == target) {
            g = group_of(n, others);
            mem[size] = 4000 + rank;
            MPI_Win_post(g, 0, win);
            MPI_Win_wait(win);
            for (int r = 0; r < size; r++)
                CHECK(r == rank || mem[r] == 10 * r + target);
        } else {
            g = group_of(1, &target);
            MPI_Win_start(g, 0, win);
            MPI_Put(&v, 1, MPI_INT, target, rank, 1, MPI_INT, win);
            MPI_Get(&said, 1, MPI_INT, target, size, 1, MPI_INT, win);
            MPI_Win_complete(win);
            CHECK(said == 4000 + target);
        }
        MPI_Group_free(&g);
    }
    close_window();
    free(others);
}

/* The program itself sees to it that posts come first. */
static void pscw_without_check(void)
{
    MPI_Group before, after;

    open_window(1);
    before = group_of(1, &prev);
    after = group_of(1, &next);
    for (int round = 1; round <= 5; round++) {
        int v = 100 * round + rank;

        MPI_Win_post(before, MPI_MODE_NOCHECK, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_start(after, MPI_MODE_NOCHECK, win);
        MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(mem[0] == 100 * round + prev);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    close_window();
}

static void pscw_with_nobody(void)
{
    open_window(1);
    for (int round = 0; round < 3; round++) {
        int done = 0;

        MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
        MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
        MPI_Win_complete(win);
        if (round == 1)
            MPI_Win_wait(win);
        while (round != 1 && !done)
            MPI_Win_test(win, &done);
    }
    close_window();
}

/* ---- locks ---- */

/* Read, add one, write back: exact only where nobody else comes between. */
static void exclusive_lock_is_exclusive(void)
{
    open_window(2);
    for (int i = 0; i < ROUNDS; i++) {
        int target = i % size, v[2];

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(v, 2, MPI_INT, target, 0, 2, MPI_INT, win);
        MPI_Win_flush(target, win);
        CHECK(v[0] == v[1]);
        v[0]++;
        MPI_Put(&v[0], 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        v[1]++;
        MPI_Put(&v[1], 1, MPI_INT, target, 1, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(own(0) == size * (ROUNDS / size + (rank < ROUNDS % size)));
    CHECK(own(1) == own(0));
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* A reader with a shared lock never sees half of what a writer with an
 * exclusive one does. */
static void shared_lock_keeps_writers_out(void)
{
    int v[8], n = 0;

    open_window(8);
    for (int i = 0; i < ROUNDS; i++) {
        int write = (i + rank) % 4 == 0;

        MPI_Win_lock(write ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(v, 8, MPI_INT, 0, 0, 8, MPI_INT, win);
        MPI_Win_flush(0, win);
        for (int k = 1; k < 8; k++)
            CHECK(v[k] == v[0]);
        for (int k = 0; write && k < 8; k++) {
            v[k]++;
            MPI_Put(&v[k], 1, MPI_INT, 0, k, 1, MPI_INT, win);
            if (k % 3 == 0)
                MPI_Win_flush(0, win);
        }
        n += write;
        MPI_Win_unlock(0, win);
    }
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(own(0) == n && own(7) == n);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* Two that hold a shared lock hold it at the same time: each waits, with the
 * lock in its hand, for what the other does. */
static void shared_locks_are_shared(void)
{
    int one = 1, seen = 0, zero = 0;

    open_window(1);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    while (seen < size) {
        MPI_Fetch_and_op(&zero, &seen, MPI_INT, 0, 0, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
    }
    CHECK(seen == size);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* What was put before the unlock is there when a message says so. */
static void unlock_ends_it_at_the_target(void)
{
    int x = 0;

    open_window(1000);
    for (int round = 1; round <= 10; round++) {
        int out[1000];

        for (int i = 0; i < 1000; i++)
            out[i] = 1000000 * rank + 1000 * round + i;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(out, 1000, MPI_INT, next, 0, 1000, MPI_INT, win);
        MPI_Win_unlock(next, win);
        MPI_Sendrecv(&round, 1, MPI_INT, next, 1, &x, 1, MPI_INT, prev, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        for (int i = 0; i < 1000; i++)
            CHECK(mem[i] == 1000000 * prev + 1000 * round + i);
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close_window();
}

static void many_targets_are_locked_at_once(void)
{
    int *out = malloc((size_t)size * sizeof(int));

    open_window(size);
    for (int to = 0; to < size; to++)
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    for (int to = 0; to < size; to++) {
        out[to] = 10 * rank + to;
        MPI_Put(&out[to], 1, MPI_INT, to, rank, 1, MPI_INT, win);
    }
    for (int to = size - 1; to >= 0; to--)
        MPI_Win_unlock(to, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        CHECK(own(from) == 10 * from + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(out);
}

/* The program itself sees to it that nobody else has a lock. */
static void lock_without_check(void)
{
    open_window(1);
    for (int turn = 0; turn < 3 * size; turn++) {
        int v = -1;

        if (rank == turn % size) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, win);
            MPI_Get(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            CHECK(v == turn);
            v++;
            MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close_window();
}

static void two_windows_have_locks_of_their_own(void)
{
    int *theirs = malloc(sizeof(int));
    MPI_Win other = window(theirs, sizeof(int), sizeof(int));
    int one = 1;

    open_window(1);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, other);
        MPI_Accumulate(&one, 1, MPI_INT, size - 1, 0, 1, MPI_INT, MPI_SUM,
                       other);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(size - 1, other);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(own(0) == size * ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&other);
    CHECK(theirs[0] == (rank == size - 1 ? size * ROUNDS : 0));
    free(theirs);
    close_window();
}

/* ---- all at once, and flushes ---- */

static void lock_all_for_everybody(void)
{
    int one = 1, in = -1;

    open_window(size);
    for (int round = 1; round <= 3; round++) {
        MPI_Win_lock_all(round == 2 ? MPI_MODE_NOCHECK : 0, win);
        for (int to = 0; to < size; to++)
            for (int at = 0; at < size; at++)
                MPI_Accumulate(&one, 1, MPI_INT, to, at, 1, MPI_INT, MPI_SUM,
                               win);
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int from = 0; from < size; from++) {
            MPI_Get(&in, 1, MPI_INT, from, rank, 1, MPI_INT, win);
            MPI_Win_flush(from, win);
            CHECK(in == round * size);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    }
    close_window();
}

/* After a flush it is there, without the lock being given back; the target
 * looks at its own memory. */
static void flush_ends_it_at_the_target(void)
{
    int x, out;

    open_window(1);
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= ROUNDS; round++) {
        out = 100 * round + rank;
        MPI_Put(&out, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        if (round % 2)
            MPI_Win_flush(next, win);
        else
            MPI_Win_flush_all(win);
        MPI_Sendrecv(&round, 1, MPI_INT, next, 1, &x, 1, MPI_INT, prev, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_sync(win);
        CHECK(*(volatile int *)mem == 100 * round + prev);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    close_window();
}

/* After a local flush the buffer is the program's again. */
static void local_flush_frees_the_buffer(void)
{
    int out[64];

    open_window(64 * ROUNDS);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            out[i] = 64 * round + i + rank;
        MPI_Put(out, 64, MPI_INT, next, 64 * round, 64, MPI_INT, win);
        if (round % 2)
            MPI_Win_flush_local(next, win);
        else
            MPI_Win_flush_local_all(win);
        memset(out, -1, sizeof(out));
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 64 * ROUNDS; i++)
        CHECK(mem[i] == i + prev);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* Of a Get and of a Fetch_and_op it is the result. */
static void local_flush_brings_the_result(void)
{
    int in = 0, one = 1, last = -1;

    open_window(1);
    mem[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &in, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_flush_local(0, win);
        CHECK(in > last);
        last = in;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(own(0) == size * ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* Epochs of all kinds on one window, one after the other. */
static void kinds_of_epochs_take_turns(void)
{
    MPI_Group before, after;

    open_window(1);
    before = group_of(1, &prev);
    after = group_of(1, &next);
    for (int round = 0; round < 12; round++) {
        int v = 10 * round + rank;

        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 3 == 0) {
            MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
            MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        } else if (round % 3 == 1) {
            MPI_Win_post(before, 0, win);
            MPI_Win_start(after, 0, win);
            MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
            MPI_Win_wait(win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
            MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
            MPI_Win_unlock(next, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(own(0) == 10 * round + prev);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
}

/* Ranks of a window are those of its communicator. */
static void ranks_are_those_of_the_communicator(void)
{
    MPI_Comm back;
    int *cell = malloc(sizeof(int)), v = rank, mine, to;
    MPI_Win w;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
    MPI_Comm_rank(back, &mine);
    CHECK(mine == size - 1 - rank);
    MPI_Win_create(cell, sizeof(int), sizeof(int), MPI_INFO_NULL, back, &w);
    MPI_Comm_free(&back);
    to = (mine + 1) % size;
    MPI_Win_fence(0, w);
    MPI_Put(&v, 1, MPI_INT, to, 0, 1, MPI_INT, w);
    MPI_Win_fence(0, w);
    CHECK(*cell == next);
    free(cell);
    MPI_Win_free(&w);
}

/* A window of some of the processes, while the others are elsewhere.  (Open MPI
 * has none for one process alone.) */
static void window_of_a_part(void)
{
    MPI_Comm part;
    int *cell = calloc(1, sizeof(int)), one = 1, n;
    MPI_Win w;

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 && size > 2 ? MPI_UNDEFINED : 1,
                   rank, &part);
    if (part == MPI_COMM_NULL) {
        free(cell);
        return;
    }
    MPI_Comm_size(part, &n);
    MPI_Win_create(cell, sizeof(int), sizeof(int), MPI_INFO_NULL, part, &w);
    MPI_Win_lock(MPI_LOCK_SHARED, n - 1, 0, w);
    MPI_Accumulate(&one, 1, MPI_INT, n - 1, 0, 1, MPI_INT, MPI_SUM, w);
    MPI_Win_unlock(n - 1, w);
    MPI_Win_free(&w);
    CHECK(*cell == (rank == size - 1 ? n : 0));
    free(cell);
    MPI_Comm_free(&part);
}

static const struct part parts[] = {
    {"fence", fence_ends_puts_and_gets},
    {"token", fences_pass_a_token},
    {"fence_acc", fence_ends_accumulates},
    {"exclusive", exclusive_lock_is_exclusive},
    {"readers", shared_lock_keeps_writers_out},
    {"unlock", unlock_ends_it_at_the_target},
    {"many", many_targets_are_locked_at_once},
    {"nocheck", lock_without_check},
    {"two", two_windows_have_locks_of_their_own},
    {"back", ranks_are_those_of_the_communicator},
    {"part", window_of_a_part},
    {"shared", shared_locks_are_shared},
    {"lock_all", lock_all_for_everybody},
    {"flush", flush_ends_it_at_the_target},
    {"local", local_flush_frees_the_buffer},
    {"result", local_flush_brings_the_result},
    {"pscw", pscw_in_a_ring},
    {"pscw_one", pscw_of_all_with_one},
    {"pscw_nocheck", pscw_without_check},
    {"pscw_nobody", pscw_with_nobody},
    {"kinds", kinds_of_epochs_take_turns}};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("rma_sync");
}
