/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The node's directory of program sockets: removal of what killed slurmstepds
 * left, and word to the holder that waits.  Only as root on a node.
 */
#ifndef SF_SWITCH_ELAN_SWEEP_H
#define SF_SWITCH_ELAN_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/* RUNSTATEDIR/slurm-fabric/NODENAME, made if need be.  0, or -1 with errno
 * and text. */
int switch_elan_rundir(char *dir, size_t size, struct errbuf *err);

/* Remove what killed processes left: at a step only when their sockets tell
 * that there is something. */
void switch_elan_sweep(bool step);

/* A step is on its way to this node.  Best effort. */
void switch_elan_announce(void);

#endif
