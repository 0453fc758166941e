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

/* Queue what the link itself has to say. */
void swfabd_wire_output(struct swfabd_wire *wire, struct softlink *link,
                        const union swfabd_address *to);
void swfabd_wire_on_io(struct ev_loop *loop, ev_io *w, int revents);

#endif
