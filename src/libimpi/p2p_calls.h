/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the overrides of point-to-point calls.
 */
#ifndef LIBIMPI_P2P_CALLS_H
#define LIBIMPI_P2P_CALLS_H

#include "libimpi/ours.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"
#include "libimpi/state.h"

enum send_mode { SEND_STANDARD, SEND_BUFFERED, SEND_SYNCHRONOUS, SEND_READY };

/* Count, rank, tag and type; the peer becomes a rank over both groups of an
 * intercommunicator.  Returns an MPI error class. */
int check_message(struct message *m, bool recv);

/* The rank in the library's communicator of a peer in the own client, when the
 * call may go straight to the library: peer and tag are valid (the library
 * checks the rest itself).  -1 otherwise, which says nothing else. */
static inline int straight_rank(const struct impi_comm *c, int peer, int tag)
{
    if ((unsigned)peer >= (unsigned)c->straight ||
        (unsigned)tag > (unsigned)impi_be.tagub)
        return -1;
    return c->native[peer];
}

/* MPI_Isend without its error handler.  Sets the message's communicator, and
 * its peer as above. */
int send_start(struct message *m, MPI_Comm comm, MPI_Request *request);

/* Copy a message to another client, start it and leave it to itself.  Under
 * the lock. */
int send_copy(struct message *m);
/* The same for one of which conns_put() has written a part, without a round. */
int send_copy_rest(struct message *m, size_t part);

/* Wait for one request of either kind; the error handler is not called when
 * `quiet`. */
int wait_one(MPI_Request *request, MPI_Status *status, bool quiet);

#endif
