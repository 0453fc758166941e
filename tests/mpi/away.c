/* SPDX-License-Identifier: BSD-3-Clause
 * Rank 0 is answered while the last rank is away: in a blocking call of its
 * own library, with rank 1 of the same client as the one it waits for, in a
 * collective one with it, or out of MPI altogether (it opens the FIFO argv[1],
 * which waits for rank 0).  argv[2] "multiple": our thread may call MPI. */
#include <fcntl.h>
#include <unistd.h>
#include "check.h"

#define LONG (3 << 20)

static unsigned char *buf;
static const char *fifo;
static int last, tag = 10; /* another one for each message */
static MPI_Comm client;    /* of the last rank and rank 1 */

enum place { INSIDE, COLLECTIVE, OUTSIDE };

/* Rank 0 is through: let the last rank come back. */
static void call_back(enum place place)
{
    int x = 0;

    if (place == OUTSIDE)
        CHECK(close(open(fifo, O_WRONLY)) == 0);
    else
        MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

static void be_away(enum place place)
{
    int x;

    if (place == OUTSIDE)
        CHECK(close(open(fifo, O_RDONLY)) == 0);
    else if (place == COLLECTIVE)
        MPI_Barrier(client);
    else
        MPI_Recv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_on(enum place place)
{
    int x;

    if (place == OUTSIDE)
        return;
    MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (place == COLLECTIVE)
        MPI_Barrier(client);
    else
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
static void cancelled(int len, int sync, enum place place)
{
    int seen;

    tag++;
    if (rank == 0) {
        send_and_cancel(len, sync);
        call_back(place);
    } else if (rank == last) {
        be_away(place);
    } else if (rank == 1) {
        pass_on(place);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
        MPI_Iprobe(0, tag, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
        CHECK(!seen);
    }
}

/* A synchronous send ends, a long one arrives, when the receive is posted. */
static void matched(int len, enum place place)
{
    MPI_Request req;
    MPI_Status st;

    tag++;
    if (rank == 0) {
        fill(buf, (size_t)len, 0, len);
        MPI_Ssend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD);
        call_back(place);
    } else if (rank == last) {
        MPI_Irecv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &req);
        be_away(place);
        MPI_Wait(&req, &st);
        CHECK(same(buf, (size_t)len, 0, len) && st.MPI_SOURCE == 0);
    } else if (rank == 1) {
        pass_on(place);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the FIFO is closed at both ends */
}

/* The same while a receive from anybody waits as well, for the message that
 * comes first. */
static void matched_beside_any(int len, enum place place)
{
    MPI_Request req[2];
    MPI_Status st[2];
    int x = 0;

    tag += 2;
    if (rank == 0) {
        fill(buf, (size_t)len, 0, len);
        MPI_Isend(&tag, 1, MPI_INT, last, tag, MPI_COMM_WORLD, &req[0]);
        MPI_Ssend(buf, len, MPI_BYTE, last, tag + 1, MPI_COMM_WORLD);
        call_back(place);
        MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    } else if (rank == last) {
        MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &req[0]);
        MPI_Irecv(buf, len, MPI_BYTE, 0, tag + 1, MPI_COMM_WORLD, &req[1]);
        be_away(place);
        MPI_Waitall(2, req, st);
        CHECK(x == tag && st[0].MPI_SOURCE == 0);
        CHECK(same(buf, (size_t)len, 0, len) && st[1].MPI_SOURCE == 0);
    } else if (rank == 1) {
        pass_on(place);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The receive from anybody itself.  While the last rank calls no MPI, or is in
 * a native collective call, only a thread that may call MPI can match it. */
static void matched_by_any(int len, enum place place)
{
    MPI_Request req;
    MPI_Status st;

    tag++;
    if (rank == 0) {
        fill(buf, (size_t)len, 0, len);
        MPI_Ssend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD);
        call_back(place);
    } else if (rank == last) {
        MPI_Irecv(buf, len, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                  &req);
        be_away(place);
        MPI_Wait(&req, &st);
        CHECK(same(buf, (size_t)len, 0, len) && st.MPI_SOURCE == 0);
    } else if (rank == 1) {
        pass_on(place);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The message for a receive from anybody comes while the last rank is out of
 * MPI, and is kept; its first call of MPI matches it, whatever it is for. */
static void kept_until_any_call(int len)
{
    MPI_Request req[2];
    MPI_Status st[2];
    int x = 0;

    tag += 2;
    if (rank == 0) {
        fill(buf, (size_t)len, 0, len);
        MPI_Issend(buf, len, MPI_BYTE, last, tag, MPI_COMM_WORLD, &req[0]);
        MPI_Ssend(&tag, 1, MPI_INT, last, tag + 1, MPI_COMM_WORLD);
        call_back(OUTSIDE);
        MPI_Wait(&req[0], MPI_STATUS_IGNORE);
        call_back(INSIDE);
    } else if (rank == last) {
        MPI_Irecv(buf, len, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                  &req[0]);
        MPI_Irecv(&x, 1, MPI_INT, 0, tag + 1, MPI_COMM_WORLD, &req[1]);
        be_away(OUTSIDE);
        be_away(INSIDE);
        MPI_Waitall(2, req, st);
        CHECK(x == tag && st[0].MPI_SOURCE == 0);
        CHECK(same(buf, (size_t)len, 0, len));
    } else if (rank == 1) {
        pass_on(INSIDE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void with_multiple(void)
{
    int level;

    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    for (enum place place = INSIDE; place <= OUTSIDE; place++) {
        matched_by_any(8, place);
        matched_by_any(LONG, place);
    }
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
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &client);
    for (enum place place = INSIDE; place <= OUTSIDE; place++) {
        cancelled(8, 0, place);
        cancelled(8, 1, place);
        cancelled(LONG, 0, place);
        matched(8, place);
        matched(LONG, place);
        matched_beside_any(8, place);
        matched_beside_any(LONG, place);
    }
    matched_by_any(8, INSIDE);
    matched_by_any(LONG, INSIDE);
    kept_until_any_call(8);
    kept_until_any_call(LONG);
    if (argc > 2 && strcmp(argv[2], "multiple") == 0)
        with_multiple();
    MPI_Comm_free(&client);
    free(buf);
    return end("away");
}
