/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impid as an IMPI host in the standard's sense: connections with the hosts
 * of other clients, over which it relays the packets of its processes.  Used
 * where another IMPI than ours may be at the other end; under one srun
 * processes talk to each other themselves.
 *
 * What waits in memory for a process is bounded by flow control (hiwater
 * packets for each pair); what waits for a host of ours by not reading the own
 * processes for a while.
 */
#ifndef SF_IMPID_IMPID_RELAY_H
#define SF_IMPID_IMPID_RELAY_H

#include "impid/impid.h"

/* Listen for other hosts; *port is what is declared. */
int impid_relay_listen(struct impid_client *c, uint16_t *port,
                       struct errbuf *err);
/* The world is joined: connect.  fds gets one socket for each own process,
 * the caller's to pass on and close.  Returns 0; 1 the world does without,
 * the relay is gone; or -1. */
int impid_relay_start(struct impid_client *c, const void *world, size_t len,
                      int *fds, struct errbuf *err);
/* Something waits to be sent to another host. */
bool impid_relay_active(const struct impid_client *c);
void impid_relay_free(struct impid_client *c);

#endif
