/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slurmctld knows of the node that this slurmd or slurmstepd serves.
 */
#ifndef SF_SLURMABI_NODE_H
#define SF_SLURMABI_NODE_H

#include <stddef.h>

/* Ask slurmctld, one RPC, for the node's Extra: into buf[0..size), cut to
 * that, empty when there is none.  0, or -1: it does not say. */
int slurmabi_own_extra(char *buf, size_t size);

#endif
