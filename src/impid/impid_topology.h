/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The node's topology (processors, caches, devices), which each MPI library
 * looks for through hwloc in hundreds of files of /sys when it starts: found
 * once by impid, in a file that the processes read (libimpi/topology.h).
 */
#ifndef SF_IMPID_IMPID_TOPOLOGY_H
#define SF_IMPID_IMPID_TOPOLOGY_H

/* With fewer processes on the node it is not worth it. */
#define IMPID_TOPOLOGY_LEAST 4

/* Write what hwloc finds here to path, replacing nothing.  0, or -1 with errno:
 * ENOENT there is no hwloc 2 on this node, EIO it failed, others of open(2). */
int impid_topology_write(const char *path);

#endif
