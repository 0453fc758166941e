/* SPDX-License-Identifier: BSD-3-Clause
 * Two ranks have talked and wait for each other when the way between them
 * begins to drop what is sent.
 *
 *   lost fifo FIFO [data]  whoever reads FIFO takes 127.0.0.1 away
 *   lost filter            each throws away what comes, by a filter
 *
 * With "data" and with a filter each has sent something since, which nobody
 * acknowledges.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define FDS 256

static int has_address(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa));

    close(fd);
    return rc == 0;
}

/* Returns how many connections there are. */
static int filter_all(void)
{
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog prog = {1, &none};
    int n = 0;

    for (int fd = 0; fd < FDS; fd++) {
        struct sockaddr_storage ss;
        socklen_t len = sizeof(ss);

        if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0 &&
            (ss.ss_family == AF_INET || ss.ss_family == AF_INET6))
            n += setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
                            sizeof(prog)) == 0;
    }
    return n;
}

int main(int argc, char **argv)
{
    int x = 0, filter;

    begin(&argc, &argv);
    CHECK(argc >= 2 && size == 2);
    filter = strcmp(argv[1], "filter") == 0;
    CHECK(filter || argc >= 3);
    MPI_Sendrecv_replace(&x, 1, MPI_INT, !rank, 1, !rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (filter)
        CHECK(filter_all() > 0);
    else if (rank == 0)
        CHECK(close(open(argv[2], O_WRONLY)) == 0);
    if (!filter && argc > 3)
        while (has_address())
            sched_yield();
    if (filter || argc > 3)
        MPI_Send(&x, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
