/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the engine wants from a network interface.  The interface adds route
 * bytes, type and CRC to what it sends and strips them from what it gives;
 * packets with a wrong CRC, or with route left, are its to drop and count.
 *
 * An interface never blocks and never calls back.
 */
#ifndef SF_HSN_NIC_H
#define SF_HSN_NIC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* One packet to send: two gather parts, data first, headers last. */
struct hsn_tx {
    const uint8_t *route;
    size_t route_len;
    uint16_t type, subtype;
    struct iovec part[2];
    uint32_t slot; /* of the send queue; named again by reap() */
};

struct hsn_sent {
    uint32_t slot;
    int error; /* 0, or an errno: it did not leave */
};

/* One place of the receive queue. */
struct hsn_rx {
    struct iovec buf[2]; /* the engine's, where to receive: filled in order */
    size_t nbuf;
    /* From the interface: */
    uint16_t type, subtype;
    size_t len;              /* bytes between type and CRC */
    const uint8_t *borrowed; /* not NULL: they lie here, buf is untouched */
};

struct hsn_nic_ops {
    /* Take a packet.  Its memory stays untouched until reap() names its slot.
     * 0, or an errno: EAGAIN busy, try later; others: it cannot be sent. */
    int (*send)(void *nic, const struct hsn_tx *tx);
    /* No more packets for now: let them go. */
    void (*flush)(void *nic);
    /* Which packets are done, at most max, in any order. */
    size_t (*reap)(void *nic, struct hsn_sent *sent, size_t max);
    /* Forget a packet that was taken; it may or may not leave, but its
     * memory is not looked at after this call.  reap() does not name it. */
    void (*cancel)(void *nic, uint32_t slot);
    /* Fill rx[0..n) with what has arrived; how many. */
    size_t (*recv)(void *nic, struct hsn_rx *rx, size_t n);
    /* Borrowed packets of the last recv() are not looked at any more. */
    void (*release)(void *nic);
};

#endif
