/* SPDX-License-Identifier: BSD-3-Clause
 * One-sided communication on a communicator that spans: every call of the
 * chapter, every operation, derived types, and the errors that the program
 * can handle. */
#include "check.h"

#define N 64

static MPI_Win win;
static int *mem;

static int value(int who, int i)
{
    return who * 1000 + i;
}

static void make(void)
{
    MPI_Alloc_mem(N * sizeof(int), MPI_INFO_NULL, &mem);
    for (int i = 0; i < N; i++)
        mem[i] = value(rank, i);
    MPI_Win_create(mem, N * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
}

static void drop(void)
{
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    MPI_Free_mem(mem);
}

static void put_and_get_between_fences(void)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int out[4], in[4] = {0};

    for (int i = 0; i < 4; i++)
        out[i] = value(rank, 500 + i);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(out, 4, MPI_INT, next, 8, 4, MPI_INT, win);
    MPI_Get(in, 4, MPI_INT, prev, 0, 4, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 4; i++) {
        CHECK(in[i] == value(prev, i));
        CHECK(mem[8 + i] == value(prev, 500 + i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        mem[i] = value(rank, i);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody adds to everybody; what a fence in between ends is there. */
static void accumulates_add_up(void)
{
    long *sum, one = 1;
    MPI_Win w;

    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &sum, &w);
    sum[0] = sum[1] = 0;
    MPI_Win_fence(0, w);
    for (int n = 0; n < 100; n++)
        for (int t = 0; t < size; t++)
            MPI_Accumulate(&one, 1, MPI_LONG, t, n % 2, 1, MPI_LONG, MPI_SUM,
                           w);
    MPI_Win_fence(0, w);
    CHECK(sum[0] == 50L * size && sum[1] == 50L * size);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    MPI_Win_free(&w);
}

static void locks_exclude(void)
{
    int v, rounds = 20;

    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&v, 1, MPI_INT, 0, 20, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        v++;
        MPI_Put(&v, 1, MPI_INT, 0, 20, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&v, 1, MPI_INT, 0, 20, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK(v == value(0, 20) + rounds * size);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void counters_by_fetch_and_op(void)
{
    int one = 1, got, last = -1, sum = 0, all, want = 0;

    if (rank == size - 1)
        mem[30] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 50; i++) {
        MPI_Fetch_and_op(&one, &got, MPI_INT, size - 1, 30, MPI_SUM, win);
        MPI_Win_flush(size - 1, win);
        CHECK(got > last);
        last = got;
        sum += got;
    }
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 50 * size; i++)
        want += i;
    CHECK(all == want);
}

static void one_wins_a_compare_and_swap(void)
{
    int none = -1, got, won, all;

    if (rank == 0)
        mem[31] = none;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Compare_and_swap(&rank, &none, &got, MPI_INT, 0, 31, win);
    MPI_Win_flush_local(0, win);
    won = got == none;
    MPI_Get(&got, 1, MPI_INT, 0, 31, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK(!won || got == rank);
    MPI_Allreduce(&won, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1);
}

static void every_other_element(void)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int out[8], in[8];
    MPI_Datatype odd, pairs;

    MPI_Type_vector(4, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Type_vector(2, 2, 4, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < 8; i++) {
        out[i] = value(rank, 700 + i);
        in[i] = 0;
    }
    MPI_Win_fence(0, win);
    MPI_Put(out, 2, pairs, next, 40, 2, odd, win);
    MPI_Win_fence(0, win);
    /* out 0, 1, 4, 5 and behind the extent of 6: 6, 7, ... */
    CHECK(mem[40] == value(prev, 700) && mem[42] == value(prev, 701));
    CHECK(mem[44] == value(prev, 704) && mem[46] == value(prev, 705));
    CHECK(mem[41] == value(rank, 41) && mem[43] == value(rank, 43));
    MPI_Get(in, 1, odd, next, 40, 1, odd, win);
    MPI_Win_fence(0, win);
    CHECK(in[0] == value(rank, 700) && in[2] == value(rank, 701));
    CHECK(in[4] == value(rank, 704) && in[1] == 0);
    MPI_Accumulate(out, 4, MPI_INT, next, 40, 1, odd, MPI_REPLACE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(mem[42] == value(prev, 701) && mem[44] == value(prev, 702));
    MPI_Type_free(&odd);
    MPI_Type_free(&pairs);
}

static void operation(MPI_Op op, int there, int comes, int want)
{
    int old = 0, peer = size - 1 - rank;

    mem[32 + peer % 16] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
    MPI_Put(&there, 1, MPI_INT, peer, 50, 1, MPI_INT, win);
    MPI_Win_flush(peer, win);
    MPI_Get_accumulate(&comes, 1, MPI_INT, &old, 1, MPI_INT, peer, 50, 1,
                       MPI_INT, op, win);
    MPI_Win_unlock(peer, win);
    CHECK(old == there);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    CHECK(mem[50] == want);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void every_operation(void)
{
    operation(MPI_SUM, 12, 10, 22);
    operation(MPI_PROD, 12, 10, 120);
    operation(MPI_MAX, 12, 10, 12);
    operation(MPI_MIN, 12, 10, 10);
    operation(MPI_LAND, 12, 0, 0);
    operation(MPI_LOR, 0, 5, 1);
    operation(MPI_LXOR, 12, 5, 0);
    operation(MPI_BAND, 12, 10, 8);
    operation(MPI_BOR, 12, 10, 14);
    operation(MPI_BXOR, 12, 10, 6);
    operation(MPI_REPLACE, 12, 10, 10);
    operation(MPI_NO_OP, 12, 10, 12);
}

struct place {
    double v;
    int where;
};

static void where_the_least_is(void)
{
    struct place own = {.v = (double)((rank * 7) % 5), .where = rank}, *at;
    MPI_Win w;

    MPI_Win_allocate(sizeof(*at), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &w);
    at->v = 1e9;
    at->where = -1;
    MPI_Win_fence(0, w);
    MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC,
                   w);
    MPI_Win_fence(0, w);
    if (rank == 0)
        CHECK(at->v == 0 && at->where == 0);
    MPI_Win_free(&w);
}

/* Odd ranks expose, even ones access the rank above. */
static void post_start_complete_wait(void)
{
    MPI_Group all, one;
    int peer = rank ^ 1, v = value(rank, 900), flag = 0;

    if (peer >= size)
        return;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &peer, &one);
    for (int i = 0; i < 3; i++) {
        if (rank % 2) {
            MPI_Win_post(one, 0, win);
            if (i == 1)
                while (!flag)
                    MPI_Win_test(win, &flag);
            else
                MPI_Win_wait(win);
            CHECK(mem[60] == value(peer, 900));
            mem[60] = 0;
        } else {
            MPI_Win_start(one, 0, win);
            MPI_Put(&v, 1, MPI_INT, peer, 60, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&one);
    MPI_Group_free(&all);
}

static void requests(void)
{
    int peer = (rank + 1) % size, v[3] = {rank, rank + 1, rank + 2}, got = 0,
        old = 0;
    MPI_Request r[3];

    MPI_Win_lock_all(0, win);
    MPI_Rput(&v[0], 1, MPI_INT, peer, 61, 1, MPI_INT, win, &r[0]);
    MPI_Raccumulate(&v[1], 1, MPI_INT, peer, 62, 1, MPI_INT, MPI_REPLACE, win,
                    &r[1]);
    MPI_Rget_accumulate(&v[2], 1, MPI_INT, &old, 1, MPI_INT, peer, 63, 1,
                        MPI_INT, MPI_REPLACE, win, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Rget(&got, 1, MPI_INT, peer, 61, 1, MPI_INT, win, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    CHECK(got == rank && old == value(peer, 63));
    MPI_Rput(&v[0], 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mem[62] == (rank + size - 1) % size + 1);
}

#define LONG_N (3 << 18)

static void long_ones(void)
{
    unsigned char *base, *out = malloc(LONG_N), *in = malloc(LONG_N);
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    MPI_Win w;

    MPI_Win_allocate(LONG_N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    fill(out, LONG_N, rank, 3);
    MPI_Win_fence(0, w);
    MPI_Put(out, LONG_N, MPI_BYTE, next, 0, LONG_N, MPI_BYTE, w);
    MPI_Win_fence(0, w);
    CHECK(same(base, LONG_N, prev, 3));
    MPI_Get(in, LONG_N, MPI_BYTE, next, 0, LONG_N, MPI_BYTE, w);
    MPI_Win_fence(0, w);
    CHECK(same(in, LONG_N, rank, 3));
    MPI_Win_free(&w);
    free(out);
    free(in);
}

static void dynamic_memory(void)
{
    int piece[4] = {1, 2, 3, 4}, v = 0;
    MPI_Aint at, *all = malloc((size_t)size * sizeof(*all));
    MPI_Win w;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_attach(w, piece, sizeof(piece));
    MPI_Get_address(&piece[2], &at);
    MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, w);
    MPI_Get(&v, 1, MPI_INT, (rank + 1) % size, all[(rank + 1) % size], 1,
            MPI_INT, w);
    MPI_Win_unlock((rank + 1) % size, w);
    CHECK(v == 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(w, piece);
    MPI_Win_free(&w);
    free(all);
}

static int deleted;

static int on_delete(MPI_Win w, int key, void *value_, void *extra)
{
    (void)w, (void)key, (void)value_, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes_and_names(void)
{
    void *base;
    MPI_Aint *bytes;
    int *unit, *flavor, *model, flag, key, len, mark = 5, *back;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group g, w;
    MPI_Info info;

    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == mem);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == N * (MPI_Aint)sizeof(int));
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == sizeof(int));
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Win_set_attr(win, key, &mark);
    MPI_Win_get_attr(win, key, &back, &flag);
    CHECK(flag && back == &mark);
    MPI_Win_free_keyval(&key);
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &len);
    CHECK(strcmp(name, "halo") == 0);
    MPI_Win_get_info(win, &info);
    MPI_Info_free(&info);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
    MPI_Win_get_group(win, &g);
    MPI_Comm_group(MPI_COMM_WORLD, &w);
    MPI_Group_compare(g, w, &flag);
    CHECK(flag == MPI_IDENT);
    MPI_Group_free(&g);
    MPI_Group_free(&w);
}

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static void errors_are_returned(void)
{
    int v = 0, peer = (rank + 1) % size;
    MPI_Win w;

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, peer, 0, 1, MPI_INT, win)) ==
          MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_unlock(peer, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush(peer, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_complete(win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_wait(win)) == MPI_ERR_RMA_SYNC);
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, peer, N, 1, MPI_INT, win)) ==
          MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, size, 0, 1, MPI_INT, win)) ==
          MPI_ERR_RANK);
    CHECK(class_of(MPI_Put(&v, -1, MPI_INT, peer, 0, 1, MPI_INT, win)) ==
          MPI_ERR_COUNT);
    CHECK(class_of(MPI_Accumulate(&v, 1, MPI_INT, peer, 0, 1, MPI_INT,
                                  MPI_MINLOC, win)) == MPI_ERR_OP);
    MPI_Win_unlock(peer, win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Win_set_name(w, "raft");
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, w);
    CHECK(MPI_Put(&v, 1, MPI_INT, peer, 4096, 1, MPI_INT, w) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_unlock(peer, w)) == MPI_ERR_RMA_RANGE);
    MPI_Win_fence(0, w);
    CHECK(MPI_Put(&v, 1, MPI_INT, peer, 8192, 1, MPI_INT, w) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_fence(MPI_MODE_NOSUCCEED, w)) == MPI_ERR_RMA_RANGE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&w);
}

static void step(const char *name, void (*f)(void))
{
    if (getenv("WIN_STEPS") && rank == 0)
        fprintf(stderr, "%s\n", name);
    f();
    MPI_Barrier(MPI_COMM_WORLD);
}
#define STEP(f) step(#f, f)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make();
    STEP(put_and_get_between_fences);
    STEP(accumulates_add_up);
    STEP(locks_exclude);
    STEP(counters_by_fetch_and_op);
    STEP(one_wins_a_compare_and_swap);
    STEP(every_other_element);
    STEP(every_operation);
    STEP(where_the_least_is);
    STEP(post_start_complete_wait);
    STEP(requests);
    STEP(long_ones);
    STEP(dynamic_memory);
    STEP(attributes_and_names);
    STEP(errors_are_returned);
    drop();
    CHECK(deleted == 1);
    return end("win");
}
