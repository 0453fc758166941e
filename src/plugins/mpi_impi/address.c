/* SPDX-License-Identifier: BSD-3-Clause */
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netaddr.h"
#include "impid/names.h"
#include "plugins/mpi_impi/address.h"
#include "slurmabi/slurm_sym.h"

#define NODES_ASKED 16 /* looked at to find our own address */

/* Our own address towards a node; false: not known. */
static bool towards_node(struct in_addr *out, const char *name)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    char *addr = slurm_conf_get_nodeaddr ? slurm_conf_get_nodeaddr(name) : NULL;
    struct addrinfo *info = NULL;
    bool found = false;

    if (getaddrinfo(addr ? addr : name, NULL, &hints, &info) == 0 && info)
        found =
            netaddr_towards(
                out, ((struct sockaddr_in *)(void *)info->ai_addr)->sin_addr,
                NULL) == 0;
    if (info)
        freeaddrinfo(info);
    slurmabi_free(addr);
    return found;
}

/* Towards the first node that is not this machine; else loopback, which is
 * right when all of them are. */
static int choose_address(struct in_addr *out, const char *node_list)
{
    hostlist_t nodes = slurm_hostlist_create(node_list);
    bool found = false;
    char *name;

    for (int i = 0; i < NODES_ASKED && (name = slurm_hostlist_shift(nodes));
         i++) {
        struct in_addr addr;

        if (towards_node(&addr, name)) {
            bool local = (ntohl(addr.s_addr) >> 24) == 127;

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

int impi_server_address(char bind[INET_ADDRSTRLEN],
                        char advertise[INET_ADDRSTRLEN],
                        const struct impi_site *site, const char *node_list,
                        struct errbuf *err)
{
    struct in_addr addr;

    if (site->advertise) {
        snprintf(advertise, INET_ADDRSTRLEN, "%s", site->advertise);
        snprintf(bind, INET_ADDRSTRLEN, "any");
        if (inet_pton(AF_INET, advertise, &addr) == 1)
            return 0;
        return errprintf(err, "Advertise=%s is not an IPv4 address",
                         site->advertise);
    }
    if (site->network) {
        if (netaddr_in_network(&addr, site->network, err) < 0)
            return -1;
    } else if (choose_address(&addr, node_list) < 0) {
        return errprintf(err,
                         "no address of this host is known to reach the "
                         "nodes: set Network or Advertise in %s",
                         PATH_CONF);
    }
    inet_ntop(AF_INET, &addr, advertise, INET_ADDRSTRLEN);
    strcpy(bind, advertise);
    return 0;
}
