/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the message engine: what p2p.c (requests, matching) and channel.c
 * (bytes that come and go) share.  Not for others.
 *
 * A pair is this process and one peer: flow control and queues (3.6).  A
 * channel carries one pair or many.  Every request that is not done is on
 * exactly one list of its pair, or on the list of any-source receives.
 */
#ifndef SF_IMPI_P2P_IMPL_H
#define SF_IMPI_P2P_IMPL_H

#include "base/errbuf.h"
#include "impi/channel.h"
#include "impi/p2p.h"
#include "impi/packet.h"
#include "impi/pool.h"
#include "impi/slots.h"

/* A packet that answers, waiting to be sent. */
struct control {
    uint32_t type;
    uint64_t srqid, drqid;
    TAILQ_ENTRY(control) link;
};

/* A message that came before its receive; data holds its first packet. */
struct impi_unexpected {
    TAILQ_ENTRY(impi_unexpected) link;    /* of all, in order of arrival */
    TAILQ_ENTRY(impi_unexpected) of_pair; /* of its pair, likewise */
    struct impi_pair *pair;
    uint64_t cid, srqid, msglen;
    int32_t rank, tag;
    uint32_t len, have; /* bytes of the first packet, and those here */
    bool sync;          /* a SYNCACK is due at the match */
    bool received;      /* counts as received already */
    bool later;         /* not matched yet: a receive could not be claimed */
    bool service;       /* on the list of that name */
    uint32_t size;      /* memory for its data */
    uint8_t data[];
};
TAILQ_HEAD(unexpected_list, impi_unexpected);

/* What this process keeps of one peer.  It outlives its channel: sends may be
 * due before there is a connection. */
struct impi_pair {
    struct impi_p2p *p2p;
    struct impi_channel *channel; /* NULL: not connected */
    uint32_t peer;
    bool connecting;
    bool active; /* on channel->active: has something that may be sent */
    bool turn;   /* fairness between new messages and long ones */
    bool lost;
    char *error; /* why; NULL also when there was no memory for it */
    uint8_t proc[IMPI_PROC_SIZE];
    struct impi_packet fast; /* header of a short message, in wire form */
    uint64_t seqnum;
    /* Flow control. */
    uint32_t sent;      /* packets sent and not acknowledged */
    uint32_t arrived;   /* packets that came, not yet acknowledged */
    uint32_t received;  /* of these received, less than ackmark */
    uint32_t acks_due;  /* PROTOACKs to send */
    uint32_t ncontrols; /* length of controls */
    struct impi_peer_stats stats;
    bool stalled;          /* counted in stats.waits already */
    size_t unexpected_mem; /* bytes that its unexpected messages take */
    TAILQ_HEAD(, control) controls;
    struct impi_request_list first;   /* sends whose first packet is due */
    struct impi_request_list rest;    /* long sends going on */
    struct impi_request_list waiting; /* sends with nothing to hand out */
    struct impi_request_list posted;  /* receives from this peer */
    struct impi_request_list matched; /* receives whose data arrive */
    struct unexpected_list unexpected;
    TAILQ_ENTRY(impi_pair) link;
};

/* A packet handed to the connection and not wholly written. */
struct tx_item {
    union {
        uint8_t head[IMPI_PACKET_SIZE];
        struct impi_packet pk; /* in wire form */
    };
    const uint8_t *data;
    uint32_t len;
    uint64_t off;             /* of the data in the message */
    struct impi_request *req; /* NULL: control */
};

/* Short sends that nobody answers have ids of their own, not from slots. */
#define SHORT_SEND_ID (UINT64_C(1) << 63)

/* Payloads of unexpected messages that fit the objects of the two pools. */
#define UNEXPECTED_SMALL 128
#define UNEXPECTED_MEDIUM 1024
/* First packet of a message while the pair's credit is half used up, between
 * processes of ours: the receiver stores so little at once whatever memory
 * its unexpected messages take already, up to this multiple of the limit. */
#define MODEST UNEXPECTED_MEDIUM
#define MODEST_FACTOR 4

/* First packet of a message between processes of ours, and the longest that is
 * sent without asking: the answer is back before it is written, and who has not
 * posted the receive stores no more.  The rest goes in packets of maxdatalen:
 * the fewer, the better. */
#define FIRST_MAX (256u * 1024)

#define TX_ITEMS (IMPI_TX_IOV / 2)
#define TX_BYTES (4096u * 1024 + IMPI_PACKET_SIZE) /* of one write */
/* Data that a callback moves are written in parts of this size: as much as a
 * packet has, since each write costs more than a longer copy.  Only what is
 * filled of it takes memory. */
#define SCRATCH_SIZE (1024u * 1024)
#define STAGE_SIZE (32u * 1024)
/* Data that a callback moves are read in parts of this size: the kernel's own
 * are 64 KiB within one machine, and it does not like them to be cut. */
#define WIDE_SIZE (128u * 1024)

struct impi_channel {
    struct impi_p2p *p2p;
    struct impi_pair **pairs;
    uint32_t npairs;
    struct impi_pair *last_pair; /* whose packet came last */
    bool failed;
    uint32_t culprit; /* who broke the protocol, or IMPI_ANY_PEER */
    bool fini_wanted, fini_sent, fini_received;
    struct errbuf error;
    TAILQ_HEAD(, impi_pair) active;
    /* tx: ring of items, of which the first tx_sent bytes are written */
    struct tx_item items[TX_ITEMS];
    unsigned head, count;
    uint64_t tx_sent;
    uint8_t *scratch;      /* converted data of the head item */
    uint64_t scratch_from; /* first byte of the item's data in it */
    uint32_t scratch_len;
    uint64_t fetched; /* of its data; so far the callback is */
    bool placed;      /* and from there on the user's memory is written */
    /* rx: payload still to come, to whom; both NULL: nobody wants it */
    uint32_t left;
    struct impi_request *rx_req;
    struct impi_unexpected *rx_unexpected;
    size_t direct; /* bytes offered straight into a buffer by the last rx */
    bool wide;     /* which is p2p->wide */
    bool spread;   /* which is many places */
    size_t stage_limit;
    size_t stage_len;
    uint8_t *stage;
    TAILQ_ENTRY(impi_channel) link;
};

