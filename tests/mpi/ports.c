/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One of two worlds that meet by a port and talk over the intercommunicator.
 *
 *   ports accept|connect|third NAME WHAT
 *
 * The accepting one publishes NAME, the other one looks it up.  Or the first is
 * given "-", and prints the name of its port, which the other one is given.
 * WHAT: talk, or three (the first two worlds as one group with a third), or
 * once (with one port), or lost (the accepting world dies, the
 * other one has an error and goes on), or unheard (the same, where only the
 * roots have talked), or leaderless (the same, in MPI_Intercomm_create), or
 * alone (the leaders meet by themselves, then their worlds by
 * MPI_Intercomm_create), or world (as talk, between the halves of one world),
 * or files (they share one, in $TMPDIR), or windows (they read and write each
 * other's memory), or shared (both), or lost-window (the accepting world dies,
 * one of it with a lock), or names (both), or barred ROLE (that world may meet
 * no other), or deaf ROLE (the last process of that world has no descriptor
 * left), or deaf-root ROLE (the same, where it is the root), or deaf-alone ROLE
 * (the same, in MPI_Intercomm_create of the first processes), or deaf-join ROLE
 * (the first process of one world, or the last, in MPI_Comm_join).
 */
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ports.h"

/* ---- talking ---- */

#define MOST 300000
#define PEERS 8

/* Everybody with everybody of the other group, short and long. */
static void messages(MPI_Comm inter, int local, int remote)
{
    static unsigned char out[MOST], in[PEERS][MOST];
    static const int lengths[] = {0, 1, 1000, MOST};
    MPI_Request r[2 * PEERS];
    MPI_Status st[2 * PEERS];

    CHECK(remote <= PEERS);
    for (int i = 0; i < 4; i++) {
        int n = lengths[i], count;

        fill(out, (size_t)n, local + 10 * accepts, i);
        for (int k = 0; k < remote; k++) {
            MPI_Irecv(in[k], n, MPI_BYTE, k, 5 + i, inter, &r[k]);
            MPI_Isend(out, n, MPI_BYTE, k, 5 + i, inter, &r[remote + k]);
        }
        MPI_Waitall(2 * remote, r, st);
        for (int k = 0; k < remote; k++) {
            MPI_Get_count(&st[k], MPI_BYTE, &count);
            CHECK(count == n && st[k].MPI_SOURCE == k);
            CHECK(st[k].MPI_TAG == 5 + i);
            CHECK(same(in[k], (size_t)n, k + 10 * !accepts, i));
        }
        MPI_Barrier(inter);
    }
}

/* Rank 0 of each hears all of the other group by MPI_ANY_SOURCE. */
static void anybody(MPI_Comm inter, int local, int remote)
{
    int seen = 0, value = local, own = local;
    MPI_Request r;

    MPI_Issend(&own, 1, MPI_INT, 0, 9, inter, &r);
    for (int i = 0; local == 0 && i < remote; i++) {
        MPI_Status st;

        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &st);
        CHECK(st.MPI_SOURCE == value && st.MPI_TAG == 9);
        seen |= 1 << value;
    }
    CHECK(local != 0 || seen == (1 << remote) - 1);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void collectives(MPI_Comm inter, int local, int remote)
{
    int sum = -1, value = local + 1, all[64];
    double field[500];

    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (remote + 1) / 2);
    for (int i = 0; i < 500; i++)
        field[i] = accepts ? i : -1;
    MPI_Bcast(field, 500, MPI_DOUBLE,
              !accepts     ? 0
              : local == 0 ? MPI_ROOT
                           : MPI_PROC_NULL,
              inter);
    CHECK(field[499] == 499);
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == i + 1);
    MPI_Barrier(inter);
}

