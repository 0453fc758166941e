/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the overrides of point-to-point calls.
 */
#ifndef LIBIMPI_P2P_CALLS_H
#define LIBIMPI_P2P_CALLS_H

#include "libimpi/req.h"
#include "libimpi/state.h"

/* Count, rank, tag and type.  Returns an MPI error class. */
int check_message(const struct message *m, bool recv);

/* Wait for one request of either kind; the error handler is not called when
 * `quiet`. */
int wait_one(MPI_Request *request, MPI_Status *status, bool quiet);

#endif
