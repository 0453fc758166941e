/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A channel's bytes as frames over a network of messages (libfabric):
 * order, who may send, and what a frame's head says.  A pure engine: the
 * caller moves the frames.
 *
 * A frame's head, 24 bytes, big-endian:
 *
 *   u64 key      of the channel and direction, from the secret of its opening
 *   u32 number   of the channel at the receiver
 *   u32 sequence 0 for the first frame of a direction, then one more each
 *   u32 length   of the bytes behind the head
 *   u16 kind     enum impi_frame_kind
 *   u16 credits  that many more frames of data may be sent to its sender
 *
 * A receiver has as many buffers as it gave credits, and IMPI_FRAMES_SPARE for
 * frames that take none.  It gives a credit back when the buffer is free again,
 * with the next frame that goes the other way, or with one of its own when half
 * of all are owed: so no more than two of those can be on the way.
 *
 * Where both ends can (`lends` of chan_fabric.h), long pieces of the stream
 * stay in the sender's memory, and the receiver reads them there.  A frame LEND
 * takes a credit.  It has bytes of the stream, or none, and stands for the
 * piece that comes behind them; the last 20 of its bytes say where that is:
 *
 *   u64 address of the piece, as the sender's provider names it, u64 key
 *   u32 bytes, 1 to SF_FABRIC_LEND_MAX
 *
 * When the piece has been read, a frame READ says so, and the sender may use
 * its memory again: u32, so many more pieces, in the order in which they were
 * lent.
 */
#ifndef SF_IMPI_FRAMES_H
#define SF_IMPI_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/chan_fabric.h"

#define IMPI_FRAME_SIZE 24
/* The hello, two of credits, one for each piece that is lent. */
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
    uint32_t window;                    /* that we gave it */
    uint32_t window_out;                /* that it gave us */
    uint32_t lends_out, lends_in;       /* pieces lent at a time, at most */
    uint32_t lent, borrowed;            /* that are: to the peer, by it */
    bool met;                           /* its hello has come */
};

/* Begin, both ends as agreed (chan_fabric.h). */
void impi_frames_init(struct impi_frames *f, const struct impi_fabric_end *own,
                      const struct impi_fabric_end *peer, uint64_t key_out,
                      uint64_t key_in);

/* The head of the next frame, with len bytes behind it; for data and pieces
 * there must be a credit (may_send > 0), for a piece impi_frames_may_lend(). */
void impi_frames_put(struct impi_frames *f, uint8_t head[IMPI_FRAME_SIZE],
                     enum impi_frame_kind kind, size_t len);

/* What a frame of `size` bytes says.  False: it is none. */
bool impi_frame_decode(struct impi_frame *frame, const void *data, size_t size);

/* Is a decoded frame whose key is key_in the next one?  The network may say of
 * a short one that it has come before it says so of a long one that was sent
 * earlier.  1: it is; 0: keep it until then; -1 with errno EPROTO: it is older
 * than that, or further ahead than the peer has credits for. */
int impi_frames_is_next(const struct impi_frames *f,
                        const struct impi_frame *frame, struct errbuf *err);

/* Take the next one.  0, or -1 with errno EPROTO: the peer has left the rules,
 * more data than it has credits for included. */
int impi_frames_take(struct impi_frames *f, const struct impi_frame *frame,
                     struct errbuf *err);

/* One more piece may be lent to the peer. */
bool impi_frames_may_lend(const struct impi_frames *f);
/* What is at the end of LEND. */
void impi_lend_encode(uint8_t data[IMPI_LEND_SIZE], const struct impi_lend *l);
/* After impi_frames_take(), of the len bytes behind the head.  How many of them
 * are the stream's, or -1 with errno EPROTO: an impossible piece. */
int impi_lend_decode(struct impi_lend *l, const uint8_t *data, size_t len,
                     struct errbuf *err);
/* n pieces that the peer has lent are read: what is behind the head of the next
 * READ. */
void impi_frames_read(struct impi_frames *f, uint8_t data[IMPI_READ_SIZE],
                      uint32_t n);
/* The peer's READ, after impi_frames_take(): how many of ours, or -1 with errno
 * EPROTO: more than it was lent. */
int impi_frames_returned(struct impi_frames *f,
                         const uint8_t data[IMPI_READ_SIZE],
                         struct errbuf *err);

/* The buffer of a frame of data or of a piece is free again. */
void impi_frames_freed(struct impi_frames *f);
/* So much is owed that a frame of its own is due. */
bool impi_frames_owes(const struct impi_frames *f);

#endif
