/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/netaddr.h"
#include "impid/impi_server.h"

struct in_addr server_net_choose(const struct server_start *start)
{
    const struct in_addr far = {htonl(0xc0000201)}; /* 192.0.2.1, in no net */
    struct in_addr a;

    if (start->advertise.s_addr != INADDR_ANY)
        return start->advertise;
    if (start->bind.s_addr != INADDR_ANY)
        return start->bind;
    if (netaddr_towards(&a, far, NULL) < 0)
        a.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

int server_net_listen(const struct server_start *start, uint16_t *port,
                      struct errbuf *err)
{
    char addr[INET_ADDRSTRLEN];
    int fd = netaddr_listen(start->bind, start->port_lo, start->port_hi, port);

    if (fd >= 0)
        return fd;
    inet_ntop(AF_INET, &start->bind, addr, sizeof(addr));
    return errprintf(err, "SF-E220: cannot listen at %s, ports %u-%u: %m", addr,
                     start->port_lo, start->port_hi);
}

int server_net_adopt(const struct server_start *start, uint16_t *port,
                     struct errbuf *err)
{
    if (!start->listener)
        return server_net_listen(start, port, err);
    *port = netaddr_port(SERVER_LISTENER_FD);
    if (*port == 0)
        return errprintf(err, "no listening socket on fd %d",
                         SERVER_LISTENER_FD);
    fcntl(SERVER_LISTENER_FD, F_SETFD, FD_CLOEXEC);
    return SERVER_LISTENER_FD;
}

int server_net_accept(int fd, char *peer, size_t size)
{
    struct sockaddr_in sa;
    socklen_t len = sizeof(sa);
    char addr[INET_ADDRSTRLEN];
    int one = 1;
    int got =
        accept4(fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (got < 0)
        return -1;
    setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(got);
    inet_ntop(AF_INET, &sa.sin_addr, addr, sizeof(addr));
    snprintf(peer, size, "%s:%u", addr, ntohs(sa.sin_port));
    return got;
}
