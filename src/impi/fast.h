/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages without a request.  Where nothing is under way on a channel
 * that could come first, a message of one packet needs no queue: its header
 * is made in place and written with the data, or a packet that has come is
 * compared with the one receive that waits for it.  The engine is afterwards
 * as if p2p.h had done it.  In every other case these functions say no and
 * have changed nothing, and the caller goes by p2p.h.
 *
 *   head = impi_fast_send(channel, &args);
 *   if (!head)                                the general way;
 *   write head and data;
 *   if (all of it is written)                 impi_fast_sent(channel, len);
 *   else if (a part is, n bytes)              impi_p2p_isend(), then
 *                           impi_channel_tx() gives the same bytes, and
 *                           impi_channel_tx_done(n);
 */
#ifndef SF_IMPI_FAST_H
#define SF_IMPI_FAST_H

#include "impi/channel.h"
#include "impi/p2p.h"

/* The header of the packet that such a send (not a synchronous one) would be,
 * IMPI_PACKET_SIZE bytes in wire form.  NULL: the channel has several peers,
 * has failed or ends, something is queued or half written on it, half of the
 * credit is used up, or the message needs more than one packet. */
const void *impi_fast_send(struct impi_channel *channel,
                           const struct impi_send *args);
/* It was written, with len bytes of data. */
void impi_fast_sent(struct impi_channel *channel, size_t len);
/* After impi_fast_sent(), for a caller that needs a request: set *req as
 * impi_p2p_isend() would have, done, and cancelled like any other. */
void impi_fast_request(struct impi_p2p *p2p, struct impi_request *req,
                       const struct impi_send *args);

/* May the channel's next packet go straight to `want`, which is not posted (its
 * peer is the channel's, or IMPI_ANY_PEER)?  Not when part of a packet is here,
 * nor while messages wait that it may have to take first, or other receives,
 * which are older. */
bool impi_fast_is_free(const struct impi_channel *channel,
                       const struct impi_recv *want);

/* While that is so: is this packet (a header from the wire, aligned to 8, and
 * len bytes of data) the whole of a message for `want`, and does it fit there?
 * Then it is received: *status is set, and the caller copies the data. */
bool impi_fast_take(struct impi_channel *channel, const void *head, size_t len,
                    const struct impi_recv *want, struct impi_status *status);

#endif
