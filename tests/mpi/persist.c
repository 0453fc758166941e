/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent requests and matched probes, towards every rank, in one array
 * with requests of both kinds. */
#include "check.h"

#define ROUNDS 5

/* A ring and an any-source receive, started again and again. */
static void started_again_and_again(void)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int out[3] = {0, 0, 0}, in[3], inactive;
    MPI_Request req[6];
    MPI_Status st[6];
    MPI_Datatype two;
    double dout[4], din[4];

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &two);
    MPI_Type_commit(&two);
    MPI_Recv_init(&in[0], 1, MPI_INT, prev, 1, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                  &req[1]);
    MPI_Recv_init(din, 1, two, prev, 3, MPI_COMM_WORLD, &req[2]);
    MPI_Send_init(&out[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &req[3]);
    MPI_Ssend_init(&out[1], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &req[4]);
    MPI_Send_init(dout, 1, two, next, 3, MPI_COMM_WORLD, &req[5]);
    MPI_Type_free(&two);
    MPI_Waitall(6, req, st); /* inactive: at once */
    MPI_Testany(6, req, &inactive, &in[2], MPI_STATUS_IGNORE);
    CHECK(inactive == MPI_UNDEFINED && in[2]);
    for (int i = 0; i < ROUNDS; i++) {
        int done = 0;

        memset(in, 0, sizeof(in));
        out[0] = 100 * rank + i;
        out[1] = 1000 * rank + i;
        dout[0] = i, dout[2] = rank;
        MPI_Startall(3, req);
        for (int k = 3; k < 6; k++)
            MPI_Start(&req[k]);
        if (i % 2) {
            MPI_Waitall(6, req, st);
            CHECK(st[0].MPI_SOURCE == prev && st[1].MPI_SOURCE == prev);
        }
        while (i % 2 == 0 && done < 6) {
            int n, index[6];

            MPI_Waitsome(6, req, &n, index, st);
            CHECK(n > 0);
            done += n;
        }
        CHECK(in[0] == 100 * prev + i && in[1] == 1000 * prev + i);
        CHECK(din[0] == i && din[2] == prev);
        for (int k = 0; k < 6; k++)
            CHECK(req[k] != MPI_REQUEST_NULL);
    }
    for (int k = 0; k < 6; k++)
        MPI_Request_free(&req[k]);
}

static void buffered_and_cancelled(void)
{
    static char room[4096];
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int v = rank, w = -1, size_, flag;
    MPI_Request s, r;
    MPI_Status st;
    void *p;

    MPI_Buffer_attach(room, sizeof(room));
    MPI_Bsend_init(&v, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &s);
    MPI_Recv_init(&w, 1, MPI_INT, prev, 9, MPI_COMM_WORLD, &r);
    MPI_Start(&s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Recv(&w, 1, MPI_INT, prev, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(w == prev);
    MPI_Start(&r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag && r != MPI_REQUEST_NULL);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    MPI_Buffer_detach(&p, &size_);
}

static void matched_probes(void)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int a[2] = {rank, 7}, n, flag = 0, in[2], sender = -1;
    double big[4000], back[4000];
    MPI_Message m, m2;
    MPI_Request req[3], r;
    MPI_Status st;

    for (int i = 0; i < 4000; i++)
        big[i] = rank + i / 8.;
    MPI_Isend(a, 2, MPI_INT, next, 5, MPI_COMM_WORLD, &req[0]);
    MPI_Isend(a, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &req[1]);
    MPI_Isend(big, 4000, MPI_DOUBLE, next, 6, MPI_COMM_WORLD, &req[2]);
    MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &m, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(n == 2 && st.MPI_SOURCE == prev && st.MPI_TAG == 5);
    /* that one is taken: the next probe sees the one behind it */
    while (!flag)
        MPI_Improbe(prev, 5, MPI_COMM_WORLD, &flag, &m2, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(n == 1);
    in[0] = -1;
    MPI_Mrecv(in, 1, MPI_INT, &m2, &st);
    CHECK(in[0] == prev && m2 == MPI_MESSAGE_NULL && st.MPI_SOURCE == prev);
    MPI_Imrecv(in, 2, MPI_INT, &m, &r);
    MPI_Wait(&r, &st);
    CHECK(in[0] == prev && in[1] == 7 && st.MPI_SOURCE == prev);
    MPI_Mprobe(prev, 6, MPI_COMM_WORLD, &m, &st);
    MPI_Imrecv(back, 4000, MPI_DOUBLE, &m, &r);
    MPI_Wait(&r, &st);
    sender = st.MPI_SOURCE;
    CHECK(sender == prev && back[3999] == prev + 3999 / 8.);
    MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
    MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &m, &st);
    CHECK(!flag);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &st);
    CHECK(m == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, 1, MPI_INT, &m, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    started_again_and_again();
    buffered_and_cancelled();
    matched_probes();
    return end("persist");
}
