/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections between this process and those of other clients: one TCP
 * connection per pair, opened on first use with impi/chan_open.h, closed by
 * FINI.  All calls but conns_listen() want the lock.  A connection that breaks
 * ends the job.
 */
#ifndef LIBIMPI_CONNS_H
#define LIBIMPI_CONNS_H

#include "base/errbuf.h"
#include "impi/p2p.h"

/* Listen at addr (an IPv4 or IPv6 address in 16 bytes) in [lo, hi], any port
 * for 0, 0.  Returns the port, or -1. */
int conns_listen(const uint8_t addr[16], unsigned lo, unsigned hi,
                 struct errbuf *err);

/* From here on impi_be.world and .p2p are used.  0, or -1 no memory. */
int conns_start(struct errbuf *err);

/* Seconds after which a peer that says nothing counts as lost; after
 * conns_start(). */
int conns_silence(void);

/* There are more peers now in impi_be.world.  0, or -1 no memory. */
int conns_grow(void);

/* The connection to this peer, if there is one, is lost: the peer has broken a
 * protocol above it. */
void conns_lose(uint32_t peer, const char *why);

/* The connection to this peer, if there is one, ends when all is written and
 * the peer ends it, too.  Has it? */
void conns_part(uint32_t peer);
bool conns_has_parted(uint32_t peer);

/* Only hosts are connected: all packets for other clients take this socket
 * to impid.  0, or -1 no memory. */
int conns_use_relay(int fd);

/* Open a channel to peer (struct impi_p2p_ops' connect). */
void conns_connect(void *arg, uint32_t peer);

/* Move what can be moved without waiting.  True when anything moved. */
bool conns_progress(void);

/* The same, for one who comes rarely: leaves out nothing for a later round,
 * and counts as none. */
bool conns_progress_whole(void);

/* How often conns_progress() ran, or could be left out.  Without the lock. */
unsigned conns_rounds(void);

/* ---- short messages, one by one (conns.c) ---- */

/* Longest one. */
#define CONNS_FAST_MAX 1920

/* May a round be left out?  Not always, so that nobody starves. */
bool conns_skip_round(void);

/* Write a message of at most CONNS_FAST_MAX bytes now.  NONE: it cannot be
 * written so, and nothing has changed.  PART: *part bytes are written; the
 * caller starts the same send with the engine and calls conns_put_part(). */
enum conns_put { CONNS_PUT_NONE, CONNS_PUT_PART, CONNS_PUT_ALL };
enum conns_put conns_put(const struct impi_send *args, size_t *part);
void conns_put_part(uint32_t peer, size_t part);

/* Receive into want->buf, past all queues, what comes from want->peer next, or
 * (IMPI_ANY_PEER) from anybody.  False: it is not here (when `wait`: for some
 * microseconds), or cannot be received so. */
bool conns_take(const struct impi_recv *want, bool wait,
                struct impi_status *status);

/* No system call is needed to look for data. */
bool conns_is_quick(void);
/* Then: look many times, until something has come. */
void conns_look(void);

/* About to poll() for conns_fds(): false when there is something to do by now.
 * Before conns_fds(), and under the same hold of the lock. */
bool conns_sleep(void);

/* What to poll() for.  Fills at most max, returns how many. */
struct pollfd;
unsigned conns_fds(struct pollfd *fds, unsigned max);

/* Look only at connections that somebody waits for.  For a few rounds:
 * new connections and dead peers are not seen.  True when anything moved. */
bool conns_progress_awaited(void);

/* Write what is to be written; if there is nothing, wait until something can be
 * moved, at most ms, and move it.  One look of the kernel at all connections.
 * True when anything moved. */
bool conns_write_or_wait(int ms);

/* Give the lock up and wait until something can be moved, at most ms. */
void conns_wait(int ms);

/* FINI on every channel, wait for the peers', close everything. */
void conns_finish(void);

/* In a child after fork: let go of the descriptors, tell nobody. */
void conns_forget(void);

/* What carries the messages of this peer, for a table: "TCP", "memory", a
 * provider of libfabric; "-": there were none. */
const char *conns_way(uint32_t peer);

/* The peer on libfabric, if its connection is open and uses that; else NULL. */
struct fabric_peer;
struct fabric_peer *conns_fabric(uint32_t peer);

/* Connections are being opened. */
bool conns_opening(void);

#endif
