/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "impi/world.h"
#include "impid/impid_addr.h"

int impid_addr_choose(uint8_t out[IMPI_HOSTID_SIZE],
                      const struct impid_conf *conf, struct errbuf *err)
{
    const struct netaddr *far =
        conf->foreign.port ? &conf->foreign : &conf->server;
    struct in6_addr ip;

    if (conf->site.network) {
        if (netaddr_in_network(&ip, conf->site.network, err) < 0)
            return -1;
    } else if (netaddr_towards(&ip, &far->ip, err) < 0) {
        return -1;
    }
    if (netaddr_is_ipv4(&ip))
        impi_hostid_set_ipv4(out, ip.s6_addr + 12);
    else
        memcpy(out, &ip, IMPI_HOSTID_SIZE);
    return 0;
}

struct netaddr impid_addr_of(const uint8_t id[IMPI_HOSTID_SIZE], uint16_t port)
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
