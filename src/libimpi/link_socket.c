/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links by their own socket: bytes between the channels of the message engine
 * and TCP.
 */
#include "libimpi/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "impi/fast.h"
#include "impi/packet.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

#define TCP_NAME_MAX 16 /* TCP_CA_NAME_MAX of the kernel */

/* Within one machine there is no path whose rate could be found out; the
 * pauses by which BBR looks for it only cost.  Every kernel has Reno. */
static void do_not_pace(int fd)
{
    char name[TCP_NAME_MAX + 1] = "";
    socklen_t len = TCP_NAME_MAX;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0 &&
        strncmp(name, "bbr", 3) == 0)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* Without a driver of an accelerator nobody looks at buffers before. */
static void check_fault(const struct link *l, const char *which)
{
    if (errno == EFAULT)
        be_die(1,
               "SF-E405: a message %s rank %u has a buffer that is not memory "
               "of this process",
               which, l->peer);
}

static size_t socket_write(struct link *l, const struct iovec *iov, int n)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov,
                         .msg_iovlen = (size_t)n};
    ssize_t done = sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (done >= 0)
        return (size_t)done;
    if (errno == EAGAIN || errno == EINTR)
        l->blocked = true;
    else /* what it sent before is still to be read */
        check_fault(l, "to");
    return 0;
}

static size_t iov_total(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
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
    struct iovec iov[IMPI_PIECES_IOV];
    size_t got = 0;

    while (got < LINK_ROUND_BYTES) {
        int n = impi_channel_rx(l->channel, iov, IMPI_PIECES_IOV);
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
            link_failed(l);
            return true;
        }
        if (done == 0 || (size_t)done < want)
            break;
        if (!l->blocked && impi_channel_tx_ready(l->channel))
            break; /* an answer that the other side may wait for */
    }
    return got > 0;
}

/* ---- short messages ---- */

static size_t socket_put(struct link *l, const void *head,
                         const struct impi_buffer *buf)
{
    uint8_t flat[IMPI_PACKET_SIZE + CONNS_FAST_MAX];
    ssize_t done;

    memcpy(flat, head, IMPI_PACKET_SIZE);
    if (buf->len > 0)
        memcpy(flat + IMPI_PACKET_SIZE, buf->base, buf->len);
    done = send(l->fd, flat, IMPI_PACKET_SIZE + buf->len,
                MSG_NOSIGNAL | MSG_DONTWAIT);
    return done < 0 ? 0 : (size_t)done;
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
        link_failed(l);
    return false;
}

static bool socket_take(struct link *l, const struct impi_recv *want,
                        unsigned looks, struct impi_status *status)
{
    bool again = true;

    for (; looks > 0 && again; looks--) {
        if (take_socket(l, want, status, &again))
            return true;
    }
    return false;
}

static const char *socket_name(void)
{
    return "TCP";
}

/* There is nothing to agree on. */
static int socket_end(struct link *l, struct errbuf *err)
{
    if (share_is_near(l->fd))
        do_not_pace(l->fd);
    return 1;
}

const struct way way_socket = {.name = socket_name,
                               .socket = true,
                               .end = socket_end,
                               .write = socket_write,
                               .in = socket_in,
                               .put = socket_put,
                               .take = socket_take};
