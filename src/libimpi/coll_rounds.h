/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short form of Alltoall in flat communicators: blocks travel in bundles
 * by way of others, n log n messages instead of n^2 (impi/schedule.h,
 * "rounds").
 */
#ifndef LIBIMPI_COLL_ROUNDS_H
#define LIBIMPI_COLL_ROUNDS_H

#include "libimpi/coll_run.h"

/* Are these blocks, which all processes' are like, short enough?  *len: the
 * bytes of one on the wire. */
bool rounds_are_better(const struct impi_comm *c, const struct blocks *in,
                       size_t *len);

/* out may be in.  An MPI error code. */
int rounds_make(struct coll *x, const struct blocks *out,
                const struct blocks *in, size_t len);

#endif
