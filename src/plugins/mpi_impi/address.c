/* SPDX-License-Identifier: BSD-3-Clause */
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netaddr.h"
#include "base/sitedir.h"
#include "impid/names.h"
#include "plugins/mpi_impi/address.h"
#include "slurmabi/slurm_sym.h"

#define NODES_ASKED 16 /* looked at to find our own address */

/* Our own address towards a node; false: not known. */
static bool towards_node(struct in6_addr *out, const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char *addr = slurm_conf_get_nodeaddr ? slurm_conf_get_nodeaddr(name) : NULL;
    struct addrinfo *info = NULL;
    bool found = false;

    if (getaddrinfo(addr ? addr : name, NULL, &hints, &info) == 0)
        for (struct addrinfo *i = info; i && !found; i = i->ai_next) {
            struct netaddr to = netaddr_from_socket(i->ai_addr);

            found = netaddr_towards(out, &to.ip, NULL) == 0;
        }
    if (info)
        freeaddrinfo(info);
    slurmabi_free(addr);
    return found;
}

/* Towards the first node that is not this machine; else loopback, which is
 * right when all of them are. */
static int choose_address(struct in6_addr *out, const char *node_list)
{
    struct hostlist *nodes = slurm_hostlist_create(node_list);
    bool found = false;
    char *name;

    for (int i = 0; i < NODES_ASKED && (name = slurm_hostlist_shift(nodes));
         i++) {
        struct in6_addr addr;

        if (towards_node(&addr, name)) {
            bool local = netaddr_is_loopback(&addr);

            if (!found || !local)
                *out = addr;
            found = true;
            if (!local)
                i = NODES_ASKED;
        }
        free(name);
    }
    slurm_hostlist_destroy(nodes);
    return found ? 0 : -1;
}

int impi_server_address(char bind[NETADDR_IP_MAX],
                        char advertise[NETADDR_IP_MAX],
                        const struct impi_site *site, const char *node_list,
                        struct errbuf *err)
{
    struct in6_addr addr;

    if (site->advertise) {
        if (netaddr_parse_ip(&addr, site->advertise) < 0)
            return errprintf(err, "Advertise=%s is not an address",
                             site->advertise);
        netaddr_print_ip(advertise, &addr);
        strcpy(bind, "any");
        return 0;
    }
    if (site->network) {
        if (netaddr_in_network(&addr, site->network, err) < 0)
            return -1;
    } else if (choose_address(&addr, node_list) < 0) {
        return errprintf(err,
                         "no address of this host is known to reach the "
                         "nodes: set Network or Advertise in %s",
                         SITEDIR_CONF(CONF_NAME));
    }
    netaddr_print_ip(advertise, &addr);
    strcpy(bind, advertise);
    return 0;
}
