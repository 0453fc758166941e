/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitioned messages to and from other clients: a persistent request whose
 * message goes when all partitions of the sender are ready, as one.  Those
 * inside a client are the native library's.
 *
 * Such requests match in the order of MPI_Psend_init and MPI_Precv_init, and
 * only each other, while they may be started in any order.  So MPI_Psend_init
 * sends a number, by a context of its own with the program's tag, to the
 * MPI_Precv_init that it belongs to; each start's message has that number for
 * its tag, in another context.
 */
#ifndef LIBIMPI_PARTITIONED_H
#define LIBIMPI_PARTITIONED_H

#include "libimpi/p2p_calls.h"

struct partitions;

/* Under the lock. */
void partitions_free(struct partitions *p);
void partitions_start(struct partitions *p);
/* Its message, where it can begin now. */
void partitions_poll(struct req *r);

#endif
