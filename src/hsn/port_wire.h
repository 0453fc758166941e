/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said on hsnd's socket (SOCK_SEQPACKET, one request and one answer a
 * message).  Numbers are big-endian:
 *
 *     request  u32 magic, u16 version, u16 verb, u32 a, u32 b, [more]
 *     answer   u32 magic, u32 errno, [more]
 *
 * An endpoint is opened by the last request on a connection: its answer
 * carries the descriptors of two rings, to hsnd and from it, and from then on
 * the socket is the bell of both (base/ring.h).
 */
#ifndef SF_HSN_PORT_WIRE_H
#define SF_HSN_PORT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "hsn/libhsn.h"

#define HSN_PORT_VERSION 1

enum hsn_verb {
    HSN_BOARD,         /* -> struct hsn_board_info */
    HSN_OPEN_RAW,      /* a: type -> u64 ring size, rings */
    HSN_OPEN_DGRAM,    /* a: module -> the same */
    HSN_OPEN_ELAN,     /* a: context; capability -> the same */
    HSN_ROUTES_BEGIN,  /* a: map version, b: host type; u8 configured */
    HSN_ROUTES_ADD,    /* peers, to the end of the message */
    HSN_ROUTES_END,    /* take them over */
    HSN_PEER,          /* u64 address -> one peer */
    HSN_ROUTES_CHANGE, /* a: map version, b: host type; u8 configured, u32
                        * version that this client loaded: what is added then
                        * takes the places of those peers; no routes: gone */
    HSN_PAGES,         /* a: 1 module, 2 context, b: its number, of an
                        * endpoint of this very process -> u32 slice, u32
                        * slices, u32 page size; memory (hsn/page_pool.h) */
    HSN_VERBS
};

enum { HSN_PAGES_OF_MODULE = 1, HSN_PAGES_OF_CONTEXT };

struct hsn_request {
    enum hsn_verb verb;
    uint32_t a, b;
    struct be_reader more; /* borrows from the message */
};

/* Begin a request or an answer in buf[size]; take w->len at the end. */
void hsn_request_begin(struct be_writer *w, void *buf, size_t size,
                       enum hsn_verb verb, uint32_t a, uint32_t b);
void hsn_answer_begin(struct be_writer *w, void *buf, size_t size, int error);

/* 0, or -1: malformed. */
int hsn_request_get(struct hsn_request *r, const void *buf, size_t len);
/* The errno of the answer, or EPROTO; *r then is at what follows. */
int hsn_answer_open(struct be_reader *r, const void *buf, size_t len);

void hsn_peer_put(struct be_writer *w, const struct hsn_peer *p);
/* 0, or -1: malformed. */
int hsn_peer_get(struct be_reader *r, struct hsn_peer *p);
/* Longest peer. */
#define HSN_PEER_SIZE_MAX (14 + HSN_ROUTES_MAX * (1 + HSN_ROUTE_MAX))

void hsn_board_put(struct be_writer *w, const struct hsn_board_info *b);
int hsn_board_get(struct be_reader *r, struct hsn_board_info *b);

#endif
