/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slurmctld knows of nodes: of the one that this slurmd or slurmstepd
 * serves, and of all.
 */
#ifndef SF_SLURMABI_NODE_H
#define SF_SLURMABI_NODE_H

#include <stddef.h>
#include <time.h>

/* Ask slurmctld, one RPC, for the node's Extra: into buf[0..size), cut to
 * that, empty when there is none.  0, or -1: it does not say. */
int slurmabi_own_extra(char *buf, size_t size);

/* Ask slurmctld, one RPC, for the Extra (NULL: none) of all nodes, unless no
 * node has changed since *as_of; *as_of is the time of the answer then.  0, 1
 * for no change (f is not called), or -1: it does not say. */
typedef void slurmabi_extra_f(const char *node, const char *extra, void *arg);
int slurmabi_each_extra(time_t *as_of, slurmabi_extra_f *f, void *arg);

#endif
