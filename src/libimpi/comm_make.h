/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is shared by the calls that make communicators from spanning ones.
 * All return MPI error codes that no error handler has had, unless they say
 * so.
 */
#ifndef LIBIMPI_COMM_MAKE_H
#define LIBIMPI_COMM_MAKE_H

#include "libimpi/coll_run.h"
#include "libimpi/comm.h"

/* Set in the context id of a communicator that its members make alone, until
 * they have agreed on one. */
#define CID_FOR_GROUPS (UINT64_C(1) << 63)

/* Is there a peer that is not ours, so that only the standard's messages may
 * be used? */
bool comm_strict(void);

/* MPI_Comm_create and _split of an intercommunicator, once a context id is
 * agreed on: `place` of each process in its new group; members have the same
 * non-negative color.  Every member of c calls them. */
struct place {
    int color, key, rank;
};
int by_place(const void *a, const void *b);

#endif
