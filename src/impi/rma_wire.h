/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): the head of its messages, as it is on
 * the wire (doc/impi-rma.md).
 */
#ifndef SF_IMPI_RMA_WIRE_H
#define SF_IMPI_RMA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/rma.h"

#define RMA_VERSION 1

/* Behind the kinds of operations. */
enum message_kind {
    MSG_RESULT = 6, /* of an operation: id; its data */
    MSG_REFUSED,    /* id or 0, disp; op: enum impi_rma_error */
    MSG_TYPE,       /* type: its number; data: the type */
    MSG_FLUSH,      /* id: a running number */
    MSG_FLUSHED,    /* id: the same */
    MSG_LOCK,       /* op: enum impi_rma_lock; with leave, id: as of UNLOCK */
    MSG_GRANTED,    /* of a LOCK that stays */
    MSG_UNLOCK,     /* id: as of FLUSH; answered by FLUSHED */
    MSG_POST,       /* */
    MSG_COMPLETE,   /* */
    MSG_TURN,       /* a waiting process may have got its lock */
    MSG_EXPOSE,     /* */
    MSG_EXPOSED,    /* op: 1 yes, 0 no; id: key, disp: address, count: bytes */
    MSG_KINDS
};

/* The header, in the order of the wire. */
struct rma_head {
    uint8_t version, kind;
    uint8_t lock;  /* of operations, enum impi_rma_lock: under it, */
    uint8_t leave; /* and 1: which goes back then */
    uint16_t op;
    uint16_t elem;
    uint16_t type; /* number of a type of the sender, 0: bytes in a row */
    uint64_t win, id;
    int64_t disp;
    uint64_t count, len; /* of the type; bytes that it moves */
    bool placed;         /* not of the wire: the data are where they belong */
};

void rma_head_encode(const struct rma_head *h, uint8_t out[IMPI_RMA_HEAD]);
/* Of whatever came: nothing is checked. */
void rma_head_decode(struct rma_head *h, const uint8_t in[IMPI_RMA_HEAD]);

/* Bytes of data that come with the operation. */
uint64_t rma_data_of(const struct rma_head *h);

#endif