/* The acceptors in front. */
static void merged(MPI_Comm inter, int local, int n, int remote)
{
    MPI_Comm both, dup, half;
    int own, all, sum, one = 1, result;
    MPI_Group group;

    MPI_Intercomm_merge(inter, !accepts, &both);
    MPI_Comm_rank(both, &own);
    MPI_Comm_size(both, &all);
    CHECK(all == n + remote && own == (accepts ? local : remote + local));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    CHECK(sum == all);
    MPI_Comm_dup(both, &dup);
    MPI_Comm_split(dup, own % 2, own, &half);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == (all + (own % 2 == 0)) / 2);
    MPI_Comm_group(both, &group);
    MPI_Group_size(group, &sum);
    CHECK(sum == all);
    MPI_Group_free(&group);
    MPI_Comm_compare(both, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    MPI_Comm_disconnect(&both);
}

/* An intercommunicator of the same groups, whose leaders are others than those
 * that met. */
static void created(MPI_Comm inter, MPI_Comm local, int own, int n, int remote)
{
    MPI_Comm peer = own == n - 1 ? inter : MPI_COMM_NULL, other;
    int flag = 0, all;

    MPI_Intercomm_create(local, n - 1, peer, remote - 1, 12, &other);
    MPI_Comm_test_inter(other, &flag);
    MPI_Comm_remote_size(other, &all);
    CHECK(flag && all == remote);
    messages(other, own, remote);
    anybody(other, own, remote);
    collectives(other, own, remote);
    MPI_Comm_disconnect(&other);
}

/* Of groups that have processes of both worlds each: those of even and of odd
 * rank. */
static void created_of_both(MPI_Comm inter)
{
    MPI_Comm both, half, other, all;
    int r, n, own, remote, got = -1, one = 1, sum = 0;

    MPI_Intercomm_merge(inter, !accepts, &both);
    MPI_Comm_rank(both, &r);
    MPI_Comm_size(both, &n);
    MPI_Comm_split(both, r % 2, r, &half);
    MPI_Intercomm_create(half, 0, both, (r + 1) % 2, 13, &other);
    MPI_Comm_rank(other, &own);
    MPI_Comm_remote_size(other, &remote);
    CHECK(own == r / 2 && remote == (n + r % 2) / 2);
    for (int i = 0; i < remote; i++) {
        MPI_Request req;

        MPI_Isend(&r, 1, MPI_INT, i, 4, other, &req);
        MPI_Recv(&got, 1, MPI_INT, i, 4, other, MPI_STATUS_IGNORE);
        CHECK(got == 2 * i + (r + 1) % 2);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
    CHECK(sum == remote);
    MPI_Intercomm_merge(other, r % 2, &all);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Comm_rank(all, &own);
    CHECK(own == (r % 2 ? (n + 1) / 2 : 0) + r / 2);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&other);
    MPI_Comm_disconnect(&half);
    MPI_Comm_disconnect(&both);
}

static void talk(const char *name, MPI_Comm local, int root)
{
    MPI_Comm inter = meet(name, local, root);
    int flag = 0, own, n, remote;

    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_rank(inter, &own);
    MPI_Comm_size(inter, &n);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(flag);
    messages(inter, own, remote);
    anybody(inter, own, remote);
    collectives(inter, own, remote);
    merged(inter, own, n, remote);
    created(inter, local, own, n, remote);
    created_of_both(inter);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL);
}

/* ---- a file of both worlds ---- */

#define BLOCK 1000 /* ints */

