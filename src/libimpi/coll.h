/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations that other parts of a back end need.
 */
#ifndef LIBIMPI_COLL_H
#define LIBIMPI_COLL_H

#include "libimpi/comm.h"

/* MPI error code, given to the error handler already. */
int coll_barrier(struct impi_comm *c);

#endif
