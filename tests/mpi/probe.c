/* SPDX-License-Identifier: BSD-3-Clause
 * Probe and Iprobe name source, tag and length; what is probed is what is
 * received; MPI_PROC_NULL; cancelled receives. */
#include "check.h"

#include "../../src/libimpi/impi.h"

static void probe_all(void)
{
    for (int n = 0; n < 4 * (size - 1); n++) {
        MPI_Status st, st2;
        int count, flag = 0, any = n % 2;
        char buf[200000];

        if (any)
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        while (!any && !flag)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
        MPI_Get_count(&st, MPI_CHAR, &count);
        CHECK(count == st.MPI_SOURCE * 1000 * (1 + 10 * (st.MPI_TAG % 2)));
        MPI_Recv(buf, count, MPI_CHAR, st.MPI_SOURCE, st.MPI_TAG,
                 MPI_COMM_WORLD, &st2);
        CHECK(st2.MPI_SOURCE == st.MPI_SOURCE && st2.MPI_TAG == st.MPI_TAG);
        CHECK(buf[0] == (char)st.MPI_SOURCE && buf[count - 1] == buf[0]);
    }
}

static void send_all(void)
{
    char *buf = malloc((size_t)rank * 11000);

    memset(buf, rank, (size_t)rank * 11000);
    for (int tag = 0; tag < 4; tag++)
        MPI_Send(buf, rank * 1000 * (1 + 10 * (tag % 2)), MPI_CHAR, 0, tag,
                 MPI_COMM_WORLD);
    free(buf);
}

static void proc_null(void)
{
    MPI_Status st;
    int x = 5, count;

    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(x == 5 && st.MPI_SOURCE == MPI_PROC_NULL && count == 0);
    MPI_Sendrecv(&size, 1, MPI_INT, MPI_PROC_NULL, 0, &x, 1, MPI_INT,
                 MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(x == 5 && st.MPI_SOURCE == MPI_PROC_NULL && count == 0);
    CHECK(st.MPI_TAG == MPI_ANY_TAG);
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);
}

/* A receive that nobody answers goes away; the next one is served. */
static void cancel(int source)
{
    MPI_Request req;
    MPI_Status st;
    int x = -1, flag = 0;

    MPI_Irecv(&x, 1, MPI_INT, source, 99, MPI_COMM_WORLD, &req);
    MPI_Request_get_status(req, &flag, &st);
    CHECK(!flag);
    MPI_Test(&req, &flag, &st);
    CHECK(!flag && req != MPI_REQUEST_NULL);
    MPI_Cancel(&req);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag && x == -1);
}

/* A cancelled send is never seen; one that could not be cancelled is. */
static void cancelled_sends(int to, int from)
{
    MPI_Request req;
    MPI_Status st;
    int x = 7, gone, his_gone, seen;

    MPI_Isend(&x, 1, MPI_INT, to, 55, MPI_COMM_WORLD, &req);
    MPI_Cancel(&req);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &gone);
    MPI_Sendrecv(&gone, 1, MPI_INT, to, 56, &his_gone, 1, MPI_INT, from, 56,
                 MPI_COMM_WORLD, &st);
    MPI_Iprobe(from, 55, MPI_COMM_WORLD, &seen, &st);
    CHECK(!seen || !his_gone);
    if (!his_gone)
        MPI_Recv(&x, 1, MPI_INT, from, 55, MPI_COMM_WORLD, &st);
    CHECK(x == 7);
    if (getenv("BARE_TAGUB") && size == 2)
        CHECK(gone);
}

/* The first rank that is in the client of rank 0, or is not; 0: none. */
static int first_rank(int near)
{
    int *color, flag, all[64];

    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &color, &flag);
    CHECK(flag && size <= 64);
    MPI_Allgather(color, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 1; i < size; i++)
        if ((all[i] == all[0]) == near)
            return i;
    return 0;
}

static void let_send(int from, int len)
{
    MPI_Status st;
    int flag = 0;

    MPI_Send(&len, 1, MPI_INT, from, 57, MPI_COMM_WORLD);
    while (!flag)
        MPI_Iprobe(from, 58, MPI_COMM_WORLD, &flag, &st);
}

static void receive_any(char *buf, int max, int from, int len)
{
    MPI_Status st;
    MPI_Request req;
    int count;

    switch (len % 3) {
    case 0:
        MPI_Recv(buf, max, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &st);
        break;
    case 1:
        MPI_Irecv(buf, max, MPI_CHAR, MPI_ANY_SOURCE, 58, MPI_COMM_WORLD, &req);
        MPI_Wait(&req, &st);
        break;
    default:
        MPI_Recv_init(buf, max, MPI_CHAR, MPI_ANY_SOURCE, 58, MPI_COMM_WORLD,
                      &req);
        MPI_Start(&req);
        MPI_Wait(&req, &st);
        MPI_Request_free(&req);
    }
    MPI_Get_count(&st, MPI_CHAR, &count);
    CHECK(st.MPI_SOURCE == from && count == len && buf[len - 1] == (char)from);
}

static void probe_then_receive(int first, int second, int len)
{
    char *buf = calloc(1, (size_t)len + 2);
    MPI_Status st;
    int n;

    if (rank == 0) {
        let_send(first, len);
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        CHECK(st.MPI_SOURCE == first);
        let_send(second, len + 2);
        receive_any(buf, len + 2, first, len);
        receive_any(buf, len + 2, second, len + 2);
    } else if (rank == first || rank == second) {
        MPI_Recv(&n, 1, MPI_INT, 0, 57, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memset(buf, rank, (size_t)n);
        MPI_Send(buf, n, MPI_CHAR, 0, 58, MPI_COMM_WORLD);
    }
    free(buf);
}

/* A receive from anybody gets what the probe for anybody has told of, although
 * another message has come since. */
static void what_was_probed_comes_first(void)
{
    static const int len[] = {1, 2, 3, 3001, 100000, 100001, 100002};
    int near = first_rank(1), far = first_rank(0);

    for (int i = 0; near && far && i < 7; i++) {
        probe_then_receive(near, far, len[i]);
        probe_then_receive(far, near, len[i]);
    }
}

int main(int argc, char **argv)
{
    int x = 0;

    begin(&argc, &argv);
    proc_null();
    if (rank == 0)
        probe_all();
    else
        send_all();
    cancel(MPI_ANY_SOURCE);
    cancel((rank + 1) % size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int d = 1; d < size; d++)
        cancelled_sends((rank + d) % size, (rank + size - d) % size);
    MPI_Barrier(MPI_COMM_WORLD);
    what_was_probed_comes_first();
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 0)
        MPI_Send(&x, 1, MPI_INT, size - 1, 99, MPI_COMM_WORLD);
    if (size > 1 && rank == size - 1)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return end("probe");
}
