/* SPDX-License-Identifier: BSD-3-Clause
 * Every rank floods every other one before anybody receives: short messages,
 * long ones, and synchronous ones behind them; then it takes all of them, the
 * last first. */
#include "check.h"

#define NSHORT 300
#define LONG (300 * 1024)
#define NTAGS 3 /* 0 short, 1 long, 2 synchronous */

static unsigned char *out, *in;

static void send_to(int peer, MPI_Request *req)
{
    for (int i = 0; i < NSHORT; i++)
        MPI_Isend(out, 1 + i, MPI_BYTE, peer, 0, MPI_COMM_WORLD, req++);
    MPI_Isend(out, LONG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, req++);
    MPI_Issend(out, 1, MPI_BYTE, peer, 2, MPI_COMM_WORLD, req);
}

static void take(int peer, int tag, int want)
{
    MPI_Status st;
    int count;

    MPI_Recv(in, LONG, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_BYTE, &count);
    CHECK(count == want);
    CHECK(same(in, (size_t)count, peer, 0));
}

int main(int argc, char **argv)
{
    MPI_Request *req;
    int each = NSHORT + 2;

    begin(&argc, &argv);
    out = malloc(LONG);
    in = malloc(LONG);
    req = malloc((size_t)(size * each) * sizeof(MPI_Request));
    fill(out, LONG, rank, 0);
    for (int peer = 0; peer < size; peer++)
        send_to(peer, req + peer * each);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int peer = size - 1; peer >= 0; peer--) {
        take(peer, 2, 1);
        take(peer, 1, LONG);
        for (int i = 0; i < NSHORT; i++)
            take(peer, 0, 1 + i);
    }
    MPI_Waitall(size * each, req, MPI_STATUSES_IGNORE);
    free(req);
    free(in);
    free(out);
    return end("flood");
}