/* Blocks of all in turn, and what each finds there. */
static void interleaved(MPI_File f, int own, int all)
{
    static int out[4 * BLOCK], in[4 * BLOCK];
    MPI_Datatype blocks;
    MPI_Status st;
    int n = -1, other = (own + 1) % all;

    MPI_Type_vector(4, BLOCK, BLOCK * all, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    for (int i = 0; i < 4 * BLOCK; i++)
        out[i] = 10000 * own + i;
    CHECK(MPI_File_set_view(f, (MPI_Offset)(own * BLOCK * (int)sizeof(int)),
                            MPI_INT, blocks, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(f, out, 4 * BLOCK, MPI_INT, &st) == MPI_SUCCESS);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(n == 4 * BLOCK);
    CHECK(MPI_File_set_view(f, (MPI_Offset)(other * BLOCK * (int)sizeof(int)),
                            MPI_INT, blocks, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(f, in, 4 * BLOCK, MPI_INT, &st) == MPI_SUCCESS);
    for (int i = 0; i < 4 * BLOCK; i++)
        CHECK(in[i] == 10000 * other + i);
    MPI_Type_free(&blocks);
}

/* One after the other, and by offset. */
static void in_order(MPI_File f, int own, int all)
{
    int value = own, got = -1;
    MPI_Request r;

    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(f, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_sync(f) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(f, all - 1 - own, &got, 1, MPI_INT, &r) ==
          MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(got == all - 1 - own);
    CHECK(MPI_File_set_atomicity(f, 1) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(f, own, &all, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at(f, all - 1, &got, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == all);
}

#define RECORDS 20

/* All write with the shared pointer, as they come: each record is there
 * once. */
static void with_one_pointer(MPI_File f, MPI_Comm both, int own, int all)
{
    static int seen[PEERS * RECORDS];
    MPI_Offset at = -1;
    int got = -1;

    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int i = 0; i < RECORDS; i++) {
        int value = own * RECORDS + i;

        CHECK(MPI_File_write_shared(f, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    MPI_Barrier(both);
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS);
    CHECK(at == all * RECORDS);
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < RECORDS; i++) {
        CHECK(MPI_File_read_shared(f, &got, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got >= 0 && got < all * RECORDS);
        seen[got]++;
    }
    MPI_Allreduce(MPI_IN_PLACE, seen, all * RECORDS, MPI_INT, MPI_SUM, both);
    for (int i = 0; i < all * RECORDS; i++)
        CHECK(seen[i] == 1);
}

static void files(const char *name)
{
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0), both;
    char path[1000];
    MPI_Offset bytes = 0;
    MPI_File f;
    int own, all;

    MPI_Intercomm_merge(inter, !accepts, &both);
    MPI_Comm_rank(both, &own);
    MPI_Comm_size(both, &all);
    snprintf(path, sizeof(path), "%s/both", getenv("TMPDIR"));
    CHECK(MPI_File_open(both, path,
                        MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR |
                            MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &f) == MPI_SUCCESS);
    interleaved(f, own, all);
    CHECK(MPI_File_get_size(f, &bytes) == MPI_SUCCESS);
    CHECK(bytes == (MPI_Offset)(4 * BLOCK * (int)sizeof(int) * all));
    in_order(f, own, all);
    with_one_pointer(f, both, own, all);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
    CHECK(access(path, F_OK) < 0);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&inter);
}

/* ---- windows of both worlds ---- */

#define CELLS (2 * PEERS + 2)
#define TIMES 10

struct shared {
    MPI_Comm comm;
    MPI_Win win;
    long *mem; /* [CELLS] */
    int own, all;
};

/* Everybody puts a number into everybody's memory, and gets it back. */
static void fenced(const struct shared *s)
{
    long out[PEERS], in[PEERS];

    MPI_Win_fence(0, s->win);
    for (int t = 0; t < s->all; t++) {
        out[t] = 100 * s->own + t;
        in[t] = -1;
        MPI_Put(&out[t], 1, MPI_LONG, t, s->own, 1, MPI_LONG, s->win);
    }
    MPI_Win_fence(0, s->win);
    for (int i = 0; i < s->all; i++)
        CHECK(s->mem[i] == 100 * i + s->own);
    MPI_Win_fence(0, s->win);
    for (int t = 0; t < s->all; t++)
        MPI_Get(&in[t], 1, MPI_LONG, t, s->own, 1, MPI_LONG, s->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, s->win);
    for (int t = 0; t < s->all; t++)
        CHECK(in[t] == out[t]);
}

/* A counter of each that all raise: by operations that are atomic, then by the
 * lock alone. */
static void counted(const struct shared *s)
{
    const int cell = 2 * PEERS;
    long one = 1, old = -1;

    MPI_Win_lock_all(0, s->win);
    for (int i = 0; i < TIMES * s->all; i++) {
        int t = (s->own + i) % s->all;

        MPI_Fetch_and_op(&one, &old, MPI_LONG, t, cell, MPI_SUM, s->win);
        MPI_Win_flush(t, s->win);
        CHECK(old >= 0 && old < TIMES * s->all);
    }
    MPI_Win_unlock_all(s->win);
    for (int i = 0; i < TIMES * s->all; i++) {
        int t = (s->own + i) % s->all;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, s->win);
        MPI_Get(&old, 1, MPI_LONG, t, cell + 1, 1, MPI_LONG, s->win);
        MPI_Win_flush(t, s->win);
        old++;
        MPI_Put(&old, 1, MPI_LONG, t, cell + 1, 1, MPI_LONG, s->win);
        MPI_Win_unlock(t, s->win);
    }
    MPI_Barrier(s->comm);
    MPI_Win_lock(MPI_LOCK_SHARED, s->own, 0, s->win);
    CHECK(s->mem[cell] == (long)TIMES * s->all);
    CHECK(s->mem[cell + 1] == (long)TIMES * s->all);
    MPI_Win_unlock(s->own, s->win);
}

/* Every other cell, in an epoch of all with all. */
static void exposed(const struct shared *s)
{
    long out[PEERS];
    MPI_Datatype gaps;
    MPI_Group group;

    for (int i = 0; i < PEERS; i++)
        out[i] = 1000 + 10 * s->own + i;
    MPI_Type_vector(PEERS, 1, 2, MPI_LONG, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Win_get_group(s->win, &group);
    MPI_Win_post(group, 0, s->win);
    MPI_Win_start(group, 0, s->win);
    MPI_Put(out, PEERS, MPI_LONG, (s->own + 1) % s->all, 0, 1, gaps, s->win);
    MPI_Win_complete(s->win);
    MPI_Win_wait(s->win);
    for (int i = 0; i < PEERS; i++)
        CHECK(s->mem[2 * i] ==
              1000 + 10 * ((s->own + s->all - 1) % s->all) + i);
    MPI_Group_free(&group);
    MPI_Type_free(&gaps);
}

/* One waits for what others write, and calls nothing of MPI. */
static void served_while_away(const struct shared *s)
{
    volatile long *cell = &s->mem[2 * PEERS];
    int away = s->all - 1;
    long one = 1;

    *cell = 0;
    MPI_Barrier(s->comm);
    if (s->own == away) {
        while (*cell < s->all - 1)
            sched_yield();
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, away, 0, s->win);
        MPI_Accumulate(&one, 1, MPI_LONG, away, 2 * PEERS, 1, MPI_LONG, MPI_SUM,
                       s->win);
        MPI_Win_unlock(away, s->win);
    }
    MPI_Barrier(s->comm);
}

static void dynamic(const struct shared *s)
{
    MPI_Aint at[PEERS], own;
    long cells[PEERS] = {0}, value = 7 + s->own;
    MPI_Win w;

    MPI_Win_create_dynamic(MPI_INFO_NULL, s->comm, &w);
    MPI_Win_attach(w, cells, sizeof(cells));
    MPI_Get_address(&cells[0], &own);
    MPI_Allgather(&own, 1, MPI_AINT, at, 1, MPI_AINT, s->comm);
    MPI_Win_fence(0, w);
    for (int t = 0; t < s->all; t++)
        MPI_Put(&value, 1, MPI_LONG, t, at[t] + s->own * (MPI_Aint)sizeof(long),
                1, MPI_LONG, w);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    for (int i = 0; i < s->all; i++)
        CHECK(cells[i] == 7 + i);
    MPI_Win_detach(w, cells);
    MPI_Win_free(&w);
}

/* Memory that worlds have in common there is none: MPI_Comm_split_type leaves
 * each with its own. */
static void nothing_in_common(MPI_Comm both)
{
    MPI_Errhandler before;
    MPI_Win w;
    void *mem;

    MPI_Comm_get_errhandler(both, &before);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, both, &mem,
                                           &w)) == MPI_ERR_RMA_SHARED);
    MPI_Comm_set_errhandler(both, before);
    MPI_Errhandler_free(&before);
}

static void windows(const char *name)
{
    static long cells[CELLS];
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0);
    struct shared s;

    MPI_Intercomm_merge(inter, !accepts, &s.comm);
    MPI_Comm_rank(s.comm, &s.own);
    MPI_Comm_size(s.comm, &s.all);
    MPI_Win_create(cells, sizeof(cells), sizeof(long), MPI_INFO_NULL, s.comm,
                   &s.win);
    s.mem = cells;
    fenced(&s);
    counted(&s);
    exposed(&s);
    MPI_Win_free(&s.win);
    MPI_Win_allocate(sizeof(cells), sizeof(long), MPI_INFO_NULL, s.comm, &s.mem,
                     &s.win);
    served_while_away(&s);
    fenced(&s);
    MPI_Win_free(&s.win);
    dynamic(&s);
    nothing_in_common(s.comm);
    MPI_Comm_free(&s.comm);
    MPI_Comm_disconnect(&inter);
}

