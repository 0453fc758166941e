/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/netaddr.h"

static bool parse_bits(unsigned *bits, const char *text)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);

    *bits = (unsigned)v;
    return *text >= '0' && *text <= '9' && *end == '\0' && v <= 32;
}

int netaddr_parse_network(struct in_addr *net, struct in_addr *mask,
                          const char *text, struct errbuf *err)
{
    char host[INET_ADDRSTRLEN] = "";
    size_t len = strcspn(text, "/");
    unsigned bits = 32;

    if (len < sizeof(host))
        memcpy(host, text, len);
    if (inet_pton(AF_INET, host, net) != 1 ||
        (text[len] == '/' && !parse_bits(&bits, text + len + 1))) {
        errno = EINVAL;
        return errprintf(err, "'%s' is not an IPv4 network like 10.1.0.0/16",
                         text);
    }
    mask->s_addr = bits ? htonl(UINT32_MAX << (32 - bits)) : 0;
    return 0;
}

static bool fits(const struct ifaddrs *i, struct in_addr net,
                 struct in_addr mask)
{
    const struct sockaddr_in *sin = (const void *)i->ifa_addr;

    return sin && sin->sin_family == AF_INET && (i->ifa_flags & IFF_UP) &&
           (sin->sin_addr.s_addr & mask.s_addr) == (net.s_addr & mask.s_addr);
}

int netaddr_in_network(struct in_addr *out, const char *network,
                       struct errbuf *err)
{
    struct in_addr net = {0}, mask = {0};
    struct ifaddrs *list, *i;

    if (netaddr_parse_network(&net, &mask, network, err) < 0)
        return -1;
    if (getifaddrs(&list) < 0)
        return errprintf(err, "interfaces: %s", strerror(errno));
    for (i = list; i && !fits(i, net, mask); i = i->ifa_next)
        ;
    if (i)
        *out =
            ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    freeifaddrs(list);
    if (i)
        return 0;
    errno = ENODEV;
    return errprintf(err, "no interface has an address in %s", network);
}

int netaddr_towards(struct in_addr *out, struct in_addr peer,
                    struct errbuf *err)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = peer};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = -1;

    addr.sin_port = htons(9);
    if (fd >= 0 && connect(fd, (const void *)&addr, sizeof(addr)) == 0 &&
        getsockname(fd, (void *)&addr, &len) == 0) {
        *out = addr.sin_addr;
        rc = 0;
    } else {
        errprintf(err, "no way to %s: %s", inet_ntoa(peer), strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

uint16_t netaddr_port(int fd)
{
    struct sockaddr_in sa = {0};
    socklen_t len = sizeof(sa);

    if (getsockname(fd, (void *)&sa, &len) < 0 || sa.sin_family != AF_INET)
        return 0;
    return ntohs(sa.sin_port);
}

static int listen_at(struct in_addr addr, uint16_t port)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET, .sin_addr = addr, .sin_port = htons(port)};
    int one = 1, saved_errno;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (void *)&sa, sizeof(sa)) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return -1;
}

int netaddr_listen(struct in_addr addr, uint16_t lo, uint16_t hi,
                   uint16_t *port)
{
    unsigned n = hi - lo + 1u;
    unsigned first = lo ? (unsigned)getpid() % n : 0;
    int fd = -1;

    for (unsigned i = 0; i < n; i++) {
        fd = listen_at(addr, (uint16_t)(lo + (first + i) % n));
        if (fd >= 0 || errno != EADDRINUSE)
            break;
    }
    if (fd >= 0)
        *port = netaddr_port(fd);
    return fd;
}

void netaddr_keep_alive(int fd)
{
    const int on = 1, idle = 60, interval = 15, count = 8;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}
