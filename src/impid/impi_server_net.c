/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impi-server's sockets: the address to tell, and its listeners.
 */
#define _GNU_SOURCE /* accept4 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/mac.h"
#include "base/netaddr.h"
#include "impid/impi_server.h"

struct in6_addr server_net_choose(const struct server_start *start)
{
    struct in6_addr a;

    if (!IN6_IS_ADDR_UNSPECIFIED(&start->advertise))
        return start->advertise;
    if (!IN6_IS_ADDR_UNSPECIFIED(&start->bind))
        return start->bind;
    netaddr_outside(&a);
    return a;
}

int server_net_listen(const struct server_start *start, uint16_t *port,
                      struct errbuf *err)
{
    char addr[NETADDR_IP_MAX];
    int fd = netaddr_listen(&start->bind, start->port_lo, start->port_hi, port);

    if (fd >= 0)
        return fd;
    netaddr_print_ip(addr, &start->bind);
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
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    char text[NETADDR_TEXT_MAX];
    struct netaddr from;
    int one = 1;
    int got = accept4(fd, (void *)&ss, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (got < 0)
        return -1;
    setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(got, SF_SILENCE);
    from = netaddr_from_socket((void *)&ss);
    netaddr_print(text, &from);
    snprintf(peer, size, "%s", text);
    return got;
}
