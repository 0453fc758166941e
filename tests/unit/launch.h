/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A srun that waits: it polls its listening socket.  After cmocka.h.
 */
#ifndef SF_TESTS_LAUNCH_H
#define SF_TESTS_LAUNCH_H

#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct launch {
    int fd;
    uint16_t port;
};

static inline struct launch launch_open(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof(a);
    struct launch l = {.fd = socket(AF_INET, SOCK_STREAM, 0)};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(l.fd, (void *)&a, len), 0);
    assert_int_equal(listen(l.fd, 8), 0);
    assert_int_equal(getsockname(l.fd, (void *)&a, &len), 0);
    l.port = ntohs(a.sin_port);
    return l;
}

static inline bool is_woken(const struct launch *l, int ms)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

#endif
