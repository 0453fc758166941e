/* SPDX-License-Identifier: BSD-3-Clause
 * Arrays of requests of every kind through Waitany, Waitsome, Testany,
 * Testsome, Testall; null requests among them; freed sends; the case where a
 * blocking native receive depends on a message to another library. */
#include "check.h"

#define PER_PEER 4

static MPI_Request *req;
static unsigned char **in, **out;
static int nreq;

static void post(size_t len)
{
    nreq = 0;
    for (int p = 0; p < size; p++) {
        for (int k = 0; k < PER_PEER; k++) {
            int i = p * PER_PEER + k;

            in[i] = malloc(len);
            out[i] = malloc(len);
            fill(out[i], len, rank, k);
            MPI_Irecv(in[i], (int)len, MPI_BYTE, p, k, MPI_COMM_WORLD,
                      &req[nreq++]);
            req[nreq++] = MPI_REQUEST_NULL;
        }
    }
    for (int i = 0; i < size * PER_PEER; i++) {
        if (i % 2)
            MPI_Isend(out[i], (int)len, MPI_BYTE, i / PER_PEER, i % PER_PEER,
                      MPI_COMM_WORLD, &req[nreq++]);
        else
            MPI_Issend(out[i], (int)len, MPI_BYTE, i / PER_PEER, i % PER_PEER,
                       MPI_COMM_WORLD, &req[nreq++]);
    }
}

static void verify(size_t len)
{
    for (int i = 0; i < size * PER_PEER; i++) {
        CHECK(same(in[i], len, i / PER_PEER, i % PER_PEER));
        free(in[i]);
        free(out[i]);
    }
    for (int i = 0; i < nreq; i++)
        CHECK(req[i] == MPI_REQUEST_NULL);
}

static void wait_any(void)
{
    int index, done = 0;
    MPI_Status st;

    for (;;) {
        MPI_Waitany(nreq, req, &index, &st);
        if (index == MPI_UNDEFINED)
            break;
        CHECK(req[index] == MPI_REQUEST_NULL);
        if (index < 2 * size * PER_PEER)
            CHECK(st.MPI_SOURCE == index / (2 * PER_PEER));
        done++;
    }
    CHECK(done == 2 * size * PER_PEER);
}

static void test_any(void)
{
    int index, flag, done = 0;
    MPI_Status st;

    for (;;) {
        MPI_Testany(nreq, req, &index, &flag, &st);
        if (flag && index == MPI_UNDEFINED)
            break;
        done += flag;
    }
    CHECK(done == 2 * size * PER_PEER);
}

static void some(int wait)
{
    int *index = malloc((size_t)nreq * sizeof(int)), n, done = 0;
    MPI_Status *st = malloc((size_t)nreq * sizeof(*st));

    for (;;) {
        if (wait)
            MPI_Waitsome(nreq, req, &n, index, st);
        else
            MPI_Testsome(nreq, req, &n, index, st);
        if (n == MPI_UNDEFINED)
            break;
        CHECK(!wait || n > 0);
        for (int i = 0; i < n; i++)
            CHECK(req[index[i]] == MPI_REQUEST_NULL);
        done += n;
    }
    CHECK(done == 2 * size * PER_PEER);
    free(index);
    free(st);
}

static void test_all(void)
{
    int flag = 0;

    while (!flag)
        MPI_Testall(nreq, req, &flag, MPI_STATUSES_IGNORE);
}

static void rounds(size_t len)
{
    post(len), wait_any(), verify(len);
    post(len), test_any(), verify(len);
    post(len), some(1), verify(len);
    post(len), some(0), verify(len);
    post(len), test_all(), verify(len);
}

/* Sends whose requests are given back at once still arrive. */
static void freed(void)
{
    int values[64], next = (rank + 1) % size;
    MPI_Request r;

    for (int i = 0; i < 64; i++) {
        values[i] = rank * 64 + i;
        MPI_Isend(&values[i], 1, MPI_INT, next, 3, MPI_COMM_WORLD, &r);
        MPI_Request_free(&r);
        CHECK(r == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 64; i++) {
        int v, prev = (rank + size - 1) % size;

        MPI_Recv(&v, 1, MPI_INT, prev, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(v == prev * 64 + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 has a long message to the last rank under way and waits in a
 * receive from rank 1, which waits for the last rank, which waits for the
 * long message. */
static void dependent_receive(void)
{
    size_t len = 8 << 20;
    unsigned char *big = malloc(len);
    MPI_Request r;
    int x = 0, last = size - 1;

    if (size < 3) {
        free(big);
        return;
    }
    if (rank == 0) {
        fill(big, len, 0, 1);
        MPI_Isend(big, (int)len, MPI_BYTE, last, 0, MPI_COMM_WORLD, &r);
        MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (rank == last) {
        MPI_Recv(big, (int)len, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(same(big, len, 0, 1));
        MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    free(big);
}

/* The same with a barrier of the own library in place of the receive. */
static void dependent_barrier(void)
{
    size_t len = 8 << 20;
    unsigned char *big = malloc(len);
    MPI_Request r;
    MPI_Comm near;
    int x = 0, last = size - 1, n;
    double then;

    setenv("SLURM_IMPI_WINDOWS", "messages", 1); /* each client for itself */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                        MPI_INFO_NULL, &near);
    unsetenv("SLURM_IMPI_WINDOWS");
    MPI_Comm_size(near, &n);
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (n == 2 && size > 2 && rank == 0) {
        fill(big, len, 0, 1);
        MPI_Isend(big, (int)len, MPI_BYTE, last, 0, MPI_COMM_WORLD, &r);
        MPI_Barrier(near);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (n == 2 && size > 2 && rank == last) {
        /* so that rank 0 is in its barrier before anything is received */
        for (then = MPI_Wtime(); MPI_Wtime() < then + 0.2;)
            continue;
        MPI_Recv(big, (int)len, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(same(big, len, 0, 1));
        for (int p = 1; p < last; p++)
            MPI_Send(&x, 1, MPI_INT, p, 1, MPI_COMM_WORLD);
    } else if (n == 2 && size > 2) {
        MPI_Recv(&x, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank > 0)
        MPI_Barrier(near);
    else if (n != 2 || size <= 2)
        MPI_Barrier(near);
    MPI_Comm_free(&near);
    free(big);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    req = malloc((size_t)(size * PER_PEER * 3) * sizeof(*req));
    in = malloc((size_t)(size * PER_PEER) * sizeof(*in));
    out = malloc((size_t)(size * PER_PEER) * sizeof(*out));
    rounds(8);
    rounds(200000);
    freed();
    dependent_receive();
    dependent_barrier();
    free(req);
    free(in);
    free(out);
    return end("mixes");
}