struct impi_p2p {
    const struct impi_p2p_ops *ops;
    void *arg;
    uint32_t rank, nprocs;
    uint32_t maxdatalen, ackmark, hiwater;
    uint32_t first_max; /* see FIRST_MAX; else maxdatalen */
    bool modest;        /* see MODEST; all processes are ours */
    size_t unexpected_max;
    const struct impi_world *world;
    uint8_t proc[IMPI_PROC_SIZE]; /* own */
    struct impi_pair **pairs;     /* made at first use */
    struct impi_slots slots;
    struct impi_pool small_pool, medium_pool, control_pool;
    uint8_t *wide; /* WIDE_SIZE, made at first use: see impi_channel_rx() */
    TAILQ_HEAD(, impi_channel) channels;
    struct impi_request_list posted_any;
    struct unexpected_list unexpected;
    struct unexpected_list service; /* see impi_p2p_service() */
    size_t nlater;                  /* of them: not matched yet */
    uint64_t order;                 /* of posted receives */
    uint64_t send_number;           /* of short sends, for their srqid */
    uint32_t pending;               /* requests not done */
    uint32_t unsent; /* packets in rings, and pairs that are active */
    struct impi_p2p_stats stats;
};

/* Show it to the watcher. */
static inline void packet_seen(const struct impi_p2p *p2p, uint32_t peer,
                               bool in, const struct impi_packet *pk)
{
    if (p2p->ops->packet)
        p2p->ops->packet(p2p->arg, peer, in, pk);
}

/* As every request begins; what sends and receives differ in is the caller's
 * to set. */
static inline void request_init(struct impi_request *req, int32_t rank,
                                int32_t tag, uint64_t cid,
                                const struct impi_buffer *buf)
{
    req->done = false;
    req->status = (struct impi_status){.source = rank, .tag = tag};
    req->cancelling = false;
    req->unwritten = 0;
    req->rank = rank;
    req->tag = tag;
    req->cid = cid;
    req->pair = NULL;
    req->buf = *buf;
    req->moved = 0;
    req->id = 0;
    req->peer_id = 0;
}

/* ---- p2p.c ---- */

/* The pair of a peer, made at need; NULL with errno ENOMEM. */
struct impi_pair *p2p_pair(struct impi_p2p *p2p, uint32_t peer);
/* The pair may have got something to send. */
void pair_wake(struct impi_pair *pair);
/* End a request: off its list, slot freed, done. */
void request_complete(struct impi_p2p *p2p, struct impi_request *req,
                      struct impi_request_list *from, enum impi_error error);
/* All requests of the pair fail. */
void pair_fail(struct impi_pair *pair, const char *why);

/* ---- channel.c ---- */

/* True when pair_next_packet() would give one. */
bool pair_can_send(const struct impi_pair *pair);
/* Nothing is queued, sendable or not. */
static inline bool pair_is_quiet(const struct impi_pair *pair)
{
    return pair->acks_due == 0 && TAILQ_EMPTY(&pair->controls) &&
           TAILQ_EMPTY(&pair->first) && TAILQ_EMPTY(&pair->rest);
}
/* Complete it when all is written and answered. */
void send_check_drained(struct impi_p2p *p2p, struct impi_request *req);

/* ---- p2p.c ---- */

/* A reply to a CANCEL; NULL, or what is wrong with it. */
const char *send_cancel_reply(struct impi_pair *pair, uint64_t srqid, bool yes);

/* Find and unlink the posted receive that takes a message of the pair with
 * these.  NULL: none, or (*later) it cannot be told now. */
struct impi_request *match_posted(struct impi_pair *pair, uint64_t cid,
                                  int32_t tag, bool *later);
/* A receive has a message: status, SYNCACK, id.  0 or -1 ENOMEM. */
int recv_begin(struct impi_pair *pair, struct impi_request *req, int32_t rank,
               int32_t tag, uint64_t msglen, uint64_t srqid, bool sync);
/* n more wire bytes of the message. */
void recv_bytes(struct impi_request *req, const uint8_t *data, size_t n);
/* After bytes or at once: complete it when all is here. */
void recv_check_done(struct impi_p2p *p2p, struct impi_request *req);
static inline bool tag_fits(int32_t wanted, int32_t tag)
{
    return wanted == tag || wanted == IMPI_ANY_TAG;
}

/* Keep a message until it is received; NULL: no memory. */
struct impi_unexpected *unexpected_add(struct impi_pair *pair,
                                       const struct impi_packet *pk);
/* It is to be matched by impi_p2p_settle(). */
void unexpected_later(struct impi_unexpected *u);
/* Both, and no more bytes for it. */
void unexpected_drop(struct impi_unexpected *u);

/* ---- channel.c ---- */

/* One packet of the pair is received (3.6); every so many are acknowledged. */
void pair_acknowledge(struct impi_pair *pair);
static inline void pair_received(struct impi_pair *pair)
{
    if (++pair->received >= pair->p2p->ackmark)
        pair_acknowledge(pair);
}
/* Queue an answer; -1 ENOMEM. */
int pair_answer(struct impi_pair *pair, uint32_t type, uint64_t srqid,
                uint64_t drqid);

#endif
