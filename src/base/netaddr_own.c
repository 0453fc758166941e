/* SPDX-License-Identifier: BSD-3-Clause
 * Addresses of this machine, and which of them others reach.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "base/netaddr.h"
#include "base/number.h"

#define IPV4_BITS_FIRST 96 /* of ::ffff:a.b.c.d, before IPv4's own */

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
