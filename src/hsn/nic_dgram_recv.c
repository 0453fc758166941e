/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces over datagrams: receiving.
 */
#define _GNU_SOURCE
#include <string.h>

#include "base/clock.h"
#include "hsn/nic_dgram.h"

/* Bytes of each of the datagrams that were merged into one. */
static size_t segment_size(struct msghdr *m, size_t len)
{
    int size;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&size, CMSG_DATA(c), sizeof(size));
            return size > 0 ? (size_t)size : len;
        }
    return len;
}

static bool refill(struct dgram_nic *d)
{
    int n;

    for (int i = 0; i < DGRAM_IN; i++) {
        d->iov[i] =
            (struct iovec){d->in + (size_t)i * DGRAM_IN_SIZE, DGRAM_IN_SIZE};
        d->msg[i].msg_hdr = (struct msghdr){
            .msg_name = d->ether ? &d->from[i] : NULL,
            .msg_namelen = d->ether ? sizeof(d->from[i]) : 0,
            .msg_iov = &d->iov[i],
            .msg_iovlen = 1,
            .msg_control = d->control[i],
            .msg_controllen = sizeof(d->control[i]),
        };
    }
    n = recvmmsg(d->fd, d->msg, DGRAM_IN, MSG_DONTWAIT, NULL);
    d->nic.counters.calls++;
    d->nin = n > 0 ? (unsigned)n : 0;
    d->nic.counters.crowded += n == DGRAM_IN;
    d->in_msg = 0;
    d->in_at = 0;
    d->now = clock_ns();
    return n > 0;
}

/* The next datagram that was received; NULL: none. */
static const uint8_t *next_datagram(struct dgram_nic *d, size_t *len)
{
    for (;; d->in_msg++, d->in_at = 0) {
        size_t all;

        if (d->in_msg == d->nin)
            return NULL;
        all = d->msg[d->in_msg].msg_len;
        if (d->in_at >= all)
            continue;
        if (d->in_at == 0)
            d->in_segment = segment_size(&d->msg[d->in_msg].msg_hdr, all);
        *len = all - d->in_at < d->in_segment ? all - d->in_at : d->in_segment;
        d->in_at += *len;
        return d->in + (size_t)d->in_msg * DGRAM_IN_SIZE + d->in_at - *len;
    }
}

/* Without the prefix; false: malformed. */
static bool strip(const struct dgram_nic *d, const uint8_t **p, size_t *len)
{
    size_t said;

    if (!d->ether)
        return true;
    if (*len < DGRAM_PREFIX)
        return false;
    said = (size_t)(*p)[0] << 8 | (*p)[1];
    if (said > *len - DGRAM_PREFIX)
        return false;
    *p += DGRAM_PREFIX;
    *len = said;
    return true;
}

/* What a datagram carries; false: nothing for the engine. */
static bool look_inside(struct dgram_nic *d, struct hsn_rx *rx,
                        const uint8_t *p, size_t len)
{
    const uint8_t *packet = NULL;
    struct errbuf err = {""};
    size_t packet_len;

    if (!strip(d, &p, &len)) {
        d->nic.counters.dropped_bad++;
        return false;
    }
    if (softlink_is_answer(d->link, p, len)) {
        dgram_ask(d, p, len);
        return false;
    }
    dgram_event(
        d, softlink_input(d->link, d->now, p, len, &packet, &packet_len, &err),
        &err);
    return packet && hsn_nic_packet_get(&d->nic, rx, packet, packet_len);
}

size_t dgram_recv(void *self, struct hsn_rx *rx, size_t n)
{
    struct dgram_nic *d = self;
    const struct softlink_counters *c = softlink_counters(d->link);
    const uint8_t *p;
    size_t k = 0, len;

    if (d->asking || (d->in_msg == d->nin && !refill(d)))
        return 0;
    while (k < n && !d->asking && (p = next_datagram(d, &len)))
        k += look_inside(d, &rx[k], p, len);
    if (d->asking)
        return k;
    d->nic.counters.dropped_tag =
        c->malformed + c->bad_tag + c->replayed + c->foreign;
    return k;
}
