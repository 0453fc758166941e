/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A channel's bytes as frames over a message network (libfabric): order,
 * permission to send, and the frame header.  A pure engine: the caller moves
 * the frames.
 *
 * A frame's head, 24 bytes, big-endian:
 *
 *   u64 key      of the channel and direction, from the secret of its opening
 *   u32 number   of the channel at the receiver
 *   u32 sequence 0 for the first frame of a direction, then rising by one
 *   u32 length   of the bytes after the head
 *   u16 kind     enum impi_frame_kind
 *   u16 credits  how many more frames of data its sender will accept
 *
 * A receiver has as many buffers as it gave credits, and IMPI_FRAMES_SPARE for
 * frames that take none.  When a buffer is free again, its credit is returned
 * with the next frame in the other direction, or with a frame of its own when
 * half of all credits are owed: so no more than two of those can be on the way.
 *
 * Where both ends can (`lends` of chan_fabric.h), long pieces of the stream
 * stay in the sender's memory, and the receiver reads them from there.  A frame
 * LEND takes a credit.  It may carry bytes of the stream, and stands for the
 * piece that follows them; its last 20 bytes say where the piece is:
 *
 *   u64 address of the piece, as the sender's provider names it, u64 key
 *   u32 bytes, 1 to SF_FABRIC_LEND_MAX
 *
 * When pieces have been read, a frame READ says so, and the sender may use
 * their memory again: u32, how many more pieces, in the order in which they
 * were lent.
 */
#ifndef SF_IMPI_FRAMES_H
#define SF_IMPI_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/chan_fabric.h"

#define IMPI_FRAME_SIZE 24
/* The hello, two frames of credits, one frame for each lent piece. */
#define IMPI_FRAMES_SPARE (3 + SF_FABRIC_LENDS)
#define IMPI_LEND_SIZE 20
#define IMPI_READ_SIZE 4

enum impi_frame_kind {
    IMPI_FRAME_HELLO = 1, /* the first one, empty */
    IMPI_FRAME_DATA = 2,  /* takes a credit */
    IMPI_FRAME_CREDITS = 3,
    IMPI_FRAME_LEND = 4, /* takes a credit */
    IMPI_FRAME_READ = 5
};

struct impi_lend {
    uint64_t address, key;
    uint32_t length;
};

struct impi_frame {
    uint64_t key;
    uint32_t number, sequence, length;
    uint16_t kind, credits;
};

struct impi_frames {
    uint64_t key_out, key_in;
    uint32_t number_out;
    uint32_t sequence_out, sequence_in; /* of the next one */
    uint32_t may_send, may_come;        /* frames of data */
    uint32_t owed;                      /* to the peer, see above */
    uint32_t window;                    /* credits that we gave it */
    uint32_t window_out;                /* credits that it gave us */
    uint32_t lends_out, lends_in;       /* pieces lent at a time, at most */
    uint32_t lent, borrowed;            /* pieces now lent to it, by it */
    bool met;                           /* its hello has arrived */
};

/* Start, with both ends as agreed (chan_fabric.h). */
void impi_frames_init(struct impi_frames *f, const struct impi_fabric_end *own,
                      const struct impi_fabric_end *peer, uint64_t key_out,
                      uint64_t key_in);

/* Make the head of the next frame, which len bytes follow.  Data and pieces
 * need a credit (may_send > 0), a piece also impi_frames_may_lend(). */
void impi_frames_put(struct impi_frames *f, uint8_t head[IMPI_FRAME_SIZE],
                     enum impi_frame_kind kind, size_t len);

/* Decode a frame of `size` bytes.  False if it is not one. */
bool impi_frame_decode(struct impi_frame *frame, const void *data, size_t size);

/* Is a decoded frame whose key is key_in the next one?  The network may report
 * a short frame before a long one that was sent earlier.  1: it is; 0: keep it
 * until it is; -1 with errno EPROTO: it is older than the next one, or further
 * ahead than the peer has credits for. */
int impi_frames_is_next(const struct impi_frames *f,
                        const struct impi_frame *frame, struct errbuf *err);

/* Take the next frame.  0, or -1 with errno EPROTO: the peer broke the rules,
 * for example by sending more data than it has credits for. */
int impi_frames_take(struct impi_frames *f, const struct impi_frame *frame,
                     struct errbuf *err);

/* True if one more piece may be lent to the peer. */
bool impi_frames_may_lend(const struct impi_frames *f);
/* Encode the end of a LEND. */
void impi_lend_encode(uint8_t data[IMPI_LEND_SIZE], const struct impi_lend *l);
/* Decode it from the len bytes after the head, after impi_frames_take().  How
 * many of them belong to the stream, or -1 with errno EPROTO: an impossible
 * piece. */
int impi_lend_decode(struct impi_lend *l, const uint8_t *data, size_t len,
                     struct errbuf *err);
/* n pieces that the peer has lent have been read: encode what follows the head
 * of the next READ. */
void impi_frames_read(struct impi_frames *f, uint8_t data[IMPI_READ_SIZE],
                      uint32_t n);
/* Decode the peer's READ, after impi_frames_take(): how many of our pieces it
 * returns, or -1 with errno EPROTO: more than it was lent. */
int impi_frames_returned(struct impi_frames *f,
                         const uint8_t data[IMPI_READ_SIZE],
                         struct errbuf *err);

/* The buffer of a frame of data or of a piece is free again. */
void impi_frames_freed(struct impi_frames *f);
/* True if so many credits are owed that a frame of their own is due. */
bool impi_frames_owes(const struct impi_frames *f);

#endif
