/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A packet ring in shared memory: one producer, one consumer, either of which
 * may be another process that lies.  Whoever made the memory fd maps it with
 * ring_attach() for one side and hands the fd to the other process, which
 * does the same for the other side.
 *
 * No side believes the other: each keeps its own index in private memory and
 * reads the other's once per look; an index or a length that cannot be makes
 * the ring `broken` for good (EPROTO), and a peer that scribbles over what it
 * has sent changes only what it has sent.  Hence the consumer's rule: bytes
 * behind ring_peek() may change while they are looked at; read each once, or
 * copy first and check the copy.
 *
 * Sleeping: rings carry no fd.  A side that wants to sleep says so with
 * ring_sleep() or ring_sleep_full() and polls its end of a socket pair that
 * both processes share (the "bell"); the other side rings it when
 * ring_must_wake() or ring_must_wake_full() says so.  It is a socket, not an
 * eventfd, because a peer can make the eventfd that it shares blocking and
 * full, while MSG_DONTWAIT is nobody else's; and because a socket also tells
 * when the peer is gone.
 */
#ifndef SF_BASE_RING_H
#define SF_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct ring_shared;

#define RING_NAME "slurm-fabric-ring" /* of its memfd */
/* A label lies in the memory, here, and is no part of what is sent. */
#define RING_LABEL_SIZE 32
#define RING_LABEL_AT 256

enum ring_side { RING_PRODUCER, RING_CONSUMER };

/* One side of a ring.  Members are private to ring.c, but for reading
 * `broken`. */
struct ring {
    struct ring_shared *shared;
    uint8_t *data;     /* size bytes, mapped twice in a row */
    uint64_t size;     /* power of two */
    uint64_t own;      /* our index: producer's tail, consumer's head */
    uint64_t peer;     /* the other's, as last seen */
    uint64_t reserved; /* producer: room that ring_reserve() gave */
    uint64_t next;     /* consumer: index behind the record of ring_peek() */
    size_t max;        /* longest record */
    enum ring_side side;
    bool quick; /* see ring_quicken() */
    uint64_t salt;
    bool broken; /* the peer left the rules; only ring_detach() is left */
    bool mapped; /* by us: ring_detach() unmaps */
};

/* Memory for a ring of `size` bytes (a power of two of pages, at most
 * SF_RING_SIZE_MAX), sealed so that nobody can shrink it.  Returns the
 * descriptor (close-on-exec), or -1 with errno. */
int ring_create(size_t size, struct errbuf *err);

/* Map the ring behind fd (kept by the caller, may be closed afterwards) for
 * one side.  Records are at most `max` bytes; both sides should say the same,
 * at most half the size.  0; or -1 with errno EINVAL: not made by
 * ring_create() (size, seals), ENOMEM. */
int ring_attach(struct ring *r, int fd, enum ring_side side, size_t max,
                struct errbuf *err);

/* The other side of the same mapping, for two threads of one process.  It
 * lives as long as `of`. */
void ring_attach_thread(struct ring *r, const struct ring *of,
                        enum ring_side side);

/* On both sides alike, before anything is in the ring: records begin at a
 * cache line and tell by themselves that they are there, not by an index
 * elsewhere.  So a small one reaches the consumer with one transfer between
 * processors in place of two, but takes 64 bytes at least.  salt: a random
 * number that what is sent does not depend on; by it old bytes are told from a
 * new record, wrongly once in 2^64. */
void ring_quicken(struct ring *r, uint64_t salt);

/* Write it, once, before anybody else has the memory. */
void ring_label(struct ring *r, const uint8_t label[RING_LABEL_SIZE]);

/* Unmap.  An all-zero ring is fine. */
void ring_detach(struct ring *r);

/* ---- producer ---- */

/* Room for a record of up to len bytes, 16-byte aligned; valid until
 * ring_commit() or the next ring_reserve().  NULL with errno EAGAIN: full,
 * EMSGSIZE: longer than max, EPROTO: broken. */
void *ring_reserve(struct ring *r, size_t len);

/* Make the reserved record, of which len bytes (at most what was reserved)
 * are used, visible to the consumer. */
void ring_commit(struct ring *r, size_t len);

/* After one ring_commit() or several: must the bell be rung? */
bool ring_must_wake(struct ring *r);

/* About to sleep because the ring is full for a record of len bytes: false
 * when there is room by now, do not sleep.  ring_awake() afterwards. */
bool ring_sleep_full(struct ring *r, size_t len);

/* ---- consumer ---- */

/* The oldest record; it stays until ring_consume().  NULL with errno EAGAIN:
 * empty, EPROTO: broken. */
const void *ring_peek(struct ring *r, size_t *len);
void ring_consume(struct ring *r);
/* The same in two steps, to look at several records at once: after ring_skip()
 * ring_peek() returns the next record, and all of them stay until
 * ring_release(). */
void ring_skip(struct ring *r);
void ring_release(struct ring *r);

/* After one ring_consume() or several: must the bell be rung? */
bool ring_must_wake_full(struct ring *r);

/* To be called before each look at the ring, when all that was looked at is
 * released: may a record of len bytes have found no room since the last call?
 * It may be wrong when it says yes, never when it says no.  All zero to begin
 * with. */
struct ring_crowd {
    uint64_t seen, since, last;
};
bool ring_was_full(const struct ring *r, struct ring_crowd *c, size_t len);

/* About to sleep because the ring is empty: false when there is something by
 * now, do not sleep.  ring_awake() afterwards. */
bool ring_sleep(struct ring *r);

/* ---- both ---- */

/* Awake again after ring_sleep() or ring_sleep_full(). */
void ring_awake(struct ring *r);

/* Ring the bell: never blocks, and a bell that is full of rings is enough. */
void ring_bell(int bell);
/* Take one ring of the bell, for callers that are notified again while there
 * are more.  0, or -1 when the peer is gone (ECONNRESET). */
int ring_bell_take(int bell);
/* The same for all rings, a bounded number at a time. */
int ring_bell_clear(int bell);

#endif
