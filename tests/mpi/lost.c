/* SPDX-License-Identifier: BSD-3-Clause
 * Two ranks have talked and wait for each other when the way between them
 * begins to drop what is sent.
 *
 *   lost fifo FIFO [data | unsent]
 *                          whoever reads FIFO takes 127.0.0.1 away
 *   lost filter            each throws away what comes, by a filter
 *
 * With "data" and with a filter each has sent something since, which nobody
 * acknowledges; with "unsent" all before that was acknowledged, so that the
 * kernel has nothing to repeat, but something that it could not send.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
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

static int is_connection(int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    return getpeername(fd, (struct sockaddr *)&ss, &len) == 0 &&
           (ss.ss_family == AF_INET || ss.ss_family == AF_INET6);
}

/* Until all that was sent is acknowledged, here and at the other rank. */
static void wait_until_quiet(const char *name)
{
    char other[4096];

    for (int fd = 0; fd < FDS; fd++) {
        int left = 1;

        while (is_connection(fd) && ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0)
            sched_yield();
    }
    snprintf(other, sizeof(other), "%s.quiet", name);
    if (rank == 1)
        CHECK(close(open(other, O_CREAT | O_WRONLY, 0600)) == 0);
    while (rank == 0 && access(other, F_OK) < 0)
        sched_yield();
}

/* Returns how many connections there are. */
static int filter_all(void)
{
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog prog = {1, &none};
    int n = 0;

    for (int fd = 0; fd < FDS; fd++) {
        if (is_connection(fd))
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
    if (argc > 3 && strcmp(argv[3], "unsent") == 0)
        wait_until_quiet(argv[2]);
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
