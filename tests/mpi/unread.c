/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages that have come when MPI_Recv is called, and of which nothing
 * was read: the receiver makes no call of MPI before, and the sender sends when
 * it has left the one before that.  They tell each other by files, whose name
 * is the argument.
 */
#include <sched.h>
#include <unistd.h>

#include "check.h"

#define ROUNDS 10
#define BYTES (600 * 1024)

static unsigned char buf[BYTES];

static void tell(const char *file, const char *what)
{
    char name[4096];
    FILE *f;

    snprintf(name, sizeof(name), "%s.%s", file, what);
    f = fopen(name, "w");
    CHECK(f && fclose(f) == 0);
}

static void wait_for(const char *file, const char *what)
{
    char name[4096];

    snprintf(name, sizeof(name), "%s.%s", file, what);
    while (access(name, F_OK) < 0)
        sched_yield();
    CHECK(unlink(name) == 0);
}

static void send_one(int round, const char *file)
{
    MPI_Request request;

    fill(buf, BYTES, 0, round);
    wait_for(file, "outside");
    MPI_Isend(buf, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD, &request);
    tell(file, "sent");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive_one(int round, const char *file)
{
    tell(file, "outside");
    wait_for(file, "sent");
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
