/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 16 bytes with which IMPI names a host, as an address for sockets.
 */
#ifndef SF_IMPI_HOSTADDR_H
#define SF_IMPI_HOSTADDR_H

#include "base/netaddr.h"
#include "impi/world.h"

/* IPv4 may be inside in either of its forms. */
struct netaddr impi_hostaddr(const uint8_t id[IMPI_HOSTID_SIZE], uint16_t port);
/* The form that we send. */
void impi_hostaddr_put(uint8_t id[IMPI_HOSTID_SIZE], const struct in6_addr *ip);

#endif
