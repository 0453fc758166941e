/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links by libfabric: agreeing on it, moving bytes by it.  The socket stays: it
 * tells of the peer's end, and takes one word at the end, for what is sent by
 * libfabric may be overtaken by the end of the socket.
 */
#include "libimpi/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/limits.h"
#include "impi/fast.h"
#include "impi/packet.h"
#include "libimpi/fabric.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

#define LEAVE 'F'

/* ---- agreeing ---- */

static bool may_meet_by_fabric(void)
{
    struct netaddr own = listens_at((uint32_t)impi_be.rank);

    return fabric_start(&own);
}

/* What to say of it; NULL: none. */
static const struct impi_fabric_end *reserve(struct link *l,
                                             struct impi_fabric_end *own)
{
    if (may_meet_by_fabric())
        l->fabric = fabric_reserve(own, l->key_out, l->key_in);
    return l->fabric ? own : NULL;
}

/* Milliseconds.  Who is patient with peers is so with their first frame. */
static int64_t hello_time(void)
{
    int64_t part = conns_silence() * 1000ll / SF_FABRIC_HELLO_PART;

    return part > SF_FABRIC_HELLO_MS ? part : SF_FABRIC_HELLO_MS;
}

static void begin_proving(struct link *l)
{
    l->meet_by = clock_ms() + hello_time();
    if (fabric_meet(l->fabric, &l->meeting.own, &l->meeting.peer) < 0)
        impi_chan_fabric_prove(&l->meeting, false);
}

static void judge_fabric(struct link *l)
{
    struct impi_fabric_end own;
    const struct impi_fabric_end *end = reserve(l, &own);

    if (end && !impi_fabric_fits(end, &l->meeting.peer))
        end = NULL;
    impi_chan_fabric_answer(&l->meeting, end);
}

static void look_for_hello(struct link *l)
{
    if (!l->meet_by)
        begin_proving(l);
    if (!impi_chan_fabric_proving(&l->meeting))
        return;
    fabric_poll();
    if (fabric_error(l->fabric) || clock_ms() >= l->meet_by)
        impi_chan_fabric_prove(&l->meeting, false);
    else if (fabric_met(l->fabric))
        impi_chan_fabric_prove(&l->meeting, true);
}

static void fabric_begin(struct link *l, bool initiator)
{
    struct impi_fabric_end own;

    if (initiator)
        impi_chan_fabric_offer(&l->meeting, reserve(l, &own));
    else
        impi_chan_fabric_await(&l->meeting);
}

static void fabric_look_on(struct link *l)
{
    if (impi_chan_fabric_asked(&l->meeting))
        judge_fabric(l);
    if (impi_chan_fabric_proving(&l->meeting))
        look_for_hello(l);
}

static size_t fabric_output(const struct link *l, const uint8_t **data)
{
    return impi_chan_fabric_output(&l->meeting, data);
}

static void fabric_sent(struct link *l, size_t n)
{
    impi_chan_fabric_sent(&l->meeting, n);
}

static bool fabric_done(const struct link *l)
{
    return impi_chan_fabric_done(&l->meeting);
}

static size_t fabric_want(const struct link *l)
{
    return impi_chan_fabric_want(&l->meeting);
}

static int fabric_input(struct link *l, const void *in, size_t n,
                        struct errbuf *err)
{
    return impi_chan_fabric_input(&l->meeting, in, n, err);
}

/* Whoever has a provider says of the first peer that it is of no use for. */
static void say_no_fabric(const struct link *l)
{
    const struct impi_chan_fabric *m = &l->meeting;
    static bool said;

    if (said || !may_meet_by_fabric())
        return;
    said = true;
    be_say("to rank %u (client %u) by TCP, not by libfabric: here %s, %s",
           l->peer, client_of((int)l->peer), fabric_name(),
           !m->peer.name[0] ? "no such provider there"
           : m->own.name[0] ? "no frame came through"
                            : m->peer.name);
}

static int fabric_end(struct link *l, struct errbuf *err)
{
    if (!l->meeting.agreed)
        say_no_fabric(l);
    return l->meeting.agreed;
}

/* ---- moving ---- */

static size_t fabric_out(struct link *l, const struct iovec *iov, int n)
{
    size_t done = fabric_write(l->fabric, iov, n);

    l->blocked = done == 0; /* if it is broken the reading side finds it */
    return done;
}

