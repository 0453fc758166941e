/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): what its files share.  Not for
 * others.
 *
 *   rma.c         the engine, windows, messages that come, peers that go
 *   rma_wire      the head of a message
 *   rma_types     datatypes that travel once
 *   rma_memory    the own memory: what may be read and written there
 *   rma_apply     what an operation does to memory
 *   rma_target    operations of others on the own memory
 *   rma_lock      the own lock: who has it, who waits, what came meanwhile
 *   rma_direct    memory of others, without messages
 *   rma_origin    operations on memory of others
 *   rma_epoch     what an origin waits for: locks, flushes, ends of epochs
 */
#ifndef SF_IMPI_RMA_IMPL_H
#define SF_IMPI_RMA_IMPL_H

#include "impi/rma.h"
#include "impi/rma_memory.h"
#include "impi/rma_types.h"
#include "impi/rma_wire.h"
#include "impi/slots.h"

/* How far a lock that this process wants has come. */
enum stage {
    PUT_OFF,   /* nobody has been told */
    REQUESTED, /* by LOCK: GRANTED is to come */
    CARRIED,   /* by an operation: an answer to it will tell */
    IN
};

/* May the network read and write its memory? */
enum exposure { NOT_ASKED, ASKED, EXPOSED, NOT_EXPOSED };

/* What this process knows about another member of a window. */
struct rma_peer {
    /* It as our target. */
    uint32_t open;  /* operations without answer */
    bool unflushed; /* operations behind the last FLUSH, without answer */
    bool many;      /* more than one, between the last two flushes */
    uint32_t since; /* the last flush: operations that want one */
    struct impi_rma_op first; /* the first of them, answered by itself */
    uint8_t lock;             /* enum impi_rma_lock, as asked for */
    uint8_t stage;            /* enum stage */
    bool hold;                /* its first operation may be held, */
    struct held *held;        /* and is */
    uint64_t early;           /* what it may have to keep, in bytes */
    uint64_t before;          /* the last flush before it was CARRIED */
    uint32_t grants;          /* GRANTED that are to come */
    bool leaving;             /* it goes back when all is confirmed */
    uint32_t number;          /* of impi_rma_words_ask() */
    uint64_t flushes;         /* number of the last FLUSH */
    uint64_t needed;          /* of the last one that confirms operations */
    uint64_t flushed;         /* and of the last FLUSHED */
    uint32_t posts;
    /* It as an origin of operations on our memory. */
    uint8_t holds;                 /* enum impi_rma_lock */
    uint8_t waits;                 /* likewise, in the queue */
    uint32_t turn;                 /* then: its number, */
    bool silent;                   /* no GRANTED is wanted, */
    struct kept *kept, **kept_end; /* and what is to be done then: */
    uint64_t kept_bytes;
    bool kept_all; /* it ends with an unlock */
    uint32_t completes;
    /* Its memory, where that is mapped. */
    struct impi_rma_words *words;
    uint8_t *base;
    uint64_t size;
    bool far; /* its memory can be copied, at: */
    uint64_t address;
    /* Or read and written by the network. */
    uint8_t exposure; /* enum exposure */
    struct impi_rma_place place;
    uint32_t moves;      /* under way, of those open */
    bool unlock_waits;   /* UNLOCK, for them */
    bool complete_waits; /* COMPLETE, likewise */
};

struct impi_rma_win {
    struct impi_rma *rma;
    struct impi_rma_win *next;
    uint64_t id;
    uint32_t n, own;
    uint32_t *world;
    uint32_t *member; /* [nprocs] rank here of each world rank, or n */
    struct rma_peer *peers;
    /* The own memory. */
    struct rma_memory memory;
    bool asks_first; /* impi_rma_win_ask_first() */
    struct impi_rma_words *words, *private_words;
    /* Those who wait for its lock by messages, in their order. */
    uint32_t *queue; /* [n], round */
    uint32_t queue_head, queue_len;
    bool refused;
    struct impi_rma_refusal refusal;
};

struct impi_rma {
    const struct impi_rma_ops *ops;
    void *arg;
    uint32_t rank, nprocs;
    struct impi_slots slots;
    struct impi_rma_win *wins;
    struct rma_types types;
    bool *lost; /* [nprocs] */
};

/* Send a message: to another process, or at once to this one.  Sets its
 * version.  lasts: as of impi_rma_ops.send. */
void rma_tell(struct impi_rma *rma, uint32_t peer, struct rma_head *h,
              const void *data, size_t len, bool lasts);
/* A message of the window without data. */
void rma_tell_member(struct impi_rma_win *win, uint32_t member, uint8_t kind,
                     uint16_t op, uint64_t id);

/* A peer broke the protocol: -1 with EPROTO. */
int rma_broke(struct errbuf *err, const char *what);
/* For impi_rma_win_refused(), which is told of the first. */
void rma_note_refusal(struct impi_rma_win *win, uint32_t target, uint32_t error,
                      int64_t disp);
/* Room for what is new, which is zero; sizes in bytes.  -1: no memory. */
int rma_longer(void **p, size_t old, size_t size);

#endif
