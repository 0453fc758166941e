/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A byte stream both ways over two rings of base/ring.h: what is written as
 * one piece goes as one record if it is not too long, and may be read in any
 * pieces.  As with the rings themselves nothing of the peer's is believed.
 * The caller owns the memory and the bell.
 *
 * Of a short piece the first 128 bytes go as what differs from the one before
 * in words of 8 bytes: of a packet's header that is three or four of sixteen,
 * and a small message arrives in one cache line in place of four.  A record's
 * note (ring.h) is 0 for plain bytes; else bit 16, and bits 0 to 15 say which
 * words stand at its beginning.
 */
#ifndef SF_BASE_RING_STREAM_H
#define SF_BASE_RING_STREAM_H

#include <sys/uio.h>

#include "base/ring.h"

/* Longest record; the reader copies one while the next is written. */
#define RING_STREAM_PIECE (32u * 1024)
/* Longest piece whose head goes as a difference. */
#define RING_STREAM_SHORT 2048
#define RING_STREAM_WORDS 16

struct ring_stream {
    struct ring out;                      /* as producer */
    struct ring in;                       /* as consumer */
    uint64_t head_out[RING_STREAM_WORDS]; /* of the last short piece */
    uint64_t head_in[RING_STREAM_WORDS];
    /* Not read yet of the record that is being read: the end of head_in, then
     * bytes in the ring. */
    size_t head_left;
    const uint8_t *at;
    size_t left;
    size_t size;  /* of the record */
    bool reading; /* a record is */
    size_t freed; /* room was made that the writer has not been told of */
};

/* Attach and quicken both rings of an all-zero stream, for records as long as
 * it writes.  As ring_attach(); ring_detach() both afterwards in any case. */
int ring_stream_attach(struct ring_stream *s, int fd_out, int fd_in,
                       uint64_t salt, struct errbuf *err);

/* Puts the next n bytes of an entry without an address to `to`. */
typedef void ring_stream_fetch_f(void *arg, void *to, size_t n);

/* Write what fits of iov[0..n).  Returns the bytes taken, 0 when there is no
 * room or the ring is broken.  *ring: the bell must be rung.  Of an entry
 * without an address the bytes are fetched straight into the ring; `fetch` is
 * NULL where there is none. */
size_t ring_stream_write(struct ring_stream *s, const struct iovec *iov, int n,
                         ring_stream_fetch_f *fetch, void *arg, bool *ring);

/* Read into iov[0..n).  Returns the bytes; 0: none are here; -1 with errno
 * EPROTO: the peer left the rules.  *ring: the bell must be rung. */
ssize_t ring_stream_read(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring);

/* Write a head of 128 bytes and len bytes behind it, no longer than
 * RING_STREAM_SHORT together: as one record, or (false) not at all. */
bool ring_stream_put(struct ring_stream *s, const void *head, const void *data,
                     size_t len, bool *ring);

/* A record that ring_stream_put() could have made and of which nothing was
 * read: its head (private memory, good for words of 8), and what is behind
 * it, which the peer may still change.  NULL: none is here.  It stays for
 * ring_stream_read() unless ring_stream_drop() is next, with *ring as there. */
const uint8_t *ring_stream_look(struct ring_stream *s, const uint8_t **data,
                                size_t *len);
void ring_stream_drop(struct ring_stream *s, bool *ring);

/* Bytes to read that lie in one piece: where, and *len of them; they stay for
 * ring_stream_read() unless ring_stream_pass() is next, with *ring as there.
 * The peer may still change them.  NULL: none, or the next ones do not lie in
 * the ring. */
const uint8_t *ring_stream_peek(struct ring_stream *s, size_t *len);
/* n of them are read. */
void ring_stream_pass(struct ring_stream *s, size_t n, bool *ring);

/* Bytes that the next read has at least; 0 when none are here. */
size_t ring_stream_ready(struct ring_stream *s);

/* Cheap: is there something to read, or something wrong? */
bool ring_stream_has_news(struct ring_stream *s);

/* About to sleep; `blocked`: bytes wait for room.  False when there is
 * something to do by now.  ring_stream_awake() afterwards in any case. */
bool ring_stream_sleep(struct ring_stream *s, bool blocked);
void ring_stream_awake(struct ring_stream *s);

#endif
