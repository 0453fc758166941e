/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wire form of a list of numbers that is mostly regular (node ids, tasks per
 * node, task ids): runs of (first, count, step), so that 5 000 nodes in order
 * take 16 bytes.  Any list can be written; the worst case is 6 bytes a value.
 *
 *     u32 number of runs, then per run: u32 first, u32 count, u32 step
 *
 * Value i of a run is first + i * step modulo 2^32.
 */
#ifndef SF_ELAN_RUNS_H
#define SF_ELAN_RUNS_H

#include "base/be.h"

/* Most bytes that n values take. */
size_t elan_runs_size(size_t n);

void elan_runs_put(struct be_writer *w, const uint32_t *values, size_t n);

/* Read a list of at most max values.  *values is allocated (free() it; NULL
 * when *n is 0).  Returns 0, or -1 with errno: EPROTO malformed or more than
 * max values, ENOMEM.  Nothing is allocated before the whole is checked. */
int elan_runs_get(struct be_reader *r, uint32_t **values, size_t *n,
                  size_t max);

#endif
