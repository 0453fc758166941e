/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces over datagrams: sending.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "hsn/nic_dgram.h"

static void put_prefix(const struct dgram_nic *d, uint8_t *at, size_t len)
{
    if (!d->ether)
        return;
    at[0] = (uint8_t)(len >> 8);
    at[1] = (uint8_t)len;
}

void dgram_flush_link(struct dgram_nic *d)
{
    uint8_t out[DGRAM_PREFIX + SOFTLINK_CONTROL_MAX];
    size_t n, p = dgram_prefix(d);

    while ((n = softlink_output(d->link, out + p, sizeof(out) - p)) > 0) {
        put_prefix(d, out, n);
        (void)!sendto(d->fd, out, n + p, MSG_DONTWAIT | MSG_NOSIGNAL,
                      d->ether ? (struct sockaddr *)&d->peer : NULL,
                      d->ether ? sizeof(d->peer) : 0);
    }
}

struct burst {
    struct mmsghdr msg[DGRAM_OUT];
    struct iovec iov[DGRAM_OUT];
    char control[DGRAM_OUT][CMSG_SPACE(sizeof(uint16_t))];
    size_t count[DGRAM_OUT]; /* packets in each */
    unsigned n;
};

static void add_segment_size(struct msghdr *m, char *control, size_t size)
{
    struct cmsghdr *c;
    uint16_t value = (uint16_t)size;

    m->msg_control = control;
    m->msg_controllen = CMSG_SPACE(sizeof(value));
    c = CMSG_FIRSTHDR(m);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(value));
    memcpy(CMSG_DATA(c), &value, sizeof(value));
}

/* Packets from `first` on that leave as one. */
static size_t run_length(const struct dgram_nic *d, size_t first)
{
    size_t len = d->out_len[first], n = 1;

    while (len <= d->gso_most && first + n < d->nout &&
           d->out_len[first + n] == len && (n + 1) * len <= DGRAM_GSO_BYTES)
        n++;
    return n;
}

/* The kernel did not take several packets as one: not so long ones over this
 * device (EMSGSIZE, of older kernels EINVAL), or none at all (EIO).  False: it
 * was one packet, or something else. */
static bool do_not_merge(struct dgram_nic *d, const struct burst *b, int error)
{
    if (b->count[0] == 1 ||
        (error != EMSGSIZE && error != EINVAL && error != EIO))
        return false;
    d->gso_most = error == EIO ? 0 : d->out_len[d->flushed] - 1;
    return true;
}

static void collect(struct dgram_nic *d, struct burst *b)
{
    b->n = 0;
    for (size_t i = d->flushed; i < d->nout;) {
        size_t n = run_length(d, i), len = d->out_len[i];
        struct msghdr *m = &b->msg[b->n].msg_hdr;

        b->iov[b->n] = (struct iovec){d->out + d->out_at[i], n * len};
        *m = (struct msghdr){.msg_iov = &b->iov[b->n], .msg_iovlen = 1};
        if (d->ether) {
            m->msg_name = &d->peer;
            m->msg_namelen = sizeof(d->peer);
        }
        if (n > 1)
            add_segment_size(m, b->control[b->n], len);
        b->count[b->n++] = n;
        i += n;
    }
}

/* Everything left, or nothing more goes: begin anew. */
static void reset_out(struct dgram_nic *d)
{
    d->nout = d->out_end = d->flushed = 0;
}

void dgram_flush(void *self)
{
    struct dgram_nic *d = self;
    struct burst b;
    int n;

    while (d->flushed < d->nout) {
        collect(d, &b);
        n = sendmmsg(d->fd, b.msg, b.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        d->nic.counters.calls++;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && do_not_merge(d, &b, errno))
            continue;
        if (n < 0) { /* nobody there, or too long for the device */
            d->nic.counters.dropped_system += b.count[0];
            n = 1;
        }
        for (int i = 0; i < n; i++)
            d->flushed += b.count[i];
    }
    reset_out(d);
}

int dgram_send(void *self, const struct hsn_tx *tx)
{
    struct dgram_nic *d = self;
    size_t p = dgram_prefix(d), len = hsn_nic_packet_len(tx);
    uint8_t *at;

    if (!d->nic.up) {
        d->nic.counters.dropped_down++;
        return ENETDOWN;
    }
    if (d->nout == DGRAM_OUT)
        dgram_flush(d);
    if (d->nout == DGRAM_OUT ||
        d->done.n == sizeof(d->done.slot) / sizeof(d->done.slot[0]))
        return EAGAIN;
    at = d->out + d->out_end;
    hsn_nic_packet_put(at + p + SOFTLINK_HEAD, tx);
    if (softlink_wrap(d->link, d->now, at + p, at + p + SOFTLINK_HEAD, len) < 0)
        return errno == ENOTCONN ? ENETDOWN : errno;
    put_prefix(d, at, SOFTLINK_HEAD + len);
    d->out_at[d->nout] = d->out_end;
    d->out_len[d->nout++] = p + SOFTLINK_HEAD + len;
    d->out_end += p + SOFTLINK_HEAD + len;
    d->done.slot[d->done.n++] = tx->slot;
    return 0;
}
