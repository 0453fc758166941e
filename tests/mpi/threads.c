/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_THREAD_MULTIPLE: several threads of each rank talk to all ranks at
 * once, each with tags of its own, by blocking and nonblocking calls. */
#include <pthread.h>
#include "check.h"

#define THREADS 3
#define ROUNDS 20

static void exchange(int me, int peer, size_t len, int round)
{
    unsigned char *out = malloc(len), *in = malloc(len);
    int tag = me * 1000 + round % 7;
    MPI_Request req[2];
    MPI_Status st[2];

    fill(out, len, rank, me);
    if (round % 3 == 0) {
        MPI_Sendrecv(out, (int)len, MPI_BYTE, peer, tag, in, (int)len, MPI_BYTE,
                     peer, tag, MPI_COMM_WORLD, &st[0]);
    } else {
        MPI_Irecv(in, (int)len, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &req[0]);
        MPI_Isend(out, (int)len, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &req[1]);
        if (round % 3 == 1) {
            MPI_Waitall(2, req, st);
        } else {
            int flag = 0;

            while (!flag)
                MPI_Testall(2, req, &flag, st);
        }
    }
    CHECK(st[0].MPI_SOURCE == peer && same(in, len, peer, me));
    free(out);
    free(in);
}

static void *work(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < ROUNDS; i++)
        for (int p = 0; p < size; p++)
            exchange(me, p, i % 10 == 9 ? 400000 : 100 + (size_t)i, i);
    return NULL;
}

/* All receive from anybody, with a tag for each thread.  The send to oneself
 * is waited for: MPICH 4.0.2 by itself loses a message to oneself whose
 * request was freed while another thread starts requests. */
static void *work_any(void *arg)
{
    int me = *(int *)arg, got = 0;
    MPI_Request r, self = MPI_REQUEST_NULL;

    for (int p = 0; p < size; p++) {
        MPI_Isend(&rank, 1, MPI_INT, p, 9000 + me, MPI_COMM_WORLD,
                  p == rank ? &self : &r);
        if (p != rank)
            MPI_Request_free(&r);
    }
    for (int p = 0; p < size; p++) {
        MPI_Status st;
        int v;

        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 9000 + me, MPI_COMM_WORLD,
                 &st);
        CHECK(v == st.MPI_SOURCE);
        got += v;
    }
    MPI_Wait(&self, MPI_STATUS_IGNORE);
    CHECK(got == size * (size - 1) / 2);
    return NULL;
}

static MPI_Comm own[THREADS]; /* one for each thread */

/* Communicators made by all threads at once, and collective calls on them. */
static void *work_collective(void *arg)
{
    int me = *(int *)arg, one = 1 << me, sum[2], v;
    MPI_Comm c[2];
    MPI_Request req[3];

    for (int i = 0; i < 6; i++) {
        MPI_Comm_dup(own[me], &c[0]);
        MPI_Comm_idup(own[me], &c[1], &req[0]);
        MPI_Iallreduce(&one, &sum[0], 1, MPI_INT, MPI_SUM, c[0], &req[1]);
        MPI_Ibarrier(own[me], &req[2]);
        MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&one, &sum[1], 1, MPI_INT, MPI_SUM, c[1]);
        CHECK(sum[0] == size << me && sum[1] == size << me);
        v = rank == i % size ? 100 * me + i : -1;
        MPI_Bcast(&v, 1, MPI_INT, i % size, c[1]);
        CHECK(v == 100 * me + i);
        MPI_Comm_free(&c[0]);
        MPI_Comm_free(&c[1]);
    }
    return NULL;
}

/* MPI_Comm_create_group of communicators that were never asked for their
 * group, in all threads at once. */
static void *work_create_group(void *arg)
{
    int me = *(int *)arg, range[1][3] = {{size - 1, 0, -1}}, n;
    MPI_Group everybody, turned;
    MPI_Comm c;

    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Group_range_incl(everybody, 1, range, &turned);
    for (int i = 0; i < 6; i++) {
        MPI_Comm_create_group(own[me], i % 2 ? turned : everybody, me, &c);
        MPI_Comm_rank(c, &n);
        CHECK(n == (i % 2 ? size - 1 - rank : rank));
        MPI_Barrier(c);
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&turned);
    MPI_Group_free(&everybody);
    return NULL;
}

static void all(void *(*what)(void *))
{
    pthread_t t[THREADS];
    int id[THREADS];

    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, what, &id[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level == MPI_THREAD_MULTIPLE) {
        all(work);
        all(work_any);
    }
    if (level == MPI_THREAD_MULTIPLE && !getenv("THREADS_ONE_MAKER")) {
        for (int i = 0; i < THREADS; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
        all(work_create_group);
        all(work_collective);
    }
    return end("threads");
}
