/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the members of an intercommunicator tell each other when it ends, is
 * copied or becomes one group, in the standard's own messages (IMPI 4.5, 4.6,
 * 4.9).  For worlds with a peer that is not ours: the messages travel in the
 * program's context, where a receive from anybody with any tag would take
 * them, so that our own processes agree otherwise among themselves.
 *
 * Each member of c calls them.  They return what MPI calls return; the error
 * handler has been told.
 */
#ifndef LIBIMPI_COMM_CRISS_H
#define LIBIMPI_COMM_CRISS_H

#include "libimpi/comm.h"

/* Nobody leaves before all have come. */
int criss_barrier(struct impi_comm *c);
/* *max: in the own proposal for a context id, out the highest of all. */
int criss_dup(struct impi_comm *c, uint64_t *max);
/* The same; high: the own group's, *other: the other group's. */
int criss_merge(struct impi_comm *c, uint64_t *max, int high, int *other);

#endif
