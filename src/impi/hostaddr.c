/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/hostaddr.h"

#include <string.h>

struct netaddr impi_hostaddr(const uint8_t id[IMPI_HOSTID_SIZE], uint16_t port)
{
    struct netaddr a = {.port = port};
    uint8_t ipv4[4];

    memcpy(&a.ip, id, IMPI_HOSTID_SIZE);
    if (impi_hostid_get_ipv4(ipv4, id)) {
        a.ip.s6_addr[10] = a.ip.s6_addr[11] = 0xff;
        memcpy(a.ip.s6_addr + 12, ipv4, sizeof(ipv4));
    }
    return a;
}

void impi_hostaddr_put(uint8_t id[IMPI_HOSTID_SIZE], const struct in6_addr *ip)
{
    if (netaddr_is_ipv4(ip))
        impi_hostid_set_ipv4(id, ip->s6_addr + 12);
    else
        memcpy(id, ip, IMPI_HOSTID_SIZE);
}
