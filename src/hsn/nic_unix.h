/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Interfaces to swfabd on the same machine: what the link and the packets
 * share.
 */
#ifndef SF_HSN_NIC_UNIX_H
#define SF_HSN_NIC_UNIX_H

#include "base/ring.h"
#include "hsn/nic_priv.h"
#include "net/softlink_job.h"

struct unix_nic {
    struct softlink_job ask; /* while `asking`: the clerk's, and the link */
    bool asking;
    int welcome[2]; /* the rings that came with what is asked about */
    struct hsn_nic nic;
    struct hsn_nic_options o;
    struct hsn_nic_done done;
    struct softlink_ops credentials;
    enum softlink_carrier carrier;
    struct softlink *link; /* while connecting and connected */
    int fd;
    uint64_t next; /* when to try again */
    struct ring to, from;
    struct ring lent_from; /* hung up while packets of it are lent */
    struct ring_crowd crowd; /* of `from` */
    bool lent, asleep;
    bool put; /* something into `to`, since the bell was seen to */
    uint8_t buf[NET_PACKET_MAX];
};

/* ---- nic_unix_link.c ---- */

/* Calls swfabd, waits for its answer; the time of the next look. */
uint64_t unix_nic_tick(void *self, uint64_t now);
/* The link is down, its rings are gone; the next tick calls again. */
void unix_nic_hang_up(struct unix_nic *u, const char *why);

#endif
