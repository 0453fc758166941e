/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/netaddr.h"
#include "base/number.h"

/* ---- text ---- */

static void set_ipv4(struct in6_addr *out, struct in_addr in)
{
    memset(out, 0, sizeof(*out));
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(out->s6_addr + 12, &in, sizeof(in));
}

static struct in_addr get_ipv4(const struct in6_addr *ip)
{
    struct in_addr in;

    memcpy(&in, ip->s6_addr + 12, sizeof(in));
    return in;
}

int netaddr_parse_ip(struct in6_addr *out, const char *text)
{
    struct in_addr in;

    if (inet_pton(AF_INET, text, &in) == 1)
        set_ipv4(out, in);
    else if (inet_pton(AF_INET6, text, out) != 1)
        return errno = EINVAL, -1;
    return 0;
}

void netaddr_print_ip(char out[NETADDR_IP_MAX], const struct in6_addr *ip)
{
    struct in_addr in = get_ipv4(ip);

    if (netaddr_is_ipv4(ip))
        inet_ntop(AF_INET, &in, out, NETADDR_IP_MAX);
    else
        inet_ntop(AF_INET6, ip, out, NETADDR_IP_MAX);
}

/* IPv6 stands in brackets, and nothing else does. */
int netaddr_parse(struct netaddr *out, const char *text)
{
    const char *colon = strrchr(text, ':');
    bool brackets = text[0] == '[' && colon && colon > text && colon[-1] == ']';
    char host[NETADDR_IP_MAX];
    size_t len = colon ? (size_t)(colon - text) : 0;
    uint32_t port;

    errno = EINVAL;
    if (brackets) {
        text++;
        len -= 2;
    }
    if (!colon || len >= sizeof(host))
        return -1;
    memcpy(host, text, len);
    host[len] = '\0';
    if (brackets != (strchr(host, ':') != NULL) ||
        netaddr_parse_ip(&out->ip, host) < 0 ||
        number_parse(&port, colon + 1, 1, UINT16_MAX) < 0)
        return errno = EINVAL, -1;
    out->port = (uint16_t)port;
    return 0;
}

void netaddr_print(char out[NETADDR_TEXT_MAX], const struct netaddr *a)
{
    char ip[NETADDR_IP_MAX];

    netaddr_print_ip(ip, &a->ip);
    snprintf(out, NETADDR_TEXT_MAX,
             netaddr_is_ipv4(&a->ip) ? "%s:%u" : "[%s]:%u", ip, a->port);
}

/* ---- sockets ---- */

bool netaddr_is_ipv4(const struct in6_addr *ip)
{
    return IN6_IS_ADDR_V4MAPPED(ip);
}

bool netaddr_is_loopback(const struct in6_addr *ip)
{
    return netaddr_is_ipv4(ip) ? ip->s6_addr[12] == 127
                               : IN6_IS_ADDR_LOOPBACK(ip);
}

socklen_t netaddr_to_socket(struct sockaddr_storage *ss,
                            const struct netaddr *a)
{
    struct sockaddr_in *in = (void *)ss;
    struct sockaddr_in6 *in6 = (void *)ss;

    memset(ss, 0, sizeof(*ss));
    if (netaddr_is_ipv4(&a->ip)) {
        in->sin_family = AF_INET;
        in->sin_addr = get_ipv4(&a->ip);
        in->sin_port = htons(a->port);
        return sizeof(*in);
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_addr = a->ip;
    in6->sin6_port = htons(a->port);
    return sizeof(*in6);
}

struct netaddr netaddr_from_socket(const struct sockaddr *sa)
{
    const struct sockaddr_in *in = (const void *)sa;
    const struct sockaddr_in6 *in6 = (const void *)sa;
    struct netaddr a = {.port = 0};

    if (sa->sa_family == AF_INET) {
        set_ipv4(&a.ip, in->sin_addr);
        a.port = ntohs(in->sin_port);
    } else if (sa->sa_family == AF_INET6) {
        a.ip = in6->sin6_addr;
        a.port = ntohs(in6->sin6_port);
    }
    return a;
}

int netaddr_open(const struct in6_addr *ip)
{
    return socket(netaddr_is_ipv4(ip) ? AF_INET : AF_INET6,
                  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int netaddr_connect(int fd, const struct netaddr *to)
{
    struct sockaddr_storage ss;
    socklen_t len = netaddr_to_socket(&ss, to);

    return connect(fd, (void *)&ss, len);
}

int netaddr_bind(int fd, const struct netaddr *own)
{
    struct sockaddr_storage ss;
    socklen_t len = netaddr_to_socket(&ss, own);

    return bind(fd, (void *)&ss, len);
}

uint16_t netaddr_port(int fd)
{
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);

    if (getsockname(fd, (void *)&ss, &len) < 0)
        return 0;
    return netaddr_from_socket((void *)&ss).port;
}

static int listen_at(const struct in6_addr *ip, uint16_t port)
{
    struct netaddr own = {.ip = *ip, .port = port};
    int one = 1, none = 0, saved_errno;
    int fd = netaddr_open(ip);

    if (fd < 0 && errno == EAFNOSUPPORT && IN6_IS_ADDR_UNSPECIFIED(ip)) {
        netaddr_parse_ip(&own.ip, "0.0.0.0"); /* a kernel without IPv6 */
        fd = netaddr_open(&own.ip);
    }
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (!netaddr_is_ipv4(&own.ip))
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none));
    if (netaddr_bind(fd, &own) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return -1;
}

int netaddr_listen(const struct in6_addr *ip, uint16_t lo, uint16_t hi,
                   uint16_t *port)
{
    unsigned n = hi - lo + 1u;
    unsigned first = lo ? (unsigned)getpid() % n : 0;
    int fd = -1;

    for (unsigned i = 0; i < n; i++) {
        fd = listen_at(ip, (uint16_t)(lo + (first + i) % n));
        if (fd >= 0 || errno != EADDRINUSE)
            break;
    }
    if (fd >= 0)
        *port = netaddr_port(fd);
    return fd;
}

/* A third of the time nothing is asked, then as often as count. */
void netaddr_keep_alive(int fd, int seconds)
{
    const int on = 1, count = 8;
    const int idle = seconds / 3, interval = seconds * 2 / 3 / count;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}
