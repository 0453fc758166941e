/* SPDX-License-Identifier: BSD-3-Clause
 * Rank 0 is answered while the last rank is away: in a blocking call of its
 * own library, with rank 1 of the same client as the one it waits for, or out
 * of MPI altogether (it opens the FIFO argv[1], which waits for rank 0). */
#include <fcntl.h>
#include <unistd.h>
#include "check.h"

#define LONG (3 << 20)

static unsigned char *buf;
static const char *fifo;
static int last, tag = 10; /* another one for each message */

/* Rank 0 is through: let the last rank come back. */
static void call_back(int outside)
{
    int x = 0;

    if (outside)
        CHECK(close(open(fifo, O_WRONLY)) == 0);
    else
        MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

static void be_away(int outside)
{
    int x;

    if (outside)
        CHECK(close(open(fifo, O_RDONLY)) == 0);
    else
        MPI_Recv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_on(int outside)
{
    int x;

    if (outside)
        return;
    MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, last, 3, MPI_COMM_WORLD);
}

static void send_and_cancel(int len, int sync)
{
    MPI_Request req;
    MPI_Status st;
    int gone;

    if (sync)
        MPI_Issend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD, &req);
    else
        MPI_Isend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD, &req);
    MPI_Cancel(&req);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &gone);
    CHECK(gone);
}

/* The receiver never sees what was cancelled. */
static void cancelled(int len, int sync, int outside)
{
    int seen;

    tag++;
    if (rank == 0) {
        send_and_cancel(len, sync);
        call_back(outside);
    } else if (rank == last) {
        be_away(outside);
    } else if (rank == 1) {
        pass_on(outside);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
        MPI_Iprobe(0, tag, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
        CHECK(!seen);
    }
}

/* A synchronous send ends, a long one arrives, when the receive is posted. */
static void matched(int len, int outside)
{
    MPI_Request req;
    MPI_Status st;

    tag++;
    if (rank == 0) {
        fill(buf, (size_t)len, 0, len);
        MPI_Ssend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD);
        call_back(outside);
    } else if (rank == last) {
        MPI_Irecv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &req);
        be_away(outside);
        MPI_Wait(&req, &st);
        CHECK(same(buf, (size_t)len, 0, len) && st.MPI_SOURCE == 0);
    } else if (rank == 1) {
        pass_on(outside);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the FIFO is closed at both ends */
}

int main(int argc, char **argv)
{
    int x = 0;

    begin(&argc, &argv);
    last = size - 1;
    fifo = argv[1];
    buf = malloc(LONG);
    if (rank == 0) /* so that there is a connection */
        MPI_Ssend(&x, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
    else if (rank == last)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int outside = 0; outside < 2; outside++) {
        cancelled(8, 0, outside);
        cancelled(8, 1, outside);
        cancelled(LONG, 0, outside);
        matched(8, outside);
        matched(LONG, outside);
    }
    free(buf);
    return end("away");
}
