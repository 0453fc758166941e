/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point messages between the processes of different clients, as
 * IMPI chapter 3 has them: packets of at most maxdatalen bytes, flow control
 * per process pair, short and long protocol, matching by context id, source
 * and tag.  One struct impi_p2p per process holds everything.
 *
 * A pure engine: no descriptors, clock, threads or MPI.  Bytes move through
 * channel.h; calls below only change state.  The caller's progress loop is
 *
 *   impi_p2p_isend(...);
 *   while (!req->done) {
 *       for each channel:  n = impi_channel_tx(ch, iov, IMPI_TX_IOV);
 *                          if (n) sendmsg, impi_channel_tx_done(ch, bytes);
 *                          n = impi_channel_rx(ch, iov, IMPI_RX_IOV);
 *                          recvmsg, impi_channel_rx_done(ch, bytes);
 *   }
 *
 * Peers are named by their world rank.  Communicator ranks are opaque to the
 * engine: a receive from a given source names both the peer (which is what is
 * matched) and the rank (which the status gives back).
 */
#ifndef SF_IMPI_P2P_H
#define SF_IMPI_P2P_H

#include <sys/uio.h>

#include "base/errbuf.h"
#include "impi/request.h"
#include "impi/world.h"

struct impi_p2p;
struct impi_channel;
struct impi_packet;

/* Whose is a receive that waits in the native library as well? */
enum impi_claim {
    IMPI_CLAIM_OURS,   /* the native one has been cancelled */
    IMPI_CLAIM_NATIVE, /* the native library was faster */
    IMPI_CLAIM_LATER,  /* the caller cannot ask now: impi_p2p_settle() */
};

/* Called from inside the engine's functions; none may call back into it
 * except where said. */
struct impi_p2p_ops {
    /* A receive posted with `shared` (MPI_ANY_SOURCE that is also posted to
     * the native library) is about to take a message; nothing is written yet.
     * OURS: it takes it.  NATIVE: the engine unlinks the request and forgets
     * it (not done, state IMPI_REQ_IDLE), and matching goes on.  LATER: the
     * message is kept, and what comes behind it on its way, until
     * impi_p2p_settle(). */
    enum impi_claim (*claim)(void *arg, struct impi_request *recv);
    /* There is something to send to this peer and it has no channel: open
     * one, then impi_p2p_attach().  Called once per peer; may attach at
     * once. */
    void (*connect)(void *arg, uint32_t peer);
    /* For a trace, else NULL: this packet goes to the peer (the last packet of
     * a channel: to one of the peers that share it) or has come from it.  Each
     * once, in the order of the channel. */
    void (*packet)(void *arg, uint32_t peer, bool in,
                   const struct impi_packet *pk);
    /* NULL, or: this packet of the peer is one of the first generation
     * (impi_packet_is_old()).  For each such packet. */
    void (*old)(void *arg, uint32_t peer);
};

/* world, ops: borrowed for the engine's life.  rank: own world rank.  Returns
 * NULL with errno ENOMEM or EINVAL. */
struct impi_p2p *impi_p2p_create(const struct impi_world *world, uint32_t rank,
                                 const struct impi_p2p_ops *ops, void *arg);
/* Frees the engine and all its channels; requests that are not done are
 * forgotten. */
void impi_p2p_destroy(struct impi_p2p *p2p);

/* More processes have come (of another world, impi/couple.h): those of `world`
 * from the former number on.  0, or -1 ENOMEM with nothing changed. */
int impi_p2p_grow(struct impi_p2p *p2p, const struct impi_world *world);

/* Unexpected messages are acknowledged at once (so that the sender goes on)
 * while those of one pair take less memory than this (small ones four times
 * as much); beyond it only when they are received.  The memory of a pair is
 * bounded by this and hiwater x maxdatalen.  0: the strict reading of the
 * standard, in which a receiver that waits for a later message than the
 * hiwater-th waits for ever.  Default: SF_IMPI_UNEXPECTED_MAX. */
void impi_p2p_set_unexpected_max(struct impi_p2p *p2p, size_t bytes);

/* ---- channels (channel.h moves their bytes) ---- */

/* Make a channel to `peer` over a connection that is open and proved, and
 * attach the peer to it.  NULL with errno ENOMEM, or EEXIST (the peer has
 * one). */
struct impi_channel *impi_p2p_attach(struct impi_p2p *p2p, uint32_t peer);
/* Let another peer share it (all processes behind one host). 0, -1 EEXIST. */
int impi_p2p_attach_more(struct impi_p2p *p2p, struct impi_channel *channel,
                         uint32_t peer);
/* The peer's channel or NULL. */
struct impi_channel *impi_p2p_channel(struct impi_p2p *p2p, uint32_t peer);

