/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "impid/impid_relay.h"

static int flush(int fd, struct impi_chan_open *o, struct errbuf *err)
{
    const uint8_t *out;
    size_t len;

    while ((len = impi_chan_open_output(o, &out)) > 0) {
        ssize_t n = send(fd, out, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* so few bytes always fit */
            return errprintf(err, "%s", strerror(errno));
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
        if (flush(fd, o, err) < 0)
            return -1;
        if (impi_chan_open_done(o))
            return 1;
        n = recv(fd, in, impi_chan_open_want(o), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return errprintf(err, "%s",
                             n < 0 ? strerror(errno) : "closed the connection");
        if (impi_chan_open_input(o, in, (size_t)n, err) < 0) {
            flush(fd, o, &ignored); /* the reason, for the other side */
            return -1;
        }
    }
}
