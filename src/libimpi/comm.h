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

struct impi_comm {
    unsigned refs;   /* the program's handle and open requests */
    MPI_Comm comm;   /* the program's handle */
    MPI_Comm hidden; /* a duplicate of it, for local phases */
    uint64_t cid;    /* even; collective traffic has cid + 1 */
    int rank;        /* own rank */
    int size;
    int native_rank; /* own rank in comm */
    int native_size;
    int *world;              /* [size] rank in MPI_COMM_WORLD */
    int *native;             /* [size] rank in comm, -1: in another client */
    int *members;            /* [native_size] rank here of each rank in comm */
    struct impi_group group; /* which rank is in which client */
    bool same; /* native rank == rank here for every native rank */
};

/* Make the tables of one communicator.  world[size] is copied; client_of[] is
 * indexed by world rank.  comm and hidden are kept as they are.
 * Returns NULL when out of memory. */
struct impi_comm *comm_create(MPI_Comm comm, MPI_Comm hidden, uint64_t cid,
                              const int *world, int size, int own_world,
                              const uint32_t *client_of);
/* Another holder; one less, the last one frees it.  Under the lock. */
void comm_hold(struct impi_comm *c);
void comm_release(struct impi_comm *c);

#endif
