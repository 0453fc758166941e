/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Isendrecv, MPI_Isendrecv_replace and MPI_Comm_idup_with_info, where the
 * library has them, with processes that make older calls of them. */
#include "check.h"

#define N 5000

#ifdef HAVE_MPI4
#define ISENDRECV MPI_Isendrecv
#define ISENDRECV_REPLACE MPI_Isendrecv_replace
#define IDUP(comm, info, made, req)                                            \
    MPI_Comm_idup_with_info(comm, info, made, req)
#else
#define IDUP(comm, info, made, req) MPI_Comm_idup(comm, made, req)
#endif

/* The ring's neighbours, of a line with MPI_PROC_NULL at its ends. */
static int next_of(int line)
{
    return line && rank == size - 1 ? MPI_PROC_NULL : (rank + 1) % size;
}

static int prev_of(int line)
{
    return line && rank == 0 ? MPI_PROC_NULL : (rank + size - 1) % size;
}

#ifdef ISENDRECV
/* The status is that of the receive. */
static void check_status(const MPI_Status *st, int prev, int tag, int n)
{
    int got;

    MPI_Get_count(st, MPI_DOUBLE, &got);
    CHECK(st->MPI_SOURCE == prev);
    CHECK(st->MPI_TAG == (prev == MPI_PROC_NULL ? MPI_ANY_TAG : tag));
    CHECK(got == (prev == MPI_PROC_NULL ? 0 : n));
}

static void swap(double *out, double *in, int n, int line, int any, int tag)
{
    int prev = prev_of(line), next = next_of(line), flag = 0;
    MPI_Request r[2];
    MPI_Status st[2];

    r[1] = MPI_REQUEST_NULL;
    ISENDRECV(out, n, MPI_DOUBLE, next, tag, in, N, MPI_DOUBLE,
              any && prev >= 0 ? MPI_ANY_SOURCE : prev, any ? MPI_ANY_TAG : tag,
              MPI_COMM_WORLD, &r[0]);
    if (tag % 3 == 0)
        MPI_Wait(&r[0], &st[0]);
    else if (tag % 3 == 1)
        MPI_Waitall(2, r, st);
    while (tag % 3 == 2 && !flag)
        MPI_Test(&r[0], &flag, &st[0]);
    CHECK(r[0] == MPI_REQUEST_NULL);
    check_status(&st[0], prev, tag, n);
}

static void swap_here(double *buf, int n, int line, int tag)
{
    MPI_Request r;
    MPI_Status st;

    ISENDRECV_REPLACE(buf, n, MPI_DOUBLE, next_of(line), tag, prev_of(line),
                      tag, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &st);
    check_status(&st, prev_of(line), tag, n);
}
#else
static void swap(double *out, double *in, int n, int line, int any, int tag)
{
    MPI_Request r[2];

    (void)any;
    MPI_Irecv(in, N, MPI_DOUBLE, prev_of(line), tag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, n, MPI_DOUBLE, next_of(line), tag, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void swap_here(double *buf, int n, int line, int tag)
{
    MPI_Sendrecv_replace(buf, n, MPI_DOUBLE, next_of(line), tag, prev_of(line),
                         tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
#endif

static void both_at_once(void)
{
    static double out[N], in[N];
    int sizes[] = {1, 100, N};

    for (int k = 0; k < 3 * 2 * 2; k++) {
        int n = sizes[k % 3], line = k / 3 % 2, prev = prev_of(line);

        for (int i = 0; i < N; i++) {
            out[i] = rank * 10 + i + k;
            in[i] = -1;
        }
        swap(out, in, n, line, k / 6, k);
        for (int i = 0; i < N; i++)
            CHECK(in[i] == (prev < 0 || i >= n ? -1 : prev * 10 + i + k));
        swap_here(out, n, line, 100 + k);
        for (int i = 0; i < n; i++)
            CHECK(out[i] == (prev < 0 ? rank : prev) * 10 + i + k);
    }
}

/* Many in one array, with others, in no order. */
static void many_at_once(void)
{
#ifdef ISENDRECV
    int out[16], in[16], done = 0;
    MPI_Request r[16];

    for (int i = 0; i < 16; i++) {
        out[i] = rank * 100 + i;
        ISENDRECV(&out[i], 1, MPI_INT, next_of(0), 200 + i, &in[i], 1, MPI_INT,
                  prev_of(0), 200 + i, MPI_COMM_WORLD, &r[i]);
    }
    while (done < 16) {
        int i;

        MPI_Waitany(16, r, &i, MPI_STATUS_IGNORE);
        CHECK(i >= 0 && in[i] == prev_of(0) * 100 + i);
        done++;
    }
#else
    int out[16], in[16];
    MPI_Request r[32];

    for (int i = 15; i >= 0; i--) {
        out[i] = rank * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, prev_of(0), 200 + i, MPI_COMM_WORLD,
                  &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, next_of(0), 200 + i, MPI_COMM_WORLD,
                  &r[16 + i]);
    }
    MPI_Waitall(32, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 16; i++)
        CHECK(in[i] == prev_of(0) * 100 + i);
#endif
}

static void duplicated_meanwhile(void)
{
    MPI_Comm a, b;
    MPI_Info info;
    MPI_Request r[2];
    int sum, one = 1, result;

    MPI_Info_create(&info);
    MPI_Info_set(info, "some_key", "some value");
    IDUP(MPI_COMM_WORLD, info, &a, &r[0]);
    MPI_Info_free(&info);
    IDUP(MPI_COMM_WORLD, MPI_INFO_NULL, &b, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_compare(a, b, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, a);
    CHECK(sum == size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, b);
    CHECK(sum == size);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    both_at_once();
    many_at_once();
    duplicated_meanwhile();
    return end("mpi4_pt2pt");
}
