/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Interfaces whose link is tagged datagrams: UDP and Ethernet.  Packets to
 * send are collected in one buffer, one behind the other, and leave together;
 * runs of the same length leave as one (GSO).
 */
#ifndef SF_HSN_NIC_DGRAM_H
#define SF_HSN_NIC_DGRAM_H

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "hsn/nic_priv.h"
#include "net/softlink_job.h"

#define DGRAM_OUT 64              /* packets collected */
#define DGRAM_IN 8                /* datagrams received in one call */
#define DGRAM_IN_SIZE (64 * 1024) /* of one: GRO merges up to this */
#define DGRAM_PREFIX 2            /* Ethernet: length, frames are padded */
#define DGRAM_MAX (DGRAM_PREFIX + SOFTLINK_DATAGRAM_MAX)

struct dgram_nic {
    struct softlink_job ask; /* while `asking`: the clerk's, and the link */
    bool asking;
    bool complained; /* that asking failed */
    struct hsn_nic nic;
    struct hsn_nic_options o;
    struct hsn_nic_done done;
    struct softlink_ops credentials;
    struct softlink *link;
    int fd;
    bool ether;
    size_t gso_most;         /* longest packets of which several leave as one */
    struct sockaddr_ll peer; /* ethernet */
    uint64_t now;

    uint8_t *out; /* DGRAM_OUT * DGRAM_MAX */
    size_t out_len[DGRAM_OUT], out_at[DGRAM_OUT];
    size_t nout, out_end, flushed; /* flushed: packets gone already */

    uint8_t *in; /* DGRAM_IN * DGRAM_IN_SIZE */
    struct mmsghdr msg[DGRAM_IN];
    struct iovec iov[DGRAM_IN];
    char control[DGRAM_IN][CMSG_SPACE(sizeof(int))];
    struct sockaddr_ll from[DGRAM_IN];
    unsigned nin, in_msg; /* received, being looked at */
    size_t in_at, in_segment;
};

/* A socket to the other end.  -1 with errno and text. */
int dgram_open_udp(struct dgram_nic *d, struct errbuf *err);
int dgram_open_ether(struct dgram_nic *d, struct errbuf *err);

#endif
