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

#if MPI_VERSION >= 4
#define C(name) MPI_##name##_c
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#else
#define C(name) MPI_##name
typedef int count_t;
typedef int displ_t;
#endif

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
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    in_older_forms();
    in_windows_and_files();
#if MPI_VERSION >= 4
    /* 1: a count that is no int; 2: a message of more than 4 GB, too. */
    if (argc > 1) {
        more_than_an_int((MPI_Count)INT_MAX + 7);
        more_than_an_int_for_all((MPI_Count)INT_MAX + 12345);
    }
    if (argc > 1 && atoi(argv[1]) > 1) {
        more_than_an_int((MPI_Count)1 << 31);
        more_than_an_int(((MPI_Count)1 << 32) + PIECE);
    }
#endif
    return end("mpi4_large");
}
