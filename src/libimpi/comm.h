/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spanning communicators: those with members in several clients.  The handle
 * that the program holds is a native communicator of the members in its own
 * client; what lies here says who the others are.  span.h finds it by handle;
 * a communicator that is not found there is native and none of our business.
 */
#ifndef LIBIMPI_COMM_H
#define LIBIMPI_COMM_H

#include <stdint.h>

#include "impi/groups.h"
#include "libimpi/calls.h"
#include "libimpi/span.h"

struct coll;
struct req;
struct topo;

/* An intercommunicator is one over both groups, the one with the lower first
 * world rank first; the program sees two parts of it.  For all others the
 * own group and the peers are everybody. */
struct impi_comm {
    unsigned refs;   /* the program's handle and what is under way */
    MPI_Comm comm;   /* the program's handle */
    MPI_Comm p2p;    /* for the program's messages: comm, or if inter one of
                        both groups */
    MPI_Comm hidden; /* a duplicate of p2p, for local phases */
    uint64_t cid;    /* even; collective traffic has cid + 1 */
    int rank;        /* own rank */
    int size;
    int native_rank; /* own rank in p2p */
    int native_size;
    const int *world;        /* [size] rank in MPI_COMM_WORLD */
    const int *native;       /* [size] rank in p2p, -1: in another client */
    const int *members;      /* [native_size] rank here of each rank in p2p */
    struct impi_group group; /* which rank is in which client */
    bool whole; /* all of the world: these are the node's table's */
    /* What collective calls take for clients: them, or each process. */
    const struct impi_group *units;
    struct impi_group flat; /* each process by itself, where that is wanted */
    bool same; /* native rank == rank here for every native rank, not inter */
    bool inter;
    MPI_Comm late;  /* the handle given back while wanted, or null */
    int straight;   /* peers that may be handed to the library as they are */
    bool foreign;   /* has processes of other worlds (foreign.h) */
    bool strangers; /* all whom ranks in messages mean are such */
    bool abandoned; /* and all of these are lost */
    struct impi_comm *next_foreign;
    int first, local;  /* own group: rank of its first, size */
    int peer, peers;   /* whom ranks in messages mean */
    int32_t tag_base;  /* added to the tags of collective traffic */
    struct topo *topo; /* or NULL; owned */
    struct coll *queue, **queue_end; /* collective calls, the first runs */
    struct req *spare; /* for receives in the own client (req.h) */
    bool spares;       /* what such a receive leaves may become one */
};

/* What a communicator is made from. */
struct comm_parts {
    MPI_Comm comm, p2p, hidden;
    uint64_t cid;
    const int *world; /* [size] copied; NULL: all of the world as it is */
    int size;
    int low; /* members of the first group of an intercommunicator, or 0 */
};

/* Make the tables of one communicator.  Where the world is flat, collective
 * calls among few that are all crowded go straight between them.  The handles
 * are its own from now on.  Returns NULL when out of memory. */
struct impi_comm *comm_create(const struct comm_parts *parts);
/* Another holder; one less, the last one frees it, with the native handles
 * that the program does not know.  Under the lock. */
static inline void comm_hold(struct impi_comm *c)
{
    c->refs++;
}
void comm_free(struct impi_comm *c); /* comm_release() does */
static inline void comm_release(struct impi_comm *c)
{
    if (unlikely(--c->refs == 0))
        comm_free(c);
}

#endif
