/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After the opening of a channel between two processes (chan_open.h), where
 * all clients speak version 2 of the extensions: do both ends agree to move
 * the channel's bytes through shared memory?  doc/impi-shm.md.  A pure engine:
 * the caller moves the bytes, and makes and maps the memory.
 *
 * On the wire, all integers big-endian, all sizes fixed:
 *
 *   initiator  OFFER  48  magic "SFSH", u32 pid, u32 fd of the ring to the
 *                         acceptor, u32 fd of the ring to the initiator,
 *                         token[32]; pid 0: no offer
 *   acceptor   ANSWER  4  u32, 1 = we use it, 0 = we do not; only to an offer
 *
 * The pid proves nothing.  The acceptor opens the memory and finds the token in
 * it, or else does not share a machine with its peer.  It puts the token into
 * the ring in the other direction, so that its peer sees the same.
 *
 * Use, on either side:
 *
 *   while (!impi_chan_share_done(s)) {
 *       send what impi_chan_share_output() gives, then _sent();
 *       if (impi_chan_share_asked(s, &offer)) try, impi_chan_share_answer();
 *       else read at most impi_chan_share_want() bytes, _input();
 *   }
 *   s->agreed says what was decided.
 */
#ifndef SF_IMPI_CHAN_SHARE_H
#define SF_IMPI_CHAN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

#define IMPI_SHARE_TOKEN_SIZE 32
#define IMPI_SHARE_OFFER_SIZE (16 + IMPI_SHARE_TOKEN_SIZE)
#define IMPI_SHARE_ANSWER_SIZE 4

struct impi_chan_offer {
    uint32_t pid;    /* of the initiator, as it sees itself; 0: no offer */
    uint32_t fd_out; /* the initiator's descriptors: towards the acceptor, */
    uint32_t fd_in;  /* and back */
    uint8_t token[IMPI_SHARE_TOKEN_SIZE];
};

struct impi_chan_share {
    bool agreed;
    bool initiator;
    enum { SHARE_INPUT, SHARE_JUDGE, SHARE_DONE, SHARE_FAILED } stage;
    struct impi_chan_offer offer;
    uint8_t in[IMPI_SHARE_OFFER_SIZE];
    size_t in_len;
    uint8_t out[IMPI_SHARE_OFFER_SIZE];
    size_t out_len, out_sent;
};

/* Start as initiator, with an offer (copied) or NULL for none; or as acceptor.
 */
void impi_chan_share_offer(struct impi_chan_share *s,
                           const struct impi_chan_offer *offer);
void impi_chan_share_await(struct impi_chan_share *s);

/* How many bytes the engine now waits for; 0: none. */
size_t impi_chan_share_want(const struct impi_chan_share *s);
/* Take len bytes, len <= impi_chan_share_want().  0, or -1 with errno EPROTO:
 * the peer broke the protocol. */
int impi_chan_share_input(struct impi_chan_share *s, const void *data,
                          size_t len, struct errbuf *err);

/* Acceptor: there is an offer to judge; then answer it, once. */
bool impi_chan_share_asked(const struct impi_chan_share *s);
void impi_chan_share_answer(struct impi_chan_share *s, bool yes);

/* Bytes to send now; *data borrows from s. */
size_t impi_chan_share_output(const struct impi_chan_share *s,
                              const uint8_t **data);
void impi_chan_share_sent(struct impi_chan_share *s, size_t n);

/* True when the decision is made and all output is sent. */
bool impi_chan_share_done(const struct impi_chan_share *s);

#endif
