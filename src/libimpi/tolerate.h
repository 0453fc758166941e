/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a peer with another library is known to do otherwise than IMPI 0.0
 * says, and our side does likewise because IMPI_TOLERATE names it:
 * doc/impi-peers.md.  Only in a world with a client that is not ours, where
 * all clients must do the same.
 */
#ifndef LIBIMPI_TOLERATE_H
#define LIBIMPI_TOLERATE_H

#include <stdbool.h>

#include "base/errbuf.h"

struct tolerated {
    bool bcast_master; /* all Bcasts of a client of ours from its master */
    bool linear_below; /* collectives of MAXLINEAR clients go by trees */
    bool long8;        /* MPI_LONG has 8 bytes on the wire */
    bool native_order; /* data travel as they are in memory */
    bool big_endian;   /* they do not, although the peer looks like it */
    bool reduce_p2p;   /* MPI_Reduce in the point-to-point context */
};

/* Take a list of words (spaces or commas between); NULL: none.  0, or -1: one
 * is not known. */
int tolerate_parse(struct tolerated *t, const char *list, struct errbuf *err);

#endif
