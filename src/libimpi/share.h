/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that two processes of one machine share: a byte stream each way.
 * One makes it, the other opens it through /proc and proves by a token that
 * it is the same memory; doc/impi-shm.md.  Nothing here is an error to the
 * user: without shared memory the socket serves.
 */
#ifndef LIBIMPI_SHARE_H
#define LIBIMPI_SHARE_H

#include "base/ring_stream.h"
#include "impi/chan_share.h"

struct share {
    struct ring_stream stream;
    uint8_t token[IMPI_SHARE_TOKEN_SIZE];
    int fd_out, fd_in; /* the maker's, until the peer has answered; or -1 */
};

/* IMPI_SHM=0 is set. */
bool share_is_off(void);

/* Are the two ends of this connection on one machine, as far as addresses
 * tell? */
bool share_is_near(int socket);

/* Make it, and what to offer.  NULL with errno: it cannot be had. */
struct share *share_create(struct impi_chan_offer *offer);

/* The maker, when the peer says that it uses it: false when it does not. */
bool share_confirm(struct share *s);

/* Open what a peer offers.  NULL: it is not to be had from here. */
struct share *share_open(const struct impi_chan_offer *offer);

/* NULL is fine; keeps errno. */
void share_free(struct share *s);

#endif