/* A peer without a channel can not be reached: as impi_channel_fail(). */
void impi_p2p_peer_fail(struct impi_p2p *p2p, uint32_t peer, const char *why);
/* Receives of this context from anybody, which wait for nobody else any more,
 * fail; not those that the native library has, too. */
void impi_p2p_fail_any(struct impi_p2p *p2p, uint64_t cid);
/* Why the peer is lost, or NULL while it is not. */
const char *impi_p2p_peer_error(const struct impi_p2p *p2p, uint32_t peer);

/* ---- messages ---- */

struct impi_send {
    uint32_t peer; /* world rank of the destination */
    int32_t rank;  /* own rank in the communicator, sent along */
    int32_t tag;
    uint64_t cid;
    bool sync;              /* done only when the receive has matched */
    uint64_t count;         /* for the quality-of-service field; 0 is fine */
    struct impi_buffer buf; /* buf.len = length of the message */
};

struct impi_recv {
    uint32_t peer; /* world rank of the source, IMPI_ANY_PEER */
    int32_t rank;  /* its rank in the communicator (ANY_PEER: not used) */
    int32_t tag;   /* or IMPI_ANY_TAG */
    uint64_t cid;
    bool shared; /* see claim */
    struct impi_buffer buf;
};

/* Start a send.  req->user is kept, all else overwritten.  Never fails: what
 * goes wrong is in the status when req->done (at once for a lost peer). */
void impi_p2p_isend(struct impi_p2p *p2p, struct impi_request *req,
                    const struct impi_send *args);

/* Start a receive: takes the first unexpected message that fits, or is
 * posted.  It may be done, or matched (req->state), when this returns: then a
 * shared receive need not be posted natively. */
void impi_p2p_irecv(struct impi_p2p *p2p, struct impi_request *req,
                    const struct impi_recv *args);

/* Match what was kept while claim() said LATER, in the order of its arrival.
 * Starting a receive and probing do so by themselves where it matters. */
void impi_p2p_settle(struct impi_p2p *p2p);

/* Take a posted receive back.  true: it is done with status.cancelled (with
 * `silent`: unlinked and idle, as if never posted).  false: it has matched. */
bool impi_p2p_cancel_recv(struct impi_p2p *p2p, struct impi_request *req,
                          bool silent);

/* Try to take a send back (3.7.4): once per request, and before the caller has
 * given it up.  What can be decided here is decided at once.  Else the receiver
 * is asked, and the request, even if it was done, is not done until the reply
 * is here.  Then status.cancelled tells. */
void impi_p2p_cancel_send(struct impi_p2p *p2p, struct impi_request *req);

/* Is there a message that a receive with these values would take and whose
 * first packet is wholly here?  Fills *status. buf and shared are not used. */
bool impi_p2p_iprobe(struct impi_p2p *p2p, const struct impi_recv *args,
                     struct impi_status *status);

/* A matched probe: take that message out of the queue (NULL: none).  It must
 * be received by impi_p2p_imrecv() exactly once. */
struct impi_unexpected;
struct impi_unexpected *impi_p2p_improbe(struct impi_p2p *p2p,
                                         const struct impi_recv *args,
                                         struct impi_status *status);
void impi_p2p_imrecv(struct impi_p2p *p2p, struct impi_request *req,
                     struct impi_unexpected *message,
                     const struct impi_buffer *buf);

/* Messages with a context id from IMPI_MAX_CID (constants.h) on are not for
 * receives of the program: take the oldest of them (NULL: none), which must be
 * received by impi_p2p_imrecv() exactly once.  Fills *peer, *cid and *len. */
struct impi_unexpected *impi_p2p_service(struct impi_p2p *p2p, uint32_t *peer,
                                         uint64_t *cid, uint64_t *len);

/* True while a request is posted, queued or half done, or bytes wait to be
 * written: then native calls must not block. */
bool impi_p2p_busy(const struct impi_p2p *p2p);

/* Counters for tests, benches and traces. */
struct impi_p2p_stats {
    uint64_t packets_sent, packets_received; /* those that count */
    uint64_t protoacks_sent, protoacks_received;
    uint64_t unexpected_bytes, unexpected_peak; /* memory, all pairs */
    uint64_t unexpected_messages;
};
const struct impi_p2p_stats *impi_p2p_stats(const struct impi_p2p *p2p);

/* With one peer: messages begun, bytes of their data on the wire, and how
 * often a packet had to wait for an acknowledgement of earlier ones. */
struct impi_peer_stats {
    uint64_t messages_out, bytes_out;
    uint64_t messages_in, bytes_in;
    uint64_t waits;
};
/* False: nothing was ever exchanged. */
bool impi_p2p_peer_stats(const struct impi_p2p *p2p, uint32_t peer,
                         struct impi_peer_stats *stats);

#endif
