/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/hostaddr.h"
#include "impid/impid_addr.h"
#include "impid/names.h"

static int of_user(struct in6_addr *ip, const char *name, struct errbuf *err)
{
    struct errbuf why;

    if (netaddr_of_interface(ip, name, &why) == 0)
        return 0;
    return errprintf(err, ENV_IFNAME "=%s: %s", name, why.text);
}

int impid_addr_choose(uint8_t out[IMPI_HOSTID_SIZE],
                      const struct impid_conf *conf, struct errbuf *err)
{
    const struct netaddr *far =
        conf->foreign.port ? &conf->foreign : &conf->server;
    struct in6_addr ip;

    if (conf->ifname && conf->ifname[0]) {
        if (of_user(&ip, conf->ifname, err) < 0)
            return -1;
    } else if (conf->site.network) {
        if (netaddr_in_network(&ip, conf->site.network, err) < 0)
            return -1;
    } else if (netaddr_towards(&ip, &far->ip, err) < 0) {
        return -1;
    }
    impi_hostaddr_put(out, &ip);
    return 0;
}
