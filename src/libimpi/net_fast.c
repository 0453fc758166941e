/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages straight to and from the memory or the socket of a link
 * (impi/fast.h), without a round over all of them.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "impi/fast.h"
#include "impi/packet.h"
#include "libimpi/net_priv.h"

_Static_assert(NET_FAST_MAX + IMPI_PACKET_SIZE <= RING_STREAM_SHORT,
               "one record of a ring");

/* Looks for a message before the others have their turn: about 2 us where a
 * look takes no system call, else 8 us over all links. */
#define LOOKS_SHARED 256
#define LOOKS_SOCKET 64

static struct link *open_link(uint32_t peer)
{
    struct link *l = net.by_peer[peer];

    return l && l->state == LINK_OPEN ? l : NULL;
}

bool net_skip_round(void)
{
    unsigned round = net.round;

    if (round % SKIP_MOST == 0 || net.asleep || net.nopening > 0 ||
        net.nguests > 0)
        return false;
    __atomic_store_n(&net.round, round + 1, __ATOMIC_RELAXED);
    return true;
}

/* ---- out ---- */

static size_t put_shared(struct link *l, const void *head,
                         const struct impi_buffer *buf)
{
    bool ring, done = ring_stream_put(&l->share->stream, head, buf->base,
                                      buf->len, &ring);

    if (ring)
        ring_bell(l->fd);
    return done ? IMPI_PACKET_SIZE + buf->len : 0;
}

static size_t put_socket(struct link *l, const void *head,
                         const struct impi_buffer *buf)
{
    uint8_t flat[IMPI_PACKET_SIZE + NET_FAST_MAX];
    ssize_t done;

    memcpy(flat, head, IMPI_PACKET_SIZE);
    if (buf->len > 0)
        memcpy(flat + IMPI_PACKET_SIZE, buf->base, buf->len);
    done = send(l->fd, flat, IMPI_PACKET_SIZE + buf->len,
                MSG_NOSIGNAL | MSG_DONTWAIT);
    return done < 0 ? 0 : (size_t)done;
}

enum net_put net_put(const struct impi_send *args, size_t *part)
{
    struct link *l = open_link(args->peer);
    const void *head = l ? impi_fast_send(l->channel, args) : NULL;
    size_t done;

    if (!head)
        return NET_PUT_NONE;
    done = l->share ? put_shared(l, head, &args->buf)
                    : put_socket(l, head, &args->buf);
    *part = done;
    if (done == IMPI_PACKET_SIZE + args->buf.len) {
        impi_fast_sent(l->channel, args->buf.len);
        return NET_PUT_ALL;
    }
    return done > 0 ? NET_PUT_PART : NET_PUT_NONE;
}

void net_put_part(uint32_t peer, size_t part)
{
    struct impi_channel *channel = open_link(peer)->channel;
    struct iovec iov[IMPI_TX_IOV];

    impi_channel_tx(channel, iov, IMPI_TX_IOV);
    impi_channel_tx_done(channel, part);
}

/* ---- in ---- */

static bool take_shared(struct link *l, const struct impi_recv *want,
                        struct impi_status *status)
{
    struct ring_stream *s = &l->share->stream;
    const uint8_t *data, *head;
    bool ring;
    size_t len;

    head = ring_stream_look(s, &data, &len);
    if (!head || !impi_fast_take(l->channel, head, len, want, status)) {
        link_share_in(l);
        return false;
    }
    if (len > 0)
        memcpy(want->buf.base, data, len);
    ring_stream_drop(s, &ring);
    if (ring)
        ring_bell(l->fd);
    return true;
}

/* Until the message is there, or another one is. */
static bool wait_shared(struct link *l, const struct impi_recv *want,
                        unsigned looks, struct impi_status *status)
{
    struct ring_stream *s = &l->share->stream;

    while (!ring_stream_has_news(s)) {
        if (--looks == 0)
            return false;
    }
    return take_shared(l, want, status);
}

/* One look at the socket.  False: *again tells whether another one may
 * help. */
static bool take_socket(struct link *l, const struct impi_recv *want,
                        struct impi_status *status, bool *again)
{
    struct iovec iov;
    ssize_t n;

    impi_channel_rx(l->channel, &iov, 1);
    n = recv(l->fd, iov.iov_base, iov.iov_len, MSG_DONTWAIT);
    *again = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (*again)
        return false;
    if (n >= IMPI_PACKET_SIZE &&
        impi_fast_take(l->channel, iov.iov_base, (size_t)n - IMPI_PACKET_SIZE,
                       want, status)) {
        if (n > IMPI_PACKET_SIZE)
            memcpy(want->buf.base, (uint8_t *)iov.iov_base + IMPI_PACKET_SIZE,
                   (size_t)n - IMPI_PACKET_SIZE);
        return true;
    }
    if (impi_channel_rx_done(l->channel, n < 0 ? 0 : (size_t)n) < 0)
        link_pump_failed(l);
    return false;
}

static bool wait_socket(struct link *l, const struct impi_recv *want,
                        unsigned looks, struct impi_status *status)
{
    bool again = true;

    for (; looks > 0 && again; looks--) {
        if (take_socket(l, want, status, &again))
            return true;
    }
    return false;
}

static bool take_from(struct link *l, const struct impi_recv *want, bool wait,
                      struct impi_status *status)
{
    if (!impi_fast_is_free(l->channel, want))
        return false;
    if (l->share)
        return wait_shared(l, want, wait ? LOOKS_SHARED : 1, status);
    return wait_socket(l, want, wait ? 1 + LOOKS_SOCKET / (1 + net.nlinks) : 1,
                       status);
}

/* Sockets are not asked one by one. */
static bool take_from_any(const struct impi_recv *want, bool wait,
                          struct impi_status *status)
{
    unsigned looks = wait ? 1 + LOOKS_SHARED / net.nlinks : 1;

    if (!net_is_quick())
        return false;
    for (; looks > 0; looks--) {
        for (size_t i = 0; i < net.nlinks; i++) {
            struct link *l = net.links[i];

            if (l->state == LINK_OPEN && take_from(l, want, false, status))
                return true;
        }
    }
    return false;
}

bool net_take(const struct impi_recv *want, bool wait,
              struct impi_status *status)
{
    struct link *l;

    if (net.asleep)
        return false;
    if (want->peer == IMPI_ANY_PEER)
        return take_from_any(want, wait, status);
    l = open_link(want->peer);
    return l && take_from(l, want, wait, status);
}
