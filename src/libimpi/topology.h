/* SPDX-License-Identifier: BSD-3-Clause
 *
 * While the MPI library starts it may read the node's topology from impid's
 * file, which impid has written once for all (impid/impid_topology.h), instead
 * of hundreds of files of /sys in each process.
 */
#ifndef LIBIMPI_TOPOLOGY_H
#define LIBIMPI_TOPOLOGY_H

#include <stdbool.h>

/* The variable in which impid tells the file, and hwloc looks for one. */
#define TOPOLOGY_VARIABLE "HWLOC_XMLFILE"

/* The dlopen handle of the program's MPI library. */
void topology_of_library(void *mpi);

/* The library uses hwloc 2, whose file it is, and the user has said nothing
 * about where hwloc shall look. */
bool topology_may_lend(void);

/* The variable is set.  What hwloc has to know beside it: this is the machine
 * that it runs on, and which processors are allowed is asked of the kernel. */
void topology_lend(void);

/* The library has started: programs see nothing of it. */
void topology_take_back(void);

#endif
