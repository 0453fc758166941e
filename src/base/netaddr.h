/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of this machine's IPv4 addresses others reach.
 */
#ifndef SF_BASE_NETADDR_H
#define SF_BASE_NETADDR_H

#include <netinet/in.h>

#include "base/errbuf.h"

/* Parse "A.B.C.D/N" (or one address, N = 32).  0, or -1 EINVAL. */
int netaddr_parse_network(struct in_addr *net, struct in_addr *mask,
                          const char *text, struct errbuf *err);

/* The first address of an interface that is up and inside the network.
 * 0; or -1 with errno EINVAL (malformed), ENODEV (none). */
int netaddr_in_network(struct in_addr *out, const char *network,
                       struct errbuf *err);

/* The address from which this machine reaches peer; nothing is sent.
 * 0, or -1 with errno. */
int netaddr_towards(struct in_addr *out, struct in_addr peer,
                    struct errbuf *err);

/* A nonblocking, close-on-exec listening TCP socket at addr, at a free port of
 * lo..hi (0, 0: any); *port is the one it got.  The search starts anywhere in
 * the range, so that those who search at once do not meet at each port.
 * Returns the descriptor; or -1 with errno, EADDRINUSE when all are taken. */
int netaddr_listen(struct in_addr addr, uint16_t lo, uint16_t hi,
                   uint16_t *port);

/* The port of a bound IPv4 socket; 0 when it is none. */
uint16_t netaddr_port(int fd);

/* Notice after three minutes that the other side of this TCP connection lost
 * power.  A process that is suspended is not taken for lost: its kernel
 * answers. */
void netaddr_keep_alive(int fd);

#endif
