/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of a step's nodes as its tasks get them in their environment, where
 * one variable has 128 KiB at most.
 */
#ifndef SF_MPI_IMPI_NODE_LIST_H
#define SF_MPI_IMPI_NODE_LIST_H

#define IMPI_NODE_LIST_MAX (96 * 1024)

/* Of Slurm's "n[0-1]": "n0,n1"; where that is longer than IMPI_NODE_LIST_MAX,
 * as Slurm has it; where that is, too, "".  Names are cut out of each by
 * host_names_nth().  free() it; NULL: no memory. */
char *impi_node_list(const char *node_list);

#endif
