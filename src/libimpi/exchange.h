/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one collective call, all under way at once: those inside the
 * client on the hidden duplicate of the communicator, the others in the
 * engine, on the communicator's second context id.  Between two processes
 * they match in the order in which both add them, so both must add each.
 *
 *     struct exchange x;
 *     exchange_begin(&x, c, legs);
 *     exchange_recv(&x, buf, count, type, from); ...
 *     exchange_send(&x, buf, count, type, to); ...
 *     rc = exchange_end(&x);
 *
 * Receives are best added first.  The first error is kept, what follows it
 * does nothing; exchange_end() waits, frees, and returns the error's code,
 * which has not been given to an error handler.
 */
#ifndef LIBIMPI_EXCHANGE_H
#define LIBIMPI_EXCHANGE_H

#include "libimpi/req.h"

struct exchange {
    struct impi_comm *c;
    MPI_Request *native; /* [legs] null: in the engine */
    struct req **cross;  /* [legs] */
    int n;
    int rc;
};

/* At most `legs` messages. */
void exchange_begin(struct exchange *x, struct impi_comm *c, int legs);
void exchange_recv(struct exchange *x, void *buf, int count, MPI_Datatype type,
                   int from);
void exchange_send(struct exchange *x, const void *buf, int count,
                   MPI_Datatype type, int to);
int exchange_end(struct exchange *x);

#endif
