/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of channels by libfabric: one endpoint for all, with buffers that
 * are registered and posted beforehand, and frames of impi/frames.h in them.
 * The library is found at run time; without it, or without a provider of those
 * that are wanted, there is no fabric, which is no error: channels are TCP.
 * doc/impi-fabric.md.  All calls want the lock.
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

/* Open it at the first call, for a process with that address (host's part).
 * False: there is none; fabric_why_not() says why, NULL when nobody wants
 * one. */
bool fabric_start(const struct netaddr *own);
const char *fabric_why_not(void);
/* The provider's name, once it is open. */
const char *fabric_name(void);
/* Nobody uses it any more. */
void fabric_stop(void);
/* In a child after fork: it is the parent's. */
void fabric_forget(void);

/* ---- one channel ---- */

/* Room for one more with these keys (impi/frames.h), and what to tell the peer
 * of it.  NULL: not to be had. */
struct fabric_peer *fabric_reserve(struct impi_fabric_end *own,
                                   uint64_t key_out, uint64_t key_in);
/* The peer's end is known: send it the hello.  0, or -1. */
int fabric_meet(struct fabric_peer *p, const struct impi_fabric_end *own,
                const struct impi_fabric_end *peer);
/* The peer's hello is here, and our own is on its way. */
bool fabric_met(const struct fabric_peer *p);
/* NULL is fine. */
void fabric_drop(struct fabric_peer *p);

/* Why frames can no longer come or go; NULL: all is well. */
const char *fabric_error(const struct fabric_peer *p);

/* Take what fits of iov[0..n).  Returns the bytes from the first one on that
 * the caller may forget, 0 for now; the next call begins behind those, with the
 * same bytes or more, in the same memory. */
size_t fabric_write(struct fabric_peer *p, const struct iovec *iov, int n);
/* The same for all of a short message as one frame, or 0. */
size_t fabric_put(struct fabric_peer *p, const void *head, size_t head_len,
                  const void *data, size_t len);
/* Nothing written is still in our memory. */
bool fabric_is_flushed(const struct fabric_peer *p);

/* Read into iov[0..n) what has come; returns the bytes, 0 when none are
 * here. */
size_t fabric_read(struct fabric_peer *p, const struct iovec *iov, int n);
/* Bytes of the frame that is read next, 0: none is here. */
size_t fabric_ready(const struct fabric_peer *p);
/* All of a frame of which nothing was read, aligned to 8; NULL: there is none
 * such.  It stays until fabric_taken(). */
const uint8_t *fabric_look(const struct fabric_peer *p, size_t *len);
void fabric_taken(struct fabric_peer *p);
/* A piece that the peer has lent comes behind the bytes that are next. */
bool fabric_lends(const struct fabric_peer *p);

/* Long pieces stay in the peer's memory until they are read there.  Bytes of
 * such a piece that is next in the stream; 0: it is none, or its bytes are to
 * be had by fabric_read() before long. */
size_t fabric_lent(const struct fabric_peer *p);
/* Read the next len of them, at most that many, to a place that lasts until
 * fabric_kept() gives the token back (not NULL); the stream goes on behind
 * them. */
void fabric_borrow(struct fabric_peer *p, void *to, size_t len, void *token);
/* There is no such place: what is left of them comes by fabric_read(). */
void fabric_stage(struct fabric_peer *p);
/* Bytes that fabric_borrow() asked for are here; NULL: none, or no more. */
void *fabric_kept(struct fabric_peer *p);

/* ---- memory of windows (doc/impi-rma.md) ---- */

/* Our memory, which peers who know the key may read and write without us, until
 * it is hidden; *address, *key: what they need to know.  NULL: not to be had.
 */
struct fabric_memory;
struct fabric_memory *fabric_expose(void *memory, size_t len, uint64_t *address,
                                    uint64_t *key);
/* NULL is fine. */
void fabric_hide(struct fabric_memory *m);

/* Can this peer's memory be read (put: written, and is it known when it has
 * been)? */
bool fabric_may_move(const struct fabric_peer *p, bool put);
/* Read len bytes of it, or write them, which stay where they are until
 * fabric_moved() gives the token back: then all are where they go.  False: not
 * to be had. */
bool fabric_move(struct fabric_peer *p, uint64_t address, uint64_t key,
                 void *own, size_t len, bool put, void *token);
/* NULL: none, or no more. */
void *fabric_moved(void);

/* ---- all of them ---- */

/* Ask for what has come and gone.  True when there was something. */
bool fabric_poll(void);
/* About to sleep in poll(): false when there is something to do by now. */
bool fabric_sleep(void);
/* What to poll() for, or -1: nothing tells; then sleep no longer than
 * FABRIC_NAP_MS at a time. */
#define FABRIC_NAP_MS 1
int fabric_fd(void);

/* How much went by it: of all peers there have been. */
struct fabric_counts {
    uint64_t frames_out, frames_in, bytes_out, bytes_in;
    uint64_t lent_out, reads; /* pieces of our memory, reads of the peers' */
    uint64_t staged;          /* of these reads, to memory of our own */
    uint64_t puts, gets;      /* of windows, without messages */
    uint64_t strangers;       /* frames of nobody */
};
void fabric_count(struct fabric_counts *out);

#endif
