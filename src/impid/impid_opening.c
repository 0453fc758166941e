/* SPDX-License-Identifier: BSD-3-Clause */
#include "impid/impid_opening.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int impid_opening_closed(struct errbuf *err, int error)
{
    errprintf(err, "%s", error ? strerror(error) : "closed the connection");
    return !error || error == ECONNRESET || error == EPIPE ? -2 : -1;
}

static int opening_flush(int fd, struct impi_chan_open *o, struct errbuf *err)
{
    const uint8_t *out;
    size_t len;

    while ((len = impi_chan_open_output(o, &out)) > 0) {
        ssize_t n = send(fd, out, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* so few bytes always fit */
            return impid_opening_closed(err, errno);
        impi_chan_open_sent(o, (size_t)n);
    }
    return 0;
}

int impid_opening_run(int fd, struct impi_chan_open *o, struct errbuf *err)
{
    uint8_t in[IMPI_CHAN_REPLY_SIZE];
    struct errbuf ignored;
    ssize_t n;

    for (;;) {
        int rc = opening_flush(fd, o, err);

        if (rc < 0)
            return rc;
        if (impi_chan_open_done(o))
            return 1;
        n = recv(fd, in, impi_chan_open_want(o), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return impid_opening_closed(err, n < 0 ? errno : 0);
        if (impi_chan_open_input(o, in, (size_t)n, err) < 0) {
            opening_flush(fd, o, &ignored); /* the reason, for the other side */
            return -1;
        }
    }
}
