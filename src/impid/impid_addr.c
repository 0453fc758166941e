/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/netaddr.h"
#include "impi/world.h"
#include "impid/impid_addr.h"

int impid_addr_choose(uint8_t out[16], const struct impid_conf *conf,
                      struct errbuf *err)
{
    const struct sockaddr_in *far =
        conf->foreign.sin_port ? &conf->foreign : &conf->server;
    struct in_addr addr;
    uint8_t ipv4[4];

    if (conf->site.network) {
        if (netaddr_in_network(&addr, conf->site.network, err) < 0)
            return -1;
    } else if (netaddr_towards(&addr, far->sin_addr, err) < 0) {
        return -1;
    }
    memcpy(ipv4, &addr, sizeof(ipv4));
    impi_hostid_set_ipv4(out, ipv4);
    return 0;
}
