/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A HELLO on its way: its credential is opened and that of the answer made
 * beside the loop (base/clerk.h), so that a slow munged stops no packet.
 */
#ifndef SF_SWFABD_GREET_H
#define SF_SWFABD_GREET_H

#include "base/clerk.h"
#include "swfabd/swfabd.h"

struct comer;

struct greeting {
    struct clerk_job job;
    struct swfabd *d;
    /* The loop's: the seat that the HELLO may have, or NULL with err. */
    struct swfabd_seat *(*admit)(struct greeting *g);
    /* The loop's: seat and link with the WELCOME in it, or no seat and err. */
    void (*answer)(struct greeting *g);
    /* whose it is: a connection (NULL: it is gone), or a datagram's sender */
    struct comer *comer;
    struct swfabd_wire *wire;
    union swfabd_address from;
    uint64_t session; /* of the HELLO, for a refusal */
    int rc;
    struct errbuf err;
    struct softlink_hello hello;
    struct swfabd_seat *seat;
    struct softlink *link; /* answer() may take it and leave NULL */
    size_t len;
    uint8_t buf[SOFTLINK_CONTROL_MAX];
};

/* Start it with buf[0..len), a HELLO.  NULL: no room, with text. */
struct greeting *swfabd_greet_new(struct swfabd *d, const uint8_t *buf,
                                  size_t len, struct errbuf *err);
/* -1 with text: too many wait; it is freed. */
int swfabd_greet(struct greeting *g, struct errbuf *err);

#endif
