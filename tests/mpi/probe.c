/* SPDX-License-Identifier: BSD-3-Clause
 * Probe and Iprobe name source, tag and length; what is probed is what is
 * received; MPI_PROC_NULL; cancelled receives. */
#include "check.h"

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
static void im_145_cancelled_sends(int to, int from)
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
        im_145_cancelled_sends((rank + d) % size, (rank + size - d) % size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 0)
        MPI_Send(&x, 1, MPI_INT, size - 1, 99, MPI_COMM_WORLD);
    if (size > 1 && rank == size - 1)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return end("probe");
}
