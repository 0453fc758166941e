/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Epochs of locks, short and long ones, while others want the same lock: what
 * is done under an exclusive one is done by one process alone, whenever the
 * lock is asked for. */
#include "rma.h"

#define TIMES 50
#define CELLS 40000

static int *mem;
static MPI_Win win;

static void open_window(void)
{
    win = window_over(&mem, CELLS * sizeof(int), sizeof(int), want_allocated());
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    free_over(&win, mem, want_allocated());
}

static int cell_of(int target, int at)
{
    int v = -1;

    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&v, 1, MPI_INT, target, at, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
    return v;
}

/* One operation in each epoch, of every kind. */
static void one_operation(void)
{
    int one = 1, v, was, target = size - 1, own = 2 + rank;

    open_window();
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(target, win);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Fetch_and_op(&one, &was, MPI_INT, target, 1, MPI_SUM, win);
        MPI_Win_unlock(target, win);
        CHECK(was >= i && was < TIMES * size);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(&i, 1, MPI_INT, target, own, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
        CHECK(cell_of(target, own) == i);
        v = i + 1;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Compare_and_swap(&v, &i, &was, MPI_INT, target, own, win);
        MPI_Win_unlock(target, win);
        CHECK(was == i && cell_of(target, own) == i + 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(cell_of(target, 0) == TIMES * size);
    CHECK(cell_of(target, 1) == TIMES * size);
    close_window();
}

/* Read, add, write back: nobody else in between. */
static void read_and_write(void)
{
    int v;

    open_window();
    for (int i = 0; i < TIMES; i++) {
        int target = (rank + i) % size;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        if (i % 3 == 0)
            MPI_Win_flush(target, win); /* to have it before anything else */
        MPI_Get(&v, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        if (i % 2)
            MPI_Win_flush(target, win);
        else
            MPI_Win_flush_local_all(win);
        v++;
        MPI_Put(&v, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    v = 0;
    for (int r = 0; r < size; r++)
        v += cell_of(r, 0);
    CHECK(v == TIMES * size);
    close_window();
}

static void nothing_under_it(void)
{
    open_window();
    for (int i = 0; i < TIMES; i++) {
        int type = i % 3 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;

        MPI_Win_lock(type, i % size, 0, win);
        MPI_Win_unlock(i % size, win);
    }
    MPI_Win_lock_all(0, win);
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
    close_window();
}

static void several_at_once(void)
{
    int *in = calloc((size_t)size, sizeof(int));

    open_window();
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < size; r++)
            MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
        for (int r = 0; r < size; r++)
            MPI_Put(&i, 1, MPI_INT, r, rank, 1, MPI_INT, win);
        if (i % 2)
            MPI_Win_flush_all(win);
        for (int r = size - 1; r >= 0; r--)
            MPI_Win_unlock(r, win);
        for (int r = 0; r < size; r++)
            MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
        for (int r = 0; r < size; r++)
            MPI_Get(&in[r], 1, MPI_INT, r, rank, 1, MPI_INT, win);
        for (int r = 0; r < size; r++)
            MPI_Win_unlock(r, win);
        for (int r = 0; r < size; r++)
            CHECK(in[r] == i);
    }
    close_window();
    free(in);
}

/* A request ends by itself, before the epoch does. */
static void requests(void)
{
    int v = 0, target = (rank + 1) % size, mine = 7 + rank;
    MPI_Request r;

    open_window();
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Rput(&mine, 1, MPI_INT, target, 3, 1, MPI_INT, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Win_flush(target, win);
        MPI_Rget(&v, 1, MPI_INT, target, 3, 1, MPI_INT, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(v == mine);
        MPI_Win_unlock(target, win);
    }
    close_window();
}

/* More than the target keeps for who has no lock yet. */
static void many_and_long(void)
{
    int *out = malloc(CELLS * sizeof(int)), *in = calloc(CELLS, sizeof(int)),
        target = size - 1;

    open_window();
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < CELLS; i++)
            out[i] = 1000 * round + 10 * i + rank;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        if (round % 2)
            MPI_Put(out, CELLS, MPI_INT, target, 0, CELLS, MPI_INT, win);
        for (int i = 0; i < 600 && round % 2 == 0; i++)
            MPI_Put(&out[i], 1, MPI_INT, target, i, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        MPI_Get(in, CELLS, MPI_INT, target, 0, CELLS, MPI_INT, win);
        MPI_Win_unlock(target, win);
        CHECK(memcmp(in, out, (round % 2 ? CELLS : 600) * sizeof(int)) == 0);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(in, CELLS, MPI_INT, target, 0, CELLS, MPI_INT, win);
        MPI_Win_unlock(target, win);
        CHECK(in[1] - in[0] == 10 && in[599] - in[0] == 5990);
    }
    close_window();
    free(out);
    free(in);
}

static void gaps(void)
{
    int v[8], target = size - 1;
    MPI_Datatype second;

    MPI_Type_vector(8, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&second);
    open_window();
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < 8; k++)
            v[k] = 100 * i + 10 * k + rank;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(v, 8, MPI_INT, target, 0, 1, second, win);
        MPI_Win_unlock(target, win);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(v, 8, MPI_INT, target, 0, 1, second, win);
        MPI_Win_unlock(target, win);
        for (int k = 1; k < 8; k++)
            CHECK(v[k] - v[0] == 10 * k); /* of one process */
        CHECK(cell_of(target, 1) == 0);
    }
    close_window();
    MPI_Type_free(&second);
}

static void under_no_check(void)
{
    int v = rank, target = (rank + 1) % size;

    open_window();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, MPI_MODE_NOCHECK, win);
    MPI_Put(&v, 1, MPI_INT, target, 1, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
    CHECK(cell_of(target, 1) == rank);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Put(&v, 1, MPI_INT, target, 2, 1, MPI_INT, win);
    MPI_Win_flush_local(target, win);
    MPI_Win_unlock_all(win);
    CHECK(cell_of(target, 2) == rank);
    close_window();
}

/* The own memory is used by loads and stores under a lock that is there. */
static void own_memory(void)
{
    int next = (rank + 1) % size, one = 1, sum = 0;

    open_window();
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        mem[5]++;
        MPI_Win_unlock(rank, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, next, 5, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(next, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sum = cell_of(rank, 5);
    CHECK(sum == 2 * TIMES);
    close_window();
}

/* Memory that is not attached: the epoch's end says so, the lock is given back,
 * and the next one has it. */
static void refused(void)
{
    int v = 1, target = size - 1, class = MPI_SUCCESS;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        int rc, more;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        rc = MPI_Put(&v, 1, MPI_INT, target, 4096, 1, MPI_INT, win);
        more = MPI_Win_unlock(target, win);
        MPI_Error_class(rc == MPI_SUCCESS ? more : rc, &class);
        CHECK(class == MPI_ERR_RMA_RANGE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"one_operation", one_operation},
        {"read_and_write", read_and_write},
        {"nothing_under_it", nothing_under_it},
        {"several_at_once", several_at_once},
        {"requests", requests},
        {"many_and_long", many_and_long},
        {"gaps", gaps},
        {"under_no_check", under_no_check},
        {"own_memory", own_memory},
        {"refused", refused},
    };

    begin(&argc, &argv);
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("rma_locks");
}
