/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In srun: the address of this host that the nodes reach.
 */
#ifndef SF_MPI_IMPI_ADDRESS_H
#define SF_MPI_IMPI_ADDRESS_H

#include "base/errbuf.h"
#include "base/netaddr.h"
#include "impi/site.h"

/* What to listen at ("any" or an address) and what to tell the nodes, by
 * impi.conf or else by the way to them.  0, or -1 with text. */
int impi_server_address(char bind[NETADDR_IP_MAX],
                        char advertise[NETADDR_IP_MAX],
                        const struct impi_site *site, const char *node_list,
                        struct errbuf *err);

#endif
