/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of IMPI chapter 4.  The page with its own list is lost; these are
 * what an implementation of the time used (doc/impi-data.md).
 */
#ifndef SF_IMPI_CONSTANTS_H
#define SF_IMPI_CONSTANTS_H

#include <stdint.h>

/* No context id from here on is given out. */
#define IMPI_MAX_CID UINT64_C(18446744073709551600)

#define IMPI_BARRIER_TAG 110
#define IMPI_BCAST_TAG 120
#define IMPI_GATHER_TAG 130
#define IMPI_GATHERV_TAG 140
#define IMPI_SCATTER_TAG 150
#define IMPI_SCATTERV_TAG 160
#define IMPI_ALLTOALL_TAG 170
#define IMPI_ALLTOALLV_TAG 180
#define IMPI_REDUCE_TAG 190
#define IMPI_SCAN_TAG 200
#define IMPI_DUP_TAG 210
#define IMPI_MERGE_TAG 220
#define IMPI_COMM_FREE_TAG 230
/* Not the standard's: groups that make a communicator, what a call with other
 * worlds has come to, neighbourhoods. */
#define IMPI_CREATE_TAG 240
#define IMPI_AGREE_TAG 250
#define IMPI_NEIGHBOUR_TAG 1000 /* and up: one for each direction */

/* Proposed when nobody says otherwise. */
#define IMPI_COLL_XSIZE_DEFAULT 1024 /* bytes: short up to here */
#define IMPI_COLL_MAXLINEAR_DEFAULT 4

/* MPI_COMM_WORLD; every communicator has a pair of ids, the collective one
 * is the point-to-point one plus 1. */
#define IMPI_WORLD_CID 0

#endif
