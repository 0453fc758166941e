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
 */
#ifndef SF_IMPI_FRAMES_H
#define SF_IMPI_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/chan_fabric.h"

#define IMPI_FRAME_SIZE 24
#define IMPI_FRAMES_SPARE 3 /* the hello and two of credits */

enum impi_frame_kind {
    IMPI_FRAME_HELLO = 1, /* the first one, empty */
    IMPI_FRAME_DATA = 2,  /* takes a credit */
    IMPI_FRAME_CREDITS = 3
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
    bool met;                           /* its hello has come */
};

/* Begin, both ends as agreed (chan_fabric.h). */
void impi_frames_init(struct impi_frames *f, const struct impi_fabric_end *own,
                      const struct impi_fabric_end *peer, uint64_t key_out,
                      uint64_t key_in);

/* The head of the next frame, with len bytes behind it; for data there must be
 * a credit (may_send > 0). */
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

/* The buffer of a frame of data is free again. */
void impi_frames_freed(struct impi_frames *f);
/* So much is owed that a frame of its own is due. */
bool impi_frames_owes(const struct impi_frames *f);

#endif