/* The first of the dead world had a lock of each process of this one. */
static void lost_window(const char *name)
{
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0), both;
    long *mem, value = 5;
    int others, rc;
    MPI_Win w;

    MPI_Comm_remote_size(inter, &others);
    MPI_Intercomm_merge(inter, !accepts, &both);
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, both, &mem, &w);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    for (int i = 0; accepts && rank == 0 && i < others; i++)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size + i, 0, w);
    MPI_Barrier(both);
    if (accepts)
        _exit(7);
    do {
        rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
        if (rc == MPI_SUCCESS)
            MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w);
        if (rc == MPI_SUCCESS)
            rc = MPI_Win_unlock(0, w);
    } while (rc == MPI_SUCCESS);
    CHECK(class_of(rc) == MPI_ERR_OTHER);
    for (int i = 0; i < size; i++) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, others + i, 0, w) ==
              MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_LONG, others + i, 0, 1, MPI_LONG, w) ==
              MPI_SUCCESS);
        CHECK(MPI_Win_unlock(others + i, w) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*mem == value);
    CHECK(class_of(MPI_Win_fence(0, w)) == MPI_ERR_OTHER);
    MPI_Win_free(&w);
    MPI_Comm_free(&both);
    MPI_Comm_free(&inter);
}

/* The leaders meet by MPI_COMM_SELF, and nobody else of their worlds has had to
 * do with another one before they bring them together; and then again, where
 * all have. */
