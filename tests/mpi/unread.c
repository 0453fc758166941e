/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages that have come when MPI_Recv is called, and of which nothing
 * was read: the receiver makes no call of MPI before.  Its argument is the name
 * of a file, by which it is told.
 */
#include <sched.h>
#include <unistd.h>

#include "check.h"

#define ROUNDS 10
#define BYTES (600 * 1024)

static unsigned char buf[BYTES];

static void send_one(int round, const char *file)
{
    MPI_Request request;
    FILE *f;

    fill(buf, BYTES, 0, round);
    MPI_Isend(buf, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD, &request);
    f = fopen(file, "w");
    CHECK(f && fclose(f) == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive_one(int round, const char *file)
{
    while (access(file, F_OK) < 0)
        sched_yield();
    CHECK(unlink(file) == 0);
    MPI_Recv(buf, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < BYTES; i++)
        CHECK(buf[i] == pattern(0, round, i));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(argc == 2 && size == 2);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0)
            send_one(round, argv[1]);
        else
            receive_one(round, argv[1]);
    }
    return end("unread");
}
