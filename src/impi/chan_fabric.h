/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After the opening of a channel between two processes (chan_open.h) that do
 * not share memory, where all clients speak version 6 of the extensions: do
 * both ends agree to move the channel's bytes over libfabric?
 * doc/impi-fabric.md.  A pure engine: the caller moves the bytes and calls
 * libfabric.
 *
 * On the wire, all integers big-endian:
 *
 *   initiator  END    its end, see below; no name: it has none, and nothing
 *                     follows
 *   acceptor   END    its own; no name: it does not use the initiator's
 *   both       PROOF  u32, 1 = a first frame from the peer arrived over
 *                     libfabric, 0 = none did: the channel stays where it is
 *
 *   END: magic "SFFB", u16 length of the name, u16 length of the address,
 *        u32 protocol, u32 its version, u32 form of addresses (these three as
 *        libfabric numbers them), u32 bytes of the longest frame it takes,
 *        u16 pieces of the other's memory that it reads at a time (0: it does
 *        not), u16 frames that may be on the way to it, u32 number of the
 *        channel there; the name of the provider, the address
 *
 * Use, on either side:
 *
 *   while (!impi_chan_fabric_done(f)) {
 *       send what impi_chan_fabric_output() gives, then _sent();
 *       if (impi_chan_fabric_asked(f)) look at f->peer, _answer();
 *       else if (impi_chan_fabric_proving(f)) send and await the first frame,
 *           _prove(); the peer may know before us: go on reading
 *       read at most impi_chan_fabric_want() bytes, _input();
 *   }
 *   f->agreed says what was decided.
 */
#ifndef SF_IMPI_CHAN_FABRIC_H
#define SF_IMPI_CHAN_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

#define IMPI_FABRIC_HEAD_SIZE 32
#define IMPI_FABRIC_PROOF_SIZE 4
#define IMPI_FABRIC_END_MAX                                                    \
    (IMPI_FABRIC_HEAD_SIZE + SF_FABRIC_NAME_MAX + SF_FABRIC_ADDR_MAX)

/* One end of a channel, as libfabric sees it. */
struct impi_fabric_end {
    char name[SF_FABRIC_NAME_MAX + 1]; /* of the provider; empty: no end */
    uint32_t protocol, version, addr_format;
    uint32_t frame;   /* bytes of the longest frame, its head included */
    uint16_t lends;   /* of the peer's memory, read at a time */
    uint16_t credits; /* frames on the way */
    uint32_t number;  /* of the channel there */
    uint32_t addr_len;
    uint8_t addr[SF_FABRIC_ADDR_MAX];
};

/* Can frames pass between these ends, as far as can be seen? */
bool impi_fabric_fits(const struct impi_fabric_end *a,
                      const struct impi_fabric_end *b);

struct impi_chan_fabric {
    bool agreed;
    bool initiator;
    enum {
        FABRIC_HEAD,
        FABRIC_BODY,
        FABRIC_JUDGE,
        FABRIC_PROOF,
        FABRIC_DONE,
        FABRIC_FAILED
    } stage;
    bool said, heard;            /* PROOF */
    struct impi_fabric_end own;  /* as told */
    struct impi_fabric_end peer; /* from FABRIC_JUDGE or _PROOF on */
    uint8_t in[IMPI_FABRIC_END_MAX];
    size_t in_len;
    uint8_t out[IMPI_FABRIC_END_MAX + IMPI_FABRIC_PROOF_SIZE];
    size_t out_len, out_sent;
};

/* Start as initiator, with its end (copied) or NULL for none; or as acceptor.
 */
void impi_chan_fabric_offer(struct impi_chan_fabric *f,
                            const struct impi_fabric_end *own);
void impi_chan_fabric_await(struct impi_chan_fabric *f);

/* How many bytes the engine now waits for; 0: none. */
size_t impi_chan_fabric_want(const struct impi_chan_fabric *f);
/* Take len bytes, len <= impi_chan_fabric_want().  0, or -1 with errno EPROTO:
 * the peer broke the protocol. */
int impi_chan_fabric_input(struct impi_chan_fabric *f, const void *data,
                           size_t len, struct errbuf *err);

/* Acceptor: the initiator's end has arrived and is to be judged; then answer,
 * once, with an end of our own that fits, or NULL. */
bool impi_chan_fabric_asked(const struct impi_chan_fabric *f);
void impi_chan_fabric_answer(struct impi_chan_fabric *f,
                             const struct impi_fabric_end *own);

/* Both ends are known, and it has to be proved that frames get through; then
 * report the result, once.  False again when the peer has reported that they do
 * not. */
bool impi_chan_fabric_proving(const struct impi_chan_fabric *f);
void impi_chan_fabric_prove(struct impi_chan_fabric *f, bool yes);

/* Bytes to send now; *data borrows from f. */
size_t impi_chan_fabric_output(const struct impi_chan_fabric *f,
                               const uint8_t **data);
void impi_chan_fabric_sent(struct impi_chan_fabric *f, size_t n);

/* True when the decision is made and all output is sent. */
bool impi_chan_fabric_done(const struct impi_chan_fabric *f);

#endif
