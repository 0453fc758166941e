/* SPDX-License-Identifier: BSD-3-Clause
 * What a peer of the same machine may do to us: its words while shared memory
 * is agreed upon, in pieces, and anything at all in that memory.  The first
 * byte says which, and how.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/ring_stream.h"
#include "fuzz.h"
#include "impi/chan_share.h"

enum { SIZE = 128 * 1024 };

static void words(const uint8_t *data, size_t size, size_t piece, bool offer)
{
    static const struct impi_chan_offer own = {.pid = 1};
    struct impi_chan_share s;
    struct errbuf err;
    const uint8_t *out;

    if (offer)
        impi_chan_share_offer(&s, &own);
    else
        impi_chan_share_await(&s);
    while (size > 0) {
        size_t n = impi_chan_share_want(&s);

        n = n < piece ? n : piece;
        n = n < size ? n : size;
        impi_chan_share_sent(&s, impi_chan_share_output(&s, &out));
        if (n == 0 || impi_chan_share_input(&s, data, n, &err) < 0)
            break;
        data += n;
        size -= n;
        if (impi_chan_share_asked(&s))
            impi_chan_share_answer(&s, s.offer.pid & 1);
    }
}

/* Six bytes each: where, relative to the indexes or to where we read next,
 * and what. */
static void scribble(struct ring_stream *s, const uint8_t *d)
{
    size_t at = d[0] | (size_t)d[1] << 8;
    uint32_t value;

    memcpy(&value, d + 2, sizeof(value));
    if (d[1] & 0x80)
        memcpy((uint8_t *)s->in.shared + at % 252, &value, sizeof(value));
    else
        memcpy(s->in.data + (s->in.own + at) % SIZE, &value, sizeof(value));
}

static void memory(const uint8_t *data, size_t size)
{
    static uint8_t bytes[1000];
    struct iovec iov = {bytes, sizeof(bytes)};
    struct ring_stream s;
    struct errbuf err;
    const uint8_t *behind;
    size_t len;
    bool ring;
    int fd = ring_create(SIZE, &err);

    memset(&s, 0, sizeof(s));
    if (fd < 0 || ring_stream_attach(&s, fd, fd, 0, &err) < 0)
        abort();
    close(fd);
    for (; size >= 6; data += 6, size -= 6) {
        ring_stream_write(&s, &iov, 1, NULL, NULL, &ring);
        scribble(&s, data);
        if (ring_stream_look(&s, &behind, &len) && data[0] % 2) {
            if (len > RING_STREAM_PIECE)
                abort();
            ring_stream_drop(&s, &ring);
        }
        if (ring_stream_peek(&s, &len) && data[1] % 2) {
            if (len > RING_STREAM_PIECE)
                abort();
            ring_stream_pass(&s, 1 + data[1] % len, &ring);
        }
        if (ring_stream_read(&s, &iov, 1, &ring) > (ssize_t)sizeof(bytes))
            abort();
        ring_stream_sleep(&s, true);
        ring_stream_awake(&s);
    }
    ring_detach(&s.in);
    ring_detach(&s.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        memory(data + 1, size - 1);
    else
        words(data + 1, size - 1, 1 + data[0] / 4, data[0] & 2);
    return 0;
}
