/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The opening of a channel (impi/chan_open.h) over a nonblocking socket.
 */
#ifndef SF_IMPID_OPENING_H
#define SF_IMPID_OPENING_H

#include "base/errbuf.h"
#include "impi/chan_open.h"

/* Send and receive what can be.  Returns 1 it is done, 0 not yet, -1 it failed,
 * -2 the other side closed (text). */
int impid_opening_run(int fd, struct impi_chan_open *o, struct errbuf *err);
/* The socket failed with `error`, or ended (0): what that comes to. */
int impid_opening_closed(struct errbuf *err, int error);

#endif
