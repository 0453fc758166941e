/* SPDX-License-Identifier: BSD-3-Clause
 * How many of this process's TCP connections follow Reno, after one round of
 * messages: run where the system's default is another. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "check.h"

#define FDS 256

static int count_reno(void)
{
    int n = 0;

    for (int fd = 0; fd < FDS; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer), namelen = 16;
        char name[17] = "";

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
            getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &namelen) == 0)
            n += strcmp(name, "reno") == 0;
    }
    return n;
}

int main(int argc, char *argv[])
{
    int next, prev, got = -1;

    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, prev, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == prev);
    CHECK(count_reno() == atoi(argv[1]));
    return end("paced");
}
