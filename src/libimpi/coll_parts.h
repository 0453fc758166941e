/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors that go between clients by parts (impi/schedule.h): where they are
 * cut, and those of a broadcast, which are of bytes on the wire.
 */
#ifndef LIBIMPI_COLL_PARTS_H
#define LIBIMPI_COLL_PARTS_H

#include "libimpi/coll_run.h"

/* Where the steps move parts: of `all`, or, with the elements of each rank's
 * block in x->lens, of these.  An MPI error code. */
int parts_cut(struct coll *x, int64_t all);

/* The bytes on the wire of all of x; 0 of a type that cannot be sent. */
uint64_t parts_wire(const struct coll *x);
/* The same at the IMPI_STEP_LOCAL_OTHER before and behind the parts of a
 * broadcast; source: the data are here.  An MPI error code. */
int parts_broadcast(struct coll *x, bool source);

#endif
