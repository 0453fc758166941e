/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collective calls on communicators that span.  MPI_Bcast_init and
 * its relatives keep their arguments; each start is the nonblocking form, with
 * a request of its own that the persistent one stands for (compound.h).
 *
 * Processes may start several such requests in different orders, while
 * collective calls on one communicator run in one order.  So each has a
 * communicator of its own, made when all members call X_init together.
 */
#ifndef LIBIMPI_COLL_INIT_H
#define LIBIMPI_COLL_INIT_H

#include "libimpi/req.h"

struct coll_init {
    int (*start)(struct coll_init *i, MPI_Request *request);
    MPI_Comm comm; /* a duplicate, its own */
    /* What the program may free meanwhile; of predefined ones no matter. */
    MPI_Op op;
    int ntypes, room;
    MPI_Datatype *types;
    struct coll_init *next; /* of all that there are */
};

/* Begin one of `size` bytes, a structure that begins with a coll_init: *made,
 * zero but for that.  Every member of c calls it.  call: for the error of a
 * world that cannot.  The error handler has had what it returns. */
int coll_init_new(struct impi_comm *c, int call, size_t size, void **made);
void coll_init_type(struct coll_init *i, MPI_Datatype type);
/* The n types of one side of MPI_Alltoallw.  buf MPI_IN_PLACE: they mean
 * nothing. */
void coll_init_types(struct coll_init *i, const void *buf,
                     const MPI_Datatype *types, int n);
/* Give it its request; it is freed with that, or at once on failure. */
int coll_init_request(struct coll_init *i, struct impi_comm *c,
                      MPI_Request *request);

/* Start it as r, under the lock, as what follows. */
int coll_init_start(struct coll_init *i, struct req *r, struct impi_comm *c);
void coll_init_free(struct coll_init *i);

/* Was any made with this type, or this operation? */
bool coll_init_uses(MPI_Datatype type, MPI_Op op);

#endif
