/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A byte stream both ways over two rings of base/ring.h: what is written as
 * one piece goes as one record if it is not too long, and may be read in any
 * pieces.  As with the rings themselves nothing of the peer's is believed.
 * The caller attaches and detaches the rings, and owns the bell.
 */
#ifndef SF_BASE_RING_STREAM_H
#define SF_BASE_RING_STREAM_H

#include <sys/uio.h>

#include "base/ring.h"

/* Longest record; the reader copies one while the next is written. */
#define RING_STREAM_PIECE (32u * 1024)

struct ring_stream {
    struct ring out;   /* attached as producer, records of RING_STREAM_PIECE */
    struct ring in;    /* attached as consumer, likewise */
    const uint8_t *at; /* what is left of the record being read */
    size_t left;
    bool freed; /* room was made that the writer has not been told of */
};

/* Write what fits of iov[0..n).  Returns the bytes taken, 0 when there is no
 * room or the ring is broken.  *ring: the bell must be rung. */
size_t ring_stream_write(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring);

/* Read into iov[0..n).  Returns the bytes; 0: none are here; -1 with errno
 * EPROTO: the peer left the rules.  *ring: the bell must be rung. */
ssize_t ring_stream_read(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring);

/* Bytes that the next read has at least; 0 when none are here.  *ring as for
 * the read. */
size_t ring_stream_ready(struct ring_stream *s, bool *ring);

/* About to sleep; `blocked`: bytes wait for room.  False when there is
 * something to do by now.  ring_stream_awake() afterwards in any case. */
bool ring_stream_sleep(struct ring_stream *s, bool blocked);
void ring_stream_awake(struct ring_stream *s);

#endif
