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

/* A context id for a new communicator of all of c's members; each of them
 * calls it.  Given to the error handler. */
int cid_agree(struct impi_comm *c, uint64_t *cid);
/* The same for a duplicate of c. */
int cid_agree_dup(struct impi_comm *c, uint64_t *cid);
/* In two parts, where the agreement is the caller's: what this process
 * proposes, and what the largest proposal of all means. */
uint64_t cid_propose(void);
int cid_take(uint64_t max, uint64_t *cid);
/* The same, for a proposal that may be under way beside others. */
uint64_t cid_propose_own(void);

/* Is there a peer that is not ours, so that only the standard's messages may
 * be used? */
bool comm_strict(void);

bool comm_in_one_client(const int *world, int size);
/* Where world rank `rank` stands in world[size], or MPI_UNDEFINED. */
int comm_place(const int *world, int size, int rank);

/* A communicator of world[size] (low: see comm_parts) of which this process is
 * a member: finds or makes it from parts->comm and parts->p2p.  In one client
 * it becomes the native one, else parts->hidden is made from p2p and it spans.
 * *made: the handle. */
int comm_span(struct comm_parts *parts, MPI_Comm *made);

/* The same from a hidden duplicate that is there; under the lock. */
struct impi_comm *comm_add(const struct comm_parts *parts);

/* MPI_Comm_create and _split of an intercommunicator, once a context id is
 * agreed on: `place` of each process in its new group; members have the same
 * non-negative color.  Every member of c calls them. */
struct place {
    int color, key, rank;
};
int inter_split(struct impi_comm *c, const struct place *own, struct place *all,
                uint64_t cid, MPI_Comm *newcomm);
int by_place(const void *a, const void *b);

#endif
