/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Send and MPI_Recv of a short message to or from another client without a
 * request of ours: for data of a predefined type that need no conversion,
 * while nothing is queued that must come first.  It goes from the user's
 * buffer to the memory or the socket of the connection and back.
 *
 * Arguments are the program's, unchecked.  False: nothing was done, and the
 * general way (send.c, recv.c) finds out why, or does it.  Without the lock.
 */
#ifndef LIBIMPI_FAST_H
#define LIBIMPI_FAST_H

#include "libimpi/req.h"

/* Done by the time it returns, as a standard send of a short message may. */
bool fast_send(struct impi_comm *c, const void *buf, int count,
               MPI_Datatype type, int dest, int tag);

/* Waits only for some microseconds. */
bool fast_recv(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int source, int tag, MPI_Status *status);

/* The same for a step of a collective call, whose arguments are right: under
 * the lock, and without a round for others. */
bool fast_step_send(struct message *m);
bool fast_step_recv(const struct message *m);

#endif
