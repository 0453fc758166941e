/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of the process-to-process engine.  The caller owns the memory of
 * each (a pool, or the stack for a blocking call) and keeps it, and the
 * user's buffer, until `done`; the engine only links it into its queues.
 */
#ifndef SF_IMPI_REQUEST_H
#define SF_IMPI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#define IMPI_ANY_SOURCE (-1) /* our own values, not those of an mpi.h */
#define IMPI_ANY_TAG (-1)
#define IMPI_ANY_PEER UINT32_MAX

enum impi_error {
    IMPI_OK = 0,
    IMPI_ERR_TRUNCATE, /* message longer than the receive buffer */
    IMPI_ERR_PEER,     /* peer or its channel is lost; impi_p2p_peer_error() */
    IMPI_ERR_MEMORY,   /* out of memory */
    IMPI_ERR_CONVERT,  /* pack or unpack failed: see the callback's own word */
};

struct impi_status {
    int32_t source;  /* rank in the communicator */
    int32_t tag;     /* */
    uint64_t bytes;  /* of wire data received (at most the buffer) */
    uint64_t msglen; /* of wire data sent, also when truncated */
    bool cancelled;
    enum impi_error error;
};

/* Where user data come from or go to.  Contiguous memory in wire form: base.
 * Else a callback moves the wire bytes [off, off + n) of the message: the
 * engine calls it with pieces of arbitrary size, in ascending order without
 * gaps, from inside impi_channel_tx(), fetch(), rx_done() and give() or the
 * call that starts the request.  Of a receive it reads each byte once: the peer
 * may still write to them.  It returns 0, or -1: the request ends with
 * IMPI_ERR_CONVERT (the message itself still goes its way). */
struct impi_buffer {
    void *base;   /* not written to by a send */
    uint64_t len; /* wire bytes: of the message, or that fit */
    int (*move)(void *arg, uint64_t off, void *wire, size_t n);
    /* NULL, or where the next n bytes lie as they are on the wire: fills
     * at[0..max), fewer bytes if that is not enough.  They count as moved
     * when pass() says so. */
    int (*places)(void *arg, struct iovec *at, int max, size_t n);
    void (*pass)(void *arg, size_t n);
    void *arg;
};

enum impi_request_state {
    IMPI_REQ_IDLE = 0,
    IMPI_REQ_POSTED,   /* recv: waits for a match */
    IMPI_REQ_MATCHED,  /* recv: data arrive */
    IMPI_REQ_QUEUED,   /* send: nothing sent yet */
    IMPI_REQ_SENT,     /* send: first packet handed out, waits for SYNCACK */
    IMPI_REQ_SENDING,  /* send: the rest of a long message goes out */
    IMPI_REQ_DRAINING, /* send: everything is handed out, not yet written */
    IMPI_REQ_DONE
};

struct impi_pair;

struct impi_request {
    /* For the caller, once done (and for a receive `status.source`, `tag` and
     * `msglen` once matched). */
    bool done;
    struct impi_status status;
    void *user; /* never touched by the engine */

    /* The engine's own. */
    bool is_send;
    bool sync;       /* completes only after the match */
    bool shared;     /* recv: ask claim() before taking it */
    bool cancelling; /* send: a CANCEL is out, its reply is awaited */
    uint8_t state;
    uint8_t unwritten; /* send: packets handed out, not yet written */
    uint32_t promised; /* receive: parts that count as arrived, but are not */
    int32_t rank;      /* recv: source asked for; send: own rank */
    int32_t tag;
    uint64_t cid;
    struct impi_pair *pair; /* NULL: any source */
    struct impi_buffer buf;
    uint64_t msglen;
    uint64_t moved; /* bytes handed out, or arrived */
    uint64_t id;    /* srqid of a send, drqid of a long receive; 0 none */
    uint64_t peer_id;
    uint64_t order; /* posting order of receives */
    TAILQ_ENTRY(impi_request) link;
};

TAILQ_HEAD(impi_request_list, impi_request);

#endif