static void leaders_alone(const char *name)
{
    MPI_Comm leaders = MPI_COMM_NULL, inter;
    int n, remote, flag = 0;

    if (rank == size - 1)
        leaders = meet(name, MPI_COMM_SELF, 0);
    for (int i = 0; i < 2; i++) {
        MPI_Intercomm_create(MPI_COMM_WORLD, size - 1, leaders, 0, 14, &inter);
        MPI_Comm_test_inter(inter, &flag);
        MPI_Comm_size(inter, &n);
        MPI_Comm_remote_size(inter, &remote);
        CHECK(flag && n == size);
        messages(inter, rank, remote);
        collectives(inter, rank, remote);
        merged(inter, rank, n, remote);
        MPI_Comm_disconnect(&inter);
    }
    if (leaders != MPI_COMM_NULL)
        MPI_Comm_disconnect(&leaders);
}

/* ---- what goes wrong ---- */

static void wrong_ports(void)
{
    static const char *const names[] = {
        "", "impi1/", "impi1/127.0.0.1:1/00000000/",
        "impi1/127.0.0.1:0/00000000/"
        "0000000000000000000000000000000000000000000000000000000000000000",
        /* nobody listens there */
        "impi1/127.0.0.1:1/00000000/"
        "0000000000000000000000000000000000000000000000000000000000000000"};
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME];

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++) {
        CHECK(class_of(MPI_Comm_connect(names[i], MPI_INFO_NULL, 0,
                                        MPI_COMM_SELF, &inter)) ==
              MPI_ERR_PORT);
        CHECK(inter == MPI_COMM_NULL);
        CHECK(class_of(MPI_Comm_accept(names[i], MPI_INFO_NULL, 0,
                                       MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    }
    CHECK(class_of(MPI_Close_port("none")) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_accept("none", MPI_INFO_NULL, 7, MPI_COMM_SELF,
                                   &inter)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Lookup_name("nobody's", MPI_INFO_NULL, port)) ==
          MPI_ERR_NAME);
    CHECK(class_of(MPI_Unpublish_name("nobody's", MPI_INFO_NULL, "x")) ==
          MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Publish_name("", MPI_INFO_NULL, "x")) ==
          MPI_ERR_SERVICE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* In each process, whichever library is the root's. */
static void wrong_ports_of_all(void)
{
    MPI_Comm inter;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int root = 0; root < size; root++)
        CHECK(class_of(MPI_Comm_connect("none", MPI_INFO_NULL, root,
                                        MPI_COMM_WORLD, &inter)) ==
              MPI_ERR_PORT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int handled;

static void count_it(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += class_of(*code) == MPI_ERR_PORT;
}

/* Also that of a communicator that does not span and was used last. */
static void errors_are_handled(void)
{
    MPI_Errhandler handler;
    MPI_Comm own, inter;

    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_create_errhandler(count_it, &handler);
    MPI_Comm_set_errhandler(own, handler);
    for (int i = 1; i < 4; i++) {
        MPI_Barrier(own);
        CHECK(MPI_Comm_connect("none", MPI_INFO_NULL, 0, own, &inter) !=
              MPI_SUCCESS);
        CHECK(handled == i);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
}

/* Nobody comes: the info key says how long that is waited for. */
static void nobody_comes(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Open_port(MPI_INFO_NULL, port);
    CHECK(class_of(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter)) ==
          MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter)) ==
          MPI_ERR_PORT);
    MPI_Close_port(port);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Info_free(&info);
}

/* A name is there once. */
static void names(const char *name)
{
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Open_port(MPI_INFO_NULL, port);
    CHECK(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Publish_name(name, MPI_INFO_NULL, port)) ==
          MPI_ERR_SERVICE);
    CHECK(MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS);
    CHECK(strcmp(port, found) == 0);
    CHECK(class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, "other")) ==
          MPI_ERR_SERVICE);
    CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Lookup_name(name, MPI_INFO_NULL, found)) ==
          MPI_ERR_NAME);
    MPI_Close_port(port);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- the other world dies ---- */

