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

/* The own group of an intracommunicator, n processes. */
int comm_members(MPI_Comm comm, int *world, int n);

/* A context id that no other world's processes have, by chance. */
uint64_t comm_foreign_cid(void);

/* An intercommunicator of local's group and one of another world: both groups,
 * that with `low` members in front.  Every member of local calls it. */
int comm_couple(MPI_Comm local, const int *world, int low, int size,
                uint64_t cid, MPI_Comm *newcomm);

/* A duplicate for a call's own use, without the program's attributes and info:
 * same groups, topology and error handler.  Every member of c calls it.  The
 * error handler has had what it returns. */
int comm_dup_own(struct impi_comm *c, MPI_Comm *newcomm);

#endif
