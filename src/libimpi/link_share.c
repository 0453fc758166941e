/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links between processes of one machine: agreeing on shared memory, and moving
 * bytes through it.  The socket stays: it is the bell that wakes a process that
 * sleeps, and its end tells that the peer is gone.
 */
#include "libimpi/link.h"

#include <string.h>

#include "impi/fast.h"
#include "impi/packet.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

_Static_assert(CONNS_FAST_MAX + IMPI_PACKET_SIZE <= RING_STREAM_SHORT,
               "one record of a ring");

/* ---- agreeing ---- */

/* Who wants no memory shared between clients leaves that inside one to the
 * library, which shares it: so do the flat collectives' channels. */
static bool may_share(const struct link *l)
{
    return !share_is_off() || client_of((int)l->peer) == impi_be.client;
}

static void make_offer(struct link *l)
{
    struct impi_chan_offer offer;

    if (may_share(l) && share_is_near(l->fd))
        l->share = share_create(&offer);
    impi_chan_share_offer(&l->sharing, l->share ? &offer : NULL);
}

static void share_look(struct link *l)
{
    if (!impi_chan_share_asked(&l->sharing))
        return;
    if (may_share(l))
        l->share = share_open(&l->sharing.offer);
    impi_chan_share_answer(&l->sharing, l->share != NULL);
}

static void share_begin(struct link *l, bool initiator)
{
    if (initiator)
        make_offer(l);
    else
        impi_chan_share_await(&l->sharing);
}

static size_t share_output(const struct link *l, const uint8_t **data)
{
    return impi_chan_share_output(&l->sharing, data);
}

static void share_sent(struct link *l, size_t n)
{
    impi_chan_share_sent(&l->sharing, n);
}

static bool share_done(const struct link *l)
{
    return impi_chan_share_done(&l->sharing);
}

static size_t share_want(const struct link *l)
{
    return impi_chan_share_want(&l->sharing);
}

static int share_input(struct link *l, const void *in, size_t n,
                       struct errbuf *err)
{
    return impi_chan_share_input(&l->sharing, in, n, err);
}

static int share_end(struct link *l, struct errbuf *err)
{
    if (!l->sharing.agreed)
        return 0;
    if (l->initiator && !share_confirm(l->share))
        return errprintf(err, "uses other shared memory than it was offered");
    return 1;
}

/* ---- moving ---- */

static void fetch(void *channel, void *to, size_t n)
{
    impi_channel_fetch(channel, to, n);
}

static size_t share_write(struct link *l, const struct iovec *iov, int n)
{
    bool ring;
    size_t done =
        ring_stream_write(&l->share->stream, iov, n, fetch, l->channel, &ring);

    if (ring)
        ring_bell(l->fd);
    l->blocked = done == 0; /* for a broken ring the reading side finds it */
    return done;
}

/* Nothing is in the ring.  What the peer wrote before its end is there when
 * the end is seen: so look once more behind that. */
static bool at_end(struct link *l)
{
    return l->gone && ring_stream_ready(&l->share->stream) == 0;
}

/* Data that do not go to one place, from where they lie in the ring.  Returns
 * the bytes; 0: there are none. */
static size_t give(struct link *l, bool *ring)
{
    struct ring_stream *s = &l->share->stream;
    size_t want = impi_channel_rx_apart(l->channel), len;
    const uint8_t *at = want > 0 ? ring_stream_peek(s, &len) : NULL;

    if (!at)
        return 0;
    if (len > want)
        len = want;
    impi_channel_give(l->channel, at, len);
    ring_stream_pass(s, len, ring);
    return len;
}

/* Bytes to their places; what impi_channel_rx_done() says. */
static int read_some(struct link *l, size_t ready, size_t *got, bool *ring)
{
    struct iovec iov[IMPI_RX_IOV];
    int n = link_places(l, iov, ready);
    ssize_t done = ring_stream_read(&l->share->stream, iov, n, ring);

    *got = done > 0 ? (size_t)done : 0;
    return *got > 0 ? impi_channel_rx_done(l->channel, *got) : 0;
}

static bool share_in(struct link *l)
{
    struct ring_stream *s = &l->share->stream;
    size_t got = 0, ready, n = 1;
    bool ring = false;
    int rc = 0;

    while (got < LINK_ROUND_BYTES && rc == 0 && n > 0 &&
           (ready = ring_stream_ready(s)) > 0) {
        bool more = false;

        n = give(l, &more);
        if (n == 0)
            rc = read_some(l, ready, &n, &more);
        ring |= more;
        got += n;
    }
    if (ring)
        ring_bell(l->fd);
    if (rc == 0 && (s->in.broken || s->out.broken)) {
        impi_channel_fail(l->channel, "left the rules of shared memory");
        rc = -1;
    } else if (rc == 0 && got == 0 && at_end(l)) {
        rc = impi_channel_rx_done(l->channel, 0);
    }
    if (rc < 0)
        link_failed(l);
    return got > 0 || rc < 0;
}

/* ---- short messages ---- */

static size_t share_put(struct link *l, const void *head,
                        const struct impi_buffer *buf)
{
    bool ring, done = ring_stream_put(&l->share->stream, head, buf->base,
                                      buf->len, &ring);

    if (ring)
        ring_bell(l->fd);
    return done ? IMPI_PACKET_SIZE + buf->len : 0;
}

static bool take_next(struct link *l, const struct impi_recv *want,
                      struct impi_status *status)
{
    struct ring_stream *s = &l->share->stream;
    const uint8_t *data, *head;
    bool ring;
    size_t len;

    head = ring_stream_look(s, &data, &len);
    if (!head || !impi_fast_take(l->channel, head, len, want, status)) {
        share_in(l);
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
static bool share_take(struct link *l, const struct impi_recv *want,
                       unsigned looks, struct impi_status *status)
{
    struct ring_stream *s = &l->share->stream;

    while (!ring_stream_has_news(s)) {
        if (--looks == 0)
            return false;
    }
    return take_next(l, want, status);
}

/* ---- sleeping ---- */

static bool share_sleep(struct link *l)
{
    return ring_stream_sleep(&l->share->stream, l->blocked);
}

static void share_awake(struct link *l)
{
    ring_stream_awake(&l->share->stream);
}

static void share_bell(struct link *l)
{
    if (!l->gone && ring_bell_clear(l->fd) < 0)
        l->gone = true;
}

static void share_drop(struct link *l)
{
    share_free(l->share);
    l->share = NULL;
}

static const char *share_name(void)
{
    return "memory";
}

const struct way way_share = {.name = share_name,
                              .flag = IMPI_WORLD_SHARE,
                              .begin = share_begin,
                              .look = share_look,
                              .output = share_output,
                              .sent = share_sent,
                              .done = share_done,
                              .want = share_want,
                              .input = share_input,
                              .end = share_end,
                              .apart = true,
                              .write = share_write,
                              .in = share_in,
                              .put = share_put,
                              .take = share_take,
                              .sleep = share_sleep,
                              .awake = share_awake,
                              .bell = share_bell,
                              .drop = share_drop};