static void lost(const char *name)
{
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0);
    int value = 0;

    MPI_Barrier(inter);
    if (accepts)
        _exit(7);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter,
                   MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Comm_free(&inter);
}

/* Nobody but the roots has said a word: who waits hears of it all the same. */
static void unheard(const char *name)
{
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0);
    MPI_Message message;
    int value = 0, flag = 0, rc, others;

    if (accepts) {
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(7);
    }
    MPI_Comm_remote_size(inter, &others);
    MPI_Barrier(MPI_COMM_WORLD); /* all have met */
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 0, 1, inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (rank == size - 1) {
        CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, inter,
                       MPI_STATUS_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Mprobe(others - 1, 2, inter, &message, MPI_STATUS_IGNORE) !=
              MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(&value, 1, MPI_INT, others - 1, 2, inter,
                       MPI_STATUS_IGNORE) != MPI_SUCCESS);
    }
    do
        rc = MPI_Iprobe(MPI_ANY_SOURCE, 2, inter, &flag, MPI_STATUS_IGNORE);
    while (rc == MPI_SUCCESS && !flag);
    CHECK(rc != MPI_SUCCESS);
    CHECK(MPI_Probe(0, 2, inter, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Comm_free(&inter);
}

/* The leader cannot talk to the other one: all of its group have an error. */
static void leaderless(const char *name)
{
    MPI_Comm inter = meet(name, MPI_COMM_WORLD, 0), other;

    MPI_Barrier(inter);
    if (accepts)
        _exit(7);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, 0,
                               rank == 0 ? inter : MPI_COMM_NULL, 0, 12,
                               &other) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&inter);
}

