/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent requests of ours: a request in the table that keeps what it was
 * made with and is started again and again.  Those whose message the native
 * library can carry without us are the native library's own.  Under the lock.
 */
#ifndef LIBIMPI_PERSIST_H
#define LIBIMPI_PERSIST_H

#include "libimpi/p2p_calls.h"

struct coll_init;
struct partitions;

struct persist {
    struct message m; /* holds its communicator, and a type of its own */
    enum send_mode mode;
    bool recv;
    bool held; /* m.type is a duplicate */
    bool active;
    struct coll_init *coll; /* a collective call; of m only the communicator */
    struct partitions *parts; /* partitioned */
};

/* The request of a collective call, which is freed with it; *request.  The
 * communicator is held. */
int persist_coll(struct coll_init *coll, struct impi_comm *c,
                 MPI_Request *request);

/* The request of a partitioned message m, parts freed with it, in r; under the
 * lock.  NULL: no memory, and parts are freed. */
struct req *persist_parts(struct partitions *parts, const struct message *m,
                          bool recv, int *rc);

/* Let go of everything. */
void persist_free(struct persist *p);

#endif
