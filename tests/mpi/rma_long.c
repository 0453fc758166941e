/* SPDX-License-Identifier: BSD-3-Clause
 * Puts and gets of more than a message is worth: what each call that ends an
 * epoch promises of them, buffers and bounds. */
#include "rma.h"

#define ROUNDS 12
#define BLOCK 16384                /* ints of one block */
#define MANY 300000                /* ints, of more than one packet */
#define LONG (5 * 1024 * 1024 + 3) /* more than one piece */
#define ROOM (LONG + 2 * BLOCK * sizeof(int))

static int allocated, next, prev;
static unsigned char *mem;
static MPI_Win win;

static void open_window(size_t bytes)
{
    win = window_over(&mem, bytes, 1, allocated);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    free_over(&win, mem, allocated);
}

static unsigned char mark(int who, size_t i)
{
    return (unsigned char)(31 * who + 7 * i + (i >> 8));
}

static void lay(unsigned char *to, size_t len, int who)
{
    for (size_t i = 0; i < len; i++)
        to[i] = mark(who, i);
}

static int holds(const unsigned char *at, size_t len, int who)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] != mark(who, i))
            return 0;
    return 1;
}

/* Every size by every flush, the buffer filled anew behind each. */
static void flushes_end_all(void)
{
    static const size_t sizes[] = {1,     16383,  16384,  16385, 20000,
                                   32768, 100001, 300000, LONG};
    unsigned char *out = malloc(LONG), *in = malloc(LONG);

    open_window(ROOM);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int n = (int)sizes[i], at = (int)i;

        lay(out, sizes[i], rank + (int)i);
        MPI_Put(out, n, MPI_BYTE, next, at, n, MPI_BYTE, win);
        if (i % 2)
            MPI_Win_flush(next, win);
        else
            MPI_Win_flush_local(next, win);
        memset(out, 0, sizes[i]);
        memset(in, 0, sizes[i]);
        MPI_Get(in, n, MPI_BYTE, next, at, n, MPI_BYTE, win);
        if (i % 2)
            MPI_Win_flush_all(win);
        else
            MPI_Win_flush_local_all(win);
        CHECK(holds(in, sizes[i], rank + (int)i));
    }
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(out);
    free(in);
}

/* Many at a time. */
static void many_before_a_flush(void)
{
    int *out = malloc(ROUNDS * BLOCK * sizeof(int)),
        *in = calloc(ROUNDS * BLOCK, sizeof(int));

    open_window(ROUNDS * BLOCK * sizeof(int));
    for (int i = 0; i < ROUNDS * BLOCK; i++)
        out[i] = rank * 1000003 + i;
    MPI_Win_lock_all(0, win);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Aint at = i * BLOCK * (MPI_Aint)sizeof(int);

            if (pass == 0)
                MPI_Put(out + i * BLOCK, BLOCK, MPI_INT, next, at, BLOCK,
                        MPI_INT, win);
            else
                MPI_Get(in + i * BLOCK, BLOCK, MPI_INT, next, at, BLOCK,
                        MPI_INT, win);
        }
        MPI_Win_flush(next, win);
    }
    CHECK(memcmp(in, out, ROUNDS * BLOCK * sizeof(int)) == 0);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(out);
    free(in);
}

/* Unlocking may not overtake what was put under the lock. */
static void locks_hold_until_all_is_there(void)
{
    int *v = malloc(BLOCK * sizeof(int)), last = size - 1;

    open_window(BLOCK * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
        MPI_Get(v, BLOCK, MPI_INT, last, 0, BLOCK, MPI_INT, win);
        MPI_Win_flush(last, win);
        for (int i = 1; i < BLOCK; i++)
            CHECK(v[i] == v[0]);
        for (int i = 0; i < BLOCK; i++)
            v[i]++;
        MPI_Put(v, BLOCK, MPI_INT, last, 0, BLOCK, MPI_INT, win);
        MPI_Win_unlock(last, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < BLOCK && rank == last; i++)
        CHECK(((int *)(void *)mem)[i] == ROUNDS * size);
    MPI_Win_unlock(rank, win);
    close_window();
    free(v);
}

static MPI_Group group_of(int one)
{
    MPI_Group all, some;

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &one, &some);
    MPI_Group_free(&all);
    return some;
}

static int all_are(const int *v, int n, int what)
{
    for (int i = 0; i < n; i++)
        if (v[i] != what)
            return 0;
    return 1;
}

/* A get ends with its epoch, without a flush, and whoever has the lock next may
 * write there at once: the target itself, by stores, and the others, by puts.
 */
