/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between wire.c and wire_open.c.
 */
#ifndef SF_SWFABD_WIRE_H
#define SF_SWFABD_WIRE_H

#include "swfabd/swfabd.h"

/* The wire of a seat; NULL when it has none that is open. */
static inline struct swfabd_wire *swfabd_wire_of(struct swfabd_seat *seat)
{
    return seat->wire && seat->wire->fd >= 0 ? seat->wire : NULL;
}

/* Who sends, as the door knows him: not by his port, which he may choose. */
static inline uint64_t swfabd_source(bool ether,
                                     const union swfabd_address *from)
{
    const uint8_t *mac = from->ether.sll_addr;

    if (!ether)
        return 1ULL << 32 | from->udp.sin_addr.s_addr;
    return 1ULL << 48 | (uint64_t)mac[0] << 40 | (uint64_t)mac[1] << 32 |
           (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 |
           (uint64_t)mac[4] << 8 | mac[5];
}

/* Queue what the link itself has to say. */
void swfabd_wire_output(struct swfabd_wire *wire, struct softlink *link,
                        const union swfabd_address *to);
void swfabd_wire_on_io(struct ev_loop *loop, ev_io *w, int revents);

#endif
