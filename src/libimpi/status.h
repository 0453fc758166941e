/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI statuses from what the message engine or the native library says.
 */
#ifndef LIBIMPI_STATUS_H
#define LIBIMPI_STATUS_H

#include "impi/p2p.h"
#include "libimpi/comm.h"

/* An MPI status from its parts.  status may be MPI_STATUS_IGNORE. */
void status_set(MPI_Status *status, int source, int tag, uint64_t bytes,
                bool cancelled);
/* Source as the native library has it -> rank in c. */
void status_translate_set(MPI_Status *status, const struct impi_comm *c);
static inline void status_translate(MPI_Status *status,
                                    const struct impi_comm *c)
{
    if (status != MPI_STATUS_IGNORE && !c->same)
        status_translate_set(status, c);
}
/* That of a null request. */
void status_empty(MPI_Status *status);
/* Of a message that waits in the engine. */
void status_from_core(MPI_Status *status, const struct impi_status *st);

#endif
