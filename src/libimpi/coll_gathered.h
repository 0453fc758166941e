/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather by clients: each one's blocks go between clients once to each
 * other one (impi/schedule.h), not once to each process.
 */
#ifndef LIBIMPI_COLL_GATHERED_H
#define LIBIMPI_COLL_GATHERED_H

#include "libimpi/coll_run.h"

/* Is that better for these blocks, which all processes know?  agreed: all do
 * it. */
bool gathered_is_better(const struct impi_comm *c, const struct blocks *in,
                        bool agreed);

/* x->in: what all get; x->out: the own one, which may be its place there.  An
 * MPI error code. */
int gathered_make(struct coll *x);

#endif