static void later_writers_do_not_change_what_was_got(void)
{
    const int last = size - 1;
    int *v = malloc(MANY * sizeof(int));

    open_window(MANY * sizeof(int));
    for (int round = 0; round < 2 * ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
        MPI_Get(v, MANY, MPI_INT, last, 0, MANY, MPI_INT, win);
        MPI_Win_unlock(last, win);
        CHECK(all_are(v, MANY, v[0]));
        for (int i = 0; i < MANY; i++)
            v[i] = round * size + rank + 1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
        if (rank == last)
            memcpy(mem, v, MANY * sizeof(int));
        else
            MPI_Put(v, MANY, MPI_INT, last, 0, MANY, MPI_INT, win);
        MPI_Win_unlock(last, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(v);
}

/* The same of MPI_Win_wait, behind which the target writes and frees. */
static void targets_write_behind_their_epoch(void)
{
    const int n = MANY * (int)sizeof(int);
    int *v = malloc((size_t)n);
    MPI_Group before, after;

    open_window((size_t)n);
    before = group_of(prev);
    after = group_of(next);
    for (int round = 0; round < ROUNDS; round++) {
        memset(mem, round + 1, (size_t)n);
        MPI_Win_post(before, 0, win);
        MPI_Win_start(after, 0, win);
        MPI_Get(v, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        memset(mem, 255, (size_t)n);
        CHECK(all_are(v, MANY, (round + 1) * 0x01010101));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    close_window();
    free(v);
}

/* Nor may the end of an epoch. */
static void epochs_end_when_all_is_there(void)
{
    const size_t len = BLOCK * sizeof(int);
    unsigned char *out = malloc(len);
    MPI_Group before, after;

    open_window(len);
    before = group_of(prev);
    after = group_of(next);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        int done = round % 2;

        lay(out, len, 10 * round + rank);
        if (round < ROUNDS) {
            MPI_Win_post(before, 0, win);
            MPI_Win_start(after, 0, win);
        } else {
            MPI_Win_fence(0, win);
        }
        MPI_Put(out, (int)len, MPI_BYTE, next, 0, (int)len, MPI_BYTE, win);
        if (round < ROUNDS) {
            MPI_Win_complete(win);
            while (!done)
                MPI_Win_test(win, &done);
            if (round % 2)
                MPI_Win_wait(win);
        } else {
            MPI_Win_fence(0, win);
        }
        CHECK(holds(mem, len, 10 * round + prev));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    close_window();
    free(out);
}

static void requests_end(void)
{
    const int n = BLOCK * (int)sizeof(int);
    unsigned char *out = malloc((size_t)n), *in = malloc((size_t)n);
    MPI_Request r[2];

    open_window(2 * (size_t)n);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        lay(out, (size_t)n, round + rank);
        MPI_Rput(out, n, MPI_BYTE, next, 0, n, MPI_BYTE, win, &r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Win_flush(next, win);
        MPI_Rget(in, n, MPI_BYTE, next, 0, n, MPI_BYTE, win, &r[0]);
        MPI_Rput(out, n, MPI_BYTE, next, n, n, MPI_BYTE, win, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK(holds(in, (size_t)n, round + rank));
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(out);
    free(in);
}

/* Every other int of a buffer, which is packed before it goes. */
static void buffers_with_gaps(void)
{
    int *out = malloc(2 * BLOCK * sizeof(int)),
        *in = calloc(2 * BLOCK, sizeof(int));
    MPI_Datatype odd;

    MPI_Type_vector(BLOCK, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    open_window(BLOCK * sizeof(int));
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * BLOCK; i++)
            out[i] = round + i;
        MPI_Put(out, 1, odd, next, 0, BLOCK, MPI_INT, win);
        MPI_Win_flush(next, win);
        MPI_Get(in, 1, odd, next, 0, BLOCK, MPI_INT, win);
        MPI_Win_flush(next, win);
        for (int i = 0; i < 2 * BLOCK; i++)
            CHECK(in[i] == (i % 2 ? 0 : round + i));
    }
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&odd);
    close_window();
    free(out);
    free(in);
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(rc, &class);
    return class;
}

static void nothing_goes_beyond_the_window(void)
{
    const int n = 65536;
    unsigned char *buf = malloc((size_t)n);

    open_window((size_t)n);
    lay(mem, (size_t)n, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(buf, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
    MPI_Win_flush(next, win);
    CHECK(holds(buf, (size_t)n, next));
    CHECK(class_of(MPI_Put(buf, n, MPI_BYTE, next, 1, n, MPI_BYTE, win)) ==
          MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Get(buf, n, MPI_BYTE, next, n, n, MPI_BYTE, win)) ==
          MPI_ERR_RMA_RANGE);
    memset(buf, 0, (size_t)n);
    MPI_Get(buf, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
    MPI_Win_unlock(next, win);
    CHECK(holds(buf, (size_t)n, next));
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    free(buf);
}

/* Memory that is a window again, and another one. */
static void windows_come_and_go(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        const int n = 16384 + 4096 * round;
        unsigned char *out = malloc((size_t)n);

        open_window((size_t)n);
        lay(out, (size_t)n, rank + round);
        for (int twice = 0; twice < 2; twice++) {
            MPI_Win_fence(0, win);
            MPI_Put(out, n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
            MPI_Win_fence(0, win);
            CHECK(holds(mem, (size_t)n, prev + round));
        }
        close_window();
        free(out);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    for (allocated = 0; allocated < 2; allocated++) {
        flushes_end_all();
        many_before_a_flush();
        locks_hold_until_all_is_there();
        later_writers_do_not_change_what_was_got();
        targets_write_behind_their_epoch();
        epochs_end_when_all_is_there();
        requests_end();
        buffers_with_gaps();
        nothing_goes_beyond_the_window();
        windows_come_and_go();
    }
    return end("rma_long");
}
