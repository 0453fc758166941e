/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request that stands for several others, of ours or of the native library:
 * what MPI_Isendrecv starts, and each start of a persistent collective call.
 * It is done when all of them are.  Under the lock.
 */
#ifndef LIBIMPI_COMPOUND_H
#define LIBIMPI_COMPOUND_H

#include "libimpi/req.h"

struct compound {
    int n;
    int status;        /* the part whose status is the whole's; -1: none */
    bool no_peer;      /* that one is from MPI_PROC_NULL */
    void *memory;      /* freed with it; or NULL */
    MPI_Request *part; /* [n] MPI_REQUEST_NULL: done */
};

/* n parts, none yet.  NULL: no memory. */
struct compound *compound_new(int n);
void compound_free(struct compound *c);

/* r stands for the parts of c, which is freed with it. */
void req_compound(struct req *r, struct impi_comm *comm, struct compound *c);

/* Look at each part that is not done.  The first error, and the status, go to
 * r.  True: all are done. */
bool compound_poll(struct compound *c, struct req *r);
bool compound_waits_native(const struct compound *c);

#endif
