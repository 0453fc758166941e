/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Channels between processes of one machine: agreeing on shared memory, and
 * moving bytes through it.  The socket stays: it is the bell that wakes a
 * process that sleeps, and its end tells that the peer is gone.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "impi/packet.h"
#include "libimpi/net_priv.h"

/* Behind a header as much as this is not worth reading it by itself. */
#define SMALL 2048

/* ---- agreeing ---- */

/* Who wants no memory shared between clients leaves that inside one to the
 * library, which shares it: so do the flat collectives' channels. */
static bool may_share(const struct link *l)
{
    return !net.sharing_off ||
           impi_be.world.procs[l->peer].client == impi_be.client;
}

static void make_offer(struct link *l)
{
    struct impi_chan_offer offer;

    if (may_share(l) && share_is_near(l->fd))
        l->share = share_create(&offer);
    if (l->share)
        net.nshared++;
    impi_chan_share_offer(&l->sharing, l->share ? &offer : NULL);
}

void link_proved(struct link *l, bool initiator)
{
    impi_chan_open_wipe(&l->open);
    if (!(impi_be.world.flags & IMPI_WORLD_SHARE)) {
        link_opened(l);
        return;
    }
    l->state = LINK_SHARING;
    if (initiator)
        make_offer(l);
    else
        impi_chan_share_await(&l->sharing);
    link_drive_sharing(l);
}

static void judge(struct link *l)
{
    if (may_share(l))
        l->share = share_open(&l->sharing.offer);
    if (l->share)
        net.nshared++;
    impi_chan_share_answer(&l->sharing, l->share != NULL);
}

/* Send what is to be sent.  1 done, 0 not now, -1 failed. */
static int flush_sharing(struct link *l)
{
    const uint8_t *out;
    size_t n;

    while ((n = impi_chan_share_output(&l->sharing, &out)) > 0) {
        ssize_t done = send(l->fd, out, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        impi_chan_share_sent(&l->sharing, (size_t)done);
    }
    return 1;
}

/* As flush_sharing(), for one piece of input. */
static int take_sharing(struct link *l, struct errbuf *err)
{
    uint8_t in[IMPI_SHARE_OFFER_SIZE];
    ssize_t n =
        recv(l->fd, in, impi_chan_share_want(&l->sharing), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return errprintf(err, "%s", n < 0 ? strerror(errno) : "closed");
    return impi_chan_share_input(&l->sharing, in, (size_t)n, err) < 0 ? -1 : 1;
}

static int run_sharing(struct link *l, struct errbuf *err)
{
    for (;;) {
        int rc;

        if (impi_chan_share_asked(&l->sharing))
            judge(l);
        rc = flush_sharing(l);
        if (rc < 0)
            errprintf(err, "%s", strerror(errno));
        if (rc <= 0)
            return rc;
        if (impi_chan_share_done(&l->sharing))
            return 1;
        rc = take_sharing(l, err);
        if (rc <= 0)
            return rc;
    }
}

static void drop_share(struct link *l)
{
    if (l->share)
        net.nshared--;
    share_free(l->share);
    l->share = NULL;
}

bool link_drive_sharing(struct link *l)
{
    struct errbuf err;
    int rc = run_sharing(l, &err);

    if (rc < 0) {
        link_fail(l, err.text);
    } else if (rc > 0 && !l->sharing.agreed) {
        drop_share(l);
        link_opened(l);
    } else if (rc > 0 && l->sharing.initiator && !share_confirm(l->share)) {
        link_fail(l, "uses other shared memory than it was offered");
    } else if (rc > 0) {
        link_opened(l);
    }
    return rc != 0;
}

/* ---- moving ---- */

bool link_share_out(struct link *l)
{
    struct iovec iov[IMPI_TX_IOV];
    bool moved = false, ring;

    l->blocked = false;
    while (impi_channel_tx_ready(l->channel)) {
        int n = impi_channel_tx(l->channel, iov, IMPI_TX_IOV);
        size_t done;

        if (n == 0)
            break;
        done = ring_stream_write(&l->share->stream, iov, n, &ring);
        if (ring)
            ring_bell(l->fd);
        if (done == 0) { /* for a broken ring the reading side finds it */
            l->blocked = true;
            break;
        }
        impi_channel_tx_done(l->channel, done);
        moved = true;
    }
    return moved;
}

/* Where the next bytes go.  A header with much behind it is taken alone, so
 * that its data go straight to their place. */
static int rx_places(struct link *l, struct iovec *iov, size_t ready)
{
    int n = impi_channel_rx(l->channel, iov, IMPI_RX_IOV);

    if (n == 1 && ready > SMALL && iov[0].iov_len > IMPI_PACKET_SIZE)
        iov[0].iov_len = IMPI_PACKET_SIZE;
    return n;
}

/* Nothing is in the ring.  What the peer wrote before its end is there when
 * the end is seen: so look once more behind that. */
static bool at_end(struct link *l)
{
    return l->gone && ring_stream_ready(&l->share->stream) == 0;
}

bool link_share_in(struct link *l)
{
    struct ring_stream *s = &l->share->stream;
    struct iovec iov[IMPI_RX_IOV];
    size_t got = 0, ready;
    bool ring = false;
    int rc = 0;

    while (got < ROUND_BYTES && rc == 0 && (ready = ring_stream_ready(s)) > 0) {
        int n = rx_places(l, iov, ready);
        bool more = false;
        ssize_t done = ring_stream_read(s, iov, n, &more);

        ring |= more;
        if (done <= 0)
            break;
        got += (size_t)done;
        rc = impi_channel_rx_done(l->channel, (size_t)done);
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
        link_pump_failed(l);
    return got > 0 || rc < 0;
}

bool net_share_has_news(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        struct share *s = net.links[i]->share;

        if (s && ring_stream_has_news(&s->stream))
            return true;
    }
    return false;
}

/* ---- sleeping ---- */

bool net_share_sleep(void)
{
    bool quiet = true;

    if (net.nshared == 0)
        return true;
    net.asleep = true;
    for (size_t i = 0; i < net.nlinks && quiet; i++) {
        struct link *l = net.links[i];

        if (l->state == LINK_OPEN && l->share)
            quiet = ring_stream_sleep(&l->share->stream, l->blocked);
    }
    return quiet;
}

void net_share_awake(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        struct link *l = net.links[i];

        if (l->state != LINK_OPEN || !l->share)
            continue;
        if (net.asleep)
            ring_stream_awake(&l->share->stream);
        if (!l->gone && ring_bell_clear(l->fd) < 0)
            l->gone = true;
    }
    net.asleep = false;
}
