/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The address at which processes of this node listen for processes of other
 * clients.
 */
#ifndef SF_IMPID_ADDR_H
#define SF_IMPID_ADDR_H

#include "base/errbuf.h"
#include "impi/world.h"
#include "impid/impid_conf.h"

/* The address of the user's interface (IMPI_IFNAME), else the one inside
 * Network of impi.conf; without one the address from which this node reaches
 * impi-server.  Returns 0; or -1 with text: no such interface, malformed
 * network. */
int impid_addr_choose(uint8_t out[IMPI_HOSTID_SIZE],
                      const struct impid_conf *conf, struct errbuf *err);

#endif
