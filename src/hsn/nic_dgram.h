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
#include <netinet/udp.h>
#include <sys/socket.h>

#include "hsn/nic_priv.h"
#include "net/softlink_job.h"

#ifndef UDP_SEGMENT /* of older C libraries */
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define DGRAM_OUT 64              /* packets collected */
#define DGRAM_IN 8                /* datagrams received in one call */
#define DGRAM_IN_SIZE (64 * 1024) /* of one: GRO merges up to this */
#define DGRAM_PREFIX 2            /* Ethernet: length, frames are padded */
#define DGRAM_GSO_BYTES 65000     /* of one send */
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

static inline size_t dgram_prefix(const struct dgram_nic *d)
{
    return d->ether ? DGRAM_PREFIX : 0;
}

/* ---- nic_dgram.c ---- */

/* What the link said to its user; err: why it was refused. */
void dgram_event(struct dgram_nic *d, enum softlink_event e,
                 const struct errbuf *err);
/* Time passes for a link that calls, or it was answered: p[0..len).  Until
 * munged has answered, `asking` is set and the link is the clerk's. */
void dgram_ask(struct dgram_nic *d, const uint8_t *p, size_t len);

/* ---- nic_dgram_send.c, nic_dgram_recv.c: of hsn_nic_ops ---- */

int dgram_send(void *self, const struct hsn_tx *tx);
void dgram_flush(void *self);
size_t dgram_recv(void *self, struct hsn_rx *rx, size_t n);
/* Datagrams of the link itself, one by one. */
void dgram_flush_link(struct dgram_nic *d);

/* ---- nic_dgram_open.c ---- */

/* A socket to the other end.  -1 with errno and text. */
int dgram_open_udp(struct dgram_nic *d, struct errbuf *err);
int dgram_open_ether(struct dgram_nic *d, struct errbuf *err);

#endif