/* What the socket has to say: the peer has all that we sent, or is gone. */
static void look_at_bell(struct link *l)
{
    char word[SF_RING_BELLS];
    ssize_t n;

    if (l->gone)
        return;
    n = recv(l->fd, word, sizeof(word), MSG_DONTWAIT);
    if (n > 0)
        l->leave_heard = true;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        l->gone = true;
}

/* Its frames are read first, as far as they have come. */
static int fabric_is_over(struct link *l)
{
    if (fabric_error(l->fabric)) {
        impi_channel_fail(l->channel, fabric_error(l->fabric));
        return -1;
    }
    if (!l->gone || l->leave_heard)
        return 0;
    fabric_poll();
    return fabric_ready(l->fabric) > 0 ? 0
                                       : impi_channel_rx_done(l->channel, 0);
}

/* Bytes that count as read by now, from memory that the peer lends. */
static size_t borrow(struct link *l)
{
    size_t len = fabric_lent(l->fabric), room;
    struct impi_request *req;
    void *to = impi_channel_promise(l->channel, len, &room, &req);

    if (!to) {
        fabric_stage(l->fabric);
        return 0;
    }
    fabric_borrow(l->fabric, to, room, req);
    return room;
}

static bool keep_promises(struct link *l)
{
    struct impi_request *req;
    bool any = false;

    while ((req = fabric_kept(l->fabric))) {
        impi_channel_kept(l->channel, req);
        any = true;
    }
    return any;
}

static bool fabric_in(struct link *l)
{
    struct iovec iov[IMPI_RX_IOV];
    bool kept = keep_promises(l);
    size_t got = 0, ready;
    int rc = 0;

    while (got < LINK_ROUND_BYTES && rc == 0) {
        if (fabric_lent(l->fabric) > 0) {
            got += borrow(l);
        } else if ((ready = fabric_ready(l->fabric)) > 0) {
            int n = link_places(l, iov, ready);
            size_t done = fabric_read(l->fabric, iov, n);

            got += done;
            rc = impi_channel_rx_done(l->channel, done);
        } else {
            break;
        }
    }
    if (rc == 0 && got == 0)
        rc = fabric_is_over(l);
    if (rc < 0)
        link_failed(l);
    return kept || got > 0 || rc < 0;
}

/* What this side has sent is there when the peer says so, and the other way
 * round. */
static bool fabric_leave(struct link *l)
{
    char word = LEAVE;

    if (!l->leave_said && fabric_is_flushed(l->fabric))
        l->leave_said = send(l->fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    look_at_bell(l);
    return l->gone || (l->leave_said && l->leave_heard);
}

/* ---- short messages ---- */

static size_t put_frame(struct link *l, const void *head,
                        const struct impi_buffer *buf)
{
    return fabric_put(l->fabric, head, IMPI_PACKET_SIZE, buf->base, buf->len);
}

/* The engine does not know of this receive yet.  What is read now is read to a
 * place of its own and copied, so a long message is left for later. */
static bool take_frame(struct link *l, const struct impi_recv *want,
                       struct impi_status *status)
{
    size_t len;
    const uint8_t *head;

    if (fabric_lends(l->fabric))
        return false;
    head = fabric_look(l->fabric, &len);
    if (!head || len < IMPI_PACKET_SIZE ||
        !impi_fast_take(l->channel, head, len - IMPI_PACKET_SIZE, want,
                        status)) {
        fabric_in(l);
        return false;
    }
    if (len > IMPI_PACKET_SIZE)
        memcpy(want->buf.base, head + IMPI_PACKET_SIZE, len - IMPI_PACKET_SIZE);
    fabric_taken(l->fabric);
    return true;
}

static bool wait_frame(struct link *l, const struct impi_recv *want,
                       unsigned looks, struct impi_status *status)
{
    for (; fabric_ready(l->fabric) == 0; looks--) {
        if (looks == 0)
            return false;
        fabric_poll();
    }
    return take_frame(l, want, status);
}

static void fabric_let_go(struct link *l)
{
    fabric_drop(l->fabric);
    l->fabric = NULL;
}

const struct way way_fabric = {.name = fabric_name,
                               .flag = IMPI_WORLD_FABRIC,
                               .begin = fabric_begin,
                               .look = fabric_look_on,
                               .output = fabric_output,
                               .sent = fabric_sent,
                               .done = fabric_done,
                               .want = fabric_want,
                               .input = fabric_input,
                               .end = fabric_end,
                               .write = fabric_out,
                               .in = fabric_in,
                               .put = put_frame,
                               .take = wait_frame,
                               .bell = look_at_bell,
                               .leave = fabric_leave,
                               .drop = fabric_let_go};
