/* SPDX-License-Identifier: BSD-3-Clause
 * Functions with large counts, where the library has them, with processes that
 * make the older calls of them; and more elements than an int counts.  So that
 * memory stays small, "huge" buffers show one page of a file again and again,
 * and are looked at where they end. */
#define _GNU_SOURCE
#include "check.h"

#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64 /* processes */

static void in_older_forms(void)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    long out[MOST], in[MOST], sum[3] = {0};
    count_t counts[MOST];
    displ_t displs[MOST];
    MPI_Request r[4];
    MPI_Status st;

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
        out[i] = rank * 100 + i;
        in[i] = -1;
    }
    C(Irecv)(in, MOST, MPI_LONG, prev, 1, MPI_COMM_WORLD, &r[0]);
    C(Send)(out, size, MPI_LONG, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&r[0], &st);
    {
        count_t n = -1;

        C(Get_count)(&st, MPI_LONG, &n);
        CHECK(n == size && in[0] == prev * 100 && st.MPI_SOURCE == prev);
    }
    C(Sendrecv)
    (out, 2, MPI_LONG, next, 2, in, 2, MPI_LONG, prev, 2, MPI_COMM_WORLD, &st);
    CHECK(in[1] == prev * 100 + 1);
    C(Send_init)(out, 1, MPI_LONG, next, 3, MPI_COMM_WORLD, &r[0]);
    C(Recv_init)(in, 1, MPI_LONG, prev, 3, MPI_COMM_WORLD, &r[1]);
    for (int k = 0; k < 3; k++) {
        out[0] = rank * 100 + k;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK(in[0] == prev * 100 + k);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    out[0] = rank * 100;
    C(Allgatherv)
    (&out[rank], 1, MPI_LONG, in, counts, displs, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(in[i] == i * 100 + i);
    C(Ialltoallv)
    (out, counts, displs, MPI_LONG, in, counts, displs, MPI_LONG,
     MPI_COMM_WORLD, &r[0]);
    C(Iallreduce)(out, sum, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[1]);
    C(Igatherv)
    (out, 1, MPI_LONG, in + MOST / 2, rank ? NULL : counts,
     rank ? NULL : displs, MPI_LONG, 0, MPI_COMM_WORLD, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++) {
        CHECK(in[i] == i * 100 + rank);
        CHECK(rank || in[MOST / 2 + i] == i * 100);
    }
    CHECK(sum[0] == 50L * size * (size - 1));
    C(Reduce_scatter_block)(out, in, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in[0] == 50L * size * (size - 1) + (long)rank * size);
}

static void in_windows_and_files(void)
{
    long mine = -1, got = -1, out = rank + 1000;
    char name[] = "/tmp/mpi4_large.XXXXXX";
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    MPI_Win win;
    MPI_File fh;
    MPI_Status st;

    C(Win_create)
    (&mine, sizeof(mine), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    C(Put)(&out, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(mine == prev + 1000);
    C(Get)(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(got == rank + 1000);
    C(Accumulate)(&out, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(mine == 2L * (prev + 1000));
    MPI_Win_free(&win);
    if (rank == 0)
        close(mkstemp(name));
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    C(File_write_at_all)(fh, rank * 8, &out, 1, MPI_LONG, &st);
    MPI_File_sync(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(fh);
    C(File_read_at)(fh, prev * 8, &got, 1, MPI_LONG, &st);
    CHECK(got == prev + 1000);
    MPI_File_close(&fh);
    if (rank == 0)
        unlink(name);
}

/* ---- numbers in arrays ---- */

/* Block i begins place[i] bytes behind the others', all but the first beyond
 * what an int says where the library can say so. */
#define FAR (MPI_VERSION >= 4 ? ((MPI_Aint)1 << 32) + 8 : 4096)
static displ_t place[MOST];
static count_t eight[MOST], one[MOST];
static MPI_Datatype longs[MOST];

static char *far_apart(void)
{
    char *p = mmap(NULL, FAR + MOST * sizeof(long), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(p != MAP_FAILED);
    for (int i = 0; i < MOST; i++) {
        place[i] = i ? (displ_t)(FAR + i * (MPI_Aint)sizeof(long)) : 0;
        eight[i] = sizeof(long);
        one[i] = 1;
        longs[i] = MPI_LONG;
    }
    return p;
}

static void put(char *p, int n, long base)
{
    for (int i = 0; i < n; i++, base++)
        memcpy(p + place[i], &base, sizeof(base));
}

/* n blocks, in which there is first, first + step .. */
static void holds(char *p, int n, long first, long step)
{
    for (int i = 0; i < n; i++) {
        long v;

        memcpy(&v, p + place[i], sizeof(v));
        CHECK(v == first + i * step);
        memset(p + place[i], 0, sizeof(v));
    }
}

static void in_blocks_far_apart(void)
{
    char *out = far_apart(), *in = far_apart();
    long mine = rank * 100;
    MPI_Comm line;
    MPI_Request r;
    int wraps = 1;

    put(out, size, rank * 100);
    C(Gatherv)
    (&mine, 8, MPI_BYTE, in, eight, place, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1)
        holds(in, size, 0, 100);
    C(Allgatherv)
    (&mine, 8, MPI_BYTE, in, eight, place, MPI_BYTE, MPI_COMM_WORLD);
    holds(in, size, 0, 100);
    C(Scatterv)
    (out, eight, place, MPI_BYTE, &mine, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(mine == rank);
    C(Ialltoallv)
    (out, eight, place, MPI_BYTE, in, eight, place, MPI_BYTE, MPI_COMM_WORLD,
     &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    holds(in, size, rank, 100);
    C(Alltoallw)
    (out, one, place, longs, in, one, place, longs, MPI_COMM_WORLD);
    holds(in, size, rank, 100);
    put(in, size, rank * 100);
    C(Alltoallv)
    (MPI_IN_PLACE, NULL, NULL, MPI_BYTE, in, eight, place, MPI_BYTE,
     MPI_COMM_WORLD);
    holds(in, size, rank, 100);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &wraps, 0, &line);
    C(Neighbor_alltoallv)
    (out, eight, place, MPI_BYTE, in, eight, place, MPI_BYTE, line);
    if (size > 2) {
        long prev = (rank + size - 1) % size, next = (rank + 1) % size;

        holds(in, 2, prev * 100 + 1, next * 100 - prev * 100 - 1);
    }
    MPI_Comm_free(&line);
    munmap(in, FAR + MOST * sizeof(long));
    munmap(out, FAR + MOST * sizeof(long));
}

static void add_nothing(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
}

/* More elements than an int counts, without a byte in them: the other side
 * gives none at all.  A sum over an int's may be of ints. */
static void of_nothing(void)
{
    const count_t many = MPI_VERSION >= 4 ? (count_t)INT_MAX + 5 : 0;
    count_t counts[MOST], none[MOST] = {0};
    displ_t displs[MOST] = {0};
    MPI_Datatype nothing;
    MPI_Request r[3];
    MPI_Op op;

    MPI_Type_contiguous(0, MPI_LONG, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Op_create(add_nothing, 1, &op);
    for (int i = 0; i < size; i++)
        counts[i] = many;
    C(Ialltoallv)
    (NULL, counts, displs, nothing, NULL, none, displs, MPI_LONG,
     MPI_COMM_WORLD, &r[0]);
    C(Igatherv)
    (NULL, many, nothing, NULL, counts, displs, nothing, 0, MPI_COMM_WORLD,
     &r[1]);
    for (int i = 0; i < size; i++)
        none[i] = INT_MAX;
    C(Ireduce_scatter)(NULL, NULL, none, nothing, op, MPI_COMM_WORLD, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    C(Reduce_scatter_block)(NULL, NULL, INT_MAX, nothing, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Type_free(&nothing);
}

#if MPI_VERSION >= 4
#define PIECE (1 << 20)

/* n bytes that are the same megabyte over and over, but the last. */
static char *huge(size_t n, char **last)
{
    int fd = memfd_create("huge", 0);
    char *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(fd >= 0 && p != MAP_FAILED && ftruncate(fd, 2 * PIECE) == 0);
    for (size_t at = 0; at < n; at += PIECE)
        CHECK(mmap(p + at, PIECE, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd,
                   at + PIECE < n ? 0 : PIECE) != MAP_FAILED);
    close(fd);
    *last = p + n - PIECE;
    return p;
}

/* A message of 2 GB and some to another client, by the count of its bytes; the
 * peer receives as many megabytes. */
static void more_than_an_int(MPI_Count n)
{
    size_t room = ((size_t)n + PIECE - 1) / PIECE * PIECE;
    char *last, *p = huge(room, &last);
    size_t tail = (size_t)n - (room - PIECE);
    MPI_Status st;
    MPI_Count got;

    memset(p, 0, PIECE);
    memset(last, rank ? 0 : 77, PIECE);
    if (rank == 0) {
        MPI_Send_c(p, n, MPI_CHAR, size - 1, 5, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        MPI_Recv_c(p, n, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &st);
        MPI_Get_count_c(&st, MPI_CHAR, &got);
        CHECK(got == n && last[tail - 1] == 77 &&
              (tail == PIECE || last[tail] == 0));
    }
    munmap(p, room);
}

static void more_than_an_int_for_all(MPI_Count n)
{
    size_t room = ((size_t)n + PIECE - 1) / PIECE * PIECE;
    char *last, *p = huge(room, &last);
    size_t tail = (size_t)n - (room - PIECE);

    memset(p, 0, PIECE);
    memset(last, rank ? 0 : 55, PIECE);
    MPI_Bcast_c(p, n, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(last[tail - 1] == 55);
    munmap(p, room);
}

static MPI_Count in_pieces(MPI_Count n)
{
    return (n + PIECE - 1) / PIECE * PIECE;
}

/* 2 GB and some of the last process, a byte of each other. */
static void more_than_an_int_in_an_array(MPI_Count n)
{
    size_t room = (size_t)in_pieces(n + MOST);
    char *last, *p = huge(room, &last);
    MPI_Count counts[MOST];
    MPI_Aint displs[MOST];

    for (int i = 0; i < size; i++) {
        counts[i] = i + 1 < size ? 1 : n;
        displs[i] = i + 1 < size ? n + i : 0;
    }
    memset(p, 0, PIECE);
    memset(last, rank + 1 < size ? 0 : 44, PIECE);
    if (rank == 0) {
        char own = 33;

        MPI_Gatherv_c(&own, 1, MPI_BYTE, p, counts, displs, MPI_BYTE, 0,
                      MPI_COMM_WORLD);
        CHECK(p[n - 1] == 44 && p[n] == 33 && p[n + size - 1] == 0);
    } else {
        MPI_Gatherv_c(p, counts[rank], MPI_BYTE, NULL, NULL, NULL, MPI_BYTE, 0,
                      MPI_COMM_WORLD);
    }
    munmap(p, room);
}

/* Rank 0 has all but a byte of each other. */
static void more_than_an_int_is_reduced(MPI_Count n)
{
    size_t room = (size_t)in_pieces(n + MOST);
    char *last, *p = huge(room, &last), *result_last, own = 0;
    char *result = rank == 0 ? huge(room, &result_last) : &own;
    MPI_Count counts[MOST];
    int bits = (1 << size) - 1;

    for (int i = 0; i < size; i++)
        counts[i] = i == 0 ? n : 1;
    memset(p, 1 << rank, PIECE);
    memset(last, rank == 0 ? 64 : 0, PIECE);
    MPI_Reduce_scatter_c(p, result, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(result[0] == bits && result[n - 1] == 64);
    else
        CHECK(own == 64);
    munmap(p, room);
    if (rank == 0)
        munmap(result, room);
}
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    in_older_forms();
    in_windows_and_files();
    in_blocks_far_apart();
    of_nothing();
#if MPI_VERSION >= 4
    /* 1: a count that is no int; 2: a message of more than 4 GB, too. */
    if (argc > 1) {
        more_than_an_int((MPI_Count)INT_MAX + 7);
        more_than_an_int_for_all((MPI_Count)INT_MAX + 12345);
        more_than_an_int_in_an_array((MPI_Count)INT_MAX + 9);
        more_than_an_int_is_reduced((MPI_Count)INT_MAX + 9);
    }
    if (argc > 1 && atoi(argv[1]) > 1) {
        more_than_an_int((MPI_Count)1 << 31);
        more_than_an_int(((MPI_Count)1 << 32) + PIECE);
    }
#endif
    return end("mpi4_large");
}
