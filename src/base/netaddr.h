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

#endif
