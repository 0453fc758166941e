/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The byte side of a channel (p2p.h makes it): what to write next and where
 * the next bytes read shall go.  Contiguous native data are written from and
 * read into the users' buffers; small ones pass one staging buffer, so that
 * one read takes several packets.  Data that a callback moves (request.h) pass
 * a buffer, too, unless the connection has memory of its own that they can go
 * to and come from.
 *
 * After a call that returned -1 the channel has failed: its requests are done
 * with IMPI_ERR_PEER, impi_channel_error() says why; close the connection.
 */
#ifndef SF_IMPI_CHANNEL_H
#define SF_IMPI_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "impi/p2p.h"

#define IMPI_TX_IOV 16 /* what impi_channel_tx() needs to fill a write */
#define IMPI_RX_IOV 2
/* With so many it gives the places of data in pieces one by one, as does
 * impi_channel_rx(): the most that Linux takes (UIO_MAXIOV). */
#define IMPI_PIECES_IOV 1024

/* Bytes to write now: fills iov[0..max), returns how many entries, 0 when
 * there is nothing.  Not more than about 4 MB at a time.  Calling it again
 * before tx_done gives the same bytes, or more. */
int impi_channel_tx(struct impi_channel *channel, struct iovec *iov, int max);
/* The same for a connection that puts bytes into memory of its own: data that a
 * callback moves are an entry without an address, one at most.  They are got
 * by impi_channel_fetch(), as many as are then written. */
int impi_channel_tx_apart(struct impi_channel *channel, struct iovec *iov,
                          int max);
/* The next n bytes of the entry without an address to `to`. */
void impi_channel_fetch(struct impi_channel *channel, void *to, size_t n);
/* The first n bytes of them are written. */
void impi_channel_tx_done(struct impi_channel *channel, size_t n);
/* Cheap: would impi_channel_tx() give something? */
bool impi_channel_tx_ready(const struct impi_channel *channel);

/* Cheap: does this process wait for bytes of the channel: a receive, a long
 * message, an answer to a send?  Others may come nevertheless. */
bool impi_channel_awaited(const struct impi_channel *channel);

/* Where the next bytes from the connection go; at least one entry.  No other
 * call of the engine may come between it and its rx_done. */
int impi_channel_rx(struct impi_channel *channel, struct iovec *iov, int max);
/* n bytes have been read there.  n = 0: end of file; fine after the peer's
 * FINI, else the peer is lost.  Returns 0, or -1 with errno: EPROTO the peer
 * broke the protocol, ECONNRESET end of file, ENOMEM. */
int impi_channel_rx_done(struct impi_channel *channel, size_t n);

/* So many of the next bytes may be given from where they lie now, which saves a
 * copy; 0: read them as above. */
size_t impi_channel_rx_apart(const struct impi_channel *channel);
/* The next n of them are there.  They are read once; somebody else may be
 * writing to them. */
void impi_channel_give(struct impi_channel *channel, const void *data,
                       size_t n);

/* The next bytes come by another way, while the channel goes on: up to max of
 * them count as read, into memory of the receive *promised, which is not done
 * until impi_channel_kept() for each such call.  Returns the memory and *len;
 * or NULL: these have no lasting place, read them as above.  On a channel that
 * has failed, promises are void. */
void *impi_channel_promise(struct impi_channel *channel, size_t max,
                           size_t *len, struct impi_request **promised);
void impi_channel_kept(struct impi_channel *channel,
                       struct impi_request *promised);

/* The connection broke (reset ...): all that is open on it fails. */
void impi_channel_fail(struct impi_channel *channel, const char *why);
bool impi_channel_failed(const struct impi_channel *channel);
/* "rank 3: ..."; empty while nothing is wrong. */
const char *impi_channel_error(const struct impi_channel *channel);
/* The peer whose packet broke the protocol, by its world rank; IMPI_ANY_PEER:
 * the channel works, or ended otherwise. */
uint32_t impi_channel_culprit(const struct impi_channel *channel);

/* Shut down in order (3.8): after all that is queued, FINI.  From then on only
 * acknowledgements are sent; go on with tx and rx until finished. */
void impi_channel_fini(struct impi_channel *channel);
bool impi_channel_peer_fini(const struct impi_channel *channel);
/* FINI sent and received, nothing left to write: close the connection. */
bool impi_channel_finished(const struct impi_channel *channel);

/* Forget a finished or failed channel. */
void impi_channel_destroy(struct impi_channel *channel);

#endif
