/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses of TCP, of either version of IP, as text and as sockets have them;
 * and which of this machine's others reach.
 *
 * An address is IPv6 or, as ::ffff:a.b.c.d, IPv4: sockets for those are IPv4's
 * own, so nothing here needs a kernel with IPv6.  Addresses that need a zone
 * (fe80::1%eth0) are not taken: another machine could make nothing of it.
 */
#ifndef SF_BASE_NETADDR_H
#define SF_BASE_NETADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/errbuf.h"

struct netaddr {
    struct in6_addr ip;
    uint16_t port; /* of the host's order */
};

#define NETADDR_IP_MAX INET6_ADDRSTRLEN
#define NETADDR_TEXT_MAX (INET6_ADDRSTRLEN + 8) /* [ ] : 65535 */

/* ---- text ---- */

/* "10.0.0.1", "fd00::1".  0, or -1 with EINVAL. */
int netaddr_parse_ip(struct in6_addr *out, const char *text);
void netaddr_print_ip(char out[NETADDR_IP_MAX], const struct in6_addr *ip);
/* "10.0.0.1:80", "[fd00::1]:80", the port not 0.  0, or -1 with EINVAL. */
int netaddr_parse(struct netaddr *out, const char *text);
void netaddr_print(char out[NETADDR_TEXT_MAX], const struct netaddr *a);

/* ---- sockets ---- */

bool netaddr_is_ipv4(const struct in6_addr *ip);
bool netaddr_is_loopback(const struct in6_addr *ip);
/* Returns the size of what is filled in.  No address (::) is IPv6's. */
socklen_t netaddr_to_socket(struct sockaddr_storage *ss,
                            const struct netaddr *a);
/* All zero when it is an address of something else. */
struct netaddr netaddr_from_socket(const struct sockaddr *sa);
/* A nonblocking, close-on-exec TCP socket for that address.  -1 with errno. */
int netaddr_open(const struct in6_addr *ip);
/* connect(2) and bind(2). */
int netaddr_connect(int fd, const struct netaddr *to);
int netaddr_bind(int fd, const struct netaddr *own);

/* ---- this machine ---- */

/* Parse "A.B.C.D/N" or "A::/N" (or one address).  0, or -1 EINVAL. */
int netaddr_parse_network(struct in6_addr *net, unsigned *bits,
                          const char *text, struct errbuf *err);

/* The first address of an interface that is up and inside the network.
 * 0; or -1 with errno EINVAL (malformed), ENODEV (none). */
int netaddr_in_network(struct in6_addr *out, const char *network,
                       struct errbuf *err);

/* The address of the interface of that name, if it is up: the first of IPv4,
 * else the first of IPv6.  0; or -1 ENODEV with the name. */
int netaddr_of_interface(struct in6_addr *out, const char *name,
                         struct errbuf *err);

/* The address from which this machine reaches peer; nothing is sent.
 * 0, or -1 with errno. */
int netaddr_towards(struct in6_addr *out, const struct in6_addr *peer,
                    struct errbuf *err);
/* That from which it reaches the world, of IPv4 if it has one.  -1: none; out
 * is loopback then. */
int netaddr_outside(struct in6_addr *out);

/* A nonblocking, close-on-exec listening TCP socket at ip, at a free port of
 * lo..hi (0, 0: any); *port is the one it got.  At :: all addresses of both
 * versions are heard.  The search starts anywhere in the range, so that those
 * who search at once do not meet at each port.
 * Returns the descriptor; or -1 with errno, EADDRINUSE when all are taken. */
int netaddr_listen(const struct in6_addr *ip, uint16_t lo, uint16_t hi,
                   uint16_t *port);

/* The port of a bound socket of IP; 0 when it is none. */
uint16_t netaddr_port(int fd);

/* Notice after about so many seconds that the other side of this TCP
 * connection lost power, or that the way there drops what is sent.  A process
 * that is suspended is not taken for lost: its kernel answers.  With data on
 * the way the kernel asks nothing, and has limits of its own (tcp_retries2). */
void netaddr_keep_alive(int fd, int seconds);

#endif