/* ---- one of them has no descriptor left ---- */

/* Open MPI's text is that of the class alone. */
static int names_who(int rc, int ours)
{
#ifdef OPEN_MPI
    return 1;
#endif
    char text[MPI_MAX_ERROR_STRING] = "", want[64];
    int len;

    snprintf(want, sizeof(want), "of %s group cannot",
             ours ? "this" : "the other");
    MPI_Error_string(rc, text, &len);
    if (strstr(text, want) ||
        (is_deaf && (strstr(text, "cannot listen") ||
                     strstr(text, "no file descriptor is left"))))
        return 1;
    fprintf(stderr, "rank %d: %s\n", rank, text);
    return 0;
}

/* They do not meet, and all hear why.  Then that process has some again. */
static void deaf(const char *name, int ours, int root)
{
    char again[64]; /* the first may still be found for a while */
    MPI_Comm inter;
    int rc;

    MPI_Barrier(MPI_COMM_WORLD); /* they can talk */
    is_deaf = ours && rank == size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = meet_as(name, MPI_COMM_WORLD, root, &inter);
    CHECK(class_of(rc) == MPI_ERR_OTHER && inter == MPI_COMM_NULL);
    CHECK(names_who(rc, ours));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    is_deaf = 0;
    snprintf(again, sizeof(again), "%s again", name);
    talk(again, MPI_COMM_WORLD, 0);
}

/* One world may meet no other (its data travel as external32): both hear it. */
static void barred(const char *name, int ours)
{
    MPI_Comm inter;
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = meet_as(name, MPI_COMM_WORLD, size - 1, &inter);
    CHECK(class_of(rc) == MPI_ERR_OTHER && inter == MPI_COMM_NULL);
    CHECK(ours || names_who(rc, ours));
}

