/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving bytes between the channels of the message engine and their sockets.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libimpi/net_priv.h"

/* Without a driver of an accelerator nobody looks at buffers before. */
static void check_fault(const struct link *l, const char *which)
{
    if (errno == EFAULT)
        be_die(1,
               "SF-E405: a message %s rank %u has a buffer that is not memory "
               "of this process",
               which, l->peer);
}

static bool socket_out(struct link *l)
{
    struct iovec iov[IMPI_TX_IOV];
    bool moved = false;

    l->blocked = false;
    while (impi_channel_tx_ready(l->channel)) {
        int n = impi_channel_tx(l->channel, iov, IMPI_TX_IOV);
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t done;

        if (n == 0)
            break;
        done = sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
            l->blocked = true;
            break;
        }
        if (done < 0) {
            check_fault(l, "to");
            /* What it sent before is still to be read: the reading side
             * finds the end. */
            break;
        }
        impi_channel_tx_done(l->channel, (size_t)done);
        moved = true;
    }
    return moved;
}

static size_t iov_total(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

void link_pump_failed(struct link *l)
{
    uint32_t culprit = impi_channel_culprit(l->channel);
    char why[SF_ERRBUF_SIZE];

    if (culprit != IMPI_ANY_PEER && !net.finishing)
        link_breach(culprit);

    strncpy(why, impi_channel_error(l->channel), sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    link_fail(l, why);
}

/* Into one place, as most often, it is a cheaper call. */
static ssize_t receive(int fd, struct iovec *iov, int n)
{
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};

    if (n == 1)
        return recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT);
    return recvmsg(fd, &msg, MSG_DONTWAIT);
}

static bool socket_in(struct link *l)
{
    struct iovec iov[IMPI_RX_IOV];
    size_t got = 0;

    while (got < ROUND_BYTES) {
        int n = impi_channel_rx(l->channel, iov, IMPI_RX_IOV);
        size_t want = iov_total(iov, n);
        ssize_t done = receive(l->fd, iov, n);

        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (done < 0) {
            check_fault(l, "from");
            done = 0;
        }
        got += (size_t)done;
        if (impi_channel_rx_done(l->channel, (size_t)done) < 0) {
            link_pump_failed(l);
            return true;
        }
        if (done == 0 || (size_t)done < want)
            break;
        if (!l->blocked && impi_channel_tx_ready(l->channel))
            break; /* an answer that the other side may wait for */
    }
    return got > 0;
}

bool link_pump_out(struct link *l)
{
    return l->share ? link_share_out(l) : socket_out(l);
}

static bool pump(struct link *l)
{
    bool moved = link_pump_out(l);

    moved |= l->share ? link_share_in(l) : socket_in(l);
    /* What came in may have released something to send. */
    if (l->state == LINK_OPEN && moved && impi_channel_tx_ready(l->channel))
        link_pump_out(l);
    if (l->state == LINK_OPEN && impi_channel_finished(l->channel)) {
        link_close_fd(l);
        l->state = LINK_CLOSED;
    }
    return moved;
}

bool link_drive(struct link *l)
{
    switch (l->state) {
    case LINK_OPEN:
        return pump(l);
    case LINK_CONNECTING:
    case LINK_OPENING:
        return link_drive_opening(l);
    case LINK_SHARING:
        return link_drive_sharing(l);
    default:
        return false;
    }
}
