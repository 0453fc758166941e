/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short form of Gather and Scatter: packed through the masters.
 */
#ifndef LIBIMPI_COLL_PACKED_H
#define LIBIMPI_COLL_PACKED_H

#include "libimpi/coll_run.h"

/* Is one of these blocks, which all processes' are like, short?  *len: its
 * bytes on the wire. */
bool packed_is_short(const struct impi_comm *c, const struct blocks *b,
                     size_t *len);

/* up: Gather, else Scatter.  all: the root's blocks; own: everybody's one, at
 * the root with `self` only.  An MPI error code. */
int packed_make(struct coll *x, bool up, const struct blocks *all,
                const struct blocks *own, uint32_t root, bool self, size_t len);

#endif