/* The same where the leaders have met alone. */
static void deaf_of_leaders(const char *name, int ours)
{
    MPI_Comm leaders = MPI_COMM_NULL, inter;
    int rc;

    if (rank == 0) {
        leaders = meet(name, MPI_COMM_SELF, 0);
        MPI_Barrier(leaders); /* they can talk */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    is_deaf = ours && rank == size - 1;
    if (is_deaf)
        take_descriptors();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Intercomm_create(MPI_COMM_WORLD, 0, leaders, 0, 14, &inter);
    CHECK(class_of(rc) == MPI_ERR_OTHER);
    CHECK(names_who(rc, ours));
    if (is_deaf)
        give_descriptors_back();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (leaders != MPI_COMM_NULL)
        MPI_Comm_disconnect(&leaders);
}

/* ---- three worlds ---- */

/* The first two become one group, which meets the third one. */
static void three(const char *name, int third)
{
    MPI_Comm inter, both;
    char again[64];

    snprintf(again, sizeof(again), "%s again", name);
    if (third) {
        talk(again, MPI_COMM_WORLD, size - 1);
        return;
    }
    inter = meet(name, MPI_COMM_WORLD, 0);
    MPI_Intercomm_merge(inter, !accepts, &both);
    accepts = 1;
    talk(again, both, 0);
    MPI_Comm_disconnect(&both);
    MPI_Comm_disconnect(&inter);
}

/* ---- one world ---- */

static int listen_here(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(fd >= 0 && bind(fd, (void *)&at, sizeof(at)) == 0);
    CHECK(listen(fd, 1) == 0 && getsockname(fd, (void *)&at, &len) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int call(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(fd >= 0 && connect(fd, (void *)&at, sizeof(at)) == 0);
    return fd;
}

/* A socket between the first and the last process; -1: neither. */
static int ends_of_world(void)
{
    int port = 0, fd = -1, listener;

    if (rank == 0) {
        listener = listen_here(&port);
        MPI_Send(&port, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else if (rank == size - 1) {
        MPI_Recv(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fd = call(port);
    }
    return fd;
}

/* They join over it. */
static void join(void)
{
    int fd = ends_of_world(), value = rank, got = -1;
    MPI_Comm inter;

    if (fd < 0)
        return;
    MPI_Comm_join(fd, &inter);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter,
                 MPI_STATUS_IGNORE);
    CHECK(got == size - 1 - rank);
    MPI_Comm_disconnect(&inter);
    close(fd);
}

/* Who of the two listens is decided by lot. */
static void deaf_join(int first)
{
    int fd = ends_of_world(), rc;
    MPI_Comm inter;

    if (fd >= 0) {
        is_deaf = first ? rank == 0 : rank != 0;
        if (is_deaf)
            take_descriptors();
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        rc = MPI_Comm_join(fd, &inter);
        CHECK(class_of(rc) == MPI_ERR_OTHER && inter == MPI_COMM_NULL);
        CHECK(names_who(rc, is_deaf));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
        if (is_deaf)
            give_descriptors_back();
        is_deaf = 0;
        close(fd);
    }
    join();
}

/* Its lower and its upper half; and two processes over a socket. */
static void halves(const char *name)
{
    MPI_Comm half;

    accepts = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, accepts, 0, &half);
    talk(name, half, 0);
    MPI_Comm_free(&half);
    join();
}

/* With a role as the last argument. */
static void run_deaf(const char *name, const char *what, const char *own,
                     const char *whose)
{
    int ours = strcmp(own, whose) == 0;

    if (strcmp(what, "barred") == 0)
        barred(name, ours);
    else if (strcmp(what, "deaf") == 0)
        deaf(name, ours, 0);
    else if (strcmp(what, "deaf-root") == 0)
        deaf(name, ours, size - 1);
    else if (strcmp(what, "deaf-alone") == 0)
        deaf_of_leaders(name, ours);
    else
        deaf_join(ours);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(argc == 4 || argc == 5);
    accepts = strcmp(argv[1], "accept") == 0;
    if (strcmp(argv[3], "lost") == 0) {
        lost(argv[2]);
    } else if (strcmp(argv[3], "three") == 0) {
        three(argv[2], strcmp(argv[1], "third") == 0);
    } else if (strcmp(argv[3], "files") == 0) {
        files(argv[2]);
    } else if (strcmp(argv[3], "windows") == 0) {
        windows(argv[2]);
    } else if (strcmp(argv[3], "shared") == 0) {
        files(argv[2]);
        windows(argv[2]);
    } else if (strcmp(argv[3], "lost-window") == 0) {
        lost_window(argv[2]);
    } else if (strcmp(argv[3], "unheard") == 0) {
        unheard(argv[2]);
    } else if (strcmp(argv[3], "once") == 0) {
        talk(argv[2], MPI_COMM_WORLD, 0);
    } else if (strcmp(argv[3], "leaderless") == 0) {
        leaderless(argv[2]);
    } else if (argc == 5) {
        run_deaf(argv[2], argv[3], argv[1], argv[4]);
    } else if (strcmp(argv[3], "alone") == 0) {
        leaders_alone(argv[2]);
    } else if (strcmp(argv[3], "world") == 0) {
        halves(argv[2]);
    } else if (strcmp(argv[3], "names") == 0) {
        wrong_ports_of_all();
        if (rank == 0) {
            wrong_ports();
            errors_are_handled();
            nobody_comes();
            names(argv[2]);
        }
    } else {
        talk(argv[2], MPI_COMM_WORLD, size - 1);
        talk(argv[2], MPI_COMM_WORLD, 0);
    }
    return end("ports");
}
