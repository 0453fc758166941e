/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/netaddr.h"
#include "base/number.h"

#define IPV4_BITS_FIRST 96 /* of ::ffff:a.b.c.d, before IPv4's own */

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

/* ---- this machine ---- */

int netaddr_parse_network(struct in6_addr *net, unsigned *bits,
                          const char *text, struct errbuf *err)
{
    char host[NETADDR_IP_MAX] = "";
    size_t len = strcspn(text, "/");
    uint32_t first, own;

    if (len < sizeof(host))
        memcpy(host, text, len);
    if (netaddr_parse_ip(net, host) < 0)
        goto invalid;
    first = netaddr_is_ipv4(net) ? IPV4_BITS_FIRST : 0;
    own = 128 - first;
    if (text[len] == '/' && number_parse(&own, text + len + 1, 0, own) < 0)
        goto invalid;
    *bits = first + own;
    return 0;
invalid:
    errno = EINVAL;
    return errprintf(err, "'%s' is not a network like 10.1.0.0/16 or fd00::/8",
                     text);
}

static bool same_bits(const struct in6_addr *a, const struct in6_addr *b,
                      unsigned bits)
{
    unsigned bytes = bits / 8, rest = bits % 8;

    return memcmp(a, b, bytes) == 0 &&
           (rest == 0 ||
            (a->s6_addr[bytes] ^ b->s6_addr[bytes]) >> (8 - rest) == 0);
}

/* An address that others may be told. */
static bool address_of(struct in6_addr *out, const struct ifaddrs *i)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) ||
        (i->ifa_addr->sa_family != AF_INET &&
         i->ifa_addr->sa_family != AF_INET6))
        return false;
    *out = netaddr_from_socket(i->ifa_addr).ip;
    return !IN6_IS_ADDR_LINKLOCAL(out);
}

static bool fits(const struct ifaddrs *i, const struct in6_addr *net,
                 unsigned bits)
{
    struct in6_addr ip;

    return address_of(&ip, i) && same_bits(&ip, net, bits);
}

int netaddr_in_network(struct in6_addr *out, const char *network,
                       struct errbuf *err)
{
    struct ifaddrs *list, *i;
    struct in6_addr net;
    unsigned bits = 0;

    if (netaddr_parse_network(&net, &bits, network, err) < 0)
        return -1;
    if (getifaddrs(&list) < 0)
        return errprintf(err, "interfaces: %s", strerror(errno));
    for (i = list; i && !fits(i, &net, bits); i = i->ifa_next)
        ;
    if (i)
        *out = netaddr_from_socket(i->ifa_addr).ip;
    freeifaddrs(list);
    if (i)
        return 0;
    errno = ENODEV;
    return errprintf(err, "no interface has an address in %s", network);
}

int netaddr_of_interface(struct in6_addr *out, const char *name,
                         struct errbuf *err)
{
    struct ifaddrs *list, *i;
    bool found = false;

    if (getifaddrs(&list) < 0)
        return errprintf(err, "interfaces: %s", strerror(errno));
    for (i = list; i && !(found && netaddr_is_ipv4(out)); i = i->ifa_next) {
        struct in6_addr ip;

        if (strcmp(i->ifa_name, name) != 0 || !address_of(&ip, i) ||
            (found && !netaddr_is_ipv4(&ip)))
            continue;
        *out = ip;
        found = true;
    }
    freeifaddrs(list);
    if (found)
        return 0;
    errno = ENODEV;
    return errprintf(err, "no interface %s is up with an address", name);
}

int netaddr_towards(struct in6_addr *out, const struct in6_addr *peer,
                    struct errbuf *err)
{
    struct netaddr to = {.ip = *peer, .port = 9};
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    char text[NETADDR_IP_MAX];
    int fd = socket(netaddr_is_ipv4(peer) ? AF_INET : AF_INET6,
                    SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = -1;

    if (fd >= 0 && netaddr_connect(fd, &to) == 0 &&
        getsockname(fd, (void *)&own, &len) == 0) {
        *out = netaddr_from_socket((void *)&own).ip;
        rc = 0;
    } else {
        netaddr_print_ip(text, peer);
        errprintf(err, "no way to %s: %s", text, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

int netaddr_outside(struct in6_addr *out)
{
    /* Of documentation: in nobody's own net. */
    static const char *const far[] = {"192.0.2.1", "2001:db8::1"};
    struct in6_addr peer;

    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
        if (netaddr_parse_ip(&peer, far[i]) == 0 &&
            netaddr_towards(out, &peer, NULL) == 0)
            return 0;
    netaddr_parse_ip(out, "127.0.0.1");
    return -1;
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
