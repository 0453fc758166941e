/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries the bytes of channels over libfabric (doc/impi-fabric.md).  One
 * endpoint serves all peers; its buffers are registered and posted in advance,
 * and hold frames of impi/frames.h.  The library is looked up at run time.
 * Without it, or without any of the requested providers, there is no fabric.
 * That is not an error: channels then use TCP.
 *
 * The caller of any function here holds the lock.
 */
#ifndef LIBIMPI_FABRIC_H
#define LIBIMPI_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/errbuf.h"
#include "base/netaddr.h"
#include "impi/chan_fabric.h"

struct fabric_peer;

/* Open the fabric on the first call, for a process with this address (the host
 * part counts).  False if there is none; fabric_why_not() then gives the
 * reason, or NULL if none was requested. */
bool fabric_start(const struct netaddr *own);
const char *fabric_why_not(void);
/* The provider's name, once the fabric is open. */
const char *fabric_name(void);
/* The file of libfabric, then; *had: the process had it before. */
const char *fabric_library(bool *had);
/* Our own world has none, for this reason, which is told if one was requested
 * and none opens for another world. */
void fabric_refuse(const char *why);
/* Close the fabric; it is no longer in use. */
void fabric_stop(void);
/* In a child after fork: leave the fabric to the parent. */
void fabric_forget(void);

/* ---- one channel ---- */

/* Make room for one more channel with these keys (impi/frames.h) and fill in
 * *own, which the peer is to be told.  NULL if that is not possible. */
struct fabric_peer *fabric_reserve(struct impi_fabric_end *own,
                                   uint64_t key_out, uint64_t key_in);
/* The peer's end is now known: send it the hello.  Returns 0 or -1. */
int fabric_meet(struct fabric_peer *p, const struct impi_fabric_end *own,
                const struct impi_fabric_end *peer);
/* True once the peer's hello has arrived and our own is on its way. */
bool fabric_met(const struct fabric_peer *p);
/* NULL is fine. */
void fabric_drop(struct fabric_peer *p);

/* Why frames can no longer be sent or received; NULL if they can. */
const char *fabric_error(const struct fabric_peer *p);

/* Accept as much of iov[0..n) as fits.  Returns how many bytes, counted from
 * the first, the caller may forget; 0 if none for now.  The next call must
 * begin after those, with the same bytes or more, in the same memory. */
size_t fabric_write(struct fabric_peer *p, const struct iovec *iov, int n);
/* The same for a whole short message in one frame; 0 if it cannot be sent so
 * now. */
size_t fabric_put(struct fabric_peer *p, const void *head, size_t head_len,
                  const void *data, size_t len);
/* True if nothing that was written is still in our memory. */
bool fabric_is_flushed(const struct fabric_peer *p);

/* Read what has arrived into iov[0..n).  Returns the number of bytes, 0 if
 * there are none. */
size_t fabric_read(struct fabric_peer *p, const struct iovec *iov, int n);
/* Size in bytes of the frame to be read next; 0 if none has arrived. */
size_t fabric_ready(const struct fabric_peer *p);
/* The whole of the next frame, aligned to 8, if nothing of it has been read
 * yet; else NULL.  Valid until fabric_taken(). */
const uint8_t *fabric_look(const struct fabric_peer *p, size_t *len);
void fabric_taken(struct fabric_peer *p);
/* True if the bytes to be read next are followed by a piece that the peer has
 * lent. */
bool fabric_lends(const struct fabric_peer *p);

/* Long pieces stay in the peer's memory until they are read from there.  If
 * such a piece is next in the stream, its size in bytes; 0 if none is, or if
 * fabric_read() will soon deliver its bytes. */
size_t fabric_lent(const struct fabric_peer *p);
/* Read the next len bytes of that piece (at most its size) into `to`, which
 * must stay valid until fabric_kept() returns the token (not NULL).  The stream
 * goes on after these bytes. */
void fabric_borrow(struct fabric_peer *p, void *to, size_t len, void *token);
/* There is no such place: let fabric_read() deliver the rest of the piece. */
void fabric_stage(struct fabric_peer *p);
/* The token of a fabric_borrow() that is complete; NULL if there are no more.
 */
void *fabric_kept(struct fabric_peer *p);

/* ---- memory of windows (doc/impi-rma.md) ---- */

/* Let peers that know the key read and write this memory without our help,
 * until fabric_hide().  *address and *key are set to what they need to know.
 * NULL if that is not possible. */
struct fabric_memory;
struct fabric_memory *fabric_expose(void *memory, size_t len, uint64_t *address,
                                    uint64_t *key);
/* NULL is fine. */
void fabric_hide(struct fabric_memory *m);

/* Can this peer's memory be read?  With `put`: can it be written, and do we
 * learn when it has been? */
bool fabric_may_move(const struct fabric_peer *p, bool put);
/* Read len bytes of the peer's memory into `own`, or (put) write them there.
 * `own` must stay valid until fabric_moved() returns the token; then all bytes
 * have reached their destination.  False if that is not possible. */
bool fabric_move(struct fabric_peer *p, uint64_t address, uint64_t key,
                 void *own, size_t len, bool put, void *token);
/* The token of a fabric_move() that is complete; NULL if there are no more. */
void *fabric_moved(void);

/* ---- all of them ---- */

/* Look for frames that have arrived or have been sent.  True if there were
 * any. */
bool fabric_poll(void);
/* True if what arrived before is still to be taken. */
bool fabric_has_news(void);
/* Prepare to sleep in poll(); false if there is something to do after all. */
bool fabric_sleep(void);
/* The descriptor to poll(), or -1 if the provider has none; then sleep no
 * longer than FABRIC_NAP_MS at a time. */
#define FABRIC_NAP_MS 1
int fabric_fd(void);

/* Traffic so far, summed over all peers, past and present. */
struct fabric_counts {
    uint64_t frames_out, frames_in, bytes_out, bytes_in;
    uint64_t lent_out, reads; /* pieces of our memory; reads of peers' memory */
    uint64_t staged;          /* those of the reads that went to our buffers */
    uint64_t puts, gets;      /* of windows, without messages */
    uint64_t strangers;       /* frames that belong to no channel */
};
void fabric_count(struct fabric_counts *out);

#endif
